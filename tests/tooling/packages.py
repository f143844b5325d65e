"""Debian packages (make deb): which files they hold, what they need, what lintian says, and that what
they unpack to works. Skipped where Debian's tools are missing."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tools import SOURCE, build, install, run

SKIPPED = 77
PROGRAM = {"usr/bin/gerne", "usr/share/man/man1/gerne.1.gz",
           "usr/share/bash-completion/completions/gerne", "usr/share/zsh/site-functions/_gerne",
           "usr/share/fish/vendor_completions.d/gerne.fish"}


def files_below(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_symlink() or p.is_file()}


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gerne-packages-"))
        result = run(["cpack", "-B", cls.folder / "made"], cwd=build())
        assert result.returncode == 0, result.stdout + result.stderr
        cls.debs = {p.name.split("_")[0]: p for p in (cls.folder / "made").glob("*.deb")}
        cls.files = {}
        for name, deb in cls.debs.items():
            subprocess.run(["dpkg-deb", "-x", deb, cls.folder / name], check=True)
            cls.files[name] = files_below(cls.folder / name)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def control(self, name, field):
        return run(["dpkg-deb", "-f", self.debs[name], field]).stdout.strip()

    def test_names(self):
        wanted = {"gerne", "libgerne0", "libgerne-dev"}
        if (SOURCE / "python/gerne").is_dir():
            wanted.add("python3-gerne")
        self.assertEqual(set(self.debs), wanted)

    def test_every_installed_file_is_in_one_package(self):
        prefix = self.folder / "installed"
        install(prefix / "usr")
        wanted = {f + ".gz" if "/man/" in f else f for f in files_below(prefix)}
        own = {f for files in self.files.values() for f in files if f.startswith("usr/share/doc/")}
        packed = [f for files in self.files.values() for f in files if f not in own]
        self.assertEqual(sorted(packed), sorted(wanted))
        self.assertEqual(len(own), 2 * len(self.debs))  # copyright and changelog

    def test_files_are_where_they_belong(self):
        def without_docs(name):
            return {f for f in self.files[name] if not f.startswith("usr/share/doc/")}
        self.assertEqual(without_docs("gerne"), PROGRAM)
        self.assertTrue(all(Path(f).name.startswith("libgerne") and ".so." in f
                            for f in without_docs("libgerne0")))
        for file in ("usr/include/gerne.h", "usr/lib/libgerne.so", "usr/lib/pkgconfig/gerne.pc"):
            self.assertIn(file, self.files["libgerne-dev"])

    def test_dependencies(self):
        version = self.control("gerne", "Version")
        self.assertIn("libdnnl", self.control("gerne", "Depends"))
        self.assertIn("libc6", self.control("libgerne0", "Depends"))
        self.assertEqual(self.control("libgerne-dev", "Depends"), f"libgerne0 (= {version})")
        for name in self.debs:
            self.assertEqual(self.control(name, "Version"), version)

    def test_the_program_runs(self):
        program = self.folder / "gerne/usr/bin/gerne"
        self.assertIn(self.control("gerne", "Version"), run([program, "--version"]).stdout)
        self.assertNotIn("debug_info", run(["readelf", "-S", program]).stdout)

    def test_lintian_finds_no_error(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        result = run(["lintian", "--allow-root", "--fail-on", "error", *self.debs.values()])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "cpack"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            sys.exit(SKIPPED)
    os.umask(0o022)
    unittest.main()
