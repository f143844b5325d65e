#!/usr/bin/env python3
"""Signals that are no end: signals.py PROGRAM.

A terminal that goes away (SIGHUP) saves the run, unless nohup had it ignored; a data file that is
truncated while it is mapped is an error, not SIGBUS. Resumed, both end with the bits of a run that
nothing happened to.
"""
import glob
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
STEPS, ROWS, WIDTH = 3000, 4000, 64
STUDY = f"""data: {{format: features, file: x.npy, labels: y.csv}}
model: {{arch: mlp, hidden: [64]}}
train: {{steps: {STEPS}, per_group: 16, checkpoint_every: 100, lr: 0.01}}
threads: 2
tune: {{seeds: 2, workers: 2}}
search: {{method.beta: [0]}}
"""
FILES = ("results.json", "best.safetensors", "predictions.csv")


def write_data():
    values = [((i * 7919 + 104729) % 2003) / 2003 for i in range(ROWS * WIDTH)]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {WIDTH}), }}".encode()
    head = head.ljust(4096 - 11) + b"\n"
    with open("x.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
        file.write(struct.pack(f"<{len(values)}f", *values))
    with open("y.csv", "w", encoding="ascii") as file:
        file.write("y,a,split\n")
        file.writelines(f"{i % 2},{i // 2 % 2},{('val', 'test', 'train', 'train', 'train')[i % 5]}\n"
                        for i in range(ROWS))


def command(out):
    return [PROGRAM, "train", "--data.format", "features", "--data.file", "x.npy", "--data.labels",
            "y.csv", "--model.arch", "mlp", "--model.hidden", "64", "--train.steps", str(STEPS),
            "--train.per_group", "16", "--train.eval_every", "500", "--train.checkpoint_every", "100",
            "--train.lr", "0.01", "--threads", "1", "--quiet", "--out", out]


def start(out, **options):
    """A run that has taken some steps."""
    process = subprocess.Popen(command(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               **options)
    while not os.path.exists(os.path.join(out, "last.ckpt")) and process.poll() is None:
        time.sleep(0.01)
    return process


def resume(out):
    subprocess.run([PROGRAM, "train", "--resume", out, "--quiet"], check=True, capture_output=True)


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gerne-signals-")
        os.chdir(cls.folder)
        write_data()
        subprocess.run(command("whole"), check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        shutil.rmtree(cls.folder)

    def same(self, out):
        for name in FILES:
            with open(os.path.join(out, name), "rb") as a, open(os.path.join("whole", name), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)

    def test_hangup_saves(self):
        process = start("hung")
        process.send_signal(signal.SIGHUP)
        _, words = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, words)
        self.assertFalse(os.path.exists("hung/results.json"))
        resume("hung")
        self.same("hung")

    def test_nohup_is_respected(self):
        process = start("kept", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        _, words = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, words)
        self.same("kept")

    def test_a_file_that_shrinks(self):
        shutil.copy("x.npy", "copy.npy")
        process = start("shrunk")
        os.truncate("x.npy", 4096)
        _, words = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, words)
        self.assertIn("'x.npy' was truncated or became unreadable while it was in use", words)
        self.assertFalse(os.path.exists("shrunk/results.json"))
        shutil.copyfile("copy.npy", "x.npy")
        resume("shrunk")
        self.same("shrunk")


class Study(unittest.TestCase):
    """Trials that run beside each other, on threads of their own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gerne-signals-")
        os.chdir(cls.folder)
        write_data()
        with open("study.yaml", "w", encoding="ascii") as file:
            file.write(STUDY)
        cls.whole = cls.finish("whole")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        shutil.rmtree(cls.folder)

    @staticmethod
    def command(out):
        return [PROGRAM, "tune", "study.yaml", "--cache", "cache", "--quiet", "--out", out]

    @classmethod
    def finish(cls, out):
        """The results of the trials by their names."""
        subprocess.run(cls.command(out), check=True, capture_output=True)
        results = {}
        for path in glob.glob(f"{out}/trials/*/results.json"):
            with open(path, "rb") as file:
                results[os.path.basename(os.path.dirname(path))] = file.read()
        return results

    def disturb(self, out, disturbance, code):
        """What is said when that happens to two trials under way."""
        process = subprocess.Popen(self.command(out), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        while len(glob.glob(f"{out}/trials/*/last.ckpt")) < 2 and process.poll() is None:
            time.sleep(0.01)
        disturbance(process)
        _, words = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, words)
        self.assertEqual(glob.glob(f"{out}/trials/*/results.json"), [])
        return words

    def test_hangup_saves(self):
        self.disturb("hung", lambda process: process.send_signal(signal.SIGHUP), 130)
        self.assertEqual(self.finish("hung"), self.whole)

    def test_kill(self):
        self.disturb("killed", lambda process: process.kill(), -signal.SIGKILL)
        self.assertEqual(self.finish("killed"), self.whole)

    def test_a_file_that_shrinks(self):
        shutil.copy("x.npy", "copy.npy")
        words = self.disturb("shrunk", lambda process: os.truncate("x.npy", 4096), 1)
        self.assertIn("'x.npy' was truncated or became unreadable while it was in use", words)
        shutil.copyfile("copy.npy", "x.npy")
        self.assertEqual(self.finish("shrunk"), self.whole)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
