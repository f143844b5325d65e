#!/usr/bin/env python3
"""Golden figures for the metrics, from numpy and scipy alone: writes metrics.json beside this file.

Every figure is computed in the plainest way (loops over groups, all pairs for the AUROC), so that it
shares neither code nor method with the program. Run with Debian 12's python3-scipy.
"""
import json
import os

import numpy as np
import scipy
from scipy import stats


def clopper_pearson(correct, n, confidence):
    tail = (1 - confidence) / 2
    lo = 0.0 if correct == 0 else stats.beta.ppf(tail, correct, n - correct + 1)
    hi = 1.0 if correct == n else stats.beta.isf(tail, correct + 1, n - correct)
    return [float(lo), float(hi)]


def auroc_one(score, positive):
    pos, neg = score[positive], score[~positive]
    if len(pos) == 0 or len(neg) == 0:
        return None
    greater = (pos[:, None] > neg[None, :]).sum()
    equal = (pos[:, None] == neg[None, :]).sum()
    return float((greater + 0.5 * equal) / (len(pos) * len(neg)))


def auroc(y, prob, K):
    if prob is None or len(y) == 0:
        return None
    if K == 2:
        return auroc_one(prob[:, 1], y == 1)
    areas = [auroc_one(prob[:, k], y == k) for k in range(K)]
    areas = [x for x in areas if x is not None]
    return float(np.mean(areas)) if areas else None


def ece(y, prob, K):
    if prob is None or len(y) == 0:
        return None
    if K == 2:
        confidence, outcome = prob[:, 1], y == 1
    else:
        confidence, outcome = prob.max(axis=1), prob.argmax(axis=1) == y
    edges = np.linspace(0.0, 1.0, 11)
    place = np.clip(np.digitize(confidence, edges) - 1, 0, 9)
    total = 0.0
    for b in range(10):
        inside = place == b
        if inside.any():
            total += inside.mean() * abs(outcome[inside].mean() - confidence[inside].mean())
    return float(total)


def figures(y, a, pred, prob, K, A, train_counts):
    right = pred == y
    groups, used = [], []
    for k in range(K):
        for j in range(A):
            inside = (y == k) & (a == j)
            n, correct = int(inside.sum()), int(right[inside].sum())
            acc = correct / n if n else None
            ci = clopper_pearson(correct, n, 0.95) if n else None
            groups.append({"y": k, "a": j, "n": n, "correct": correct, "acc": acc, "ci95": ci})
            if n:
                used.append(groups[-1])
    s = dict.fromkeys(["n", "acc_avg", "gba", "gba_ci95", "wga", "wga_ci95", "worst_group",
                       "worst_class", "balanced_acc", "minority_acc", "adj_acc_avg"])
    s["n"] = len(y)
    if used:
        G = len(used)
        s["acc_avg"] = float(right.mean())
        s["gba"] = sum(g["acc"] for g in used) / G
        down = np.sqrt(sum((g["acc"] - g["ci95"][0]) ** 2 for g in used)) / G
        up = np.sqrt(sum((g["ci95"][1] - g["acc"]) ** 2 for g in used)) / G
        s["gba_ci95"] = [float(s["gba"] - down), float(s["gba"] + up)]
        worst = min(used, key=lambda g: (g["acc"], g["y"] * A + g["a"]))
        s["wga"] = worst["acc"]
        s["worst_group"] = {"y": worst["y"], "a": worst["a"]}
        wide = [clopper_pearson(g["correct"], g["n"], 1 - 0.05 / G) for g in used]
        s["wga_ci95"] = [min(w[0] for w in wide), min(w[1] for w in wide)]
        recalls = [float(right[y == k].mean()) for k in range(K) if (y == k).any()]
        s["worst_class"], s["balanced_acc"] = min(recalls), float(np.mean(recalls))
        sizes = np.array(train_counts if train_counts is not None else
                         [g["n"] for g in groups]).reshape(K, A)
        rare = (sizes * A < sizes.sum(axis=1, keepdims=True))[y, a]
        if rare.any():
            s["minority_acc"] = float(right[rare].mean())
        if train_counts is not None:
            weights = np.array([train_counts[g["y"] * A + g["a"]] for g in used], float)
            if weights.sum() > 0:
                accs = np.array([g["acc"] for g in used])
                s["adj_acc_avg"] = float((weights * accs).sum() / weights.sum())
    s["auroc"], s["ece"], s["groups"] = auroc(y, prob, K), ece(y, prob, K), groups
    return s


def case(name, rng, K, A, n, digits=None, probabilities=True, keep=None, pred=None, counts=True):
    y, a = rng.integers(0, K, n), rng.integers(0, A, n)
    if keep is not None:
        chosen = [keep(k, j) for k, j in zip(y, a)]
        y, a = y[chosen], a[chosen]
    prob = rng.dirichlet(np.full(K, 0.7), len(y)) if len(y) else np.zeros((0, K))
    for i in range(len(y)):  # right more often than not
        if rng.uniform() < 0.4:
            prob[i] = 0.5 * prob[i] + 0.5 * np.eye(K)[y[i]]
    if digits is not None:
        prob = np.round(prob, digits)
    if pred == "right":
        prob = np.eye(K)[y]
    elif pred == "wrong":
        prob = np.eye(K)[(y + 1) % K]
    guess = prob.argmax(axis=1) if len(y) else np.zeros(0, int)
    train = rng.integers(0, 500, K * A).tolist() if counts else None
    s = figures(y, a, guess, prob if probabilities else None, K, A, train)
    return {"name": name, "classes": K, "attributes": A, "y": y.tolist(), "a": a.tolist(),
            "pred": guess.tolist(), "probabilities": prob.tolist() if probabilities else None,
            "train_counts": train, "expected": s}


def mcnemar(b, c):
    return 1.0 if b + c == 0 else float(stats.binomtest(b, b + c, 0.5).pvalue)


def comparison(rng, groups, resamples=100000):
    """Differences and percentile intervals of a paired bootstrap inside every group."""
    both, point = [], []
    for cells in groups:
        n = sum(cells)
        drawn = rng.multinomial(n, np.array(cells) / n, resamples) / n
        point.append([(cells[0] + cells[1]) / n, (cells[0] + cells[2]) / n])
        both.append([drawn[:, 0] + drawn[:, 1], drawn[:, 0] + drawn[:, 2]])
    point, both = np.array(point), np.array(both)
    wga = both[:, 0].min(axis=0) - both[:, 1].min(axis=0)
    gba = (both[:, 0] - both[:, 1]).mean(axis=0)
    return {"groups": groups,
            "wga_difference": float(point[:, 0].min() - point[:, 1].min()),
            "gba_difference": float((point[:, 0] - point[:, 1]).mean()),
            "wga_ci95": np.quantile(wga, [0.025, 0.975]).tolist(), "wga_sd": float(wga.std()),
            "gba_ci95": np.quantile(gba, [0.025, 0.975]).tolist(), "gba_sd": float(gba.std())}


def main():
    rng = np.random.default_rng(20251)
    cases = [
        case("two by two", rng, 2, 2, 80),
        case("ties on the bin edges", rng, 2, 2, 60, digits=1),
        case("no probabilities", rng, 2, 2, 40, probabilities=False),
        case("three classes, two attributes", rng, 3, 2, 60),
        case("two classes, four attributes", rng, 2, 4, 60, counts=False),
        case("tied probabilities", rng, 4, 3, 70, digits=1),
        case("empty groups", rng, 3, 3, 60, keep=lambda k, j: k != 1 or j == 0),
        case("a class without samples", rng, 4, 2, 50, keep=lambda k, j: k != 2),
        case("one class only", rng, 2, 2, 20, keep=lambda k, j: k == 0),
        case("no minority", rng, 3, 3, 60, keep=lambda k, j: k == j),
        case("all right", rng, 2, 2, 30, pred="right"),
        case("all wrong", rng, 3, 2, 30, pred="wrong"),
        case("one sample", rng, 2, 2, 1),
        case("no samples", rng, 2, 2, 0),
        case("ten by ten", rng, 10, 10, 160, digits=4),
        case("one group", rng, 1, 1, 12),
    ]
    intervals = []
    for n in (1, 2, 5, 20, 99, 1000, 54321, 1000000):
        for correct in sorted({0, 1, n // 3, n - 1, n, int(rng.integers(0, n + 1))}):
            for confidence in (0.95, 1 - 0.05 / 4, 1 - 0.05 / 100):
                intervals.append([correct, n, confidence, *clopper_pearson(correct, n, confidence)])
    betas = [[float(x), float(a), float(b), float(stats.beta.cdf(x, a, b))]
             for x, a, b in zip(rng.uniform(0, 1, 60), 10 ** rng.uniform(-1, 4, 60),
                                10 ** rng.uniform(-1, 4, 60))]
    pairs = [[b, c, mcnemar(b, c)] for b, c in ((0, 0), (0, 1), (1, 1), (3, 9), (12, 4), (0, 40),
                                                (700, 650), (5000, 5300))]
    # Groups as [both right, only the first, only the second, neither].
    comparisons = [
        comparison(rng, [[300, 40, 20, 40], [500, 10, 12, 3], [90, 30, 5, 25], [410, 6, 9, 4]]),
        comparison(rng, [[2000, 100, 150, 250], [1500, 60, 80, 360], [1000, 300, 10, 90],
                         [800, 0, 0, 200]]),
        comparison(rng, [[50000, 2000, 2100, 900], [700, 20, 60, 220]]),
    ]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "metrics.json"), "w") as f:
        json.dump({"made_by": f"tests/golden/metrics.py, numpy {np.__version__}, "
                              f"scipy {scipy.__version__}",
                   "intervals": intervals, "betas": betas, "mcnemar": pairs,
                   "comparisons": comparisons, "cases": cases},
                  f, separators=(",", ":"))
        f.write("\n")


main()
