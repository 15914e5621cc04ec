"""Built-in workloads by name, with parameters, usable wherever a file is: ``dwt:n=256,d=8``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from shorthaul.core.document import digest, read_bytes
from shorthaul.core.errors import STANDARD_STREAM, InputError, unknown_name

T = TypeVar("T")
Value = int | float | str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a case: its ``default`` gives its type, ``choices`` or ``least`` / ``most`` what is allowed."""

    default: Value
    help: str = ""
    choices: tuple[str, ...] = ()
    least: float = 1
    most: float = 2**31


@dataclass(frozen=True, slots=True)
class Case(Generic[T]):
    """A built-in workload: ``build`` is called with every parameter by name and returns it."""

    name: str
    summary: str
    build: Callable[..., T]
    parameters: Mapping[str, Parameter]

    def usage(self) -> str:
        """Return the case as a user writes it, with its defaults.

        >>> Case("path", "a path", int, {"n": Parameter(8)}).usage()
        'path:n=8'
        """
        given = ",".join(f"{name}={parameter.default}" for name, parameter in self.parameters.items())
        return f"{self.name}:{given}" if given else self.name


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """A workload and where it comes from: ``name`` as the user gave it, ``digest`` of the bytes or the case."""

    workload: T
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class Workloads(Generic[T]):
    """The workloads of an engine: their type, the built-in ones, and how files and objects of the field become one.

    ``load`` gets a path, its bytes and the options of reading (those of the verb where it has no such); ``convert``
    gets an object and these options, and returns None for one of another kind. ``accepted`` says what may be given,
    ``of_files`` which options are refused with a built-in workload. ``mistaken`` is as :func:`resolve` takes it.
    """

    model: type[T]
    cases: Sequence[Case[T]]
    load: Callable[[Path, bytes, Any], T]
    accepted: str
    convert: Callable[[Any, Any], T | None] | None = None
    of_files: tuple[str, ...] = ()
    mistaken: Callable[[str], InputError | None] = lambda _: None

    def source(self, workload: object, reading: Any = None, options: Any = None) -> Source[T]:  # noqa: ARG002
        """Return ``workload`` with its source; raises :class:`InputError` if nothing of the engine can be made of it.

        It may be a :class:`Source`, an object of the engine, a path, text (:func:`resolve`) or an object of the field.
        """
        if isinstance(workload, Source):
            return self._made(workload.workload, workload.name, workload.digest, reading)
        if isinstance(workload, str):
            refused = {name: getattr(reading, name, None) for name in self.of_files}
            return resolve(
                workload, self.cases, lambda path, data: self.load(path, data, reading), refused, self.mistaken
            )
        if isinstance(workload, os.PathLike):
            path = Path(os.fsdecode(workload))
            data = read_bytes(path)
            return Source(self.load(path, data, reading), str(path), digest(data))
        return self._made(workload, "", "", reading)

    def _made(self, workload: object, name: str, identity: str, reading: Any) -> Source[T]:
        made = workload if isinstance(workload, self.model) else None
        if made is None and self.convert is not None:
            made = self.convert(workload, reading)
        if made is None:
            shown = f"{type(workload).__module__}.{type(workload).__qualname__}"
            raise InputError("is not a workload", place="workload", value=shown, allowed=self.accepted)
        return Source(made, name, identity)


def comes_from(value: object, package: str) -> bool:
    """Return whether ``value`` is an object of ``package``, without importing it.

    >>> comes_from(Path(), "pathlib"), comes_from(Path(), "networkx")
    (True, False)
    """
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


#: The file that errors name for a workload given as text.
TEXT = Path("<text>")


def _is_text(text: str) -> bool:
    """Return whether ``text`` is a workload itself, no name: no case or usual path has a line break, brace or arrow."""
    return "\n" in text or "{" in text or "->" in text or text.lstrip()[:1] in {"(", "<"}


def resolve(
    text: str,
    cases: Sequence[Case[T]],
    load: Callable[[Path, bytes], T],
    of_files: Mapping[str, object] = MappingProxyType({}),
    mistaken: Callable[[str], InputError | None] = lambda _: None,
) -> Source[T]:
    """Return the workload that ``text`` names: a file, ``-`` for standard input, or a built-in case with parameters.

    Text with a line break, a brace or an arrow, or that begins with ``(`` or ``<``, is read as the content of a file
    if it is no file's name. ``load`` is called with the path and its bytes. Raises :class:`InputError` if ``text`` is
    none of them, with the nearest case or file, for every wrong parameter, and where a built-in case is given options
    ``of_files``. ``mistaken`` returns the error for text that is meant otherwise, as a sum with a mistake, else None.
    """
    if not text.strip():
        raise InputError(
            "no input is named", value=text, allowed="a file or a built-in case", cure="see the verb 'cases'"
        )
    path = Path(text)
    if text == STANDARD_STREAM or _is_file(path):
        data = read_bytes(path)
        return Source(load(path, data), text, digest(data))
    if _is_text(text):
        data = text.encode(errors="surrogateescape")
        return Source(load(TEXT, data), "", digest(data))
    name, _, rest = text.partition(":")
    by_name = {case.name: case for case in cases}
    if name not in by_name:
        error = mistaken(text)
        if error is None and re.search(r"[/\\.]", text):
            read_bytes(path)  # raises with the nearest file
        cure = "see the verb 'cases' for what each one takes"
        raise error or unknown_name("file or built-in case", text, by_name, cure=cure)
    case = by_name[name]
    for option, value in of_files.items():
        if value is not None:
            raise InputError("does not apply", place=option, value=value, allowed=f"for files only, not for {name}")
    values = _parameters(case, rest)
    exact = ",".join(f"{key}={value}" for key, value in sorted(values.items()))
    return Source(case.build(**values), text, digest(f"{name}:{exact}"))


def _is_file(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _parameters(case: Case[Any], text: str) -> dict[str, Value]:
    values: dict[str, Value] = {name: parameter.default for name, parameter in case.parameters.items()}
    given: set[str] = set()
    for item in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in item.partition("="))
        place = f"{case.name}:{name}"
        if not equals:
            raise InputError(
                "is not a parameter", place=case.name, value=item, allowed=f"name=value, as in {case.usage()}"
            )
        if name not in case.parameters:
            raise unknown_name("parameter", name, case.parameters, place=case.name)
        if name in given:
            raise InputError("is given twice", place=place, value=value)
        given.add(name)
        values[name] = _value(case.parameters[name], value, place)
    return values


def _value(parameter: Parameter, text: str, place: str) -> Value:
    if isinstance(parameter.default, str):
        if parameter.choices and text not in parameter.choices:
            raise unknown_name("value", text, parameter.choices, place=place)
        return text
    kind = "an integer" if isinstance(parameter.default, int) else "a number"
    allowed = f"{kind} from {parameter.least:.15g} to {parameter.most:.15g}"
    try:
        value = int(text) if isinstance(parameter.default, int) else float(text)
    except ValueError:
        raise InputError("is not a number", place=place, value=text, allowed=allowed) from None
    if not math.isfinite(value) or not parameter.least <= value <= parameter.most:
        raise InputError("is out of range", place=place, value=value, allowed=allowed)
    return value
