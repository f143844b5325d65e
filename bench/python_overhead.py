#!/usr/bin/python3
"""What Python costs: the sampler beside a PyTorch step, and Classifier.fit beside scikit-learn.

usage: python_overhead.py [sampler|fit ...] [--samples N] [--dimension D] [--epochs E] [--rounds R]

Sides alternate in one run; ratios are of medians, which a busy machine shifts less than the times
themselves. GERNE_LIBRARY, or a source checkout that is built, says which library is measured.
Needs python3-torch for the first part and python3-sklearn for the second.
"""
import argparse
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))

import numpy as np

import gerne


SAME = "MLPClassifier, epochs"  # scikit-learn's network for as many epochs as ours


def timed(work, clock=time.perf_counter):
    """Seconds, and what work returned."""
    start = clock()
    result = work()
    return clock() - start, result


def measure_sampler(rounds):
    """A step of the paper's C-MNIST network on GERNE's batch, with and without the sampler."""
    import torch
    import torch.nn.functional as F

    import gerne.torch
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=55000)
    a = np.where(rng.random(55000) < 0.995, y, rng.integers(10, size=55000))
    sampler = gerne.torch.BatchSampler(y, a, c=0.5, beta=1.0, per_class=100, share_majority=True,
                                       steps=10 ** 6)
    model = torch.nn.Sequential(torch.nn.Linear(2352, 100), torch.nn.ReLU(),
                                torch.nn.Linear(100, 100), torch.nn.ReLU(),
                                torch.nn.Linear(100, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, labels = torch.rand(55000, 2352), torch.from_numpy(y)
    batches = iter(sampler)

    def step(samples, weights):
        losses = F.cross_entropy(model(x[samples]), labels[samples], reduction="none")
        optimizer.zero_grad()
        (losses * weights).sum().backward()
        optimizer.step()

    draws, steps = [], []
    for i in range(20 * rounds):
        seconds, (samples, weights) = timed(lambda: (next(batches), sampler.loss_weights()))
        draws.append(seconds)
        steps.append(timed(lambda: step(samples, weights))[0])
    share = statistics.median(draws) / statistics.median(steps)
    print(f"sampler: {100 * share:.2f} % of a PyTorch MLP step of {len(samples)} samples "
          f"({len(draws)} steps)")


def biased(n, dimension, agreement, seed):
    """Features with a weak signal of the class and a strong one of the attribute."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    a = np.where(rng.random(n) < agreement, y, 1 - y)
    x = rng.normal(size=(n, dimension)).astype(np.float32)
    x[:, :16] += 0.4 * y[:, None]
    x[:, 16:32] += 1.0 * a[:, None]
    return x, y, a


def measure_fit(samples, dimension, epochs, rounds):
    """The same network, optimiser and batch size on both sides. scikit-learn's runs once for as
    many epochs as ours, and once as it is meant to be used: until its validation score stops
    improving. Speed is relative to the first."""
    import warnings

    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    warnings.filterwarnings("ignore")  # "not converged yet": the number of epochs is the same
    x, y, a = biased(samples, dimension, 0.95, 0)
    like_x, like_y, _ = biased(20000, dimension, 0.95, 1)  # as biased as the training data
    test_x, test_y, test_a = biased(20000, dimension, 0.5, 2)
    same = {"batch_size": 200, "random_state": 0}
    ours = {**same, "epochs": epochs, "lr": 0.001}
    sides = {
        SAME: lambda: MLPClassifier((100,), max_iter=epochs, alpha=0, n_iter_no_change=10 ** 6,
                                    **same).fit(x, y),
        "MLPClassifier, stopping": lambda: MLPClassifier((100,), early_stopping=True,
                                                         **same).fit(x, y),
        "LogisticRegression": lambda: LogisticRegression(max_iter=100).fit(x, y),
        "Classifier erm (100)": lambda: gerne.Classifier("erm", hidden=(100,), **ours).fit(
            x, y, groups=a),
        "Classifier gerne (100)": lambda: gerne.Classifier("gerne", hidden=(100,), **ours).fit(
            x, y, groups=a),
        "Classifier erm linear": lambda: gerne.Classifier("erm", **ours).fit(x, y, groups=a),
        "Classifier gerne linear": lambda: gerne.Classifier("gerne", **ours).fit(x, y, groups=a),
    }
    seconds, processor, figures = {name: [] for name in sides}, {name: [] for name in sides}, {}
    for _ in range(rounds):
        for name, fit in sides.items():
            used, (taken, model) = timed(lambda: timed(fit), time.process_time)
            seconds[name].append(taken)
            processor[name].append(used)
            figures[name] = gerne.evaluate(test_y, test_a, pred=model.predict(test_x))
            figures[name]["same"] = np.mean(model.predict(like_x) == like_y)
    def ratio(times, name):
        return statistics.median(times[SAME]) / statistics.median(times[name])

    print(f"fit: {samples} x {dimension}, {epochs} epochs, {rounds} round(s); speed, by wall clock "
          "and by processor time, is relative to the first row")
    print(f"{'':24} {'speed':>7} {'CPU':>7} {'acc, same bias':>16} {'acc, balanced':>14} "
          f"{'WGA':>7}")
    for name, f in figures.items():
        print(f"{name:24} {ratio(seconds, name):6.2f}x {ratio(processor, name):6.2f}x "
              f"{100 * f['same']:15.2f}% "
              f"{100 * f['acc_avg']:13.2f}% {100 * f['wga']:6.2f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["sampler", "fit"])
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if "sampler" in options.parts:
        measure_sampler(options.rounds)
    if "fit" in options.parts:
        measure_fit(options.samples, options.dimension, options.epochs, options.rounds)


if __name__ == "__main__":
    main()
