"""What is disturbed: a train, resume, tune and export, small enough to be run some thousand times."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile

RUN = ["--data.n", "240", "--data.size", "16", "--model.arch", "mlp", "--model.hidden", "8", "--train.steps",
       "6", "--train.per_group", "2", "--train.eval_every", "3", "--train.checkpoint_every", "2",
       "--threads", "1", "--quiet", "--cache", "cache"]
STUDY = ("data: {n: 240, size: 16}\nmodel: {arch: linear}\ntrain: {steps: 4, per_class: 4}\nthreads: 1\n"
         "tune: {seeds: 1}\nsearch: {method.beta: [0, 1]}\n")
EXPORT = ["export", "out", "--onnx", "out/model.onnx", "--quiet"]
KEPT = ("results.json", "best.safetensors", "predictions.csv", "config.yaml", "best.yaml", "model.onnx")
PATIENCE = 300 * float(os.environ.get("GERNE_PATIENCE", "1"))  # seconds for one call of the program


def start(program, words, **variables):
    """Runs the program; OMP_WAIT_POLICY keeps it from restarting itself. One that hangs has no exit code."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1", **variables}
    try:
        return subprocess.run([program, *words], env=environment, capture_output=True, text=True,
                              errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, None, "", f"did not end within {PATIENCE:g} s")


class Scenario:
    """A command, what has to be there before it, and what is run after a failure."""

    def __init__(self, name, command, again=None, before=None):
        self.name, self.command, self.before = name, command, before
        self.again = again or (lambda: command)

    def prepare(self):
        """The present directory as it is before the command."""
        for entry in os.listdir("."):
            if entry not in ("template", "counts"):
                shutil.rmtree(entry) if os.path.isdir(entry) else os.remove(entry)
        with open("t.yaml", "w", encoding="ascii") as file:
            file.write(STUDY)
        if self.before:
            shutil.copytree("template", "out")

    def make_template(self, program, inject):
        """For resume a run that was killed half way, for export a finished one."""
        shutil.rmtree("template", ignore_errors=True)
        words = ["train", *RUN, "--out", "template"]
        if self.before == "whole":
            start(program, words)
        elif self.before:
            kill_half_way(program, inject, words)


def kill_half_way(program, inject, words):
    """Before the second evaluation's checkpoint; where that is depends on the program."""
    start(program, words, LD_PRELOAD=inject, GERNE_INJECT="none:0",
          GERNE_INJECT_COUNTS=os.path.abspath("counts"))
    for at in range(read_counts()["kill"] * 4 // 10, 0, -1):
        shutil.rmtree("template")
        start(program, words, LD_PRELOAD=inject, GERNE_INJECT=f"kill:{at}")
        if os.path.exists("template/last.ckpt") and not os.path.exists("template/results.json"):
            return
    sys.exit("no run could be killed half way")


def read_counts():
    with open("counts", encoding="ascii") as file:
        return {kind: int(count) for kind, count in (line.split() for line in file)}


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


def differences(wanted):
    """The paths whose contents are not the wanted ones."""
    now = contents()
    return sorted(path for path in {*now, *wanted} if now.get(path) != wanted.get(path))


def spread(count, most):
    """Up to most of the numbers from 1 to count, evenly; None: all."""
    if most is None or count <= most:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


@contextlib.contextmanager
def own_folder():
    """Works in a folder of its own, which is removed."""
    with tempfile.TemporaryDirectory(prefix="gerne-torture-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir("/")
