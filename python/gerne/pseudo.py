"""Groups without attribute labels: the samples that a biased model finds hard (Algorithm 2)."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from ._arrays import address, as_array, as_numbers, as_real, same_length
from ._calls import Handle, call_handle, context
from ._labels import Labels
from ._library import PseudoQuality
from .errors import UsageError

__all__ = ["pseudo_groups", "pseudo_quality"]


class _Pseudo(Handle):
    """A gerne_pseudo: the samples of each class in the order of their scores."""

    _kind = "ranking of samples"
    _closer = "pseudo_close"

    def __init__(self, y: Any, probabilities: Any, classes: Optional[Sequence[Any]]) -> None:
        labels = Labels(y, "y", classes)
        scores = _scores(labels, probabilities)
        self.n = len(labels)
        super().__init__(call_handle("pseudo_new", address(labels.codes), address(scores), self.n,
                                     labels.count))


def _scores(labels: Labels, probabilities: Any) -> np.ndarray:
    """The probability of each sample's own class."""
    ndim = 2 if as_array(probabilities, "probabilities").ndim == 2 else 1
    values = as_numbers(probabilities, "probabilities", ndim, np.float32)
    same_length(len(labels), values, "probabilities")
    if ndim == 1:
        return values
    if values.shape[1] != labels.count:
        raise UsageError(f"probabilities has {values.shape[1]} columns, but y has {labels.count} "
                         "classes", "classes=... names the classes of the columns")
    return np.ascontiguousarray(values[np.arange(len(labels)), labels.codes])


def pseudo_groups(y: Any, probabilities: Any, t: float, *, classes: Optional[Sequence[Any]] = None,
                  round_up: bool = False) -> np.ndarray:
    """Attributes from a biased model's probabilities: 0, "hard", for the share t of each class
    with the lowest probability of the true class, 1, "easy", for the rest.

    probabilities has a column per class (in the order of classes, or of the sorted labels), or is
    the probability of each sample's own class. The result goes wherever attributes go.

    >>> import gerne
    >>> gerne.pseudo_groups(["cat"] * 4 + ["dog"] * 2, [0.9, 0.2, 0.8, 0.7, 0.6, 0.9], t=0.5)
    array([1, 0, 1, 0, 0, 1], dtype=int32)
    """
    share = as_real(t, "t")
    with _Pseudo(y, probabilities, classes) as pseudo, pseudo.used() as pointer:
        a = np.empty(pseudo.n, dtype=np.int32)
        ctx = context()
        ctx.check(ctx.library.pseudo_assign(ctx.pointer, pointer, share, bool(round_up),
                                            address(a)))
    return a


def pseudo_quality(y: Any, probabilities: Any, a: Any, t: Union[float, Sequence[float]], *,
                   classes: Optional[Sequence[Any]] = None,
                   round_up: bool = False) -> List[Dict[str, float]]:
    """How well "hard" finds the samples of under-represented groups, whose true attributes are a:
    precision and recall (means over classes), one dict for each t.

    >>> import gerne
    >>> y, a = [0] * 6 + [1] * 6, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0]
    >>> scores = [0.9, 0.8, 0.9, 0.7, 0.9, 0.1, 0.9, 0.8, 0.9, 0.7, 0.9, 0.2]
    >>> gerne.pseudo_quality(y, scores, a, t=[0.2, 0.4])
    [{'t': 0.2, 'hard': 2, 'precision': 1.0, 'recall': 1.0}, {'t': 0.4, 'hard': 4, 'precision': \
0.5, 'recall': 1.0}]
    """
    values = np.atleast_1d(as_numbers(t, "t", min(as_array(t, "t").ndim, 1), np.float64))
    truth = Labels(a, "a")
    with _Pseudo(y, probabilities, classes) as pseudo, pseudo.used() as pointer:
        same_length(pseudo.n, truth, "a")
        found = (PseudoQuality * len(values))()
        ctx = context()
        ctx.check(ctx.library.pseudo_judge(
            ctx.pointer, pointer, address(truth.codes), truth.count, address(values), len(values),
            bool(round_up), ctypes.cast(found, ctypes.c_void_p)))
    return [{"t": q.t, "hard": q.hard, "precision": q.precision, "recall": q.recall}
            for q in found]
