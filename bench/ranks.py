#!/usr/bin/env python3
"""Two ranks of one thread beside one process of two threads: seconds of a step, what is exchanged.

usage: bench/ranks.py BUILD [--only resnet18|resnet50] [--bn frozen|concat] [--rounds N]

A step is timed by the difference of a long and a short run, which both compile; the two kinds of run
alternate, and medians are shown. Needs an otherwise idle machine with two cores, and Open MPI's mpirun.
"exchange" is the time that rank 0 spends in it, waiting for the other rank included; "hidden" the share of
the time of summing gradients that lies behind the backward pass.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent

# name: side of the images, images, batch, steps that are timed, network
CASES = {
    "resnet18": (32, 224, 96, 4, ["--model.arch", "resnet18", "--model.stem", "cifar"]),
    "resnet50": (224, 32, 12, 3, ["--model.arch", "resnet50"]),
}
LAUNCH = ["mpirun", "--bind-to", "core", "-n"]  # what Open MPI does by default


def run(build, ranks, words, out):
    """The last event of the run's log: its seconds."""
    command = [*([*LAUNCH, ranks] if ranks > 1 else []), build / "gerne", "train", *words, "--threads", 2 // ranks,
               "--quiet", "--out", out]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr)
    return json.loads((out / "log.jsonl").read_text().splitlines()[-1])


def measure(build, name, bn, rounds):
    """Seconds of a step by number of ranks, and of two ranks what a step exchanges."""
    side, images, batch, steps, network = CASES[name]
    seconds, traffic = {1: [], 2: []}, []
    with tempfile.TemporaryDirectory(prefix="gerne-bench-") as folder:
        folder = Path(folder)
        os.environ["GERNE_BUILD"] = str(build)
        sys.path.insert(0, str(TOP / "tests/ranks"))
        from launch import make_images
        words = [*make_images(folder / "images", images, side), *network, "--method.name", "erm", "--train.batch", batch,
                 "--model.bn", bn, "--train.lr", "1e-4"]
        for i in range(rounds):
            for ranks in (1, 2):
                short, long = (run(build, ranks, [*words, "--train.steps", n, "--train.eval_every", n],
                                   folder / f"{i}-{ranks}-{n}") for n in (1, 1 + steps))
                each = {key: (long[key] - short[key]) / steps for key in
                        ("seconds_in_steps", "seconds_in_exchange", "seconds_of_sums", "seconds_of_hidden_sums",
                         "bytes_sent")}
                seconds[ranks].append(each["seconds_in_steps"])
                if ranks == 2:
                    traffic.append(each)
    exchange = {key: statistics.median(each[key] for each in traffic) for key in traffic[0]}
    return {ranks: statistics.median(values) for ranks, values in seconds.items()}, exchange


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--bn", choices=["frozen", "concat"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("                     1 x 2 threads   2 x 1 thread   ratio    sent in a step   exchange   hidden")
    for name in [given.only] if given.only else CASES:
        for bn in [given.bn] if given.bn else ["frozen", "concat"]:
            seconds, exchange = measure(given.build.resolve(), name, bn, given.rounds)
            hidden = exchange["seconds_of_hidden_sums"] / exchange["seconds_of_sums"]
            print(f"{name + ' ' + bn:20} {seconds[1]:12.3f} s {seconds[2]:12.3f} s  {seconds[1] / seconds[2]:6.2f} "
                  f"{exchange['bytes_sent'] / 1e6:13.1f} MB {exchange['seconds_in_exchange']:9.3f} s {hidden:7.0%}",
                  flush=True)


if __name__ == "__main__":
    main()
