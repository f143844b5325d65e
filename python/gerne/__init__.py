"""Train, evaluate and audit classifiers that do not rely on spurious correlations.

>>> import gerne
>>> report = gerne.audit([[3498, 184], [56, 1057]])    # Waterbirds: classes by background
>>> report["verdict"], round(report["cramers_v"], 2)
('strongly biased', 0.87)

gerne.Classifier is a scikit-learn estimator, gerne.torch.BatchSampler makes an existing PyTorch
loop train by GERNE, gerne.train and gerne.load are the program's `train` and `predict`.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

from ._library import library as _loaded
from ._version import __version__
from .config import Config
from .dataset import Dataset
from .errors import (
    DataError, Diverged, FileError, GerneError, InternalError, Interrupted, LibraryError,
    NothingFound, OutOfMemory, Unsupported, UsageError,
)
from .groups import Groups, audit, bounds
from .label_file import audit_file
from .metrics import compare, evaluate, table
from .model import Model, Predictions, load
from .pseudo import pseudo_groups, pseudo_quality
from .sampler import Batch, Sampler
from .training import resume, train

if TYPE_CHECKING:
    from . import torch
    from .classifier import Classifier

__all__ = [
    "Batch", "Classifier", "Config", "DataError", "Dataset", "Diverged", "FileError", "GerneError",
    "Groups", "InternalError", "Interrupted", "LibraryError", "Model", "NothingFound",
    "OutOfMemory", "Predictions", "Sampler", "Unsupported", "UsageError", "__version__", "audit",
    "audit_file", "bounds", "compare", "evaluate", "library_path", "load", "pseudo_groups",
    "pseudo_quality", "resume", "table", "torch", "train",
]


def library_path() -> str:
    """The path of the library that is used."""
    return _loaded().path


def __getattr__(name: str) -> Any:
    """Classifier and torch are imported when they are used: scikit-learn takes a second to load."""
    if name == "Classifier":
        from .classifier import Classifier
        return Classifier
    if name == "torch":
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'gerne' has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
