"""What the tests of the Python package share."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["GERNE_BUILD"])
PACKAGE = SOURCE / "python"
PROGRAM = BUILD / "gerne"
PATIENCE = float(os.environ.get("GERNE_PATIENCE", "1"))  # under sanitizers

os.environ["GERNE_LIBRARY"] = str(BUILD / "libgerne.so")
sys.path.insert(0, str(PACKAGE))


def skip(reason):
    """Ends the test as skipped."""
    print("skipped:", reason)
    sys.exit(77)


try:
    import numpy  # noqa: F401
except ImportError:
    skip(f"{sys.executable} has no numpy (python3-numpy)")


def has(module):
    """Whether a module can be imported."""
    import importlib.util
    return importlib.util.find_spec(module) is not None


def python(*words, **options):
    """Runs Python with the package in its path, and keeps what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), **options.pop("env", {})}
    return subprocess.run([sys.executable, "-B", *map(str, words)], capture_output=True, text=True,
                          timeout=300 * PATIENCE, env=environment, **options)


def gerne(*words):
    """Runs the program and returns its standard output."""
    result = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True,
                            timeout=300 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return result.stdout


def biased_features(n=600, dimension=6, seed=0):
    """Features, classes and attributes: a weak signal of the class, a strong one of the attribute,
    which follows the class in 9 of 10 samples."""
    import numpy as np
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n).astype(np.int32)
    a = np.where(rng.random(n) < 0.9, y, 1 - y).astype(np.int32)
    x = rng.normal(size=(n, dimension)).astype(np.float32)
    x[:, 0] += 1.5 * y
    x[:, 1] += 4 * a
    split = np.arange(n) % 4  # two quarters train, one val, one test
    return x, y, a, np.where(split < 2, 0, split - 1).astype(np.uint8)


def write_safetensors(path, tensors):
    """A file of float32 weights without metadata."""
    import json
    header, start = {}, 0
    for name, values in tensors.items():
        end = start + values.nbytes
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in tensors.values():
            file.write(values.tobytes())


def main():
    """Runs the tests of a file."""
    unittest.main(module="__main__")
