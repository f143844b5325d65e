"""A scikit-learn estimator that trains a linear or fully connected classifier by any method."""
from __future__ import annotations

import os
import tempfile
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._arrays import as_int
from ._estimator import (
    BaseEstimator, ClassifierMixin, NotFittedError, check_column_names, check_matrix,
    check_targets, check_width, column_names, seed_of,
)
from ._labels import as_labels
from ._samples import Samples
from .dataset import Dataset
from .errors import UsageError
from .model import Model
from .progress import ProgressChoice
from .training import train

__all__ = ["Classifier"]

_LEAST_STEPS = 1000  # when epochs is None
_EVALUATIONS = 20
_SMALLEST_BATCH, _LARGEST_BATCH, _STEPS_OF_EPOCH = 128, 1024, 200  # when batch_size is None


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier on features or embeddings that does not rely on a spurious attribute.

    Follows scikit-learn's conventions (Pipeline, GridSearchCV, clone, pickle) and works without
    scikit-learn.

    Parameters
    ----------
    method : training method: "gerne", "erm", "groupdro", ...; `gerne methods` lists them.
    attributes : "known" (fit needs groups) or "unknown" (it does not).
    hidden : widths of hidden layers; () is a linear classifier.
    c, beta : GERNE's, None: the library's defaults; t : attributes unknown, fraction of each class
        that becomes its minority.
    optimizer, lr, weight_decay, batch_size : of the training; batch_size is that of all classes,
        None: a 200th of the training samples, as a power of 2 from 128 to 1024.
    epochs : length of the training; None: 20, and more on small data.
    patience : early stopping: evaluations (one an epoch) in a row without a better metric after
        which training ends; None: never.
    validation_fraction : share of each group that is held out of training to select the checkpoint,
        unless fit gets a validation set; 0 selects on the training samples themselves.
    metric : what selects the checkpoint, None: "gba" (mean accuracy of the groups).
    standardize : scale features to mean 0 and variance 1 of the training samples.
    threads : None: all cores. random_state : seed; equal seeds give equal bits.
    options : further keys of the configuration, such as {"model.dropout": 0.1}.
    run_dir : keep the run directory (report, log, checkpoint) here; None: a temporary one.
    verbose : show progress.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ (of a DataFrame); results_ : the results of the run;
    weights_ : the trained network as the bytes of a safetensors file.

    Examples
    --------
    >>> import numpy as np, gerne
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=2000)
    >>> a = np.where(rng.random(2000) < 0.95, y, 1 - y)             # follows the class
    >>> x = np.c_[y + rng.normal(size=2000), 3 * a + rng.normal(size=2000)]
    >>> model = gerne.Classifier(random_state=0, threads=1).fit(x, y, groups=a)
    >>> model.predict([[2, 0], [-1, 3]])
    array([1, 0])
    """

    def __init__(self, method: str = "gerne", attributes: str = "known",
                 hidden: Sequence[int] = (), *, c: Optional[float] = None,
                 beta: Optional[float] = None, t: Optional[float] = None,
                 optimizer: str = "adam", lr: float = 0.001, weight_decay: float = 0.0,
                 batch_size: Optional[int] = None, epochs: Optional[float] = None,
                 patience: Optional[int] = None,
                 validation_fraction: float = 0.1, metric: Optional[str] = None,
                 standardize: bool = True, threads: Optional[int] = None,
                 random_state: Any = None, options: Optional[Dict[str, Any]] = None,
                 run_dir: Optional[str] = None, verbose: bool = False) -> None:
        self.method = method
        self.attributes = attributes
        self.hidden = hidden
        self.c = c
        self.beta = beta
        self.t = t
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.metric = metric
        self.standardize = standardize
        self.threads = threads
        self.random_state = random_state
        self.options = options
        self.run_dir = run_dir
        self.verbose = verbose

    # ---- fitting ----

    def fit(self, X: Any, y: Any, groups: Any = None, *, a: Any = None, X_val: Any = None,
            y_val: Any = None, groups_val: Any = None) -> "Classifier":
        """Trains. groups holds the attribute of each sample (`a` is another name for it, because
        GridSearchCV keeps `groups` for itself); X_val, y_val and groups_val are a validation set.
        """
        names = column_names(X)
        matrix = check_matrix(X, type(self).__name__)
        target = check_targets(y, len(matrix))
        values, codes = np.unique(as_labels(target, "y"), return_inverse=True)
        if len(values) < 2:
            raise UsageError(f"{type(self).__name__} needs samples of at least 2 classes, but the "
                             "data has only one class")
        groups = self._only(groups, a)
        if groups is None and self.attributes == "known":
            raise UsageError("attributes are \"known\", but fit got no groups",
                             "pass groups=... to fit, or use attributes=\"unknown\"")
        data = Samples(matrix, codes, values, groups)
        seed = seed_of(self.random_state)
        if X_val is not None or y_val is not None:
            data.add_validation(check_matrix(X_val, type(self).__name__), y_val, groups_val)
        data.hold_out(self.validation_fraction, seed)
        self._train(self._settings(data.trained_on(), seed), data.dataset())
        self.classes_ = values.astype(target.dtype)
        self.n_features_in_ = matrix.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    @staticmethod
    def _only(groups: Any, a: Any) -> Any:
        if groups is not None and a is not None:
            raise UsageError("groups and a are given: they are two names for the same")
        return groups if groups is not None else a

    def _settings(self, n: int, seed: int) -> Dict[str, Any]:
        """The configuration of a run on n training samples."""
        batch = self._batch(n)
        hidden = self._widths()
        settings: Dict[str, Any] = {
            "method.name": self.method, "method.attributes": self.attributes,
            "method.c": self.c, "method.beta": self.beta, "method.t": self.t,
            "model.arch": "mlp" if hidden else "linear", "model.hidden": hidden or None,
            "train.optimizer": self.optimizer, "train.lr": self.lr,
            "train.weight_decay": self.weight_decay, "train.batch": batch,
            "train.patience": self.patience,
            "data.standardize": bool(self.standardize), "select.metric": self.metric,
            "seed": seed, "threads": self.threads,
        }
        settings.update(self._length(n, batch))
        for key, value in settings.items():
            if isinstance(value, dict):  # which a configuration takes for a section
                raise UsageError(f"{key.split('.')[-1]} is a dict, expected a value")
        if self.options is not None and not isinstance(self.options, dict):
            raise UsageError(f"options is a {type(self.options).__name__}, expected a dict")
        settings.update(self.options or {})
        return settings

    def _widths(self) -> List[int]:
        """Widths of the hidden layers; one number stands for one layer."""
        if self.hidden is None:
            return []
        hidden: List[Any] = [self.hidden] if np.ndim(self.hidden) == 0 else [*self.hidden]
        return [as_int(width, "a width of hidden", 1) for width in hidden]

    def _batch(self, n: int) -> int:
        """Samples per batch; large data affords large ones, which are faster."""
        if self.batch_size is not None:
            return min(as_int(self.batch_size, "batch_size", 1), n)
        power = 2 ** round(np.log2(n / _STEPS_OF_EPOCH))
        return int(min(n, _LARGEST_BATCH, max(_SMALLEST_BATCH, power)))

    def _length(self, n: int, batch: int) -> Dict[str, Any]:
        """Epochs, or on small data a number of steps."""
        if self.epochs is not None:
            return {"train.epochs": self.epochs}
        steps = _EVALUATIONS * -(-n // batch)
        if steps >= _LEAST_STEPS:
            return {"train.epochs": _EVALUATIONS}
        return {"train.steps": _LEAST_STEPS, "train.eval_every": _LEAST_STEPS // _EVALUATIONS}

    def _train(self, settings: Dict[str, Any], dataset: Dataset) -> None:
        progress: ProgressChoice = True if self.verbose else False
        if self.run_dir is not None:
            self._run(settings, dataset, os.fspath(self.run_dir), progress)
            return
        with tempfile.TemporaryDirectory(prefix="gerne-") as folder:
            self._run(settings, dataset, os.path.join(folder, "run"), progress)

    def _run(self, settings: Dict[str, Any], dataset: Dataset, out: str,
             progress: ProgressChoice) -> None:
        self.results_ = train(settings, dataset, out=out, progress=progress)
        with open(os.path.join(out, "best.safetensors"), "rb") as file:
            self._network = _Network(file.read())

    # ---- predicting ----

    @property
    def weights_(self) -> bytes:
        """The trained network as the bytes of a safetensors file."""
        return self._fitted().weights

    def _fitted(self) -> "_Network":
        if not hasattr(self, "_network"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call "
                                 "'fit' with appropriate arguments before using this estimator.")
        return self._network

    def _checked(self, X: Any) -> np.ndarray:
        check_column_names(self, X)
        matrix = check_matrix(X, type(self).__name__)
        check_width(self, matrix)
        return matrix

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n][classes], in the order of classes_."""
        network = self._fitted()
        return network.open(self.threads).predictions(self._checked(X)).probabilities

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sample."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def evaluate(self, X: Any, y: Any, groups: Any = None, *, text: bool = False) -> Any:
        """Metrics of every group; see gerne.evaluate."""
        from .metrics import evaluate
        return evaluate(y, groups, probabilities=self.predict_proba(X),
                        classes=self.classes_.tolist(), text=text)

    def export(self, **files: Any) -> None:
        """Writes ONNX or safetensors files for other programs; see gerne.Model.export."""
        self._fitted().open(self.threads).export(**files)

    def save(self, path: Any) -> None:
        """Writes the network as a safetensors file that gerne.load and the program read."""
        weights = self.weights_
        with open(path, "wb") as file:
            file.write(weights)


def _written(contents: bytes) -> Tuple[Any, str]:
    """A file that lives as long as it is open, and its path: without a name, or with one where
    there is no /dev/fd (a root directory without /proc)."""
    file: Any = tempfile.TemporaryFile(prefix="gerne-")
    path = f"/dev/fd/{file.fileno()}"
    if not os.path.exists(path):
        file.close()
        file = tempfile.NamedTemporaryFile(prefix="gerne-")
        path = file.name
    file.write(contents)
    file.flush()
    return file, path


class _Network:
    """The weights in memory, opened when they are needed first; only the weights are pickled."""

    def __init__(self, weights: bytes) -> None:
        self.weights = weights
        self._lock = threading.Lock()
        self._model: Optional[Model] = None

    def open(self, threads: Optional[int]) -> Model:
        with self._lock:
            if self._model is None:
                self._file, path = _written(self.weights)
                settings = {} if threads is None else {"threads": threads}
                self._model = Model(path, settings)
            return self._model

    def __del__(self) -> None:
        if getattr(self, "_model", None) is not None:
            self._model.close()  # type: ignore[union-attr]
            self._file.close()

    def __reduce__(self) -> Any:
        return _Network, (self.weights,)
