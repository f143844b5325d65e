#!/usr/bin/python3
"""Makes tests/golden/networks/*.safetensors: ten training steps of each network in PyTorch.

Inputs and initial weights are formulas (value() below, written again in tests/nn/golden.c), so that
only losses and slices of the final parameters are stored. PyTorch computes in double precision: with
training BatchNorm its own single precision is off by a percent in the gradients of ResNet-50.
Needs python3-torch. Names of cases as arguments make these alone.
"""
import math
import os
import sys

import numpy as np
import torch

from formulas import name_seed, value, write

STEPS, SLICE = 10, 24


def fill(model, last_norm):
    tensors = list(model.named_parameters()) + [
        (n, b) for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")]
    for name, tensor in tensors:
        u = value(name_seed(name), tensor.numel())
        if name.endswith("running_var") or (tensor.dim() == 1 and name.endswith("weight")):
            u = np.float32(1) + np.float32(0.1) * u
            if last_norm and name.endswith(last_norm):  # a branch that does not drown its shortcut
                u = np.float32(0.25) * u
        elif tensor.dim() == 1:
            u = np.float32(0.1) * u
        else:
            fan_in = tensor.numel() // tensor.shape[0]
            u = np.float32(math.sqrt(3.0 / fan_in)) * u
        tensor.data.copy_(torch.from_numpy(u).view(tensor.shape))


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(192, 10)

    def forward(self, x):
        return self.fc1(x.flatten(1))


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = torch.nn.Linear(192, 50), torch.nn.Linear(50, 30)
        self.fc3 = torch.nn.Linear(30, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


def convolution(inputs, outputs, kernel, stride=1):
    return torch.nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Basic(torch.nn.Module):
    """The block of ResNet-18, -34 and -20."""

    expansion = 1

    def __init__(self, inputs, planes, stride, shortcut):
        super().__init__()
        self.conv1, self.bn1 = convolution(inputs, planes, 3, stride), torch.nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = convolution(planes, planes, 3), torch.nn.BatchNorm2d(planes)
        self.downsample = shortcut

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(out)) + self.downsample(x))


class Bottleneck(torch.nn.Module):
    """The block of ResNet-50, which strides in its 3x3 (v1.5) or its first 1x1 convolution (v1)."""

    expansion = 4

    def __init__(self, inputs, planes, stride, shortcut, v1=False):
        super().__init__()
        first, second = (stride, 1) if v1 else (1, stride)
        self.conv1, self.bn1 = convolution(inputs, planes, 1, first), torch.nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = convolution(planes, planes, 3, second), torch.nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = convolution(planes, 4 * planes, 1), torch.nn.BatchNorm2d(4 * planes)
        self.downsample = shortcut

    def forward(self, x):
        out = torch.relu(self.bn1(self.conv1(x)))
        out = torch.relu(self.bn2(self.conv2(out)))
        return torch.relu(self.bn3(self.conv3(out)) + self.downsample(x))


class BottleneckV1(Bottleneck):
    def __init__(self, *arguments):
        super().__init__(*arguments, v1=True)


def projection(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return torch.nn.Identity()
    return torch.nn.Sequential(convolution(inputs, outputs, 1, stride), torch.nn.BatchNorm2d(outputs))


class Padding(torch.nn.Module):
    """Option A of He et al. 2016: every stride-th pixel, zero channels before and as many behind."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride, self.half = stride, (outputs - inputs) // 2

    def forward(self, x):
        x = x[:, :, ::self.stride, ::self.stride]
        return torch.nn.functional.pad(x, (0, 0, 0, 0, self.half, self.half))


class ResNet(torch.nn.Module):
    """Parameters in the order and under the names of torchvision's."""

    def __init__(self, block, depths, planes=64, stem="imagenet", shortcut=projection):
        super().__init__()
        imagenet = stem == "imagenet"
        self.conv1 = convolution(3, planes, 7, 2) if imagenet else convolution(3, planes, 3)
        self.bn1 = torch.nn.BatchNorm2d(planes)
        self.maxpool = torch.nn.MaxPool2d(3, 2, 1) if imagenet else torch.nn.Identity()
        inputs, self.stages = planes, []
        for stage, depth in enumerate(depths):
            blocks = []
            for i in range(depth):
                stride, outputs = 2 if stage > 0 and i == 0 else 1, (planes << stage) * block.expansion
                blocks.append(block(inputs, planes << stage, stride, shortcut(inputs, outputs, stride)))
                inputs = outputs
            self.stages.append(f"layer{stage + 1}")
            self.add_module(self.stages[-1], torch.nn.Sequential(*blocks))
        self.fc = torch.nn.Linear(inputs, 10)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for stage in self.stages:
            x = getattr(self, stage)(x)
        return self.fc(x.mean((2, 3)))


class ConvNet(torch.nn.Module):
    """Convolutions with BatchNorm, ReLU and 2x2 pooling; of these the pooling may come first. Without
    strides there is no padding, with them the padding keeps a side of stride 1."""

    def __init__(self, layers, strides=None):
        super().__init__()
        self.pooled, inputs = [p for _, _, p in layers], 3
        for i, (outputs, kernel, _) in enumerate(layers):
            stride, padding = (strides[i], kernel // 2) if strides else (1, 0)
            self.add_module(f"conv{i + 1}", torch.nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False))
            self.add_module(f"bn{i + 1}", torch.nn.BatchNorm2d(outputs))
            inputs = outputs
        self.fc = torch.nn.Linear(inputs, 10)

    def forward(self, x):
        pool = torch.nn.functional.max_pool2d
        for i, pooled in enumerate(self.pooled):
            x = getattr(self, f"conv{i + 1}")(x)
            x = pool(x, 2) if pooled == "first" else x
            x = torch.relu(getattr(self, f"bn{i + 1}")(x))
            x = pool(x, 2) if pooled == "last" else x
        return self.fc(x.mean((2, 3)))


CONVNET = ((24, 3, None), (48, 3, None), (64, 3, None), (64, 3, None))
CONVNET3 = ((32, 5, "last"), (64, 5, "last"), (64, 5, None))
CONVNET4 = ((64, 7, "last"), (128, 3, "last"), (512, 3, "first"), (512, 3, None))


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


# name: what builds it, height and width of its images, batch, and in deep networks the scales that end
# a residual branch, which fill() makes small: undamped, single precision is off by 1e-4 after a few
# steps in PyTorch, too. tests/nn/golden.c has the same table.
NETWORKS = {
    "linear": (Linear, 8, 16, None),
    "mlp": (Mlp, 8, 16, None),
    "resnet18": (lambda: ResNet(Basic, (2, 2, 2, 2)), 32, 8, None),
    "resnet18-cifar": (lambda: ResNet(Basic, (2, 2, 2, 2), stem="cifar"), 16, 8, "bn2.weight"),
    "resnet34": (lambda: ResNet(Basic, (3, 4, 6, 3)), 32, 8, "bn2.weight"),
    "resnet50": (lambda: ResNet(Bottleneck, (3, 4, 6, 3)), 64, 8, "bn3.weight"),
    "resnet50-v1": (lambda: ResNet(BottleneckV1, (3, 4, 6, 3)), 64, 8, "bn3.weight"),
    "resnet20": (lambda: ResNet(Basic, (3, 3, 3), 16, "cifar", Padding), 32, 8, None),
    "convnet": (lambda: ConvNet(CONVNET, (1, 2, 2, 2)), 28, 8, None),
    "convnet3": (lambda: ConvNet(CONVNET3), 32, 8, None),
    "convnet4": (lambda: ConvNet(CONVNET4), 48, 8, None),
}
PLAIN = ("linear", "mlp")  # no BatchNorm: nothing to freeze, larger steps


def run(arch, frozen, optimizer):
    torch.manual_seed(0)
    make, side, batch, last_norm = NETWORKS[arch]
    model = make()
    fill(model, last_norm)
    model.double()
    tensors = list(model.named_parameters()) + [
        (n, b) for n, b in model.named_buffers() if not n.endswith("num_batches_tracked")]
    model.train()
    if frozen:
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.eval()
    if optimizer == "sgd":
        lr = 1e-3 if arch in PLAIN or frozen else 2e-5
        opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=0.01)
    elif optimizer == "adam":
        opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=0.01)
    else:
        lr = 1e-4 if arch in PLAIN else 2e-5 if frozen else 2e-6
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
    cases = [(a, False, o) for a in PLAIN for o in ("sgd", "adam", "adamw")]
    cases += [(a, f, o) for a in NETWORKS if a not in PLAIN for f in (False, True) for o in ("sgd", "adamw")]
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
