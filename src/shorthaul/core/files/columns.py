"""Long plans in columns: a NumPy archive (``.npz``), and a short JSON document that names it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from shorthaul.core.document import decode_text, digest, expect_kind, json_text, parse_json, read_bytes, write_bytes
from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import Column, is_archive, read_archive

P = TypeVar("P")
#: Plans of more entries than this are written in columns.
MOST_JSON_ENTRIES: Final = 100_000
#: A piece of text in an archive.
_TEXT: Final = Column("U", ())


def columns_path(path: Path) -> Path:
    """Return where the columns of the plan file ``path`` are: itself, or beside it with ``.npz`` appended."""
    return path if path.suffix.lower() == ".npz" else path.with_name(path.name + ".npz")


def write_columns(path: Path, kind: str, arrays: Mapping[str, npt.ArrayLike]) -> Path:
    """Write ``arrays`` as the columns of the plan file ``path``, whole or not at all, and return where they are.

    Raises :class:`InputError` if the file cannot be written.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, kind=np.array(kind), **arrays)  # type: ignore[arg-type]
    columns = columns_path(path)
    write_bytes(columns, buffer.getvalue())
    return columns


def write_head(path: Path, head: Mapping[str, Any]) -> None:
    """Write the short document that names the columns of the plan file ``path``, unless that is the archive itself."""
    columns = columns_path(path)
    if columns != path:
        write_bytes(path, json_text({**head, "file": columns.name}).encode())


def read_columns(data: bytes, kind: str, columns: Mapping[str, Column]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of the archive in ``data``.

    Raises :class:`InputError` if it is no archive, lacks a column, has one of another form, or holds another kind.
    """
    found = read_archive(data, {"kind": _TEXT, **columns})
    if str(found["kind"]) != kind:
        raise InputError("is of another kind", place="kind", value=str(found["kind"]), allowed=kind)
    del found["kind"]
    return found


def companion(path: Path, document: Mapping[str, Any]) -> tuple[Path, bytes] | None:
    """Return path and content of the columns that the plan ``document`` in the file ``path`` names, None if none.

    A relative path starts where the document lies and stays in its folder; any other, and a file that cannot be read,
    is an :class:`InputError`.
    """
    if document.get("file") is None:
        return None
    columns = beside(path, document["file"], "file")
    return columns, read_bytes(columns)


def beside(path: Path, name: object, place: str) -> Path:
    """Return the file ``name`` that the document in the file ``path`` names: one in its folder, or below that.

    Any other is an :class:`InputError`, wherever links lead.
    """
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError("is no file name", file=path, place=place, value=name)
    found = path.parent / name
    if Path(name).is_absolute() or not Path(os.path.realpath(found)).is_relative_to(os.path.realpath(path.parent)):
        raise InputError(
            "leads out of the document's folder", file=path, place=place, value=name,
            allowed="the name of a file beside the document, or in a folder beside it",
            cure="name that file itself instead of this document" if place == "file" else "copy the file there",
        )  # fmt: skip
    return found


def expect_digest(document: Mapping[str, Any], found: str, columns: Path) -> None:
    """Raise :class:`InputError` unless the digest in ``document``, if it has one, is the one found in its columns."""
    if document.get("digest") not in {None, found}:
        raise InputError("is not the file that was written with the plan", file=columns, place="digest")


def read_plan(
    path: Path,
    kinds: tuple[str, str],
    from_columns: Callable[[bytes], P],
    from_document: Callable[[Mapping[str, Any]], P],
    digest_of: Callable[[P], str],
) -> P:
    """Return the plan that ``path`` holds: columns, a plan document, or a result document that carries a plan.

    ``kinds`` are those of a plan's document and of a result's; ``digest_of`` gives the digest that a document of the
    first kind states for the columns it names. Raises :class:`InputError` naming file, place, value and cure.
    """
    plan_kind, result_kind = kinds
    try:
        data = read_bytes(path)
        if is_archive(data):
            return from_columns(data)
        document = parse_json(decode_text(data, file=path), file=path)
        if isinstance(document, dict) and document.get("kind") == result_kind:
            document = document.get("plan")
        fields = expect_kind(document, plan_kind)
        found = companion(path, fields)
        if found is None:
            return from_document(fields)
        plan = from_columns(found[1])
        expect_digest(fields, digest_of(plan), found[0])
    except InputError as error:
        raise error.in_file(path) from None
    return plan


def columns_digest(arrays: Iterable[npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of the bytes of ``arrays``, one after the other (integers as 64-bit, little-endian).

    >>> columns_digest([np.array([1, 2])]) == columns_digest([np.array([1, 2], dtype=np.uint8)])
    True
    """
    wide = (array.astype("<i8") if array.dtype.kind in "iub" else array for array in arrays)
    return digest(b"".join(array.tobytes() for array in wide))
