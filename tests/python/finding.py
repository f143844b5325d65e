"""Where the library is found, and what is refused."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
from gerne import _library, _version

CC = os.environ.get("CC", "cc")
SHOW = "import gerne; print(gerne.library_path())"


class Finding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def fake(self, path, version):
        """A library that has a version and nothing else."""
        path.parent.mkdir(parents=True, exist_ok=True)
        source = self.root / "fake.c"
        source.write_text(f'const char *gerne_version(void) {{ return "{version}"; }}\n'
                          if version else "int nothing;\n")
        subprocess.run([CC, "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
        return path

    def find(self, package, **environment):
        environment = {**os.environ, "PYTHONPATH": str(package), **environment}
        if "GERNE_LIBRARY" in environment and not environment["GERNE_LIBRARY"]:
            del environment["GERNE_LIBRARY"]
        return subprocess.run([sys.executable, "-B", "-c", SHOW],
                                      capture_output=True, text=True, env=environment,
                                      cwd=self.root)

    def install(self, where):
        """A copy of the package, as an installation has it."""
        target = self.root / where
        shutil.copytree(support.PACKAGE / "gerne", target / "gerne",
                        ignore=shutil.ignore_patterns("__pycache__"))
        return target

    def assert_refused(self, result, *words):
        self.assertEqual(result.returncode, 1)
        self.assertIn("LibraryError", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_environment_wins(self):
        result = self.find(support.PACKAGE, GERNE_LIBRARY=str(support.BUILD / "libgerne.so"))
        self.assertEqual(result.stdout.strip(), str(support.BUILD / "libgerne.so"), result.stderr)
        self.assert_refused(self.find(support.PACKAGE, GERNE_LIBRARY="/no/such/libgerne.so"),
                            "/no/such/libgerne.so", "hint:")

    def test_beside_the_package(self):
        package = self.install("anywhere")
        shutil.copy(support.BUILD / "libgerne.so.0", package / "gerne")
        result = self.find(package, GERNE_LIBRARY="")
        self.assertEqual(result.stdout.strip(), str(package / "gerne/libgerne.so.0"), result.stderr)

    def test_in_the_prefix(self):
        package = self.install("prefix/lib/python3/dist-packages")
        library = self.root / "prefix/lib/libgerne.so.0"
        shutil.copy(support.BUILD / "libgerne.so.0", library)
        result = self.find(package, GERNE_LIBRARY="")
        self.assertEqual(result.stdout.strip(), str(library), result.stderr)

    def test_in_the_build_tree(self):
        source = self.root / "checkout"
        package = self.install("checkout/python")
        (source / "include").mkdir()
        (source / "include/gerne.h").write_text("")
        (source / "build").mkdir()
        shutil.copy(support.BUILD / "libgerne.so.0", source / "build")
        result = self.find(package, GERNE_LIBRARY="")
        self.assertEqual(result.stdout.strip(), str(source / "build/libgerne.so.0"), result.stderr)

    def test_by_the_system(self):
        package = self.install("alone")
        result = self.find(package, GERNE_LIBRARY="", LD_LIBRARY_PATH=str(support.BUILD))
        self.assertEqual(result.stdout.strip(), "libgerne.so.0", result.stderr)

    def test_another_version(self):
        library = self.fake(self.root / "libgerne.so", "9.8.7")
        self.assert_refused(self.find(support.PACKAGE, GERNE_LIBRARY=str(library)),
                            "is libgerne 9.8.7, but the Python package is", str(library), "hint:")
        major, minor = _version.__version__.split(".")[:2]
        library = self.fake(self.root / "same.so", f"{major}.{minor}.99")
        self.assert_refused(self.find(support.PACKAGE, GERNE_LIBRARY=str(library)),
                            "it has no function gerne_free")

    def test_another_library(self):
        library = self.fake(self.root / "other.so", None)
        self.assert_refused(self.find(support.PACKAGE, GERNE_LIBRARY=str(library)),
                            "is not libgerne")
        text = self.root / "text.so"
        text.write_text("no library")
        self.assert_refused(self.find(support.PACKAGE, GERNE_LIBRARY=str(text)), "text.so")


class Agreement(unittest.TestCase):
    """The package and gerne.h."""

    header = (support.SOURCE / "include/gerne.h").read_text()

    def test_version(self):
        parts = [re.search(rf"VERSION_{p} (\d+)", self.header)[1]
                 for p in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(_version.__version__, ".".join(parts))

    def test_functions_exist(self):
        """Every prototype has as many arguments as the header's."""
        text = re.sub(r"/\*.*?\*/", "", self.header, flags=re.S)
        for name, (_, arguments) in _library.PROTOTYPES.items():
            match = re.search(rf"\bgerne_{name}\(([^;]*?)\);", text)
            self.assertIsNotNone(match, name)
            count = 0 if match[1].strip() == "void" else match[1].count(",") + 1
            self.assertEqual(len(arguments), count, name)

    def test_structs(self):
        """Fields in the header's order; sizes as the compiler sees them."""
        kinds = {"gerne_predicted": _library.Predicted, "gerne_arrays": _library.Arrays,
                 "gerne_sampler_options": _library.SamplerOptions, "gerne_tensor": _library.Tensor,
                 "gerne_export_options": _library.ExportOptions,
                 "gerne_progress": _library.Progress}
        lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <gerne.h>",
                 "int main(void) {"]
        expected = []
        for name, kind in kinds.items():
            lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
            expected.append(ctypes.sizeof(kind))
            for field, *_ in kind._fields_:
                lines.append(f'printf("%zu\\n", offsetof(struct {name}, {field}));')
                expected.append(getattr(kind, field).offset)
        lines.append("return 0; }")
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "sizes.c"
            source.write_text("\n".join(lines))
            subprocess.run([CC, "-I", str(support.SOURCE / "include"), str(source), "-o",
                            str(Path(folder) / "sizes")], check=True)
            out = subprocess.run([str(Path(folder) / "sizes")], capture_output=True, text=True,
                                 check=True).stdout
        self.assertEqual([int(line) for line in out.split()], expected)

    def test_status_names(self):
        from gerne.errors import BY_STATUS
        names = re.findall(r'^    X\(E\w+, "([^"]+)"\)', self.header, flags=re.M)
        self.assertEqual([BY_STATUS[i + 1].status for i in range(len(names))], names)
        self.assertEqual(len(BY_STATUS), len(names))


if __name__ == "__main__":
    support.main()
