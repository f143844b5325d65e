"""Trained models: predictions, features, evaluation, weights."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from ._arrays import address, as_int, as_list, as_text, copy_out
from ._calls import (
    JSON, TEXT, Handle, all_used, call_handle, call_json, context, interruptible, names_of,
    take_text,
)
from ._library import ExportOptions, Tensor, library
from .config import Config, ConfigSource
from .dataset import Dataset, fetching, split_number
from .errors import UsageError
from .metrics import as_frame

__all__ = ["Model", "Predictions", "load"]

PathLike = Union[str, "os.PathLike[str]"]

_WITH_FEATURES = 1


class Predictions(NamedTuple):
    """What a model says about samples: labels, probabilities [n][classes] in the order of classes,
    the row of each sample in its arrays or file, and features [n][width] if asked for."""

    pred: np.ndarray
    probabilities: np.ndarray
    rows: np.ndarray
    classes: np.ndarray
    features: Optional[np.ndarray] = None

    def to_dict(self) -> Dict[str, np.ndarray]:
        """Columns: index, pred and prob_<class> for every class."""
        columns = {"index": self.rows, "pred": self.pred}
        for k, name in enumerate(self.classes.tolist()):
            columns[f"prob_{name}"] = self.probabilities[:, k]
        return columns

    def table(self) -> Any:
        """A pandas.DataFrame if pandas is installed, else the dict of columns."""
        return as_frame(self.to_dict())


def labels_of_names(names: List[str]) -> np.ndarray:
    """Names as labels: integers if all of them are.

    >>> labels_of_names(["3", "7"]), labels_of_names(["cat", "1"])
    (array([3, 7]), array(['cat', '1'], dtype='<U3'))
    """
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    if [str(n) for n in numbers] != names or any(abs(n) >= 2 ** 63 for n in numbers):
        return np.array(names)
    return np.array(numbers, dtype=np.int64)


class Model(Handle):
    """A trained network; gerne.load opens one.

    Several threads may predict with one model. x is what gerne.Dataset takes (features, images,
    texts) or a Dataset; without it, the data of the run itself is used.
    """

    _kind = "Model"
    _closer = "model_close"

    def __init__(self, path: PathLike, config: ConfigSource = None,
                 **settings: Any) -> None:
        name = as_text(path, "the path of the model")
        with Config(config, **settings) as made, made.used() as pointer:
            super().__init__(call_handle("model_open", name, pointer))
        self.path = os.fsdecode(name)

    @property
    def class_names(self) -> List[str]:
        """Names of the classes, in the order of the probabilities."""
        with self.used() as pointer:
            return names_of(pointer, "model_classes", "model_class_name")

    @property
    def classes(self) -> np.ndarray:
        """Labels of the classes: integers if all names are, else texts."""
        return labels_of_names(self.class_names)

    @property
    def attribute_names(self) -> List[str]:
        """Names of the attributes; empty if they are unknown."""
        with self.used() as pointer:
            return names_of(pointer, "model_attributes", "model_attribute_name")

    @property
    def metadata(self) -> Dict[str, str]:
        """What the file of weights says of itself: model, sample_shape, class_names, ..."""
        with self.used() as pointer:
            return call_json("model_metadata", pointer)

    def predictions(self, x: Any = None, *, split: Optional[str] = None,
                    features: bool = False) -> Predictions:
        """Labels, probabilities and, if asked for, features of samples.

        split selects among the samples of a Dataset, or of the run's own data (default: test).
        """
        dataset, number = _data(x, split)
        ctx, out = context(), ctypes.c_void_p()
        flags = _WITH_FEATURES if features else 0
        with all_used(model=self, dataset=dataset) as used, fetching(dataset):
            ctx.check(interruptible(lambda: ctx.library.model_predict(
                ctx.pointer, used["model"], used["dataset"], number, flags, ctypes.byref(out))))
            names = names_of(used["model"], "model_classes", "model_class_name")
        try:
            return self._copy(out, labels_of_names(names), features)
        finally:
            ctx.library.predictions_close(out)

    @staticmethod
    def _copy(out: ctypes.c_void_p, classes: np.ndarray, features: bool) -> Predictions:
        lib = library()
        n, k = lib.predictions_count(out), lib.predictions_classes(out)
        pred = copy_out(lib.predictions_pred(out), (n,), np.int32)
        width = lib.predictions_feature_count(out)
        return Predictions(
            classes[pred], copy_out(lib.predictions_probabilities(out), (n, k), np.float64),
            copy_out(lib.predictions_rows(out), (n,), np.uint32).astype(np.int64), classes,
            copy_out(lib.predictions_features(out), (n, width), np.float32) if features else None)

    def predict(self, x: Any = None, *, split: Optional[str] = None) -> np.ndarray:
        """The most probable class of each sample, as its label."""
        return self.predictions(x, split=split).pred

    def predict_proba(self, x: Any = None, *, split: Optional[str] = None) -> np.ndarray:
        """Probabilities [n][classes], in the order of `classes`."""
        return self.predictions(x, split=split).probabilities

    def features(self, x: Any = None, *, split: Optional[str] = None) -> np.ndarray:
        """What the network's body gives, before the last layer: [n][width], float32."""
        found = self.predictions(x, split=split, features=True).features
        assert found is not None
        return found

    def evaluate(self, x: Any = None, y: Any = None, a: Any = None, *,
                 split: Optional[str] = None, text: bool = False) -> Any:
        """Metrics by group: the dict that `gerne eval --json` prints, or the text for people."""
        if isinstance(x, Dataset) and (y is not None or a is not None):
            raise UsageError("x is a Dataset, which has labels of its own: leave out y and a")
        if x is not None and not isinstance(x, Dataset) and y is None:
            raise UsageError("y is required to evaluate: the classes of the samples")
        if x is None and (y is not None or a is not None):
            raise UsageError("there are labels, but no samples")
        dataset, number = _data(x, split, y, a)
        ctx, out = context(), ctypes.c_void_p()
        with all_used(model=self, dataset=dataset) as used, fetching(dataset):
            ctx.check(interruptible(lambda: ctx.library.model_evaluate(
                ctx.pointer, used["model"], used["dataset"], number, None, TEXT if text else JSON,
                ctypes.byref(out))))
        answer = take_text(ctx.library, out)
        return answer if text else json.loads(answer)

    def tensors(self) -> Dict[str, np.ndarray]:
        """The weights by name, as PyTorch's state_dict has them: float32 arrays. Tensors of
        integers (counters) are skipped."""
        ctx = context()
        lib, found = ctx.library, {}
        with self.used() as pointer:
            for i in range(lib.model_tensor_count(pointer)):
                tensor = Tensor(size=ctypes.sizeof(Tensor))
                ctx.check(lib.model_tensor(ctx.pointer, pointer, i, ctypes.byref(tensor)))
                if not tensor.type.startswith((b"F", b"BF")):
                    continue
                values = np.empty(tuple(tensor.dims[:tensor.ndims]), dtype=np.float32)
                ctx.check(lib.model_read(ctx.pointer, pointer, tensor.name, address(values),
                                         tensor.count))
                found[tensor.name.decode("utf-8", "replace")] = values
        return found

    def to_torch(self) -> Dict[str, Any]:
        """The weights as a state_dict of torch tensors."""
        import torch
        return {name: torch.from_numpy(values) for name, values in self.tensors().items()}

    def export(self, *, onnx: Optional[PathLike] = None, safetensors: Optional[PathLike] = None,
               fp16: bool = False, features: bool = False, overwrite: bool = False,
               shape: Optional[Sequence[int]] = None, normalize: Optional[str] = None) -> None:
        """Writes files for other programs, as `gerne export` does: onnx is the network from samples
        to probabilities, safetensors the weights with the names of PyTorch's libraries. features
        makes what the body gives an output of the ONNX file. shape is that of a sample, such as
        (3, 224, 224), required for ResNet weights without metadata; normalize is "none",
        "imagenet" (default) or "cifar", for such weights of images."""
        dims = None if shape is None else np.array(
            [as_int(side, "a side of shape", 1, 2 ** 24) for side in as_list(shape, "shape")],
            dtype=np.int64)
        options = ExportOptions(
            size=ctypes.sizeof(ExportOptions), fp16=bool(fp16), features=bool(features),
            overwrite=bool(overwrite), onnx=None if onnx is None else as_text(onnx, "onnx"),
            safetensors=None if safetensors is None else as_text(safetensors, "safetensors"),
            shape=address(dims), shape_count=0 if dims is None else len(dims),
            normalize=None if normalize is None else as_text(normalize, "normalize"))
        ctx = context()
        with self.used() as pointer:
            ctx.check(ctx.library.model_export(ctx.pointer, pointer, ctypes.byref(options)))

    def __repr__(self) -> str:
        return f"<gerne.Model '{self.path}'{', closed' if self._closed else ''}>"


def _data(x: Any, split: Optional[str], y: Any = None, a: Any = None) -> Any:
    """The dataset that x stands for, and the number of the split."""
    if x is None:
        return None, split_number(split or "test")
    if isinstance(x, Dataset):
        return x, split_number(split or ("all" if not x.class_names else "test"))
    if split is not None:
        raise UsageError("split selects among the samples of a Dataset: arrays are used whole")
    return Dataset(x, y, a), split_number("all")


def load(path: PathLike, config: ConfigSource = None, **settings: Any) -> Model:
    """Opens a model: a run directory, or a file of weights (safetensors, or PyTorch's .pth).

    Settings may be checkpoint ("best" or "last"), threads and, for weights without metadata,
    model={"arch": ...}.

    >>> import gerne, numpy as np, tempfile
    >>> x = np.random.default_rng(0).normal(size=(200, 3)).astype(np.float32)
    >>> y = np.where(x[:, 0] > 0, "right", "left")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = gerne.train({"method.name": "erm", "train.epochs": 20, "data.val": 40,
    ...                      "select.metric": "acc_avg", "threads": 1}, gerne.Dataset(x, y),
    ...                     out=folder + "/run")
    ...     gerne.load(folder + "/run").predict([[3, 0, 0], [-3, 0, 0]])
    array(['right', 'left'], dtype='<U5')
    """
    return Model(path, config, **settings)
