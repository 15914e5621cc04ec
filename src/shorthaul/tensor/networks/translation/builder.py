"""What the translation of ONNX nodes builds on: dimensions, tensors by name, views as chains of steps, accesses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shorthaul.tensor.networks.model import Access, Index, Operator, Regroup, Step, Stride, Tensor
from shorthaul.tensor.networks.translation.agreement import expect_covered, expect_read, expect_seen
from shorthaul.tensor.networks.translation.graph import Graph, Node, Shape

#: A tensor as its parts in stored tensors: which one, and the steps from its axes to those.
Parts = list[tuple[int, tuple[Step, ...]]]


@dataclass(slots=True)
class Dims:
    """The dimensions of an operator while it is made; those of one element are left out."""

    sizes: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, name: str, size: int) -> Index:
        """Return the index along a new dimension."""
        if size == 1:
            return Index()
        self.sizes.append(size)
        self.names.append(name if name not in self.names else f"{name}{len(self.names)}")
        return Index(((len(self.sizes) - 1, 1),))


def chained(outer: tuple[Step, ...], inner: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps one after the other; a part of a concatenation within another one is one step, as are shapes."""
    if outer and inner:
        last, first = outer[-1], inner[0]
        if isinstance(last, Regroup) and isinstance(first, Regroup):
            once = () if last.shape == first.source else (Regroup(last.shape, first.source),)
            return chained(outer[:-1], (*once, *inner[1:]))
        if isinstance(last, Stride) and isinstance(first, Stride) and moves_inward(last.source, first):
            start = tuple(a + b for a, b in zip(last.start, first.start, strict=True))
            return (*outer[:-1], Stride(start, last.step, first.source), *inner[1:])
    return outer + inner


def moves_inward(shape: Shape, inner: Stride) -> bool:
    """Return whether ``inner`` only shifts, and what lies beyond ``shape`` also lies beyond its source."""
    sizes = zip(shape, inner.start, inner.step, inner.source, strict=True)
    return all(step == 1 and start <= 0 and around + start >= size for around, start, step, size in sizes)


@dataclass(slots=True)
class Builder:
    """The network as far as it is made; ``parts`` says where a tensor is stored, ``nodes`` what made it.

    ``views`` has what a tensor is a view of, and the steps to there.
    """

    graph: Graph
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    parts: dict[str, Parts] = field(default_factory=dict)
    views: dict[str, tuple[str, tuple[Step, ...]]] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    #: What a row may take that is needed whole.
    most_row_bytes: float = math.inf
    used: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.used = {*self.graph.outputs, *(name for node in self.graph.nodes for name in node.inputs)}

    def shape(self, name: str) -> Shape:
        """Return the shape of a tensor of the graph."""
        return self.graph.shapes.get(name, ())

    def is_constant(self, name: str) -> bool:
        """Return whether a tensor is known before the first input arrives."""
        return name in self.graph.constants

    def store(self, name: str, shape: Shape, role: Literal["input", "constant", "made"], bits: int) -> int:
        """Return the number of a new stored tensor."""
        self.tensors.append(Tensor(name, shape, bits, role))
        return len(self.tensors) - 1

    def stored(self, name: str) -> Parts:
        """Return where a tensor lies; one that no node made so far is an input or a constant."""
        if name not in self.parts:
            role: Literal["input", "constant"] = "constant" if self.is_constant(name) else "input"
            self.parts[name] = [(self.store(name, self.shape(name), role, self.graph.bits.get(name, 32)), ())]
        return self.parts[name]

    def view(self, name: str, source: str, *steps: Step) -> None:
        """Make ``name`` a view of ``source``; a view of a constant is as constant."""
        expect_seen(self.shape(name), steps, self.shape(source))
        plain = tuple(step for step in steps if not (isinstance(step, Regroup) and step.shape == step.source))
        self.parts[name] = [(number, chained(plain, inner)) for number, inner in self.stored(source)]
        self.views[name] = source, plain

    def reads(self, name: str, axes: Sequence[Index], *steps: Step) -> list[Access]:
        """Return the accesses to a tensor; a constant of one element stays in a register."""
        shape = self.shape(name)
        if not name or (self.is_constant(name) and math.prod(shape) <= 1) or 0 in shape:
            return []
        first = steps[0] if steps else None
        seen, whole = (first.shape, first.source) if isinstance(first, Regroup) else (shape, shape)
        if len(axes) != len(seen):
            raise ValueError(f"{len(axes)} indices for a tensor of {len(seen)} axes")
        if whole != shape:
            raise ValueError(f"reads {list(shape)} as {list(whole)}")
        return [Access(number, tuple(axes), seen, chained(steps, inner)) for number, inner in self.stored(name)]

    def broadcast(self, name: str, axes: Sequence[Index]) -> list[Access]:
        """Return the accesses to a tensor that is broadcast to an output with these axes."""
        shape = self.shape(name)
        if len(shape) > len(axes):
            return self.reads(name, [Index()] * (len(shape) - len(axes)) + list(axes))
        last = axes[len(axes) - len(shape) :]
        return self.reads(name, [Index() if size == 1 else axis for size, axis in zip(shape, last, strict=True)])

    def add(
        self,
        node: Node,
        dims: Dims,
        reads: Sequence[Access],
        axes: Sequence[Index],
        *,
        work: float = 1.0,
        unit: Literal["matrix", "vector"] = "vector",
        whole: Sequence[Index] = (),
        inner: Shape | None = None,
        padded: bool = False,
    ) -> None:
        """Add an operator that writes the first output of ``node``; ``inner`` is the shape in which it writes it.

        Raises ValueError where the shapes contradict what it computes; only one that is ``padded`` may read less of an
        axis, or beyond it. A node of which somebody needs further outputs as well, as statistics or masks, is a
        barrier, and so is what adds up over nothing.
        """
        expect_covered(axes, self.shape(node.outputs[0]) if inner is None else inner, dims.sizes)
        for access in () if padded else reads:
            expect_read(access.axes, access.shape, dims.sizes)
        if 0 in dims.sizes or any(extra in self.used for extra in node.outputs[1:]):
            self.barrier(node, work=work * math.prod(dims.sizes), unit=unit, known=True)
            return
        name = node.outputs[0]
        shape = self.shape(name)
        made = self.store(name, shape if inner is None else inner, "made", self.graph.bits.get(name, 32))
        self.parts[name] = [(made, () if inner in {None, shape} else (Regroup(shape, inner or ()),))]
        uncut = frozenset(dim for index in whole for dim, _ in index.terms)
        distinct = tuple(dict.fromkeys(reads))
        writes = (Access(made, tuple(axes), self.tensors[made].shape),)
        made_of = (tuple(dims.sizes), tuple(dims.names), distinct, writes, work, unit, uncut)
        self.operators.append(Operator(node.name, node.kind, *made_of))
        self.nodes.append(node)

    def _all_of(self, number: int) -> Access:
        """Return the access of a barrier, whose axes nobody follows."""
        shape = self.tensors[number].shape
        return Access(number, tuple(Index() for _ in shape), shape)

    def barrier(
        self,
        node: Node,
        *,
        work: float | None = None,
        unit: Literal["matrix", "vector"] = "vector",
        known: bool = False,
    ) -> None:
        """Add an operator of which only the traffic is known; one that is not ``known`` is listed."""
        numbers = {number: None for name in node.inputs if name for number, _ in self.stored(name)}
        reads = tuple(self._all_of(number) for number in numbers if self.tensors[number].elements)
        outputs = [name for name in node.outputs if name]
        writes = []
        for name in outputs:
            number = self.store(name, self.shape(name), "made", self.graph.bits.get(name, 32))
            self.parts[name] = [(number, ())]
            writes.append(self._all_of(number))
        elements = float(sum(self.tensors[access.tensor].elements for access in writes))
        amount = elements if work is None else work
        if not known:
            self.unknown.setdefault(node.kind, []).append(node.name)
        self.operators.append(Operator(node.name, node.kind, (), (), reads, tuple(writes), amount, unit, barrier=True))
        self.nodes.append(node)

    def mark_outputs(self) -> tuple[Access, ...]:
        """Mark the stored tensors that the graph's outputs lie in, and return these as accesses."""
        found = []
        for name in self.graph.outputs:
            shape = self.shape(name)
            axes = tuple(Index(((axis, 1),)) for axis in range(len(shape)))
            for number, steps in self.parts.get(name, []):
                self.tensors[number] = replace(self.tensors[number], is_output=True)
                found.append(Access(number, axes, shape, steps))
        return tuple(found)


def output_dims(builder: Builder, node: Node) -> tuple[Dims, list[Index]]:
    """Return dimensions along the axes of what ``node`` makes, and an index for each axis."""
    dims, names = Dims(), "abcdefghijklmnop"
    return dims, [dims.add(names[axis], size) for axis, size in enumerate(builder.shape(node.outputs[0]))]


def axis_of(node: Node, default: int, rank: int) -> int:
    """Return the axis that a node names, counted from the first; raises ValueError where there is no such axis."""
    axis = int(node.attributes.get("axis", default))
    if not -rank <= axis < rank:
        raise ValueError(f"names axis {axis} of {rank}")
    return axis % rank
