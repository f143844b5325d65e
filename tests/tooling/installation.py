"""Installs into a temporary folder and uses it as a stranger would: pkg-config, CMake, C and C++."""
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from tools import SOURCE, build, install, pkg_config, run

CC = os.environ.get("CC", "cc")

PROGRAM = """
#include <gerne.h>
#include <string.h>

int main(void)
{
    gerne_ctx *ctx;
    if (gerne_ctx_new(&ctx) != GERNE_OK)
        return 1;
    int wrong = strcmp(gerne_version(), VERSION) != 0 || strcmp(gerne_message(ctx), "") != 0;
    gerne_ctx_close(ctx);
    return wrong;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(gerne 0.1 REQUIRED)
foreach(kind gerne core static)
    add_executable(with_${kind} main.c)
    target_compile_definitions(with_${kind} PRIVATE VERSION="${gerne_VERSION}")
    target_link_libraries(with_${kind} PRIVATE gerne::${kind})
endforeach()
"""


def declared():
    """The functions of gerne.h, and those among them that are not marked for export."""
    header = (SOURCE / "include/gerne.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    header = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", " ", header, flags=re.M)
    names, unmarked = set(), set()
    for statement in re.split(r"[;{}]", header):
        match = re.search(r"\b(gerne_\w+)\s*\(", statement)
        if match and "typedef" not in statement:
            names.add(match[1])
            if "GERNE_API" not in statement:
                unmarked.add(match[1])
    return names, unmarked


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gerne-install-"))
        cls.prefix = cls.folder / "prefix with space"
        install(cls.prefix)
        cls.pc = next(cls.prefix.rglob("gerne.pc"))
        cls.libdir = cls.pc.parents[1]
        cls.version = re.search(r"^Version: (.*)$", cls.pc.read_text(), re.M)[1]
        (cls.folder / "main.c").write_text(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def compile(self, output, *words):
        define = f'-DVERSION="{self.version}"'
        result = run([CC, "-Wall", "-Werror", define, self.folder / "main.c", "-o", output, *words])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_files(self):
        for pattern in ("bin/gerne", "include/gerne.h", "share/man/man1/gerne.1",
                        "share/bash-completion/completions/gerne", "share/zsh/site-functions/_gerne",
                        "share/fish/vendor_completions.d/gerne.fish", "**/libgerne.a",
                        "**/libgerne.so", "**/libgerne-core.so", "**/gerneConfig.cmake", "**/gerneConfigVersion.cmake"):
            self.assertEqual(len(list(self.prefix.glob(pattern))), 1, pattern)
        result = run([self.prefix / "bin/gerne", "--version"])
        self.assertEqual(result.stdout.splitlines()[0], f"gerne {self.version}")

    def test_soname(self):
        library = self.libdir / f"libgerne.so.{self.version}"
        dynamic = run(["readelf", "-d", library]).stdout
        self.assertRegex(dynamic, r"SONAME.*\[libgerne\.so\.0\]")
        self.assertEqual((self.libdir / "libgerne.so.0").resolve(), library.resolve())
        self.assertEqual((self.libdir / "libgerne.so").resolve(), library.resolve())

    def test_exports_are_the_header(self):
        lines = run(["nm", "-D", "--defined-only", self.libdir / "libgerne.so"]).stdout.splitlines()
        exported = {line.split()[-1] for line in lines}
        names, unmarked = declared()
        self.assertIn("gerne_ctx_new", names)
        self.assertEqual(unmarked, set(), "in gerne.h without GERNE_API")
        self.assertEqual(names - exported, set(), "declared in gerne.h and not exported")
        self.assertEqual(exported - names, set(), "exported and not declared in gerne.h")

    def test_exports_are_those_of_the_lists(self):
        """A symbol that leaves a list breaks programs: GERNE_SOVERSION has to grow with it."""
        for library in ("libgerne", "libgerne-core"):
            lines = run(["nm", "-D", "--defined-only", self.libdir / f"{library}.so"]).stdout
            exported = [line.split()[-1] + "\n" for line in lines.splitlines()]
            listed = (SOURCE / f"cmake/interface/{library}.symbols").read_text()
            self.assertEqual("".join(sorted(exported)), listed, f"{library}.symbols")

    def test_core_needs_little(self):
        lines = run(["ldd", self.libdir / "libgerne-core.so"]).stdout.splitlines()
        needed = {line.split()[0].split("/")[-1].split(".so")[0] for line in lines}
        small = {"linux-vdso", "ld-linux-x86-64", "ld-linux-aarch64", "libc", "libm", "libjansson"}
        self.assertIn("libm", needed)
        self.assertEqual(needed - small, set())

    def test_core_through_pkg_config(self):
        program = self.folder / "core"
        self.compile(program, *pkg_config(self.prefix, "gerne-core", "--cflags", "--libs"))
        self.assertIn("[libgerne-core.so.0]", run(["readelf", "-d", program]).stdout)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.libdir)}
        self.assertEqual(run([program], env=environment).returncode, 0)

    def test_shared_through_pkg_config(self):
        program = self.folder / "shared"
        self.compile(program, *pkg_config(self.prefix, "gerne", "--cflags", "--libs"))
        needed = run(["readelf", "-d", program]).stdout
        self.assertIn("[libgerne.so.0]", needed)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.libdir)}
        self.assertEqual(run([program], env=environment).returncode, 0)

    def test_static_through_pkg_config(self):
        """A moved copy without the shared library; all of the archive is linked, so that a library
        missing from gerne.pc is an undefined symbol."""
        prefix = self.folder / "moved"
        shutil.copytree(self.prefix, prefix, symlinks=True)
        for library in prefix.rglob("libgerne.so*"):
            library.unlink()
        words = pkg_config(prefix, "gerne", "--cflags", "--libs", "--static")
        at = words.index("-lgerne")
        words[at : at + 1] = ["-Wl,--whole-archive", "-lgerne", "-Wl,--no-whole-archive"]
        program = self.folder / "static"
        self.compile(program, *words)
        self.assertNotIn("libgerne", run(["readelf", "-d", program]).stdout)
        self.assertEqual(run([program]).returncode, 0)

    def test_find_package(self):
        user = self.folder / "user"
        user.mkdir()
        shutil.copy(self.folder / "main.c", user)
        (user / "CMakeLists.txt").write_text(CMAKE)
        result = run(["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                      f"-DCMAKE_C_COMPILER={CC}"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        result = run(["cmake", "--build", user / "build"])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for kind in ("gerne", "core", "static"):
            self.assertEqual(run([user / "build" / f"with_{kind}"]).returncode, 0, kind)

    @unittest.skipUnless(shutil.which("g++"), "g++ is not installed")
    def test_header_is_cpp(self):
        result = run(["g++", "-Wall", "-Wextra", "-pedantic", "-Werror", "-x", "c++", "-fsyntax-only",
                      self.prefix / "include/gerne.h"])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_header_is_strict_c11(self):
        result = run([CC, "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                      "-x", "c", self.prefix / "include/gerne.h"])
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_make_install_stages_under_destdir(self):
        stage = self.folder / "stage"
        result = run(["cmake", "--install", build(), "--prefix", "/opt/gerne"],
                     env={**os.environ, "DESTDIR": str(stage)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue((stage / "opt/gerne/bin/gerne").exists())
        self.assertTrue((stage / "opt/gerne/include/gerne.h").exists())


if __name__ == "__main__":
    unittest.main()
