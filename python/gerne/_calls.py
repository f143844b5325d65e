"""Calling the library: contexts, failures as exceptions, texts and JSON documents, handles."""
from __future__ import annotations

import ctypes
import json
import logging
import signal
import threading
from contextlib import ExitStack, contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional

from ._library import LOG_FN, Library, library
from .errors import BY_STATUS, InternalError, OutOfMemory, UsageError

JSON, TEXT = 0, 1  # gerne_form

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING)
_logger = logging.getLogger("gerne")


@LOG_FN
def _log(_user: Any, level: int, line: bytes) -> None:
    """Lines of the library go to the logger "gerne": warnings are shown by default."""
    try:
        _logger.log(_LEVELS[level], "%s", (line or b"").decode("utf-8", "replace"))
    except Exception:  # a handler of the user's that fails must not unwind through C
        pass


class Context:
    """A gerne_ctx: the message of the last failure, and hooks. One for each thread."""

    def __init__(self) -> None:
        self.library = library()
        self.pointer: Any = None
        out = ctypes.c_void_p()
        if self.library.ctx_new(ctypes.byref(out)) != 0:
            raise OutOfMemory("there is not enough memory for a context")
        self.pointer = out
        self.library.set_log(out, _log, None)

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self.library.ctx_close(self.pointer)

    def check(self, status: int) -> None:
        """Raises the exception of a status, with the context's message and hint."""
        if status == 0:
            return
        message = self.library.message(self.pointer).decode("utf-8", "replace")
        hint = self.library.hint(self.pointer).decode("utf-8", "replace")
        raise BY_STATUS.get(status, InternalError)(message, hint)


_of_thread = threading.local()


def context() -> Context:
    """The context of this thread."""
    ctx = getattr(_of_thread, "context", None)
    if ctx is None:
        ctx = _of_thread.context = Context()
    return ctx


def take_text(lib: Library, out: ctypes.c_void_p) -> str:
    """The text that a call has given; frees it."""
    try:
        return (ctypes.string_at(out.value) if out.value else b"").decode("utf-8")
    finally:
        lib.free(out)


def call_text(name: str, *arguments: Any) -> str:
    """Calls gerne_NAME(ctx, arguments..., char **out) and returns the text."""
    ctx, out = context(), ctypes.c_void_p()
    ctx.check(getattr(ctx.library, name)(ctx.pointer, *arguments, ctypes.byref(out)))
    return take_text(ctx.library, out)


def call_json(name: str, *arguments: Any) -> Any:
    """The same for a call whose text is always a JSON document."""
    return json.loads(call_text(name, *arguments))


def call_document(name: str, *arguments: Any, text: bool = False) -> Any:
    """Calls gerne_NAME(ctx, arguments..., form, char **out): a dict, or the text for people."""
    answer = call_text(name, *arguments, TEXT if text else JSON)
    return answer if text else json.loads(answer)


def call_handle(name: str, *arguments: Any) -> int:
    """Calls gerne_NAME(ctx, arguments..., handle **out) and returns the pointer."""
    ctx, out = context(), ctypes.c_void_p()
    ctx.check(getattr(ctx.library, name)(ctx.pointer, *arguments, ctypes.byref(out)))
    assert out.value is not None
    return out.value


class Handle:
    """An object of the library, closed once nobody uses it.

    A call uses it inside `with handle.used() as pointer`; close() in another thread meanwhile only
    marks it, and the last user frees it.
    """

    _kind = "object"
    _closer = ""  # the function that frees it, without gerne_

    def __init__(self, pointer: int) -> None:
        self._pointer: Optional[int] = pointer
        self._users = 0
        self._closed = False
        # Reentrant: the garbage collector may free a user of this object while it is held.
        self._guard = threading.RLock()

    @contextmanager
    def used(self) -> Iterator[int]:
        self._acquire()
        try:
            yield self._pointer  # type: ignore[misc]
        finally:
            self._release()

    def _acquire(self) -> None:
        guard = getattr(self, "_guard", None)
        if guard is None:
            raise UsageError(f"this {self._kind} was never made: its __init__ was not called")
        with guard:
            if self._closed:
                raise UsageError(f"this {self._kind} is closed")
            self._users += 1

    def _release(self) -> None:
        with self._guard:
            self._users -= 1
            self._free_if_idle()

    def _free_if_idle(self) -> None:
        if self._closed and self._users == 0 and self._pointer is not None:
            pointer, self._pointer = self._pointer, None
            getattr(library(), self._closer)(pointer)
            self._freed()

    def _freed(self) -> None:
        """What has to outlive the object may go now."""

    def close(self) -> None:
        """Frees what the library holds; done automatically when nothing refers to the object."""
        if getattr(self, "_guard", None) is None:
            return
        with self._guard:
            self._closed = True
            self._free_if_idle()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is going down
            pass

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError(f"a {self._kind} cannot be copied or pickled: it belongs to the library")


def names_of(pointer: Optional[int], count: str, name: str) -> List[str]:
    """The names that gerne_NAME(pointer, i) gives for i below gerne_COUNT(pointer)."""
    lib = library()
    return [getattr(lib, name)(pointer, i).decode("utf-8", "replace")
            for i in range(getattr(lib, count)(pointer))]


@contextmanager
def all_used(**handles: Optional[Handle]) -> Iterator[Dict[str, Optional[int]]]:
    """Uses several handles at once; those that are None stay None."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(handle.used()) if handle is not None else None
               for name, handle in handles.items()}


NOTICE = 0.2  # seconds after which a signal is noticed that the system gave to another thread


def interruptible(work: Callable[[], int]) -> int:
    """Runs a long call so that Ctrl-C stops it.

    In the main thread the work moves to a thread of its own, because Python handles signals in the
    main thread alone, between two instructions: it waits, asks the library to stop, waits until
    that is done (a training run is saved), and then raises what interrupted it.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    ctx = context()
    done = threading.Event()
    result: Dict[str, Any] = {}

    def run() -> None:
        try:
            result["status"] = work()
        except BaseException as error:  # raised again below, in the caller's thread
            result["error"] = error
        finally:
            done.set()

    asking = {signal.SIGINT, signal.SIGTERM}  # to stop; not while the thread is half started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, asking)
    try:
        threading.Thread(target=run, name="gerne", daemon=True).start()
    except RuntimeError:  # no new threads: the interpreter is going down
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return work()
    reason = None
    while not done.is_set():
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)  # raises what came meanwhile
            done.wait(NOTICE)
        except BaseException as error:
            reason = reason or error
            ctx.library.stop(ctx.pointer)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if reason is not None:
        ctx.library.unstop(ctx.pointer)
        raise reason
    if "error" in result:
        raise result["error"]
    return result["status"]
