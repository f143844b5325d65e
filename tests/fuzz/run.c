/* The files of a run and of a study, through the report that reads them all. The first byte says
 * which file the rest is: [r]esults.json, [l]og.jsonl, [d]iverged.json, [c]onfig.yaml,
 * [p]redictions.csv or [s]tudy.json. What is accepted has our one script, and no other. */
#include "target.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "report/report.h"

static const struct {
    char letter;
    const char *name;
} files[] = {{'r', "results.json"}, {'l', "log.jsonl"},       {'d', "diverged.json"},
             {'c', "config.yaml"},  {'p', "predictions.csv"}, {'s', "study.json"}};

/* A run of two classes and attributes, for the files that are not the input. */
static const char results[] =
    "{\"gerne\":\"0.1.0\",\"method\":\"erm\",\"seed\":0,\"class_names\":[\"0\",\"1\"],"
    "\"attribute_names\":[\"0\",\"1\"],\"selection\":{\"metric\":\"gba\",\"split\":\"val\"},"
    "\"splits\":{\"test\":{\"n\":4,\"gba\":0.5,\"wga\":0.5,\"worst_group\":{\"y\":0,\"a\":0},"
    "\"groups\":[{\"y\":0,\"a\":0,\"n\":4,\"correct\":2,\"acc\":0.5,\"ci95\":[0.1,0.9]}]}}}";

static void make_directory(char letter, const uint8_t *data, size_t size)
{
    gn_folder_remove(fuzz_directory(), 1);
    if (letter != 's')
        (void)fuzz_put("config.yaml", "seed: 0\n", 8);
    if (strchr("lp", letter)) /* others are read where results are not */
        (void)fuzz_put("results.json", results, sizeof results - 1);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i].letter == letter)
            (void)fuzz_put(files[i].name, data, size);
}

static size_t count(const gn_text *text, const char *word)
{
    size_t found = 0;
    for (const char *at = text->bytes; (at = strstr(at, word)); at++)
        found++;
    return found;
}

void fuzz_target(gerne_ctx *ctx, const uint8_t *data, size_t size)
{
    enum { PAGE = 1 << 26 };
    const char *const paths[] = {fuzz_directory()};
    char out[128];
    gn_text page = {0};
    if (!size || !strchr("rldcps", data[0]) || !data[0])
        return;
    make_directory((char)data[0], data + 1, size - 1);
    snprintf(out, sizeof out, "%s/report.html", paths[0]);
    gerne_status status = gn_report_write(ctx, paths, 1, out);
    if (status == GERNE_EUSAGE) /* configurations */
        status = GERNE_EDATA;
    if (fuzz_accepted(ctx, status, GERNE_EDATA)) {
        fuzz_check(gn_file_read(ctx, out, PAGE, &page) == GERNE_OK);
        fuzz_check(strlen(page.bytes) == page.size && count(&page, "<script") == 1);
        fuzz_check(gn_is_utf8(page.bytes));
    }
    gn_text_free(&page);
}
