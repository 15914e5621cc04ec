"""Machine files read from YAML or JSON: every fault of a file in one message."""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shorthaul.core.document import decode_text, read_bytes, told_by
from shorthaul.core.errors import ABSENT, STANDARD_STREAM, InputError, nearest_name, show_value, unknown_name
from shorthaul.core.machines.accelforge import is_accelforge, machine_of_accelforge
from shorthaul.core.machines.schema import MachineFile, ManyCoreSection
from shorthaul.core.machines.yaml_text import decode_yaml
from shorthaul.core.machines.zigzag import is_zigzag, machine_of_zigzag

#: Documents of other tools, and what makes a machine file of one.
FOREIGN = ((is_zigzag, machine_of_zigzag), (is_accelforge, machine_of_accelforge))
SectionT = TypeVar("SectionT", bound=msgspec.Struct)

_BUNDLED = Path(__file__).parent / "data"
#: Larger machine files are refused: dead processors take some 10 bytes each.
_MOST_BYTES = 2**26
_MOST_FAULTS = 30
#: Numbers such as 1e9, which YAML 1.1 takes for text.
_POWER_OF_TEN = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")

#: Whole numbers beyond it are not all told apart.
_LARGEST_WHOLE = 2**53


def bundled(*needed: str) -> list[str]:
    """Return the names of the machines that come with the package, of those with the sections ``needed``.

    >>> bundled("many_core")
    ['many-core-24']
    """
    names = sorted(path.stem for path in _BUNDLED.glob("*.yaml"))
    return [name for name in names if _has(name, needed)]


def _has(name: str, needed: tuple[str, ...]) -> bool:
    """Whether the bundled machine has these sections."""
    return not needed or set(needed) <= set(msgspec.yaml.decode((_BUNDLED / f"{name}.yaml").read_bytes()))


def machine_text(machine: str | Path, *needed: str, place: str = "--machine") -> tuple[Path, str]:
    """Return the path and the text of a machine file, or of the bundled machine of this name.

    Raises :class:`InputError` if there is no such file or name, or the bundled machine lacks a section of ``needed``,
    with the names that can be given; ``place`` is the flag that names the machine.
    """
    path = Path(machine)
    if str(path) != STANDARD_STREAM and not path.exists() and path.suffix == "" and path.parent == Path():
        cure = "give the name of a bundled machine, or the path of a machine file"
        if str(path) not in bundled():
            raise unknown_name("machine", str(path), bundled(*needed), place=place, cure=cure)
        if not _has(str(path), needed):
            problem = f"is a bundled machine without the sections that are needed here: {', '.join(needed)}"
            raise InputError(problem, place=place, value=str(path), allowed=", ".join(bundled(*needed)), cure=cure)
        path = _BUNDLED / f"{path}.yaml"
    data = read_bytes(path)
    if len(data) > _MOST_BYTES:
        raise InputError("is too large", file=path, value=f"{len(data)} bytes", allowed=f"up to {_MOST_BYTES}")
    return path, decode_text(data, file=path)


def load_machine_file(machine: str | Path, *needed: str, place: str = "--machine") -> MachineFile:
    """Return the machine in a file, or the bundled one of this name, with the sections ``needed``.

    Raises :class:`InputError` with everything that is wrong.
    """
    path, text = machine_text(machine, *needed, place=place)
    try:
        return machine_file(text, *needed)
    except InputError as error:
        raise error.in_file(path) from None


def machine_file(text: str, *needed: str) -> MachineFile:
    """Return what YAML or JSON text says of a machine, with the sections ``needed``; raises :class:`InputError`.

    >>> machine_file("{name: four, grid: {width: 2}, clock: 3}", "processor")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: has 3 faults
      - grid.height is missing
      - processor is missing
      - unknown field 'clock', known are name, levels, compute, grid, processor, network, dies, many_core, source
      do:      see docs/machines.md for every field
    """
    try:
        value = _with_numbers(decode_yaml(text, _is_foreign))
    except RecursionError:
        raise InputError("is nested too deeply", allowed="a machine file, see docs/machines.md") from None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InputError("is not a machine file", value=value, allowed=", ".join(_fields(MachineFile)))
    value = next((made(value) for told, made in FOREIGN if told(value)), value)
    return section_from(value, MachineFile, needed, cure="see docs/machines.md for every field")


def _is_foreign(value: Any) -> bool:
    """Whether another tool reads the document: zigzag's own files have keys twice, of which it takes the last one."""
    return isinstance(value, dict) and any(told(value) for told, _ in FOREIGN)


def foreign_machine_text(text: str) -> str:
    """Return what another tool says of a machine as a machine file; raises :class:`InputError`."""
    value = _with_numbers(decode_yaml(text, _is_foreign))
    made = next((made for told, made in FOREIGN if isinstance(value, dict) and told(value)), None)
    if made is None:
        allowed = "a file with memories and operational_array (zigzag), or with arch and its nodes (accelforge)"
        raise InputError("is no machine of another tool", allowed=allowed)
    document = made(value)
    section_from(document, MachineFile, cure="change the figures of the file")
    return msgspec.yaml.encode(document).decode()


def section_from(value: dict[str, Any], kind: type[SectionT], needed: tuple[str, ...] = (), *, cure: str) -> SectionT:
    """Return ``value`` as a section; raises :class:`InputError` with everything that is wrong.

    >>> section_from({"hight": 3}, MachineFile, cure="see the docs")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: has 2 faults
      - name is missing
      - unknown field 'hight', known are name, levels, compute, grid, processor, network, dies, many_core, source
      do:      see the docs
    """
    faults = list(_faults(value, kind, "", needed))
    if len(faults) == 1:
        place, problem, found = faults[0]
        raise InputError(problem, place=place, value=found, cure=cure)
    if faults:
        listed = "\n".join(f"  - {_told(*fault)}" for fault in faults[:_MOST_FAULTS])
        raise InputError(f"has {len(faults)} faults\n{listed}", cure=cure)
    return msgspec.convert(value, kind, str_keys=True)


def _with_numbers(value: Any) -> Any:
    """Return ``value`` with text that is a number with an exponent as that number, and whole numbers as such."""
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    if isinstance(value, str) and _POWER_OF_TEN.fullmatch(value) is not None:
        value = float(value)
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return int(value) if is_whole else value


def _told(place: str, problem: str, value: object) -> str:
    shown = "" if value is ABSENT else f", found {show_value(value)}"
    return f"{place} {problem}{shown}" if place else f"{problem}{shown}"


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _faults(
    value: dict[str, Any], kind: type[msgspec.Struct], place: str, needed: tuple[str, ...] = ()
) -> Iterator[tuple[str, str, object]]:
    """Yield place, problem and value of everything wrong in a section: what is missing, unknown, or of another kind."""
    fields = _fields(kind)
    inner = f"{place}." if place else ""
    for name, field in fields.items():
        if name in value and not (value[name] is None and name in needed):
            yield from _faults_of_value(value[name], field.type, f"{inner}{name}")
        elif field.required or name in needed:
            yield f"{inner}{name}", "is missing", ABSENT
    for name in value:
        if name not in fields:
            nearest = nearest_name(str(name), fields)
            hint = f", known are {', '.join(fields)}" if nearest is None else f", did you mean {nearest!r}?"
            yield place, f"unknown field {str(name)[:60]!r}{hint}", ABSENT
    if kind is ManyCoreSection:
        yield from _unknown_core_types(value, inner)


def _unknown_core_types(section: dict[str, Any], inner: str) -> Iterator[tuple[str, str, object]]:
    """Yield the cores of a type that has no cost; what is of the wrong kind is told elsewhere."""
    costs = section.get("core_types")
    types = [*map(str, costs)] if isinstance(costs, dict) else []
    for t, tile in _sections(section.get("tiles")) if isinstance(costs, dict) else ():
        for c, core in _sections(tile.get("cores")):
            name = core.get("type")
            if isinstance(name, str) and name not in types:
                nearest = nearest_name(name, types)
                hint = f"known are {', '.join(types)}" if nearest is None else f"did you mean {nearest!r}?"
                yield f"{inner}tiles[{t}].cores[{c}].type", f"is an unknown core type, {hint}", name


def _sections(value: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(n, item) for n, item in enumerate(value if isinstance(value, list) else ()) if isinstance(item, dict)]


def _faults_of_value(value: Any, kind: Any, place: str) -> Iterator[tuple[str, str, object]]:
    section, holder = _section(kind)
    if section is not None and holder is list and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _faults_of_value(item, section, f"{place}[{number}]")
    elif section is not None and holder is dict and isinstance(value, dict):
        for name, item in value.items():
            yield from _faults_of_value(item, section, f"{place}.{name}")
    elif section is not None and holder is None and isinstance(value, dict):
        yield from _faults(value, section, place)
    else:
        try:
            msgspec.convert(value, kind, str_keys=True)
        except msgspec.ValidationError as error:
            message, path = told_by(error)
            inner = path if path.startswith("[") or not path else f".{path}"
            allowed = f", allowed are {', '.join(_choices(kind))}" if message.startswith("Invalid enum") else ""
            yield f"{place}{inner}", message[0].lower() + message[1:].replace("`", "'") + allowed, value


def _choices(kind: Any) -> list[str]:
    """Return the words that an annotation names."""
    parts = [*typing.get_args(kind)]
    return parts if typing.get_origin(kind) is typing.Literal else [word for part in parts for word in _choices(part)]


def _section(kind: Any) -> tuple[type[msgspec.Struct] | None, type | None]:
    """Return the section that an annotation speaks of, if it does, and whether of a list or a dictionary of them."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _section(typing.get_args(kind)[0])
    if origin in {typing.Union, types.UnionType}:
        found = [_section(part) for part in typing.get_args(kind)]
        return next((item for item in found if item[0] is not None), (None, None))
    if origin in {list, dict}:
        section, _ = _section(typing.get_args(kind)[-1])
        return section, origin
    is_section = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    return (kind, None) if is_section else (None, None)
