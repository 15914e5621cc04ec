"""Mutations of binary files below the level of their libraries: headers of arrays, records of archives, wires of ONNX."""

from __future__ import annotations

import functools
import io
import re
import struct
import warnings
import zipfile
import zlib
from random import Random

from tests.fuzz.mutators import mutate_bytes

DESCRIPTIONS = (
    "'|O'", "'<i8'", "'>u2'", "'<f2'", "'<c16'", "'|b1'", "'<U5'", "'|S0'", "'|V0'", "'<M8[ns]'", "'<g'", "'x'", "''", "None", "[('a', '<i4')]",
    "[('a', '<i4', (2, 2))]", "('<i4', (3,))", "'<i4,<f8'", "'<i999999999'", "'<V2147483647'", "1", "__import__('os')", "'<i4' * 9",
)  # fmt: skip
SHAPES = (
    "()", "(0,)", "(-1,)", "(1, -1)", "(1099511627776,)", "(9223372036854775807, 2)", "(4294967296, 4294967296)", "(3, 0, 1099511627776)",
    "(2.0,)", "(True,)", "('3',)", "(1" + ", 1" * 70 + ")", "3", "None", "[3]", "(10**30,)", "(99999999999999999999999,)",
)  # fmt: skip
#: Ways to pack a record: stored, deflated, and seldom bzip2 or LZMA, which are refused before all else and take long.
_PACKINGS = (0, 0, 8, 8, 8, 8) * 8 + (12, 14)


def mutate_header(data: bytes, random: Random) -> bytes:
    """Change what the header of an array says: type, shape, order, length, version, its notation."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        return mutate_bytes(data, random)
    size = struct.unpack("<H", data[8:10])[0]
    head, body = data[10 : 10 + size].decode("latin-1"), data[10 + size :]
    kind = random.randrange(9)
    if kind < 3:
        old = head[head.index("'descr':") + 8 : head.index(", 'fortran_order'")]
        head = head.replace(old, " " + random.choice(DESCRIPTIONS))
    elif kind < 6:
        old = head[head.index("'shape':") + 8 : head.rindex(",")]
        head = head.replace(old, " " + random.choice(SHAPES))
    elif kind == 6:
        head = head.replace(
            *random.choice(
                (
                    ("False", "True"),
                    ("False", "2"),
                    ("'descr'", "'x'"),
                    ("'", ""),
                    ("{", "{{"),
                    (", }", ""),
                    ("(", "(" * 500),
                )
            )
        )
    elif kind == 7:
        head = random.choice(
            ("", "{}", "[]" * 9, "\x00" * 30, "{" * 4000, "9" * 5000, head * 2, "lambda: 0", "{'descr': '<i4', " * 50)
        )
    else:
        body = body[: random.randrange(len(body) + 1)] + random.randbytes(random.randrange(4))
    version = random.choice((b"\x01\x00", b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x00\x00", b"\xff\xff"))
    length = random.choice((len(head), len(head), len(head), 0, 65535, len(head) + 1))
    packed = struct.pack("<I", length) if version in {b"\x02\x00", b"\x03\x00"} else struct.pack("<H", length & 0xFFFF)
    return data[:6] + version + packed + head.encode("latin-1", "replace") + body


@functools.lru_cache(32)
def _members(data: bytes) -> tuple[tuple[str, bytes], ...]:
    """Return the names and contents in an archive, none if it is none, or was damaged already."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return tuple((item.filename, archive.read(item)) for item in archive.infolist())
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError):
        return ()


def mutate_records(data: bytes, random: Random) -> bytes:
    """Change the records of an archive: names, sizes, methods, flags, offsets; or the arrays inside, header first."""
    members = [*_members(data)]
    if not members:
        return mutate_bytes(data, random)
    kind = random.randrange(6)
    if kind < 3:
        at = random.randrange(len(members))
        name, content = members[at]
        members[at] = (name, mutate_header(content, random))
    elif kind == 3:
        name, content = random.choice(members)
        odd = (
            "../x.npy",
            "/etc/passwd",
            "",
            "x" * 60_000,
            name.upper(),
            name + "\x00",
            "\u00e9.npy",
            name[:-4],
            ".npy",
            name,
            "a/" * 300,
        )
        members.append((random.choice(odd), content))
    packed = io.BytesIO()
    odd_one, packing = random.randrange(len(members)), random.choice(_PACKINGS)
    with zipfile.ZipFile(packed, "w", min(packing, 8)) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (name, content) in enumerate(members):
            archive.writestr(name or "x", content, packing if number == odd_one else None)
    result = bytearray(packed.getvalue())
    if kind >= 4:
        mark = random.choice((b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"))
        places = [match.start() for match in re.finditer(re.escape(mark), result[:-27])]
        if places:
            at = random.choice(places) + random.randrange(4, 30)
            result[at : at + random.choice((1, 2, 4))] = random.choice(
                (b"\xff\xff\xff\xff", b"\0\0\0\0", random.randbytes(4))
            )[: random.choice((1, 2, 4))]
    return bytes(result)


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    found = bytearray()
    while True:
        found.append((value & 127) | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(found)


def _fields(data: bytes) -> list[tuple[int, int, bytes]] | None:
    """Return the fields of a message as (number, wire type, content), None if it is none."""
    fields, at = [], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    try:
        while at < len(data):
            key = number()
            wire = key & 7
            if wire == 0:
                begin = at
                number()
                fields.append((key >> 3, wire, data[begin:at]))
            elif wire in {1, 2, 5}:
                size = number() if wire == 2 else {1: 8, 5: 4}[wire]
                if at + size > len(data):
                    return None
                fields.append((key >> 3, wire, data[at : at + size]))
                at += size
            else:
                return None
    except IndexError:
        return None
    return fields


def _joined(fields: list[tuple[int, int, bytes]]) -> bytes:
    return b"".join(
        _varint(number << 3 | wire) + (_varint(len(content)) if wire == 2 else b"") + content
        for number, wire, content in fields
    )


def mutate_wire(data: bytes, random: Random, depth: int = 0) -> bytes:
    """Change one field of a message, at any depth: drop, repeat, move, renumber it; odd numbers and texts in it."""
    fields = _fields(data)
    if not fields:
        return mutate_bytes(data, random)
    at = random.randrange(len(fields))
    number, wire, content = fields[at]
    if wire == 2 and len(content) > 3 and random.random() < 0.85 and depth < 8:
        inner = _fields(content)
        if inner:
            fields[at] = (number, wire, mutate_wire(content, random, depth + 1))
            return _joined(fields)
    kind = random.randrange(7)
    if kind == 0:
        del fields[at]
    elif kind == 1:
        fields[at:at] = [fields[at]] * random.choice((1, 1, 300))
    elif kind == 2:
        other = random.randrange(len(fields))
        fields[at], fields[other] = fields[other], fields[at]
    elif kind == 3:
        fields[at] = (random.choice((1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 20, 999)), wire, content)
    elif wire == 0:
        fields[at] = (
            number,
            wire,
            _varint(random.choice((0, 1, 2, 7, 11, 16, 255, 2**31, 2**40, 2**62, -1, -(2**62)))),
        )
    elif wire == 2:
        odd = (
            b"",
            b"\xff\xfe",
            b"x" * 5000,
            content[:-1],
            content * 2,
            b"\xed\xa0\x80",
            b"../../x",
            "\u202e".encode(),
            b"\0",
            random.randbytes(8),
        )
        fields[at] = (number, wire, random.choice(odd))
    else:
        fields[at] = (number, wire, random.choice((b"\xff", b"\0", b"\x7f\x80\0\0")) * len(content))
    return _joined(fields)


def mutate_outside(data: bytes, random: Random) -> bytes:
    """Change what a model says of a constant: its shape and type, and where its elements lie."""
    import onnx

    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # damaged already
        return mutate_bytes(data, random)
    numbers = ("0", "-1", "x", "9" * 30, "8", "1e3", "", " 4", "1.5")
    files = ("/dev/zero", "../x", "mutated.onnx", "", ".", "a.bin/x", "x" * 5000, "weights.bin")
    for _ in range(random.choice((1, 1, 2, 3)) if model.graph.initializer else 0):
        tensor, kind = random.choice(model.graph.initializer), random.randrange(7)
        if kind < 3 and tensor.external_data:
            entry = random.choice(tensor.external_data)
            entry.value = random.choice(files if entry.key == "location" else numbers)
        elif kind == 3:
            shapes = ((), (0,), (-1,), (2**40,), (2**62, 4), (3, 3), (1,) * 80, (3,))
            tensor.dims[:] = random.choice(shapes)
        elif kind == 4:
            tensor.data_type = random.choice((0, 1, 2, 7, 8, 9, 10, 16, 17, 22, 99, -1))
        elif kind == 5:
            tensor.data_location = random.choice((0, 1))
        else:
            tensor.raw_data = random.randbytes(random.choice((0, 1, 8, 16, 96)))
    for item in model.opset_import if random.random() < 0.1 else ():
        item.version = random.choice((0, -1, 1, 13, 999))
    return bytes(model.SerializeToString())
