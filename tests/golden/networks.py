#!/usr/bin/python3
"""Makes tests/golden/networks/*.safetensors: ten training steps of each network in PyTorch.

Inputs and initial weights are formulas (value() below, written again in tests/nn/golden.c), so that
only losses and slices of the final parameters are stored. PyTorch computes in double precision: with
training BatchNorm its own single precision is off by a percent in the gradients of ResNet-50.
Needs python3-torch, python3-torchvision.
"""
import math
import os
import sys

import numpy as np
import torch
import torchvision

from formulas import name_seed, value, write

STEPS, SLICE = 10, 24


def fill(model):
    tensors = list(model.named_parameters()) + [
        (n, b) for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")]
    for name, tensor in tensors:
        u = value(name_seed(name), tensor.numel())
        if name.endswith("running_var") or (tensor.dim() == 1 and name.endswith("weight")):
            u = np.float32(1) + np.float32(0.1) * u
            if name.endswith("bn3.weight"):  # residual branches that do not drown the shortcut
                u = np.float32(0.25) * u
        elif tensor.dim() == 1:
            u = np.float32(0.1) * u
        else:
            fan_in = tensor.numel() // tensor.shape[0]
            u = np.float32(math.sqrt(3.0 / fan_in)) * u
        tensor.data.copy_(torch.from_numpy(u).view(tensor.shape))


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(192, 50), torch.nn.Linear(50, 30)
        self.fc3 = torch.nn.Linear(30, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


class TransformersAdamW:
    """The rule of recipes: eps outside the correction, decay of the parameter already moved."""

    def __init__(self, parameters, lr, weight_decay):
        self.p, self.lr, self.wd, self.t = list(parameters), lr, weight_decay, 0
        self.m = [torch.zeros_like(p) for p in self.p]
        self.v = [torch.zeros_like(p) for p in self.p]

    def zero_grad(self):
        for p in self.p:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        s = self.lr * math.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        for p, m, v in zip(self.p, self.m, self.v):
            m.mul_(0.9).add_(p.grad, alpha=0.1)
            v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
            p.addcdiv_(m, v.sqrt().add_(1e-8), value=-s)
            p.add_(p, alpha=-self.lr * self.wd)


def images(seed, batch, side):
    """Four random quarters, and a little noise: samples that differ in more than their noise."""
    coarse = value(seed, batch * 12).reshape(batch, 3, 2, 2)
    coarse = coarse.repeat(side // 2, axis=2).repeat(side // 2, axis=3)
    noise = value(seed + 500, batch * 3 * side * side).reshape(batch, 3, side, side)
    return torch.from_numpy(coarse + np.float32(0.125) * noise)


def build(arch):
    if arch == "mlp":
        return Mlp(), 8, 16
    if arch == "resnet18":
        return torchvision.models.resnet18(num_classes=10), 32, 8
    model = torchvision.models.resnet50(num_classes=10)
    if arch == "resnet50-v1":
        for layer in (model.layer2, model.layer3, model.layer4):
            layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    return model, 64, 8


def run(arch, frozen, optimizer):
    torch.manual_seed(0)
    model, side, batch = build(arch)
    fill(model)
    model.double()
    tensors = list(model.named_parameters()) + [
        (n, b) for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")]
    model.train()
    if frozen:
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.eval()
    if optimizer == "sgd":
        opt = torch.optim.SGD(model.parameters(), lr=1e-3 if arch == "mlp" or frozen else 2e-5, momentum=0.9, weight_decay=0.01)
    elif optimizer == "adam":
        opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.01)
    else:
        lr = 1e-4 if arch == "mlp" else 2e-5 if frozen else 2e-6
        opt = TransformersAdamW(model.parameters(), lr=lr, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        x = images(1000 + step % 2, batch, side).double()
        y = torch.tensor([(7 * i + step % 2) % 10 for i in range(batch)])
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    out = {"losses": np.array(losses)}
    for name, tensor in tensors:
        flat = tensor.detach().flatten()
        stride = max(1, flat.numel() // SLICE)
        out["slice:" + name] = flat[::stride][:SLICE].numpy()
        out["norm:" + name] = np.array([flat.norm().item()])
    return out


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks")
    os.makedirs(folder, exist_ok=True)
    cases = [("mlp", False, "sgd"), ("mlp", False, "adam"), ("mlp", False, "adamw")]
    cases += [(a, f, o) for a in ("resnet18", "resnet50", "resnet50-v1") for f in (False, True)
              for o in ("sgd", "adamw")]
    for arch, frozen, optimizer in cases:
        name = f"{arch}-{'frozen' if frozen else 'training'}-{optimizer}"
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        out = run(arch, frozen, optimizer)
        write(os.path.join(folder, name + ".safetensors"), out)
        print(name, torch.__version__, *("%.4f" % l for l in out["losses"]), file=sys.stderr)


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
