"""Kernels that read and write Newick text, one pass over the bytes each."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.spatial.formats.newick_constants import (
    COMMA,
    COMMENT,
    EMPTY,
    FINE,
    NUMBER,
    OUTSIDE,
    QUOTE,
    TWICE,
    UNCLOSED,
    UNFINISHED,
    UNOPENED,
)


@cython.final
@cython.cclass
class Reader:
    """Newick text and the vertices found in it, in the order they begin (preorder).

    Several trees, each ended by a semicolon, give several roots. ``name`` and ``length`` are where these begin and end
    in the text, shape (vertices, 2); the arrays have room for all vertices, and are zero.
    """

    text: cython.const_uchar[::1]
    parent: cython.int[::1]
    name: cython.longlong[:, ::1]
    length: cython.longlong[:, ::1]
    offset: cython.Py_ssize_t  # the next byte to read, in the end where the problem was found
    n: cython.Py_ssize_t
    opened: cython.Py_ssize_t  # the vertex whose parenthesis is open, -1: none
    current: cython.Py_ssize_t  # the vertex that names and lengths belong to
    has_vertex: cython.bint  # true if a vertex began here that the next comma ends
    has_tree: cython.bint

    def __init__(
        self,
        text: cython.const_uchar[::1],
        parent: cython.int[::1],
        name: cython.longlong[:, ::1],
        length: cython.longlong[:, ::1],
    ) -> None:
        self.text = text
        self.parent = parent
        self.name = name
        self.length = length
        self.offset = self.n = 0
        self.opened = self.current = -1
        self.has_vertex = self.has_tree = False


def parse(reader: Reader, count: cython.Py_ssize_t) -> tuple[int, int, int]:
    """Read at least ``count`` bytes more, if there are; return (problem, its offset, number of vertices so far)."""
    stop: cython.Py_ssize_t = min(reader.offset + count, reader.text.shape[0])
    with cython.nogil:
        problem = _parse(reader, stop)
        if problem == FINE and reader.offset < reader.text.shape[0]:
            problem = UNFINISHED
        elif problem == FINE and reader.opened >= 0:
            reader.offset = reader.name[reader.opened, 0]
            problem = UNCLOSED
        elif problem == FINE and reader.n == 0:
            reader.offset = 0
            problem = EMPTY
        elif problem == FINE:
            for v in range(reader.n):
                if reader.name[v, 0] < 0:
                    reader.name[v, 0] = 0
    return int(problem), int(reader.offset), int(reader.n)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _parse(reader: Reader, stop: cython.Py_ssize_t) -> cython.int:
    problem: cython.int = FINE
    while reader.offset < stop and problem == FINE:
        c = reader.text[reader.offset]
        if c == 32 or 9 <= c <= 13:
            reader.offset += 1
        elif c == 91:
            problem = _skip_comment(reader)
        elif c == 40:  # an inner vertex begins; until it is closed its name tells where that was
            if reader.has_vertex:
                return COMMA
            reader.name[reader.n, 0] = reader.offset
            reader.opened = _begin(reader)
            reader.offset += 1
        else:
            if not reader.has_vertex and c != 59:  # a leaf begins, perhaps without a name
                if reader.opened < 0 and (c == 44 or c == 41):
                    return OUTSIDE if c == 44 else UNOPENED
                reader.name[reader.n, 0] = -1
                reader.current = _begin(reader)
                reader.has_vertex = True
            if c == 44:
                if reader.opened < 0:
                    return OUTSIDE
                reader.has_vertex = False
                reader.offset += 1
            elif c == 41:
                if reader.opened < 0:
                    return UNOPENED
                reader.current = reader.opened
                reader.opened = reader.parent[reader.opened]
                reader.name[reader.current, 0] = -1
                reader.offset += 1
            elif c == 59:
                if reader.opened >= 0:
                    reader.offset = reader.name[reader.opened, 0]
                    return UNCLOSED
                if not reader.has_tree:
                    return EMPTY
                reader.has_vertex = False
                reader.has_tree = False
                reader.offset += 1
            elif c == 58:
                problem = _read_length(reader)
            else:
                problem = _read_name(reader, c)
    return problem


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(reader: Reader) -> cython.Py_ssize_t:
    """Begin a vertex below the one that is open; return it."""
    reader.parent[reader.n] = reader.opened
    reader.n += 1
    reader.has_tree = True
    return reader.n - 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _skip_comment(reader: Reader) -> cython.int:
    """Pass over [...], and what is nested in it."""
    i: cython.Py_ssize_t = reader.offset
    depth: cython.Py_ssize_t = 0
    while i < reader.text.shape[0]:
        if reader.text[i] == 91:
            depth += 1
        elif reader.text[i] == 93:
            depth -= 1
        i += 1
        if depth == 0:
            reader.offset = i
            return FINE
    return COMMENT


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_length(reader: Reader) -> cython.int:
    """Read a colon and the number behind it; some programs put a comment between them."""
    i: cython.Py_ssize_t = reader.offset + 1
    size: cython.Py_ssize_t = reader.text.shape[0]
    while i < size and (reader.text[i] == 32 or 9 <= reader.text[i] <= 13 or reader.text[i] == 91):
        if reader.text[i] == 91:
            reader.offset = i
            if _skip_comment(reader) != FINE:
                return COMMENT
            i = reader.offset
        else:
            i += 1
    begin = i
    i = _end_of_number(reader, i)
    reader.offset = begin
    if i == begin:
        return NUMBER
    if reader.length[reader.current, 1] > 0:
        return TWICE
    reader.length[reader.current, 0] = begin
    reader.length[reader.current, 1] = i
    reader.offset = i
    return FINE


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _end_of_number(reader: Reader, begin: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Return where the number that begins there ends; ``begin`` if what stands there is none."""
    i: cython.Py_ssize_t = begin
    size: cython.Py_ssize_t = reader.text.shape[0]
    digits: cython.Py_ssize_t = 0  # since the sign, or since the exponent began
    point: cython.bint = False
    exponent: cython.bint = False
    while i < size:
        c = reader.text[i]
        if 48 <= c <= 57:
            digits += 1
        elif c == 46 and not point and not exponent:
            point = True
        elif (c == 69 or c == 101) and not exponent and digits > 0:
            exponent = True
            digits = 0
        elif c == 43 or c == 45:  # a sign comes first
            if i > begin and (reader.text[i - 1] != 69 and reader.text[i - 1] != 101):
                return begin
        elif c == 46 or c == 69 or c == 101:
            return begin
        else:
            break
        i += 1
    return i if digits > 0 else begin


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_name(reader: Reader, c: cython.uchar) -> cython.int:
    i: cython.Py_ssize_t = reader.offset
    size: cython.Py_ssize_t = reader.text.shape[0]
    if reader.name[reader.current, 0] >= 0:
        return TWICE
    if c == 39 or c == 34:  # ' or ", which inside is written twice
        i += 1
        while i < size and (reader.text[i] != c or (i + 1 < size and reader.text[i + 1] == c)):
            i += 2 if reader.text[i] == c else 1
        if i >= size:
            return QUOTE
        i += 1
    else:
        while i < size and c > 32 and not (c == 40 or c == 41 or c == 44 or c == 58 or c == 59 or c == 91):
            i += 1
            if i < size:
                c = reader.text[i]
    reader.name[reader.current, 0] = reader.offset
    reader.name[reader.current, 1] = i
    reader.offset = i
    return FINE


def write(
    starts: cython.const_int[::1],
    kids: cython.const_int[::1],
    text: cython.const_uchar[::1],
    name: cython.const_longlong[:, ::1],
    length: cython.const_longlong[:, ::1],
    out: cython.uchar[::1],
) -> int:
    """Write the trees into ``out`` (large enough) and return how many bytes were written."""
    cursor: cython.int[::1] = np.array(starts)  # the next child to write
    stack: cython.int[::1] = np.empty(kids.shape[0] + 1, np.int32)
    size: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = kids.shape[0]
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    top: cython.Py_ssize_t
    with cython.nogil:
        for r in range(starts[n], starts[n + 1]):
            stack[0] = kids[r]
            top = 1
            while top > 0:
                v = stack[top - 1]
                if cursor[v] < starts[v + 1]:
                    out[size] = 40 if cursor[v] == starts[v] else 44
                    size += 1
                    stack[top] = kids[cursor[v]]
                    cursor[v] += 1
                    top += 1
                    continue
                if starts[v + 1] > starts[v]:
                    out[size] = 41
                    size += 1
                for i in range(name[v, 0], name[v, 1]):
                    out[size] = text[i]
                    size += 1
                if length[v, 1] > length[v, 0]:
                    out[size] = 58
                    size += 1
                    for i in range(length[v, 0], length[v, 1]):
                        out[size] = text[i]
                        size += 1
                top -= 1
            out[size] = 59
            out[size + 1] = 10
            size += 2
    return int(size)
