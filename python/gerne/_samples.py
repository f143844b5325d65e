"""The samples of Classifier.fit: which of them are for training, which for validation."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from ._estimator import check_targets
from ._labels import Labels, as_labels
from .dataset import Dataset
from .errors import UsageError

_LEAST_GROUP = 4  # samples of a group that gives one for validation whatever the share


class Samples:
    """What fit got: features, classes, attributes, and which samples are for validation."""

    def __init__(self, x: np.ndarray, codes: np.ndarray, classes: np.ndarray,
                 groups: Any) -> None:
        self.x, self.codes, self.classes, self.n = x, codes, classes, len(x)
        self.groups = None if groups is None else as_labels(groups, "groups")
        if self.groups is not None and len(self.groups) != self.n:
            raise UsageError(f"X has {self.n} samples, groups has {len(self.groups)}")
        self.split: Optional[np.ndarray] = None

    def add_validation(self, x: np.ndarray, y: Any, groups: Any) -> None:
        if x.shape[1] != self.x.shape[1]:
            raise UsageError(f"X has {self.x.shape[1]} features, X_val has {x.shape[1]}")
        labels = Labels(check_targets(y, len(x)), "y_val", self.classes)
        if (groups is None) != (self.groups is None):
            raise UsageError("groups and groups_val go together: one of them is missing")
        if groups is not None:
            more = as_labels(groups, "groups_val")
            if len(more) != len(x):
                raise UsageError(f"X_val has {len(x)} samples, groups_val has {len(more)}")
            if (more.dtype.kind == "U") != (self.groups.dtype.kind == "U"):  # type: ignore
                raise UsageError("groups and groups_val have labels of different kinds")
            self.groups = np.concatenate([self.groups, more])
        self._append(x, labels.codes)

    def _append(self, x: np.ndarray, codes: np.ndarray) -> None:
        self.split = np.repeat(np.array([0, 1], dtype=np.uint8), [self.n, len(x)])
        self.x = np.concatenate([self.x, x])
        self.codes = np.concatenate([self.codes, codes])

    def hold_out(self, fraction: Any, seed: int) -> None:
        """Marks a share of every group as validation, unless there is a validation set; at least
        one sample of every class and of every group that can spare it. Where that is impossible
        (or the share is 0), the training samples are validated on."""
        if not isinstance(fraction, (int, float, np.number)) or not 0 <= fraction < 1:
            raise UsageError(f"validation_fraction {fraction!r} is outside [0, 1)")
        if self.split is not None:
            return
        if fraction == 0 or np.bincount(self.codes).min() < 2:
            if self.groups is not None:
                self.groups = np.concatenate([self.groups, self.groups])
            self._append(self.x, self.codes)
            return
        self.split = np.zeros(self.n, dtype=np.uint8)
        rng = np.random.default_rng(seed)
        for k in range(len(self.classes)):
            self._hold_out_of_class(np.flatnonzero(self.codes == k), float(fraction), rng)

    def _hold_out_of_class(self, members: np.ndarray, fraction: float,
                           rng: np.random.Generator) -> None:
        assert self.split is not None
        groups = [members] if self.groups is None else [
            members[self.groups[members] == a] for a in np.unique(self.groups[members])]
        counts = [min(len(g) - 1, max(round(fraction * len(g)), len(g) >= _LEAST_GROUP))
                  for g in groups]
        if sum(counts) == 0:  # a small class: its largest group gives one
            largest = int(np.argmax([len(g) for g in groups]))
            counts[largest] = 1
        for group, count in zip(groups, counts):
            self.split[rng.permutation(group)[:count]] = 1

    def trained_on(self) -> int:
        """Samples that are not for validation."""
        return int(np.sum(self.split == 0))

    def dataset(self) -> Dataset:
        return Dataset(self.x, Labels.of_codes(self.codes, self.classes, "y"), self.groups,
                       self.split)
