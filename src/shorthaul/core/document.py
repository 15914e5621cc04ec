"""Files: JSON documents read with exact complaints, everything written whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import itertools
import json
import math
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import msgspec.inspect

from shorthaul.core.errors import ABSENT, STANDARD_STREAM, InputError, nearest_name
from shorthaul.core.files.names import expect_name, is_device, resolved, unwritable

T = TypeVar("T")

#: The first bytes of packed files, with the module that unpacks each.
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
_PACKED_SUFFIXES = {".gz", ".bz2", ".xz"}
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
#: How JSON writes one half of a character beyond the first 2^16.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")

#: The words of JSON text: a key with its colon, another string, a bracket, or whatever else stands between them.
_TOKEN = re.compile(r'(?P<key>"[^"\\]*(?:\\.[^"\\]*)*")\s*:|"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|[^\s{}\[\],:"]+')
_NOT_FINITE = "a number must be finite"
_TOO_LONG = "has an integer of hundreds of digits"
#: Integers of so many digits are floating-point numbers, too.
_MOST_DIGITS = sys.float_info.max_10_exp
_TWICE = "a key is given twice"
_HALF = "holds half a character"

#: So many words of JSON text are written at once.
_WORDS = 10_000

#: The files that are being written now, under other names.
TEMPORARY: set[str] = set()
#: The files that the command is to write: it may read none of them.
OUTPUTS: set[Path] = set()
#: Input files above this size are refused: something else was given by mistake. In bytes.
LARGEST_FILE = 2 * 1024**3


def read_bytes(path: str | Path) -> bytes:
    """Return the content of ``path``, of standard input for ``-``, which is kept for those who read it again.

    Raises :class:`InputError` if it cannot be read or is above :data:`LARGEST_FILE`.
    """
    path = Path(path)
    if str(path) in {STANDARD_STREAM, "/dev/stdin"}:
        return standard_input()
    try:
        expect_no_output(path)
        status = path.stat()
        size = status.st_size
        if path.is_dir():
            raise InputError("is a directory", file=path, cure="name a file")
        if not stat.S_ISREG(status.st_mode):  # a device or a pipe may have no end, or never begin
            raise InputError("is not a regular file", file=path, cure="name a file, or '-' and pipe it in")
        if size > LARGEST_FILE:
            raise InputError("is too large", file=path, value=f"{size} bytes", allowed=f"up to {LARGEST_FILE} bytes")
        with path.open("rb") as file:  # what is there: files of a kernel that say they are empty may have no end
            return _unpacked(file.read(size), path)
    except FileNotFoundError:
        nearest = _nearest_file(path)
        cure = "" if nearest else "name a file that is there, or '-' and pipe it in"
        raise InputError("no such file", file=path, nearest=nearest, cure=cure) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ValueError as error:  # a null byte in the name
        raise InputError(f"cannot be a file name: {error}", value=str(path)) from None


@functools.cache
def standard_input() -> bytes:
    """Return all of standard input; raises :class:`InputError` as :func:`read_bytes` does."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("is a terminal", file=STANDARD_STREAM, cure="pipe it in, or name a file")
    try:
        data = sys.stdin.buffer.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=STANDARD_STREAM) from None
    if len(data) > LARGEST_FILE:
        raise InputError("is too large", file=STANDARD_STREAM, allowed=f"up to {LARGEST_FILE} bytes")
    return _unpacked(data, Path(STANDARD_STREAM))


def _unpacked(data: bytes, path: Path) -> bytes:
    """Return what is packed in ``data``, or the data itself; raises :class:`InputError` for a damaged archive."""
    if data.startswith(_ZSTANDARD):
        raise InputError("is compressed", file=path, cure="unpack it first, with unzstd")
    module = next((name for head, name in _PACKED.items() if data.startswith(head)), None)
    if module is None:
        return data
    try:
        with importlib.import_module(module).open(io.BytesIO(data)) as file:
            unpacked: bytes = file.read(LARGEST_FILE + 1)
    except MemoryError:
        raise
    except Exception as error:  # each module has errors of its own
        reason = f"is a damaged archive: {error}"
        raise InputError(reason, file=path, cure=f"write the file again: {module} cannot unpack it") from None
    if len(unpacked) > LARGEST_FILE:
        raise InputError("unpacks to too much", file=path, allowed=f"up to {LARGEST_FILE} bytes")
    return unpacked


def suffix_of(path: str | Path) -> str:
    """Return the suffix that tells what a file holds, in lower case: of a packed one, that of what it packs.

    >>> suffix_of("tree.NWK.gz"), suffix_of("graph.dot"), suffix_of("-")
    ('.nwk', '.dot', '')
    """
    path = Path(path)
    return (Path(path.stem) if path.suffix.lower() in _PACKED_SUFFIXES else path).suffix.lower()


def _nearest_file(path: Path) -> str | None:
    try:
        return nearest_name(path.name, (entry.name for entry in path.parent.iterdir()))
    except OSError:
        return None


def read_text(path: str | Path) -> str:
    """Return the content of ``path`` as UTF-8 text; raises :class:`InputError` with the offset of a wrong byte."""
    return decode_text(read_bytes(path), file=path)


#: What to do with bytes that are no text, by whether the file is a binary one.
_CURES = ("save the file as UTF-8", "give a text file: this one is binary, and of a format that is not read here")
#: How text in UTF-16 begins.
UTF16 = (b"\xff\xfe", b"\xfe\xff")


def decode_text(data: bytes, *, file: str | Path | None = None) -> str:
    """Return ``data`` as UTF-8 text, a byte-order mark dropped; raises :class:`InputError` at the first wrong byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        value = f"byte {data[error.start]:#04x}"
        raise InputError(
            "is not UTF-8 text",
            file=file,
            place=f"offset {error.start}",
            value=value,
            cure=_CURES[b"\0" in data[:4096] and data[:2] not in UTF16],
        ) from None


def digest(data: bytes | str) -> str:
    """Return ``sha256:`` and the hexadecimal SHA-256 of ``data``."""
    return "sha256:" + hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def parse_json(text: str, *, file: str | Path | None = None) -> Any:
    """Return the value that ``text`` holds as strict JSON.

    Raises :class:`InputError` with line and column for wrong syntax; NaN and infinities, keys given twice, integers
    beyond all floating-point numbers and very deep nesting are refused too.

    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    if not text.strip():
        raise InputError("is empty", file=file, allowed="a JSON document")
    try:
        if _HALF_CHARACTER.search(text):
            _refuse_half_characters(text)
        return json.loads(
            text,
            parse_float=_finite,
            parse_int=_short,
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_duplicates,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        found = text[error.pos : error.pos + 20] or "the end of the file"
        cure = "give JSON, or a file whose name ends as its format asks for (.xml, .nwk, .dot, ...)"
        raise InputError(f"is not JSON: {error.msg}", file=file, place=place, value=found, cure=cure) from None
    except InputError as error:
        if error.problem in {_NOT_FINITE, _TOO_LONG, _TWICE, _HALF}:
            error.place = _place(text, error)
        raise (error if file is None else error.in_file(file)) from None
    except RecursionError:
        raise InputError("is nested too deeply", file=file, allowed="a few hundred levels") from None


def _refuse_half_characters(text: str) -> None:
    """Raise :class:`InputError` if a string holds one half of a character of two: no file and no screen takes it."""
    try:
        json.dumps(json.loads(text, parse_int=str), ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        value = f"\\u{ord(error.object[error.start]):04x}"
        raise InputError(_HALF, value=value, cure="write both halves, or the character") from None


def _is_whole(text: str) -> bool:
    """True if no character of the text is one half of another."""
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


def _place(text: str, fault: InputError) -> str:
    """Return line and column of the first number, key or string with that fault."""
    keys: list[set[str]] = []  # of the objects that are open
    for token in _TOKEN.finditer(text):
        word, key = token[0], token["key"]
        # A string has its quotes, and what is wrong may go on right behind the number.
        found = fault.problem in {_NOT_FINITE, _TOO_LONG} and word.startswith(str(fault.value))
        if fault.problem == _HALF and word.startswith('"'):
            found = not _is_whole(json.loads(key or word))
        if word == "{":
            keys.append(set())
        elif word == "}":
            keys.pop()
        elif key is not None:
            name = json.loads(key)
            found = found or (fault.problem == _TWICE and name == fault.value and name in keys[-1])
            keys[-1].add(name)
        if found:
            line = text.count("\n", 0, token.start())
            return f"line {line + 1} column {token.start() - text.rfind(chr(10), 0, token.start())}"
    return fault.place


def _finite(digits: str) -> float:
    value = float(digits)
    if value in {math.inf, -math.inf}:  # too many digits before the point
        _refuse_constant(digits)
    return value


def _short(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InputError(_TOO_LONG, value=digits[:40], allowed="64-bit integers")
    return int(digits)


def _refuse_constant(name: str) -> Any:
    raise InputError(_NOT_FINITE, value=name, allowed="finite numbers")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(_TWICE, value=key, cure="keep one of the two")
            seen.add(key)
    return result


def load_json(path: str | Path) -> Any:
    """Return the JSON value that the file holds; see :func:`parse_json` for what is refused."""
    return parse_json(read_text(path), file=path)


def load_bound(path: str, kind: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the result document of this kind at ``path`` and the bound in it; else :class:`InputError`."""
    document = expect_kind(load_json(path), kind, file=path)
    bound = document.get("bound")
    if not isinstance(bound, dict):
        cure = "write one with bound --result"
        raise InputError("holds no bound", file=path, place="bound", value=bound, cure=cure)
    return document, bound


def expect_kind(document: Any, kind: str, *, file: str | Path | None = None) -> Mapping[str, Any]:
    """Return ``document`` if it is an object of this kind, of version 1; else :class:`InputError`."""
    if not isinstance(document, dict):
        raise InputError("is not a JSON object", file=file, value=document, allowed=f"an object of kind {kind!r}")
    found = document.get("kind", ABSENT)
    if found != kind:
        raise InputError("is of another kind", file=file, place="kind", value=found, allowed=repr(kind))
    version = document.get("version", ABSENT)
    if type(version) is not int or version != 1:
        cure = "use a newer shorthaul" if isinstance(version, int) and version > 1 else ""
        raise InputError("is of an unknown version", file=file, place="version", value=version, allowed="1", cure=cure)
    return document


def convert(value: Any, into: type[T], *, file: str | Path | None = None, place: str = "", strict: bool = True) -> T:
    """Return ``value`` (from JSON) as the dataclass, Struct or type ``into``; text may be numbers unless ``strict``.

    Raises :class:`InputError` with the path inside the document, the value found there and the type allowed.

    >>> convert([1, 2], list[int])
    [1, 2]
    """
    try:
        return msgspec.convert(value, into, strict=strict)
    except msgspec.ValidationError as error:
        message, path = told_by(error)
        path = with_keys(value, into, path)
        found = _at(value, path)
        names = _names_at(into, path, ("missing" in message) or ("unknown" in message))
        wrong = message.rpartition(" `")[2].rstrip("`") if "unknown" in message else found
        nearest = nearest_name(wrong, names) if isinstance(wrong, str) else None
        inner = f".{path}" if place and path and not path.startswith("[") else path
        problem = message[0].lower() + message[1:].replace("`", "'")
        raise InputError(
            problem, file=file, place=place + inner, value=found, allowed=", ".join(names), nearest=nearest
        ) from None


def told_by(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return what msgspec says, and the path that it says it of, without the ``$`` of the document.

    >>> try:
    ...     msgspec.convert({"x": 1}, dict[int, int])
    ... except msgspec.ValidationError as error:
    ...     told_by(error)
    ('Has a key that is wrong: expected `int`, got `str`', '')
    """
    message, _, path = str(error).partition(" - at `")
    if path.startswith("key` in `"):
        message, path = f"Has a key that is wrong: {message[0].lower()}{message[1:]}", path.partition(" in `")[2]
    return message, path.rstrip("`").removeprefix("$").removeprefix(".")


def with_keys(value: Any, into: Any, path: str) -> str:
    """Return a msgspec path with keys in place of its ``[...]``: the first with which the same is wrong."""
    before, _, after = path.partition("[...]")
    holder = _at(value, before) if before else value
    if before == path or not isinstance(holder, dict):
        return path
    kept = dict(holder)
    try:
        for key, item in kept.items():
            holder.clear()
            holder[key] = item
            holder[f"{key}'"] = item  # where two are needed at least
            try:
                msgspec.convert(value, into)
            except msgspec.ValidationError as error:
                if f"{before}[...]{after}`" in str(error) or not after:
                    return with_keys(value, into, f"{before}.{key}{after}".lstrip("."))
    finally:
        holder.clear()
        holder.update(kept)
    return path


def _names_at(into: Any, path: str, is_object: bool) -> list[str]:
    """Return the fields of the object, or the texts, that are allowed where a msgspec path leads; empty for others."""
    inspect = msgspec.inspect
    kind: Any = inspect.type_info(into)
    for name, _ in [*re.findall(r"([^.\[\]]+)|(\[\d+\])", path), ("", "")]:
        while isinstance(kind, inspect.UnionType):
            kind = next(part for part in kind.types if not isinstance(part, inspect.NoneType))
        if (name, _) == ("", ""):
            break
        fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
        kind = fields.get(name) or getattr(kind, "value_type", None) or getattr(kind, "item_type", None)
    if is_object:
        return [field.encode_name for field in getattr(kind, "fields", ())]
    texts = (
        getattr(kind, "values", None) or [member.value for member in getattr(kind, "cls", None) or ()]
        if isinstance(kind, inspect.LiteralType | inspect.EnumType)
        else ()
    )
    return [str(text) for text in texts]


def _at(value: Any, path: str) -> Any:
    """Return the part of ``value`` that a msgspec path names, ABSENT if the path has wildcards or leads nowhere."""
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return ABSENT if isinstance(value, dict | list) and not path else value


def write_bytes(path: str | Path, data: bytes | Iterable[bytes]) -> None:
    """Write ``data`` to ``path`` whole or not at all (temporary file, then rename); raises :class:`InputError`."""
    pieces = [data] if isinstance(data, bytes) else data
    path = Path(path)
    temporary: str | None = None
    try:
        expect_name(path)
        if is_device(path):
            _write_device(path, pieces)
            return
        target = resolved(path)  # a link stays a link
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        TEMPORARY.add(temporary)
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(handle)
        Path(temporary).chmod(_mode(target))
        Path(temporary).replace(target)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
            TEMPORARY.discard(temporary)


def _mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, those of a new one where there is none."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _write_device(path: Path, pieces: Iterable[bytes]) -> None:
    """Write to a device or a pipe; raises OSError for a pipe that nobody reads, which would be waited for forever."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.writelines(pieces)


def expect_no_output(path: Path) -> None:
    """Raise :class:`InputError` if this command is to write ``path``, which it would read, or add to."""
    if OUTPUTS and resolved(path) in OUTPUTS:
        cure = "name another file for what is written"
        raise InputError("is an input of this command and its output", file=path, cure=cure)


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all; raises :class:`InputError`."""
    write_bytes(path, text.encode())


def json_text(value: Any, *, indent: int | None = 1) -> str:
    """Return ``value`` as strict JSON with NumPy numbers and arrays turned into plain ones, ending in a newline."""
    return "".join(json_pieces(value, indent=indent))


def json_pieces(value: Any, *, indent: int | None = 1) -> Iterator[str]:
    """Yield the text of :func:`json_text` in pieces: whole, it may take memory that is not there."""
    encoder = json.JSONEncoder(indent=indent, default=_plain, allow_nan=False)
    words = iter([encoder.encode(value)]) if indent is None else encoder.iterencode(value)
    while piece := "".join(itertools.islice(words, _WORDS)):
        yield piece
    yield "\n"


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy scalars and arrays, without importing NumPy here
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def save_json(path: str | Path, value: Any, *, indent: int | None = 1) -> None:
    """Write ``value`` as JSON to ``path``, whole or not at all; raises :class:`InputError`."""
    write_bytes(path, (piece.encode() for piece in json_pieces(value, indent=indent)))
