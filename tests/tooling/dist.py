"""The source archive (make dist): the same bytes whoever makes it, and all of the commit's files."""
import os
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from tools import SOURCE, run

SCRIPT = SOURCE / "scripts/make-dist"
SKIPPED = 77


def make(folder, umask, **environment):
    result = run(["sh", "-c", f"umask {umask}; exec '{SCRIPT}' '{folder}'"],
                 env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.strip())


class Dist(unittest.TestCase):
    def test_the_same_bytes_twice(self):
        with tempfile.TemporaryDirectory(prefix="gerne-dist-") as folder:
            first = make(folder + "/a", "022", TZ="UTC", LC_ALL="C")
            second = make(folder + "/b", "077", TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
            self.assertEqual(first.read_bytes(), second.read_bytes())
            self.assertEqual(os.listdir(folder + "/a"), [first.name])

    def test_contents(self):
        listed = run(["git", "ls-tree", "-r", "--name-only", "-z", "HEAD"], cwd=SOURCE).stdout
        with tempfile.TemporaryDirectory(prefix="gerne-dist-") as folder:
            path = make(folder, "022")
            top = path.name.removesuffix(".tar.gz")
            self.assertRegex(top, r"^gerne-\d+\.\d+\.\d+$")
            with tarfile.open(path) as archive:
                names = {m.name for m in archive if not m.isdir()}
                wanted = {f"{top}/{name}" for name in listed.split("\0") if name}
                self.assertEqual(names, wanted)
                self.assertEqual({m.mode & 0o022 for m in archive}, {0})

    def test_outside_of_a_checkout(self):
        with tempfile.TemporaryDirectory(prefix="gerne-dist-") as folder:
            copy = Path(folder) / "scripts/make-dist"
            copy.parent.mkdir()
            copy.write_bytes(SCRIPT.read_bytes())
            copy.chmod(0o755)
            result = run([copy], env={**os.environ, "GIT_CEILING_DIRECTORIES": folder})
            self.assertEqual(result.returncode, 1)
            self.assertIn("not a git checkout", result.stderr)


if __name__ == "__main__":
    if run(["git", "rev-parse", "HEAD"], cwd=SOURCE).returncode != 0:
        print("skipped: this is not a git checkout")
        sys.exit(SKIPPED)
    unittest.main()
