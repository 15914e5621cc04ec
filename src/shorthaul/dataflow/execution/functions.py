"""Functions of the user's: one per actor, from a Python file or a shared library made of the emitted C."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from shorthaul.core.document import expect_no_output
from shorthaul.core.errors import InputError, nearest_name
from shorthaul.dataflow.mapping.firings import Firing, Side, firings
from shorthaul.dataflow.mapping.names import identifiers
from shorthaul.dataflow.model import Application

_LIBRARIES = (".so", ".dylib", ".dll")
_MODULE = "shorthaul_functions"


class Functions(Protocol):
    """What the actors and channels of a marked graph do; a token there may carry several of the application's."""

    def fire(self, actor: str, iteration: int, read: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the token for every channel that an actor writes; of one without, what it returned, under ``""``."""

    def initial(self, channel: str, iteration: int) -> Any:
        """Return an initial token."""


def load_functions(path: Path, application: Application, marked: Application) -> Functions:
    """Return the functions in a file, all that the application needs; raises :class:`InputError` naming what lacks."""
    if not path.is_file():
        raise InputError("no such file", file=path, cure="name a Python file, or a shared library")
    expect_no_output(path)
    try:
        if path.suffix in _LIBRARIES:
            return LibraryFunctions(path, application, marked)
        return PythonFunctions(_module(path), application, marked)
    except InputError as error:
        raise error.in_file(path) from None


def _module(path: Path) -> Mapping[str, Any]:
    loader = importlib.machinery.SourceFileLoader(_MODULE, str(path))
    specification = importlib.util.spec_from_loader(_MODULE, loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[_MODULE] = module  # where dataclasses and pickle look for the classes in it
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what it prints is no part of the answer
            loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[_MODULE]
        raise raised(error, path, "cannot be imported") from None
    return vars(module)


def raised(error: BaseException, file: str | Path | None, problem: str, place: str = "") -> InputError:
    """Return the error for one that code of the user's raised, with its line there."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = f"line {frames[-1].lineno}" if frames else ""
    if isinstance(error, SyntaxError) and error.lineno:
        line = f"line {error.lineno}"
    return InputError(
        f"{problem}: {type(error).__name__}: {error}", file=file, place=", ".join(filter(None, (place, line))),
        cure="correct the function",
    )  # fmt: skip


class PythonFunctions:
    """``fire_ACTOR(firing, token, ...)`` returns the tokens that it writes; ``initial(channel, token)`` initial ones.

    A channel of rate 1 hands over a token, any other one a list. An actor that writes to one channel returns what it
    writes there, to several a tuple with an entry for each, in the order of the channels.
    """

    def __init__(self, named: Mapping[str, Any], application: Application, marked: Application) -> None:
        self._file = named.get("__file__")
        self._multicasts = {actor.id for actor in marked.actors if actor.kind != "actor"}
        self._firings, self._carried = firings(application)
        names = identifiers(actor.id for actor in application.actors)
        first = {firing.actor: firing for firing in self._firings.values() if firing.number == 0}
        needed = {a.id: f"fire_{names[a.id]}" for a in application.actors if a.kind == "actor"}
        wanted = {name: _signature(name, first[actor]) for actor, name in needed.items()}
        if any(channel.delay for channel in application.channels):
            wanted["initial"] = "initial(channel, token)"
        self._complain(named, wanted)
        self._of = {actor: (name, named[name]) for actor, name in needed.items()}
        self._initial: Callable[[str, int], Any] | None = named.get("initial")
        for actor, (name, function) in self._of.items():
            _check_arguments(function, 1 + len(first[actor].reads), wanted[name])

    def _complain(self, named: Mapping[str, Any], wanted: Mapping[str, str]) -> None:
        lacking = {name: text for name, text in wanted.items() if not callable(named.get(name))}
        if not lacking:
            return
        spare = [name for name in map(str, named) if name.startswith("fire_") and name not in wanted]
        near = nearest_name(next(iter(lacking)), spare)
        raise InputError(
            "lacks functions", place="functions", value=", ".join(lacking), nearest=near,
            allowed="; ".join(lacking.values()), cure="write them: a firing counts from 0, tokens may be anything",
        )  # fmt: skip

    def fire(self, actor: str, iteration: int, read: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call an actor's function; raises :class:`InputError` if it fails or returns other tokens than it must."""
        firing = self._firings[actor]
        if actor in self._multicasts:
            (tokens,) = read.values()
            return {name: tokens for side in firing.writes for name, _ in side.parts}
        name, function = self._of[firing.actor]
        number = iteration * firing.per_iteration + firing.number
        arguments = [_joined(side, read) for side in firing.reads]
        place = f"{name}, firing {number}"
        try:
            returned = function(number, *arguments)
        except Exception as error:
            raise raised(error, self._file, "the function failed", place) from None
        if not firing.writes:
            return {"": returned}
        try:
            return _divided(firing.writes, returned, place)
        except InputError as error:
            raise (error if self._file is None else error.in_file(self._file)) from None

    def initial(self, channel: str, iteration: int) -> Any:
        """Return the initial tokens that a channel of the marked graph carries in an iteration."""
        carried = self._carried[channel]
        first = carried.first + iteration * carried.per_iteration
        assert self._initial is not None
        try:
            return tuple(self._initial(carried.channel, token) for token in range(first, first + carried.count))
        except Exception as error:
            raise raised(error, self._file, "the function failed", f"initial, channel {carried.channel}") from None


def _signature(name: str, firing: Firing) -> str:
    return f"{name}({', '.join(['firing', *(side.channel for side in firing.reads)])})"


def _check_arguments(function: Any, count: int, wanted: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # one that says nothing of its arguments
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        raise InputError(
            f"takes other arguments: {error}", place=wanted.partition("(")[0], value=str(signature), allowed=wanted,
            cure="take the firing, then the tokens of every channel read",
        ) from None  # fmt: skip


def _joined(side: Side, read: Mapping[str, Any]) -> Any:
    tokens = [token for name, _ in side.parts for token in read[name]]
    return tokens if side.is_list else tokens[0]


def _divided(sides: Sequence[Side], returned: Any, place: str) -> dict[str, tuple[Any, ...]]:
    """Return what a function returned by the channels of the marked graph."""
    if len(sides) == 1:
        returned = (returned,)
    elif not isinstance(returned, tuple) or len(returned) != len(sides):
        found = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
        raise InputError(
            "returned something else than a tuple with an entry for each channel that it writes", place=place,
            value=found, allowed=", ".join(side.channel for side in sides), cure="return a tuple, in this order",
        )  # fmt: skip
    divided = {}
    for side, item in zip(sides, returned, strict=True):
        tokens = _tokens(side, item, f"{place}, channel {side.channel}")
        done = 0
        for name, count in side.parts:
            divided[name] = tokens[done : done + count]
            done += count
    return divided


def _tokens(side: Side, item: Any, place: str) -> tuple[Any, ...]:
    if not side.is_list:
        if item is None:
            raise InputError("returned None for a token", place=place, cure="return the token")
        return (item,)
    try:
        tokens = tuple(item)
    except TypeError:
        raise InputError(
            "returned no list of tokens", place=place, value=type(item).__name__, allowed=f"a list of {side.count}"
        ) from None
    if len(tokens) != side.count:
        raise InputError(
            "returned another number of tokens", place=place, value=len(tokens), allowed=f"{side.count}",
            cure="return as many as the rate of the channel",
        )  # fmt: skip
    return tokens


class LibraryFunctions:
    """``fire_ACTOR`` and ``initial_CHANNEL`` of a shared library, as the emitted ``actors.h`` declares them."""

    def __init__(self, path: Path, application: Application, marked: Application) -> None:
        try:
            library = ctypes.CDLL(str(path.resolve()))
        except OSError as error:
            raise InputError(
                f"is no shared library: {error}", cure="compile it with cc -shared -fPIC actors.c -o actors.so"
            ) from None
        self._firings, self._carried = firings(application)
        self._multicasts = {actor.id for actor in marked.actors if actor.kind != "actor"}
        self._bytes = {channel.id: channel.token_bytes for channel in application.channels}
        actors = identifiers(actor.id for actor in application.actors)
        channels = identifiers(channel.id for channel in application.channels)
        named = {a.id: f"fire_{actors[a.id]}" for a in application.actors if a.kind == "actor"}
        initial = {c.id: f"initial_{channels[c.id]}" for c in application.channels if c.delay}
        lacking = [name for name in (*named.values(), *initial.values()) if not hasattr(library, name)]
        if lacking:
            raise InputError(
                "lacks functions", place="functions", value=", ".join(lacking), allowed="all of actors.h",
                cure="write the files with code, and compile its actors.c",
            )  # fmt: skip
        self._fire = {actor: getattr(library, name) for actor, name in named.items()}
        self._initial = {channel: getattr(library, name) for channel, name in initial.items()}
        for function in (*self._fire.values(), *self._initial.values()):
            function.restype = None

    def _place(self, channel: str, count: int) -> Any:
        return ctypes.create_string_buffer(max(1, count * self._bytes[channel]))

    def fire(self, actor: str, iteration: int, read: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call the function of an actor."""
        firing = self._firings[actor]
        if actor in self._multicasts:
            (token,) = read.values()
            return {name: token for side in firing.writes for name, _ in side.parts}
        tokens = [ctypes.c_char_p(b"".join(read[name] for name, _ in side.parts)) for side in firing.reads]
        places = [self._place(side.channel, side.count) for side in firing.writes]
        number = iteration * firing.per_iteration + firing.number
        self._fire[firing.actor](ctypes.c_long(number), *tokens, *places)
        written = {}
        for side, place in zip(firing.writes, places, strict=True):
            done, size = 0, self._bytes[side.channel]
            for name, count in side.parts:
                written[name] = place.raw[done : done + count * size]
                done += count * size
        return written

    def initial(self, channel: str, iteration: int) -> Any:
        """Return the initial tokens that a channel of the marked graph carries in an iteration."""
        carried = self._carried[channel]
        first = carried.first + iteration * carried.per_iteration
        tokens = []
        for token in range(first, first + carried.count):
            place = self._place(carried.channel, 1)
            self._initial[carried.channel](ctypes.c_long(token), place)
            tokens.append(place.raw[: self._bytes[carried.channel]])
        return b"".join(tokens)
