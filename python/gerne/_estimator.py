"""scikit-learn's conventions, without scikit-learn: parameters, and checks of X.

The messages are those of scikit-learn, which its check_estimator looks for.
"""
from __future__ import annotations

import inspect
import warnings
from typing import Any, Dict, List, Optional

import numpy as np

from ._arrays import as_array, contiguous
from ._labels import as_labels
from ._library import load_openmp
from .errors import UsageError

load_openmp()
try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import NotFittedError
except ImportError:
    class BaseEstimator:  # type: ignore[no-redef]
        """get_params, set_params and a repr of the parameters that are not the default."""

        def _names(self) -> List[str]:
            return [p for p in inspect.signature(type(self)).parameters]

        def get_params(self, deep: bool = True) -> Dict[str, Any]:
            """The parameters of the constructor."""
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params: Any) -> Any:
            """Sets parameters of the constructor."""
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid "
                                     f"parameters are: {self._names()!r}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self)).parameters
            words = [f"{name}={value!r}" for name, value in sorted(self.get_params().items())
                     if repr(value) != repr(defaults[name].default)]
            return f"{type(self).__name__}({', '.join(words)})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """score: the accuracy."""

        _estimator_type = "classifier"

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Accuracy of predict(X)."""
            correct = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
            return float(np.average(correct, weights=sample_weight))

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator is used before fit."""


def column_names(X: Any) -> Optional[np.ndarray]:
    """The names of a DataFrame's columns, if they are texts."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = np.asarray(columns, dtype=object)
    texts = [isinstance(name, str) for name in names]
    if any(texts) and not all(texts):
        kinds = sorted({type(name).__name__ for name in names})
        raise TypeError("Feature names are only supported if all input features have string names, "
                        f"but your input has {kinds} as feature name / column name types.")
    return names if len(names) and all(texts) else None


def check_column_names(estimator: Any, X: Any) -> None:
    """Refuses columns that are not those of fit, in their order."""
    fitted = getattr(estimator, "feature_names_in_", None)
    names = column_names(X)
    kind = type(estimator).__name__
    if fitted is None and names is not None:
        warnings.warn(f"X has feature names, but {kind} was fitted without feature names")
    elif fitted is not None and names is None:
        warnings.warn(f"X does not have valid feature names, but {kind} was fitted with feature "
                      "names")
    elif fitted is not None and names is not None and not np.array_equal(fitted, names):
        raise UsageError(_difference(fitted.tolist(), names.tolist()))


def _difference(fitted: List[str], names: List[str]) -> str:
    def listed(title: str, words: List[str]) -> str:
        if not words:
            return ""
        return title + "".join(f"- {w}\n" for w in sorted(words)[:5]) + (
            "- ...\n" if len(words) > 5 else "")

    unseen = [n for n in names if n not in fitted]
    missing = [n for n in fitted if n not in names]
    text = "The feature names should match those that were passed during fit.\n"
    text += listed("Feature names unseen at fit time:\n", unseen)
    text += listed("Feature names seen at fit time, yet now missing:\n", missing)
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def check_matrix(X: Any, kind: str) -> np.ndarray:
    """X as a C-contiguous float32 matrix; the same array if it is one."""
    if hasattr(X, "toarray") or hasattr(X, "tocsr"):
        raise TypeError("A sparse matrix was passed, but dense data is required. Use X.toarray() "
                        "to convert to a dense numpy array.")
    array = as_array(X, "X")
    if array.dtype.kind == "c":
        raise UsageError(f"Complex data not supported\n{array.dtype}")
    if array.ndim != 2:
        raise UsageError(f"Expected 2D array, got {array.ndim}D array instead. Reshape your data "
                         "either using array.reshape(-1, 1) if your data has a single feature or "
                         "array.reshape(1, -1) if it contains a single sample.")
    if array.shape[0] < 1 or array.shape[1] < 1:
        what = "sample" if array.shape[0] < 1 else "feature"
        raise UsageError(f"Found array with 0 {what}(s) (shape={array.shape}) while a minimum of 1 "
                         f"is required by {kind}.")
    if array.dtype.kind == "O" or array.dtype.kind in "US":
        array = _numbers_of(array)
    if array.dtype.kind not in "biuf":
        raise UsageError(f"X has dtype {array.dtype}, expected numbers")
    with np.errstate(over="ignore"):
        matrix = contiguous(array, np.float32)
        finite = bool(np.isfinite(matrix.sum())) or bool(np.isfinite(matrix).all())
    if not finite:
        word = "NaN" if np.isnan(matrix).any() else "infinity or a value too large for float32"
        raise UsageError(f"Input X contains {word}.")
    return matrix


def _numbers_of(array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(np.float64)
    except TypeError:
        raise TypeError("X has objects that are not numbers: argument must be a string or a "
                        "number") from None
    except ValueError as error:
        raise UsageError(f"X has values that are not numbers: {error}") from None


def check_width(estimator: Any, X: np.ndarray) -> None:
    """Refuses another number of features than fit had."""
    if X.shape[1] != estimator.n_features_in_:
        raise UsageError(f"X has {X.shape[1]} features, but {type(estimator).__name__} is "
                         f"expecting {estimator.n_features_in_} features as input")


def check_targets(y: Any, n: int) -> np.ndarray:
    """Classes as a vector of n labels."""
    if y is None:
        raise UsageError("This estimator requires y to be passed, but the target y is None")
    array = as_array(y, "y")
    if array.dtype.kind == "U" and array.ndim == 1:
        as_labels(y, "y")  # numpy has made texts of a list of numbers and texts
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_of_column()
        array = array.reshape(-1)
    if array.ndim != 1:
        raise UsageError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if len(array) != n:
        raise UsageError("Found input variables with inconsistent numbers of samples: "
                         f"[{n}, {len(array)}]")
    if array.dtype.kind == "c":
        raise UsageError(f"Complex data not supported\n{array.dtype}")
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise UsageError("Input y contains NaN or infinity.")
        if (array != np.round(array)).any():
            raise UsageError("Unknown label type: continuous. Classes are integers or texts.")
    return array


def _warn_of_column() -> None:
    try:
        from sklearn.exceptions import DataConversionWarning as kind
    except ImportError:
        kind = UserWarning
    warnings.warn("A column-vector y was passed when a 1d array was expected. Please change the "
                  "shape of y to (n_samples, ), for example using ravel().", kind, stacklevel=4)


def seed_of(random_state: Any) -> int:
    """The seed of a run: an integer as it is, or a number drawn from a generator; None draws from
    numpy's global one."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise UsageError(f"random_state {random_state} is negative")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2 ** 31 - 1))
    if random_state is None:
        return int(np.random.randint(2 ** 31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2 ** 31 - 1))
    raise UsageError(f"random_state is a {type(random_state).__name__}, expected None, an integer "
                     "or a numpy generator")
