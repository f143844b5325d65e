"""Configurations: the keys of `gerne train`, from dicts, YAML files and keyword arguments."""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

import numpy as np

from ._arrays import as_text
from ._calls import Handle, call_handle, call_json, call_text, context
from ._library import library
from .errors import UsageError

__all__ = ["Config", "ConfigSource"]

ConfigSource = Union["Config", Mapping[str, Any], str, "os.PathLike[str]", None]


def _value(value: Any, key: str) -> str:
    """A value as a flag of the program would have it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        items = [_value(item, key) for item in np.asarray(value, dtype=object).reshape(-1)]
        if any("," in item for item in items):
            raise UsageError(f"{key}: an item of a list contains a comma, which separates items")
        return ",".join(items)
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise UsageError(f"{key} is a {type(value).__name__}, expected a number, a text or a list",
                     "gerne.Config.describe() lists the keys and their types")


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[Tuple[str, Any]]:
    """Nested sections as dotted keys. None stands for "not set"."""
    for name, value in settings.items():
        if not isinstance(name, str):
            raise UsageError(f"a key of the configuration is a {type(name).__name__}, expected a "
                             "text")
        key = prefix + name
        if isinstance(value, Mapping):
            yield from _flat(value, key + ".")
        elif value is not None:
            yield key, value


class Config(Handle):
    """The configuration of a run.

    source is a YAML file, a dict (nested by section, or with dotted keys) or another Config;
    keyword arguments win over it. A key that does not exist is an error at once; values are
    checked when the configuration is used, because other keys decide what they may be.

    >>> import gerne
    >>> config = gerne.Config({"method": {"name": "gerne", "c": 0.5}, "train.lr": 0.01}, seed=3)
    >>> config["train.lr"], config["seed"], config["method.c"]
    ('0.01', '3', '0.5')
    >>> config["train.lrr"] = 1
    Traceback (most recent call last):
    gerne.errors.UsageError: unknown key 'train.lrr'
    hint: did you mean 'train.lr'?
    """

    _kind = "Config"
    _closer = "config_close"

    def __init__(self, source: ConfigSource = None, **settings: Any) -> None:
        super().__init__(call_handle("config_new"))
        self._files: List[Tuple[str, bytes]] = []
        self._set: Dict[str, str] = {}
        if isinstance(source, Config):
            for function, text in source._files:
                self._read(function, text)
            self.update(source._set)
        elif isinstance(source, Mapping):
            self.update(source)
        elif isinstance(source, (str, os.PathLike)):
            self._read("config_read", as_text(source, "the path of the configuration"))
        elif source is not None:
            raise UsageError(f"the configuration is a {type(source).__name__}, expected a dict, "
                             "the path of a YAML file, or gerne.Config")
        self.update(settings)

    @classmethod
    def from_yaml(cls, text: str, **settings: Any) -> "Config":
        """From the text of a YAML document.

        >>> Config.from_yaml("train: {lr: 0.5}")["train.lr"]
        '0.5'
        """
        config = cls()
        config._read("config_parse", as_text(text, "the YAML text"))
        config.update(settings)
        return config

    def _read(self, function: str, text: bytes) -> None:
        ctx = context()
        with self.used() as pointer:
            ctx.check(getattr(ctx.library, function)(ctx.pointer, pointer, text))
        self._files.append((function, text))

    def update(self, settings: Mapping[str, Any]) -> None:
        """Sets several keys; those whose value is None stay as they are."""
        for key, value in _flat(settings):
            self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        name = as_text(key, "a key")
        text = None if value is None else _value(value, key)
        ctx = context()
        with self.used() as pointer:
            ctx.check(ctx.library.config_set(ctx.pointer, pointer, name,
                                             None if text is None else as_text(text, key)))
        if text is None:
            self._set.pop(key, None)
        else:
            self._set[key] = text

    def __delitem__(self, key: str) -> None:
        """Withdraws a key that was set."""
        self[key] = None

    def __getitem__(self, key: str) -> Optional[str]:
        """What a training run would use, default or not; None where nothing is set."""
        name = as_text(key, "a key")
        with self.used() as pointer:
            return call_text("config_get", pointer, name) or None

    def to_yaml(self) -> str:
        """All keys that apply, as config.yaml of a run has them."""
        with self.used() as pointer:
            return call_text("config_yaml", pointer)

    @staticmethod
    def describe() -> List[Dict[str, Any]]:
        """All keys: key, section, type, default, choices, min, max, help.

        >>> [k["default"] for k in Config.describe() if k["key"] == "seed"]
        ['0']
        """
        return call_json("config_keys")

    def __repr__(self) -> str:
        return f"gerne.Config({self._set!r})"

