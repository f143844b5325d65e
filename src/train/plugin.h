/* plugin.h - methods from shared objects (methods/plugin.h): the only code that is loaded at run
 * time. A plug-in is loaded when somebody asks for its file, never because a configuration, a run
 * directory or the environment names it: those may come from someone else. */
#ifndef GN_TRAIN_PLUGIN_H
#define GN_TRAIN_PLUGIN_H

#include "methods/method.h"

/* Loads the file and adds its methods and estimators to the lists, for the rest of the process. One
 * plug-in at most, before anything else uses the lists. GERNE_EUSAGE when there is no such file,
 * GERNE_EDATA when it is not a plug-in for this gerne. */
GERNE_CHECKED gerne_status gn_plugin_load(gerne_ctx *ctx, const char *path);

/* SHA-256 of the plug-in that a method or estimator comes from; NULL for ours and for NULL. */
const char *gn_plugin_sha256(const gn_method *method);

#endif
