"""Progress of long work on one line, in a terminal or a notebook."""
from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional, Union

from ._calls import Context
from ._library import PROGRESS_FN
from .errors import UsageError

__all__ = ["ProgressFunction", "ProgressChoice"]

# Called with the job, steps done, steps in all (0: unknown) and details; True stops the work.
ProgressFunction = Callable[[str, int, int, str], Any]
ProgressChoice = Union[bool, None, ProgressFunction]

_WIDTH = 100
_INTERVAL = 0.1  # seconds between two updates


def is_interactive() -> bool:
    """Whether somebody watches: a terminal, or a notebook."""
    try:
        if sys.stderr is not None and sys.stderr.isatty():
            return True
    except ValueError:  # closed
        return False
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Line:
    """One line on the standard error that replaces itself."""

    def __init__(self) -> None:
        self.shown = 0

    def __call__(self, what: str, done: int, total: int, detail: str) -> None:
        share = f"{100 * done / total:3.0f}% {done}/{total}" if total else str(done)
        text = f"{what} {share} {detail}"[:_WIDTH]
        sys.stderr.write("\r" + text.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(text)

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\n")
            sys.stderr.flush()


class _Hook:
    """What the library calls: passes on what is due, remembers a failure."""

    def __init__(self, show: ProgressFunction, interval: float) -> None:
        self.show, self.interval = show, interval
        self.next = 0.0
        self.error: Optional[BaseException] = None
        self.function = PROGRESS_FN(self.call)

    def call(self, _user: Any, progress: Any) -> int:
        try:
            p = progress.contents
            now = time.monotonic()
            if now < self.next and p.done != p.total:
                return 0
            self.next = now + self.interval
            return 1 if self.show((p.what or b"").decode("utf-8", "replace"), p.done, p.total,
                                  (p.detail or b"").decode("utf-8", "replace")) else 0
        except BaseException as error:  # must not unwind through C
            self.error = error
            return 1


@contextmanager
def shown(ctx: Context, progress: ProgressChoice) -> Iterator[None]:
    """Shows the progress of what ctx does: True, False, None (if somebody watches) or a function,
    which is called at every step. Raises what the function raised."""
    if progress is None:
        progress = is_interactive()
    if progress is False:
        yield
        return
    if progress is not True and not callable(progress):
        raise UsageError(f"progress is a {type(progress).__name__}, expected True, False, None or "
                         "a function")
    line = Line()
    hook = _Hook(line, _INTERVAL) if progress is True else _Hook(progress, 0.0)
    ctx.library.set_progress(ctx.pointer, hook.function, None)
    try:
        yield
    except Exception:
        if hook.error is not None:
            raise hook.error from None
        raise
    finally:
        ctx.library.set_progress(ctx.pointer, PROGRESS_FN(0), None)
        line.end()
