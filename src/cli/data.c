/* data.c - `gerne data`: make, describe and fetch datasets. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/data.h"
#include "data/describe.h"
#include "data/download.h"
#include "data/export.h"
#include "train/options.h"

typedef struct data_command {
    gn_data_options data;
    const char *out, *mirror, *sha256, *vocab, *cache;
} data_command;

static const gn_option options[] = {
    {"out", GN_TEXT, offsetof(data_command, out),
     .help = "make, fetch: output folder (default: data/NAME)", .flags = GN_NO_HASH},
    {"mirror", GN_TEXT, offsetof(data_command, mirror),
     .help = "fetch: URL of a folder with the same files", .flags = GN_NO_HASH},
    {"cache", GN_TEXT, offsetof(data_command, cache),
     .help = "info of texts: cache directory (default: ~/.cache/gerne)", .flags = GN_NO_HASH},
    {"sha256", GN_TEXT, offsetof(data_command, sha256),
     .help = "fetch: expected checksum of the file when NAME is a URL", .flags = GN_NO_HASH},
};

static const gn_option model_options[] = {
    {"vocab", GN_TEXT, offsetof(data_command, vocab),
     .help = "tokens, info of texts: BERT's vocab.txt or tokenizer.json", .flags = GN_NO_HASH},
};

static gerne_status setup(gn_cli *cli)
{
    data_command *self;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof *self, &self));
    cli->options = self;
    GN_TRY(gn_config_add(cli->ctx, cli->config, "", "Data command", options,
                         sizeof options / sizeof options[0], self));
    GN_TRY(gn_config_add(cli->ctx, cli->config, "model", "Network (section model)", model_options,
                         sizeof model_options / sizeof model_options[0], self));
    return gn_data_options_add(cli->ctx, cli->config, &self->data);
}

static int thread_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > 64 ? 64 : (int)count;
}

/* ---- info ---- */

static gerne_status print_info(gn_cli *cli, gn_dataset *dataset)
{
    gn_inspection inspection;
    GN_TRY(gn_dataset_inspect(cli->ctx, dataset, thread_count(), &inspection));
    if (!cli->json)
        return gn_dataset_text(cli->ctx, dataset, &inspection, &cli->output);
    json_t *json;
    GN_TRY(gn_dataset_json(cli->ctx, dataset, &inspection, &json));
    return gn_output_json(cli, json);
}

static gerne_status run_info(gn_cli *cli)
{
    data_command *self = cli->options;
    gn_dataset *dataset;
    self->data.vocab = self->vocab;
    GN_TRY(gn_cache_folder(cli->ctx, cli->arena, self->cache, &self->data.cache));
    GN_TRY(gn_dataset_open(cli->ctx, &self->data, &dataset));
    gerne_status status = GERNE_OK;
    if (dataset->field == GN_TOKENS && self->vocab)
        status = gn_dataset_prepare(cli->ctx, dataset, thread_count());
    if (status == GERNE_OK)
        status = print_info(cli, dataset);
    gn_dataset_close(dataset);
    return status;
}

/* ---- make ---- */

static gerne_status default_folder(gn_cli *cli, const char *name, const char **out)
{
    if (*out)
        return GERNE_OK;
    return gn_path_join(cli->ctx, cli->arena, "data", name, out);
}

static gerne_status run_make(gn_cli *cli)
{
    data_command *self = cli->options;
    gn_dataset *dataset;
    GN_TRY(default_folder(cli, gn_data_format_name(self->data.format), &self->out));
    GN_TRY(gn_dataset_open(cli->ctx, &self->data, &dataset));
    gerne_status status = gn_dataset_export(cli->ctx, dataset, self->out, thread_count());
    if (status == GERNE_OK && cli->json) {
        json_t *json = json_object();
        json_object_set_new(json, "dir", json_string(self->out));
        json_object_set_new(json, "n", json_integer((json_int_t)dataset->n));
        status = gn_output_json(cli, json);
    } else if (status == GERNE_OK) {
        status = gn_text_add(cli->ctx, &cli->output,
                             "%zu images and metadata.csv are in %s\n"
                             "use them with --data.format images --data.dir %s\n",
                             dataset->n, self->out, self->out);
    }
    gn_dataset_close(dataset);
    return status;
}

/* ---- fetch ---- */

/* base + name -> folder/name, unpacked when it is an archive. */
static gerne_status fetch_file(gn_cli *cli, const char *base, const gn_published_file *file,
                               const char *folder)
{
    const char *path;
    gn_text url = {0};
    char hex[GN_SHA256_HEX];
    GN_TRY(gn_path_join(cli->ctx, cli->arena, folder, file->name, &path));
    bool slash = base[0] && base[strlen(base) - 1] != '/';
    gerne_status status = gn_text_add(cli->ctx, &url, "%s%s%s", base, slash ? "/" : "", file->name);
    gn_download download = {url.bytes, path, file->sha256, file->limit};
    if (status == GERNE_OK)
        status = gn_download_file(cli->ctx, &download, hex);
    if (status == GERNE_OK && gn_is_archive(path))
        status = gn_unpack(cli->ctx, path, folder, 0);
    gn_text_free(&url);
    return status;
}

static gerne_status print_fetched(gn_cli *cli, const char *name, const char *folder,
                                  const char *usage)
{
    if (cli->json) {
        json_t *json = json_object();
        json_object_set_new(json, "name", json_string(name));
        json_object_set_new(json, "dir", json_string(folder));
        return gn_output_json(cli, json);
    }
    GN_TRY(gn_text_add(cli->ctx, &cli->output, "%s is in %s\n", name, folder));
    if (!usage)
        return GERNE_OK;
    const char *mark = strstr(usage, "%s");
    return gn_text_add(cli->ctx, &cli->output, "use it with %.*s%s%s\n", (int)(mark - usage), usage,
                       folder, mark + 2);
}

static gerne_status fetch_published(gn_cli *cli, const gn_published *set)
{
    data_command *self = cli->options;
    GN_TRY(default_folder(cli, set->name, &self->out));
    GN_TRY(gn_make_directory(cli->ctx, self->out));
    for (size_t i = 0; i < set->count; i++)
        GN_TRY(fetch_file(cli, self->mirror ? self->mirror : set->base, &set->files[i], self->out));
    return print_fetched(cli, set->name, self->out, set->usage);
}

/* Any address: the last part of its path is the file's name. */
static gerne_status fetch_address(gn_cli *cli, const char *address)
{
    data_command *self = cli->options;
    const char *slash = strrchr(address, '/');
    gn_published_file file = {slash + 1, self->sha256, 0};
    char *base;
    if (!file.name[0] || strpbrk(file.name, "?#&") || strcmp(file.name, "..") == 0)
        return gn_fail(cli->ctx, GERNE_EUSAGE, "'%s' does not end in a file name", address);
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, strlen(address) + 1, 1, &base));
    memcpy(base, address, (size_t)(slash - address) + 1);
    if (!self->out)
        self->out = "data";
    GN_TRY(gn_make_directory(cli->ctx, self->out));
    GN_TRY(fetch_file(cli, base, &file, self->out));
    return print_fetched(cli, file.name, self->out, NULL);
}

static gerne_status list_published(gn_cli *cli)
{
    size_t count;
    const gn_published *sets = gn_published_list(&count);
    json_t *json = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "name", json_string(sets[i].name));
        json_object_set_new(one, "what", json_string(sets[i].what));
        json_object_set_new(one, "address", json_string(sets[i].base));
        json_object_set_new(one, "licence", json_string(sets[i].licence));
        json_array_append_new(json, one);
        if (!cli->json)
            GN_TRY(gn_text_add(cli->ctx, &cli->output, "%-14s %s (%s)\n%-14s %s\n", sets[i].name,
                               sets[i].what, sets[i].licence, "", sets[i].base));
    }
    if (cli->json)
        return gn_output_json(cli, json);
    json_decref(json);
    return GERNE_OK;
}

static gerne_status run_fetch(gn_cli *cli)
{
    if (cli->argument_count < 2)
        return list_published(cli);
    const char *name = cli->arguments[1];
    const gn_published *set = gn_published_find(name);
    if (set)
        return fetch_published(cli, set);
    if (strncmp(name, "http://", 7) == 0 || strncmp(name, "https://", 8) == 0)
        return fetch_address(cli, name);
    size_t count;
    const char *names[16];
    const gn_published *sets = gn_published_list(&count);
    for (size_t i = 0; i < count && i < 16; i++)
        names[i] = sets[i].name;
    const char *nearest = gn_nearest(name, names, count);
    gn_fail(cli->ctx, GERNE_EUSAGE, "unknown dataset '%s'", name);
    if (nearest)
        gn_hint(cli->ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(cli->ctx, "'gerne data fetch' lists them; a URL (http://...) works as well");
    return GERNE_EUSAGE;
}

/* ---- the command ---- */

/* Tokens are of texts: data.max_tokens applies without data.format. */
static gerne_status apply_flags(gn_cli *cli)
{
    static const char *const text[] = {"text"};
    if (cli->argument_count && strcmp(cli->arguments[0], "tokens") == 0 &&
        !gn_settings_find(&cli->flags, "data.format"))
        GN_TRY(gn_settings_add(cli->ctx, &cli->flags, "data.format", text, 1, false, 0));
    GN_TRY(gn_config_apply(cli->ctx, cli->config, &cli->flags));
    return gn_config_complete(cli->ctx, cli->config);
}

static gerne_status run(gn_cli *cli)
{
    GN_TRY(apply_flags(cli));
    static const char *const verbs[] = {"info", "make", "fetch", "tokens"};
    static const char all[] = "gerne data info, gerne data make, gerne data fetch or gerne data "
                              "tokens";
    if (cli->argument_count == 0) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "'gerne data' needs a subcommand");
        gn_hint(cli->ctx, "%s", all);
        return GERNE_EUSAGE;
    }
    const data_command *self = cli->options;
    const char *verb = cli->arguments[0];
    bool fetch = strcmp(verb, "fetch") == 0;
    if (!fetch && cli->argument_count > 1) {
        gn_fail(cli->ctx, GERNE_EUSAGE, "unexpected argument '%s'", cli->arguments[1]);
        gn_hint(cli->ctx, "a folder is given with --data.dir, a file with --data.file");
        return GERNE_EUSAGE;
    }
    if (fetch)
        return run_fetch(cli);
    if (strcmp(verb, "info") == 0)
        return run_info(cli);
    if (strcmp(verb, "make") == 0)
        return run_make(cli);
    if (strcmp(verb, "tokens") == 0)
        return gn_data_tokens(cli, self->vocab, (size_t)self->data.max_tokens);
    const char *nearest = gn_nearest(verb, verbs, sizeof verbs / sizeof verbs[0]);
    gn_fail(cli->ctx, GERNE_EUSAGE, "'gerne data' has no subcommand '%s'", verb);
    if (nearest)
        gn_hint(cli->ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(cli->ctx, "%s", all);
    return GERNE_EUSAGE;
}

const gn_command gn_command_data = {
    .name = "data",
    .arguments = "info|make|fetch|tokens [NAME] [data.* keys]",
    .summary = "Describe, generate or download a dataset; tokenize text",
    .help =
        "info   prints what a dataset holds: samples per split and group, sizes, a few file\n"
        "       names, and problems; every image file is checked.\n"
        "make   writes synthetic, c-mnist or c-cifar10 as PNG files with a metadata.csv.\n"
        "fetch  downloads a published dataset, or any URL, resumes an interrupted download,\n"
        "       verifies the checksum and unpacks archives; without NAME it lists the datasets.\n"
        "tokens reads lines of text from standard input and prints the token ids of each on a\n"
        "       line, as BERT's tokenizer makes them; needs --model.vocab.\n"
        "\n"
        "Layouts of images: a metadata.csv with the columns filename, y, a and split; folders\n"
        "split/class/attribute, of which split and attribute are optional; DFA's names such as\n"
        "align/3/17_3_5.png; CelebA's list_attr_celeba.txt; or a folder without labels.\n"
        "\n"
        "  gerne data info --data.format images --data.dir waterbirds\n"
        "  gerne data make --data.format c-mnist --data.dir data/mnist --out data/c-mnist\n"
        "  gerne data fetch mnist --mirror http://localhost:8000/mnist\n"
        "  echo 'Hello, world' | gerne data tokens --model.vocab vocab.txt\n",
    .max_arguments = 2,
    .applies_flags_itself = true,
    .setup = setup,
    .run = run,
};
