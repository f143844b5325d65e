#!/usr/bin/env python3
"""What summing gradients over ranks costs: measured, as a model, and on paper for up to 1,000 ranks.

usage: bench/sums.py BUILD [--step SECONDS] [--parameters N] [--rounds N]

Measures sums of 4 KiB to 64 MiB with 2 to 8 ranks of this machine, through shared memory and, as root,
over TCP between network namespaces. Needs an otherwise idle machine and Open MPI's mpirun.

The model. A sum of n floats on p ranks is k buckets. In each, every rank sends its parts to the p - 1 others,
adds what it receives, and sends its sum to the p - 1 others:

    T(n, p) = o (2 (p - 1) k alpha + 8 n (p - 1) / p beta),   o = max(1, p / cores)

alpha is the time of a message, beta that of a byte (adding included); ranks of one machine share its cores.
alpha and beta are fitted to 2, 3 and 4 ranks, by least squares of the relative error; 6 and 8 ranks are not seen
by the fit and check it.

The estimate. Every rank has a machine of its own (o = 1) and takes SECONDS for its share of a step, two
thirds of them in backward, which hides sums but for the last bucket. Logits are gathered in log2 p rounds. Ranks are
equally fast, and the network has no bottleneck between them.
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests/ranks"))
import hosts  # noqa: E402 lies beside the tests

LEAST, MOST = 1 << 10, 1 << 24  # floats
# Ranks that wait leave the cores to others: mpirun knows of too many only where it sees all in one machine.
LENIENT = ["--mca", "mpi_yield_when_idle", "1"]
FITTED, CHECKED = (2, 3, 4), (6, 8)
ESTIMATED = (2, 8, 32, 128, 512, 1000)
BUCKET, BUCKET_OF_RANK = 1 << 20, 1 << 14  # as in src/ranks/sums.c
# Assumptions, not measurements: seconds of a message, bytes a second.
NETWORKS = {"10 Gb/s Ethernet": (30e-6, 1.1e9), "100 Gb/s InfiniBand": (3e-6, 11e9)}


def measure(build, ranks, words):
    """Seconds by number of floats."""
    command = ["mpirun", "--bind-to", "none", *words, "-n", str(ranks), str(build / "bench_sums"), str(LEAST), str(MOST)]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr)
    return {int(n): float(seconds) for n, seconds in (line.split() for line in result.stdout.splitlines())}


def buckets(n, p):
    return math.ceil(n / max(BUCKET, p * BUCKET_OF_RANK))


def messages_and_bytes(n, p, cores):
    """What alpha and beta are multiplied with."""
    crowd = max(1, p / cores)
    return crowd * 2 * (p - 1) * buckets(n, p), crowd * 8 * n * (p - 1) / p


def fit(points, cores):
    """alpha and beta of {(n, p): seconds}: both relative errors and both unknowns are positive and few."""
    rows = []
    for (n, p), seconds in points.items():
        a, b = messages_and_bytes(n, p, cores)
        rows.append((a / seconds, b / seconds))
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(r[i] for r in rows) for i in (0, 1))
    determinant = aa * bb - ab * ab
    return (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant


def show(name, points, cores):
    """Prints the fit and how far it is from the points; returns it."""
    alpha, beta = fit({key: points[key] for key in points if key[1] in FITTED}, cores)
    print(f"\n{name}: alpha {alpha * 1e6:.1f} us, beta {beta * 1e9:.3f} ns/B ({1e-9 / beta:.1f} GB/s)")
    sizes = sorted({n for n, _ in points})
    print("ranks   model / measured at " + "  ".join(f"{4 * n // 1024:>6} KiB" for n in sizes) + "   median error")
    for p in (*FITTED, *CHECKED):
        ratios = []
        for n in sizes:
            a, b = messages_and_bytes(n, p, cores)
            ratios.append((a * alpha + b * beta) / points[n, p])
        off = statistics.median(abs(ratio - 1) for ratio in ratios)
        note = "" if p in FITTED else "   (not in the fit)"
        print(f"{p:5}                       " + "  ".join(f"{r:10.2f}" for r in ratios) + f"   {off:12.0%}{note}")
    return alpha, beta


def measure_all(build, name, rounds, words_of):
    """The least disturbed of some rounds: beside another process ranks that wait for each other crawl."""
    points = {}
    for _ in range(rounds):
        for p in (*FITTED, *CHECKED):
            for n, seconds in measure(build, p, words_of(p)).items():
                points[n, p] = min(seconds, points.get((n, p), seconds))
    return show(name, points, os.cpu_count())


def over_tcp(build, rounds):
    """Two machines, whose ranks share them evenly; between two of one machine it is TCP, too."""
    with hosts.Hosts(2) as pair:
        return measure_all(build, "TCP between two network namespaces", rounds,
                           lambda p: [*pair.words((p + 1) // 2), "--map-by", "node", *LENIENT])


def estimate(p, alpha, beta, step, parameters):
    """Seconds that a step takes longer on p ranks."""
    k = buckets(parameters, p)
    messages, size = messages_and_bytes(parameters, p, p)
    one = (messages * alpha + size * beta) / k  # bucket
    window = step * 2 / 3 * (1 - 1 / k)
    logits = math.log2(p) * alpha + 64 * (p - 1) * beta
    return max(one, k * one - window) + logits, k * one


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--step", type=float, default=1.0, help="seconds of a step of one rank (%(default)s)")
    parser.add_argument("--parameters", type=int, default=23528522, help="of the network (ResNet-50)")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    build = given.build.resolve()
    networks = {}
    networks["shared memory (measured)"] = measure_all(build, "shared memory", given.rounds,
                                                       lambda p: ["--oversubscribe", *LENIENT])
    reason = hosts.missing()
    if reason:
        print(f"\nTCP was not measured: {reason}")
    else:
        networks["TCP (measured)"] = over_tcp(build, given.rounds)
    for name, (alpha, rate) in NETWORKS.items():
        networks[f"{name} (assumed)"] = (alpha, 1 / rate)
    print(f"\n{given.parameters} parameters, {given.step:g} s a step: efficiency (sum, what of it is not hidden)")
    print("ranks" + "".join(f"{name:>36}" for name in networks))
    for p in ESTIMATED:
        cells = []
        for alpha, beta in networks.values():
            longer, whole = estimate(p, alpha, beta, given.step, given.parameters)
            cells.append(f"{given.step / (given.step + longer):.1%} ({whole:.3f} s, {longer:.4f} s)")
        print(f"{p:5}" + "".join(f"{cell:>36}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
