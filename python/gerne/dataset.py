"""Datasets: arrays in memory, or what the section data of a configuration describes."""
from __future__ import annotations

import ctypes
from typing import Any, Callable, ContextManager, List, Optional, Sequence, Tuple

import numpy as np

from ._arrays import (
    address, as_array, as_int, as_list, as_numbers, copy_out, same_length, text_array,
)
from ._calls import Handle, call_document, call_handle, names_of
from ._fetch import Fetch, raised
from ._labels import Labels
from ._library import Arrays, library
from .config import Config, ConfigSource
from .errors import UsageError
from .groups import Groups

__all__ = ["Dataset"]

SPLITS = ("train", "val", "test", "all")


def split_number(split: Any) -> int:
    """A gerne_split of its name."""
    if not isinstance(split, str) or split not in SPLITS:
        raise UsageError(f"split {split!r} is not one of {', '.join(SPLITS)}")
    return SPLITS.index(split)


def _as_splits(split: Any, n: int) -> Optional[np.ndarray]:
    """0, 1, 2 or "train", "val", "test" for each sample."""
    if split is None:
        return None
    labels = Labels(split, "split")
    names = {name: i for i, name in enumerate(SPLITS[:3])}
    names.update({str(i): i for i in range(3)})
    unknown = [name for name in labels.names if name not in names]
    if unknown:
        raise UsageError(f"split has the value '{unknown[0]}', expected train, val and test, or 0, "
                         "1 and 2")
    same_length(n, labels, "split", "x")
    return np.array([names[name] for name in labels.names], dtype=np.uint8)[labels.codes]


def _is_texts(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "U" or (x.dtype.kind == "O" and x.ndim == 1 and x.size > 0
                                       and isinstance(x[0], str))
    return (isinstance(x, (list, tuple)) and len(x) > 0
            and (isinstance(x[0], str)
                 or (isinstance(x[0], tuple) and len(x[0]) == 2 and isinstance(x[0][0], str))))


class Dataset(Handle):
    """Samples with their labels.

    x is a matrix of features [n][dimension], an array of 8-bit images [n][height][width][3] (red,
    green, blue), or a list of texts (of pairs of texts). y, a and split hold one label per sample:
    classes, attributes (None if unknown) and train, val or test (or 0, 1, 2; None: all train, or
    all test without y). Features in a C-contiguous float32 array and images are not copied: do not
    change them while the dataset is in use.

    >>> import numpy as np, gerne
    >>> x = np.zeros((4, 2), dtype=np.float32)
    >>> data = gerne.Dataset(x, y=["cat", "dog", "cat", "dog"], split=[0, 0, 1, 1])
    >>> data.count("train"), data.class_names, data.attribute_names
    (2, ['cat', 'dog'], [])
    """

    _kind = "Dataset"
    _closer = "dataset_close"
    _fetch: Optional[Fetch] = None

    def __init__(self, x: Any, y: Any = None, a: Any = None, split: Any = None, *,
                 classes: Optional[Sequence[Any]] = None,
                 attributes: Optional[Sequence[Any]] = None) -> None:
        arrays = Arrays(size=ctypes.sizeof(Arrays))
        self._make(arrays, _samples(x, arrays), y, a, split, classes, attributes)

    def _make(self, arrays: Arrays, samples: Any, y: Any, a: Any, split: Any,
              classes: Optional[Sequence[Any]], attributes: Optional[Sequence[Any]]) -> None:
        """From samples that arrays describe already, and labels."""
        kept: List[Any] = [samples]
        n = arrays.n
        splits = _as_splits(split, n)
        arrays.split = address(splits)
        for what, values, known in (("y", y, classes), ("a", a, attributes)):
            if values is None:
                continue
            labels = values if isinstance(values, Labels) else Labels(values, what, known)
            same_length(n, labels, what, "x")
            kind = "class" if what == "y" else "attribute"
            names = text_array(labels.names, kind)
            setattr(arrays, what, address(labels.codes))
            setattr(arrays, "classes" if what == "y" else "attributes", labels.count)
            setattr(arrays, f"{kind}_names", ctypes.cast(names, ctypes.c_void_p))
            kept += [labels, names]
        self._kept = (kept, splits, arrays)
        super().__init__(call_handle("dataset_from_arrays", ctypes.byref(arrays)))

    @classmethod
    def from_function(cls, fetch: Callable[[int], Any], n: int, y: Any = None, a: Any = None,
                      split: Any = None, *, dimension: Optional[int] = None,
                      size: Optional[Tuple[int, int]] = None,
                      classes: Optional[Sequence[Any]] = None,
                      attributes: Optional[Sequence[Any]] = None) -> "Dataset":
        """Samples that stay with the caller: fetch(i) returns the features of sample i (dimension
        numbers) or, with size=(height, width), its pixels [height][width][3], dtype uint8.

        fetch is called in any order, from several threads, perhaps more than once for a sample, and
        has to return the same each time. Features are fetched once; pixels beyond
        data.memory_limit, once an epoch. What it raises, train and predict raise.

        >>> import numpy as np, gerne
        >>> data = gerne.Dataset.from_function(lambda i: np.full(3, i), 4, y=[0, 1, 0, 1],
        ...                                    dimension=3)
        >>> data
        <gerne.Dataset: 4 train, 0 val, 0 test, 2 classes>
        """
        if not callable(fetch):
            raise UsageError(f"fetch is a {type(fetch).__name__}, expected a function")
        if (dimension is None) == (size is None):
            raise UsageError("one of dimension (features) and size (pixels) is required")
        arrays = Arrays(size=ctypes.sizeof(Arrays), n=as_int(n, "n", 1, 2 ** 32 - 2))
        if size is None:
            arrays.dimension = as_int(dimension, "dimension", 1, 2 ** 24)
            source = Fetch(fetch, (arrays.dimension,), np.float32)
        else:
            sides = [as_int(side, "a side of size", 1, 2 ** 14) for side in as_list(size, "size")]
            if len(sides) != 2:
                raise UsageError(f"size has {len(sides)} numbers, expected height and width")
            arrays.height, arrays.width = sides
            source = Fetch(fetch, (*sides, 3), np.uint8)
        arrays.fetch = ctypes.cast(source.function, ctypes.c_void_p)
        dataset = cls.__new__(cls)
        dataset._fetch = source
        dataset._make(arrays, source, y, a, split, classes, attributes)
        return dataset

    @classmethod
    def open(cls, config: ConfigSource = None, **settings: Any) -> "Dataset":
        """What the section data of a configuration describes: files, folders, generated data.

        >>> import gerne
        >>> with gerne.Dataset.open(data={"format": "synthetic", "n": 400}) as data:
        ...     data.count("train"), len(data.class_names)
        (400, 4)
        """
        dataset = cls.__new__(cls)
        with Config(config, **settings) as made, made.used() as pointer:
            Handle.__init__(dataset, call_handle("dataset_open", pointer))
        return dataset

    def count(self, split: str = "all") -> int:
        """Samples of a split: train, val, test or all."""
        number = split_number(split)
        with self.used() as pointer:
            return int(library().dataset_count(pointer, number))

    def __len__(self) -> int:
        return self.count()

    @property
    def class_names(self) -> List[str]:
        """Names of the classes in order; empty for unlabelled data."""
        with self.used() as pointer:
            return names_of(pointer, "dataset_classes", "dataset_class_name")

    @property
    def attribute_names(self) -> List[str]:
        """Names of the attributes in order; empty if they are unknown."""
        with self.used() as pointer:
            return names_of(pointer, "dataset_attributes", "dataset_attribute_name")

    def _labels(self, function: str, dtype: Any) -> Optional[np.ndarray]:
        lib = library()
        with self.used() as pointer:
            values = getattr(lib, function)(pointer)
            return copy_out(values, (lib.dataset_count(pointer, 3),), dtype) if values else None

    @property
    def y(self) -> Optional[np.ndarray]:
        """Classes of all samples as indices into class_names; None for unlabelled data."""
        return self._labels("dataset_y", np.int32)

    @property
    def a(self) -> Optional[np.ndarray]:
        """Attributes of all samples as indices into attribute_names; None if unknown."""
        return self._labels("dataset_a", np.int32)

    @property
    def split(self) -> np.ndarray:
        """Splits of all samples: 0 train, 1 val, 2 test."""
        split = self._labels("dataset_split", np.uint8)
        assert split is not None
        return split

    def groups(self, split: str = "train") -> Groups:
        """The groups of a split."""
        number = split_number(split)
        with self.used() as pointer:
            made = call_handle("dataset_groups", pointer, number)
        return Groups._from_pointer(made, self.class_names, self.attribute_names or ["all"])

    def audit(self, split: str = "train", *, text: bool = False) -> Any:
        """How biased a split is; see gerne.audit."""
        number = split_number(split)
        with self.used() as pointer:
            return call_document("dataset_audit", pointer, number, text=text)

    def __repr__(self) -> str:
        if self._closed:
            return "<gerne.Dataset, closed>"
        counts = ", ".join(f"{self.count(s)} {s}" for s in SPLITS[:3])
        return f"<gerne.Dataset: {counts}, {len(self.class_names)} classes>"


def fetching(dataset: Optional[Dataset]) -> ContextManager[None]:
    """While the library reads samples: what a function of the caller raises is raised."""
    return raised(dataset._fetch if dataset is not None else None)


def _samples(x: Any, arrays: Arrays) -> Any:
    """Describes the samples in arrays; returns what has to be kept."""
    if _is_texts(x):
        pairs = not isinstance(x[0], str)
        for i, item in enumerate(x):
            if pairs and not (isinstance(item, tuple) and len(item) == 2):
                raise UsageError(f"x[{i}] is not a pair of texts")
        first = text_array([t[0] if pairs else t for t in x], "x")
        second = text_array([t[1] for t in x], "x") if pairs else None
        arrays.n, arrays.texts = len(x), ctypes.cast(first, ctypes.c_void_p)
        arrays.pairs = ctypes.cast(second, ctypes.c_void_p) if pairs else None
        return first, second
    if isinstance(x, np.ndarray) and x.dtype == np.uint8 and x.ndim == 4:
        if x.shape[3] != 3 or 0 in x.shape:
            raise UsageError(f"x has shape {x.shape}, expected images [n][height][width][3]")
        pixels = np.ascontiguousarray(x)
        arrays.n, arrays.height, arrays.width = pixels.shape[:3]
        arrays.pixels = address(pixels)
        return pixels
    if as_array(x, "x").ndim == 4:
        raise UsageError("x has 4 dimensions, but images are arrays of dtype uint8")
    features = as_numbers(x, "x", 2, np.float32)
    arrays.n, arrays.dimension = features.shape
    arrays.features = address(features)
    return features
