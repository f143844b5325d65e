#!/usr/bin/python3
"""Makes tests/golden/methods/*.safetensors: ten steps of methods that train two networks.

Written from the formulas of the papers, in double precision. Inputs, labels, batches and initial
weights are formulas, and random numbers are those of src/base/rng.h (Philox 4x64), written again
here; tests/methods/golden_pairs.c has the same formulas. Only losses are stored. Needs python3-torch.
"""
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

from formulas import name_seed, value, write

STEPS, SAMPLES, CLASSES, BATCH, SIDE, SEED = 10, 60, 4, 12, 8, 5
METHOD_PURPOSE = 7  # GN_RNG_METHOD
MASK = (1 << 64) - 1


class Stream:
    """Numbers of (seed, purpose, step, index): blocks of Philox 4x64-10 with a running counter."""

    def __init__(self, step, index=0):
        self.counter, self.left = [step, index, 0, 0], []

    def u64(self):
        if not self.left:
            c, k = list(self.counter), [SEED, METHOD_PURPOSE]
            for _ in range(10):
                a, b = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
                c = [b >> 64 ^ c[1] ^ k[0], b & MASK, a >> 64 ^ c[3] ^ k[1], a & MASK]
                k = [k[0] + 0x9E3779B97F4A7C15 & MASK, k[1] + 0xBB67AE8584CAA73B & MASK]
            self.left = c
            self.counter[2] += 1
        return self.left.pop(0)

    def uniform(self):
        return (self.u64() >> 11) * 2.0**-53

    def below(self, bound):
        limit = MASK - MASK % bound
        while True:
            v = self.u64()
            if v < limit:
                return v % bound

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]


# ---- what both sides make from formulas ----


def pixels(sample):
    """Bytes [row][column][channel] as the network sees them: [channel][row][column] / 255."""
    u = value(7000 + sample, SIDE * SIDE * 3).astype(np.float64)
    bytes_ = np.floor((u + 1) * 128).reshape(SIDE, SIDE, 3)
    return torch.from_numpy(bytes_.transpose(2, 0, 1).reshape(-1) / 255)


def label(sample):
    return (7 * sample + sample // 5) % CLASSES


def batch(k):
    indices = [(k * BATCH + 7 * i) % SAMPLES for i in range(BATCH)]
    return (indices, torch.stack([pixels(s) for s in indices]),
            torch.tensor([label(s) for s in indices]))


def tensor(network, name, shape):
    count = int(np.prod(shape))
    u = value(name_seed("%d.%s" % (network, name)), count)
    scale = 0.1 if len(shape) == 1 else math.sqrt(3.0 / shape[1])
    made = torch.from_numpy((np.float32(scale) * u).reshape(shape)).double()
    return made.requires_grad_()


class Layers:
    """Linear layers with ReLU after each; names as in our files."""

    def __init__(self, network, widths, prefix=""):
        self.p = []
        for i in range(len(widths) - 1):
            name = "%sfc%d." % (prefix, i + 1)
            self.p += [tensor(network, name + "weight", (widths[i + 1], widths[i])),
                       tensor(network, name + "bias", (widths[i + 1],))]

    def __call__(self, x):
        for w, b in zip(self.p[::2], self.p[1::2]):
            x = torch.relu(x @ w.T + b)
        return x


class Head:
    def __init__(self, network, name, width):
        self.p = [tensor(network, name + ".weight", (CLASSES, width)),
                  tensor(network, name + ".bias", (CLASSES,))]

    def __call__(self, z):
        return z @ self.p[0].T + self.p[1]


INPUTS = 3 * SIDE * SIDE


def classifier(network, hidden):
    body = Layers(network, [INPUTS] + hidden)
    head = Head(network, "fc%d" % (len(hidden) + 1), hidden[-1])
    return body, head


def gce(logits, y, q=0.7):
    p = F.softmax(logits, 1).gather(1, y[:, None]).squeeze(1).detach()
    return q * p**q * F.cross_entropy(logits, y, reduction="none")


# ---- the methods ----


def lc(table_rule):
    robust, robust_head = classifier(0, [10, 6])
    biased, biased_head = classifier(1, [10, 6])
    lr, alpha, ramp = 1e-2, 0.9, 20
    opt = torch.optim.Adam(robust.p + robust_head.p, lr=lr)
    opt_b = torch.optim.Adam(biased.p + biased_head.p, lr=0.1 * lr)
    table = np.zeros((CLASSES, CLASSES))
    seen = np.zeros((CLASSES, CLASSES), dtype=bool)

    def put(y, a, v):
        table[y, a] = alpha * table[y, a] + (1 - alpha) * v if seen[y, a] else v
        seen[y, a] = True

    losses, others = [], []
    for k in range(STEPS):
        _, x, y = batch(k)
        z_b = biased_head(biased(x))
        p = F.softmax(z_b.detach(), 1)
        a = p.argmax(1)
        mine = p.gather(1, y[:, None]).squeeze(1).numpy()
        if table_rule == "mv":
            for i in range(BATCH):
                put(y[i], a[i], mine[i])
        else:
            for c in range(CLASSES):
                for d in range(CLASSES):
                    cell = ((y == c) & (a == d)).numpy()
                    if cell.any():
                        put(c, d, mine[cell].sum() / (cell.sum() + 1e-4))
        columns = table / np.where(table.sum(0) > 0, table.sum(0), 1)
        delta = torch.from_numpy(columns[:, a.numpy()].T)
        s = 0.5 * math.exp(-5 * (1 - min(k, ramp) / ramp)**2)
        stream = Stream(k)
        lam = (1 - 2 * s) + s * stream.uniform()
        partner = list(range(BATCH))
        for c in range(CLASSES):
            members = [i for i in range(BATCH) if y[i] == c]
            conflicting = [i for i in members if a[i] != c]
            order = list(members)
            if not conflicting:
                stream.shuffle(order)
            for m, i in enumerate(members):
                partner[i] = conflicting[stream.below(len(conflicting))] if conflicting else order[m]
        x_mixed = lam * x + (1 - lam) * x[partner]
        prior = lam * delta + (1 - lam) * delta[partner]
        loss = F.cross_entropy(robust_head(robust(x_mixed)) + torch.log(prior + 1e-4), y)
        loss_b = 2 * gce(z_b, y).mean()
        opt.zero_grad()
        opt_b.zero_grad()
        (loss + loss_b).backward()
        opt.step()
        opt_b.step()
        losses.append(loss.item())
        others.append(loss_b.item())
    return {"loss": np.array(losses), "L_biased": np.array(others)}


def denetdm():
    """The second stage: a new body beside the fixed deep one, taught by the shallow one."""
    new, head = classifier(0, [10, 6])
    deep = Layers(1, [INPUTS, 8, 7, 6])
    teacher, teacher_head = classifier(2, [9, 6])
    opt = torch.optim.Adam(new.p + head.p, lr=1e-2)
    temperature, w_p, w_d = 2.0, 1.0, 0.5
    losses, others = [], []
    for k in range(STEPS):
        _, x, y = batch(k)
        z_d, z_b = new(x), deep(x).detach()
        z_t = teacher_head(teacher(x)).detach()
        of_sum = w_p * F.cross_entropy(head(z_d + z_b), y)
        soft = F.softmax(z_t / temperature, 1)
        log_p = F.log_softmax(head(z_d) / temperature, 1)
        of_student = w_d * temperature**2 * -(soft * log_p).sum(1).mean()
        opt.zero_grad()
        (of_sum + of_student).backward()
        opt.step()
        losses.append((of_sum + of_student).item())
        others.append(of_student.item())
    return {"loss": np.array(losses), "L_distillation": np.array(others)}


def dfa():
    """Both encoders, swapped features from step 5 on, the rate cut every three steps from step 4."""
    e_i = Layers(0, [INPUTS, 10, 6], "copy0.")
    e_b = Layers(0, [INPUTS, 10, 6], "copy1.")
    c_i, c_b = Head(0, "fc3", 12), Head(1, "fc1", 12)
    opts = [torch.optim.Adam(e_i.p + c_i.p, lr=1e-2), torch.optim.Adam(e_b.p + c_b.p, lr=1e-2)]
    t_swap, period, gamma, rho = 3, 3, 0.5, 0.7
    lam_swap, lam_dis, lam_swap_b = 0.5, 10, 8
    means = {"b": np.zeros(SAMPLES), "d": np.zeros(SAMPLES)}
    seen = np.zeros(SAMPLES, dtype=bool)
    labels = np.array([label(s) for s in range(SAMPLES)])
    losses, others = [], []

    def both(z, z_other):
        return torch.cat([z, z_other], 1)

    for k in range(STEPS):
        indices, x, y = batch(k)
        z_i, z_b = e_i(x), e_b(x)
        p_i, p_b = c_i(both(z_i, z_b.detach())), c_b(both(z_i.detach(), z_b))
        ce_i = F.cross_entropy(p_i, y, reduction="none")
        ce_b = F.cross_entropy(p_b, y, reduction="none").detach()
        for i, s in enumerate(indices):
            for name, ce in (("b", ce_b), ("d", ce_i.detach())):
                old = rho * means[name][s] if seen[s] else 0
                means[name][s] = old + (1 - (rho if seen[s] else 0)) * ce[i].item()
            seen[s] = True
        relative = {}
        for name, table in means.items():
            largest = np.array([table[labels == c].max() for c in range(CLASSES)])
            relative[name] = table[indices] / largest[labels[indices]]
        w = torch.from_numpy(relative["b"] / (relative["b"] + relative["d"] + 1e-8))
        of_i = (w * ce_i).mean()
        of_b = lam_dis * gce(p_b, y).mean()
        if k > t_swap:
            partner = list(range(BATCH))
            Stream(k).shuffle(partner)
            z_swap, y_swap = z_b[partner], y[partner]
            swapped = F.cross_entropy(c_i(both(z_i, z_swap.detach())), y, reduction="none")
            of_i = of_i + lam_swap * (w * swapped).mean()
            of_b = of_b + lam_swap * lam_swap_b * gce(c_b(both(z_i.detach(), z_swap)), y_swap).mean()
        for opt in opts:
            opt.zero_grad()
            opt.param_groups[0]["lr"] = 1e-2 * (gamma**((k - t_swap) // period) if k >= t_swap else 1)
        (of_i + of_b).backward()
        for opt in opts:
            opt.step()
        losses.append(of_i.item())
        others.append(of_b.item())
    return {"loss": np.array(losses), "L_biased": np.array(others)}


CASES = {"lc": lambda: lc("mv"), "lc-mv_batch": lambda: lc("mv_batch"), "denetdm": denetdm,
         "dfa": dfa}


def main(cases):
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "methods")
    os.makedirs(folder, exist_ok=True)
    for name, run in cases.items():
        out = run()
        write(os.path.join(folder, name + ".safetensors"), out)
        for figure, values in out.items():
            print(name, figure, *("%.4f" % v for v in values), file=sys.stderr)


if __name__ == "__main__":
    main(CASES)
