#!/usr/bin/env python3
"""Kills every method and estimator before every change of its files: methods.py PROGRAM INJECT.so [N].

The kinds of runs are those of train/kill.py, which kills at random. Here each is killed before its first,
second, ... change of the file system (inject.c) and resumed; it must end with the bytes of an undisturbed run
and leave no temporary file. N: at most so many places for each kind, evenly spread, others for the next kind
(default: all of them).
"""
import os
import shutil
import sys

from scenarios import own_folder, read_counts, start

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
import kill  # noqa: E402 (it lies in the folder beside this one)

PROGRAM, INJECT = (os.path.abspath(a) for a in sys.argv[1:3])
MOST = int(sys.argv[3]) if len(sys.argv) > 3 else None
# Few checkpoints: one is as good as the other, and each has a dozen places.
COMMON = ("--threads 1 --quiet --train.per_class 8 --model.hidden 32 --train.eval_every 30 "
          "--train.checkpoint_every 25 --train.lr 0.05 --data.n 600").split()
PLACES = "--out run --cache cache".split()


def places(count, which):
    if MOST is None or count <= MOST:
        return range(1, count + 1)
    return sorted({1 + (i * count + which * count // 7) // MOST % count for i in range(MOST)})


def fresh():
    for entry in ("run", "cache"):
        shutil.rmtree(entry, ignore_errors=True)


def killed_at(words, at, wanted):
    """None, or what is wrong."""
    fresh()
    result = start(PROGRAM, ["train", *words], LD_PRELOAD=INJECT, GERNE_INJECT=f"kill:{at}")
    if result.returncode != -9:
        return f"exit code {result.returncode}: {result.stderr[-300:]}"
    result = start(PROGRAM, ["train", *kill.resume_arguments("run", words)])
    if result.returncode != 0:
        return f"cannot be resumed: {result.stderr[-300:]}"
    found = kill.contents("run")
    differ = [name for name in sorted(found | wanted) if found.get(name) != wanted.get(name)]
    left = [name for name in os.listdir("run") if ".tmp-" in name]
    return f"differs afterwards: {differ} {left}" if differ or left else None


def main():
    kill.add_listed(PROGRAM, COMMON)
    kill.add_rules(PROGRAM)
    faults, killed, boundaries = [], 0, 0
    with own_folder():
        for which, (kind, arguments) in enumerate(kill.KINDS.items()):
            words = [*COMMON, *PLACES, *arguments]
            fresh()
            result = start(PROGRAM, ["train", *words], LD_PRELOAD=INJECT, GERNE_INJECT="none:0",
                           GERNE_INJECT_COUNTS=os.path.abspath("counts"))
            assert result.returncode == 0, f"{kind}: {result.stderr}"
            wanted, count = kill.contents("run"), read_counts()["kill"]
            chosen = places(count, which)
            wrong = [(at, what) for at in chosen if (what := killed_at(words, at, wanted))]
            print(f"{kind:24} {count:5} places, {len(chosen):5} killed, {len(wrong)} wrong", flush=True)
            faults += [f"{kind}, killed before change {at}: {what}" for at, what in wrong]
            killed += len(chosen)
            boundaries += count
    print(f"{len(kill.KINDS)} kinds of runs, {boundaries} places, {killed} killed, "
          f"{len(faults)} lost or different")
    if faults:
        sys.exit("\n".join(faults[:20]))


main()
