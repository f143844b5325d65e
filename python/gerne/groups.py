"""Groups: the cells (class, attribute) of a dataset, and how biased they are."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np

from ._arrays import address, as_array, as_real, contiguous, same_length, text_array
from ._calls import Handle, call_document, call_handle, call_json, context
from ._labels import Labels
from ._library import library
from .errors import UsageError

__all__ = ["Groups", "bounds", "audit"]


def _target_text(target: Any) -> bytes:
    """As the key method.target is typed."""
    if isinstance(target, str):
        return target.encode()
    rows = np.atleast_2d(np.asarray(target, dtype=np.float64))
    return ";".join(",".join(repr(float(share)) for share in row) for row in rows).encode()


class Groups(Handle):
    """The samples of class y with attribute a, for every y and a.

    y and a are labels of any kind, one per sample; without a, a class is one group.

    >>> import gerne
    >>> groups = gerne.Groups(["cat", "cat", "cat", "dog"], ["day", "day", "night", "night"])
    >>> groups.counts
    array([[2, 1],
           [0, 1]])
    >>> groups.class_names, groups.attribute_names
    (['cat', 'dog'], ['day', 'night'])

    target says what counts as balance in bounds and samplers: "uniform", equal groups of a class;
    "marginal", in every class the attributes of all classes together; or shares, [attributes] or
    [classes][attributes].

    >>> skewed = gerne.Groups.from_counts([[90, 10], [30, 70]], target="marginal")
    >>> [round(share, 3) for share in gerne.bounds(skewed, c=1)["p_lb"][0]]
    [0.6, 0.4]
    """

    _kind = "Groups"
    _closer = "groups_close"

    def __init__(self, y: Any, a: Any = None, *, keep_empty: bool = False,
                 target: Any = "uniform") -> None:
        classes = Labels(y, "y")
        attributes = Labels(a, "a") if a is not None else None
        same_length(len(classes), attributes, "a")
        super().__init__(call_handle(
            "groups_from_labels", address(classes.codes),
            address(attributes.codes) if attributes else None, len(classes), classes.count,
            attributes.count if attributes else 1))
        self._name(classes.names, attributes.names if attributes else ["all"], keep_empty,
                   target)

    @classmethod
    def from_counts(cls, counts: Any, *, keep_empty: bool = False,
                    target: Any = "uniform") -> "Groups":
        """From a table of counts [classes][attributes]: enough for bounds and audits, not for
        drawing samples.

        >>> Groups.from_counts([[3498, 184], [56, 1057]]).alpha.round(3)
        array([[0.95, 0.05],
               [0.05, 0.95]])
        """
        table = as_counts(counts)
        groups = cls.__new__(cls)
        Handle.__init__(groups, call_handle("groups_from_counts", address(table), *table.shape))
        groups._name([str(k) for k in range(table.shape[0])],
                     [str(k) for k in range(table.shape[1])], keep_empty, target)
        return groups

    @classmethod
    def _from_pointer(cls, pointer: int, class_names: List[str],
                      attribute_names: List[str]) -> "Groups":
        groups = cls.__new__(cls)
        Handle.__init__(groups, pointer)
        groups.class_names, groups.attribute_names = class_names, attribute_names
        return groups

    def _name(self, class_names: List[str], attribute_names: List[str], keep_empty: bool,
              target: Any) -> None:
        self.class_names, self.attribute_names = class_names, attribute_names
        ctx = context()
        with self.used() as pointer:
            ctx.check(ctx.library.groups_set_names(
                ctx.pointer, pointer, text_array(class_names, "class"),
                text_array(attribute_names, "attribute")))
            ctx.library.groups_keep_empty(pointer, bool(keep_empty))
            ctx.check(ctx.library.groups_set_target(ctx.pointer, pointer, _target_text(target)))

    def _table(self, function: str, dtype: Any) -> np.ndarray:
        cell = getattr(library(), function)
        with self.used() as pointer:
            return np.array([[cell(pointer, y, a) for a in range(len(self.attribute_names))]
                             for y in range(len(self.class_names))], dtype=dtype)

    @property
    def counts(self) -> np.ndarray:
        """Samples of each group, [classes][attributes]."""
        return self._table("groups_count", np.int64)

    @property
    def alpha(self) -> np.ndarray:
        """Share of each group inside its class, [classes][attributes]."""
        return self._table("groups_alpha", np.float64)

    def __len__(self) -> int:
        with self.used() as pointer:
            return int(library().groups_total(pointer))

    def __repr__(self) -> str:
        if self._closed:
            return "<gerne.Groups, closed>"
        return (f"<gerne.Groups: {len(self)} samples, {len(self.class_names)} classes, "
                f"{len(self.attribute_names)} attributes>")


def as_counts(counts: Any, what: str = "counts") -> np.ndarray:
    """A table of counts [classes][attributes]."""
    table = as_array(counts, what)
    if table.ndim != 2 or 0 in table.shape:
        raise UsageError(f"{what} has shape {table.shape}, expected [classes][attributes]")
    if table.dtype.kind not in "iu":
        raise UsageError(f"{what} has dtype {table.dtype}, expected whole numbers")
    if table.max(initial=0) > np.iinfo(np.int64).max:
        raise UsageError(f"{what} has a number that does not fit 64 bits")
    return contiguous(table, np.int64)


def as_groups(value: Any, a: Any = None) -> Groups:
    """Groups themselves, labels y and a, or a table of counts."""
    if isinstance(value, Groups):
        if a is not None:
            raise UsageError("a is given twice: the groups have attributes already")
        return value
    if a is None and as_array(value, "the table of counts, or y,").ndim == 2:
        return Groups.from_counts(value)
    return Groups(value, a)


def bounds(groups: Union[Groups, Sequence[Sequence[int]]], *, c: float = 0.5,
           beta: Optional[float] = None) -> Dict[str, Any]:
    """The bounds of beta, as `gerne bounds --json` prints them.

    groups is a Groups object or a table of counts [classes][attributes].

    >>> import gerne
    >>> answer = gerne.bounds([[3498, 184], [56, 1057]], c=0.5)
    >>> round(answer["beta_max"], 3), answer["binding"]["y"], answer["binding"]["a"]
    (3.222, 0, 0)
    """
    factor = ctypes.c_double(as_real(beta, "beta")) if beta is not None else None
    c = as_real(c, "c")
    with as_groups(groups).used() as pointer:
        return call_json("bounds_json", pointer, c,
                         ctypes.byref(factor) if factor is not None else None)


def audit(y: Any, a: Any = None, *, text: bool = False) -> Any:
    """How biased the data is: association, smallest groups, bounds of beta, a verdict.

    Takes labels y and a, a Groups object, or a table of counts. Returns the dict that
    `gerne audit --json` prints, or with text=True what it prints for people.

    >>> import gerne
    >>> gerne.audit([[95, 5], [5, 95]])["verdict"]
    'strongly biased'
    """
    with as_groups(y, a).used() as pointer:
        return call_document("audit", pointer, text=text)
