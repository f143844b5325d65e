"""Samples that the caller keeps: a function of theirs behind the library's callback."""
from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional, Tuple

import numpy as np

from ._library import FETCH_FN
from .errors import GerneError, UsageError


class Fetch:
    """Calls function(index) for the library and copies the array that it returns.

    An exception cannot unwind through C: it is kept, and `raised` raises it once the library has
    come back.
    """

    def __init__(self, function: Callable[[int], Any], shape: Tuple[int, ...], dtype: Any) -> None:
        self.take, self.shape, self.dtype = function, shape, np.dtype(dtype)
        self.bytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.error: Optional[BaseException] = None
        self.function = FETCH_FN(self.call)

    def call(self, _user: Any, index: int, sample: int) -> int:
        try:
            values = self.checked(index)
            ctypes.memmove(sample, values.ctypes.data, self.bytes)
            return 0
        except BaseException as error:
            self.error = self.error or error
            return 1

    def checked(self, index: int) -> np.ndarray:
        values = np.asarray(self.take(index))
        if values.shape != self.shape:
            raise UsageError(f"sample {index} has shape {values.shape}, expected {self.shape}")
        if self.dtype == np.uint8 and values.dtype != np.uint8:
            raise UsageError(f"sample {index} has dtype {values.dtype}, expected uint8")
        if values.dtype.kind not in "biuf":
            raise UsageError(f"sample {index} has dtype {values.dtype}, expected numbers")
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(values, dtype=self.dtype)


@contextmanager
def raised(fetch: Optional[Fetch]) -> Iterator[None]:
    """Raises what the function of a fetch has raised in the place of the library's exception."""
    try:
        yield
    except GerneError:
        error = fetch.error if fetch is not None else None
        if error is None:
            raise
        fetch.error = None  # type: ignore[union-attr]
        raise error from None
