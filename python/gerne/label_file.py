"""Labels of a CSV file: an audit without reading samples."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Optional, Union

from ._arrays import as_text
from ._calls import Handle, call_document, call_handle
from ._library import LabelColumns
from .errors import UsageError

__all__ = ["audit_file"]

MISSING = ("error", "drop", "group")


class _Labels(Handle):
    _kind = "Labels"
    _closer = "labels_close"


def audit_file(path: Union[str, "os.PathLike[str]"], y: str = "y", a: Optional[str] = None, *,
               split: Optional[str] = None, missing: str = "error", text: bool = False,
               split_column: Optional[str] = None) -> Any:
    """How biased the columns y and a of a CSV file are, as `gerne audit FILE.csv` prints it.

    Without a, and without a column "a", the other columns are ranked by how well they predict the
    class, and the first one is audited. split is a value of the split column (default: the
    training rows, if there are any), or "all"; split_column names that column (default: "split",
    if there is one). missing says what happens to rows with an empty
    class or attribute: "error", "drop" or "group".

    >>> import gerne, tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("bird,place\\n" + "land,wood\\n" * 95 + "land,sea\\n" * 5
    ...                    + "water,sea\\n" * 95 + "water,wood\\n" * 5)
    ...     file.flush()
    ...     gerne.audit_file(file.name, "bird", "place")["verdict"]
    'strongly biased'
    """
    if missing not in MISSING:
        raise UsageError(f"missing is {missing!r}, expected one of {', '.join(MISSING)}")
    columns = LabelColumns(
        size=ctypes.sizeof(LabelColumns), y=as_text(y, "y"),
        a=None if a is None else as_text(a, "a"),
        split=None if split is None else as_text(split, "split"), missing=MISSING.index(missing),
        split_column=None if split_column is None else as_text(split_column, "split_column"))
    opened = call_handle("labels_open", as_text(path, "path"), ctypes.byref(columns))
    with _Labels(opened) as labels, labels.used() as pointer:
        return call_document("labels_audit", pointer, text=text)
