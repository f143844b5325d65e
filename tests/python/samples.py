"""Images and texts in memory, data by configuration, and progress on one line."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import numpy as np

import support
import gerne


class Samples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def test_images(self):
        rng = np.random.default_rng(0)
        y = np.arange(160) % 2
        images = rng.integers(60, size=(160, 8, 8, 3)).astype(np.uint8)
        images[y == 1, :, :, 0] += 150
        split = np.repeat([0, 1, 2], [100, 30, 30])
        data = gerne.Dataset(images, np.where(y, "red", "grey"), split=split)
        results = gerne.train({"model.arch": "mlp", "model.hidden": [8], "train.epochs": 10,
                               "method.name": "erm", "method.attributes": "unknown",
                               "select.metric": "acc_avg", "threads": 1, "train.batch": 20}, data,
                              out=self.root / "run")
        self.assertGreater(results["splits"]["test"]["acc_avg"], 0.9)
        model = gerne.load(self.root / "run")
        p = model.predictions(data, features=True)
        self.assertEqual(p.rows.tolist(), list(range(130, 160)))
        self.assertEqual(p.features.shape, (30, 8))
        self.assertEqual(list(p.to_dict()), ["index", "pred", "prob_grey", "prob_red"])
        np.testing.assert_array_equal(model.predict_proba(images[130:]), p.probabilities)
        np.testing.assert_array_equal(model.predict_proba(images[:129:-1])[::-1], p.probabilities)
        self.assertEqual(model.evaluate(data)["acc_avg"], results["splits"]["test"]["acc_avg"])

    def test_texts(self):
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "a"]
        (self.root / "vocab.txt").write_text("\n".join(words) + "\n")
        texts = ["a good film", "a bad film"] * 40
        data = gerne.Dataset(texts, ["yes", "no"] * 40, split=[0] * 40 + [1] * 20 + [2] * 20)
        gerne.train({"model": {"arch": "bert", "vocab": self.root / "vocab.txt", "depth": 1,
                               "width": 16, "heads": 2, "intermediate": 16, "inner_dropout": 0},
                     "train": {"epochs": 20, "optimizer": "adam", "lr": 0.01, "batch": 8},
                     "method": {"name": "erm", "attributes": "unknown"}, "data.max_tokens": 8,
                     "select.metric": "acc_avg", "threads": 1}, data, out=self.root / "run")
        model = gerne.load(self.root / "run")
        self.assertEqual(model.predict(texts[:2]).tolist(), ["yes", "no"])

    def test_data_by_configuration(self):
        with gerne.Dataset.open(data={"format": "synthetic", "n": 400, "size": 8}) as data:
            self.assertEqual(data.count(), len(data.y))
            self.assertEqual(data.count("train"), int(np.sum(data.split == 0)))
            groups = data.groups()
            counts = np.zeros((4, 4), dtype=int)
            np.add.at(counts, (data.y[data.split == 0], data.a[data.split == 0]), 1)
            np.testing.assert_array_equal(groups.counts, counts)
            self.assertEqual(data.audit()["counts"], counts.tolist())
        self.assertEqual(len(groups), 400)  # groups live on
        with self.assertRaisesRegex(gerne.UsageError, "Dataset is closed"):
            data.count()

    def test_configuration(self):
        (self.root / "c.yaml").write_text("train: {lr: 0.5, epochs: 2}\nseed: 1\n")
        config = gerne.Config(self.root / "c.yaml", train={"lr": 0.25})
        self.assertEqual((config["train.lr"], config["train.epochs"], config["seed"]),
                         ("0.25", "2", "1"))
        copy = gerne.Config(config, seed=7)
        self.assertEqual((copy["train.lr"], copy["seed"], config["seed"]), ("0.25", "7", "1"))
        del copy["train.lr"]
        self.assertEqual(copy["train.lr"], "0.5")
        self.assertIn("epochs: 2", config.to_yaml())
        self.assertEqual(gerne.Config({"train.lr": 0.1 + 0.2})["train.lr"],
                         gerne.Config.from_yaml("train: {lr: 0.30000000000000004}")["train.lr"])

    def test_progress_line(self):
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            gerne.train({"data.n": 400, "data.size": 8, "train.epochs": 1, "threads": 1},
                        out=self.root / "run", progress=True)
        self.assertIn("\rtrain ", out.getvalue())
        self.assertIn("100%", out.getvalue())
        self.assertEqual(out.getvalue().count("\n"), 1)


if __name__ == "__main__":
    support.main()
