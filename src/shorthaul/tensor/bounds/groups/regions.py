"""Which operators may be in one group with others, and links that are cut so that few of them hang together."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of
from shorthaul.tensor.cost_model.profile import FULL, STEP, TILE
from shorthaul.tensor.model import Problem, Rules
from shorthaul.tensor.tuning import WALKED_PER_EFFORT

#: Where an order of operators that hang together is cut, at this part of it from either end.
_MIDDLE: Final = 0.25


class Link(NamedTuple):
    """An operator, a tensor that its group may make for it, and who makes that."""

    operator: int
    tensor: int
    source: int


class Sharing(NamedTuple):
    """How many operators may be in one group that loads a tensor, and what rows and columns of others may follow."""

    number: int
    beside: tuple[tuple[int, int], ...]


def sharing(problem: Problem, rules: Rules, search: Search) -> dict[tuple[int, int], Sharing]:
    """Return by operator and tensor who may be in one group that loads the tensor for them, as far as ``search`` gets.

    Who makes the tensor is not in that group; so operators that hang together through it alone are in different ones.
    """
    codes = _codes(problem, rules)
    around: list[set[int]] = [set() for _ in problem.operators]
    for index, _, source in links_of(problem, rules):
        around[index].add(source)
        around[source].add(index)
    found: dict[tuple[int, int], Sharing] = {}
    for tensor, users in enumerate(problem.consumers):
        for user in users:
            if (user, tensor) not in found:
                if search.expired():
                    return found
                maker = problem.producer[tensor]
                near = together_with(around, user, set() if maker is None else {maker}, users, search)
                together = [other for other in users if other in near]
                for index in together:
                    others = [codes[other, tensor] for other in together if other != index]
                    found[index, tensor] = Sharing(len(together), tuple(sorted(set().union(*others))))
    return found


def _codes(problem: Problem, rules: Rules) -> dict[tuple[int, int], set[tuple[int, int]]]:
    """Return by operator and tensor what the rows and columns of slices may follow that it asks for in some group."""
    outputs = [{(TILE, TILE)} for _ in problem.operators]
    found: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for index in reversed(problem.topological_order):
        operator = problem.operators[index]
        for rows, columns in outputs[index]:
            reduction = STEP if (rows, columns) == (TILE, TILE) else FULL
            for place, tensor in enumerate(operator.inputs):
                code = ((rows, reduction), (reduction, columns))[place] if operator.is_matmul else (rows, columns)
                found.setdefault((index, tensor), set()).add(code)
        for tensor in dict.fromkeys(operator.inputs):
            source = problem.producer[tensor]
            if source is not None and may_be_made(problem, rules, index, tensor):
                outputs[source] |= found[index, tensor]
    return found


def together_with(
    around: Sequence[Set[int]], begin: int, without: Set[int], users: Collection[int], search: Search
) -> set[int]:
    """Return which of these operators hang together with one of them, ``begin``, other than through some."""
    found, pending, missing = {begin}, deque([begin]), {*users} - {begin} - without
    while pending and missing:  # the nearest first: most are near
        fresh = around[pending.popleft()] - found - without
        found |= fresh
        missing -= fresh
        pending += fresh
    search.spend(len(found) / WALKED_PER_EFFORT)
    return found & {*users}


def cut_links(problem: Problem, rules: Rules, order: list[int], most: int) -> frozenset[tuple[int, int]]:
    """Return links that are cut so that at most so many operators hang together, as few as are easily found.

    MatMuls are cut from MatMuls, as making one's operand by another one rarely pays. Then what hangs together is cut in
    two where few links of the ``order`` cross.
    """
    operators = problem.operators
    place = {index: number for number, index in enumerate(order)}
    links = [*links_of(problem, rules)]
    cut = {link for link in links if operators[link.operator].is_matmul and operators[link.source].is_matmul}
    pending = _together(link for link in links if link not in cut)
    while pending:
        here = pending.pop()
        mine = sorted({end for link in here for end in (link.operator, link.source)}, key=place.__getitem__)
        if len(mine) <= most:
            continue
        at = {index: number for number, index in enumerate(mine)}
        crossing = [0] * (len(mine) + 1)  # links from before a place to it or behind it
        for link in here:
            crossing[at[link.operator] + 1] += 1
            crossing[at[link.source] + 1] -= 1
        crossing = [*accumulate(crossing)]
        ends = max(1, int(_MIDDLE * len(mine)))
        where = min(range(ends, len(mine) - ends + 1), key=crossing.__getitem__)
        cut |= {link for link in here if at[link.operator] < where <= at[link.source]}
        pending += _together(link for link in here if link not in cut)
    return frozenset((link.operator, link.tensor) for link in cut)


def _together(links: Iterable[Link]) -> list[list[Link]]:
    """Return the links of operators that hang together."""
    mine = [*links]
    ends = np.array([(link.operator, link.source) for link in mine], dtype=np.int64).reshape(-1, 2)
    part = component_of(int(ends.max(initial=-1)) + 1, ends[:, 0], ends[:, 1])
    found: dict[int, list[Link]] = {}
    for link in mine:
        found.setdefault(int(part[link.operator]), []).append(link)
    return [*found.values()]


def links_of(problem: Problem, rules: Rules) -> Iterator[Link]:
    """Yield the links of operators to tensors that their group may make."""
    for index, operator in enumerate(problem.operators):
        for tensor in dict.fromkeys(operator.inputs):
            source = problem.producer[tensor]
            if source is not None and may_be_made(problem, rules, index, tensor):
                yield Link(index, tensor, source)


def is_a_prologue(problem: Problem, rules: Rules, index: int, tensor: int) -> bool:
    """True if making ``tensor`` in the group of an operator falls under the rule on prologues."""
    producer = problem.producer[tensor]
    assert producer is not None
    operators = problem.operators
    return rules.prologues_are_whole and operators[index].is_matmul and not operators[producer].is_matmul


def may_be_made(problem: Problem, rules: Rules, index: int, tensor: int) -> bool:
    """True if an operator may take a tensor that is made in its group, at some granularity."""
    machine, operator = problem.machine, problem.operators[index]
    if problem.producer[tensor] is None:
        return False
    rooms = [
        max(machine.native_width, (machine.native_width, machine.native_height)[side])
        for side in (0, 1)
        if operator.is_matmul and operator.inputs[side] == tensor
    ]
    return not is_a_prologue(problem, rules, index, tensor) or problem.reduction(index) <= min(rooms)
