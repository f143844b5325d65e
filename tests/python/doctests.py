"""Runs the examples in the docstrings of every module, and those of docs/python.md."""
import doctest
import importlib
import os
import pkgutil
import tempfile
import unittest

import support
import gerne


def run_examples(path):
    """The examples of a Markdown file, one session from top to bottom."""
    text = "\n".join("" if line.startswith("```") else line
                     for line in path.read_text(encoding="utf-8").splitlines())
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    return runner.summarize()


class Examples(unittest.TestCase):
    def test_modules(self):
        found = 0
        for info in pkgutil.iter_modules(gerne.__path__):
            with self.subTest(module=info.name):
                result = doctest.testmod(importlib.import_module(f"gerne.{info.name}"))
                self.assertEqual(result.failed, 0)
                found += result.attempted
        result = doctest.testmod(gerne)
        self.assertEqual(result.failed, 0)
        self.assertGreater(found, 40)

    def test_manual(self):
        """In a folder of its own: the examples write runs."""
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                result = run_examples(support.SOURCE / "docs" / "python.md")
            finally:
                os.chdir(before)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 20)


if __name__ == "__main__":
    support.main()
