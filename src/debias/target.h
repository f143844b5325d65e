/* target.h - the text of gerne_groups_set_target before there are groups. */
#ifndef GN_DEBIAS_TARGET_H
#define GN_DEBIAS_TARGET_H

#include "debias/groups.h"

/* GERNE_EUSAGE unless text is a word, or shares for so many classes and attributes. Which of them
 * have samples is not known yet. */
GERNE_CHECKED gerne_status gn_target_check(gerne_ctx *ctx, const char *text, uint32_t classes,
                                           uint32_t attributes);

#endif
