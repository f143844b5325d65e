#!/usr/bin/env python3
"""Makes every call that can fail, fail once, and kills at every write: torture.py PROGRAM INJECT.so [N].

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
import shutil
import subprocess
import sys
import tempfile

PROGRAM, INJECT = (os.path.abspath(a) for a in sys.argv[1:3])
MOST = int(sys.argv[3]) if len(sys.argv) > 3 else None
KINDS = ("memory", "write", "fsync", "rename", "mmap", "thread", "kill")
RUN = ["--data.n", "240", "--data.size", "16", "--model.arch", "mlp", "--model.hidden", "8", "--train.steps",
       "6", "--train.per_group", "2", "--train.eval_every", "3", "--train.checkpoint_every", "2",
       "--threads", "1", "--quiet", "--cache", "cache"]
STUDY = ("data: {n: 240, size: 16}\nmodel: {arch: linear}\ntrain: {steps: 4, per_class: 4}\nthreads: 1\n"
         "tune: {seeds: 1}\nsearch: {method.beta: [0, 1]}\n")
EXPORT = ["export", "out", "--onnx", "out/model.onnx", "--quiet"]
KEPT = ("results.json", "best.safetensors", "predictions.csv", "config.yaml", "best.yaml", "model.onnx")


def start(words, inject=None, counts=None):
    """Runs the program; OMP_WAIT_POLICY keeps it from restarting itself."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}
    if inject or counts:
        environment.update(LD_PRELOAD=INJECT, GERNE_INJECT=inject or "none:0")
    if counts:
        environment["GERNE_INJECT_COUNTS"] = counts
    return subprocess.run([PROGRAM, *words], env=environment, capture_output=True, text=True,
                          errors="replace", timeout=300, check=False)


class Scenario:
    """A command, what has to be there before it, and what is run after a failure."""

    def __init__(self, name, command, again=None, before=None):
        self.name, self.command, self.before = name, command, before
        self.again = again or (lambda: command)

    def prepare(self):
        for entry in os.listdir("."):
            if entry not in ("template", "counts"):
                shutil.rmtree(entry) if os.path.isdir(entry) else os.remove(entry)
        with open("t.yaml", "w", encoding="ascii") as file:
            file.write(STUDY)
        if self.before:
            shutil.copytree("template", "out")


def resume_or_start():
    begun = os.path.exists("out/config.yaml")
    return ["train", "--resume", "out", "--quiet"] if begun else ["train", *RUN, "--out", "out"]


SCENARIOS = [
    Scenario("train", ["train", *RUN, "--out", "out"], resume_or_start),
    Scenario("resume", ["train", "--resume", "out", "--quiet"], before=True),
    Scenario("tune", ["tune", "t.yaml", "--quiet", "--cache", "cache", "--out", "out"]),
    Scenario("export", EXPORT, lambda: [*EXPORT, "--overwrite"], before="whole"),
]


def contents():
    """The files that have to be the same, by path."""
    found = {}
    for folder, _, names in os.walk("out"):
        for name in names:
            path = os.path.join(folder, name)
            if name in KEPT:
                with open(path, "rb") as file:
                    found[path] = file.read()
            elif ".tmp-" in name:
                found[path] = b"left over"
    return found


def make_template(scenario):
    """For resume a run that was killed half way, for export a finished one."""
    shutil.rmtree("template", ignore_errors=True)
    words = ["train", *RUN, "--out", "template"]
    if scenario.before == "whole":
        start(words)
    elif scenario.before:
        start(words, inject="kill:25")
        assert os.path.exists("template/last.ckpt") and not os.path.exists("template/results.json")


def chosen(count):
    if MOST is None or count <= MOST:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (MOST - 1) for i in range(MOST)})


def disturb(scenario, kind, at, wanted):
    """None, or what is wrong."""
    scenario.prepare()
    result = start(scenario.command, inject=f"{kind}:{at}")
    code = result.returncode
    if code != (-9 if kind == "kill" else 0) and (code != 1 or "gerne:" not in result.stderr):
        return f"exit code {code}: {result.stderr[-300:]}"
    if code == 0 and kind != "kill" and contents() != wanted:
        return "succeeded, and differs"
    result = start(scenario.again())
    if result.returncode != 0:
        return f"cannot be repeated: {result.stderr[-300:]}"
    now = contents()
    differ = sorted(path for path in {*now, *wanted} if now.get(path) != wanted.get(path))
    return f"differs afterwards: {differ}" if differ else None


def torture(scenario):
    faults, total = [], 0
    if scenario.before:
        make_template(scenario)
    scenario.prepare()
    result = start(scenario.command, counts=os.path.abspath("counts"))
    assert result.returncode == 0, result.stderr
    wanted = contents()
    with open("counts", encoding="ascii") as file:
        counts = {kind: int(count) for kind, count in (line.split() for line in file)}
    for kind in KINDS:
        places = chosen(counts[kind])
        wrong = [(at, words) for at in places if (words := disturb(scenario, kind, at, wanted))]
        print(f"{scenario.name:7} {kind:7} {counts[kind]:7} calls, {len(places):6} disturbed, "
              f"{len(wrong)} wrong", flush=True)
        faults += [f"{scenario.name}, {kind} {at}: {words}" for at, words in wrong]
        total += len(places)
    return faults, total


def main():
    folder = tempfile.mkdtemp(prefix="gerne-torture-")
    os.chdir(folder)
    faults, total = [], 0
    try:
        for scenario in SCENARIOS:
            wrong, count = torture(scenario)
            faults += wrong
            total += count
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{total} disturbed runs, {len(faults)} lost or different")
    if faults:
        sys.exit("\n".join(faults[:20]))


main()
