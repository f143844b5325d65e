#!/usr/bin/env python3
"""onnx.checker (python3-onnx) accepts every exported network: checker.py PROGRAM.

Skipped, with the reason, where the package is not installed: scripts/install-deps --dev does that.
Where python3-torchvision is installed, too, its ResNets load our safetensors files.
"""
import os
import subprocess
import sys
import tempfile

from networks import NETWORKS, Workshop

PROGRAM, SKIPPED, DEBIAN = sys.argv[1], 77, "/usr/bin/python3"
CHECK = """
import sys, onnx
for path in sys.argv[1:]:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    shapes = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    assert len(shapes.value_info) > 0
"""
# As torch reads them, by hand: its own reader is a package that Debian does not have.
LOAD = """
import json, sys, torch, torchvision
for name in sys.argv[1:]:
    data = open(name + ".safetensors", "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__")
    state = {key: torch.frombuffer(bytearray(data[start + t["data_offsets"][0]:
                                                  start + t["data_offsets"][1]]),
                                   dtype=torch.float32).reshape(t["shape"])
             for key, t in header.items()}
    model = getattr(torchvision.models, name)(num_classes=4)
    assert str(model.load_state_dict(state)) == "<All keys matched successfully>"
"""


def python_with(*modules):
    """An interpreter that has them: the one that runs, or Debian's; or None."""
    program = "import " + ", ".join(modules)
    return next((p for p in (sys.executable, DEBIAN) if os.access(p, os.X_OK) and subprocess.run(
        [p, "-c", program], capture_output=True).returncode == 0), None)


def main():
    python, torch = python_with("onnx"), python_with("torchvision")
    if not python:
        print("skipped: python3-onnx is not installed; 'scripts/install-deps --dev' installs it")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="gerne-checker-") as folder:
        shop = Workshop(PROGRAM, folder)
        files = [shop.make(name, "--features").onnx for name in NETWORKS]
        half = shop.folder / "half.onnx"
        shop.gerne("export", "bert", "--precision", "fp16", "--onnx", half)
        code = subprocess.run([python, "-c", CHECK, *files, half]).returncode
        if code == 0 and torch:
            code = subprocess.run([torch, "-c", LOAD, "resnet18", "resnet34", "resnet50"],
                                  cwd=folder).returncode
        print("with torchvision" if torch else "torchvision is not installed: its part was skipped")
        return code


if __name__ == "__main__":
    sys.exit(main())
