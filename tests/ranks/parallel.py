"""A run on 1, 2 and 4 ranks is the same run: losses, tables, metrics; and to the bit on equal ranks.

usage: parallel.py quick|full
"""
import json
import sys
import unittest
from pathlib import Path

import launch

STEPS = 50
MLP = ["--model.arch", "mlp", "--model.hidden", "16", "--train.per_group", "6", "--train.lr", "0.05"]
PLAIN = ["--model.arch", "mlp", "--model.hidden", "16", "--train.batch", "24", "--train.lr", "0.05"]
UNKNOWN = ["--method.attributes", "unknown"]
# A step moves the loss by far more than its tolerance, and too little for roundings to grow.
RESNET = ["--model.arch", "resnet18", "--model.stem", "cifar", "--train.per_group", "4", "--train.lr", "1e-5",
          "--train.momentum", "0"]

QUICK = {
    "gerne": [*MLP],
    "gerne unknown": [*MLP, *UNKNOWN, "--method.t", "0.01"],
    "lff": [*PLAIN, "--method.name", "lff"],
}
METHODS = {
    "erm": [*PLAIN, "--method.name", "erm"],
    "micro-batches": [*MLP, "--train.micro_batch", "5"],
    "two passes": [*MLP, "--model.dropout", "0.3"],
    "gradients": [*MLP, "--train.log_gradients", "true"],
    "groupdro": [*PLAIN, "--method.name", "groupdro"],
    "groupdro xrm": [*PLAIN, "--method.name", "groupdro", *UNKNOWN, "--method.estimator", "xrm"],
    "jtt": [*PLAIN, "--method.name", "jtt"],
    "dfr": [*PLAIN, "--method.name", "dfr"],
    "cnc": [*PLAIN, "--method.name", "cnc"],
    "lisa": [*PLAIN, "--method.name", "lisa"],
    "mixup": [*PLAIN, "--method.name", "mixup"],
    "lc": [*PLAIN, "--method.name", "lc"],
    "dfa": [*PLAIN, "--method.name", "dfa"],
    "denetdm": ["100" if word == "16" else word for word in [*PLAIN, "--method.name", "denetdm"]],
    "self": [*PLAIN, "--method.name", "self"],
    "pde": [*PLAIN, "--method.name", "pde"],
    "ecs": [*MLP, *UNKNOWN, "--method.estimator", "ecs"],
    "frozen body": [*MLP, "--model.freeze", "body"],
    "average": [*MLP, "--train.average", "tail"],
}
NETWORKS = {
    "resnet18 concat": [*RESNET, "--model.bn", "concat"],
    "resnet18 frozen": [*RESNET, "--model.bn", "frozen"],
    "resnet18 views": [*RESNET, "--model.freeze", "body", "--data.augment", "flip", "--model.views", "3"],
    "resnet18 separate": [*RESNET, "--model.bn", "separate", "--train.steps", "10"],
}
SIDE = 32  # of images: of 8 x 8, one number a sample is left to the last BatchNorm, which magnifies roundings
ONE_EVALUATION = {"dfr"}  # of the head, which is fitted once


class Parallel(unittest.TestCase):
    def setUp(self):
        temporary = launch.temporary()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def train(self, name, ranks, words):
        out = self.folder / f"{name}-{ranks}".replace(" ", "-")
        usual = [] if "--train.steps" in words else ["--train.steps", STEPS]
        result = launch.gerne(ranks, "train", *words, *usual, "--train.eval_every", 1, "--threads", 1, "--seed", 3,
                              "--cache", self.folder / f"cache-{ranks}", "--quiet", "--out", out)
        self.assertEqual(result.returncode, 0, f"{name}, {ranks} ranks: {result.stderr}")
        return out

    def compare(self, name, words, counts):
        alone = self.train(name, 1, words)
        expected = launch.losses(alone)
        self.assertGreaterEqual(len(expected), 1 if name in ONE_EVALUATION else 10, name)
        one = json.loads((alone / "results.json").read_text())
        for ranks in counts:
            out = self.train(name, ranks, words)
            found = launch.losses(out)
            self.assertEqual([stage for stage, _ in found], [stage for stage, _ in expected], name)
            for k, ((stage, a), (_, b)) in enumerate(zip(found, expected)):
                self.assertLessEqual(abs(a - b), 1e-5 * max(abs(b), 1e-3),
                                     f"{name}, {ranks} ranks, stage {stage}, evaluation {k}: {a} and not {b}")
            results = json.loads((out / "results.json").read_text())
            self.assertEqual(results["ranks"], ranks)
            self.assertEqual(results["pseudo"], one["pseudo"], name)
            for split in ("val", "test"):
                self.assertAlmostEqual(results["last"][split]["gba"], one["last"][split]["gba"], delta=0.02)

    def run_cases(self, data, cases, counts):
        for name, words in cases.items():
            with self.subTest(name):
                self.compare(name, [*data, *words], counts)

    def same_bits(self, data, words):
        """Two runs with two ranks are byte-equal."""
        runs = [self.train(f"bits {i}", 2, [*data, *words]) for i in range(2)]
        for file in ("results.json", "best.safetensors", "predictions.csv"):
            a, b = ((run / file).read_bytes() for run in runs)
            self.assertEqual(a, b, file)


class Quick(Parallel):
    def test_methods(self):
        data = launch.make_features(self.folder / "x.csv", 320)
        self.run_cases(data, QUICK, [2])
        self.same_bits(data, QUICK["gerne"])


class Full(Parallel):
    def test_methods(self):
        self.run_cases(launch.make_features(self.folder / "x.csv", 320), {**QUICK, **METHODS}, [2, 4])

    def test_networks(self):
        data = launch.make_images(self.folder / "images", 64, SIDE)
        self.run_cases(data, NETWORKS, [2, 4])
        self.same_bits(data, NETWORKS["resnet18 concat"])


if __name__ == "__main__":
    which = {"quick": "Quick", "full": "Full"}[sys.argv.pop(1)]
    unittest.main(defaultTest=which if len(sys.argv) == 1 else None, verbosity=1)
