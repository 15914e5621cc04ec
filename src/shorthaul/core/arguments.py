"""Arguments of public functions, and fields of public dataclasses, checked against their annotations."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from shorthaul.core.errors import InputError, unknown_name

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
ClassT = TypeVar("ClassT", bound=type[Any])

_NAMES: dict[Any, str] = {
    bool: "True or False",
    bytes: "bytes",
    float: "a number",
    int: "an integer",
    str: "text",
    type(None): "None",
}


def public(function: FunctionT) -> FunctionT:
    """Return ``function`` with its arguments checked: each is of its annotated type, or :class:`InputError` is raised.

    Scalars of NumPy become numbers of Python and text becomes a path where a path is asked for. Types that cannot be
    told at run time, such as arrays, are left to the function.
    """
    signature = inspect.signature(function)
    place = f"{function.__qualname__.removesuffix('.__init__')}()"

    @functools.wraps(function)
    def call(*positional: object, **keywords: object) -> Any:
        for name in keywords:
            if name not in signature.parameters and not takes_any:
                raise unknown_name("keyword", name, set(signature.parameters) - _OWN, place=place)
        try:
            bound = signature.bind(*positional, **keywords)
        except TypeError as error:
            allowed = ", ".join(str(item) for name, item in signature.parameters.items() if name not in _OWN)
            raise InputError(str(error), place=place, allowed=allowed or "no arguments") from None
        kinds = _kinds(function)
        for name, value in bound.arguments.items():
            kind = kinds.get(name, Any)
            if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
                kind = types.GenericAlias(tuple, (kind, ...))
            if name not in _OWN and signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = fit(value, kind, name)
        return function(*bound.args, **bound.kwargs)

    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in signature.parameters.values())
    return cast("FunctionT", call)


_OWN = {"self", "cls"}


def fields_checked(cls: ClassT) -> ClassT:
    """Make a dataclass check its fields as :func:`public` checks arguments; stands below the dataclass's decorator."""
    then = cls.__dict__.get("__post_init__")

    def check(self: Any) -> None:
        for name, kind, plain, item in _fields(cast("Any", type(self))):
            value = getattr(self, name)
            own = type(value)
            if own not in plain and not (own is tuple and item is not None and {item}.issuperset(map(type, value))):
                fitted = fit(value, kind, name)
                if fitted is not value:
                    object.__setattr__(self, name, fitted)
        if then is not None:
            then(self)

    cls.__post_init__ = check
    return cls


@functools.cache
def _fields(cls: type[Any]) -> list[tuple[str, Any, set[Any], type[Any] | None]]:
    """Return of each field its name, its kind, the types whose values fit as they are, and that of a tuple's items."""
    found = []
    for name, kind in _kinds(cast("Any", cls)).items():
        parts = get_args(kind) if get_origin(kind) in {Union, types.UnionType} else (kind,)
        plain = {part for part in parts if isinstance(part, type) and get_origin(part) is None}
        items = [get_args(part) for part in parts if get_origin(part) is tuple]
        item = items[0][0] if len(items) == 1 and items[0][1:] == (...,) and type(items[0][0]) is type else None
        found.append((name, kind, plain, item))
    return found


@functools.cache
def _kinds(item: Callable[..., Any]) -> dict[str, Any]:
    """Return the types that the annotations of a function or class name; Any where one cannot be resolved."""
    if not isinstance(item, type):
        return _resolved(item.__annotations__, item.__module__)
    fields = cast("Any", item).__dataclass_fields__
    own = (_resolved(inspect.get_annotations(base), base.__module__) for base in reversed(item.__mro__))
    return {name: kind for kinds in own for name, kind in kinds.items() if name in fields}


def _resolved(annotations: Mapping[str, Any], module: str) -> dict[str, Any]:
    names = _Names(vars(sys.modules[module]))
    names.package = ".".join(module.split(".")[:2])
    found = {}
    for name, text in annotations.items():
        try:
            found[name] = eval(text, {}, names) if isinstance(text, str) else text
        except (AttributeError, TypeError):
            found[name] = Any
    return found


class _Names(dict[str, Any]):
    """The names of a module; those imported for type checkers alone are looked up among the public ones."""

    package = ""

    def __missing__(self, name: str) -> Any:
        for place in (builtins, sys.modules[self.package], sys.modules["shorthaul"]):
            if hasattr(place, name):
                return getattr(place, name)
        return Any


def fit(value: Any, kind: Any, place: str) -> Any:
    """Return ``value`` as the type ``kind``; raises :class:`InputError` if it is of another.

    >>> fit("a.json", Path, "path").name
    'a.json'
    >>> fit({"a": 1.5}, Mapping[str, int], "weights")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: weights['a']: is of another type
      found:   1.5
      allowed: an integer
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is not Any and type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        value = value.item()
    if origin in {Union, types.UnionType}:
        return _fit_one(value, inner, kind, place)
    if origin is Literal:
        if not isinstance(value, str) or value not in inner:
            name = value if isinstance(value, str) else repr(value)
            raise unknown_name("value", name, inner, place=place)
        return value
    if origin in {collections.abc.Mapping, dict} and isinstance(value, Mapping):
        return _fit_mapping(value, inner[0], inner[1], place)
    if origin is tuple and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if len(inner) == 2 and inner[1] is ...:
            plain = inner[0]
            fitted = tuple(
                item if type(item) is plain else fit(item, plain, f"{place}[{number}]")
                for number, item in enumerate(value)
            )
            return value if isinstance(value, tuple) and all(map(_same, value, fitted)) else fitted
        if len(inner) == len(value):
            return tuple(
                fit(item, own, f"{place}[{i}]") for i, (item, own) in enumerate(zip(value, inner, strict=True))
            )
    elif kind is Path and isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str):
            return value if isinstance(value, Path) else Path(text)
    elif _is_of(value, origin or kind):
        return value
    raise InputError("is of another type", place=place, value=value, allowed=_described(kind))


def _same(one: object, other: object) -> bool:
    return one is other


def _fit_one(value: Any, kinds: Sequence[Any], whole: Any, place: str) -> Any:
    """Return ``value`` as one of ``kinds``."""
    given = [kind for kind in kinds if kind is not type(None)]
    if value is None and len(given) < len(kinds):
        return value
    if len(given) == 1:
        try:
            return fit(value, given[0], place)
        except InputError as error:
            if error.place == place and not error.nearest:
                error.allowed += " or None"
            raise
    for kind in given:
        try:
            return fit(value, kind, place)
        except InputError:
            continue
    raise InputError("is of another type", place=place, value=value, allowed=_described(whole))


def _fit_mapping(value: Mapping[Any, Any], key: Any, item: Any, place: str) -> Mapping[Any, Any]:
    for name in value:
        if type(name) is not key:
            fit(name, key, f"a key of {place}")
    fitted = {name: own if type(own) is item else fit(own, item, f"{place}[{name!r}]") for name, own in value.items()}
    return value if all(fitted[name] is own for name, own in value.items()) else fitted


def _is_of(value: Any, kind: Any) -> bool:
    """Return whether ``value`` is of a plain type; true for types that cannot be told at run time."""
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind in {collections.abc.Iterable, collections.abc.Sequence}:
        return isinstance(value, kind) and not isinstance(value, str | bytes | Mapping)
    if kind is collections.abc.Callable:
        return callable(value)
    is_told = isinstance(kind, type) and kind.__module__ != "numpy" and not getattr(kind, "_is_protocol", False)
    return not is_told or kind is Any or isinstance(value, kind)


def _described(kind: Any) -> str:
    """Return a type in words.

    >>> _described(Mapping[str, int | None])
    'a mapping from text to an integer or None'
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return " or ".join(_described(part) for part in inner)
    if origin is tuple:
        return _several(inner[0]) if inner[1:] == (...,) else f"{len(inner)} values"
    if origin in {collections.abc.Mapping, dict}:
        return f"a mapping from {_described(inner[0])} to {_described(inner[1])}"
    if origin in {collections.abc.Iterable, collections.abc.Sequence}:
        return _several(inner[0])
    if kind in {Path, os.PathLike} or origin is os.PathLike:
        return "a path"
    if kind in {Any, object}:
        return "anything"
    name = getattr(kind, "__name__", str(kind))
    article = "" if name.endswith("s") else "an " if name[:1] in "AEIOUaeiou" else "a "
    return _NAMES.get(kind, article + name)


def _several(kind: Any) -> str:
    plural = {int: "integers", float: "numbers", str: "texts"}
    if get_origin(kind) is tuple:
        return f"a list of tuples of {_described(kind)}"
    return f"a list of {plural.get(kind, getattr(kind, '__name__', 'values'))}"
