"""Arrays of the caller as the library wants them: without a copy where type and layout allow."""
from __future__ import annotations

import ctypes
import os
from typing import Any, List, Optional, Sequence, Sized, Tuple

import numpy as np

from .errors import UsageError


def address(array: Optional[np.ndarray]) -> Optional[int]:
    """Where the values of a contiguous array start; None stays NULL."""
    return None if array is None else array.ctypes.data


def as_array(values: Any, what: str) -> np.ndarray:
    """Whatever numpy makes of it; rows of different lengths and masked values are refused."""
    if np.ma.is_masked(values):
        raise UsageError(f"{what} has masked values", "fill them, or leave these samples out")
    try:
        return np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{what} is not an array: {error}") from None


def contiguous(array: np.ndarray, dtype: Any) -> np.ndarray:
    """As the library reads it: in C order, and aligned, which a view of a buffer may not be."""
    return np.require(array, dtype=dtype, requirements=["C", "A", "E"])


def as_numbers(values: Any, what: str, ndim: int, dtype: Any) -> np.ndarray:
    """A finite, C-contiguous array of a real type.

    >>> x = np.zeros((2, 3), dtype=np.float32)
    >>> as_numbers(x, "x", 2, np.float32) is x
    True
    >>> as_numbers([["a"]], "x", 2, np.float32)
    Traceback (most recent call last):
    gerne.errors.UsageError: x has dtype <U1, expected numbers
    """
    if values is None:
        raise UsageError(f"{what} is None, expected an array of numbers")
    array = as_array(values, what)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{what} has objects that are not numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{what} has dtype {array.dtype}, expected numbers")
    if array.ndim != ndim:
        raise UsageError(f"{what} has {array.ndim} dimensions, expected {ndim}")
    if 0 in array.shape:
        raise UsageError(f"{what} is empty: its shape is {array.shape}")
    with np.errstate(over="ignore"):
        array = contiguous(array, dtype)
    _check_finite(array, what)
    return array


def _check_finite(array: np.ndarray, what: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum(dtype=array.dtype)  # one pass without a temporary array
    if array.dtype.kind != "f" or np.isfinite(total):
        return
    flat = array.reshape(-1)
    for start in range(0, flat.size, 1 << 20):
        wrong = ~np.isfinite(flat[start:start + (1 << 20)])
        if wrong.any():
            index = np.unravel_index(start + int(np.argmax(wrong)), array.shape)
            place = ", ".join(map(str, index))
            raise UsageError(f"{what}[{place}] is {array[index]}: NaN and infinite values "
                             f"(or too large for {array.dtype}) are not allowed")


def as_text(value: Any, what: str) -> bytes:
    """A text for the library: UTF-8 without NUL."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    if not isinstance(value, str):
        raise UsageError(f"{what} is a {type(value).__name__}, expected a text")
    if "\0" in value:
        raise UsageError(f"{what} contains a NUL character")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not valid Unicode: {value!r}") from None


def text_array(texts: Optional[Sequence[str]], what: str) -> Any:
    """An array of C strings; keep it for as long as the library reads it. None stays None."""
    if texts is None:
        return None
    encoded = [as_text(t, f"{what}[{i}]") for i, t in enumerate(texts)]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def copy_out(pointer: Optional[int], shape: Tuple[int, ...], dtype: Any) -> np.ndarray:
    """A copy of an array that belongs to the library."""
    count = int(np.prod(shape, dtype=np.int64))
    if not pointer or count == 0:
        return np.zeros(shape, dtype=dtype)
    data = ctypes.string_at(pointer, count * np.dtype(dtype).itemsize)
    return np.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


def as_int(value: Any, what: str, low: int = 0, high: int = 2 ** 64 - 1) -> int:
    """A whole number inside [low, high].

    >>> as_int(True, "seed")
    Traceback (most recent call last):
    gerne.errors.UsageError: seed is a bool, expected a whole number
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise UsageError(f"{what} is a {type(value).__name__}, expected a whole number")
    if not low <= value <= high:
        raise UsageError(f"{what} = {value} is outside [{low}, {high}]")
    return int(value)


def as_list(values: Any, what: str) -> List[Any]:
    """The items of a list, tuple or array.

    >>> as_list(3, "shape")
    Traceback (most recent call last):
    gerne.errors.UsageError: shape is a int, expected a list
    """
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, (Sequence, np.ndarray)) \
            or as_array(values, what).ndim != 1:
        raise UsageError(f"{what} is a {type(values).__name__}, expected a list")
    return list(values)


def as_real(value: Any, what: str) -> float:
    """A real number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)) \
            or isinstance(value, (complex, np.complexfloating)):
        raise UsageError(f"{what} is a {type(value).__name__}, expected a number")
    return float(value)


def same_length(n: int, other: Optional[Sized], what: str, first: str = "y") -> None:
    """Refuses another number of samples."""
    if other is not None and len(other) != n:
        raise UsageError(f"{first} has {n} samples, {what} has {len(other)}")
