"""Finding and loading libgerne, and the prototypes of its functions.

The library is loaded when the first call needs it, so that `import gerne` is quick and works where
the library is still to be built.
"""
from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint,
    c_uint32, c_uint64, c_void_p,
)
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._version import __version__
from .errors import LibraryError

NAME = "libgerne.so.0"


class Progress(Structure):
    """gerne_progress"""

    _fields_ = [("what", c_char_p), ("done", c_uint64), ("total", c_uint64), ("detail", c_char_p)]


class SamplerOptions(Structure):
    """gerne_sampler_options"""

    _fields_ = [("seed", c_uint64), ("per_class", c_uint32), ("batch", c_uint32), ("c", c_double),
                ("beta", c_double), ("share_majority", c_bool), ("rounded", c_bool),
                ("drop_last", c_bool)]


class Predicted(Structure):
    """gerne_predicted"""

    _fields_ = [("size", c_size_t), ("n", c_size_t), ("classes", c_uint32),
                ("attributes", c_uint32), ("y", c_void_p), ("a", c_void_p), ("pred", c_void_p),
                ("probabilities", c_void_p), ("class_names", c_void_p),
                ("attribute_names", c_void_p), ("train_counts", c_void_p), ("name", c_char_p)]


class Arrays(Structure):
    """gerne_arrays"""

    _fields_ = [("size", c_size_t), ("n", c_size_t), ("features", c_void_p),
                ("dimension", c_size_t), ("pixels", c_void_p), ("height", c_size_t),
                ("width", c_size_t), ("texts", c_void_p), ("pairs", c_void_p),
                ("fetch", c_void_p), ("user", c_void_p), ("y", c_void_p), ("a", c_void_p),
                ("split", c_void_p), ("classes", c_uint32), ("attributes", c_uint32),
                ("class_names", c_void_p), ("attribute_names", c_void_p)]


class Tensor(Structure):
    """gerne_tensor"""

    _fields_ = [("size", c_size_t), ("name", c_char_p), ("type", c_char_p), ("count", c_size_t),
                ("ndims", c_size_t), ("dims", c_int64 * 8)]


class ExportOptions(Structure):
    """gerne_export_options"""

    _fields_ = [("size", c_size_t), ("onnx", c_char_p), ("safetensors", c_char_p),
                ("fp16", c_bool), ("features", c_bool), ("overwrite", c_bool),
                ("shape", c_void_p), ("shape_count", c_size_t), ("normalize", c_char_p)]


class LabelColumns(Structure):
    """gerne_label_columns"""

    _fields_ = [("size", c_size_t), ("y", c_char_p), ("a", c_char_p), ("split", c_char_p),
                ("missing", c_int), ("split_column", c_char_p)]


class PseudoQuality(Structure):
    """gerne_pseudo_quality"""

    _fields_ = [("t", c_double), ("hard", c_uint64), ("precision", c_double), ("recall", c_double)]


LOG_FN = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
PROGRESS_FN = CFUNCTYPE(c_int, c_void_p, POINTER(Progress))
FETCH_FN = CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p)

_HANDLE = c_void_p  # an opaque pointer
_OUT = POINTER(c_void_p)  # where a call puts a handle or a text
_STATUS = c_int

# Result and arguments of every function that the package calls.
PROTOTYPES: Dict[str, Tuple[Optional[type], Tuple[type, ...]]] = {
    "version": (c_char_p, ()),
    "free": (None, (c_void_p,)),
    "ctx_new": (_STATUS, (_OUT,)),
    "ctx_close": (None, (_HANDLE,)),
    "message": (c_char_p, (_HANDLE,)),
    "hint": (c_char_p, (_HANDLE,)),
    "set_log": (None, (_HANDLE, LOG_FN, c_void_p)),
    "set_progress": (None, (_HANDLE, PROGRESS_FN, c_void_p)),
    "stop": (None, (_HANDLE,)),
    "unstop": (None, (_HANDLE,)),
    "groups_from_counts": (_STATUS, (_HANDLE, c_void_p, c_uint32, c_uint32, _OUT)),
    "groups_from_labels": (_STATUS, (_HANDLE, c_void_p, c_void_p, c_size_t, c_uint32, c_uint32,
                                     _OUT)),
    "groups_close": (None, (_HANDLE,)),
    "groups_set_names": (_STATUS, (_HANDLE, _HANDLE, c_void_p, c_void_p)),
    "groups_keep_empty": (None, (_HANDLE, c_bool)),
    "groups_set_target": (_STATUS, (_HANDLE, _HANDLE, c_char_p)),
    "groups_classes": (c_uint32, (_HANDLE,)),
    "groups_attributes": (c_uint32, (_HANDLE,)),
    "groups_total": (c_uint64, (_HANDLE,)),
    "groups_count": (c_uint64, (_HANDLE, c_uint32, c_uint32)),
    "groups_alpha": (c_double, (_HANDLE, c_uint32, c_uint32)),
    "bounds_json": (_STATUS, (_HANDLE, _HANDLE, c_double, POINTER(c_double), _OUT)),
    "check_beta": (_STATUS, (_HANDLE, _HANDLE, c_double, c_double, c_uint)),
    "sampler_new": (_STATUS, (_HANDLE, _HANDLE, POINTER(SamplerOptions), _OUT)),
    "sampler_close": (None, (_HANDLE,)),
    "batch_new": (_STATUS, (_HANDLE, _OUT)),
    "batch_close": (None, (_HANDLE,)),
    "sampler_draw": (_STATUS, (_HANDLE, _HANDLE, c_int, c_uint64, _HANDLE)),
    "batch_size": (c_size_t, (_HANDLE,)),
    "batch_samples": (c_void_p, (_HANDLE,)),
    "batch_weights": (c_void_p, (_HANDLE,)),
    "batch_biased_weights": (c_void_p, (_HANDLE,)),
    "batch_less_biased_weights": (c_void_p, (_HANDLE,)),
    "pseudo_new": (_STATUS, (_HANDLE, c_void_p, c_void_p, c_size_t, c_uint32, _OUT)),
    "pseudo_close": (None, (_HANDLE,)),
    "pseudo_assign": (_STATUS, (_HANDLE, _HANDLE, c_double, c_bool, c_void_p)),
    "pseudo_judge": (_STATUS, (_HANDLE, _HANDLE, c_void_p, c_uint32, c_void_p, c_size_t, c_bool,
                               c_void_p)),
    "audit": (_STATUS, (_HANDLE, _HANDLE, c_int, _OUT)),
    "evaluate": (_STATUS, (_HANDLE, POINTER(Predicted), c_void_p, c_int, _OUT)),
    "compare": (_STATUS, (_HANDLE, POINTER(Predicted), POINTER(Predicted), c_uint64, c_int, _OUT)),
    "config_new": (_STATUS, (_HANDLE, _OUT)),
    "config_close": (None, (_HANDLE,)),
    "config_set": (_STATUS, (_HANDLE, _HANDLE, c_char_p, c_char_p)),
    "config_read": (_STATUS, (_HANDLE, _HANDLE, c_char_p)),
    "config_parse": (_STATUS, (_HANDLE, _HANDLE, c_char_p)),
    "config_get": (_STATUS, (_HANDLE, _HANDLE, c_char_p, _OUT)),
    "config_yaml": (_STATUS, (_HANDLE, _HANDLE, _OUT)),
    "config_keys": (_STATUS, (_HANDLE, _OUT)),
    "dataset_from_arrays": (_STATUS, (_HANDLE, POINTER(Arrays), _OUT)),
    "dataset_open": (_STATUS, (_HANDLE, _HANDLE, _OUT)),
    "dataset_close": (None, (_HANDLE,)),
    "dataset_count": (c_size_t, (_HANDLE, c_int)),
    "dataset_classes": (c_uint32, (_HANDLE,)),
    "dataset_attributes": (c_uint32, (_HANDLE,)),
    "dataset_class_name": (c_char_p, (_HANDLE, c_uint32)),
    "dataset_attribute_name": (c_char_p, (_HANDLE, c_uint32)),
    "dataset_y": (c_void_p, (_HANDLE,)),
    "dataset_a": (c_void_p, (_HANDLE,)),
    "dataset_split": (c_void_p, (_HANDLE,)),
    "dataset_groups": (_STATUS, (_HANDLE, _HANDLE, c_int, _OUT)),
    "labels_open": (_STATUS, (_HANDLE, c_char_p, POINTER(LabelColumns), _OUT)),
    "labels_close": (None, (_HANDLE,)),
    "labels_audit": (_STATUS, (_HANDLE, _HANDLE, c_int, _OUT)),
    "dataset_audit": (_STATUS, (_HANDLE, _HANDLE, c_int, c_int, _OUT)),
    "train": (_STATUS, (_HANDLE, _HANDLE, _HANDLE, c_int, _OUT)),
    "resume": (_STATUS, (_HANDLE, c_char_p, _HANDLE, c_int, _OUT)),
    "model_open": (_STATUS, (_HANDLE, c_char_p, _HANDLE, _OUT)),
    "model_close": (None, (_HANDLE,)),
    "model_classes": (c_uint32, (_HANDLE,)),
    "model_attributes": (c_uint32, (_HANDLE,)),
    "model_class_name": (c_char_p, (_HANDLE, c_uint32)),
    "model_attribute_name": (c_char_p, (_HANDLE, c_uint32)),
    "model_metadata": (_STATUS, (_HANDLE, _HANDLE, _OUT)),
    "model_predict": (_STATUS, (_HANDLE, _HANDLE, _HANDLE, c_int, c_uint, _OUT)),
    "predictions_close": (None, (_HANDLE,)),
    "predictions_count": (c_size_t, (_HANDLE,)),
    "predictions_classes": (c_uint32, (_HANDLE,)),
    "predictions_probabilities": (c_void_p, (_HANDLE,)),
    "predictions_pred": (c_void_p, (_HANDLE,)),
    "predictions_rows": (c_void_p, (_HANDLE,)),
    "predictions_features": (c_void_p, (_HANDLE,)),
    "predictions_feature_count": (c_size_t, (_HANDLE,)),
    "model_evaluate": (_STATUS, (_HANDLE, _HANDLE, _HANDLE, c_int, c_void_p, c_int, _OUT)),
    "model_tensor_count": (c_size_t, (_HANDLE,)),
    "model_tensor": (_STATUS, (_HANDLE, _HANDLE, c_size_t, POINTER(Tensor))),
    "model_export": (_STATUS, (_HANDLE, _HANDLE, POINTER(ExportOptions))),
    "model_read": (_STATUS, (_HANDLE, _HANDLE, c_char_p, c_void_p, c_size_t)),
}


class Library:
    """The functions of gerne.h without their prefix: `library.ctx_new` is gerne_ctx_new."""

    def __init__(self, cdll: ctypes.CDLL, path: str) -> None:
        self.path = path
        for name, (result, arguments) in PROTOTYPES.items():
            try:
                function = getattr(cdll, "gerne_" + name)
            except AttributeError:
                raise LibraryError(
                    f"'{path}' is not libgerne {__version__}: it has no function gerne_{name}",
                    "install the library and the Python package from the same source") from None
            function.restype = result
            function.argtypes = arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for type checkers
        raise AttributeError(name)


def _prefix_folders(package: Path) -> List[Path]:
    """Where `make install` puts the library below the prefix that the package is installed in."""
    multiarch = getattr(sys.implementation, "_multiarch", None)
    names = ["lib", *([f"lib/{multiarch}"] if multiarch else []), "lib64"]
    prefixes = [parent.parent for parent in package.parents if parent.name in ("lib", "lib64")]
    return [prefix / name for prefix in prefixes for name in names]


def candidates() -> Iterator[str]:
    """Paths to try in turn. GERNE_LIBRARY is the only one if it is set."""
    chosen = os.environ.get("GERNE_LIBRARY")
    if chosen:
        yield chosen
        return
    package = Path(__file__).resolve().parent
    places = [package, *_prefix_folders(package)]
    source = package.parents[1]  # of a source checkout
    if (source / "include" / "gerne.h").exists():
        places.append(source / "build")
    for place in places:
        path = place / NAME
        if path.exists():
            yield str(path)
    yield NAME  # where the system's loader looks
    yield f"/usr/local/lib/{NAME}"


@contextmanager
def _short_waits() -> Iterator[None]:
    """libgomp reads its variables when it is loaded, by whatever library comes first: threads that
    spin only briefly are many times faster on a busy machine."""
    variable = "GOMP_SPINCOUNT"
    ours = variable not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if ours:
        os.environ[variable] = "1000"
    try:
        yield
    finally:
        if ours:
            del os.environ[variable]


def load_openmp() -> None:
    """Loads libgomp, if there is one, before scikit-learn does so with waits of its own."""
    with _short_waits():
        try:
            ctypes.CDLL("libgomp.so.1")
        except OSError:
            pass


def _open(path: str) -> ctypes.CDLL:
    with _short_waits():
        return ctypes.CDLL(path)


def _check_version(cdll: ctypes.CDLL, path: str) -> None:
    try:
        function = cdll.gerne_version
    except AttributeError:
        raise LibraryError(f"'{path}' is not libgerne: it has no function gerne_version") from None
    function.restype = c_char_p
    version = (function() or b"").decode("utf-8", "replace")
    own = re.match(r"\d+\.\d+\.", __version__)
    if own is None or not version.startswith(own[0]):
        raise LibraryError(
            f"'{path}' is libgerne {version}, but the Python package is {__version__}",
            "install both from the same source, or set GERNE_LIBRARY to the right libgerne.so")


def _find() -> Library:
    reasons = []
    for path in candidates():
        try:
            cdll = _open(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        _check_version(cdll, path)
        return Library(cdll, path)
    raise LibraryError(
        "libgerne cannot be loaded: " + "; ".join(reasons),
        "build it with 'make', install it with 'make install', or set GERNE_LIBRARY to the path "
        "of libgerne.so")


_lock = threading.Lock()
_library: Optional[Library] = None


def library() -> Library:
    """The library, loaded once."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _find()
    return _library
