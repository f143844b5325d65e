#!/usr/bin/env python3
"""Two processes, with two trials at a time each, search on one directory while one is killed with -9 again and again: every
trial is done exactly once, with the results, the winner and the ranking of an undisturbed search:
kill.py PROGRAM KILLS.

The moments come from a fixed seed; what they hit depends on the machine, and must not matter.
"""
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SEARCH = ("tune --threads 1 --data.n 600 --model.arch linear --method.attributes unknown "
          "--method.t 0.02 --train.per_class 8 --train.steps 40 --train.eval_every 20 "
          "--train.checkpoint_every 2 --seeds 2 --search.method.beta 0,1 "
          "--search.train.lr 0.01,0.05,1e6 --keep --tune.workers 2").split()
FILES = ("results.json", "predictions.csv", "best.safetensors")


def start(program, out, cache):
    launcher = os.environ.get("GERNE_LAUNCHER", "").split()
    return subprocess.Popen([*launcher, program, *SEARCH, "--out", out, "--cache", cache],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process):
    _, err = process.communicate(timeout=600)
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}: {err.decode()}")
    return err.decode()


def read_study(out):
    with open(os.path.join(out, "study.json"), encoding="utf-8") as file:
        return json.load(file)


def files_of(out, study):
    found = {}
    for trial in study["trials"]:
        for name in FILES:
            path = os.path.join(out, trial["run"], name)
            if os.path.exists(path):
                with open(path, "rb") as file:
                    found[trial["id"], name] = file.read()
    return found


def announced(text):
    """Trials that a process said it finished: 3/12  method.beta=1 seed=0: ..."""
    return [line.split("  ", 1)[1].split(":")[0].split(" failed")[0]
            for line in text.splitlines() if line[:1].isdigit() and "/" in line.split()[0]]


def compare(out, plain, study):
    undisturbed = read_study(plain)
    if not study["complete"] or study["counts"]["waiting"] + study["counts"]["running"]:
        sys.exit(f"not complete: {study['counts']}")
    for key in ("ranking", "trials", "counts", "parameters", "selection"):
        if json.dumps(study[key]) != json.dumps(undisturbed[key]):
            sys.exit(f"{key} differs:\n{json.dumps(study[key])}\n{json.dumps(undisturbed[key])}")
    if files_of(out, study) != files_of(plain, undisturbed):
        sys.exit("files of the trials differ")
    with open(os.path.join(out, "best.yaml"), encoding="utf-8") as file:
        best = file.read().replace(out, plain)
    with open(os.path.join(plain, "best.yaml"), encoding="utf-8") as file:
        if file.read() != best:
            sys.exit("best.yaml differs")


def holds_trial(process):
    """Whether the process has the lock of a trial open."""
    folder = f"/proc/{process.pid}/fd"
    try:
        return any("/.locks/" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except OSError:
        return False


def kill(process, generator, seconds, in_trial):
    """At a random moment, of its life or of its work on a trial; True when that worked."""
    deadline = time.monotonic() + 60
    while in_trial and process.poll() is None and not holds_trial(process):
        if time.monotonic() > deadline:
            sys.exit("a process got no trial in a minute")
        time.sleep(0.001)
    time.sleep(generator.uniform(0, seconds))
    busy = holds_trial(process)
    process.send_signal(signal.SIGKILL)
    return busy


def disturb(program, kills, scratch, seconds):
    """One process goes on to the end, the other is killed and started again."""
    generator = random.Random(11)
    out, cache = os.path.join(scratch, "disturbed"), os.path.join(scratch, "cache-2")
    steady = start(program, out, cache)
    said, hit = "", 0
    for i in range(kills):
        victim = start(program, out, cache)
        busy = kill(victim, generator, seconds, i % 2 == 0)
        _, err = victim.communicate()
        hit += victim.returncode == -signal.SIGKILL and busy
        said += err.decode(errors="replace")
    last = start(program, out, cache)
    said += finish(last)
    said += finish(steady)
    return out, said, hit


def biased_models_trained(out, study):
    """In how many of the finished trials the first stage was not taken from the cache."""
    count = 0
    for trial in study["trials"]:
        with open(os.path.join(out, trial["run"], "log.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        count += any(e["event"] == "stage_end" and not e["reused"] for e in events)
    return count


def share(program, scratch, plain):
    """Two processes that nobody disturbs train each biased model once: two rates, two seeds."""
    out, cache = os.path.join(scratch, "shared"), os.path.join(scratch, "cache-3")
    both = [start(program, out, cache), start(program, out, cache)]
    for process in both:
        finish(process)
    study = read_study(out)
    compare(out, plain, study)
    trained = biased_models_trained(out, study)
    if trained != 4:
        sys.exit(f"{trained} biased models were trained, not 4")


def main(program, kills):
    scratch = tempfile.mkdtemp(prefix="gerne-study-")
    try:
        plain = os.path.join(scratch, "plain")
        begun = time.monotonic()
        finish(start(program, plain, os.path.join(scratch, "cache-1")))
        seconds = time.monotonic() - begun
        share(program, scratch, plain)
        out, said, hit = disturb(program, kills, scratch, seconds / 12)
        study = read_study(out)
        compare(out, plain, study)
        names = announced(said)
        if len(names) != len(set(names)):
            sys.exit(f"a trial was finished twice:\n{sorted(names)}")
        rows = sqlite3.connect(os.path.join(out, "ledger.sqlite")).execute(
            "SELECT count(*), count(DISTINCT id), sum(state IN ('done', 'failed')) FROM trials")
        if rows.fetchone() != (12, 12, 12):
            sys.exit("the ledger does not hold every trial once")
        failed = study["counts"]["failed"]
        if failed != 4:
            sys.exit(f"{failed} trials failed, not the four of lr 1e6")
        if os.listdir(os.path.join(out, ".locks")):
            sys.exit("locks were left behind")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{hit} of {kills} kills hit a trial; {len(names)} of 12 trials announced")
    if hit < 1:
        sys.exit("no kill hit a process at work on a trial")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
