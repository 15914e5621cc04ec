"""Linear attention, a recurrence over places, as products of pieces of places (its parallel form by chunks)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from shorthaul.tensor.networks.translation.writing import Writer

#: Places of a piece at most, as ONNX has it where it is not said; pieces at most, and where each has many operators
#: (planning two pieces with decay takes some 12 s of processor time).
_PLACES: Final = 64
#: The same of longer inputs where no system is solved (its powers lose digits) and no feature decays alone.
_MOST_PLACES: Final = 256
_MOST_PIECES: Final = 32
_MOST_LONG_PIECES: Final = 16
#: A feature that decays alone keeps exp(this) of itself at least from one place to the next, 2 10^-9: half a piece of
#: such places is exp(640), within what double precision holds.
_LEAST_DECAY: Final = -20.0


def linear_attention(writer: Writer) -> bool:
    """Return whether linear attention was written as products."""
    rule = bytes(writer.values.get("update_rule", b"gated_delta")).decode()
    names = [writer.input(number) for number in range(6)]
    heads, pairs = int(writer.values["q_num_heads"]), int(writer.values["kv_num_heads"])
    needed = [*names[:3], *names[4:5] * ("gated" in rule), *names[5:6] * ("delta" in rule)]
    if not all(len(writer.shapes.get(name, ())) == 3 for name in needed):
        return False
    batch, places, total = writer.shapes[names[0]]
    scale = float(writer.values.get("scale", 0.0)) or 1 / math.sqrt(total // heads)
    scaled = writer.add("Mul", names[0], writer.number(scale))
    parts = [_by_head(writer, scaled, names[0], heads), *(_by_head(writer, name, name, pairs) for name in names[1:3])]
    decay, rate = "", ""
    if "gated" in rule:
        decay = _by_head(writer, names[4], names[4], pairs)
    if "delta" in rule:
        rate = _by_head(writer, names[5], names[5], writer.shapes[names[5]][2])
    most = _MOST_PIECES if rule == "linear" else _MOST_LONG_PIECES
    width = writer.shapes[names[2]][2] // pairs
    decayed = writer.shapes[names[4]][2] // pairs if decay else 0
    step = max(min(_PLACES, int(writer.values.get("chunk_size", _PLACES))), -(-places // most))
    if step > (_PLACES if rate or decayed > 1 else _MOST_PLACES):
        return False
    pieces = _Pieces(writer, batch, heads, pairs, total // heads, width, decayed)
    state, made = names[3], []
    for start in range(0, places, step):
        stop = min(start + step, places)
        piece = [writer.part(name, 2, start, stop) if name else "" for name in (*parts, decay, rate)]
        output, state = pieces.read(piece, state, stop - start)
        made.append(output)
    joined = made[0] if len(made) == 1 else writer.add("Concat", *made, axis=2)
    turned = writer.add("Transpose", joined, perm=[0, 2, 1, 3])
    writer.reshaped(turned, (batch, places, heads * width), writer.outputs[0])
    if len(writer.outputs) > 1 and writer.outputs[1]:
        writer.add("Identity", state, output=writer.outputs[1])
    return True


def _by_head(writer: Writer, source: str, of: str, heads: int) -> str:
    """Return places by head, (batch, heads, places, features), of a tensor of the shape of ``of``."""
    batch, places, width = writer.shapes[of]
    return writer.add("Transpose", writer.reshaped(source, (batch, places, heads, width // heads)), perm=[0, 2, 1, 3])


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Pieces of places, one after the other; a key has ``size`` features, a value ``width``, a decay ``decayed``.

    With the decays of a piece added up to G, a key counts exp(G of the query's place - G of its own) for a query: one
    number for each pair of places, or, with a decay per feature, queries times exp(G - M) and keys over it, where M is
    the G of the place in the middle. What is written to the state solves a triangular system (rules ``delta``), or is
    the values.
    """

    writer: Writer
    batch: int
    heads: int
    pairs: int
    size: int
    width: int
    decayed: int

    def read(self, piece: list[str], state: str, places: int) -> tuple[str, str]:
        """Return what the queries of a piece read, by head, and the state after it; an empty ``state`` is zero."""
        writer = self.writer
        query, key, written, decay, rate = piece
        query = self._with_pairs(query, places, self.size, self.heads // self.pairs)
        asking, forward, backward, kept, between, grown, centred = query, key, key, key, "", "", ""
        if decay:
            if self.decayed > 1:
                decay = writer.add("Max", decay, writer.number(_LEAST_DECAY))
            total = writer.add("MatMul", self._lower(places, 0), decay)
            grown = writer.add("Exp", total)
            forward = writer.add("Mul", key, grown)
            asking = writer.add("Mul", query, self._with_pairs(grown, places, self.decayed, 1))
            if self.decayed == 1:
                between, kept = self._between(key, total, places)
            else:
                middle = writer.part(total, 2, places // 2, places // 2 + 1)
                centred = writer.add("Exp", writer.add("Sub", total, middle))
                query = writer.add("Mul", query, self._with_pairs(centred, places, self.decayed, 1))
                backward = kept = writer.add("Div", key, centred)
        turned = self._turned(backward)
        if rate:
            if state:
                written = writer.add("Sub", written, writer.add("MatMul", forward, state))
            written = writer.add("Mul", written, rate)
            if places > 1:
                pairs = writer.add("MatMul", writer.add("Mul", key, centred) if centred else key, turned)
                pairs = writer.add("Mul", writer.add("Mul", pairs, between) if between else pairs, rate)
                written = self._solved(writer.add("Mul", pairs, self._lower(places, -1)), written, places)
        scores = writer.add("MatMul", query, self._with_pairs(turned, self.size, places, 1))
        if between:
            scores = writer.add("Mul", scores, self._with_pairs(between, places, places, 1))
        if places > 1:
            scores = writer.add("Mul", scores, self._lower(places, 0))
        output = writer.add("MatMul", scores, self._with_pairs(written, places, self.width, 1))
        if state:
            before = writer.add("MatMul", asking, self._with_pairs(state, self.size, self.width, 1))
            output = writer.add("Add", output, before)
        return (
            writer.reshaped(output, (self.batch, self.heads, places, self.width)),
            self._after(kept, written, state, (grown, centred), places),
        )

    def _between(self, key: str, total: str, places: int) -> tuple[str, str]:
        """Return exp(G of a place - G of one before it) for all pairs, and keys by how they decay until the last place.

        No power is above 0, as decays are not, so that strong ones end in zero, not in infinity.
        """
        writer = self.writer
        most = writer.add("Min", writer.add("Sub", total, self._turned(total)), writer.number(0.0))
        left = writer.add("Sub", writer.part(total, 2, places - 1, places), total)
        return writer.add("Exp", most), writer.add("Mul", key, writer.add("Exp", left))

    def _after(self, kept: str, written: str, state: str, grown: tuple[str, str], places: int) -> str:
        """Return the state after a piece; ``kept`` are keys as they decay until its last place, or, if ``grown`` has
        two parts, over the second of them.
        """
        writer = self.writer
        last = [self._turned(writer.part(name, 2, places - 1, places)) if name else "" for name in grown]
        after = writer.add("MatMul", self._turned(kept), written)
        after = writer.add("Mul", after, last[1]) if last[1] else after
        state = writer.add("Mul", state, last[0]) if state and last[0] else state
        return writer.add("Add", state, after) if state else after

    def _turned(self, name: str) -> str:
        return self.writer.add("Transpose", name, perm=[0, 1, 3, 2])

    def _with_pairs(self, name: str, rows: int, columns: int, each: int) -> str:
        """Return matrices by head with an axis of the ``each`` queries that share a key, where several do."""
        if self.heads == self.pairs:
            return name
        return self.writer.reshaped(name, (self.batch, self.pairs, each, rows, columns))

    def _lower(self, places: int, diagonal: int) -> str:
        return self.writer.number(np.tri(places, k=diagonal))

    def _solved(self, matrix: str, right: str, places: int) -> str:
        """Return the solution of (1 + A) U = R for a matrix that is zero on and above its diagonal.

        The inverse of 1 + A is (1 - A) (1 + A^2) (1 + A^4) ..., until the power is zero.
        """
        writer = self.writer
        found, power = writer.add("Sub", right, writer.add("MatMul", matrix, right)), 2
        while power < places:
            matrix = writer.add("MatMul", matrix, matrix)
            found = writer.add("Add", found, writer.add("MatMul", matrix, found))
            power *= 2
        return found
