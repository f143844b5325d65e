"""Labels of any kind as numbers 0, 1, 2, ... with names."""
from __future__ import annotations

from typing import Any, List

import numpy as np

from ._arrays import as_array, contiguous
from .errors import UsageError


def _check_vector(array: np.ndarray, what: str) -> None:
    if array.ndim != 1:
        raise UsageError(f"{what} has {array.ndim} dimensions, expected 1: one label per sample")
    if array.size == 0:
        raise UsageError(f"{what} is empty: there are no samples")


def _of_objects(array: np.ndarray, what: str) -> np.ndarray:
    """An array of Python objects as one of texts, integers or truth values."""
    kinds = {type(v) for v in array.tolist()}
    if kinds <= {str, np.str_}:
        return array.astype(str)
    if kinds <= {bool, np.bool_}:
        return array.astype(bool)
    if all(issubclass(k, (int, np.integer)) and not issubclass(k, bool) for k in kinds):
        return _integers(array, what)
    if all(issubclass(k, (int, float, np.integer, np.floating)) and not issubclass(k, bool)
           for k in kinds):
        return array.astype(np.float64)
    names = ", ".join(sorted(k.__name__ for k in kinds))
    raise UsageError(f"{what} mixes or contains values that are not labels: {names}",
                     "labels are integers, texts or truth values, all of one kind")


def _integers(array: np.ndarray, what: str) -> np.ndarray:
    try:
        return array.astype(np.int64)
    except (OverflowError, ValueError):
        raise UsageError(f"{what} has an integer that does not fit 64 bits") from None


def as_labels(values: Any, what: str) -> np.ndarray:
    """One-dimensional labels of one kind: integers, texts or truth values.

    >>> as_labels([3, 1], "y")
    array([3, 1])
    >>> as_labels([1.0, 2.0], "y")
    array([1, 2])
    >>> as_labels([1, "a"], "y")
    Traceback (most recent call last):
    gerne.errors.UsageError: y mixes or contains values that are not labels: int, str
    hint: labels are integers, texts or truth values, all of one kind
    """
    if values is None:
        raise UsageError(f"{what} is None: every sample needs a label")
    if isinstance(values, (list, tuple)):  # numpy would turn mixed kinds into texts
        given = values
        values = np.empty(len(given), dtype=object)
        for i, value in enumerate(given):
            if isinstance(value, (list, tuple, dict, set, np.ndarray)):
                raise UsageError(f"{what}[{i}] is a {type(value).__name__}, expected one label")
            values[i] = value
    array = as_array(values, what)
    _check_vector(array, what)
    if array.dtype.kind == "O":
        array = _of_objects(array, what)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)):
            raise UsageError(f"{what} has labels that are NaN or infinite")
        whole = array.astype(np.int64)
        if not np.array_equal(whole, array):
            raise UsageError(f"{what} has labels that are not whole numbers, such as "
                             f"{array[whole != array][0]:g}")
        array = whole
    if array.dtype.kind not in "iubU":
        raise UsageError(f"{what} has dtype {array.dtype}, which is not one of labels",
                         "labels are integers, texts or truth values")
    return array


class Labels:
    """Codes 0..K-1 of n samples, and what the codes stand for.

    Integers are ordered by value, texts by their bytes. Labels that are 0..K-1 already, in an
    int32 array, are used as they are.

    >>> labels = Labels(["cat", "dog", "cat"], "y")
    >>> labels.codes, labels.names
    (array([0, 1, 0], dtype=int32), ['cat', 'dog'])
    >>> Labels([7, 3, 7], "y").names
    ['3', '7']
    """

    def __init__(self, values: Any, what: str, known: Any = None) -> None:
        array = as_labels(values, what)
        if known is not None:
            self._encode_as(array, as_labels(known, f"the list of labels of {what}"), what)
        elif array.dtype.kind in "iu" and self._has_no_gaps(array):
            self.values = np.arange(int(array.max()) + 1)
            self.codes = contiguous(array, np.int32)
        else:
            self.values, codes = np.unique(array, return_inverse=True)
            self.codes = contiguous(codes, np.int32)
        self._set_names(what)

    @classmethod
    def of_codes(cls, codes: np.ndarray, values: np.ndarray, what: str) -> "Labels":
        """From codes 0..K-1 and the labels that they stand for."""
        labels = cls.__new__(cls)
        labels.values, labels.codes = values, contiguous(codes, np.int32)
        labels._set_names(what)
        return labels

    def _set_names(self, what: str) -> None:
        self.names: List[str] = [str(v) for v in self.values.tolist()]
        for name in self.names:
            if "\0" in name:
                raise UsageError(f"{what} has a label with a NUL character: {name!r}")

    @staticmethod
    def _has_no_gaps(array: np.ndarray) -> bool:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= min(array.size, 1 << 24):
            return False
        return bool(np.bincount(array.astype(np.int64, copy=False)).all())

    def _encode_as(self, array: np.ndarray, known: np.ndarray, what: str) -> None:
        if len(np.unique(known)) != len(known):
            raise UsageError(f"the list of labels of {what} names one twice")
        if (known.dtype.kind == "U") != (array.dtype.kind == "U"):
            raise UsageError(f"{what} has labels of another kind ({array.dtype}) than the list "
                             f"({known.dtype})")
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], array), len(known) - 1)
        codes = order[at]
        wrong = known[codes] != array
        if wrong.any():
            i = int(np.argmax(wrong))
            raise UsageError(f"{what}[{i}] is {array[i]!r}, which is not one of the labels "
                             + ", ".join(map(str, known.tolist()[:10])))
        self.values, self.codes = known, contiguous(codes, np.int32)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def count(self) -> int:
        return len(self.names)
