"""A network: operators as iteration dimensions, and for each tensor an affine map from them to its axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class Tensor:
    """What is stored: its shape and the bits of an element. Views of it are no tensors, but steps of an access."""

    name: str
    shape: tuple[int, ...]
    bits: int
    role: Literal["input", "constant", "made"]
    is_output: bool = False

    @property
    def elements(self) -> int:
        """The product of the sizes."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the whole tensor, the last one perhaps half used."""
        return -(-self.elements * self.bits // 8)


@dataclass(frozen=True, slots=True)
class Index:
    """One axis of a tensor: ``(sum of coefficient * dim + offset) // divisor``, clipped to the axis.

    Where ``exact`` is set, nothing is read unless the division has no remainder, as in a transposed convolution.
    """

    terms: tuple[tuple[int, int], ...] = ()
    offset: int = 0
    divisor: int = 1
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Permute:
    """Axis ``i`` of the view is axis ``axes[i]`` of its source."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Regroup:
    """The same elements in row-major order under another shape."""

    shape: tuple[int, ...]
    source: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stride:
    """Position ``i`` of an axis is ``start + step * i`` of the source's, clipped to its size."""

    start: tuple[int, ...]
    step: tuple[int, ...]
    source: tuple[int, ...]

    def within(self) -> list[tuple[float, float]]:
        """Return, by axis, from where to where positions are within the source."""
        found = []
        for start, by, size in zip(self.start, self.step, self.source, strict=True):
            ends = sorted((place - start) / by for place in (0, size - 1)) if by else [-math.inf, math.inf]
            found.append((ends[0], ends[1]))
        return found


@dataclass(frozen=True, slots=True)
class Expand:
    """The source broadcast: axes of one element repeat, leading ones are new."""

    source: tuple[int, ...]


Step = Permute | Regroup | Stride | Expand


@dataclass(frozen=True, slots=True)
class Access:
    """What an operator reads or writes of a stored tensor: axes of a view of ``shape``, and the steps from there."""

    tensor: int
    axes: tuple[Index, ...]
    shape: tuple[int, ...]
    steps: tuple[Step, ...] = ()

    def is_beside(self, other: Access) -> bool:
        """Return whether both are pieces of one view, as of a concatenation: no position has an element of each."""
        if (self.axes, self.shape) != (other.axes, other.shape):
            return False
        one, two = next(
            (both for both in zip(self.steps, other.steps, strict=False) if both[0] != both[1]), (None,) * 2
        )
        if not (isinstance(one, Stride) and isinstance(two, Stride)):
            return False
        return any(max(a[0], b[0]) > min(a[1], b[1]) for a, b in zip(one.within(), two.within(), strict=True))


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator: all combinations of its dimensions, each of ``work`` operations, on one kind of unit.

    Dimensions of ``whole`` cannot be cut: a softmax needs its row. Dimensions that the output lacks are reduced over.
    Of a ``barrier`` only the traffic is known: it reads all its inputs and writes all its outputs, once. ``first`` is
    where each dimension begins in the node that the operator computes a part of, ``steps`` how far its places there are
    apart; both are empty where it computes all of it.
    Dimensions of ``running`` are cut where the operator that adds up over them cuts them, and not otherwise: a softmax
    in its online form. Between the two are operators that make 0 of 0, and read nothing else that depends on it.
    """

    name: str
    kind: str
    dims: tuple[int, ...]
    dim_names: tuple[str, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    work: float
    unit: Literal["matrix", "vector"]
    whole: frozenset[int] = frozenset()
    barrier: bool = False
    first: tuple[int, ...] = ()
    running: frozenset[int] = frozenset()
    steps: tuple[int, ...] = ()

    @property
    def rows(self) -> frozenset[int]:
        """The dimensions that the operator on its own cannot cut."""
        return self.whole | self.running

    @property
    def looks_up(self) -> bool:
        """Whether it takes less than one element per position: those that it looks up along what it cannot cut."""
        return self.work < 1 and bool(self.rows)

    @property
    def operations(self) -> float:
        """All operations; a multiply-accumulate is two."""
        return self.work * math.prod(self.dims)

    @property
    def reduced(self) -> tuple[int, ...]:
        """The dimensions that the output lacks."""
        kept = {dim for index in self.writes[0].axes for dim, _ in index.terms} if self.writes else set()
        return tuple(dim for dim in range(len(self.dims)) if dim not in kept)


@dataclass(frozen=True, slots=True)
class Origin:
    """The model that a network was made of, as a file or its bytes, and the sizes given to symbolic dimensions.

    Rows of more than ``most_row_bytes`` were taken apart, unless sums cut them.
    """

    model: Path | bytes
    dims: Mapping[str, int]
    most_row_bytes: float = math.inf


@dataclass(frozen=True)
class Network:
    """Operators in an order in which they can be executed, and the tensors between them.

    ``outputs`` are the results of the model as accesses, each over dimensions along its axes. ``whole`` is the network
    with all that the model computes, where this one has only what those need; its tensors have the same numbers.
    """

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    remarks: tuple[str, ...] = ()
    origin: Origin | None = field(default=None, compare=False, repr=False)
    outputs: tuple[Access, ...] = ()
    whole: Network | None = field(default=None, compare=False, repr=False)

    @cached_property
    def producer(self) -> dict[int, int]:
        """The operator that makes a tensor."""
        return {access.tensor: number for number, item in enumerate(self.operators) for access in item.writes}

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """The operators that read a tensor, in order, each once."""
        found: list[dict[int, None]] = [{} for _ in self.tensors]
        for number, item in enumerate(self.operators):
            for access in item.reads:
                found[access.tensor][number] = None
        return tuple(tuple(readers) for readers in found)

    @cached_property
    def reads_apart(self) -> tuple[tuple[int, ...], ...]:
        """Which reads of each operator are apart: of pieces of a concatenation the first, as no position has two."""
        found = []
        for item in self.operators:
            rows: list[list[int]] = []
            for number, access in enumerate(item.reads):
                beside = (row for row in rows if all(self._are_beside(access, item.reads[other]) for other in row))
                row = next(beside, None)
                if row is None:
                    rows.append([number])
                else:
                    row.append(number)
            found.append(tuple(row[0] for row in rows))
        return tuple(found)

    def _are_beside(self, one: Access, other: Access) -> bool:
        return one.is_beside(other) and self.tensors[one.tensor].bits == self.tensors[other.tensor].bits

    @cached_property
    def parts(self) -> dict[int, tuple[tuple[int, int], ...]]:
        """Where tensors begin, by axis, in those that the model makes, and how far their places there are apart.

        Of the others nothing is left out.
        """
        return {
            access.tensor: tuple(
                (item.first[index.terms[0][0]], item.steps[index.terms[0][0]]) if index.terms else (0, 1)
                for index in access.axes
            )
            for item in self.operators
            for access in item.writes
            if item.first
        }

    def until_sums(self, number: int) -> tuple[int, ...] | None:
        """Return an operator of running rows and those up to what adds up over them, None if it has no such rows."""
        found, last = [number], number
        while self.operators[number].running and (last == number or not self.operators[last].reduced):
            found += self.consumers[self.operators[last].writes[0].tensor]
            last = found[-1]
        return tuple(sorted(found)) if found[1:] else None

    @cached_property
    def row_sums(self) -> dict[int, tuple[int, int]]:
        """The operator that adds up over running rows, and its dimension, by the operator that has these."""
        ends = {number: self.until_sums(number) for number, item in enumerate(self.operators) if item.running}
        return {number: (rows[-1], self.operators[rows[-1]].reduced[0]) for number, rows in ends.items() if rows}

    def running_in(self, operators: Sequence[int]) -> list[tuple[int, tuple[int, int]]]:
        """Return the operators of a group whose rows its sums may cut, with the operator and dimension of these."""
        keys = ((number, self.row_sums[number]) for number in operators if self.operators[number].running)
        return [(number, key) for number, key in keys if key[0] in operators]

    def whole_in(self, number: int, operators: Sequence[int]) -> frozenset[int]:
        """Return the dimensions of an operator that a group has to leave whole, whatever it asks for."""
        item = self.operators[number]
        return item.rows if item.running and self.row_sums[number][0] not in operators else item.whole

    def operations(self) -> float:
        """Return the operations of all operators; a multiply-accumulate is two."""
        return sum(item.operations for item in self.operators)

    def bits(self, operator: int) -> int:
        """Return the bits of the widest tensor that an operator reads or writes."""
        item = self.operators[operator]
        return max((self.tensors[access.tensor].bits for access in (*item.reads, *item.writes)), default=32)
