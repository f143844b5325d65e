"""scikit-learn's own checks of an estimator.

They call fit(X, y) without groups, so that the estimators are those that need none. No check is
excused.
"""
import logging
import unittest
import warnings

import support

if not support.has("sklearn"):
    support.skip("python3-sklearn is not installed")

import gerne
from sklearn.utils import estimator_checks

ESTIMATORS = [
    gerne.Classifier(attributes="unknown", threads=1),
    gerne.Classifier(method="erm", attributes="unknown", threads=1),
    gerne.Classifier(method="groupdro", attributes="unknown", hidden=(8,), threads=1),
]


class Checks(unittest.TestCase):
    def test_estimators(self):
        logging.disable(logging.CRITICAL)
        for estimator in ESTIMATORS:
            count = 0
            for instance, check in estimator_checks.check_estimator(estimator, generate_only=True):
                name = getattr(check, "func", check).__name__
                with self.subTest(estimator=repr(estimator), check=name):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        check(instance)
                count += 1
            self.assertGreater(count, 35)

    @unittest.skipUnless(support.has("pandas"), "python3-pandas is not installed")
    def test_data_frames(self):
        """Further checks, which scikit-learn keeps for its own estimators."""
        for check in (estimator_checks.check_dataframe_column_names_consistency,
                      estimator_checks.check_n_features_in_after_fitting):
            check("Classifier", gerne.Classifier(attributes="unknown", threads=1))


if __name__ == "__main__":
    support.main()
