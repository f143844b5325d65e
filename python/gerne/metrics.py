"""Accuracy of every group, with intervals, from the predictions of any model."""
from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from ._arrays import address, as_array, as_int, as_numbers, same_length, text_array
from ._calls import call_document
from ._labels import Labels, as_labels
from ._library import Predicted
from .errors import UsageError
from .groups import as_counts

__all__ = ["evaluate", "compare", "table"]


def _class_labels(y: Any, pred: Any, probabilities: Optional[np.ndarray],
                  classes: Any) -> np.ndarray:
    """The labels of the classes, in order: those given, or those that y and pred have, or for
    integers the numbers of the columns."""
    if classes is not None:
        return as_labels(classes, "classes")
    seen = [as_labels(values, what) for values, what in ((y, "y"), (pred, "pred"))
            if values is not None]
    kinds = {array.dtype.kind == "U" for array in seen}
    if len(kinds) > 1:
        raise UsageError(f"y has labels of dtype {seen[0].dtype}, pred of dtype {seen[1].dtype}")
    union = np.unique(np.concatenate(seen))
    if probabilities is None or probabilities.shape[1] == len(union):
        return union
    columns = np.arange(probabilities.shape[1])
    if union.dtype.kind in "iu" and union[0] >= 0 and union[-1] < len(columns):
        return columns
    raise UsageError(f"probabilities has {len(columns)} columns, but the labels are of "
                     f"{len(union)} classes", "classes=[...] gives the labels of the columns")


class _Subject:
    """A gerne_predicted, and the arrays that it points to."""

    def __init__(self, y: Any, a: Any, pred: Any, probabilities: Any,
                 classes: Any, train_counts: Any) -> None:
        if y is None:
            raise UsageError("y is None: every sample needs a class")
        if pred is None and probabilities is None:
            raise UsageError("there are neither predictions nor probabilities",
                             "give pred=... or probabilities=...")
        p = None if probabilities is None else as_numbers(probabilities, "probabilities", 2,
                                                          np.float64)
        labels = _class_labels(y, pred, p, classes)
        if p is not None and p.shape[1] != len(labels):
            raise UsageError(f"probabilities has {p.shape[1]} columns for {len(labels)} classes")
        true = Labels(y, "y", labels)
        predicted = None if pred is None else Labels(pred, "pred", labels)
        attributes = None if a is None else Labels(a, "a")
        same_length(len(true), predicted, "pred")
        same_length(len(true), attributes, "a")
        same_length(len(true), p, "probabilities")
        cells = (len(labels), attributes.count if attributes else 1)
        counts = _train_counts(train_counts, cells)
        names = text_array(true.names, "class")
        attribute_names = text_array(attributes.names, "attribute") if attributes else None
        self.struct = Predicted(
            size=ctypes.sizeof(Predicted), n=len(true), classes=cells[0],
            attributes=cells[1], y=address(true.codes),
            a=address(attributes.codes) if attributes else None,
            pred=address(predicted.codes) if predicted else None, probabilities=address(p),
            class_names=ctypes.cast(names, ctypes.c_void_p),
            attribute_names=ctypes.cast(attribute_names, ctypes.c_void_p) if attributes else None,
            train_counts=address(counts))
        self._kept = (true, predicted, attributes, p, counts, names, attribute_names)


def _train_counts(counts: Any, cells: Any) -> Optional[np.ndarray]:
    if counts is None:
        return None
    table = as_counts(counts, "train_counts")
    if table.shape != cells:
        raise UsageError(f"train_counts has shape {table.shape}, expected {cells}: "
                         "[classes][attributes]")
    return table


def evaluate(y: Any, a: Any = None, pred: Any = None, probabilities: Any = None, *,
             classes: Optional[Sequence[Any]] = None, train_counts: Any = None,
             text: bool = False) -> Any:
    """Metrics of every group, as `gerne eval --predictions --json` prints them.

    y, a and pred hold a label per sample; probabilities has a column per class, in the order of
    `classes` (by default sorted labels). train_counts, the sizes of the training groups
    [classes][attributes], define adj_acc_avg and minority_acc. With text=True the answer is the
    table for people.

    >>> import gerne
    >>> figures = gerne.evaluate([0, 0, 1, 1], a=[0, 1, 0, 1], pred=[0, 1, 1, 1])
    >>> figures["acc_avg"], figures["wga"], figures["worst_group"]
    (0.75, 0.0, {'y': 0, 'a': 1})
    """
    subject = _Subject(y, a, pred, probabilities, classes, train_counts)
    return call_document("evaluate", ctypes.byref(subject.struct), None, text=text)


def compare(y: Any, a: Any, first: Any, second: Any, *, classes: Optional[Sequence[Any]] = None,
            train_counts: Any = None, resamples: int = 10000, text: bool = False) -> Any:
    """Two models on the same samples: differences (first minus second) with paired bootstrap
    intervals, under the key "comparison".

    first and second are predicted labels (one dimension) or probabilities (two).

    >>> import gerne
    >>> both = gerne.compare([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1],
    ...                      resamples=200)
    >>> both["wga"], round(both["comparison"]["acc_avg_difference"], 2)
    (1.0, 0.25)
    """
    resamples = as_int(resamples, "resamples", 100, 1000000)
    both = {"first": first, "second": second}
    wide = {name: as_array(p, name).ndim == 2 for name, p in both.items()}
    if classes is None:
        labels = [as_labels(p, name) for name, p in both.items() if not wide[name]]
        columns = [as_array(p, name) for name, p in both.items() if wide[name]]
        known = _class_labels(y, np.concatenate(labels) if labels else None,
                              columns[0] if columns else None, None)
    else:
        known = as_labels(classes, "classes")
    subjects = [_Subject(y, a, *((None, p) if wide[name] else (p, None)), known, train_counts)
                for name, p in both.items()]
    return call_document("compare", ctypes.byref(subjects[0].struct),
                         ctypes.byref(subjects[1].struct), resamples, text=text)


def table(figures: Any, class_names: Optional[Sequence[Any]] = None,
          attribute_names: Optional[Sequence[Any]] = None) -> Any:
    """The groups of an evaluation as rows: a pandas.DataFrame if pandas is installed, else a list
    of dicts. Takes what evaluate() returns, or one split of the results of a training run.

    >>> import gerne
    >>> rows = gerne.table(gerne.evaluate(["a", "b"], pred=["a", "a"]))
    >>> len(rows)
    2
    """
    if not isinstance(figures, dict) or not isinstance(figures.get("groups"), list):
        raise UsageError("there are no groups in these figures",
                         "give what gerne.evaluate returns, or results['splits']['test']")
    class_names = class_names if class_names is not None else figures.get("class_names")
    attribute_names = (attribute_names if attribute_names is not None
                       else figures.get("attribute_names"))
    rows = []
    for group in figures["groups"]:
        low, high = group["ci95"] or (None, None)
        rows.append({"y": _name(class_names, group["y"]), "a": _name(attribute_names, group["a"]),
                     "n": group["n"], "correct": group["correct"], "acc": group["acc"],
                     "ci95_low": low, "ci95_high": high})
    return as_frame(rows)


def _name(names: Optional[Sequence[Any]], index: int) -> Any:
    return names[index] if names is not None and index < len(names) else index


def as_frame(rows: Any) -> Any:
    """Rows, or a dict of columns, as a pandas.DataFrame if pandas is installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)
