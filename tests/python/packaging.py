"""pip without network, and make install: the package works from where they put it."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

USE = """
import gerne, os, sys
print(gerne.library_path())
print(os.path.dirname(gerne.__file__))
print(gerne.audit([[9, 1], [1, 9]])["verdict"], gerne.__version__)
"""


class Packaging(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def use(self, path, **environment):
        environment = {**os.environ, "PYTHONPATH": str(path), **environment}
        if not environment.get("GERNE_LIBRARY"):
            environment.pop("GERNE_LIBRARY", None)
        result = subprocess.run([sys.executable, "-B", "-c", USE], capture_output=True, text=True,
                                env=environment, cwd=self.root)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def pip(self, *words):
        result = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--no-index", "--disable-pip-version-check",
             "--no-deps", "--target", str(self.root / "site"), *words],
            capture_output=True, text=True, timeout=100, env={**os.environ, "PIP_FIND_LINKS": ""})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @unittest.skipUnless(support.has("pip"), "python3-pip is not installed")
    def test_pip(self):
        before = sorted(support.PACKAGE.iterdir())
        self.pip(str(support.PACKAGE))
        self.assertEqual(sorted(support.PACKAGE.iterdir()), before, "pip wrote beside the sources")
        package = self.root / "site/gerne"
        self.assertTrue((package / "py.typed").exists())
        modules = {path.name for path in (support.PACKAGE / "gerne").glob("*.py")}
        self.assertEqual({path.name for path in package.glob("*.py")}, modules)
        lines = self.use(self.root / "site")
        self.assertEqual(lines[1], str(package))
        version = (support.PACKAGE / "gerne/_version.py").read_text().split('"')[-2]
        self.assertEqual(lines[2], f"strongly biased {version}")
        self.assertEqual(len(list((self.root / "site").glob(f"gerne-{version}.dist-info"))), 1)

    @unittest.skipUnless(support.has("pip"), "python3-pip is not installed")
    def test_pip_of_an_archive(self):
        """The source archive holds all that a wheel needs; both are reproducible."""
        code = "import build_wheel, sys; print(build_wheel.%s(sys.argv[1]))"
        made = [subprocess.run([sys.executable, "-B", "-c", code % hook, str(self.root)],
                               cwd=support.PACKAGE, capture_output=True, text=True, check=True)
                for hook in ("build_sdist", "build_wheel")]
        archive, wheel = (self.root / result.stdout.strip() for result in made)
        self.pip(str(archive))
        self.assertEqual(self.use(self.root / "site")[1], str(self.root / "site/gerne"))
        first = wheel.read_bytes()
        os.utime(support.PACKAGE / "gerne/__init__.py")
        subprocess.run([sys.executable, "-B", "-c", code % "build_wheel", str(self.root)],
                       cwd=support.PACKAGE, capture_output=True, check=True)
        self.assertEqual(wheel.read_bytes(), first)

    def test_make_install(self):
        prefix = self.root / "prefix"
        result = subprocess.run(["cmake", "--install", str(support.BUILD), "--prefix", str(prefix)],
                                capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        folder = prefix / "lib/python3/dist-packages"
        self.assertTrue((folder / "gerne/py.typed").exists())
        self.assertEqual(list(folder.rglob("__pycache__")), [])
        lines = self.use(folder, GERNE_LIBRARY="")
        self.assertTrue(lines[0].startswith(str(prefix)), lines)
        self.assertEqual(lines[1], str(folder / "gerne"))


if __name__ == "__main__":
    support.main()
