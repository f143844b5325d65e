"""The programs of examples/ that use the library: they run, they show every call of gerne.h, and
docs/library.md shows them."""
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from installation import declared
from tools import SOURCE, build, run

# Name of the program, its source below examples/, and what it prints.
EXAMPLES = {
    "own_trainer": ("own_trainer.c", r"with GERNE"),
    "arithmetic": ("library/arithmetic.c", r"2 hard samples, sample 3 is hard"),
    "embeddings": ("library/embeddings.c", r"Verdict: strongly biased[^$]*worst group: y=\d"),
    "gate": ("library/gate.c", r'"wga":[^$]*new minus old[^$]*gains at least'),
    "interrupt": ("library/interrupt.c", r'"splits"'),
    "model": ("library/model.c", r"mean confidence[^$]*predictions.csv: [^$]*Verdict[^$]*"
              r"fc1.weight: F32, 12288 values"),
}
CONFIG = "data: {n: 800}\nmodel: {arch: mlp, hidden: [16]}\ntrain: {lr: 0.01}\nthreads: 1\n"


def text_of(path):
    return (SOURCE / "examples" / path).read_text(encoding="utf-8")


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


class LibraryExamples(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gerne-examples-"))
        (self.folder / "config.yaml").write_text(CONFIG)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_they_run(self):
        launcher = os.environ.get("GERNE_LAUNCHER", "").split()
        for name, (_, output) in EXAMPLES.items():
            with self.subTest(name):
                result = run([*launcher, build() / f"example_{name}"], cwd=self.folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, output)

    def test_every_call_is_shown(self):
        shown = "".join(text_of(path) for path, _ in EXAMPLES.values())
        called = set(re.findall(r"\b(gerne_\w+)\s*\(", shown))
        self.assertEqual(declared()[0] - called, set(), "calls of gerne.h without an example")

    def test_the_document_shows_them(self):
        """Every block of C in docs/library.md is a part of an example, line by line."""
        document = (SOURCE / "docs/library.md").read_text(encoding="utf-8")
        examples = ["\n".join(lines_of(text_of(path))) for path, _ in EXAMPLES.values()]
        blocks = re.findall(r"^```c\n(.*?)^```", document, re.M | re.S)
        self.assertGreaterEqual(len(blocks), len(EXAMPLES))
        for block in blocks:
            part = "\n".join(lines_of(block))
            self.assertTrue(any(part in example for example in examples), block)
        for path, _ in EXAMPLES.values():
            self.assertIn(f"examples/{path}", document)


if __name__ == "__main__":
    unittest.main()
