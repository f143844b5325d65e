"""scripts/check: every step passes on clean code, fails on bad code, and says when it is skipped."""
import json
import os
import shutil
import unittest

from tools import SOURCE, TemporaryTree, run

CHECK = SOURCE / "scripts/check"
CLEAN = "int gn_twice(int x);\n\nint gn_twice(int x)\n{\n    return 2 * x;\n}\n"

# step, its tool, code that the step must refuse, words of its complaint
STEPS = [
    ("format", "clang-format", CLEAN.replace("2 * x", "2*x"), "clang-format-violations"),
    ("layout", "python3", CLEAN + "\nint f(void)\n{\n    return atoi(0);\n}\n", "banned"),
    ("shell", "shellcheck", "#!/bin/sh\necho $1\n", "SC2086"),
    ("tidy", "clang-tidy", CLEAN.replace("return 2 * x;", "int *p = 0;\n    return *p * x;"),
     "clang-analyzer-core.NullDereference"),
    ("cppcheck", "cppcheck", CLEAN.replace("return 2 * x;", "int a[2] = {x, x};\n    return a[2];"),
     "arrayIndexOutOfBounds"),
]


def check(code, step, path=None):
    files = {"src/base/twice.c": CLEAN, "scripts/x": "#!/bin/sh\n"}
    files["scripts/x" if step == "shell" else "src/base/twice.c"] = code
    with TemporaryTree(files) as root:
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(SOURCE / name, root)
        file = root / "src/base/twice.c"
        entry = {"directory": str(root), "command": f"cc -c {file}", "file": str(file)}
        (root / "compile_commands.json").write_text(json.dumps([entry], indent=1))
        environment = {**os.environ, "PATH": path(root)} if path else None
        return run([CHECK, root, step], cwd=root, env=environment)


class Check(unittest.TestCase):
    def test_steps_pass_and_can_fail(self):
        for step, tool, bad, words in STEPS:
            if not shutil.which(tool):
                print(f"{tool} is not installed: step {step} is not tested")
                continue
            with self.subTest(step=step):
                result = check('#!/bin/sh\n' if step == 'shell' else CLEAN, step)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn(f"check: {step} passed", result.stdout)
                result = check(bad, step)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(words, result.stdout + result.stderr)
                self.assertIn(f"check: failed: {step}", result.stdout)

    def test_missing_tool_is_said(self):
        def bare(root):
            (root / "bin").mkdir()
            for tool in ("sh", "dirname", "nproc"):
                (root / "bin" / tool).symlink_to(shutil.which(tool))
            return str(root / "bin")

        for step, tool, bad, _ in STEPS:
            with self.subTest(step=step):
                result = check(bad, step, bare)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn(f"check: {step} skipped: {tool} is not installed", result.stdout)

    def test_unknown_step(self):
        self.assertEqual(check(CLEAN, "nonsense").returncode, 2)


if __name__ == "__main__":
    unittest.main()
