"""Compiled kernels: a typed ``njit(cache=True)``, the warm-up message, plain Python until then, and an off switch.

Set ``SHORTHAUL_JIT=0`` to run every kernel as plain Python (slow; for debugging).
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

ENABLED = os.environ.get("SHORTHAUL_JIT", "1") != "0"

#: No wrappers that let C call the functions: they take time to compile, and nothing here calls them so.
_LEAN: Final = {"no_cfunc_wrapper": True}

#: How many processes per core a compilation shares the machine with at most, for all that is assumed.
_MOST_WAITING: Final = 4.0
#: How long a tiered kernel stays plain Python in all, as a part of what its compilation takes, and up to which size of
#: its arguments.
_PLAIN: Final = 0.25
_SMALL: Final = 20_000
#: Seconds between two looks whether a process beside this one is ready.
_NAP_S: Final = 0.05

_kernels: dict[str, list[Any]] = {}
#: For every compiled kernel, by identity, the files of its code: its own and those of the kernels imported there.
_sources: dict[int, frozenset[str]] = {}
_announced: set[str] = set()
#: Modules whose compiled code has no place on disk.
_uncached: set[str] = set()
#: True while kernels are plain Python for a moment.
_is_interpreting = False
#: Modules whose kernels a process beside this one is about to compile.
compiled_elsewhere: set[str] = set()
#: When the compilations under way began, callers first, and the seconds that those before them took.
_began: list[float] = []
_compiled_s = 0.0


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` with Numba at its first call, or load it from the cache on disk; types stay as annotated.

    >>> @kernel
    ... def twice(x: int) -> int:
    ...     return 2 * x
    >>> twice(4)
    8
    """
    if not ENABLED:
        return function
    import numba

    _watch_compilations()
    # A function made at a prompt has no file to keep a cache beside.
    cacheable = Path(function.__code__.co_filename).is_file()
    compiled = numba.njit(nogil=True, **_LEAN)(function)
    if cacheable:
        try:
            compiled.enable_caching()
        except RuntimeError:  # neither the installation nor the user's cache folder can be written
            cacheable = False
            _uncached.add(function.__module__)
    _kernels.setdefault(function.__module__, []).append(compiled)
    _sources[id(compiled)] = _files_of(function)
    if cacheable:
        _stamp(compiled)
    return cast("Callable[P, R]", compiled)


def subroutine(function: Callable[P, R]) -> Callable[P, R]:
    """Let kernels call ``function``, with which it is compiled; called from Python it stays plain Python.

    That compiles in half the time that a kernel takes, of which Python needs a wrapper for all its arguments.

    >>> @subroutine
    ... def half(x: int) -> int:
    ...     return x // 2
    >>> @kernel
    ... def quarter(x: int) -> int:
    ...     return half(half(x))
    >>> half(9), quarter(9)
    (4, 2)
    """
    if not ENABLED:
        return function
    from numba.extending import register_jitable

    _sources[id(function)] = _files_of(function)
    return cast("Callable[P, R]", register_jitable(no_cpython_wrapper=True, **_LEAN)(function))


def tiered(seconds: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a kernel only when it pays: small arguments are worked on in plain Python for the first moments.

    ``seconds`` is roughly how long the compilation takes, which is announced. What was compiled before is used at once.
    Plain Python that takes too long is given up, at the next call in it, and done again by compiled code: what a kernel
    finds must not depend on what it writes into its arguments.

    >>> @tiered(seconds=1)
    ... def half(x: int) -> int:
    ...     return x // 2
    >>> half(9)
    4
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        compiled = kernel(function)
        if compiled is function:
            return function
        left_s = _PLAIN * seconds

        @functools.wraps(function)
        def called(*args: P.args, **options: P.kwargs) -> R:
            nonlocal left_s
            if _is_interpreting:
                return function(*args, **options)
            if left_s > 0 and sum(getattr(array, "size", 1) for array in args) <= _SMALL:
                if _kernel_is_warm(compiled):
                    left_s = 0.0
                    return compiled(*args, **options)
                began = time.perf_counter()
                try:
                    with _given_up_after(left_s):
                        return function(*args, **options)
                except _TooSlowError:
                    left_s = 0.0
                finally:
                    left_s -= time.perf_counter() - began
            announce(function.__module__, seconds)
            return compiled(*args, **options)

        return called

    return decorated


class _TooSlowError(Exception):
    """Plain Python took longer than it may."""


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """Raise :class:`_TooSlowError` at the first call of a function inside that comes after so many seconds."""
    end = time.perf_counter() + seconds
    # Python tells profilers of every call, in any thread and on any system; whoever listens already is heard again.
    listening = sys.getprofile()

    def watch(_frame: FrameType, event: str, _argument: object) -> None:
        if time.perf_counter() > end and event == "call":
            raise _TooSlowError

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(listening)


def interpreted_for(seconds: float, search: Callable[[], R]) -> R | None:
    """Return what ``search`` finds while every kernel is plain Python; None if that takes longer than so many seconds.

    Other threads then run plain Python too, to the same result. The time is looked at when a function is called.

    >>> interpreted_for(5.0, lambda: 6 * 7)
    42
    """
    global _is_interpreting  # noqa: PLW0603
    import numpy as np

    found = [
        (module, name, value)
        for key, module in list(sys.modules.items())
        for name, value in (list(vars(module).items()) if key.startswith("shorthaul.") else ())
        if id(value) in _sources and hasattr(value, "py_func")
    ]
    for module, name, value in found:
        setattr(module, name, value.py_func)
    _is_interpreting = True
    try:
        with _given_up_after(seconds), np.errstate(over="ignore"):  # kernels reckon with hashes that wrap around
            return search()
    except _TooSlowError:
        return None
    finally:
        _is_interpreting = False
        for module, name, value in found:
            setattr(module, name, value)


def compiling_s() -> float:
    """Return how many seconds compilations have taken in this process so far.

    >>> compiling_s() >= 0
    True
    """
    return _compiled_s + (time.monotonic() - _began[0] if _began else 0.0)


def _await(module: str) -> None:
    """Wait until a process beside this one has compiled a module, which takes time as compiling here does."""
    _note_begin()
    while module in compiled_elsewhere:
        time.sleep(_NAP_S)
    _note_end()


def _note_begin() -> None:
    _began.append(time.monotonic())


def _note_end() -> None:
    global _compiled_s  # noqa: PLW0603
    began = _began.pop()
    if not _began:
        _compiled_s += time.monotonic() - began


@functools.cache
def _watch_compilations() -> None:
    """Have Numba tell when it compiles, once."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        def on_start(self, _event: object) -> None:
            _note_begin()

        def on_end(self, _event: object) -> None:
            _note_end()

    event.register("numba:compile", Watch())


def interpreted(function: Callable[P, R]) -> Callable[P, R]:
    """Return the plain Python function of a kernel.

    >>> @kernel
    ... def half(x: int) -> int:
    ...     return x // 2
    >>> interpreted(half)(9)
    4
    """
    return cast("Callable[P, R]", getattr(function, "py_func", function))


def _files_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the files whose kernels ``function`` may contain: compiled code has those it calls inlined or copied."""
    files = {function.__code__.co_filename}
    for value in function.__globals__.values():
        files |= _sources.get(id(value), frozenset())
    return frozenset(files)


def _stamp(compiled: Any) -> None:
    """Make cached code stale when a called kernel changes in its file; Numba looks at the file of the caller only."""
    others = sorted(_sources[id(compiled)] - {compiled.py_func.__code__.co_filename})
    if not others:
        return
    times = tuple((Path(file).stat().st_mtime_ns, Path(file).stat().st_size) for file in others)
    cache_file = compiled._cache._cache_file
    cache_file._source_stamp = (cache_file._source_stamp, times)


def is_warm(module: str) -> bool:
    """True if every kernel of ``module`` (which must be imported) has compiled code on disk or in memory."""
    return all(_kernel_is_warm(compiled) for compiled in _kernels.get(module, ()))


def _kernel_is_warm(compiled: Any) -> bool:
    if compiled.signatures:
        return True
    # Whether a file on disk still belongs to the source is Numba's to say (by content or by time, with its version).
    try:
        return bool(compiled._cache._cache_file._load_index())
    except (AttributeError, OSError):
        return False


def announce(module: str, seconds: int, *, group: str | None = None) -> None:
    """Say on standard error, once, that the kernels of ``module`` are about to be compiled, if they are.

    Called by an engine just before its first kernel call; ``seconds`` is roughly how long the compilation takes.
    Modules that one command compiles together share a ``group``, for which it is said once, by its name.
    """
    if {module, group} & _announced or not ENABLED or _is_interpreting:
        return
    _announced.add(module)
    kernels = _kernels.get(module, ())
    # A module some of whose kernels were compiled before has little left to compile: not worth a line.
    if kernels and not any(_kernel_is_warm(compiled) for compiled in kernels):
        name = module.removeprefix("shorthaul.") if group is None else group
        _announced.add(name)
        when = "only this first time"
        if module in _uncached:
            when = "every time, as no cache folder can be written: set NUMBA_CACHE_DIR to one"
        print(f"compiling the kernels of {name}: about {seconds} s, {when}", file=sys.stderr, flush=True)


def is_ready(module: str) -> bool:
    """True if there is nothing, or little, left to compile of ``module`` (which must be imported).

    >>> is_ready("shorthaul.core.search")
    True
    """
    kernels = _kernels.get(module, ())
    if module in compiled_elsewhere:
        return False
    # The longest kernel takes most of the time.
    return not ENABLED or not kernels or _kernel_is_warm(max(kernels, key=_length))


def _length(compiled: Any) -> int:
    return len(compiled.py_func.__code__.co_code)


def has_cache() -> bool:
    """True if compiled code has a place on disk, as far as is known."""
    return not _uncached


def expected_s(seconds: float) -> float:
    """Return how long a compilation of so many processor seconds takes on a machine as busy as this one.

    >>> expected_s(5.0) >= 5.0
    True
    """
    waiting = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return seconds * min(_MOST_WAITING, max(1.0, waiting / (os.cpu_count() or 1)))


def affordable(module: str, seconds: int, remaining_s: float, what: str) -> bool:
    """True if the kernels of ``module`` are compiled, or can be in the time left; else said once, naming ``what``.

    Those that a process beside this one is compiling are left to it, and waited for where time is endless.

    ``seconds`` is roughly how long the compilation takes. A search that has other ways to a plan asks this before it
    takes one whose first compilation would not fit into the time limit.

    >>> affordable("shorthaul.core.jit", 5, 60.0, "the search")
    True
    """
    if is_ready(module):
        return True
    if module in compiled_elsewhere and remaining_s == float("inf"):
        _await(module)
        return True
    if module in compiled_elsewhere:
        return False
    if remaining_s >= 1.5 * expected_s(seconds):
        return True
    if remaining_s > 0 and what not in _announced:
        _announced.add(what)
        print(
            f"{what} is left out: compiling it takes about {seconds} s, once, and {remaining_s:.0f} s are left;"
            " give more time once",
            file=sys.stderr,
            flush=True,
        )
    return False
