#!/usr/bin/python3
"""Makes real_resnet50.json: what PyTorch says about four Waterbirds images with real weights.

    tests/golden/real_resnet50.py DATA > tests/golden/real_resnet50.json

DATA holds waterbirds224/ and weights/resnet50-v1-imagenet.safetensors. Only slices are kept: 32
features and 32 logits of every image, and the norms of all 2,048 features and 1,000 logits.
"""
import json
import pathlib
import struct
import sys

import numpy
import PIL
import torch
import torch.nn.functional as F
from PIL import Image

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BLOCKS = (3, 4, 6, 3)
TYPES = {"F32": numpy.float32, "F16": numpy.float16}


def read_safetensors(path):
    bytes_ = path.read_bytes()
    (size,) = struct.unpack("<Q", bytes_[:8])
    header = json.loads(bytes_[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            wide = numpy.frombuffer(bytes_[start:end], "<u2").astype("<u4") << 16
            values = wide.view("<f4")
        else:
            values = numpy.frombuffer(bytes_[start:end], TYPES[entry["dtype"]])
        tensors[name] = torch.tensor(values.astype(numpy.float32).reshape(entry["shape"]))
    return tensors


class Network:
    """ResNet-50 v1: a bottleneck strides in its first convolution."""

    def __init__(self, tensors):
        self.t = tensors

    def normalized(self, x, name):
        return F.batch_norm(x, self.t[name + ".running_mean"], self.t[name + ".running_var"],
                            self.t[name + ".weight"], self.t[name + ".bias"], eps=1e-5)

    def convolved(self, x, name, stride=1, padding=0):
        return F.conv2d(x, self.t[name + ".weight"], stride=stride, padding=padding)

    def bottleneck(self, x, name, stride):
        y = F.relu(self.normalized(self.convolved(x, name + ".conv1", stride), name + ".bn1"))
        y = F.relu(self.normalized(self.convolved(y, name + ".conv2", padding=1), name + ".bn2"))
        y = self.normalized(self.convolved(y, name + ".conv3"), name + ".bn3")
        if name + ".downsample.0.weight" in self.t:
            x = self.normalized(self.convolved(x, name + ".downsample.0", stride),
                                name + ".downsample.1")
        return F.relu(x + y)

    def features(self, x):
        x = F.relu(self.normalized(self.convolved(x, "conv1", 2, 3), "bn1"))
        x = F.max_pool2d(x, 3, 2, 1)
        for layer, blocks in enumerate(BLOCKS):
            for block in range(blocks):
                stride = 2 if layer and not block else 1
                x = self.bottleneck(x, f"layer{layer + 1}.{block}", stride)
        return x.mean((2, 3))

    def logits(self, features):
        return features @ self.t["fc.weight"].T + self.t["fc.bias"]


def main():
    data = pathlib.Path(sys.argv[1])
    files = sorted((data / "waterbirds224").glob("*/*.jpg"))
    chosen = [files[i] for i in (0, len(files) // 3, 2 * len(files) // 3, len(files) - 1)]
    network = Network(read_safetensors(data / "weights" / "resnet50-v1-imagenet.safetensors"))
    images = []
    for file in chosen:
        pixels = torch.tensor(numpy.asarray(Image.open(file).convert("RGB"), numpy.float32)) / 255
        images.append(((pixels - torch.tensor(MEAN)) / torch.tensor(DEVIATION)).permute(2, 0, 1))
    with torch.no_grad():
        features = network.features(torch.stack(images))
        logits = network.logits(features)
    out = {"made_by": f"torch {torch.__version__}, Pillow {PIL.__version__}", "images": []}
    for file, f, z in zip(chosen, features, logits):
        out["images"].append({
            "file": str(file.relative_to(data / "waterbirds224")),
            "features": [float(f"{v:.8g}") for v in f[::64]],
            "feature_norm": float(f.norm()),
            "logits": [float(f"{v:.8g}") for v in z[::32]],
            "logit_norm": float(z.norm()),
            "top": int(z.argmax()),
        })
    json.dump(out, sys.stdout, indent=1)
    print()


main()
