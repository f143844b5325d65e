"""A PyTorch loop with gerne.torch.BatchSampler reaches the program's accuracy.

Coloured MNIST with 0.5 % of bias-conflicting samples: the same network, optimiser and schedule in
PyTorch and in the program, three seeds each. The mean of the groups on the test split, averaged
over the seeds, must agree within a point.
"""
import os
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # tests share the cores: threads that wait do not spin
import tempfile
import unittest
from pathlib import Path

import numpy as np

import support
import gerne
import gerne.torch

MNIST = Path(os.environ.get("GERNE_REAL_DATA", support.SOURCE / "../shared/data")) / "mnist"
STEPS, SEEDS = 300, (0, 1, 2)
DATA = {"format": "c-mnist", "dir": MNIST, "ratio": 0.005}

if not support.has("torch"):
    support.skip("python3-torch is not installed")
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def pixels(split, folder):
    """The images of a split as the program's networks see them: the features of a linear model are
    its input."""
    run = Path(folder) / "pixels"
    if not run.exists():
        gerne.train(data=DATA, model={"arch": "linear"}, method={"name": "erm"}, out=run,
                    train={"steps": 1}, threads=2)
    return gerne.load(run).features(split=split)


class Loop(unittest.TestCase):
    @unittest.skipUnless(MNIST.exists(), f"{MNIST} is missing (GERNE_REAL_DATA names the folder)")
    def test_coloured_mnist(self):
        data = gerne.Dataset.open(data=DATA)
        with tempfile.TemporaryDirectory() as folder:
            x, test_x = (torch.from_numpy(pixels(s, folder)) for s in ("train", "test"))
            program = [self.program(seed, folder) for seed in SEEDS]
        y, a = (v[data.split == 0] for v in (data.y, data.a))
        test_y, test_a = (v[data.split == 2] for v in (data.y, data.a))
        ours = []
        for seed in SEEDS:
            model = self.train(x, y, a, seed)
            with torch.no_grad():
                pred = model(test_x).argmax(1).numpy()
            ours.append(gerne.evaluate(test_y, test_a, pred=pred)["gba"])
        print("PyTorch", np.round(ours, 4), "program", np.round(program, 4))
        self.assertLess(abs(np.mean(ours) - np.mean(program)), 0.01)
        self.assertGreater(np.mean(ours), 0.65)

    @staticmethod
    def program(seed, folder):
        results = gerne.train(
            data=DATA, model={"arch": "mlp", "hidden": [100, 100]}, threads=2, seed=seed,
            method={"name": "gerne", "c": 0.5, "beta": 1.0, "share_majority": True},
            train={"optimizer": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 0.01,
                   "schedule": "cosine", "per_class": 100, "steps": STEPS, "eval_every": STEPS},
            out=f"{folder}/program{seed}")
        return results["last"]["test"]["gba"]

    @staticmethod
    def train(x, y, a, seed):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        sampler = gerne.torch.BatchSampler(y, a, c=0.5, beta=1.0, per_class=100, seed=seed,
                                           share_majority=True, steps=STEPS)
        loader = DataLoader(TensorDataset(x, torch.from_numpy(y).long()), sampler=sampler,
                            batch_size=None)  # the dataset takes a list of indices at once
        model = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 100), torch.nn.ReLU(), torch.nn.Linear(100, 100),
            torch.nn.ReLU(), torch.nn.Linear(100, 10))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
        for images, classes in loader:
            losses = F.cross_entropy(model(images), classes, reduction="none")
            loss = (losses * sampler.loss_weights(classes)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        return model


class Sampler(unittest.TestCase):
    """Without data: what the loader gets."""

    y = np.repeat([0, 1], 200)
    a = np.concatenate([np.repeat([0, 1], [180, 20]), np.repeat([0, 1], [20, 180])])

    def make(self, **options):
        return gerne.torch.BatchSampler(torch.from_numpy(self.y), torch.from_numpy(self.a),
                                        per_group=10, **options)

    def test_workers_keep_the_order(self):
        index = torch.arange(400)
        for workers in (0, 2):
            sampler = self.make(seed=3)
            loader = DataLoader(TensorDataset(index), batch_sampler=sampler, num_workers=workers)
            for epoch in range(2):
                for step, (samples,) in enumerate(loader):
                    batch = sampler.draw(epoch * len(sampler) + step)
                    np.testing.assert_array_equal(samples.numpy(), batch.samples)
                    weights = sampler.loss_weights(samples)
                    np.testing.assert_array_equal(weights.numpy(), batch.weights)

    def test_left_early(self):
        """A loop that is left early starts the next pass where that one starts."""
        sampler = self.make()
        next(iter(sampler))
        first = next(iter(sampler))
        np.testing.assert_array_equal(first, sampler.draw(len(sampler)).samples)
        self.assertEqual(len(sampler.loss_weights()), len(first))

    def test_state(self):
        sampler, other = self.make(), self.make()
        list(sampler)
        other.load_state_dict(sampler.state_dict())
        self.assertEqual(list(other), list(sampler))

    def test_misuse(self):
        sampler = self.make()
        batches = iter(sampler)
        next(batches)
        with self.assertRaisesRegex(gerne.UsageError, "were drawn"):
            sampler.loss_weights(torch.zeros(3))
        with self.assertRaisesRegex(gerne.UsageError, "no batch"):
            sampler.loss_weights()

    def test_state_dict_of_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            x, y, a, split = support.biased_features()
            gerne.train({"train.epochs": 2, "threads": 1, "model.hidden": [8]},
                        gerne.Dataset(x, y, a, split), out=folder + "/run")
            model = gerne.load(folder + "/run")
            ours = torch.nn.ModuleDict({"fc1": torch.nn.Linear(6, 8), "fc2": torch.nn.Linear(8, 2)})
            ours.load_state_dict(model.to_torch())
            with torch.no_grad():
                logits = ours["fc2"](torch.relu(ours["fc1"](torch.from_numpy(x))))
            np.testing.assert_allclose(torch.softmax(logits, 1).numpy(), model.predict_proba(x),
                                       atol=1e-6)


if __name__ == "__main__":
    support.main()
