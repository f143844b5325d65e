/* options.h - the sections "method", "train", "select" and the top of a configuration, and a whole
 * configuration read from a file and flags. */
#ifndef GN_TRAIN_OPTIONS_H
#define GN_TRAIN_OPTIONS_H

#include "data/options.h"
#include "methods/method.h"
#include "nn/optimizer.h"

typedef enum gn_attribute_choice { GN_KNOWN, GN_UNKNOWN } gn_attribute_choice;
typedef enum gn_no_shortcut { GN_NO_SHORTCUT_ERROR, GN_NO_SHORTCUT_KEEP } gn_no_shortcut;
typedef enum gn_average { GN_AVERAGE_NONE, GN_AVERAGE_EMA, GN_AVERAGE_TAIL } gn_average;
typedef enum gn_repair { GN_REPAIR_NONE, GN_REPAIR_VAL, GN_REPAIR_TRAIN } gn_repair;
typedef enum gn_select_split { GN_SELECT_VAL, GN_SELECT_TEST } gn_select_split;

typedef struct gn_method_options {
    const char *name, *estimator;
    int attributes;
    int no_shortcut;           /* a gn_no_shortcut */
    const char *plugin_sha256; /* NULL: the method and the estimator are ours */
} gn_method_options;

typedef struct gn_train_options {
    gn_optimizer_options optimizer;
    int64_t batch, per_group, per_class;
    double epochs;
    int64_t steps, eval_every, patience, checkpoint_every, micro_batch;
    int precision, average;
    double average_decay, average_from;
    bool log_test, log_gradients;
} gn_train_options;

typedef struct gn_select_options {
    int metric, split;
} gn_select_options;

typedef struct gn_top_options {
    int64_t seed, threads;
    const char *out, *cache;
    int repair;
} gn_top_options;

/* A resolved configuration. Fields are for reading. */
typedef struct gn_run_config {
    gn_config *config;
    gn_data_options data;
    gn_model_options model;
    gn_method_options method_choice;
    const gn_method *method;
    void *method_options;
    const gn_method *estimator; /* for attributes that are unknown; NULL: none */
    void *estimator_options;
    gn_train_options train;
    gn_select_options select;
    gn_top_options top;
    struct gn_shared_data *shared; /* lent: data of other runs, see train/shared_data.h; or NULL */
} gn_run_config;

/* From a file's settings (or NULL) and flags, which win. Keys of the file's method that the flags'
 * method does not have are dropped with a line in the log. Both settings are lent and must outlive
 * the result only through texts, which are copied. */
GERNE_CHECKED gerne_status gn_run_config_new(gerne_ctx *ctx, const gn_settings *file,
                                             const gn_settings *flags, gn_run_config **out);
void gn_run_config_close(gn_run_config *config); /* takes NULL */
GN_LOCAL_HANDLE(gn_run_config, gn_run_config_close)

/* Adds all tables to a configuration, those of every method included: for help and manual. Their
 * values go to *target and to memory of the arena. */
GERNE_CHECKED gerne_status gn_run_config_describe(gerne_ctx *ctx, gn_config *config,
                                                  gn_arena *arena, gn_run_config *target);

/* Whether every method has the option, such as method.name. */
bool gn_is_common_method_option(const char *name);

/* The cache directory: the option, or gerne under the user's cache directory. */
GERNE_CHECKED gerne_status gn_cache_folder(gerne_ctx *ctx, gn_arena *arena, const char *option,
                                           const char **out);

/* Texts need a vocabulary: model.vocab becomes tokenizer.json or vocab.txt beside model.weights
 * where it is not set and there is one. */
GERNE_CHECKED gerne_status gn_settle_vocabulary(gerne_ctx *ctx, const gn_run_config *config);

#endif
