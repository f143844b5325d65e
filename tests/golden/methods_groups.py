#!/usr/bin/python3
"""Makes tests/golden/methods/cnc*.safetensors: ten steps of correct-n-contrast.

Written from the formulas of the paper, in double precision; what both sides make alike is in
methods_pairs.py. The samples of a step are its units, in the order anchors, positives, negatives, easy
negatives. Only losses are stored. Needs python3-torch.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

from formulas import write
from methods_pairs import BATCH, STEPS, batch, classifier


def contrast(anchor, positives, negatives, tau):
    def e(others):
        return torch.exp(F.cosine_similarity(anchor[None], others) / tau)

    return -torch.log(e(positives) / (e(negatives).sum() + e(positives).sum())).mean()


def cnc(m, tau, lam):
    body, head = classifier(0, [10, 6])
    opt = torch.optim.Adam(body.p + head.p, lr=1e-2)
    units, losses = BATCH // (4 * m), []
    for k in range(STEPS):
        _, x, y = batch(k)
        opt.zero_grad()
        total = 0
        for u in range(units):
            part = slice(4 * m * u, 4 * m * (u + 1))
            h = body(x[part])
            a, p, n, easy = h.split(m)
            loss = lam * (contrast(a[0], p, n, tau) + contrast(p[0], a, easy, tau))
            loss = (loss + (1 - lam) * F.cross_entropy(head(h), y[part])) / units
            loss.backward()
            total += loss.item()
        opt.step()
        losses.append(total)
    return {"loss": np.array(losses)}


if __name__ == "__main__":
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "methods")
    write(os.path.join(folder, "cnc.safetensors"), cnc(3, 0.5, 0.75))
    write(os.path.join(folder, "cnc-units.safetensors"), cnc(1, 0.1, 0.4))
