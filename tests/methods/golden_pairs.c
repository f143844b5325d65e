/* Ten steps of methods that train two networks beside PyTorch's: tests/golden/methods_pairs.py made
 * the files. */
#include "testing.h"

#include "golden.h"

static const golden_case cases[] = {
    {"lc",
     "lc",
     0,
     {"loss", "L_biased"},
     {{"method.alpha", "0.9"}, {"method.ramp", "20"}, {"method.lambda_b", "2"}}},
    {"lc-mv_batch",
     "lc",
     0,
     {"loss", "L_biased"},
     {{"method.alpha", "0.9"},
      {"method.ramp", "20"},
      {"method.lambda_b", "2"},
      {"method.table", "mv_batch"}}},
    {"denetdm",
     "denetdm",
     1,
     {"loss", "L_distillation"},
     {{"method.shallow_hidden", "9,6"}, {"method.deep_hidden", "8,7,6"}, {"method.w_d", "0.5"}}},
};

static void ten_steps_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        golden_check(&cases[i], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_steps_are_those_of_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
