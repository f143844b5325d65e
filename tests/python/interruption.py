"""Ctrl-C stops a training run, leaves it resumable, and raises KeyboardInterrupt."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import support
import gerne

SCRIPT = """
import sys, gerne
config = {"data.n": 2000, "data.size": 8, "train.epochs": 100, "train.eval_every": 500,
          "train.batch": 64, "threads": 1, "model.arch": "mlp", "model.hidden": [32]}
started = []
def progress(what, done, total, detail):
    if what == "train" and done > 20 and not started:
        started.append(1)
        print("started", flush=True)
try:
    gerne.train(config, out=sys.argv[1], progress=progress if sys.argv[2] == "told" else False)
    print("finished")
except KeyboardInterrupt:
    print("KeyboardInterrupt")
"""


class Interruption(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def start(self, name, told):
        environment = {**os.environ, "PYTHONPATH": str(support.PACKAGE)}
        return subprocess.Popen([sys.executable, "-B", "-c", SCRIPT, str(self.root / name), told],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=environment)

    def finish(self, process):
        out, err = process.communicate(timeout=120 * support.PATIENCE)
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def assert_resumes(self, name):
        run = self.root / name
        self.assertFalse((run / "results.json").exists())
        results = gerne.resume(run)
        process = self.start("whole", "silent")
        self.assertEqual(self.finish(process)[0], "finished\n")
        for file in ("results.json", "best.safetensors"):
            self.assertEqual((run / file).read_bytes(), (self.root / "whole" / file).read_bytes())
        self.assertEqual(gerne.resume(run), results)

    def test_signal_with_progress(self):
        process = self.start("told", "told")
        self.assertEqual(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGINT)
        out, err = self.finish(process)
        self.assertEqual(out, "KeyboardInterrupt\n", err)
        self.assert_resumes("told")

    def test_signal_without_progress(self):
        """Nothing of Python runs in the training thread: the main thread waits for signals."""
        process = self.start("silent", "silent")
        deadline = time.monotonic() + 60 * support.PATIENCE
        while not (self.root / "silent/log.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = self.finish(process)
        self.assertEqual(out, "KeyboardInterrupt\n")
        self.assertFalse((self.root / "silent/results.json").exists())

    def test_progress_function(self):
        config = {"data.n": 400, "data.size": 8, "train.epochs": 50, "threads": 1}
        calls = []

        def stop(what, done, total, detail):
            calls.append((what, done, total, detail))
            return what == "train" and done >= 3

        with self.assertRaises(gerne.Interrupted) as raised:
            gerne.train(config, out=self.root / "stopped", progress=stop)
        self.assertIn("the run is saved", str(raised.exception))
        self.assertTrue(calls[-1][0] == "train" and calls[-1][2] > 0)

        def fail(*_):
            raise RuntimeError("from the progress function")

        with self.assertRaisesRegex(RuntimeError, "from the progress function"):
            gerne.train(config, out=self.root / "failed", progress=fail)
        self.assertIn("splits", gerne.resume(self.root / "stopped"))


if __name__ == "__main__":
    support.main()
