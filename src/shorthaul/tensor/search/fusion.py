"""The start of the search: groups are fused along their tensors as long as that pays, what saves most first."""

from __future__ import annotations

import heapq

import numpy as np

from shorthaul.core.search import Search
from shorthaul.tensor.search import move_kernels
from shorthaul.tensor.search.schedules import DONE, IMPOSSIBLE, Schedules, Solution
from shorthaul.tensor.tuning import VISITS_PER_EFFORT


def fused(schedules: Schedules, start: Solution, search: Search) -> Solution:
    """Return ``start`` with groups fused, as far as ``search`` gets.

    A fusion joins the group that makes a tensor with all that take it. What one saves is weighed again when its turn
    comes: it is made if it still saves more than the next one promises.
    """
    problem = schedules.problem
    moves = schedules.begin(start.sequence, search.seed)
    assert moves is not None, "the search began with this solution"
    members = {
        operator.output: np.array([index, *problem.consumers[operator.output]], dtype=np.int32)
        for index, operator in enumerate(problem.operators)
        if problem.consumers[operator.output]
    }
    # Not yet weighed: what leaving out the loads and the store of the tensor would save.
    promises = [
        (-len(operators) * problem.tensors[tensor].size / problem.machine.bandwidth, tensor)
        for tensor, operators in members.items()
    ]
    heapq.heapify(promises)
    while promises and not search.expired():
        _, tensor = heapq.heappop(promises)
        work = schedules.work
        while (status := move_kernels.weigh(moves, members[tensor])) not in {DONE, IMPOSSIBLE}:
            schedules.settle(moves, status)
        search.spend(schedules.work - work + len(start.sequence) / VISITS_PER_EFFORT)
        saved = schedules.sequences.total - schedules.sequences.latency
        if status == IMPOSSIBLE or saved <= 0:
            continue
        if promises and saved < -promises[0][0]:
            heapq.heappush(promises, (-saved, tensor))
        else:
            move_kernels.take(moves)
    return schedules.best(moves)
