"""What one step of a subgraph asks for, as a signature that does not name tensors or operators.

Two subgraphs with the same profile cost the same at every granularity, so the search evaluates a profile once, however
often the block it stands for is repeated in the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from shorthaul.tensor.model import Problem

#: Which part of an axis a slice covers: all of it, that of the output tile, that of the reduction step.
FULL: Final = 0
TILE: Final = 1
STEP: Final = 2

#: Which axis of a slice is charged unpadded.
PADDED: Final = 0
ROWS_EXACT: Final = 1
COLUMNS_EXACT: Final = 2

#: The reduction of work that has none (a Pointwise operator).
NO_REDUCTION: Final = -1
#: The group of a demand that only the last step of a tile makes.
LAST: Final = -1


class Load(NamedTuple):
    """A slice of a tensor that has to be loaded.

    ``group`` is the position in :attr:`Profile.reductions` of the sinks that ask for it, or ``LAST``; ``height`` and
    ``width`` are the tensor's; ``is_held`` is true if the tensor is being retained, and so held whole anyway.
    """

    rows: int
    columns: int
    group: int
    height: int
    width: int
    is_held: bool


class Charge(NamedTuple):
    """A slice that an operator computes: ``reduction`` is ``STEP``, ``FULL`` or ``NO_REDUCTION``."""

    rows: int
    columns: int
    group: int
    height: int
    width: int
    exact: int
    reduction: int


@dataclass(frozen=True, slots=True)
class Profile:
    """The cost-relevant content of a subgraph, for one choice of resident and retained tensors.

    ``height`` and ``width`` are those of its outputs; ``reductions`` the distinct reduction lengths of its sink
    MatMuls, ascending; ``k_limit`` the shortest reduction of any MatMul inside (0 without one);
    ``left_prologue`` and ``right_prologue`` the longest one of any whose left or right operand a Pointwise operator
    inside makes (0 without one). ``loads`` and
    ``charges`` list slices that stand alone, with how many there are and what they cost together; ``shared_loads``
    and ``shared_charges`` list those that may coincide, per tensor and per operator. ``stored`` counts the outputs
    that are stored, ``held`` is the size of all tensors that stay whole in fast memory.
    """

    height: int
    width: int
    reductions: tuple[int, ...]
    k_limit: int
    left_prologue: int
    right_prologue: int
    loads: tuple[tuple[Load, int], ...]
    charges: tuple[tuple[Charge, float], ...]
    shared_loads: tuple[tuple[Load, ...], ...]
    shared_charges: tuple[tuple[float, tuple[Charge, ...]], ...]
    stored: int
    held: int

    @property
    def mixed_axes(self) -> tuple[bool, bool]:
        """True for rows, and for columns, if slices of one tensor follow the tile and the reduction step along them.

        They coincide in some steps only, which classes of steps do not see.
        """
        groups: list[tuple[Load, ...] | tuple[Charge, ...]] = [*self.shared_loads]
        groups += [charges for _, charges in self.shared_charges]
        rows = any({TILE, STEP} <= {slice_.rows for slice_ in group} for group in groups)
        return rows, any({TILE, STEP} <= {slice_.columns for slice_ in group} for group in groups)

    @property
    def is_mixed(self) -> bool:
        """True if slices of one tensor coincide by chance along some axis."""
        return any(self.mixed_axes)


class Demands(NamedTuple):
    """Everything one tile of a subgraph asks for.

    ``loads`` holds (tensor, rows, columns, K), ``charges`` (operator, rows, columns, K, exact, reduction), where K is
    the reduction length of the sink MatMuls in whose steps the slice is asked for, 0 for the tile's last step.
    """

    loads: tuple[tuple[int, int, int, int], ...]
    charges: tuple[tuple[int, int, int, int, int, int], ...]


def demands(problem: Problem, inside: Collection[int], outputs: Iterable[int]) -> Demands:
    """Walk up from ``outputs`` through the operators ``inside`` and return what a tile asks for."""
    loads: dict[tuple[int, int, int, int], None] = {}
    charges: dict[tuple[int, int, int, int, int, int], None] = {}
    seen = set()
    stack = [(tensor, TILE, TILE, 0, PADDED) for tensor in outputs]
    producer, operators, tensors = problem.producer, problem.operators, problem.tensors
    while stack:
        demand = stack.pop()
        if demand in seen:
            continue
        seen.add(demand)
        tensor, rows, columns, sink, exact = demand
        index = producer[tensor]
        if index is None or index not in inside:
            loads[tensor, rows, columns, sink] = None
            continue
        operator = operators[index]
        if not operator.is_matmul:
            charges[index, rows, columns, sink, exact, NO_REDUCTION] = None
            stack += [(source, rows, columns, sink, exact) for source in operator.inputs]
            continue
        left, right = operator.inputs
        reduction = FULL if sink else STEP
        sink = sink or tensors[left].width
        charges[index, rows, columns, sink, exact, reduction] = None
        stack.append((left, rows, reduction, sink, COLUMNS_EXACT))
        stack.append((right, reduction, columns, sink, ROWS_EXACT))
    return Demands(tuple(loads), tuple(charges))


def profile_of(
    problem: Problem,
    inside: Collection[int],
    outputs: Collection[int],
    resident: Collection[int],
    retained: Collection[int],
) -> Profile:
    """Return the profile of the subgraph of operators ``inside``.

    ``outputs`` are the tensors it stores or retains, ``resident`` and ``retained`` those that fast memory holds before
    and after it.
    """
    tensors, operators = problem.tensors, problem.operators
    found = demands(problem, inside, outputs)
    reductions = tuple(sorted({charge[3] for charge in found.charges} - {0}))
    group = {length: position for position, length in enumerate(reductions)} | {0: LAST}

    by_tensor: dict[int, list[Load]] = {}
    for tensor, rows, columns, sink in found.loads:
        if tensor not in resident:
            shape = tensors[tensor]
            load = Load(rows, columns, group[sink], shape.height, shape.width, tensor in retained)
            by_tensor.setdefault(tensor, []).append(load)
    by_operator: dict[int, list[Charge]] = {}
    for index, rows, columns, sink, exact, reduction in found.charges:
        shape = tensors[operators[index].output]
        charge = Charge(rows, columns, group[sink], shape.height, shape.width, exact, reduction)
        by_operator.setdefault(index, []).append(charge)

    single_charges: dict[Charge, float] = {}
    for index, charges in by_operator.items():
        if len(charges) == 1:
            single_charges[charges[0]] = single_charges.get(charges[0], 0.0) + operators[index].base_cost
    produced = {operators[index].output for index in inside}
    held = sum(tensors[tensor].size for tensor in resident)
    held += sum(tensors[tensor].size for tensor in retained if tensor not in resident or tensor in produced)
    shape = tensors[next(iter(outputs))]
    return Profile(
        height=shape.height,
        width=shape.width,
        reductions=reductions,
        k_limit=min((problem.reduction(index) for index in inside if operators[index].is_matmul), default=0),
        left_prologue=_longest_prologue(problem, inside, 0),
        right_prologue=_longest_prologue(problem, inside, 1),
        loads=tuple(sorted(Counter(group[0] for group in by_tensor.values() if len(group) == 1).items())),
        charges=tuple(sorted(single_charges.items())),
        shared_loads=tuple(sorted(tuple(sorted(group)) for group in by_tensor.values() if len(group) > 1)),
        shared_charges=tuple(
            sorted(
                (operators[index].base_cost, tuple(sorted(group)))
                for index, group in by_operator.items()
                if len(group) > 1
            )
        ),
        stored=sum(tensor not in retained for tensor in outputs),
        held=held,
    )


def _longest_prologue(problem: Problem, inside: Collection[int], side: int) -> int:
    """Return the longest reduction whose operand on this side (0 left, 1 right) a Pointwise ``inside`` makes, or 0."""
    longest = 0
    for index in inside:
        operator = problem.operators[index]
        if operator.is_matmul:
            source = problem.producer[operator.inputs[side]]
            if source is not None and source in inside and not problem.operators[source].is_matmul:
                longest = max(longest, problem.reduction(index))
    return longest
