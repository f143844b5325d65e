"""gerne.Classifier: what it learns, scikit-learn's tools around it, and without scikit-learn."""
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np

import support
import gerne

X, Y, A, _ = support.biased_features(1200)
QUICK = {"threads": 1, "epochs": 10, "lr": 0.02, "random_state": 0}

WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sklearn", "pandas", "torch", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import copy, pickle, numpy as np, gerne
rng = np.random.default_rng(0)
x = rng.normal(size=(200, 3)); y = np.where(x[:, 0] > 0, "right", "left")
model = gerne.Classifier(method="erm", attributes="unknown", threads=1, random_state=0)
assert model.get_params()["method"] == "erm"
try:
    model.set_params(nothing=1)
except ValueError as error:
    assert "Invalid parameter" in str(error)
model.set_params(lr=0.01).fit(x, y)
assert model.score(x, y) > 0.9, model.score(x, y)
assert pickle.loads(pickle.dumps(model)).score(x, y) == model.score(x, y)
assert copy.deepcopy(model).weights_ == model.weights_
assert "lr=0.01" in repr(model)
assert isinstance(gerne.table(model.evaluate(x, y)), list)
print("fine")
"""


class Learning(unittest.TestCase):
    def test_worst_group(self):
        """GERNE's worst group is far above that of plain training."""
        test_x, test_y, test_a, _ = support.biased_features(2000, seed=1)
        worst = {}
        for method in ("erm", "gerne"):
            model = gerne.Classifier(method=method, threads=1, random_state=0, lr=0.02)
            model.fit(X, Y, groups=A)
            worst[method] = model.evaluate(test_x, test_y, test_a)["wga"]
        self.assertGreater(worst["gerne"], worst["erm"] + 0.15)

    def test_patience(self):
        """Early stopping gives the best network of a shorter training: that of the full one, as
        long as nothing better comes after it."""
        same = {"method": "erm", "metric": "acc_avg", "random_state": 0, "threads": 1, "lr": 0.02}
        with tempfile.TemporaryDirectory() as folder:
            patient = gerne.Classifier(**same, epochs=60, patience=3, run_dir=folder + "/run")
            patient.fit(X, Y, groups=A)
            with open(folder + "/run/log.jsonl", encoding="utf-8") as log:
                events = [json.loads(line) for line in log]
        judged = [event for event in events if event["event"] == "evaluation"]
        best = max(i for i, event in enumerate(judged) if event.get("best"))
        self.assertEqual(len(judged), best + 1 + 3)
        self.assertLess(len(judged), 60)
        short = gerne.Classifier(**same, epochs=best + 1).fit(X, Y, groups=A)
        np.testing.assert_array_equal(patient.predict_proba(X), short.predict_proba(X))

    def test_without_proc(self):
        """In a root directory without /proc there is no /dev/fd."""
        fitted = gerne.Classifier(**QUICK).fit(X, Y, groups=A)
        other = pickle.loads(pickle.dumps(fitted))
        with unittest.mock.patch("os.path.exists", return_value=False):
            probabilities = other.predict_proba(X)
        self.assertTrue(os.path.exists(other._network._file.name))
        np.testing.assert_array_equal(probabilities, fitted.predict_proba(X))

    def test_batch_size(self):
        """None: a 200th of the samples, as a power of 2 from 128 to 1024; never more than there are."""
        automatic = gerne.Classifier()
        self.assertEqual([automatic._batch(n) for n in (50, 128, 25600, 90000, 10 ** 6)],
                         [50, 128, 128, 512, 1024])
        self.assertEqual(gerne.Classifier(batch_size=64)._batch(50), 50)

    def test_kinds_of_labels(self):
        """The same network whatever the classes are called; predictions are the caller's labels."""
        first = gerne.Classifier(**QUICK).fit(X, Y, groups=A)
        expected = first.predict_proba(X)
        for classes, groups in ((np.array(["cat", "dog"]), np.array(["day", "night"])),
                                (np.array([3, 7]), np.array([10, 20])),
                                (np.array([-1.0, 1.0]), np.array([False, True])),
                                (np.array(["a", "b"], dtype=object), np.array([1.0, 2.0]))):
            model = gerne.Classifier(**QUICK).fit(X, classes[Y], groups=groups[A])
            np.testing.assert_array_equal(model.predict_proba(X), expected)
            np.testing.assert_array_equal(model.classes_, classes)
            np.testing.assert_array_equal(model.predict(X), classes[first.predict(X)])
            self.assertEqual(model.classes_.dtype, classes.dtype)

    def test_reproducible(self):
        models = [gerne.Classifier(**{**QUICK, "random_state": seed}).fit(X, Y, groups=A)
                  for seed in (1, 1, 2)]
        self.assertEqual(models[0].weights_, models[1].weights_)
        self.assertNotEqual(models[0].weights_, models[2].weights_)

    def test_validation_set(self):
        model = gerne.Classifier(**QUICK).fit(X[:900], Y[:900], A[:900], X_val=X[900:],
                                              y_val=Y[900:], groups_val=A[900:])
        self.assertEqual(model.results_["splits"]["val"]["n"], 300)
        held = gerne.Classifier(**QUICK, validation_fraction=0.25).fit(X, Y, A)
        self.assertAlmostEqual(held.results_["splits"]["val"]["n"], 300, delta=4)
        for group in held.results_["splits"]["val"]["groups"]:
            self.assertGreater(group["n"], 0)
        whole = gerne.Classifier(**QUICK, validation_fraction=0).fit(X, Y, A)
        self.assertEqual(whole.results_["splits"]["val"]["n"], len(X))

    def test_saved_file(self):
        import tempfile
        model = gerne.Classifier(hidden=(8,), **QUICK).fit(X, Y, groups=A)
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder + "/model.safetensors")
            loaded = gerne.load(folder + "/model.safetensors")
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
            self.assertEqual(list(loaded.tensors()),
                             ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"])

    def test_unknown_attributes(self):
        model = gerne.Classifier(attributes="unknown", t=0.1, **QUICK).fit(X, Y)
        self.assertEqual(model.results_["pseudo"]["t"], 0.1)

    def test_without_scikit_learn(self):
        result = subprocess.run([sys.executable, "-B", "-c", WITHOUT], capture_output=True,
                                text=True, env={**os.environ, "PYTHONPATH": str(support.PACKAGE)})
        self.assertEqual(result.stdout, "fine\n", result.stderr)


@unittest.skipUnless(support.has("sklearn"), "python3-sklearn is not installed")
class WithScikitLearn(unittest.TestCase):
    def test_pipeline(self):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        pipe = make_pipeline(StandardScaler(), gerne.Classifier(**QUICK))
        pipe.fit(X, Y, classifier__groups=A)
        self.assertGreater(pipe.score(X, Y), 0.6)

    def test_grid_search(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import Pipeline
        search = GridSearchCV(gerne.Classifier(**QUICK), {"beta": [0.0, 1.0], "c": [0.5]}, cv=2,
                              error_score="raise")
        search.fit(X, Y, a=A)
        self.assertIn(search.best_params_["beta"], (0.0, 1.0))
        pipe = GridSearchCV(Pipeline([("clf", gerne.Classifier(**QUICK))]),
                            {"clf__lr": [0.01, 0.02]}, cv=2, error_score="raise")
        pipe.fit(X, Y, clf__groups=A)
        self.assertIn(pipe.best_params_["clf__lr"], (0.01, 0.02))

    def test_cross_val_predict(self):
        from sklearn.model_selection import cross_val_predict
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pred = cross_val_predict(gerne.Classifier(**QUICK), X, Y, cv=3,
                                     fit_params={"groups": A})
        self.assertGreater(np.mean(pred == Y), 0.6)

    def test_clone_and_pickle(self):
        from sklearn.base import clone, is_classifier
        model = gerne.Classifier(c=0.4, hidden=(4,), **QUICK).fit(X, Y, groups=A)
        self.assertTrue(is_classifier(model))
        twin = clone(model)
        self.assertEqual(twin.get_params(), model.get_params())
        self.assertFalse(hasattr(twin, "classes_"))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        result = subprocess.run(
            [sys.executable, "-B", "-c", "import sys, pickle; m, x = pickle.load(sys.stdin.buffer);"
             "sys.stdout.buffer.write(m.predict_proba(x).tobytes())"],
            input=pickle.dumps((model, X)), capture_output=True,
            env={**os.environ, "PYTHONPATH": str(support.PACKAGE)})
        self.assertEqual(result.stdout, model.predict_proba(X).tobytes(), result.stderr)

    @unittest.skipUnless(support.has("pandas"), "python3-pandas is not installed")
    def test_data_frames(self):
        import pandas
        frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
        model = gerne.Classifier(**QUICK).fit(frame, pandas.Series(Y), groups=pandas.Series(A))
        self.assertEqual(list(model.feature_names_in_), list(frame.columns))
        np.testing.assert_array_equal(model.predict(frame),
                                      gerne.Classifier(**QUICK).fit(X, Y, groups=A).predict(X))
        with self.assertRaisesRegex(ValueError, "must be in the same order"):
            model.predict(frame[frame.columns[::-1]])
        with self.assertRaisesRegex(ValueError, "unseen at fit time"):
            model.predict(frame.rename(columns={"x0": "other"}))
        rows = gerne.table(model.evaluate(frame, Y, A))
        self.assertEqual(list(rows["n"]), [int(np.sum((Y == y) & (A == a)))
                                           for y in (0, 1) for a in (0, 1)])


if __name__ == "__main__":
    support.main()
