/* report.h - run and study directories as one HTML file that needs nothing else.
 *
 *     const char *paths[] = {"runs/erm", "runs/gerne"};
 *     GN_TRY(gn_report_write(ctx, paths, 2, "report.html"));
 *
 * Directories are only read, as far as they are there: a run that is still going, or was killed, is
 * shown as far as it got. Runs of different data are refused with GERNE_EUSAGE.
 */
#ifndef GN_REPORT_REPORT_H
#define GN_REPORT_REPORT_H

#include "base/json.h"

/* Writes the report of count >= 1 directories to out_path, whole or not at all. out_path NULL
 * stands for report.html inside a single directory, or in the present folder for several. */
GERNE_CHECKED gerne_status gn_report_write(gerne_ctx *ctx, const char *const *paths, size_t count,
                                           const char *out_path);

/* The same; *summary becomes what it shows in short: {"report", "bytes", "runs", "comparison",
 * "studies"}. New reference. */
GERNE_CHECKED gerne_status gn_report_write_summary(gerne_ctx *ctx, const char *const *paths,
                                                   size_t count, const char *out_path,
                                                   json_t **summary);

#endif
