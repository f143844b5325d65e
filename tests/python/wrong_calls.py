"""Two hundred wrong calls: each raises an exception with a sentence, and none crashes.

The calls run in a process of their own, which prints one line of JSON for each.
"""
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support
import numpy as np
import gerne
import gerne.torch

NAN, INF = float("nan"), float("inf")
Y, A = [0, 0, 1, 1] * 10, [0, 1, 0, 1] * 10
X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
RAGGED = [[1, 2], [3]]

# Values that are no labels, whoever asks for them.
NO_LABELS = [
    5, "cat", b"cat", {}, object(), [], [[0, 1], [1, 0]], [0.5] * 40, [NAN] * 40, [INF] * 40,
    [None] * 40, [0, "a"] * 20, [1, None] * 20, [{}] * 40, [object()] * 40, [b"a"] * 40, [1j] * 40,
    [[]] * 40, np.zeros((40, 2), int), np.zeros(0, int), np.array(3),
    np.array(["2020-01-01"] * 40, dtype="datetime64[D]"), ["a\0b"] * 40, [2 ** 80] * 40,
    [True, 1] * 20, lambda: 0, np.ma.masked_array(Y, mask=A),
]
# Values that are no features.
NO_FEATURES = [
    None, 5, "text", {}, object(), [], [[]], RAGGED, [[NAN, 0, 0]] * 40, [[INF, 0, 0]] * 40,
    [["a", "b", "c"]] * 40, [[None] * 3] * 40, [[1j] * 3] * 40, np.zeros(3), np.zeros((0, 3)),
    np.zeros((3, 0)), np.zeros((2, 3, 4)), np.full((40, 3), 1e300), np.array([{}] * 3, object),
    np.zeros((2, 4, 4, 1), np.uint8), np.zeros((2, 4, 4, 3)), np.zeros((2, 0, 4, 3), np.uint8),
    [b"bytes"] * 3, [("a", "b"), "c"], ["a", 3], ["nul\0"], np.ma.masked_array(X, mask=X > 1),
]
NO_NUMBERS = [None, "1", [1], {}, object(), 1j, True, NAN, INF]
NO_COUNTS = [[], [[]], RAGGED, [[1.5, 2], [3, 4]], [["a"]], [[-1, 2], [3, 4]], [[0, 0], [1, 1]],
             np.zeros((2, 2, 2), int), [[2 ** 64]], 7, "3,1;1,3", None]


def closed(thing):
    thing.close()
    return thing


def unmade(kind):
    return kind.__new__(kind)


# Values that no argument below may have.
JUNK = [object(), {}, "text", b"bytes", 1j, NAN, -1, 2 ** 80, RAGGED, np.zeros((2, 2, 2)),
        [None] * 40, [[]], np.array(["2020"], dtype="datetime64[Y]"), [object()] * 40]


def newer(model, folder):
    """Functions by name, with right arguments."""
    scores = [0.1, 0.9] * 20

    def fetch_and_predict(**arguments):
        return model.predict(gerne.Dataset.from_function(**arguments))

    def fit(**options):
        return gerne.Classifier("erm", threads=1, **options).fit(X, Y, groups=A)

    table = folder + "/labels.csv"
    Path(table).write_text("y,a\n0,0\n0,1\n1,1\n")

    return {
        "audit_file": (gerne.audit_file, {"path": table, "y": "y", "a": "a", "split": "all",
                                          "missing": "error"}),
        "pseudo_groups": (gerne.pseudo_groups, {"y": Y, "probabilities": scores, "t": 0.5}),
        "pseudo_quality": (gerne.pseudo_quality, {"y": Y, "probabilities": scores, "a": A,
                                                  "t": [0.5], "classes": [0, 1]}),
        "from_function": (fetch_and_predict, {"fetch": X.__getitem__, "n": 40, "dimension": 3}),
        "pixels": (gerne.Dataset.from_function, {"fetch": X.__getitem__, "n": 40, "y": Y, "a": A,
                                                 "size": (4, 4)}),
        "returned": (lambda sample: fetch_and_predict(fetch=lambda i: sample, n=2, dimension=3),
                     {"sample": X[0]}),
        "export": (lambda **o: model.export(onnx=folder + "/new.onnx", **o), {"shape": [3]}),
        "Classifier": (fit, {"patience": 2, "batch_size": 8, "epochs": 1}),
    }


def calls(folder):
    """Pairs of a description and a function that has to fail."""
    groups = gerne.Groups(Y, A)
    data = gerne.Dataset(X, Y, A, [0] * 20 + [1] * 8 + [2] * 12)
    quick = {"train.epochs": 1, "threads": 1, "model.arch": "linear"}
    gerne.train(quick, data, out=folder + "/run")
    model = gerne.load(folder + "/run")
    run_number = iter(range(10 ** 6))
    with open(folder + "/text.safetensors", "w") as file:
        file.write("this is no model")
    with open(folder + "/bad.yaml", "w") as file:
        file.write("train: {lr: [")

    def fit(x=X, y=Y, a=A, **options):
        return gerne.Classifier(threads=1, epochs=1, **options).fit(x, y, groups=a)

    def train(config=None, dataset=data, **settings):
        return gerne.train({**quick, **(config or {})}, dataset,
                           out=f"{folder}/wrong{next(run_number)}", **settings)

    for value in NO_LABELS:
        yield f"Groups({value!r})", lambda v=value: gerne.Groups(v)
        yield f"Groups(Y, {value!r})", lambda v=value: gerne.Groups(Y, v)
        yield f"Dataset(X, {value!r})", lambda v=value: gerne.Dataset(X, v)
        yield f"evaluate({value!r})", lambda v=value: gerne.evaluate(v, pred=Y)
        yield f"evaluate(Y, {value!r})", lambda v=value: gerne.evaluate(Y, v, pred=Y)
        yield f"evaluate(pred={value!r})", lambda v=value: gerne.evaluate(Y, pred=v)
        yield f"fit(y={value!r})", lambda v=value: fit(y=v)
        yield f"torch.BatchSampler({value!r})", lambda v=value: gerne.torch.BatchSampler(
            v, per_class=2)
    for value in NO_FEATURES:
        yield f"Dataset({value!r})", lambda v=value: gerne.Dataset(v)
        yield f"fit({value!r})", lambda v=value: fit(x=v)
        if value is not None:
            yield f"model.predict({value!r})", lambda v=value: model.predict(v)
            yield f"model.evaluate({value!r})", lambda v=value: model.evaluate(v, Y)
    for value in NO_NUMBERS:
        yield f"bounds(c={value!r})", lambda v=value: gerne.bounds(groups, c=v)
        yield f"Sampler(c={value!r})", lambda v=value: gerne.Sampler(groups, per_group=2, c=v)
        yield f"Sampler(beta={value!r})", lambda v=value: gerne.Sampler(groups, per_group=2, beta=v)
        yield f"Sampler(seed={value!r})", lambda v=value: gerne.Sampler(groups, per_group=2, seed=v)
        yield f"draw({value!r})", lambda v=value: gerne.Sampler(groups, per_group=2).draw(v)
        yield f"compare(resamples={value!r})", lambda v=value: gerne.compare(
            Y, A, Y, Y, resamples=v)
        if value is not None:
            yield f"bounds(beta={value!r})", lambda v=value: gerne.bounds(groups, beta=v)
            yield f"Sampler(batch={value!r})", lambda v=value: gerne.Sampler(groups, batch=v)
    for value in NO_COUNTS:
        yield f"from_counts({value!r})", lambda v=value: gerne.Groups.from_counts(v)
        yield f"bounds({value!r})", lambda v=value: gerne.bounds(v)
        yield f"audit({value!r})", lambda v=value: gerne.audit(v)
    for value in (0, -1, 2 ** 40, 1.5, "3"):
        yield f"per_group {value!r}", lambda v=value: gerne.Sampler(groups, per_group=v)
        yield f"per_class {value!r}", lambda v=value: gerne.Sampler(groups, per_class=v)
    for value in (-1, 2 ** 70, 0.5):
        yield f"seed {value!r}", lambda v=value: gerne.Sampler(groups, per_group=2, seed=v)
        yield f"random_state {value!r}", lambda v=value: fit(random_state=v)

    # Other lengths.
    short, long = Y[:-1], Y + [0]
    for other in (short, long):
        yield "Groups, lengths", lambda o=other: gerne.Groups(Y, o)
        yield "Dataset y, lengths", lambda o=other: gerne.Dataset(X, o)
        yield "Dataset a, lengths", lambda o=other: gerne.Dataset(X, Y, o)
        yield "Dataset split, lengths", lambda o=other: gerne.Dataset(X, Y, A, o)
        yield "evaluate a, lengths", lambda o=other: gerne.evaluate(Y, o, pred=Y)
        yield "evaluate pred, lengths", lambda o=other: gerne.evaluate(Y, A, pred=o)
        yield "evaluate p, lengths", lambda o=other: gerne.evaluate(
            Y, A, probabilities=np.full((len(o), 2), 0.5))
        yield "compare, lengths", lambda o=other: gerne.compare(Y, A, Y, o)
        yield "fit y, lengths", lambda o=other: fit(y=o)
        yield "fit groups, lengths", lambda o=other: fit(a=o)
        yield "fit val, lengths", lambda o=other: gerne.Classifier(threads=1).fit(
            X, Y, A, X_val=X, y_val=o, groups_val=A)
        yield "model.evaluate, lengths", lambda o=other: model.evaluate(X, o)

    # Shapes, values and names.
    yield "probabilities above 1", lambda: gerne.evaluate(Y, probabilities=np.full((40, 2), 2.0))
    yield "three columns", lambda: gerne.evaluate(["a", "b"] * 20,
                                                  probabilities=np.full((40, 3), 1 / 3))
    yield "unknown class", lambda: gerne.evaluate(Y, pred=Y, classes=[0])
    yield "class twice", lambda: gerne.evaluate(Y, pred=Y, classes=[0, 1, 1])
    yield "other kind of classes", lambda: gerne.evaluate(Y, pred=Y, classes=["0", "1"])
    yield "texts and numbers", lambda: gerne.evaluate(Y, pred=["0", "1"] * 20)
    yield "no predictions", lambda: gerne.evaluate(Y, A)
    yield "train_counts", lambda: gerne.evaluate(Y, A, pred=Y, train_counts=[[1, 2, 3]])
    yield "fractions in train_counts", lambda: gerne.evaluate(
        Y, A, pred=Y, train_counts=[[1.5, 2], [3, 4]])
    yield "negative train_counts", lambda: gerne.evaluate(Y, A, pred=Y,
                                                          train_counts=[[-1, 2], [3, 4]])
    yield "table", lambda: gerne.table({"gba": 1})
    yield "table of None", lambda: gerne.table(None)
    yield "split 3", lambda: gerne.Dataset(X, Y, A, [0, 1, 2, 3] * 10)
    yield "split by a wrong name", lambda: gerne.Dataset(X, Y, A, ["train", "dev"] * 20)
    yield "count of a wrong split", lambda: data.count("dev")
    yield "groups of no split", lambda: data.groups(None)
    yield "audit without attributes", lambda: gerne.Dataset(X).audit()
    yield "unlabelled groups", lambda: gerne.Dataset(X).groups("test")
    yield "kind", lambda: gerne.Sampler(groups, per_group=2).draw(0, "biassed")
    yield "kind None", lambda: gerne.Sampler(groups, per_group=2).draw(0, None)
    yield "draw without size", lambda: gerne.Sampler(groups, batch=2).draw(0)
    yield "plain draw without size", lambda: gerne.Sampler(groups, per_group=2).draw(0, "uniform")
    yield "both sizes", lambda: gerne.Sampler(groups, per_group=2, per_class=2)
    yield "beta beyond its bounds", lambda: gerne.Sampler(
        gerne.Groups([0] * 10 + [1] * 10, [0] * 9 + [1] + [1] * 9 + [0]), per_group=2, beta=50)
    yield "groups of counts", lambda: gerne.Sampler(gerne.Groups.from_counts([[3, 1], [1, 3]]),
                                                    per_group=2)
    yield "sampler of labels", lambda: gerne.Sampler(Y, per_group=2)
    yield "sampler of None", lambda: gerne.Sampler(None, per_group=2)
    yield "loss weights before the loop", lambda: gerne.torch.BatchSampler(
        Y, A, per_group=2).loss_weights()
    yield "no batch size", lambda: gerne.torch.BatchSampler(Y, A)
    yield "steps 0", lambda: gerne.torch.BatchSampler(Y, A, per_group=1, steps=0)

    # Configurations and runs.
    for config in (5, [1], b"x.yaml", object(), "no/such/file.yaml", folder, folder + "/bad.yaml",
                   {1: 2}, {"train": {"lr": {}, "lr.x": 1}}, {"train.lr": object()},
                   {"no.such.key": 1}, {"train": {"lrr": 1}}, {"model.hidden": ["1,2"]},
                   {"seed": "\0"}, {"data.file": "\ud800"}, {"": 1}):
        yield f"Config({config!r})", lambda c=config: gerne.Config(c)
        yield f"train({config!r})", lambda c=config: gerne.train(c, data, out=folder + "/never")
    yield "YAML text", lambda: gerne.Config.from_yaml("a: [")
    yield "YAML None", lambda: gerne.Config.from_yaml(None)
    yield "key None", lambda: gerne.Config()[None]
    yield "unknown key", lambda: gerne.Config()["no.such.key"]
    yield "wrong value", lambda: gerne.Config({"train.lr": "fast"})["train.lr"]
    for settings in ({"method.name": "nothing"}, {"train.epochs": -1}, {"train.lr": [1, 2]},
                     {"train.lr": NAN}, {"train.lr": True}, {"model.arch": "resnet18"},
                     {"method.c": 2}, {"method.beta": 101}, {"select.metric": "x"},
                     {"train.batch": 10 ** 9}, {"threads": -1}, {"data.file": "x.npz"},
                     {"model.hidden": [0], "model.arch": "mlp"}, {"data.format": "images"}):
        yield f"train({settings!r})", lambda s=settings: train(s)
    yield "existing run", lambda: gerne.train(quick, data, out=folder + "/run")
    yield "dataset of arrays", lambda: train(dataset=X)
    yield "dataset without labels", lambda: train(dataset=gerne.Dataset(X))
    yield "dataset without validation", lambda: train(dataset=gerne.Dataset(X, Y, A))
    yield "progress 3", lambda: train(progress=3)
    yield "resume nothing", lambda: gerne.resume(folder + "/nothing")
    yield "resume None", lambda: gerne.resume(None)
    yield "resume 5", lambda: gerne.resume(5)
    yield "resume NUL", lambda: gerne.resume("\0")
    yield "resume a file", lambda: gerne.resume(folder + "/bad.yaml")
    for path in (None, 5, "", "\0", folder + "/none", folder, folder + "/bad.yaml",
                 folder + "/text.safetensors", "/dev/null", object(), b"\xff"):
        yield f"load({path!r})", lambda p=path: gerne.load(p)
    yield "load with a wrong key", lambda: gerne.load(folder + "/run", train={"lr": 1})
    yield "load another checkpoint", lambda: gerne.load(folder + "/run", checkpoint="first")
    yield "predict another width", lambda: model.predict(np.zeros((2, 4)))
    yield "predict texts", lambda: model.predict(["a text"])
    yield "predict a split of arrays", lambda: model.predict(X, split="test")
    yield "predict a wrong split", lambda: model.predict(split="dev")
    yield "evaluate without labels", lambda: model.evaluate(X)
    yield "evaluate labels alone", lambda: model.evaluate(None, Y)
    yield "evaluate labels twice", lambda: model.evaluate(data, Y)
    yield "evaluate unknown classes", lambda: model.evaluate(X, ["cat", "dog"] * 20)

    for files in ({}, {"onnx": 5}, {"onnx": ""}, {"onnx": folder + "/no/such/x.onnx"},
                  {"onnx": "\0"}, {"safetensors": folder + "/bad.yaml"}, {"onnx": folder},
                  {"onnx": folder + "/x", "safetensors": folder + "/x"}):
        yield f"export({files!r})", lambda f=files: model.export(**f)

    # The estimator.
    for options in ({"method": "nothing"}, {"method": 5}, {"attributes": "maybe"},
                    {"hidden": (0,)}, {"hidden": ("a",)}, {"hidden": object()}, {"lr": -1},
                    {"optimizer": "x"}, {"batch_size": 0}, {"batch_size": "large"},
                    {"validation_fraction": 1}, {"validation_fraction": "x"}, {"metric": "x"},
                    {"random_state": "x"}, {"options": {"x.y": 1}}, {"options": 5},
                    {"beta": 101}, {"c": 0}, {"run_dir": folder + "/run"}):
        yield f"Classifier({options!r})", lambda o=options: fit(**o)
    yield "not fitted", lambda: gerne.Classifier().predict(X)
    yield "weights not fitted", lambda: gerne.Classifier().weights_
    yield "save not fitted", lambda: gerne.Classifier().save(folder + "/x")
    yield "one class", lambda: fit(y=[1] * 40)
    yield "no groups", lambda: fit(a=None)
    yield "groups twice", lambda: gerne.Classifier().fit(X, Y, A, a=A)
    yield "y None", lambda: fit(y=None)
    yield "validation width", lambda: gerne.Classifier(threads=1).fit(
        X, Y, A, X_val=X[:, :2], y_val=Y, groups_val=A)
    yield "validation classes", lambda: gerne.Classifier(threads=1).fit(
        X, Y, A, X_val=X, y_val=[2] * 40, groups_val=A)
    yield "validation without groups", lambda: gerne.Classifier(threads=1).fit(
        X, Y, A, X_val=X, y_val=Y)
    yield "parameter", lambda: gerne.Classifier().set_params(no_such_parameter=1)

    # One random argument wrong, the others right.
    chance = random.Random(13)
    for _ in range(120):
        name, (call, right) = chance.choice(list(newer(model, folder).items()))
        argument, value = chance.choice(list(right)), chance.choice(JUNK)
        yield f"{name}({argument}={value!r})", lambda c=call, r=right, a=argument, v=value: c(
            **{**r, a: v})

    # Closed and unmade objects.
    sampler = closed(gerne.Sampler(groups, per_group=2))
    for name, thing, use in (
            ("Groups", closed(gerne.Groups(Y, A)), lambda t: t.counts),
            ("Groups", closed(gerne.Groups(Y, A)), len),
            ("Groups", closed(gerne.Groups(Y, A)), gerne.audit),
            ("Groups", closed(gerne.Groups(Y, A)), lambda t: gerne.Sampler(t, per_group=2)),
            ("Sampler", sampler, lambda t: t.draw(0)),
            ("Config", closed(gerne.Config()), lambda t: t["seed"]),
            ("Config", closed(gerne.Config()), lambda t: t.update({"seed": 1})),
            ("Dataset", closed(gerne.Dataset(X)), len),
            ("Dataset", closed(gerne.Dataset(X)), lambda t: t.y),
            ("Dataset", closed(gerne.Dataset(X)), model.predict),
            ("Dataset", closed(gerne.Dataset(X, Y)), lambda t: train(dataset=t)),
            ("Model", closed(gerne.load(folder + "/run")), lambda t: t.predict(X)),
            ("Model", closed(gerne.load(folder + "/run")), lambda t: t.tensors()),
            ("Model", closed(gerne.load(folder + "/run")), lambda t: t.metadata),
            ("Groups", unmade(gerne.Groups), len), ("Sampler", unmade(gerne.Sampler),
                                                    lambda t: t.draw(0)),
            ("Config", unmade(gerne.Config), lambda t: t["seed"]),
            ("Dataset", unmade(gerne.Dataset), len),
            ("Model", unmade(gerne.Model), lambda t: t.predict(X))):
        yield f"closed {name}", lambda t=thing, u=use: u(t)


def report():
    """Runs the calls and prints what each raised."""
    import logging
    import warnings
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(folder):
            try:
                result = call()
                outcome = {"returned": repr(result)[:100]}
            except Exception as error:
                outcome = {"type": type(error).__name__, "text": str(error),
                           "ours": isinstance(error, gerne.GerneError)}
            print(json.dumps({"call": name[:120], **outcome}), flush=True)
    print(json.dumps("end"))


class WrongCalls(unittest.TestCase):
    def test_each_raises_a_sentence(self):
        result = subprocess.run([sys.executable, "-B", __file__, "report"], capture_output=True,
                                text=True, timeout=100 * support.PATIENCE)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        last = lines[-1] if lines else None
        self.assertEqual(result.returncode, 0, f"after {last}:\n{result.stderr[-2000:]}")
        self.assertEqual(lines.pop(), "end")
        self.assertGreaterEqual(len(lines), 200)
        for line in lines:
            with self.subTest(**line):
                self.assertNotIn("returned", line)
                self.assertTrue(line["ours"] or line["type"] in ("TypeError", "NotFittedError",
                                                                "ValueError"))
                self.assertGreaterEqual(len(line["text"].split()), 3)
                self.assertNotIn("internal error", line["text"])
        self.assertNotIn("Exception ignored", result.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["report"]:
        report()
    else:
        support.main()
