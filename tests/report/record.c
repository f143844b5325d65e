/* A report in which every allocation fails once is written whole, or not at all. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "report/report.h"
#include "testing.h"

static void put(gerne_ctx *ctx, const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(ctx, gn_file_write(ctx, path, text, strlen(text)));
}

#define SPLIT                                                                                      \
    "{\"n\":8,\"acc_avg\":0.75,\"gba\":0.75,\"gba_ci95\":[0.4,0.9],\"wga\":0.5,\"wga_ci95\":[0.1," \
    "0.8],\"worst_group\":{\"y\":0,\"a\":1},\"groups\":[{\"y\":0,\"a\":0,\"n\":4,\"correct\":4,"   \
    "\"acc\":1,\"ci95\":[0.4,1]},{\"y\":0,\"a\":1,\"n\":2,\"correct\":1,\"acc\":0.5,\"ci95\":[0,"  \
    "1]},{\"y\":1,\"a\":0,\"n\":2,\"correct\":1,\"acc\":0.5,\"ci95\":[0,1]}]}"

static void make_run(gerne_ctx *ctx, const char *folder)
{
    put(ctx, folder, "config.yaml", "seed: 1\nmodel:\n  hidden: [3, 4]\nmethod:\n  name: gerne\n");
    put(ctx, folder, "results.json",
        "{\"method\":\"gerne\",\"seed\":1,\"threads\":1,\"data_fingerprint\":\"f\","
        "\"class_names\":[\"x\",\"y\"],\"attribute_names\":[\"a\",\"b\"],\"selection\":{\"metric\":"
        "\"gba\",\"split\":\"val\",\"oracle\":false,\"step\":2},\"bounds\":{\"c\":0.5,\"beta\":1,"
        "\"beta_balanced\":1,\"interval\":[-1,2],\"binding\":{\"y\":0,\"a\":0}},\"pseudo\":null,"
        "\"warnings\":[\"w\"],\"splits\":{\"val\":" SPLIT ",\"test\":" SPLIT
        "},\"last\":{\"val\":" SPLIT ",\"test\":" SPLIT "}}");
    put(ctx, folder, "log.jsonl",
        "{\"event\":\"start\",\"class_names\":[\"x\",\"y\"],\"attribute_names\":[\"a\",\"b\"],"
        "\"train_counts\":[[9,1],[1,9]]}\n"
        "{\"event\":\"evaluation\",\"step\":1,\"train\":{\"loss\":1},\"val\":{\"wga\":0.1,"
        "\"groups\":[0.1,0.2,0.3,null]}}\n"
        "{\"event\":\"evaluation\",\"step\":2,\"train\":{\"loss\":0.5},\"val\":{\"wga\":0.3,"
        "\"groups\":[0.3,0.4,0.5,null]}}\n");
    put(ctx, folder, "predictions.csv",
        "index,y,a,split,pred\n0,x,a,test,x\n1,x,b,test,y\n2,y,a,test,y\n");
}

static void make_diverged_run(gerne_ctx *ctx, const char *folder)
{
    put(ctx, folder, "config.yaml", "seed: 1\nmethod:\n  name: gerne\n");
    put(ctx, folder, "log.jsonl",
        "{\"event\":\"start\",\"class_names\":[\"x\",\"y\"],\"attribute_names\":[\"a\",\"b\"]}\n"
        "{\"event\":\"warning\",\"message\":\"w\"}\n"
        "{\"event\":\"diverged\",\"step\":3,\"stage\":\"main\",\"message\":\"m\",\"hint\":\"h\"}"
        "\n");
    put(ctx, folder, "diverged.json",
        "{\"step\":3,\"stage\":\"main\",\"message\":\"m\",\"hint\":\"h\"}");
}

static void test_every_allocation_fails_once(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    char *folder = test_directory(), *diverged = test_directory();
    const char *paths[] = {folder, folder, diverged};
    char out[1024];
    gn_text wanted = {0}, found = {0};
    make_run(ctx, folder);
    make_diverged_run(ctx, diverged);
    snprintf(out, sizeof out, "%s/out.html", folder);
    assert_ok(ctx, gn_report_write(ctx, paths, 3, out));
    assert_ok(ctx, gn_file_read(ctx, out, 1 << 20, &wanted));
    remove(out);
    long n = 1;
    for (gerne_status status = GERNE_ENOMEM; status != GERNE_OK; n++) {
        gn_fail_allocation(n);
        status = gn_report_write(ctx, paths, 3, out);
        gn_fail_allocation(0);
        assert_true(status == GERNE_OK || status == GERNE_ENOMEM);
        assert_true(status != GERNE_OK || gn_path_exists(out));
        if (gn_path_exists(out)) {
            assert_ok(ctx, gn_file_read(ctx, out, 1 << 20, &found));
            assert_string_equal(found.bytes, wanted.bytes);
            remove(out);
        }
    }
    assert_true(n > 50); /* it did get far */
    gn_text_free(&wanted);
    gn_text_free(&found);
    test_remove_directory(folder);
    test_remove_directory(diverged);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
