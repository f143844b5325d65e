"""Exceptions: one class for each status of the library, each also the built-in one it resembles.

>>> import gerne
>>> try:
...     gerne.bounds([[90, 10], [10, 90]], c=2)
... except ValueError as error:
...     print(type(error).__name__, "-", error.message)
UsageError - c 2 is outside (0, 1]
"""
from __future__ import annotations

from typing import Dict, Tuple, Type

__all__ = [
    "GerneError", "UsageError", "DataError", "FileError", "OutOfMemory", "Unsupported",
    "Diverged", "Interrupted", "InternalError", "NothingFound", "LibraryError",
]


class GerneError(Exception):
    """Something failed.

    `message` says what, `hint` what to do about it ("" if there is nothing to add) and `status` is
    the library's short name of the kind of failure.
    """

    status = "failed"

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    def __reduce__(self) -> Tuple[Type["GerneError"], Tuple[str, str]]:
        return type(self), (self.message, self.hint)


class UsageError(GerneError, ValueError):
    """A wrong argument or configuration."""

    status = "wrong usage"


class DataError(GerneError, ValueError):
    """The contents of a file or of an array are wrong."""

    status = "bad data"


class FileError(GerneError, OSError):
    """The system refused to read or write."""

    status = "input or output failed"


class OutOfMemory(GerneError, MemoryError):
    """There is not enough memory."""

    status = "out of memory"


class Unsupported(GerneError, NotImplementedError):
    """This machine or build cannot do it."""

    status = "not supported"


class Diverged(GerneError, ArithmeticError):
    """The training loss is no longer finite."""

    status = "diverged"


class Interrupted(GerneError):
    """A progress function asked to stop. (Ctrl-C raises KeyboardInterrupt.)"""

    status = "interrupted"


class InternalError(GerneError, RuntimeError):
    """A mistake in the library."""

    status = "internal error"


class NothingFound(GerneError, LookupError):
    """Training went well, but found no errors or groups to use."""

    status = "nothing found"


class LibraryError(GerneError, ImportError):
    """libgerne is missing, cannot be loaded, or is of another version."""

    status = "no library"


# The order of gerne_status; 0 is success.
BY_STATUS: Dict[int, Type[GerneError]] = dict(enumerate(
    (UsageError, DataError, FileError, OutOfMemory, Unsupported, Diverged, Interrupted,
     InternalError, NothingFound), start=1))
