"""Batches by law: indices of samples and the signed weights of their losses."""
from __future__ import annotations

import ctypes
import threading
from typing import NamedTuple, Optional

import numpy as np

from ._arrays import as_int, as_real, copy_out
from ._calls import Handle, call_handle, context
from ._library import SamplerOptions, library
from .errors import UsageError
from .groups import Groups

__all__ = ["Batch", "Sampler"]

_DRAWS = ("biased", "less_biased", "extrapolated", "shuffled", "uniform", "groups")
_PSEUDO_GROUPS, _BEYOND_BOUNDS = 1, 2


class Batch(NamedTuple):
    """Samples (indices into the labels) and the weights of their losses: minimise the sum of
    weight times loss. After an extrapolated draw the other two weights give L_b and L_lb."""

    samples: np.ndarray
    weights: np.ndarray
    biased_weights: Optional[np.ndarray] = None
    less_biased_weights: Optional[np.ndarray] = None


class Sampler(Handle):
    """Draws batches; a draw is a pure function of (seed, step).

    per_group samples of each group on average (a class has per_group times attributes), or
    per_class samples of each class. batch is the size of the draws "shuffled", "uniform" and
    "groups", which go by no law. beta has to be inside its bounds unless beyond_bounds is true;
    pseudo allows the wider ones of groups that come from scores.

    >>> import gerne
    >>> y = [0] * 100 + [1] * 100
    >>> a = [0] * 95 + [1] * 5 + [0] * 5 + [1] * 95
    >>> sampler = gerne.Sampler(gerne.Groups(y, a), per_group=10, c=0.5, beta=1.0, seed=7)
    >>> batch = sampler.draw(0)
    >>> round(float(batch.weights.sum()), 5)
    1.0
    >>> bool((batch.weights < 0).any())
    True
    """

    _kind = "Sampler"
    _closer = "sampler_close"

    def __init__(self, groups: Groups, *, per_group: Optional[int] = None,
                 per_class: Optional[int] = None, batch: Optional[int] = None, c: float = 0.5,
                 beta: float = 1.0, seed: int = 0, share_majority: bool = False,
                 rounded: bool = False, drop_last: bool = False, pseudo: bool = False,
                 beyond_bounds: bool = False) -> None:
        if not isinstance(groups, Groups):
            raise UsageError(f"groups is a {type(groups).__name__}, expected gerne.Groups",
                             "make them with gerne.Groups(y, a)")
        if per_group is not None and per_class is not None:
            raise UsageError("per_group and per_class are given: they exclude each other")
        if per_group is not None:
            high = (2 ** 32 - 1) // len(groups.attribute_names)
            per_class = as_int(per_group, "per_group", 1, high) * len(groups.attribute_names)
        options = SamplerOptions(
            seed=as_int(seed, "seed"),
            per_class=0 if per_class is None else as_int(per_class, "per_class", 1, 2 ** 32 - 1),
            batch=0 if batch is None else as_int(batch, "batch", 1, 2 ** 32 - 1),
            c=as_real(c, "c"), beta=as_real(beta, "beta"), share_majority=bool(share_majority),
            rounded=bool(rounded), drop_last=bool(drop_last))
        flags = (_PSEUDO_GROUPS if pseudo else 0) | (_BEYOND_BOUNDS if beyond_bounds else 0)
        ctx = context()
        with groups.used() as pointer:
            if options.per_class:
                ctx.check(ctx.library.check_beta(ctx.pointer, pointer, options.c, options.beta,
                                                 flags))
            made = call_handle("sampler_new", pointer, ctypes.byref(options))
            groups._acquire()  # until the sampler is freed
        self._groups = groups
        super().__init__(made)
        self._batch: Optional[int] = None
        self._batch = call_handle("batch_new")
        self._drawing = threading.Lock()

    def _freed(self) -> None:
        if self._batch is not None:
            library().batch_close(self._batch)
        self._groups._release()

    def draw(self, step: int, kind: str = "extrapolated") -> Batch:
        """The batch of a step.

        kind is "extrapolated" (every distinct sample once, with a signed weight), "biased",
        "less_biased", "shuffled", "uniform" or "groups".
        """
        if kind not in _DRAWS:
            raise UsageError(f"kind {kind!r} is not one of {', '.join(_DRAWS)}")
        step = as_int(step, "step")
        ctx = context()
        lib = ctx.library
        with self.used() as pointer, self._drawing:
            ctx.check(lib.sampler_draw(ctx.pointer, pointer, _DRAWS.index(kind), step,
                                       self._batch))
            size = (lib.batch_size(self._batch),)
            return Batch(
                copy_out(lib.batch_samples(self._batch), size, np.uint32).astype(np.int64),
                copy_out(lib.batch_weights(self._batch), size, np.float32),
                *((copy_out(lib.batch_biased_weights(self._batch), size, np.float32),
                   copy_out(lib.batch_less_biased_weights(self._batch), size, np.float32))
                  if kind == "extrapolated" else ()))

    def __repr__(self) -> str:
        return f"<gerne.Sampler over {self._groups!r}>"
