"""scripts/new-method: the method that it writes builds without a warning, passes its tests and trains."""
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from tools import SOURCE, run

SCRIPT = SOURCE / "scripts/new-method"
PARTS = ("CMakeLists.txt", "Makefile", "bench", "cmake", "examples", "include", "man", "scripts", "src", "tests",
         ".clang-format")


class NewMethod(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gerne-method-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = self.folder / "tree"
        self.root.mkdir()
        for part in PARTS:
            copy = shutil.copytree if (SOURCE / part).is_dir() else shutil.copy
            copy(SOURCE / part, self.root / part)

    def add(self, *words):
        return run([SCRIPT, *words], cwd=self.root)

    def must(self, command, **options):
        result = run(command, cwd=self.root, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def build(self, *targets):
        flags = ["-DGERNE_DEV=ON", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O0",
                 f"-DCMAKE_C_COMPILER={os.environ['CC']}"]
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.root), "CCACHE_NOHASHDIR": "1"}
        if shutil.which("ccache"):
            flags.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        self.must(["cmake", "-S", ".", "-B", "build", *flags], env=environment)
        self.must(["cmake", "--build", "build", "--parallel", str(os.cpu_count()), "--target", *targets],
                  env=environment)

    def test_it_builds_and_trains(self):
        result = self.add("by_size")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ("src/methods/by_size.c", "Next:", "gerne train --method.name by_size"):
            self.assertIn(words, result.stdout)
        if shutil.which("clang-format"):
            files = ["src/methods/by_size.c", "tests/methods/by_size.c", "src/methods/list.c"]
            self.must(["clang-format", "--dry-run", "--Werror", *files])
        self.must(["scripts/check-layout"])
        self.build("gerne_program", "test_methods_by_size")
        self.must(["ctest", "--test-dir", "build", "-R", "^methods_by_size$", "--no-tests=error"])
        results = json.loads(self.must(["build/gerne", "train", "--method.name", "by_size", "--method.power", "0.5",
                                        "--data.n", "300", "--train.steps", "20", "--out", "run", "--json", "--quiet"]))
        self.assertEqual(results["method"], "by_size")
        self.assertEqual(results["method_options"]["power"], 0.5)
        self.assertIn("by_size", self.must(["build/gerne", "methods"]))

    def test_bad_names_change_nothing(self):
        before = {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        invalid, listed = "is not a valid method name", "src/methods/list.c lists"
        for name, words in (("", invalid), ("By_size", invalid), ("2nd", invalid), ("a-b", invalid), ("../x", invalid),
                            ("x" * 25, invalid), ("none", "is a reserved word"), ("auto", "is a reserved word"),
                            ("gerne", listed), ("cbloss", listed), ("sqrt_reweight", listed), ("reweight_crt", listed),
                            ("xrm", listed), ("biased", listed), ("jtt", listed),
                            ("rules", "src/methods/rules.c exists"), ("gradients", "tests/methods/gradients.c exists")):
            with self.subTest(name=name):
                result = self.add(name)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(words, result.stderr)
        result = self.add("by_size", self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("not the top of the source tree", result.stderr)
        self.assertEqual(self.add().returncode, 2)
        self.assertEqual(before, {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()})


if __name__ == "__main__":
    unittest.main()
