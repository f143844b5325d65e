#!/usr/bin/python3
"""Makes tests/golden/networks/{bert,vit}*.safetensors: ten training steps of a small BERT and ViT in
PyTorch, in double precision, as networks.py does. Masks of dropout are drawn with NumPy's Philox, the
generator that base/rng.c uses. Needs python3-torch.
"""
import os
import sys

import numpy as np
import torch

from formulas import value, write
from networks import SLICE, STEPS, TransformersAdamW, fill, images
from transformer_modules import Bert, Vit

# tests/nn/transformers.c has the same numbers.
WORDS, LONGEST, LENGTHS, RATE, SEED = 50, 12, (12, 3, 7, 1, 9, 5), 0.2, 6
DROPOUT, INSIDE = 9, 10  # purposes of base/rng.h


def tokens(step):
    """The texts of a step."""
    u = value(2000 + step % 2, len(LENGTHS) * LONGEST).reshape(len(LENGTHS), LONGEST)
    return [torch.from_numpy(((u[i, :n] + 1) * (WORDS / 2)).astype(np.int64))
            for i, n in enumerate(LENGTHS)]


def stream(key, purpose, step, index, count):
    """count 64-bit numbers of gn_stream_at(key, purpose, step, index)."""
    out = []
    for block in range((count + 3) // 4):
        counter = (step | index << 64 | block << 128) - 1  # NumPy increments before it draws
        counter %= 1 << 256
        philox = np.random.Philox(counter=counter, key=key | purpose << 64)
        out += [int(x) for x in philox.random_raw(4)]
    return out[:count]


def words(key, count):
    """gn_random_words."""
    low, high = np.uint32(key & 0xffffffff), np.uint32(key >> 32)
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint32) * np.uint32(0x9e3779b9) + low
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x7feb352d)
        x ^= x >> np.uint32(15)
        x = (x + high) * np.uint32(0x846ca68b)
    return x ^ x >> np.uint32(16)


def masks(step, place):
    """drop(layer, head, numbers) of one sample."""
    k0, k1 = stream(SEED, INSIDE, step, place, 2)
    threshold = int(RATE * 65536 + 0.5)

    def drop(layer, head, x):
        rows, count = [], x.shape[1]
        assert count <= 256  # one piece of a mask
        for row in range(x.shape[0]):
            half = words(stream(k0, INSIDE, k1, layer << 48 | head << 24 | row, 1)[0], (count + 1) // 2)
            bits = np.concatenate([half & 0xffff, half >> 16])[:count]
            rows.append([0.0 if b < threshold else 65536 / (65536 - threshold) for b in bits])
        return x * torch.tensor(rows, dtype=torch.float64)

    def drop_features(x):
        draws = stream(SEED, DROPOUT, step, place, len(x))
        mask = [0.0 if (w >> 11) * 2.0**-53 < RATE else 1 / (1 - RATE) for w in draws]
        return x * torch.tensor(mask, dtype=torch.float64)

    return drop, drop_features


def bert_loss(model, step, dropout):
    losses = []
    for i, ids in enumerate(tokens(step)):
        drop, drop_features = masks(step, i) if dropout else (None, lambda x: x)
        logits = model.logits(ids, drop, drop_features)[None]
        losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor([(7 * i + step % 2) % 10])))
    return sum(losses) / len(losses)


def vit_loss(model, step):
    x = images(1000 + step % 2, 8, 16).double()
    y = torch.tensor([(7 * i + step % 2) % 10 for i in range(8)])
    return torch.nn.functional.cross_entropy(model(x), y)


class Named:
    """What fill() of networks.py asks of a model."""

    def __init__(self, parameters):
        self.all = parameters

    def named_parameters(self):
        return self.all

    def named_buffers(self):
        return []


def run(arch, optimizer, dropout=False, compat=False):
    if arch == "bert":
        model = Bert(WORDS, 512, 2, 32, 2, 4, 64, classes=10)
        parameters = model.parameters()
    else:
        model = Vit(16, 4, 32, 2, 4, 10)
        parameters = list(model.named_parameters())
    fill(Named(parameters), None)
    model.double()
    parameters = model.parameters() if arch == "bert" else list(model.named_parameters())
    if optimizer == "sgd":
        opts = [torch.optim.SGD([p for _, p in parameters], lr=1e-2, momentum=0.9, weight_decay=0.01)]
    else:
        matrices = [p for _, p in parameters if p.dim() in (2, 4)]
        others = [p for _, p in parameters if p.dim() not in (2, 4)]
        opts = [TransformersAdamW(matrices, 1e-3, 0 if compat else 0.1),
                TransformersAdamW(others, 1e-3, 0.1 if compat else 0)]
    losses = []
    for step in range(STEPS):
        loss = bert_loss(model, step, dropout) if arch == "bert" else vit_loss(model, step)
        for opt in opts:
            opt.zero_grad()
        loss.backward()
        for opt in opts:
            opt.step()
        losses.append(loss.item())
    out = {"losses": np.array(losses)}
    for name, tensor in parameters:
        flat = tensor.detach().flatten()
        out["slice:" + name] = flat[::max(1, flat.numel() // SLICE)][:SLICE].numpy()
        out["norm:" + name] = np.array([flat.norm().item()])
    return out


CASES = {
    "bert-sgd": ("bert", "sgd"), "bert-adamw": ("bert", "adamw"),
    "bert-compat-adamw": ("bert", "adamw", False, True),
    "bert-dropout-sgd": ("bert", "sgd", True), "bert-dropout-adamw": ("bert", "adamw", True),
    "vit-sgd": ("vit", "sgd"), "vit-adamw": ("vit", "adamw"),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks")
    for name, case in CASES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        out = run(*case)
        write(os.path.join(folder, name + ".safetensors"), out)
        print(name, torch.__version__, *("%.4f" % l for l in out["losses"]), file=sys.stderr)


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
