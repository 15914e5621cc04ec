"""Kernels that read and write Newick text, one pass over the bytes each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int32]
Spans = npt.NDArray[np.int64]

# What parse reports: no problem, or one of these with the offset it was found at.
FINE, UNOPENED, UNCLOSED, COMMENT, QUOTE, COMMA, OUTSIDE, TWICE, NUMBER, EMPTY = range(10)


@kernel
def parse(text: Bytes, most: int) -> tuple[int, int, int, Index, Spans, Spans]:
    """Return (problem, offset, n, parent, name spans, length spans); vertices in the order they begin (preorder).

    ``most`` bounds the number of vertices. Several trees, each ended by a semicolon, give several roots.
    """
    parent = np.empty(most, np.int32)
    name = np.zeros((most, 2), np.int64)
    length = np.zeros((most, 2), np.int64)
    size = text.size
    n, opened, current, i = 0, -1, -1, 0
    have, begun = False, False
    while i < size:
        c = text[i]
        if c == 32 or 9 <= c <= 13:
            i += 1
            continue
        if c == 91:  # [ comment ]
            begin = i
            while i < size and text[i] != 93:
                i += 1
            if i == size:
                return COMMENT, begin, n, parent, name, length
            i += 1
            continue
        if c == 40:  # (
            if have:
                return COMMA, i, n, parent, name, length
            parent[n] = opened
            name[n, 0] = i
            opened = n
            n += 1
            begun = True
            i += 1
            continue
        if not have and c != 59:  # a leaf begins here, perhaps without a name
            if opened < 0 and (c == 44 or c == 41):
                return (OUTSIDE if c == 44 else UNOPENED), i, n, parent, name, length
            parent[n] = opened
            name[n, 0] = -1
            current = n
            n += 1
            have = True
            begun = True
        if c == 44:  # ,
            if opened < 0:
                return OUTSIDE, i, n, parent, name, length
            have = False
            i += 1
        elif c == 41:  # )
            if opened < 0:
                return UNOPENED, i, n, parent, name, length
            current = opened
            opened = parent[opened]
            name[current, 0] = -1
            i += 1
        elif c == 59:  # ;
            if opened >= 0:
                return UNCLOSED, name[opened, 0], n, parent, name, length
            if not begun:
                return EMPTY, i, n, parent, name, length
            have = False
            begun = False
            i += 1
        elif c == 58:  # : length
            i += 1
            while i < size and (text[i] == 32 or 9 <= text[i] <= 13):
                i += 1
            begin = i
            while i < size and (48 <= text[i] <= 57 or text[i] in (43, 45, 46, 69, 101)):
                i += 1
            if i == begin:
                return NUMBER, i, n, parent, name, length
            if length[current, 1] > 0:
                return TWICE, begin, n, parent, name, length
            length[current, 0] = begin
            length[current, 1] = i
        else:
            if name[current, 0] >= 0:
                return TWICE, i, n, parent, name, length
            begin = i
            if c == 39:  # ' quoted, '' inside is a quote
                i += 1
                while i < size and (text[i] != 39 or (i + 1 < size and text[i + 1] == 39)):
                    i += 2 if text[i] == 39 else 1
                if i >= size:
                    return QUOTE, begin, n, parent, name, length
                i += 1
            else:
                while i < size and text[i] > 32 and text[i] not in (40, 41, 44, 58, 59, 91):
                    i += 1
            name[current, 0] = begin
            name[current, 1] = i
    if opened >= 0:
        return UNCLOSED, name[opened, 0], n, parent, name, length
    if n == 0:
        return EMPTY, 0, n, parent, name, length
    for v in range(n):
        if name[v, 0] < 0:
            name[v, 0] = 0
    return FINE, -1, n, parent, name, length


@kernel
def write(starts: Index, kids: Index, text: Bytes, name: Spans, length: Spans, out: Bytes) -> int:
    """Write the trees into ``out`` (large enough) and return how many bytes were written."""
    n = kids.size
    cursor = starts[:n].copy()
    stack = np.empty(n + 1, np.int32)
    at = 0
    for r in range(starts[n], starts[n + 1]):
        stack[0] = kids[r]
        top = 1
        while top > 0:
            v = stack[top - 1]
            if cursor[v] < starts[v + 1]:
                out[at] = 40 if cursor[v] == starts[v] else 44
                at += 1
                stack[top] = kids[cursor[v]]
                cursor[v] += 1
                top += 1
                continue
            if starts[v + 1] > starts[v]:
                out[at] = 41
                at += 1
            for i in range(name[v, 0], name[v, 1]):
                out[at] = text[i]
                at += 1
            if length[v, 1] > length[v, 0]:
                out[at] = 58
                at += 1
                for i in range(length[v, 0], length[v, 1]):
                    out[at] = text[i]
                    at += 1
            top -= 1
        out[at] = 59
        out[at + 1] = 10
        at += 2
    return at
