"""The rules of scripts/check-layout: each is shown to hold on a good tree and to fail on a bad one."""
import unittest

from tools import SOURCE, TemporaryTree, run

CHECK = SOURCE / "scripts/check-layout"

GOOD = {
    "include/gerne.h": "int gerne_x(void);\n",
    "src/base/status.h": '#include "gerne.h"\n#include <stdio.h>\ntypedef struct gn_x {\n} gn_x;\n',
    "src/engine/engine.c": '#include <dnnl.h>\n#include "base/status.h"\n#include "engine/engine.h"\n',
    "src/nn/mlp.c": '#include "engine/engine.h"\n/* never exit(1), never strcpy() */\n',
    "src/report/html.c": '#include "base/status.h"\nconst char *s = "printf(";\n',
    "src/cli/main.c": '#include "tune/tune.h"\nint f(void)\n{\n    exit(printf("x"));\n}\n',
    "src/train/plugin.c": "void *f(void) { return dlopen(p, 1); }\n",
    "src/train/loop.c": '#include "methods/method.h"\n#include "data/dataset.h"\n',
    "tests/base/a.c": '#include "testing.h"\n#include "train/loop.h"\n',
    "bench/ops.c": "#include <oneapi/dnnl/dnnl.h>\n",
}

# (file, its contents, words that must be reported)
BAD = [
    ("src/base/a.c", '#include "debias/law.h"\n', "src/base may include nothing else"),
    ("src/debias/a.c", '#include "data/dataset.h"\n', "src/debias may include base"),
    ("src/data/a.c", '#include "engine/engine.h"\n', "src/data may include"),
    ("src/engine/a.c", '#include "nn/mlp.h"\n', "src/engine may include base"),
    ("src/nn/a.c", '#include "debias/law.h"\n', "src/nn may include"),
    ("src/methods/a.c", '#include "train/loop.h"\n', "src/methods may include"),
    ("src/methods/a.c", '#include "data/dataset.h"\n', "src/methods may include"),
    ("src/train/a.c", '#include "study/ledger.h"\n', "src/train may include"),
    ("src/study/a.c", '#include "cli/command.h"\n', "src/study may include"),
    ("src/tune/a.c", '#include "reproduce/paper.h"\n', "src/tune may include"),
    ("src/reproduce/a.c", '#include "tune/space.h"\n', "src/reproduce may include"),
    ("src/report/a.c", '#include "train/loop.h"\n', "src/report may include base"),
    ("src/nn/a.c", "  #  include <dnnl.h>\n", "only src/engine includes oneDNN"),
    ("src/cli/a.c", "#include <oneapi/dnnl/dnnl_types.h>\n", "only src/engine includes oneDNN"),
    ("tests/nn/a.c", "#include <dnnl.h>\n", "only src/engine includes oneDNN"),
    ("src/nn/a.c", '#include "layer.h"\n', "name headers from src/"),
    ("src/nn/a.c", '#include "../train/loop.h"\n', "name headers from src/"),
    ("src/other/a.c", "int x;\n", "no such layer"),
    ("src/nn/a.c", "typedef enum gn_x {\n    A,\n} gn_x;\n", "gn_x is another type in src/base"),
    ("src/base/a.c", "void f(void) { exit(1); }\n", "exit: only src/cli"),
    ("src/base/a.c", "void f(void) { abort (); }\n", "abort: only src/cli"),
    ("src/nn/a.c", 'void f(void) { printf("x"); }\n', "printf: only src/cli"),
    ("src/nn/a.c", 'void f(void) { puts("x"); }\n', "puts: only src/cli"),
    ("src/nn/a.c", 'void f(void) { fprintf(stderr, "x"); }\n', "stderr: only src/cli"),
    ("src/nn/a.c", 'void f(void) { fputs("x", stdout); }\n', "stdout: only src/cli"),
    ("src/nn/a.c", "void *f(void) { return malloc(1); }\n", "malloc: the heap"),
    ("src/nn/a.c", "int f(void) { return unlink(\"a\"); }\n", "unlink: files are written by src/base"),
    ("src/nn/a.c", "int f(void) { return open(\"a\", O_CREAT); }\n", "O_CREAT: files are written"),
    ("src/train/a.c", "void *f(void) { return dlopen(p, 1); }\n", "dlopen: only src/train/plugin.c"),
    ("src/cli/a.c", "void *f(void) { return dlsym (p, q); }\n", "dlsym: only src/train/plugin.c"),
] + [
    (folder + "/a.c", f"void f(void) {{ {name}(a); }}\n", f"{name} is banned")
    for name in "strcpy strcat sprintf gets atoi atof strtok rand srand".split()
    for folder in ("src/cli", "src/base", "tests/base")
]


def check(files):
    with TemporaryTree(files) as root:
        return run([CHECK, root])


class Layout(unittest.TestCase):
    def test_good_tree_passes(self):
        result = check(GOOD)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("10 files, 0 faults", result.stdout)

    def test_every_rule_can_fail(self):
        for path, text, words in BAD:
            with self.subTest(path=path, text=text):
                result = check({**GOOD, path: text})
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(words, result.stdout)
                self.assertIn(", 1 faults", result.stdout)

    def test_fault_names_its_line(self):
        result = check({"src/base/a.c": "/* a\n comment */\nchar c = '\"';\nint x = atoi(y);\n"})
        self.assertIn("src/base/a.c:4: atoi is banned", result.stdout)

    def test_long_code_is_only_a_warning(self):
        long_function = "int f(void)\n{\n" + "    x();\n" * 81 + "}\n"
        short_function = "int g(void)\n{\n" + "    x();\n" * 80 + "}\n"
        result = check({"src/base/a.c": long_function + short_function + "\n" * 600})
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(result.stdout.count("a function of 81 lines"), 1, result.stdout)
        self.assertEqual(result.stdout.count("a function of"), 1, result.stdout)
        self.assertIn("warning: a file of", result.stdout)

    def test_empty_tree_is_an_error(self):
        with TemporaryTree({}) as root:
            self.assertEqual(run([CHECK, root]).returncode, 2)


if __name__ == "__main__":
    unittest.main()
