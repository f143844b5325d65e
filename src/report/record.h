/* record.h - what a run or study directory holds, read back as far as it is there.
 *
 * Nothing here links the trainer: the directory is the interface. Files that are missing leave
 * their part empty and a note behind; an existing file that is damaged is an error, except for the
 * log, whose damaged lines are counted, and for diverged.json and predictions.csv, which are noted.
 */
#ifndef GN_REPORT_RECORD_H
#define GN_REPORT_RECORD_H

#include "base/json.h"
#include "base/settings.h"
#include "metrics/comparison.h"
#include "metrics/predictions_csv.h"
#include "report/curves.h"

typedef struct gn_group_record {
    uint32_t y, a;
    uint64_t n, correct;
    double acc, lo, hi; /* NaN for an empty group */
} gn_group_record;

/* The object S of results.json; NaN for what is null. */
typedef struct gn_split_record {
    bool there;
    uint64_t n;
    double acc_avg, gba, gba_lo, gba_hi, wga, wga_lo, wga_hi;
    double worst_class, balanced_acc, minority_acc, adj_acc_avg, auroc, ece;
    gn_group_record *groups; /* [classes * attributes] by id; in the arena */
    ptrdiff_t worst;         /* id, or -1 */
} gn_split_record;

typedef struct gn_selection_record {
    const char *metric, *split;
    bool oracle;
    double epoch, step;
} gn_selection_record;

/* Of diverged.json, or of the log's event; NULL and NaN for what is missing. */
typedef struct gn_divergence_record {
    bool there;
    const char *stage, *message, *hint; /* in the arena */
    double step, loss;
} gn_divergence_record;

/* Texts in the arena of a record. */
typedef struct gn_text_list {
    const char **items; /* owned */
    size_t count, capacity;
} gn_text_list;

enum { GN_STAGES_SHOWN = 4, GN_PICTURES_SHOWN = 24 };

typedef struct gn_stage_record {
    char name[GN_CURVE_NAME];
    gn_curves curves;
} gn_stage_record;

typedef struct gn_picture_record {
    uint64_t index;
    uint32_t y, a, pred;
    bool is_text;
    gn_text bytes; /* of a PNG, or of the text; owned */
} gn_picture_record;

typedef struct gn_run_record {
    gerne_ctx *ctx;
    gn_arena *arena;         /* lent */
    const char *path, *name; /* name: short, and no two of a report are the same */
    gn_settings config;
    gn_text config_text;
    json_t *results;                 /* NULL while the run is not finished */
    json_t *start;                   /* the log's first event, or NULL */
    bool running;                    /* another process holds the directory */
    gn_divergence_record divergence; /* not there when the run has results */
    double seconds;                  /* that it took; NaN when unknown */
    const char *method, *fingerprint, *run_hash, *version;
    json_int_t seed, threads; /* threads 0: unknown */
    uint32_t classes, attributes;
    const char **class_names, **attribute_names;
    uint64_t *train_counts; /* [classes * attributes] of the true groups, or NULL */
    gn_selection_record selection;
    gn_split_record val, test, last_val, last_test, oracle_test;
    gn_stage_record stages[GN_STAGES_SHOWN];
    size_t stage_count;
    uint64_t damaged_lines;
    gn_prediction_file predictions; /* of the test samples, numbered as results.json does */
    gn_comparison difference;       /* this run minus the report's first, when paired with it */
    bool is_paired;
    gn_picture_record pictures[GN_PICTURES_SHOWN];
    size_t picture_count;
    gn_text_list warnings; /* of the trainer */
    gn_text_list notes;    /* of the report, about the record */
} gn_run_record;

typedef struct gn_study_record {
    const char *path, *name;
    json_t *study;
} gn_study_record;

/* GERNE_EUSAGE when the directory is neither a run nor a study. */
GERNE_CHECKED gerne_status gn_record_kind(gerne_ctx *ctx, const char *path, bool *is_study);

/* The record is to be freed whether or not it could be read whole. */
GERNE_CHECKED gerne_status gn_run_record_read(gerne_ctx *ctx, gn_arena *arena, const char *path,
                                              gn_run_record *out);
void gn_run_record_free(gn_run_record *run);

GERNE_CHECKED gerne_status gn_study_record_read(gerne_ctx *ctx, const char *path,
                                                gn_study_record *out);
void gn_study_record_free(gn_study_record *study);

/* The parts of a run, for gn_run_record_read. */
GERNE_CHECKED gerne_status gn_read_results(gn_run_record *run);
GERNE_CHECKED gerne_status gn_read_log(gn_run_record *run);
/* After the log, whose event stands in for a damaged file. */
GERNE_CHECKED gerne_status gn_read_divergence(gn_run_record *run);
GERNE_CHECKED gerne_status gn_read_predictions(gn_run_record *run);
GERNE_CHECKED gerne_status gn_read_pictures(gn_run_record *run);
/* Class and attribute names and the sizes of the groups, from results.json or the log. */
GERNE_CHECKED gerne_status gn_read_names(gn_run_record *run);

/* Copies the fields of a diverged event or of diverged.json. */
GERNE_CHECKED gerne_status gn_take_divergence(gn_run_record *run, const json_t *json);
/* Adds a warning; anything but a text is ignored. */
GERNE_CHECKED gerne_status gn_take_warning(gn_run_record *run, const json_t *text);

/* A sentence that the report says about the run. */
GERNE_CHECKED gerne_status gn_run_note(gn_run_record *run, const char *format, ...) GN_PRINTF(2, 3);

/* DIRECTORY/name, in the arena. */
GERNE_CHECKED gerne_status gn_record_path(gn_run_record *run, const char *name, const char **out);

/* What the configuration says about a key (of a list the first item); NULL when it does not. */
const char *gn_run_setting(const gn_run_record *run, const char *key);

/* "diverged at step 113", "still running" or "not finished", of a run without results. */
typedef struct gn_state_words {
    char text[96];
} gn_state_words;
gn_state_words gn_run_state(const gn_run_record *run);

/* The last part of a path, in the arena; "." and "" are taken as they are. */
GERNE_CHECKED gerne_status gn_base_name(gerne_ctx *ctx, gn_arena *arena, const char *path,
                                        const char **out);

/* The two ends of an interval in untrusted JSON; false, and NaN, when it is missing or of
 * another kind. */
bool gn_json_range(const json_t *object, const char *key, double *lo, double *hi);

/* "disc · yellow", or the class alone when there is one attribute. Written to out, cut at size. */
const char *gn_group_name(const gn_run_record *run, size_t group, char *out, size_t size);

#endif
