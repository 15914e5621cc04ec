"""Loads of a plan replaced by computing the value again where that is cheaper: for plans of any size."""

from __future__ import annotations

import numpy as np

from shorthaul.pebble.local_search import rematerialisation_kernels as kernels
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Plan


def computed_again(cdag: Cdag, plan: Plan, budget: int) -> Plan:
    """Return the plan with loads replaced by computations wherever the operands are at hand, and idle stores dropped.

    It moves no more than before, and fills the fast memory no further than the budget; values may be computed again.

    >>> from shorthaul.pebble.model import build
    >>> from shorthaul.pebble.plan import Move, plan_of
    >>> chain = build([1, 3, 1, 1], [0, 1, 0, 1, 2], [1, 2, 2, 3, 3])
    >>> moves = [(0, 0), (2, 1), (1, 1), (2, 2), (3, 1), (0, 1), (2, 3), (1, 3)]
    >>> [kind.name for kind, _ in computed_again(chain, plan_of(moves), 9)]
    ['LOAD', 'COMPUTE', 'COMPUTE', 'DELETE', 'COMPUTE', 'COMPUTE', 'STORE']
    """
    moves = kernels.Moves(plan.kinds, plan.nodes, cdag.n)
    given = cdag.given.view(np.uint8)
    kernels.compute_again(moves, cdag.weights, given, cdag.parents.starts, cdag.parents.targets, budget)
    kinds, nodes = np.asarray(moves.new_kinds)[: moves.count], np.asarray(moves.new_nodes)[: moves.count]
    keep = np.zeros(moves.count, np.bool_)
    kernels.needed(kinds, nodes, cdag.is_output().view(np.uint8), keep.view(np.uint8))
    return Plan(kinds[keep], nodes[keep])
