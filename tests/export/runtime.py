#!/usr/bin/env python3
"""Exported networks in another runtime: runtime.py PROGRAM.

onnxruntime (npm's onnxruntime-node) gives the probabilities of gerne predict, in batches of any
size. Skipped, with the reason, where it is not installed: scripts/install-deps --dev does that.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from networks import NETWORKS, PATIENCE, Workshop

PROGRAM = sys.argv.pop()
SKIPPED = 77
MODULES = Path(os.environ.get("GERNE_NODE_MODULES", Path(
    os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gerne-dev/node_modules"))
LIMIT = 1e-5


def why_not():
    if not shutil.which("node"):
        return "node is not installed"
    if not (MODULES / "onnxruntime-node").is_dir():
        return f"there is no onnxruntime-node in {MODULES}; 'scripts/install-deps --dev' puts it there"
    result = subprocess.run(["node", "-e", f"require({json.dumps(str(MODULES))} + '/onnxruntime-node')"],
                            capture_output=True, text=True)
    return f"onnxruntime-node does not load: {result.stderr.strip()}" if result.returncode else None


def softmax(row):
    powers = [math.exp(x - max(row)) for x in row]
    return [p / sum(powers) for p in powers]


class Runtime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="gerne-runtime-"))
        cls.shop = Workshop(PROGRAM, cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_jobs(self, batches):
        """Results of [(file, arrays)], in one process."""
        jobs = []
        for i, (model, arrays) in enumerate(batches):
            inputs = {}
            for name, array in arrays.items():
                file = self.folder / f"{i}.{name}.bin"
                file.write_bytes(array.bytes())
                inputs[name] = {"type": array.type, "dims": array.dims, "file": str(file)}
            jobs.append({"model": str(model), "inputs": inputs})
        (self.folder / "jobs.json").write_text(json.dumps(jobs))
        script = Path(__file__).with_name("onnxruntime.js")
        result = subprocess.run(["node", script, MODULES, self.folder / "jobs.json"],
                                capture_output=True, text=True, timeout=120 * PATIENCE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def compare(self, exported, limit=LIMIT):
        """Largest difference from our probabilities, one sample at a time and all at once."""
        whole = len(exported.samples)
        batches = [exported.batch(0, whole), exported.batch(1, 1), exported.batch(2, 3)]
        results = self.run_jobs([(exported.onnx, arrays) for arrays, _ in batches])
        largest = 0.0
        for (_, ours), theirs in zip(batches, results, strict=True):
            classes = len(ours[0])
            self.assertEqual(len(theirs["probabilities"]), classes * len(ours))
            for i, row in enumerate(ours):
                part = slice(i * classes, (i + 1) * classes)
                for a, b, c in zip(row, theirs["probabilities"][part],
                                   softmax(theirs["logits"][part]), strict=True):
                    largest = max(largest, abs(a - b), abs(b - c))
        self.assertLess(largest, limit)
        return largest

    def test_every_network(self):
        for name in NETWORKS:
            with self.subTest(name):
                print(f"{name}: {self.compare(self.shop.make(name)):.1e}", file=sys.stderr)

    def test_half_precision_is_near(self):
        for name in ("mlp-pixels", "resnet18", "bert"):
            with self.subTest(name):
                self.compare(self.shop.make(name, "--precision", "fp16"), 1e-2)

    def test_features(self):
        exported = self.shop.make("resnet20", "--features")
        arrays, _ = exported.batch(0, 2)
        result = self.run_jobs([(exported.onnx, arrays)])[0]
        self.assertEqual(len(result["body_features"]), 2 * 64)
        self.assertGreaterEqual(min(result["body_features"]), 0)  # means of what ReLU gives


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
