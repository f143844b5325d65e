"""Training runs: into a directory, resumed exactly."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, Optional, Union

from ._arrays import as_text
from ._calls import JSON, all_used, context, interruptible, take_text
from .config import Config, ConfigSource
from .dataset import Dataset, fetching
from .errors import UsageError
from .progress import ProgressChoice, shown

__all__ = ["train", "resume"]


def check_dataset(dataset: Any) -> Optional[Dataset]:
    """A Dataset or None."""
    if dataset is not None and not isinstance(dataset, Dataset):
        raise UsageError(f"dataset is a {type(dataset).__name__}, expected gerne.Dataset",
                         "make one with gerne.Dataset(x, y, a, split)")
    return dataset


def _run(function: str, first: Any, dataset: Optional[int],
         progress: ProgressChoice) -> Dict[str, Any]:
    ctx, out = context(), ctypes.c_void_p()
    call = getattr(ctx.library, function)
    with shown(ctx, progress):
        ctx.check(interruptible(
            lambda: call(ctx.pointer, first, dataset, JSON, ctypes.byref(out))))
    return json.loads(take_text(ctx.library, out))


def train(config: ConfigSource = None, dataset: Optional[Dataset] = None, *,
          progress: ProgressChoice = None, **settings: Any) -> Dict[str, Any]:
    """Trains a network into a run directory (key out) and returns its results.json.

    config is a YAML file, a dict or a Config; keyword arguments are sections or keys and win over
    it. dataset holds arrays; without it the section data says what is read. progress shows one
    line: True, False, None (in a terminal or a notebook) or a function (what, done, total, detail)
    that may return True to stop.

    Ctrl-C saves the run and raises KeyboardInterrupt; gerne.resume continues it exactly.

    >>> import gerne, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = gerne.train(data={"format": "synthetic", "n": 400, "size": 8},
    ...                           train={"epochs": 1}, out=folder + "/run", threads=1)
    >>> results["method"], 0 <= results["splits"]["test"]["wga"] <= 1
    ('gerne', True)
    """
    check_dataset(dataset)
    with Config(config, **settings) as made, all_used(config=made, dataset=dataset) as used, \
            fetching(dataset):
        return _run("train", used["config"], used["dataset"], progress)


def resume(directory: Union[str, "os.PathLike[str]"], dataset: Optional[Dataset] = None, *,
           progress: ProgressChoice = None) -> Dict[str, Any]:
    """Continues a run exactly where it stopped, with the same bits as without the interruption,
    and returns its results; a finished run is left alone. A run on arrays needs the same arrays.
    """
    check_dataset(dataset)
    path = as_text(directory, "directory")
    with all_used(dataset=dataset) as used, fetching(dataset):
        return _run("resume", path, used["dataset"], progress)
