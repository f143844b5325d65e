/* topic.c - gerne help NAME: whatever has that name, a command, a method or an estimator, a network
 * or a key. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

/* Commands that describe one of a list when its name is their argument. */
static const gn_command *const describers[] = {&gn_command_methods, &gn_command_models};
enum { DESCRIBERS = sizeof describers / sizeof describers[0] };

const char *gn_topic(size_t i)
{
    size_t first = 0;
    for (; gn_commands[first]; first++)
        if (first == i)
            return gn_commands[i]->name;
    for (size_t d = 0; d < DESCRIBERS; d++) {
        size_t count = 0;
        for (; describers[d]->word(count); count++)
            if (first + count == i)
                return describers[d]->word(count);
        first += count;
    }
    return NULL;
}

void gn_hint_nearest(gerne_ctx *ctx, const char *name, const char *const *names, size_t count,
                     const char *otherwise)
{
    const char *nearest = gn_nearest(name, names, count);
    if (nearest)
        gn_hint(ctx, "did you mean '%s'?", nearest);
    else
        gn_hint(ctx, "%s", otherwise);
}

/* ---- keys ---- */

enum { FOUND_MAX = 64, NAMES_MAX = 1024, KEY_MAX = 128, USERS_MAX = 256 };

/* A row of an option table with the key that is looked for. */
typedef struct found_key {
    const gn_option *option;
    const char *section, *summary;
    char users[USERS_MAX]; /* the commands that have it */
} found_key;

typedef struct search {
    gn_cli *cli;
    const char *name;
    const gn_command *command; /* whose options are visited */
    found_key found[FOUND_MAX];
    size_t found_count;
    const char *names[NAMES_MAX]; /* of everything, for the nearest one */
    size_t name_count;
} search;

static void add_user(found_key *found, const char *command)
{
    size_t used = strlen(found->users);
    snprintf(found->users + used, sizeof found->users - used, "%s%s", used ? ", " : "", command);
}

static void note_found(search *s, const char *section, const char *summary, const gn_option *option)
{
    for (size_t i = 0; i < s->found_count; i++)
        if (s->found[i].option == option) {
            add_user(&s->found[i], s->command->name);
            return;
        }
    if (s->found_count == FOUND_MAX)
        return;
    found_key *found = &s->found[s->found_count++];
    *found = (found_key){.option = option, .section = section, .summary = summary};
    add_user(found, s->command->name);
}

static gerne_status visit(void *user, const char *section, const char *summary,
                          const gn_option *option)
{
    search *s = user;
    char key[KEY_MAX];
    snprintf(key, sizeof key, "%s%s%s", section, section[0] ? "." : "", option->name);
    if (strcmp(key, s->name) == 0)
        note_found(s, section, summary, option);
    if (s->name_count == NAMES_MAX)
        return GERNE_OK;
    return gn_arena_copy_text(s->cli->ctx, s->cli->arena, key, &s->names[s->name_count++]);
}

static gerne_status print_found(gn_cli *cli, const search *s)
{
    for (size_t i = 0; i < s->found_count; i++) {
        const found_key *found = &s->found[i];
        GN_TRY(gn_print_options(cli->ctx, found->section, found->summary, found->option, 1,
                                &cli->output));
        GN_TRY(gn_text_add(cli->ctx, &cli->output, "  of: gerne %s\n", found->users));
    }
    return GERNE_OK;
}

/* A key without its section, "lr" for "train.lr", is near too. */
static const char *with_section(const search *s)
{
    for (size_t i = 0; i < s->name_count; i++) {
        const char *dot = strrchr(s->names[i], '.');
        if (dot && strcmp(dot + 1, s->name) == 0)
            return s->names[i];
    }
    return NULL;
}

static gerne_status refuse(gerne_ctx *ctx, search *s)
{
    const char *whole = with_section(s);
    for (size_t i = 0; gn_topic(i) && s->name_count < NAMES_MAX; i++)
        s->names[s->name_count++] = gn_topic(i);
    gn_fail(ctx, GERNE_EUSAGE, "no help on '%s'", s->name);
    if (whole)
        gn_hint(ctx, "did you mean '%s'?", whole);
    else
        gn_hint_nearest(ctx, s->name, s->names, s->name_count,
                        "'gerne help' lists the commands, 'gerne methods' and 'gerne models' "
                        "methods and networks, 'gerne train --help' keys");
    return GERNE_EUSAGE;
}

static gerne_status print_key(gn_cli *cli, const char *name)
{
    search *s;
    GN_TRY(gn_arena_alloc(cli->ctx, cli->arena, 1, sizeof *s, &s));
    *s = (search){.cli = cli, .name = name};
    for (size_t i = 0; gn_commands[i]; i++) {
        s->command = gn_commands[i];
        GN_TRY(gn_visit_options(cli, s->command, visit, s));
    }
    return s->found_count ? print_found(cli, s) : refuse(cli->ctx, s);
}

/* ---- all of them ---- */

/* Runs another command with the same argument. */
static gerne_status run_other(gn_cli *cli, const gn_command *command)
{
    gn_cli other = *cli;
    other.options = NULL;
    other.flags = (gn_settings){.arena = cli->arena};
    GN_TRY(gn_config_new(cli->ctx, &other.config));
    gerne_status status = gn_setup_command(&other, command);
    other.json = cli->json;
    other.quiet = cli->quiet;
    if (status == GERNE_OK)
        status = gn_config_complete(cli->ctx, other.config);
    if (status == GERNE_OK)
        status = command->run(&other);
    cli->output = other.output;
    gn_settings_free(&other.flags);
    gn_config_close(other.config);
    return status;
}

gerne_status gn_print_topic(gn_cli *cli, const char *name)
{
    const gn_command *command = gn_find_command(name);
    if (command)
        return gn_print_help(cli, command, &cli->output);
    for (size_t d = 0; d < DESCRIBERS; d++)
        for (size_t i = 0; describers[d]->word(i); i++)
            if (strcmp(describers[d]->word(i), name) == 0)
                return run_other(cli, describers[d]);
    return print_key(cli, name);
}
