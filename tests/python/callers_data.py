"""Data that the caller keeps: samples by a function, arrays of every layout, pseudo-groups."""
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import support
import gerne

X, Y, A, SPLIT = support.biased_features()
LINEAR = {"model.arch": "linear", "train.epochs": 2, "threads": 1}


class Fetched(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def train(self, data, name, **settings):
        return gerne.train({**LINEAR, **settings}, data, out=self.root / name)

    def test_features(self):
        """The same bits as from an array, training and predicting."""
        threads = set()

        def fetch(i):
            threads.add(threading.get_ident())
            return X[i].astype(np.float64)[::-1][::-1]
        data = gerne.Dataset.from_function(fetch, len(X), Y, A, SPLIT, dimension=X.shape[1])
        self.train(data, "fetched")
        self.train(gerne.Dataset(X, Y, A, SPLIT), "array")
        weights = [(self.root / name / "best.safetensors").read_bytes()
                   for name in ("fetched", "array")]
        self.assertEqual(*weights)
        self.assertTrue(threads)
        model = gerne.load(self.root / "array")
        unlabelled = gerne.Dataset.from_function(X.__getitem__, len(X), dimension=X.shape[1])
        np.testing.assert_array_equal(model.predict_proba(unlabelled), model.predict_proba(X))
        self.assertEqual(model.evaluate(data), model.evaluate(gerne.Dataset(X, Y, A, SPLIT)))

    def test_pixels(self):
        """Kept in memory, or fetched again in every epoch."""
        images = np.random.default_rng(0).integers(256, size=(120, 8, 8, 3), dtype=np.uint8)
        y, split = np.arange(120) % 2, np.repeat([0, 1, 2], 40)
        calls = []
        data = gerne.Dataset.from_function(lambda i: calls.append(i) or images[i], 120, y,
                                           split=split, size=(8, 8))
        settings = {"method.name": "erm", "select.metric": "acc_avg", "train.batch": 8}
        self.train(data, "fetched", **settings)
        once = len(calls)
        self.train(gerne.Dataset(images, y, split=split), "array", **settings)
        self.train(data, "streamed", **settings, **{"data.memory_limit": "15K"})
        self.assertGreater(len(calls) - once, once)
        weights = {(self.root / name / "best.safetensors").read_bytes()
                   for name in ("fetched", "array", "streamed")}
        self.assertEqual(len(weights), 1)

    def test_what_the_function_raises(self):
        class Lost(Exception):
            pass

        def lose(i):
            if i == 7:
                raise Lost(f"sample {i} is gone")
            return X[i]
        data = gerne.Dataset.from_function(lose, len(X), Y, A, SPLIT, dimension=X.shape[1])
        for _ in range(2):  # nothing is left behind
            with self.assertRaisesRegex(Lost, "sample 7 is gone"):
                gerne.train(LINEAR, data, out=self.root / "lost")
        self.train(gerne.Dataset(X, Y, A, SPLIT), "run")
        model = gerne.load(self.root / "run")
        for exception in (KeyboardInterrupt, SystemExit, MemoryError):
            def stop(i, kind=exception):
                raise kind
            with self.assertRaises(exception):
                model.predict(gerne.Dataset.from_function(stop, 3, dimension=X.shape[1]))
        for wrong, words in ((X[0, 1:], r"shape \(5,\), expected \(6,\)"), ("text", "shape"),
                             (np.array(["a"] * 6), "expected numbers"), (None, "shape"),
                             ([np.nan] * 6, "not a finite"), ([1e300] * 6, "not a finite")):
            with self.assertRaisesRegex((gerne.UsageError, gerne.DataError), words):
                model.predict(gerne.Dataset.from_function(lambda i, w=wrong: w, 3, dimension=6))
        np.testing.assert_array_equal(model.predict(X[:3]), model.predict(X)[:3])

    def test_interruption(self):
        """Ctrl-C while a function is slow."""
        result = support.python("-c", INTERRUPTED)
        self.assertEqual((result.stdout.strip(), result.returncode), ("interrupted", 0),
                         result.stderr)


INTERRUPTED = """
import os, signal, tempfile, threading, time
import numpy as np, gerne
rng = np.random.default_rng(0)
called, calls = threading.Event(), []
def slow(i):
    calls.append(i)
    called.set()
    time.sleep(0.01)
    return np.zeros(3)
threading.Thread(target=lambda: (called.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
data = gerne.Dataset.from_function(slow, 20000, y=np.arange(20000) % 2, dimension=3)
with tempfile.TemporaryDirectory() as folder:
    try:
        gerne.train({"method.name": "erm", "data.val": 10}, data, out=folder + "/run")
    except KeyboardInterrupt:
        print("interrupted" if len(calls) < 10000 else "late")
"""

FORKED = """
import os, sys, numpy as np, gerne
rng = np.random.default_rng(0)
x = rng.normal(size=(300, 4)).astype(np.float32); y = (x[:, 0] > 0).astype(int)
fit = lambda: gerne.Classifier("erm", "unknown", epochs=2, random_state=0).fit(x, y)
model = fit()
expected = model.predict_proba(x)
if "libomp" in open("/proc/self/maps").read():
    sys.exit("a build with clang: LLVM's OpenMP does not survive a fork")
child = os.fork()
if child == 0:  # with networks and threads of the parent behind it
    same = np.array_equal(model.predict_proba(x), expected)
    again = np.array_equal(fit().predict_proba(x), expected)
    os._exit(0 if same and again else 3)
for _ in range(600):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    import time; time.sleep(0.1)
else:
    os.kill(child, 9)
    sys.exit("the child hangs")
assert np.array_equal(model.predict_proba(x), expected)
print(os.waitstatus_to_exitcode(status))
"""


class Layouts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = gerne.Classifier("erm", epochs=2, random_state=0, threads=1)
        cls.model.fit(X, Y, groups=A)
        cls.expected = cls.model.predict_proba(X)

    def test_every_layout_gives_the_same(self):
        padded = np.zeros((2 * len(X), 2 * X.shape[1]), np.float32)
        padded[::2, ::2] = X
        with tempfile.TemporaryDirectory() as folder:
            np.save(folder + "/x.npy", X)
            mapped = np.load(folder + "/x.npy", mmap_mode="r")
            frozen = X.copy()
            frozen.flags.writeable = False
            ones = {
                "other byte order": X.astype(">f4"), "float64": X.astype(np.float64),
                "other byte order, float64": X.astype(">f8"), "columns first": np.asfortranarray(X),
                "strides": padded[::2, ::2], "read only": frozen, "mapped": mapped,
                "negative strides": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
                "unaligned": np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float32)
                .reshape(X.shape),
                "list": X.tolist(), "subclass": np.ma.asarray(X),
            }
            for name, array in ones.items():
                with self.subTest(layout=name):
                    np.testing.assert_array_equal(self.model.predict_proba(array), self.expected)
                    refitted = gerne.Classifier("erm", epochs=2, random_state=0, threads=1)
                    refitted.fit(array, Y, groups=A)
                    self.assertEqual(refitted.weights_, self.model.weights_)
                    data = gerne.Dataset(array, Y, A, SPLIT)
                    self.assertEqual(data.count("all"), len(X))
            del mapped, ones

    def test_half_precision(self):
        half = X.astype(np.float16)
        np.testing.assert_array_equal(self.model.predict_proba(half),
                                      self.model.predict_proba(half.astype(np.float32)))

    def test_labels_of_every_layout(self):
        for y in (Y.astype(">i4"), Y.astype(">i8"), np.repeat(Y, 2)[::2], Y[::-1][::-1],
                  np.frombuffer(b"x" + Y.tobytes(), np.uint8)[1:].view(Y.dtype),
                  Y.astype(np.uint8), Y.astype(np.float16), Y.astype(bool)):
            self.assertEqual(gerne.Groups(y, A).counts.tolist(), gerne.Groups(Y, A).counts.tolist())
        text = np.array(["b", "a"])[Y].astype(">U1")
        self.assertEqual(gerne.Dataset(X, text).class_names, ["a", "b"])

    def test_fork(self):
        result = support.python("-c", FORKED)
        if "a build with clang" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.assertEqual((result.stdout.strip(), result.returncode), ("0", 0), result.stderr)


class Pseudo(unittest.TestCase):
    def test_scores_and_matrices(self):
        """A matrix stands for the column of each sample's class."""
        rng = np.random.default_rng(0)
        p = rng.dirichlet([1, 1], size=len(Y))
        own = p[np.arange(len(Y)), Y]
        expected = gerne.pseudo_groups(Y, own, 0.1)
        np.testing.assert_array_equal(gerne.pseudo_groups(Y, p, 0.1), expected)
        names = np.array(["dog", "cat"])[Y]
        np.testing.assert_array_equal(
            gerne.pseudo_groups(names, p, 0.1, classes=["dog", "cat"]), expected)
        for k in (0, 1):  # floor(t n), the lowest
            of_class, hard = own[Y == k], own[(Y == k) & (expected == 0)]
            self.assertEqual(len(hard), int(0.1 * len(of_class)))
            self.assertLessEqual(hard.max(), np.sort(of_class)[len(hard)])
        self.assertEqual(gerne.Groups(Y, expected).counts.sum(), len(Y))

    def test_as_algorithm_2(self):
        """A biased model's scores find the minority."""
        biased = gerne.Classifier("erm", "unknown", epochs=10, lr=0.02, random_state=0, threads=1)
        p = biased.fit(X, Y).predict_proba(X)
        quality = gerne.pseudo_quality(Y, p, A, [0.05, 0.1, 0.3])
        self.assertEqual([q["t"] for q in quality], [0.05, 0.1, 0.3])
        minority = np.mean(A != Y)
        self.assertGreater(quality[1]["precision"], 3 * minority)
        self.assertGreater(quality[2]["recall"], quality[0]["recall"])
        found = gerne.pseudo_groups(Y, p, 0.1)
        fitted = gerne.Classifier("gerne", epochs=2, threads=1, random_state=0)
        self.assertEqual(len(fitted.fit(X, Y, groups=found).predict(X)), len(Y))


class BareWeights(unittest.TestCase):
    def test_export(self):
        """The shape of a sample: by the weights, by what was predicted, or given."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            support.write_safetensors(root / "linear.safetensors", {
                "fc1.weight": np.eye(2, 5, dtype=np.float32), "fc1.bias": np.zeros(2, np.float32)})
            model = gerne.load(root / "linear.safetensors", model={"arch": "linear"})
            model.export(onnx=root / "derived.onnx")
            model.export(onnx=root / "given.onnx", shape=(5,))
            self.assertEqual((root / "derived.onnx").read_bytes(),
                             (root / "given.onnx").read_bytes())
            with self.assertRaisesRegex(gerne.UsageError, "4 features.*predicted for.*5 features"):
                model.export(onnx=root / "other.onnx", shape=[4])
            for wrong in (5, "5", [0], [-1], [2 ** 40], [1.5], [None], [[5]], {}, [], [2, 2]):
                with self.assertRaises(gerne.UsageError, msg=repr(wrong)):
                    model.export(onnx=root / "other.onnx", shape=wrong)
            self.assertFalse((root / "other.onnx").exists())
            net = gerne.load(root / "linear.safetensors", model={"arch": "resnet18"})
            with self.assertRaisesRegex(gerne.UsageError, "shape 3,224,224"):
                net.export(onnx=root / "other.onnx")


if __name__ == "__main__":
    support.main()
