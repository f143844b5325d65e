"""Threads that share models, samplers and datasets; objects that are closed while in use."""
import copy
import pickle
import tempfile
import threading
import unittest

import numpy as np

import support
import gerne


def in_threads(work, count=8):
    """Runs work(i) in threads at once and returns the results in order."""
    results, errors = [None] * count, []

    def run(i):
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, errors


class Sharing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        x, y, a, split = support.biased_features()
        cls.x, cls.y, cls.a = x, y, a
        gerne.train({"train.epochs": 1, "threads": 1, "model.arch": "linear"},
                    gerne.Dataset(x, y, a, split), out=cls.folder.name + "/run")
        cls.directory = cls.folder.name + "/run"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_threads_predict_at_once(self):
        model = gerne.load(self.directory)
        expected = model.predict_proba(self.x)
        results, errors = in_threads(lambda i: [model.predict_proba(self.x) for _ in range(5)])
        self.assertEqual(errors, [])
        for probabilities in sum(results, []):
            self.assertEqual(probabilities.tobytes(), expected.tobytes())

    def test_threads_draw_at_once(self):
        sampler = gerne.Sampler(gerne.Groups(self.y, self.a), per_group=5)
        expected = [sampler.draw(step) for step in range(200)]
        results, errors = in_threads(lambda i: [sampler.draw(step) for step in range(200)])
        self.assertEqual(errors, [])
        for batches in results:
            for ours, theirs in zip(batches, expected):
                np.testing.assert_array_equal(ours.samples, theirs.samples)
                np.testing.assert_array_equal(ours.weights, theirs.weights)

    def test_errors_belong_to_their_thread(self):
        def work(i):
            with self.assertRaisesRegex(gerne.UsageError, f"c {i + 2} is outside"):
                for _ in range(50):
                    gerne.bounds([[3, 1], [1, 3]], c=i + 2)
        self.assertEqual(in_threads(work)[1], [])

    def test_close_while_in_use(self):
        for _ in range(20):
            model = gerne.load(self.directory)

            def work(i):
                if i == 0:
                    model.close()
                    return None
                try:
                    return model.predict(self.x)
                except gerne.UsageError as error:
                    return str(error)
            results, errors = in_threads(work, 4)
            self.assertEqual(errors, [])
            for result in results[1:]:
                self.assertTrue(isinstance(result, np.ndarray) or "is closed" in result)

    def test_a_call_outlives_close(self):
        """What was begun before close ends well."""
        model = gerne.load(self.directory)
        expected = model.predict(self.x)

        def fetch(i):
            model.close()
            return self.x[i]
        data = gerne.Dataset.from_function(fetch, len(self.x), dimension=self.x.shape[1])
        np.testing.assert_array_equal(model.predict(data), expected)
        with self.assertRaisesRegex(gerne.UsageError, "Model is closed"):
            model.predict(self.x)

    def test_groups_outlive_their_sampler(self):
        groups = gerne.Groups(self.y, self.a)
        sampler = gerne.Sampler(groups, per_group=5)
        groups.close()
        with self.assertRaisesRegex(gerne.UsageError, "Groups is closed"):
            groups.counts
        self.assertGreater(len(sampler.draw(0).samples), 0)
        sampler.close()
        with self.assertRaisesRegex(gerne.UsageError, "Sampler is closed"):
            sampler.draw(0)

    def test_handles_are_not_copied(self):
        for thing in (gerne.Groups(self.y), gerne.Config(), gerne.Dataset(self.x)):
            for how in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    how(thing)

    def test_arrays_without_a_copy(self):
        data = gerne.Dataset(self.x, self.y)
        self.assertIs(data._kept[0][0], self.x)
        with self.assertRaises(gerne.UsageError):
            gerne.Dataset(self.x, self.y[:-1])
        turned = np.asfortranarray(self.x)
        model = gerne.load(self.directory)
        for other in (turned, self.x.astype(np.float64), self.x[::1].tolist(), self.x[::-1][::-1]):
            np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(self.x))


if __name__ == "__main__":
    support.main()
