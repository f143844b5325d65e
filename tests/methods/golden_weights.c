/* Ten steps of methods that weight, mix or choose samples beside PyTorch's:
 * tests/golden/methods_weights.py made the files. */
#include "testing.h"

#include "golden.h"

#define CUTMIX                                                                                     \
    {                                                                                              \
        "method.mix", "cutmix"                                                                     \
    }
#define SUBPOPBENCH                                                                                \
    {                                                                                              \
        "method.variant", "subpopbench"                                                            \
    }

static const golden_case cases[] = {
    {"cbloss", "cbloss", 0, {"loss"}, {{"method.b", "0.99"}}},
    {"bsoftmax", "bsoftmax", 0, {"loss"}, {{0}}},
    {"focal", "focal", 0, {"loss"}, {{"method.gamma", "2"}}},
    {"groupdro", "groupdro", 0, {"loss"}, {{"method.eta", "0.5"}, {"method.adjustment", "0.5"}}},
    {"groupdro-subpopbench", "groupdro", 0, {"loss"}, {{"method.eta", "0.5"}, SUBPOPBENCH}},
    {"lff", "lff", 0, {"loss", "L_biased"}, {{0}}},
    {"lisa", "lisa", 0, {"loss"}, {{0}}},
    {"lisa-subpopbench", "lisa", 0, {"loss"}, {SUBPOPBENCH}},
    {"lisa-cutmix", "lisa", 0, {"loss"}, {SUBPOPBENCH, CUTMIX}},
};

static void ten_steps_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        golden_check(&cases[i], true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_steps_are_those_of_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
