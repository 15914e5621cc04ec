"""The plan: a sequence of moves of the weighted red-blue pebble game; and what results say beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from shorthaul.core.arguments import public
from shorthaul.core.errors import InputError
from shorthaul.core.machines.memories import MemoryDocument

IntArray = npt.NDArray[np.int64]
KindArray = npt.NDArray[np.uint8]


class Move(IntEnum):
    """What a move does: M1, M2, M3 and M4 of the paper."""

    LOAD = 0  #: M1: copy a value from slow to fast memory
    STORE = 1  #: M2: copy a value from fast to slow memory
    COMPUTE = 2  #: M3: compute a value into fast memory, its parents being there
    DELETE = 3  #: M4: drop a value from fast memory
    ACCUMULATE = 4  #: add one operand to a value; the move names the edge between them


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Moves in order: move i does ``kinds[i]`` (a :class:`Move`) to the node of index ``nodes[i]``.

    An accumulation has the index of its edge there, as ``Cdag.edge_arrays`` counts them.

    Both arrays have shape (moves,), uint8 and int64.

    >>> plan = plan_of([(Move.LOAD, 0), (Move.COMPUTE, 1)])
    >>> list(plan)
    [(<Move.LOAD: 0>, 0), (<Move.COMPUTE: 2>, 1)]
    """

    kinds: KindArray
    nodes: IntArray

    def __len__(self) -> int:
        return len(self.kinds)

    def __iter__(self) -> Iterator[tuple[Move, int]]:
        return ((Move(kind), node) for kind, node in zip(self.kinds.tolist(), self.nodes.tolist(), strict=True))

    def __add__(self, other: Plan) -> Plan:
        return join([self, other])

    def weight_of(self, kind: Move, weights: IntArray) -> int:
        """Return the weight that all moves of one kind have together; ``weights`` are the nodes' (shape (n,))."""
        return int(weights[self.nodes[self.kinds == kind]].sum())

    def traffic(self, weights: IntArray) -> int:
        """Return the weight loaded and stored (Definition 2.2); ``weights`` are the nodes' (shape (n,))."""
        return int(weights[self.nodes[self.kinds <= Move.STORE]].sum())


def with_stores(plan: Plan, nodes: IntArray, targets: IntArray) -> Plan:
    """Return a plan that stores some nodes as soon as they are complete, where it does not store them later anyway.

    ``targets`` are those of all edges, for plans with accumulations.

    >>> list(with_stores(plan_of([(2, 0), (3, 0)]), np.array([0]), np.zeros(0, np.int64)))
    [(<Move.COMPUTE: 2>, 0), (<Move.STORE: 1>, 0), (<Move.DELETE: 3>, 0)]
    """
    begun = as_computed(plan, targets)
    wanted = np.isin(begun.nodes, nodes)
    made: dict[int, int] = {}
    for at in np.flatnonzero(wanted & ((begun.kinds == Move.COMPUTE) | (begun.kinds == Move.STORE))).tolist():
        node = int(begun.nodes[at])
        if begun.kinds[at] == Move.STORE:
            made.pop(node, None)
        elif plan.kinds[at] == Move.ACCUMULATE or node not in made:
            made[node] = at
    places = [at + 1 for at in made.values()]
    for number, (node, at) in enumerate(zip(made, places, strict=True)):  # in place, an operand leaves first
        if at < len(plan) and plan.kinds[at] == Move.DELETE and plan.nodes[at] != node:
            places[number] += 1
    return Plan(np.insert(plan.kinds, places, Move.STORE), np.insert(plan.nodes, places, list(made)))


def as_computed(plan: Plan, targets: IntArray) -> Plan:
    """Return a plan whose accumulations are computations of their values; ``targets`` are those of all edges."""
    adding = plan.kinds == Move.ACCUMULATE
    if not adding.any():
        return plan
    nodes = plan.nodes.copy()
    nodes[adding] = targets[nodes[adding]]
    return Plan(np.where(adding, np.uint8(Move.COMPUTE), plan.kinds), nodes)


@public
def plan_of(moves: Iterable[tuple[int, int]]) -> Plan:
    """Return the plan of ``moves``, pairs (kind, node).

    Parameters
    ----------
    moves : Iterable[tuple[int, int]]
        Pairs (kind of move, node).

    Returns
    -------
    Plan
        The plan.

    Raises
    ------
    InputError
        If a move is no pair.

    Examples
    --------
    >>> len(plan_of([(Move.LOAD, 0), (Move.COMPUTE, 1)]))
    2
    """
    listed = list(moves)
    try:
        pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "are not pairs (kind, node)", place="moves", value=listed, allowed="pairs of integers"
        ) from None
    return Plan(pairs[:, 0].astype(np.uint8), pairs[:, 1].copy())


def join(plans: Iterable[Plan]) -> Plan:
    """Return the plans one after another.

    >>> len(join([plan_of([(0, 1)]), plan_of([(3, 1)])]))
    2
    """
    parts = list(plans)
    if not parts:
        return plan_of([])
    return Plan(np.concatenate([part.kinds for part in parts]), np.concatenate([part.nodes for part in parts]))


class ProblemSize(TypedDict):
    """The size of a problem; weights and budgets are in the unit of the weights."""

    nodes: int
    edges: int
    inputs: int
    outputs: int
    budget: int | None
    least_budget: int
    algorithmic_bound: int


class BoundExtra(TypedDict):
    """What ``bound`` and ``check`` say beside cost and bound."""

    problem: ProblemSize
    machine: NotRequired[MemoryDocument]


class PlanExtra(BoundExtra):
    """What ``plan`` says beside the schedule: its method, and how many values it computes."""

    method: str
    operations: int


class Execution(TypedDict):
    """An execution on numbers, compared with the direct result; ``error`` is the largest relative one."""

    kernel: str
    error: float
    agrees: bool
    outputs: int


class RunExtra(BoundExtra):
    """What ``run`` says beside the schedule; no ``run`` where the plan broke a rule and was not executed."""

    method: NotRequired[str]
    operations: NotRequired[int]
    run: NotRequired[Execution]


class CodeExtra(BoundExtra):
    """What ``code`` says beside the schedule: the text, and of C what is moved within the fast memory to make room."""

    method: NotRequired[str]
    operations: NotRequired[int]
    code: NotRequired[str]
    moved_within: NotRequired[int]


class PointBound(TypedDict):
    """The lower bound of one point of a sweep."""

    of: str
    value: float
    method: str


class SweepPoint(TypedDict):
    """One budget: the traffic of the schedule found, its bound, and that of the baselines where they were made.

    With prices also what the schedule pays, ``total``, which the bound is then on. With a machine also what the traffic
    takes.
    """

    budget: int
    traffic: int
    traffic_bytes: NotRequired[float]
    traffic_s: NotRequired[float]
    traffic_j: NotRequired[float]
    total: NotRequired[int]
    bound: PointBound
    gap: float | None
    method: str
    status: str
    layer_by_layer: NotRequired[int]
    layer_by_layer_freeing: NotRequired[int]


class SweepExtra(BoundExtra):
    """What ``sweep`` found."""

    points: list[SweepPoint]


class SramEstimate(TypedDict):
    """What a memory of ``capacity_bits`` takes; leakage and read energy relative to 1 Kb."""

    capacity_bits: int
    area_um2: float
    relative_leakage: float
    relative_read_energy: float
    interpolated: bool
    extrapolated: bool
    cacti: NotRequired[dict[str, float]]


class SramTable(TypedDict):
    """Estimates, and where they come from."""

    source: str
    estimates: list[SramEstimate]


class MemoryExtra(SweepExtra):
    """What ``memory`` says beside the schedule at the smallest budget; ``points`` is the curve of budgets below."""

    method: str
    sram: SramTable
