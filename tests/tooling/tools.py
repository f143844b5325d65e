"""What the tests of scripts, manual and installation share. Standard library only."""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def build():
    """The build folder; the tests' CMakeLists.txt passes it."""
    return Path(os.environ["GERNE_BUILD"])


def run(command, **options):
    """Runs a command and keeps what it printed; the caller looks at returncode."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, **options
    )


def install(prefix):
    """Installs the build under prefix."""
    result = run(["cmake", "--install", build(), "--prefix", prefix])
    assert result.returncode == 0, result.stdout + result.stderr


def pkg_config(prefix, package, *words):
    """What pkg-config says of an installed package."""
    folder = next(prefix.rglob(f"{package}.pc")).parent
    result = run(["pkg-config", *words, package], env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
    assert result.returncode == 0, result.stderr
    # pkg-config puts a backslash before a blank.
    return [w.replace("\\ ", " ") for w in re.split(r"(?<!\\)\s+", result.stdout.strip())]


class TemporaryTree:
    """A folder filled with {path: text}, removed at the end of the with block."""

    def __init__(self, files):
        self.files = files

    def __enter__(self):
        self.root = Path(tempfile.mkdtemp(prefix="gerne-"))
        for path, text in self.files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return self.root

    def __exit__(self, *_):
        shutil.rmtree(self.root)
