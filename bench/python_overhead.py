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


STOPPING = "MLPClassifier, stops"   # until its validation score stops improving
SAME = "MLPClassifier, epochs"      # for as many epochs as ours
PATIENCE = 2                        # evaluations


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


def fit_sides(x, y, a, epochs):
    """What is compared, by name. The network is the same on both sides (100 hidden units, or none),
    as are the optimiser (Adam, rate 0.001) and 10 % of the samples for early stopping."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    def theirs(**settings):
        return lambda: MLPClassifier((100,), batch_size=200, random_state=0, **settings).fit(x, y)

    def ours(method, **settings):
        return lambda: gerne.Classifier(method, random_state=0, **settings).fit(x, y, groups=a)

    erm = {"method": "erm", "metric": "acc_avg"}  # what scikit-learn goes by
    stopping = {"epochs": 200, "patience": PATIENCE}
    return {
        STOPPING: theirs(early_stopping=True),
        f"MLPClassifier, patience {PATIENCE}": theirs(early_stopping=True,
                                                      n_iter_no_change=PATIENCE),
        SAME: theirs(max_iter=epochs, alpha=0, n_iter_no_change=10 ** 6),
        "LogisticRegression": lambda: LogisticRegression(max_iter=100).fit(x, y),
        "Classifier erm, stops": ours(**erm, hidden=(100,), **stopping),
        "Classifier erm, epochs": ours(**erm, hidden=(100,), epochs=epochs, batch_size=200),
        "Classifier gerne, stops": ours("gerne", hidden=(100,), **stopping),
        "Classifier erm linear": ours(**erm, **stopping),
        "Classifier gerne linear": ours("gerne", **stopping),
    }


def measure_fit(samples, dimension, epochs, rounds):
    """Seconds of every side, in turn; accuracy on data as biased as that of training, and accuracy
    and WGA on balanced data."""
    import warnings
    warnings.filterwarnings("ignore")  # "not converged yet": the number of epochs is the same
    x, y, a = biased(samples, dimension, 0.95, 0)
    like_x, like_y, _ = biased(20000, dimension, 0.95, 1)
    test_x, test_y, test_a = biased(20000, dimension, 0.5, 2)
    sides = fit_sides(x, y, a, epochs)
    seconds, processor, figures = {name: [] for name in sides}, {name: [] for name in sides}, {}
    for _ in range(rounds):
        for name, fit in sides.items():
            used, (taken, model) = timed(lambda: timed(fit), time.process_time)
            seconds[name].append(taken)
            processor[name].append(used)
            figures[name] = gerne.evaluate(test_y, test_a, pred=model.predict(test_x))
            figures[name]["same"] = np.mean(model.predict(like_x) == like_y)

    def ratio(times, name, to):
        return statistics.median(times[to]) / statistics.median(times[name])

    print(f"fit: {samples} x {dimension}, {rounds} round(s), 'epochs' are {epochs}, 'stops' is by "
          f"early stopping: patience {PATIENCE}, MLPClassifier's own default 10")
    print(f"{'':27} {'seconds':>8} {'speed':>7} {'CPU':>7} {'of epochs':>10} "
          f"{'acc, same bias':>15} {'balanced':>9} {'WGA':>7}")
    for name, f in figures.items():
        print(f"{name:27} {statistics.median(seconds[name]):8.2f} "
              f"{ratio(seconds, name, STOPPING):6.2f}x {ratio(processor, name, STOPPING):6.2f}x "
              f"{ratio(seconds, name, SAME):9.2f}x {100 * f['same']:14.2f}% "
              f"{100 * f['acc_avg']:8.2f}% {100 * f['wga']:6.2f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["sampler", "fit"])
    parser.add_argument("--samples", type=int, default=100000)
    parser.add_argument("--dimension", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if "sampler" in options.parts:
        measure_sampler(options.rounds)
    if "fit" in options.parts:
        measure_fit(options.samples, options.dimension, options.epochs, options.rounds)


if __name__ == "__main__":
    main()
