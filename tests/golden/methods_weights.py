#!/usr/bin/python3
"""Makes tests/golden/methods/*.safetensors: ten steps of methods that weight, mix or choose samples.

Written from the formulas of the papers, in double precision; what both sides make alike is in
methods_pairs.py. Samples are skewed here: classes and groups of very different sizes. Only losses are
stored. Needs python3-torch.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F

import methods_pairs as alike
from methods_pairs import BATCH, CLASSES, SAMPLES, SIDE, STEPS, Stream, classifier, gce

GROUPS = CLASSES * CLASSES


def label(s):
    return 0 if s % 7 < 3 else alike.label(s)


def attribute(s):
    return label(s) if s % 3 < 2 else (3 * s + 1) % CLASSES


def group(s):
    return label(s) * CLASSES + attribute(s)


COUNTS = np.bincount([group(s) for s in range(SAMPLES)], minlength=GROUPS)


def batch(k):
    indices, x, _ = alike.batch(k)
    return indices, x, torch.tensor([label(s) for s in indices])


def train(loss_of, lr=1e-2):
    """Ten steps of one network; loss_of(k, indices, x, y, network) -> loss."""
    body, head = classifier(0, [10, 6])
    opt = torch.optim.Adam(body.p + head.p, lr=lr)
    losses = []
    for k in range(STEPS):
        indices, x, y = batch(k)
        loss = loss_of(k, indices, x, y, lambda inputs: head(body(inputs)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return {"loss": np.array(losses)}


# ---- weights ----


def cbloss(b=0.99):
    raw = [(1 - b) / (1 - b**n) if n else 0.0 for n in COUNTS]
    weights = [GROUPS * r / sum(raw) for r in raw]

    def loss(k, indices, x, y, network):
        w = torch.tensor([weights[group(s)] for s in indices], dtype=torch.float64)
        return (w * F.cross_entropy(network(x), y, reduction="none")).mean()

    return train(loss)


def bsoftmax():
    sizes = torch.tensor(COUNTS.reshape(CLASSES, CLASSES).sum(1), dtype=torch.float64)
    return train(lambda k, indices, x, y, network: F.cross_entropy(network(x) + sizes.log(), y))


def focal(gamma=2.0):
    def loss(k, indices, x, y, network):
        ce = F.cross_entropy(network(x), y, reduction="none")
        return ((1 - torch.exp(-ce))**gamma * ce).mean()

    return train(loss)


def groupdro(original, eta=0.5, adjustment=0.0):
    q = np.full(GROUPS, 1 / GROUPS) if original else np.ones(GROUPS)

    def loss(k, indices, x, y, network):
        nonlocal q
        ce = F.cross_entropy(network(x), y, reduction="none")
        groups = torch.tensor([group(s) for s in indices])
        total = 0
        means = {g: ce[groups == g].mean() for g in set(groups.tolist())}
        for g in range(GROUPS):
            seen = means[g].item() if g in means else 0.0
            if original and COUNTS[g]:
                q[g] *= math.exp(eta * (seen + adjustment / math.sqrt(COUNTS[g])))
            elif g in means:
                q[g] *= math.exp(eta * seen)
        q = q / q.sum()
        for g, mean in means.items():
            total = total + q[g] * mean
        return total

    return train(loss)


# ---- LfF ----


def lff(rho=0.7):
    networks = [classifier(i, [10, 6]) for i in range(2)]  # debiased, biased
    opts = [torch.optim.Adam(body.p + head.p, lr=1e-2) for body, head in networks]
    tables, visited = np.zeros((2, SAMPLES)), np.zeros(SAMPLES)
    out = {"loss": [], "L_biased": []}
    for k in range(STEPS):
        indices, x, y = batch(k)
        logits = [head(body(x)) for body, head in networks]
        ce = [F.cross_entropy(z, y, reduction="none") for z in logits]
        relative = []
        for i in range(2):
            for j, s in enumerate(indices):
                tables[i, s] = rho * tables[i, s] + (1 - rho * visited[s]) * ce[i][j].item()
        visited[indices] = 1
        for i in range(2):
            largest = [max(tables[i, s] for s in range(SAMPLES) if label(s) == c)
                       for c in range(CLASSES)]
            relative.append(np.array([tables[i, s] / largest[label(s)] for s in indices]))
        weights = torch.from_numpy(relative[1] / (relative[1] + relative[0] + 1e-8))
        parts = [(weights * ce[0]).mean(), gce(logits[1], y).mean()]
        for opt in opts:
            opt.zero_grad()
        sum(parts).backward()
        for opt in opts:
            opt.step()
        out["loss"].append(parts[0].item())
        out["L_biased"].append(parts[1].item())
    return {name: np.array(values) for name, values in out.items()}


# ---- LISA ----


def normal(stream):
    radius = math.sqrt(-2 * math.log(1 - stream.uniform()))
    return radius * math.cos(2 * math.pi * stream.uniform())


def log_gamma(stream, shape):
    """Marsaglia and Tsang; shapes of at least 1."""
    d = shape - 1 / 3
    while True:
        x = normal(stream)
        v = (1 + x / math.sqrt(9 * d))**3
        u = 1 - stream.uniform()
        if v > 0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return math.log(d * v)


def beta(stream, shape):
    one, two = log_gamma(stream, shape), log_gamma(stream, shape)
    return 1 / (1 + math.exp(two - one))


def cut(stream, alpha):
    """A mask [channel][row][column] of the box, and the share of the picture beside it."""
    lam = beta(stream, alpha)
    side = int(SIDE * math.sqrt(1 - lam)) // 2
    row, column = stream.below(SIDE), stream.below(SIDE)
    mask = np.zeros((3, SIDE, SIDE))
    mask[:, max(row - side, 0):row + side, max(column - side, 0):column + side] = 1
    return torch.from_numpy(mask.reshape(-1)), 1 - mask.mean()


def sweep(stream, indices, same_label, mix, alpha, x):
    """Mixed inputs of one round over classes (or attributes), with both labels and the share."""
    key, other = (label, attribute) if same_label else (attribute, label)
    made = []
    for value in range(CLASSES):
        lists = [[i for i, s in enumerate(indices) if key(s) == value and other(s) == o]
                 for o in range(CLASSES)]
        lists = [members for members in lists if members]
        if len(lists) < 2:
            continue
        one = stream.below(len(lists))
        two = stream.below(len(lists) - 1)
        first, second = lists[one], lists[two + (two >= one)]
        length = min(len(first), len(second))
        first, second = first[:length], second[:length]
        if mix == "mixup":
            for i, j in zip(first, second):
                lam = beta(stream, alpha)
                made.append((lam * x[i] + (1 - lam) * x[j], i, j, lam))
        else:
            mask, share = cut(stream, alpha)
            for i, j in list(zip(first, second)) + list(zip(second, first)):
                made.append((x[i] * (1 - mask) + x[j] * mask, i, j, share))
    return made


def lisa(mix, wanted, alpha=2.0, p_sel=0.5):
    coins = []

    def loss(k, indices, x, y, network):
        stream = Stream(k)
        same_label = stream.uniform() < p_sel
        made = []
        while len(made) < wanted:
            more = sweep(stream, indices, same_label, mix, alpha, x)
            assert more
            made += more
        for i in range(wanted):
            j = i + stream.below(len(made) - i)
            made[i], made[j] = made[j], made[i]
        made = made[:wanted]
        coins.append(same_label)
        target = torch.zeros(wanted, CLASSES, dtype=torch.float64)
        for row, (_, i, j, share) in enumerate(made):
            target[row, y[i]] += share
            target[row, y[j]] += 1 - share
        logits = network(torch.stack([m[0] for m in made]))
        return -(target * F.log_softmax(logits, 1)).sum(1).mean()

    out = train(loss)
    assert any(coins) and not all(coins)
    return out


CASES = {
    "cbloss": cbloss,
    "bsoftmax": bsoftmax,
    "focal": focal,
    "groupdro": lambda: groupdro(True, adjustment=0.5),
    "groupdro-subpopbench": lambda: groupdro(False),
    "lff": lff,
    "lisa": lambda: lisa("mixup", BATCH // 2),
    "lisa-subpopbench": lambda: lisa("mixup", BATCH),
    "lisa-cutmix": lambda: lisa("cutmix", BATCH),
}

if __name__ == "__main__":
    alike.main(CASES)
