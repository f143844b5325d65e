#!/usr/bin/env python3
"""What a run's directory is worth when something goes wrong: directory.py PROGRAM.

A disk that is full leaves the last good checkpoint as it was; a checkpoint of another kind of
processor is refused; threads wait briefly for each other; the event file of a whole run is what TensorBoard reads.
"""
import glob
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
PATIENCE = 120 * float(os.environ.get("GERNE_PATIENCE", "1"))
SETTINGS = ("--threads 1 --quiet --train.steps 1000 --train.per_class 8 --model.hidden 32 "
            "--train.eval_every 50 --train.checkpoint_every 5 --train.lr 0.05 --data.n 1000").split()


def gerne(*arguments, limit=None, **environment):
    """limit: bytes beyond which no file may grow, as if the disk were full there."""
    def narrow():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.run([PROGRAM, "train", *arguments], capture_output=True, text=True,
                          timeout=PATIENCE, preexec_fn=narrow if limit else None,
                          env={**os.environ, **environment})


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def start_and_stop(out):
    """A run that is stopped after its first checkpoints."""
    process = subprocess.Popen([PROGRAM, "train", *SETTINGS, "--out", out],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(out, "best.safetensors")) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=PATIENCE)


class Directory(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="gerne-directory-")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.out = os.path.join(self.scratch, "run")

    def test_full_disk(self):
        whole = os.path.join(self.scratch, "whole")
        self.assertEqual(gerne(*SETTINGS, "--out", whole).returncode, 0)
        self.assertEqual(start_and_stop(self.out), 130)
        good = read(self.out, "last.ckpt")
        model = len(read(self.out, "best.safetensors"))
        # No room for the log, the weights, the checkpoint (by a byte), the predictions.
        # LLVM's OpenMP needs a kilobyte in shared memory for itself.
        self.assertGreater(len(read(self.out, "log.jsonl")), 1024)
        self.assertGreater(model // 2, 1024)
        self.assertLess(model, len(good))
        for limit in (1024, model // 2, len(good) - 1):
            stopped = gerne("--resume", self.out, "--quiet", limit=limit)
            self.assertEqual(stopped.returncode, 1, stopped.stderr)
            self.assertRegex(stopped.stderr, r"cannot write '.*run/.*': File too large")
            self.assertEqual(read(self.out, "last.ckpt"), good)
            self.assertEqual(glob.glob(os.path.join(self.out, "*.tmp-*")), [])
        self.assertEqual(gerne("--resume", self.out, "--quiet").returncode, 0)
        for name in ("results.json", "best.safetensors", "predictions.csv"):
            self.assertEqual(read(self.out, name), read(whole, name), name)

    def test_other_processor(self):
        self.assertEqual(start_and_stop(self.out), 130)
        good = read(self.out, "last.ckpt")
        other = gerne("--resume", self.out, "--quiet", DNNL_MAX_CPU_ISA="SSE41")
        self.assertEqual(other.returncode, 2, other.stderr)
        self.assertIn("the CPU's instruction set differs: sse4.1 now", other.stderr)
        self.assertEqual(read(self.out, "last.ckpt"), good)
        self.assertEqual(gerne("--resume", self.out, "--quiet").returncode, 0)

    def test_threads_wait_briefly(self):
        """The program starts itself anew with a short spin, unless the user chose otherwise."""
        for given in ({}, {"OMP_WAIT_POLICY": "active"}, {"GOMP_SPINCOUNT": "7"}):
            environment = {key: value for key, value in os.environ.items()
                           if key not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
            process = subprocess.Popen([PROGRAM, "train", *SETTINGS, "--out", self.out],
                                       env={**environment, **given}, stdout=subprocess.DEVNULL)
            end = time.monotonic() + PATIENCE
            while not os.path.exists(self.out) and time.monotonic() < end:
                time.sleep(0.01)
            variables = read("/proc", str(process.pid), "environ").split(b"\0")
            process.kill()
            process.wait()
            shutil.rmtree(self.out)
            found = [v.decode() for v in variables if v.startswith((b"OMP_WAIT", b"GOMP_SPIN"))]
            wanted = given or {"GOMP_SPINCOUNT": "1000"}
            self.assertEqual(found, [f"{key}={value}" for key, value in wanted.items()])

    def test_events_are_those_of_the_log(self):
        self.assertEqual(gerne(*SETTINGS, "--out", self.out).returncode, 0)
        (path,) = glob.glob(os.path.join(self.out, "events.out.tfevents.*"))
        scalars = {(tag, step): value for tag, step, value in scalars_of(read(path))}
        logged = [event for event in map(json.loads, read(self.out, "log.jsonl").splitlines())
                  if event["event"] == "evaluation"]
        self.assertEqual(len(logged), 20)
        for event in logged:
            for split, figures in (("train", event["train"]), ("val", event["val"])):
                for name, value in figures.items():
                    if split == "val" and name not in ("gba", "wga", "acc_avg"):
                        continue
                    found = scalars.pop((f"main/{split}/{name}", event["step"]))
                    self.assertAlmostEqual(found, value, delta=1e-6 * max(1, abs(value)))
        self.assertEqual(scalars, {})


# ---- TensorBoard's format: framed records with masked CRC-32C, protocol buffers inside ----

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8]), "checksum of a length"
        body = data[12:12 + size]
        assert struct.unpack("<I", data[12 + size:16 + size])[0] == masked(body), "checksum of a record"
        yield body
        data = data[16 + size:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message: integers, and bytes for all else."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                assert kind == 2, f"wire type {kind}"
                size, at = varint(data, at)
            assert at + size <= len(data), "a field beyond its message"
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def scalars_of(data):
    """(tag, step, value) of every scalar; the first record names the version."""
    bodies = list(records(data))
    assert dict(fields(bodies[0]))[3] == b"brain.Event:2"
    for body in bodies[1:]:
        event = dict(fields(body))
        assert struct.unpack("<d", event[1])[0] > 1e9, "no wall time"
        for number, value in fields(event[5]):
            assert number == 1
            point = dict(fields(value))
            yield point[1].decode(), event.get(2, 0), struct.unpack("<f", point[2])[0]


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
