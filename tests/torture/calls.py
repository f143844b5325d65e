#!/usr/bin/env python3
"""Makes every call that can fail, fail once, and kills at every write: calls.py PROGRAM INJECT.so [N].

For each scenario (train, resume, tune, export) the calls of an undisturbed run are counted: allocations,
writes, fsyncs, renames, maps, threads (inject.c). Then the scenario runs again and again with one of
them failing, or killed before a write, fsync or rename, and after that once more without. It must hold:

    no signal ends the program, unless it was killed
    it succeeds with the same bytes, or says why it failed and exits with 1
    afterwards the same command (or --resume) ends with the same bytes as an undisturbed run
    no temporary file is left when that is done

N: at most so many calls of each kind, evenly spread (default: all of them). Prints counts; the exit code
says whether anything was lost or differs.
"""
import os
import sys

from scenarios import SCENARIOS, contents, differences, own_folder, read_counts, spread, start

PROGRAM, INJECT = (os.path.abspath(a) for a in sys.argv[1:3])
MOST = int(sys.argv[3]) if len(sys.argv) > 3 else None
KINDS = ("memory", "write", "fsync", "rename", "mmap", "thread", "kill")


def inject(words, what, **variables):
    return start(PROGRAM, words, LD_PRELOAD=INJECT, GERNE_INJECT=what, **variables)


def disturb(scenario, kind, at, wanted):
    """None, or what is wrong."""
    scenario.prepare()
    result = inject(scenario.command, f"{kind}:{at}")
    code = result.returncode
    if code != (-9 if kind == "kill" else 0) and (code != 1 or "gerne:" not in result.stderr):
        return f"exit code {code}: {result.stderr[-300:]}"
    if code == 0 and kind != "kill" and contents() != wanted:
        return "succeeded, and differs"
    result = start(PROGRAM, scenario.again())
    if result.returncode != 0:
        return f"cannot be repeated: {result.stderr[-300:]}"
    differ = differences(wanted)
    return f"differs afterwards: {differ}" if differ else None


def torture(scenario):
    faults, total = [], 0
    scenario.make_template(PROGRAM, INJECT)
    scenario.prepare()
    result = inject(scenario.command, "none:0", GERNE_INJECT_COUNTS=os.path.abspath("counts"))
    assert result.returncode == 0, result.stderr
    wanted = contents()
    counts = read_counts()
    for kind in KINDS:
        places = spread(counts[kind], MOST)
        wrong = [(at, words) for at in places if (words := disturb(scenario, kind, at, wanted))]
        print(f"{scenario.name:7} {kind:7} {counts[kind]:7} calls, {len(places):6} disturbed, "
              f"{len(wrong)} wrong", flush=True)
        faults += [f"{scenario.name}, {kind} {at}: {words}" for at, words in wrong]
        total += len(places)
    return faults, total


def main():
    faults, total = [], 0
    with own_folder():
        for scenario in SCENARIOS:
            wrong, count = torture(scenario)
            faults += wrong
            total += count
    print(f"{total} disturbed runs, {len(faults)} lost or different")
    if faults:
        sys.exit("\n".join(faults[:20]))


main()
