"""Options are dataclasses; their fields are the Python keywords, the command-line flags and their help alike."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shorthaul.core.arguments import fit
from shorthaul.core.document import digest, read_bytes
from shorthaul.core.errors import AS_FLAGS, STANDARD_STREAM, InputError, unknown_name
from shorthaul.core.files.names import expect_file_name

OptionsT = TypeVar("OptionsT")


@dataclass(frozen=True, slots=True)
class PythonForm:
    """A value that Python callers may give for an option that is text: its type, and how it becomes that text."""

    annotation: str
    text: Callable[[Any], str | None]


def option(
    default: Any,
    help: str,  # noqa: A002 -- the word of the command line
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    flags: tuple[str, ...] = (),
    form: PythonForm | None = None,
    free: bool = False,
    written: tuple[str, ...] = (),
) -> Any:
    """Return a dataclass field that is also a command-line flag.

    ``choices`` limits text, ``least`` and ``most`` limit numbers (both ends included) and so does ``above`` (its end
    left out), ``flags`` replaces the flag made from the field's name, ``form`` is what Python callers may give in place
    of text. One that is ``free`` may be another where a search is resumed: a plan is as good with it as without. The
    verb writes a file with one of the suffixes ``written``, which is free: a command tries before it begins.
    """
    metadata = {
        "help": help, "choices": choices, "least": least, "most": most, "above": above, "flags": flags, "form": form,
        "free": free or bool(written), "written": written,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata=metadata)


class Options:
    """The base of all option dataclasses: their fields are checked as they are made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        validate(self)


def chosen(options: OptionsT | None, kind: type[OptionsT], fields: Mapping[str, Any]) -> OptionsT:
    """Return ``options`` (the defaults of the dataclass ``kind`` for None) with ``fields`` in place of its own.

    Raises :class:`InputError` for a field that ``kind`` does not have, with the nearest spelling, and for a value of
    another type.
    """
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in fields:
        if name not in known:
            raise unknown_name("option", name, known)
    if options is not None and not isinstance(options, kind):
        raise InputError("is of another type", place="options", value=options, allowed=f"a {kind.__name__}")
    typed = {name: typed_value(known[name], value) for name, value in fields.items()}
    return kind(**typed) if options is None else dataclasses.replace(options, **typed)  # type: ignore[type-var]


_PLAIN: dict[str, Any] = {"int": int, "float": float, "str": str, "bool": bool, "Path": Path, "None": type(None)}


def typed_value(field: dataclasses.Field[Any], value: Any) -> Any:
    """Return ``value`` as the type that ``field`` is annotated with; raises :class:`InputError` if it is of no such.

    A scalar of NumPy is a number of Python, text is a path, and the option's own form is text.
    """
    form: PythonForm | None = field.metadata.get("form")
    if form is not None and not isinstance(value, str) and value is not None:
        value = form.text(value) or value
    kinds = [_PLAIN[name] for name in str(field.type).split(" | ")]
    try:
        return fit(value, functools.reduce(operator.or_, kinds), field.name)
    except InputError as error:
        limits = _limits(field)
        if form is not None:
            error.allowed += f", or {form.annotation}"
        elif limits:
            error.allowed += f", {limits}"
        if AS_FLAGS.get():
            error.allowed = error.allowed.replace(" or None", "")
        raise


def _listed(value: Any) -> str | None:
    has_axes = getattr(value, "ndim", None) != 0
    if has_axes and isinstance(value, Iterable) and not isinstance(value, Mapping | Set | bytes):
        items = [item.item() if getattr(item, "ndim", None) == 0 else item for item in value]
        if items and all(isinstance(item, int | str) and not isinstance(item, bool) for item in items):
            return ",".join(map(str, items))
    return None


def _assigned(value: Any) -> str | None:
    if isinstance(value, Mapping) and value and all(isinstance(name, str) for name in value):
        values = _listed(value.values())
        return values and ",".join(map("=".join, zip(value, values.split(","), strict=True)))
    return None


def _crossed(value: Any) -> str | None:
    text = _listed(value) if isinstance(value, tuple | list) and len(value) == 2 else None
    return text and text.replace(",", "x")


#: Text such as ``48,64``, given as integers.
INTEGERS = PythonForm("Sequence[int]", _listed)
#: Text such as ``bfs,dfs``, given as names.
NAMES = PythonForm("Sequence[str]", _listed)
#: Text such as ``N=8,S=16``, given as a mapping.
SIZES = PythonForm("Mapping[str, int]", _assigned)
#: Text such as ``750x994``, given as a pair.
EXTENT = PythonForm("tuple[int, int]", _crossed)
#: A name or the path of a file, given as a path.
FILE_OR_NAME = PythonForm("PathLike[str]", lambda value: str(value) if isinstance(value, os.PathLike) else None)


def fixed(options: Any) -> dict[str, Any]:
    """Return the options that decide what is asked, as JSON: those that are not free, files by their content.

    A path that leads nowhere stays as it is: the name of a bundled machine, or a mistake that the verb tells.
    """
    given = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if not field.metadata.get("free")
    }
    return {name: _content(value) if isinstance(value, Path) else value for name, value in given.items()}


def _content(path: Path) -> str:
    return digest(read_bytes(path)) if path.exists() or str(path) == STANDARD_STREAM else str(path)


def validate(options: Any) -> None:
    """Raise :class:`InputError` for the first field of an option dataclass that is not allowed.

    Called from the ``__post_init__`` of dataclasses that check more than their fields one by one.
    """
    for field in dataclasses.fields(options):
        given = getattr(options, field.name)
        value = typed_value(field, given)
        if value is not given:
            object.__setattr__(options, field.name, value)
        if value is None:
            continue
        choices = field.metadata.get("choices", ())
        if choices and value not in choices:
            raise unknown_name("value", str(value), choices, place=field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            _validate_range(value, field)
        if isinstance(value, Path) or field.metadata.get("form") is FILE_OR_NAME:
            expect_file_name(value, field.name)


def _validate_range(value: float, field: dataclasses.Field[Any]) -> None:
    least, most, above = (field.metadata.get(name) for name in ("least", "most", "above"))
    low = -math.inf if least is None else least
    high = math.inf if most is None else most
    if math.isnan(value) or not low <= value <= high or (above is not None and value <= above):
        raise InputError("is out of range", place=field.name, value=value, allowed=_limits(field))


def _limits(field: dataclasses.Field[Any]) -> str:
    """Return the numbers that are allowed, in words; nothing where all are."""
    least, most, above = (_shown(field.metadata.get(name)) for name in ("least", "most", "above"))
    if above:
        return f"above {above}, up to {most}" if most else f"above {above}"
    if least and most:
        return f"{least} to {most}"
    return f"from {least}" if least else f"up to {most}" if most else ""


def _shown(end: float | None) -> str:
    return "" if end is None else str(int(end)) if float(end).is_integer() else f"{end:g}"


def flag_name(field: dataclasses.Field[Any]) -> str:
    """Return the long command-line flag of an option field."""
    flags: tuple[str, ...] = field.metadata.get("flags", ())
    return next((flag for flag in flags if flag.startswith("--")), "--" + field.name.replace("_", "-"))
