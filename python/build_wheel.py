"""Packs gerne for pip (PEP 517 and 660): Python files that need no compiling."""
import base64
import hashlib
import os
import re
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE_OF_VERSION = (HERE / "gerne/_version.py").read_text(encoding="utf-8")
VERSION = re.search(r'__version__ = "(.+)"', SOURCE_OF_VERSION)[1]
NAME = f"gerne-{VERSION}"
METADATA = f"""Metadata-Version: 2.1
Name: gerne
Version: {VERSION}
Summary: Classifiers that do not rely on spurious correlations
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.20
Provides-Extra: sklearn
Requires-Dist: scikit-learn>=1.0; extra == "sklearn"
Provides-Extra: torch
Requires-Dist: torch>=1.10; extra == "torch"
Provides-Extra: pandas
Requires-Dist: pandas>=1.3; extra == "pandas"
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text(encoding="utf-8")}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: gerne\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _package_files():
    files = [*(HERE / "gerne").glob("*.py"), HERE / "gerne/py.typed"]
    return {path.relative_to(HERE).as_posix(): path.read_bytes() for path in sorted(files)}


def _write_wheel(folder, files):
    info = f"{NAME}.dist-info"
    files = {**files, f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": WHEEL.encode()}
    record = f"{info}/RECORD"
    lines = []
    for name, contents in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(contents)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, contents in files.items():
            entry = zipfile.ZipInfo(name)  # with a fixed date: equal sources, equal wheels
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, contents, zipfile.ZIP_DEFLATED)
    return wheel


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return _write_wheel(folder, _package_files())


def build_editable(folder, config_settings=None, metadata_directory=None):
    return _write_wheel(folder, {"gerne.pth": f"{HERE}\n".encode()})


def build_sdist(folder, config_settings=None):
    archive_name = f"{NAME}.tar.gz"
    with tarfile.open(os.path.join(folder, archive_name), "w:gz") as archive:
        for name in ("pyproject.toml", "build_wheel.py", "README.md", *_package_files()):
            archive.add(HERE / name, f"{NAME}/{name}")
    return archive_name
