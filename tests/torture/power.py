#!/usr/bin/env python3
"""Cuts the power: power.py PROGRAM RECORD.so INJECT.so [N].

The changes of the file system of a train, resume, tune and export are recorded (record.c). For every moment
between two of them the states are built that a disk may hold if the power is lost there (disk.py). On every
state must hold:

    a file that was promised (renamed to its name, its directory synced) is there
    a file of ours that is written as a whole is one of its whole versions, never a part or a mix

and on N of them, evenly spread (default: all), that the program goes on:

    eval and report end with a result or a sentence, and with a result where results.json is there
    the same command (or --resume) then ends with the same bytes as an undisturbed run, a log without
    repeated or missing events, and no temporary file

Prints counts; the exit code says whether anything was lost or differs.
"""
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile

import disk
from scenarios import SCENARIOS, contents, differences, own_folder, spread, start

PROGRAM, RECORD, INJECT = (os.path.abspath(a) for a in sys.argv[1:4])
MOST = int(sys.argv[4]) if len(sys.argv) > 4 else None
SKIP = ("template", "counts")


def events():
    """The logs of all runs without what differs between two undisturbed ones."""
    found = {}
    for folder, _, names in os.walk("out"):
        if "log.jsonl" in names:
            with open(os.path.join(folder, "log.jsonl"), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            found[folder] = [(e["event"], e.get("stage"), e.get("step"), e.get("val"), e.get("message"))
                             for e in lines if e["event"] != "resume"]
    return found


def put(state):
    """The present directory becomes the state."""
    for entry in os.listdir("."):
        if entry not in SKIP:
            shutil.rmtree(entry) if os.path.isdir(entry) else os.remove(entry)
    for path, what in sorted(state.items()):
        if what == disk.FOLDER:
            os.mkdir(path)
        else:
            with open(path, "wb") as file:
                file.write(what)


def digest(state):
    sums = hashlib.sha256()
    for path, what in sorted(state.items()):
        sums.update(repr((path, what if what == disk.FOLDER else hashlib.sha256(what).digest())).encode())
    return sums.digest()


def look(state, moment, promises, versions):
    """None, or which promise the state breaks."""
    kept = {}
    for at, path, whole in promises:
        if at <= moment:
            kept[path] = whole
    for path, whole in kept.items():
        if whole is not None and path not in state:
            return f"{path} was promised and is lost"
    for path, whole in versions.items():
        if path in state and state[path] not in whole:
            return f"{path} is {len(state[path])} bytes that nobody wrote as a whole"
    return None


def ends_well(words, needed):
    result = start(PROGRAM, words)
    if result.returncode == 0 or (not needed and result.returncode in (1, 2) and "gerne:" in result.stderr):
        return None
    return f"{words[0]}: exit code {result.returncode}: {result.stderr[-300:]}"


def go_on(scenario, wanted, wanted_events):
    """None, or what is wrong with the program on the state that is here."""
    whole = os.path.exists("out/results.json") or os.path.exists("out/study.json")
    is_run = scenario.name != "tune"
    if is_run and (words := ends_well(["eval", "out", "--quiet"], whole)):
        return words
    if words := ends_well(["report", "out", "--out", "page.html", "--quiet"], whole):
        return words
    result = start(PROGRAM, scenario.again())
    if result.returncode != 0:
        return f"cannot go on: {result.stderr[-300:]}"
    if differ := differences(wanted):
        return f"differs afterwards: {differ}"
    now = events()
    if now != wanted_events:
        return f"the logs differ: {[path for path in now if now[path] != wanted_events.get(path)]}"
    return None


def record(scenario):
    """The history of the scenario's directory, and what it ends with."""
    scenario.make_template(PROGRAM, INJECT)
    scenario.prepare()
    log = os.path.join(tempfile.gettempdir(), f"gerne-record-{os.getpid()}")
    history = disk.Disk(".", SKIP)
    try:
        result = start(PROGRAM, scenario.command, LD_PRELOAD=RECORD, GERNE_RECORD=log,
                       GERNE_RECORD_ROOT=os.path.realpath("."))
        assert result.returncode == 0, result.stderr
        history.follow(disk.read_log(log))
    finally:
        if os.path.exists(log):
            os.remove(log)
    check_recorder(history)
    return history, contents(), events()


def check_recorder(history):
    """All changes together have to give what is there, or the recorder has missed something."""
    names, data = dict(history.names), list(history.bytes)
    for word, *rest in history.changes:
        if word == "names":
            names.update(rest[0])
        elif word in ("write", "cut"):
            data[rest[0]] = disk.apply(data[rest[0]], [(word, *rest[1:])])
    for path, what in names.items():
        if isinstance(what, int):
            with open(path, "rb") as file:
                assert file.read() == data[what], f"the recorder missed a change of {path}"
    for folder, folders, files in os.walk("out"):
        for name in [*folders, *files]:
            path = os.path.relpath(os.path.join(folder, name), ".")
            assert names.get(path) is not None, f"the recorder missed {path}"


def cut(scenario):
    history, wanted, wanted_events = record(scenario)
    promises = disk.commits(history)
    versions = {}
    for _, path, whole in promises:
        if whole is not None:
            versions.setdefault(path, []).append(whole)
    for path, what in history.names.items():
        if path in versions and what != disk.FOLDER:
            versions[path].append(history.bytes[what])
    faults, seen, different = [], 0, {}
    generator = random.Random(12)
    for moment in range(len(history.changes) + 1):
        for state in disk.states(history, moment, generator):
            seen += 1
            if words := look(state, moment, promises, versions):
                faults.append(f"{scenario.name}, after change {moment}: {words}")
            different.setdefault(digest(state), (moment, state))
    tried = list(different.values())
    tried = [tried[i - 1] for i in spread(len(tried), MOST)]
    for moment, state in tried:
        put(state)
        if words := go_on(scenario, wanted, wanted_events):
            faults.append(f"{scenario.name}, after change {moment} of {len(history.changes)}: {words}")
    print(f"{scenario.name:7} {len(history.changes):5} changes, {seen:6} states, {len(different):5} different, "
          f"{len(tried):5} gone on with, {len(faults)} wrong", flush=True)
    return faults, seen, len(tried)


def main():
    faults, seen, tried = [], 0, 0
    with own_folder():
        for scenario in SCENARIOS:
            wrong, states, runs = cut(scenario)
            faults += wrong
            seen += states
            tried += runs
    print(f"{seen} states after a power loss, {tried} gone on with, {len(faults)} lost or different")
    if faults:
        sys.exit("\n".join(faults[:20]))


main()
