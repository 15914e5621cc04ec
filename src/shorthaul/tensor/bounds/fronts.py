"""In which order the diagram of all groups decides the operators: its fronts are as narrow as an annealing makes them.

A tensor is open from the first consumer decided to the producer (of a graph input: to the last consumer). The number of
nodes grows with the ways in which groups may get the tensors that are open at a time.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.search import Search
from shorthaul.tensor.bounds import front_kernels
from shorthaul.tensor.model import Problem
from shorthaul.tensor.tuning import (
    ORDERING_MOVES_PER_OPERATOR,
    ORDERING_SHARE,
    ORDERING_VISITS,
    ORDERING_VISITS_PER_EFFORT,
)

Integers = NDArray[np.int64]

#: Ways in which a group gets a tensor that is open, or does not: one of the graph's inputs, and others.
_WAYS: Final = (2.0, 2.5)
#: The largest logarithm of a number of ways.
_MOST: Final = 700.0


def narrow_order(problem: Problem, search: Search) -> list[int]:
    """Return the operators, consumers before producers, so that few tensors are open at a time."""
    order = np.array(problem.topological_order[::-1], dtype=np.int64)
    producers = [
        [source for t in dict.fromkeys(operator.inputs) if (source := problem.producer[t]) is not None]
        for operator in problem.operators
    ]
    made = front_kernels.Fronts(
        *_rows([list(users) for users in problem.consumers]),
        *_rows(producers),
        np.array([-1 if source is None else source for source in problem.producer], dtype=np.int64),
        np.array([operator.output for operator in problem.operators], dtype=np.int64),
        np.array([math.log(_WAYS[source is not None]) for source in problem.producer]),
        order,
    )
    visits = len(problem.operators) + len(problem.tensors)  # of a move
    most = min(ORDERING_VISITS, ORDERING_SHARE * search.left() * ORDERING_VISITS_PER_EFFORT)
    moves = min(ORDERING_MOVES_PER_OPERATOR * len(problem.operators), int(most) // visits)
    front_kernels.anneal(made, Random(0), moves)
    search.spend(moves * visits / ORDERING_VISITS_PER_EFFORT)
    return [int(index) for index in order]


def fronts(problem: Problem, order: list[int]) -> float:
    """Return about how many ways there are to get the tensors that are open, at all operators of an order together."""
    place = {index: number for number, index in enumerate(order)}
    change = np.zeros(len(order) + 1)
    for tensor, users in enumerate(problem.consumers):
        if users:
            source = problem.producer[tensor]
            places = [place[user] for user in users]
            change[min(places)] += math.log(_WAYS[source is not None])
            change[max(places) if source is None else place[source]] -= math.log(_WAYS[source is not None])
    return float(np.exp(np.minimum(np.cumsum(change)[:-1], _MOST)).sum())


def _rows(lists: list[list[int]]) -> tuple[Integers, Integers]:
    """Return where each list begins, and all of them one after the other."""
    begin = np.cumsum([0, *map(len, lists)])
    return begin.astype(np.int64), np.array([item for items in lists for item in items], dtype=np.int64)
