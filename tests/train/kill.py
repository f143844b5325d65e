#!/usr/bin/env python3
"""Runs that are killed at random moments, also while a checkpoint is written, and then resumed end
with the same bits as an undisturbed run: kill.py PROGRAM KILLS.

Every method and estimator of the program's list is trained. The moments come from a fixed seed; what
they hit depends on the machine, and must not matter. Runs of several stages are also killed at every
boundary between two, as soon as their log tells that a stage has ended.
"""
import atexit
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FILES = ("results.json", "best.safetensors", "predictions.csv", "config.yaml")
COMMON = ("--threads 1 --quiet --train.per_class 8 --model.hidden 32 --train.eval_every 25 "
          "--train.checkpoint_every 3 --train.lr 0.05 --data.n 1500").split()
KINDS = {
    "known": "--train.steps 150 --train.average ema --train.log_test".split(),
    "unknown": "--train.steps 75 --method.attributes unknown --method.t 0.02".split(),
    "lff": "--train.steps 100 --method.name lff --train.optimizer adam".split(),
    "dropout": "--train.steps 100 --model.dropout 0.4 --method.name groupdro".split(),
    "views": "--train.steps 100 --model.freeze body --data.augment crop-flip --model.views 3".split(),
    "crt": "--train.steps 60 --method.name crt".split(),
    "dfr": "--train.steps 60 --method.name dfr --method.variant subpopbench".split(),
    "dfr original": "--train.steps 60 --method.name dfr --method.repeats 3".split(),
    "afr": "--train.steps 60 --method.name afr --method.refit_steps 60 --method.lambda 0.1".split(),
    "self": "--train.steps 60 --method.name self --method.refit_steps 60".split(),
    "self class_balanced": ("--train.steps 60 --method.name self --method.variant class_balanced "
                            "--method.refit_epochs 10").split(),
    "pde": "--train.steps 100 --method.name pde --method.warm_up 20 --method.every 2".split(),
    "lc": "--train.steps 75 --method.name lc --train.optimizer adam".split(),
    "denetdm": ("--train.steps 40 --method.name denetdm --method.shallow_hidden 32 "
                "--method.deep_hidden 32,32").split(),
    "dfa": "--train.steps 75 --method.name dfa --train.optimizer adam".split(),
    "lisa": "--train.steps 100 --method.name lisa --method.mix cutmix".split(),
    "jtt": "--train.steps 75 --method.name jtt --method.first_epochs 0.5".split(),
    "mat": "--train.steps 40 --method.name mat --method.estimator_epochs 6 "
           "--method.estimator_lr 0.2 --data.ratio 0.1".split(),
    "ula": "--train.steps 75 --method.name ula --method.first_epochs 1".split(),
    "cnc": "--train.steps 30 --method.name cnc --method.first_epochs 6 --method.m 2 "
           "--data.ratio 0.1".split(),
    "repair val": "--train.steps 60 --repair val --train.average ema".split(),
    "repair train": "--train.steps 60 --repair train --method.name erm --data.ratio 0.2".split(),
    "s by class": ("--train.steps 60 --method.adapt feedback --method.s_by_class --method.beta -1 "
                   "--method.adapt_min 0").split(),
    "estimator jtt": "--method.estimator jtt --method.name sw --method.beyond_bounds".split(),
    "estimator xrm": "--method.estimator xrm --select.metric inferred_wga".split(),
    "estimator mst": "--method.estimator mst --method.name groupdro".split(),
    "estimator ecs": "--method.estimator ecs --method.name resampling".split(),
    "estimator ensemble": "--method.estimator ensemble --method.t 0.1 --train.optimizer adam".split(),
    "estimator crossfit": ("--method.estimator crossfit --method.membership soft "
                           "--method.no_shortcut keep").split(),
    "target": "--train.steps 60 --method.target marginal".split(),
    "estimator before stages": "--method.estimator jtt --method.name crt".split(),
}
for kind, arguments in KINDS.items():
    if kind.startswith("estimator"):
        arguments += ("--method.attributes unknown --method.estimator_epochs 6 --method.estimator_lr 0.2 "
                      "--train.steps 40 --data.ratio 0.1").split()


def add_run(program, common):
    """Estimator run, with a run to take groups from."""
    folder = tempfile.mkdtemp(prefix="gerne-kill-groups-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    found = os.path.join(folder, "found")
    estimator = KINDS["estimator jtt"]
    finish(start(program, [*common, *estimator, "--out", found, "--cache", found + ".cache"]))
    KINDS["estimator run"] = ("--method.attributes unknown --method.estimator run --train.steps 40 "
                              f"--data.ratio 0.1 --method.estimator_run {found}").split()


def add_listed(program, common=COMMON):
    """Methods and estimators that have no line of their own above."""
    listed = json.loads(subprocess.run([program, "methods", "--json"], check=True,
                                       capture_output=True).stdout)
    for method in listed:
        estimator = method["kind"] == "estimator"
        option = ["--method.estimator" if estimator else "--method.name", method["name"]]
        biased = method["name"] == "biased" # kind "unknown": it is gerne's default
        if biased or any(option == arguments[i:i + 2] for arguments in KINDS.values()
                         for i in range(len(arguments))):
            continue
        if method["name"] == "run":
            add_run(program, common)
            continue
        if estimator:
            sys.exit(f"estimator {method['name']} has no line in this test")
        KINDS[method["name"]] = ["--train.steps", "60", *option]


def add_rules(program):
    """Every rule that moves s while training; steps enough that it has moved."""
    help_text = subprocess.run([program, "train", "--help"], check=True, capture_output=True,
                               text=True).stdout
    choices = re.search(r"--method\.adapt (\S+)", help_text)
    rules = choices.group(1).split("|")[1:] if choices else []
    if not rules:
        sys.exit("the rules of method.adapt are not in the help")
    for rule in rules:
        KINDS[f"adapt {rule}"] = ["--train.steps", "100", "--method.adapt", rule]
    KINDS["adapt repetitions"] += ["--method.beta", "1.4", "--method.adapt_repetitions", "5"]


def contents(folder):
    out = {}
    for name in FILES:
        with open(os.path.join(folder, name), "rb") as file:
            out[name] = file.read()
    errors = os.path.join(folder, "errors")
    for name in sorted(os.listdir(errors)) if os.path.isdir(errors) else []:
        with open(os.path.join(errors, name), "rb") as file:
            out["errors/" + name] = file.read()
    # config.yaml names the directory
    out["config.yaml"] = b"\n".join(
        line for line in out["config.yaml"].split(b"\n") if not line.startswith((b"out:", b"cache:")))
    return out


def start(program, arguments):
    return subprocess.Popen([program, "train", *arguments], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def finish(process):
    _, err = process.communicate(timeout=300)
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}: {err.decode()}")


def new_run(kind, scratch, name):
    out = os.path.join(scratch, name)
    return out, [*COMMON, *KINDS[kind], "--out", out, "--cache", out + ".cache"]


def resume_arguments(out, begun):
    """A run that was killed before its directory was complete starts anew."""
    if os.path.exists(os.path.join(out, "config.yaml")):
        return ["--resume", out, "--quiet"]
    shutil.rmtree(out, ignore_errors=True)
    return begun


def compare(kind, out, wanted, what):
    found = contents(out)
    for name in sorted(found | wanted):
        if found.get(name) != wanted.get(name):
            sys.exit(f"{kind}: {name} differs {what}")
    if not os.path.exists(os.path.join(out, "report.html")):
        sys.exit(f"{kind}: there is no report {what}")
    left = [name for name in os.listdir(out) if ".tmp-" in name]
    if left:
        sys.exit(f"{kind}: {left} left behind {what}")


def ended_stages(out):
    """The names of the stages that have ended, in their order; a resumed run may log one again."""
    path = os.path.join(out, "log.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file if line.endswith("}\n")]
    return list(dict.fromkeys(event["stage"] for event in map(json.loads, lines)
                              if event["event"] == "stage_end"))


def kill_at_boundary(program, arguments, out, boundary):
    """Kills a run as soon as that many of its stages have ended; whether it was still running."""
    process = start(program, arguments)
    while process.poll() is None and len(ended_stages(out)) < boundary:
        time.sleep(0.002)
    process.kill()
    process.stderr.close()
    return process.wait() == -signal.SIGKILL


def kill_between_stages(program, scratch, wanted):
    """Kills every run of several stages at all boundaries in turn; boundaries and how many were hit."""
    boundaries = hit = 0
    for kind in KINDS:
        stages = len(ended_stages(os.path.join(scratch, kind)))
        if stages == 0:
            continue
        out, begun = new_run(kind, scratch, f"{kind}-stages")
        arguments = begun
        for boundary in range(1, stages + 1):
            hit += kill_at_boundary(program, arguments, out, boundary)
            arguments = resume_arguments(out, begun)
        boundaries += stages
        if not os.path.exists(os.path.join(out, "results.json")):
            finish(start(program, arguments))
        compare(kind, out, wanted[kind], "after kills between stages")
    return boundaries, hit


def main(program, kills):
    add_listed(program)
    add_rules(program)
    generator = random.Random(7)
    scratch = tempfile.mkdtemp(prefix="gerne-kill-")
    killed = stopped = 0
    try:
        wanted, seconds = {}, {}
        for kind in KINDS:
            out, arguments = new_run(kind, scratch, kind)
            begun = time.monotonic()
            finish(start(program, arguments))
            seconds[kind] = time.monotonic() - begun
            wanted[kind] = contents(out)
        for i in range(kills):
            kind = list(KINDS)[i % len(KINDS)]
            out, begun = new_run(kind, scratch, f"{kind}-{i}")
            arguments = begun
            for _ in range(1 + i % 2):
                process = start(program, arguments)
                time.sleep(generator.uniform(0, 0.95) * seconds[kind])
                process.kill()
                killed += process.wait() == -signal.SIGKILL
                process.stderr.close()
                arguments = resume_arguments(out, begun)
            finish(start(program, arguments))
            compare(kind, out, wanted[kind], f"after kill {i}")
        boundaries, between = kill_between_stages(program, scratch, wanted)
        # The same run stopped and resumed five times.
        out, arguments = new_run("known", scratch, "stopped")
        begun = arguments
        for _ in range(5):
            process = start(program, arguments)
            time.sleep(0.2 * seconds["known"])
            process.terminate()
            code = process.wait()
            process.stderr.close()
            # -SIGTERM: before the first step there is nothing to save
            if code not in (0, 130, -signal.SIGTERM):
                sys.exit(f"exit code {code} after SIGTERM")
            stopped += code == 130
            arguments = resume_arguments(out, begun)
        finish(start(program, arguments))
        compare("known", out, wanted["known"], "after being stopped five times")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(KINDS)} kinds of runs, {killed} kills at random, "
          f"{between} at {boundaries} boundaries of stages, {stopped} stops")
    if 2 * killed < kills or stopped < 1 or 2 * between < boundaries:
        sys.exit("too few runs were hit while they ran")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
