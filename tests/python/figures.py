"""Python's figures and files are those of the program, to the bit."""
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

import support
import gerne

KEYS = {"method.c": 0.5, "method.beta": 1.0, "train.epochs": 3, "train.lr": 0.05, "threads": 1,
        "model.hidden": [16, 8], "seed": 5}
FLAGS = [word for key, value in KEYS.items() for word in (
    "--" + key, ",".join(map(str, value)) if isinstance(value, list) else str(value))]


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name)
        x, y, a, split = support.biased_features()
        cls.arrays = x, y, a, split
        np.savez(cls.root / "data.npz", x=x, y=y, a=a, split=split)
        cls.data = ["--data.format", "features", "--data.file", str(cls.root / "data.npz")]
        support.gerne("train", *cls.data, *FLAGS, "--out", cls.root / "program")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_same_run(self, name, files=("results.json", "best.safetensors", "predictions.csv")):
        for file in files:
            self.assertEqual((self.root / name / file).read_bytes(),
                             (self.root / "program" / file).read_bytes(), file)

    def test_training_from_the_same_file(self):
        results = gerne.train(KEYS, data={"format": "features", "file": self.root / "data.npz"},
                              out=self.root / "by-file")
        self.assert_same_run("by-file")
        self.assertEqual(results, json.loads((self.root / "program/results.json").read_text()))

    def test_training_on_arrays(self):
        """The splits and the weights; the fingerprint of the data may name another source."""
        results = gerne.train(KEYS, gerne.Dataset(*self.arrays), out=self.root / "by-arrays")
        program = json.loads((self.root / "program/results.json").read_text())
        for part in ("splits", "last", "selection", "bounds"):
            self.assertEqual(results[part], program[part], part)
        ours = gerne.load(self.root / "by-arrays").tensors()
        theirs = gerne.load(self.root / "program").tensors()
        self.assertEqual(list(ours), list(theirs))
        for name, values in ours.items():
            self.assertEqual(values.tobytes(), theirs[name].tobytes(), name)

    def test_evaluation(self):
        model = gerne.load(self.root / "program")
        program = json.loads(support.gerne("eval", self.root / "program", "--json"))
        self.assertEqual(model.evaluate(), program)
        x, y, a, split = self.arrays
        test = split == 2
        by_arrays = model.evaluate(x[test], y[test], a[test])
        self.assertEqual(by_arrays["groups"], program["groups"])

    def test_predictions_file(self):
        program = json.loads(support.gerne(
            "eval", "--predictions", self.root / "program/predictions.csv", "--json"))
        p = gerne.load(self.root / "program").predictions()
        _, y, a, _ = self.arrays
        ours = gerne.evaluate(y[p.rows], a[p.rows], pred=p.pred)
        for key in ("n", "acc_avg", "gba", "gba_ci95", "wga", "wga_ci95", "groups"):
            self.assertEqual(ours[key], program[key], key)

    def test_predictions(self):
        lines = support.gerne("predict", self.root / "program").splitlines()
        p = gerne.load(self.root / "program").predictions()
        self.assertEqual(len(lines) - 1, len(p.pred))
        for line, row, pred, chances in zip(lines[1:], p.rows, p.pred, p.probabilities):
            cells = line.split(",")
            self.assertEqual(cells[0], str(row))
            self.assertEqual(cells[4], str(pred))
            self.assertEqual([f"{v:.9g}" for v in chances], [f"{float(c):.9g}" for c in cells[5:7]])

    def test_export(self):
        """The same bytes as `gerne export` writes."""
        for kind in ("onnx", "safetensors"):
            support.gerne("export", self.root / "program", f"--{kind}",
                          self.root / f"program.{kind}")
            gerne.load(self.root / "program").export(**{kind: self.root / f"ours.{kind}"})
            self.assertEqual((self.root / f"ours.{kind}").read_bytes(),
                             (self.root / f"program.{kind}").read_bytes(), kind)

    def test_bounds_and_audit(self):
        program = json.loads(support.gerne("bounds", "--counts", "3498,184;56,1057", "--c", "0.5",
                                           "--beta", "1", "--json"))
        self.assertEqual(gerne.bounds([[3498, 184], [56, 1057]], c=0.5, beta=1), program)
        program = json.loads(support.gerne("audit", *self.data, "--json"))
        ours = gerne.Dataset(*self.arrays).audit("train")
        for key in ("verdict", "n", "counts", "alpha", "cramers_v", "bounds"):
            self.assertEqual(ours[key], program[key], key)

    def test_classifier_is_a_run(self):
        """Classifier's weights are those of gerne.train with the settings it made."""
        x, y, a, _ = self.arrays
        out = self.root / "kept"
        model = gerne.Classifier(hidden=(8,), threads=1, random_state=3, run_dir=out)
        model.fit(x, y, groups=a)
        self.assertEqual((out / "best.safetensors").read_bytes(), model.weights_)
        again = gerne.Classifier(hidden=(8,), threads=1, random_state=3).fit(x, y, groups=a)
        self.assertEqual(again.weights_, model.weights_)


if __name__ == "__main__":
    support.main()
