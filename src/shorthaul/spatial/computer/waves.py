"""Waves: messages of which each goes as soon as those that its sender waits for have come."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shorthaul.graphs.tree_kernels import children, depths, sorted_by
from shorthaul.spatial.computer.contents import contents, memory_of, space_of
from shorthaul.spatial.computer.memory import MachineError
from shorthaul.spatial.computer.operators import Operator, combining, fold, is_built_in
from shorthaul.spatial.computer.registers import Nodes, Register

Index = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Turns:
    """The messages of a wave in an order in which they may go; ``parent`` of every node, ``up``: they go there."""

    space: Nodes
    sender: Index
    receiver: Index
    parent: Index
    depth: Index
    up: bool

    def expect_of(self, held: Register) -> None:
        """Raise :class:`MachineError` if others hold ``held`` than those who send the messages."""
        _expect_same(self.space, held)

    @property
    def height(self) -> int:
        """The longest chain of messages."""
        return int(self.depth.max())

    def fold(self, held: Register, operator: Operator) -> None:
        """Let every message put its sender's value before its receiver's."""
        values = contents(held)
        if not is_built_in(operator):
            apply = combining(operator, memory_of(self.space))
            for sender, receiver in self._selections():
                values[receiver] = apply(values[sender], values[receiver])
        elif values.itemsize == _FOLDED:
            fold(self.sender, self.receiver, values, operator)
        else:
            wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
            fold(self.sender, self.receiver, wide, operator)
            values[:] = wide

    def _selections(self) -> Iterator[tuple[Index | slice, Index | slice]]:
        """Yield messages of one depth between different nodes, in the order of the wave."""
        begins, kids = children(self.parent, np.empty(0, np.int32))
        above = np.where(self.parent[kids] >= 0, self.parent[kids], len(kids))
        slot = np.empty(len(kids), np.int64)
        slot[kids] = np.arange(len(kids)) - begins[above]
        node = self.sender if self.up else self.receiver
        turn = np.where(self.up, -1, 1) * self.depth[node] * (int(slot[node].max(initial=0)) + 1) + slot[node]
        order = np.argsort(turn, kind="stable")
        sender, receiver = self.sender[order], self.receiver[order]
        starts = np.flatnonzero(np.diff(turn[order], prepend=turn.min(initial=0) - 1, append=turn.max(initial=0) + 1))
        for begin, end in itertools.pairwise(starts.tolist()):
            if end == begin + 1:  # on a path, slices of one are several times faster than arrays of indices
                one, other = int(sender[begin]), int(receiver[begin])
                yield slice(one, one + 1), slice(other, other + 1)
            else:
                yield sender[begin:end], receiver[begin:end]


_FOLDED = 8


def turns_by_parent(target: Register, awaited: Register) -> Turns:
    """Return the messages from every node to its target, the deepest first; raises :class:`MachineError`."""
    space = space_of(target)
    _expect_same(space, awaited)
    parent = _numbers(target, "converge")
    _numbers(awaited, "converge")
    wrong = np.flatnonzero(parent >= len(parent))
    if len(wrong):
        raise memory_of(space).refused(
            f"{space.place(int(wrong[0]))} sends a message off the grid", place="converge", value=int(parent[wrong[0]])
        )
    come = np.bincount(parent[parent >= 0], minlength=len(parent))
    wrong = np.flatnonzero(come != contents(awaited))
    if len(wrong):
        k = int(wrong[0])
        raise memory_of(space).refused(
            f"{space.place(k)} waits for another number of messages than come", place="converge",
            value=int(contents(awaited)[k]), allowed=str(int(come[k])),
        )  # fmt: skip
    return _turns(space, parent, up=True)


def turns_by_children(kids: Sequence[Register]) -> Turns:
    """Return the messages from every node to its kids, the first nodes first; raises :class:`MachineError`."""
    if not isinstance(kids, list | tuple) or not kids:
        raise MachineError("takes a list of registers", place="flood", value=kids, allowed="at least one register")
    space = space_of(kids[0])
    count = len(contents(kids[0]))
    parent = np.full(count, -1, np.int32)
    for register in kids:
        _expect_same(space, register)
        kid = _numbers(register, "flood")
        node = np.flatnonzero(kid >= 0).astype(np.int32)
        kid = kid[node]
        wrong = np.flatnonzero(kid >= count)
        if len(wrong):
            raise memory_of(space).refused(
                f"{space.place(int(node[wrong[0]]))} sends a message off the grid", place="flood",
                value=int(kid[wrong[0]]),
            )  # fmt: skip
        wrong = np.flatnonzero((parent[kid] >= 0) | (np.bincount(kid, minlength=count)[kid] > 1))
        if len(wrong):
            raise memory_of(space).refused(f"two messages go to {space.place(int(kid[wrong[0]]))}", place="flood")
        parent[kid] = node
    return _turns(space, parent, up=False)


def _numbers(register: Register, place: str) -> Index:
    """Return the numbers of nodes in a register, all others as one of none; raises :class:`MachineError`."""
    held = contents(register)
    if held.dtype.kind not in "iu" or held.ndim != 1:
        raise MachineError("does not hold one integer per node", place=place, value=f"{register} of {held.dtype}")
    limits = np.iinfo(held.dtype)
    return np.clip(held, max(limits.min, -1), min(limits.max, 2**31 - 1)).astype(np.int32)


def _turns(space: Nodes, parent: Index, *, up: bool) -> Turns:
    depth, culprit = depths(parent)
    if culprit >= 0:
        raise memory_of(space).refused(f"{space.place(culprit)} waits for itself, round a cycle", place="wave")
    order = sorted_by(depth, int(depth.max()))
    order = order[np.count_nonzero(depth == 0) :]  # without those that have no parent
    if up:
        order = np.ascontiguousarray(order[::-1])
    other = parent[order]
    return Turns(space, *((order, other) if up else (other, order)), parent, depth, up)


def _expect_same(space: Nodes, register: Register) -> None:
    if space_of(register) is not space:
        raise MachineError(f"belongs to the {space_of(register).name}, not to the {space.name}", place=repr(register))
