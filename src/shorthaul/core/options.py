"""Options are dataclasses; their fields are the Python keywords, the command-line flags and their help alike."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from shorthaul.core.errors import InputError, unknown_name

OptionsT = TypeVar("OptionsT")


def option(
    default: Any,
    help: str,  # noqa: A002 -- the word of the command line
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    flags: tuple[str, ...] = (),
) -> Any:
    """Return a dataclass field that is also a command-line flag.

    ``choices`` limits text, ``least`` and ``most`` limit numbers (both ends included), ``flags`` replaces the flag
    made from the field's name.
    """
    metadata = {"help": help, "choices": choices, "least": least, "most": most, "flags": flags}
    return dataclasses.field(default=default, metadata=metadata)


# What callers coming from the command line pass beside the options, where it is the Search's.
_OF_SEARCH = {"effort", "time_limit", "time_limit_s", "seed", "workers", "cluster"}


def chosen(options: OptionsT | None, kind: type[OptionsT], fields: Mapping[str, Any]) -> OptionsT:
    """Return ``options`` (the defaults of the dataclass ``kind`` for None) with ``fields`` in place of its own.

    Raises :class:`InputError` for a field that ``kind`` does not have, with the nearest spelling.
    """
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in fields:
        if name in _OF_SEARCH - known:
            cure = "pass search=shorthaul.Search(time_limit_s=..., seed=..., workers=...)"
            raise InputError("belongs to the search, not to the options", value=name, cure=cure)
        if name not in known:
            raise unknown_name("option", name, known)
    made = kind() if options is None else options
    return dataclasses.replace(made, **fields)  # type: ignore[type-var]


def validate(options: Any) -> None:
    """Raise :class:`InputError` for the first field of an option dataclass that is not allowed.

    Called from the dataclass's ``__post_init__``.
    """
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value is None:
            continue
        flag = flag_name(field)
        choices = field.metadata.get("choices", ())
        if choices and value not in choices:
            raise unknown_name("value", str(value), choices, place=flag)
        if isinstance(value, int | float) and not isinstance(value, bool):
            _validate_range(value, field, flag)


def _validate_range(value: float, field: dataclasses.Field[Any], flag: str) -> None:
    least, most = field.metadata.get("least"), field.metadata.get("most")
    low = -math.inf if least is None else least
    high = math.inf if most is None else most
    if math.isnan(value) or not low <= value <= high:
        least_text, most_text = (str(int(end)) if float(end).is_integer() else f"{end:g}" for end in (low, high))
        both = f"{least_text} to {most_text}"
        allowed = f"from {least_text}" if most is None else f"up to {most_text}" if least is None else both
        raise InputError("is out of range", place=flag, value=value, allowed=allowed)


def flag_name(field: dataclasses.Field[Any]) -> str:
    """Return the long command-line flag of an option field."""
    flags: tuple[str, ...] = field.metadata.get("flags", ())
    return next((flag for flag in flags if flag.startswith("--")), "--" + field.name.replace("_", "-"))
