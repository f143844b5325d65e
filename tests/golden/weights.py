#!/usr/bin/env python3
"""Makes the PyTorch files that tests/nn reads (PyTorch 1.13, python3-torch of Debian 12).

Values come from value(k, i) = ((37 i + 11 k) mod 101 - 50) / 16, which every floating-point type
holds exactly; tests/nn/pth.c computes the same. Run from anywhere: python3 tests/golden/weights.py
"""
import os
import zipfile
from collections import OrderedDict

import torch

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "weights")


def value(k, *shape):
    n = 1
    for d in shape:
        n *= d
    return torch.tensor([((37 * i + 11 * k) % 101 - 50) / 16 for i in range(n)]).reshape(shape)


def path(name):
    return os.path.join(here, name)


def network():
    net = torch.nn.Sequential(
        OrderedDict(conv=torch.nn.Conv2d(2, 3, 3), bn=torch.nn.BatchNorm2d(3), fc=torch.nn.Linear(3, 4))
    )
    with torch.no_grad():
        for k, tensor in enumerate(net.state_dict().values()):
            if tensor.is_floating_point():
                tensor.copy_(value(k, *tensor.shape))
    return net


# Halves of every exponent, both signs, subnormals, infinities, zeros; NaN apart, it equals nothing.
halves = torch.tensor(
    [s + e + f for s in (0, -32768) for e in range(0, 0x7C00, 0x400) for f in (0, 1, 0x155, 0x3FF)]
    + [0x7C00, 0x7C00 - 0x10000],
    dtype=torch.int32,
).to(torch.int16).view(torch.float16)

net = network()
torch.save(net.state_dict(), path("state.pth"))
torch.save(
    {
        "epoch": 12,
        "lr": 0.1,
        "arch": "small",
        "best": None,
        "done": True,
        "seed": 2**64 - 1,
        "step": 2**40,
        "sizes": [1, 2, (3, 4)],
        "optimizer": {"state": {0: {"step": 1, "exp_avg": value(1, 2)}}, "param_groups": [{"lr": 0.1}]},
        "loss": torch.tensor(0.25),
        "state_dict": {
            "f32": value(1, 2, 3),
            "parameter": torch.nn.Parameter(value(2, 4)),
            "f16": value(3, 5).half(),
            "bf16": value(4, 5).bfloat16(),
            "f64": value(5, 5).double(),
            "halves": halves,
            "halves_as_f32": halves.float(),
            "i64": torch.arange(3),
            "scalar": torch.tensor(1.5),
            "empty": torch.zeros(0, 3),
            "transposed": value(6, 3, 4).t(),
            "permuted": value(7, 2, 3, 4).permute(2, 0, 1),
            "slice": value(8, 6, 4)[2:4, 1:3],
            "channels_last": value(9, 2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        },
    },
    path("checkpoint.pth"),
)
torch.save({"net": net.state_dict()}, path("other-key.pth"))
torch.save({"net": net.state_dict(), "ema": net.state_dict()}, path("two-keys.pth"))
torch.save({"w": torch.zeros(2).expand(4, 2)}, path("expanded.pth"))
torch.save(net, path("module.pth"))
torch.save(net.state_dict(), path("legacy.pth"), _use_new_zipfile_serialization=False)
torch.save(net.state_dict(), path("protocol4.pth"), pickle_protocol=4)
torch.save(value(0, 2), path("tensor.pth"))
torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path("script.pt"))


def repack(name, method):
    with zipfile.ZipFile(path("state.pth")) as plain, zipfile.ZipFile(path(name), "w") as packed:
        for entry in plain.namelist():
            packed.writestr(zipfile.ZipInfo(entry), plain.read(entry), method)


repack("compressed.pth", zipfile.ZIP_DEFLATED)
# As if every entry were beyond 4 GiB and there were more than 65,535 of them.
zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 1
repack("zip64.pth", zipfile.ZIP_STORED)
