"""What the expansion of a layer works on: the graph as bit sets, and the place the expansion has got to."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.pebble.states.automorphism_kernels import Group
from cython.cimports.shorthaul.pebble.states.dominance_kernels import States
from cython.cimports.shorthaul.pebble.states.pattern_database_kernels import Lookup, Patterns
from cython.cimports.shorthaul.pebble.states.potential_kernels import Potential


@cython.final
@cython.cclass
class Graph:
    """A graph as bit sets, rows of ``words`` words, in the order of time or against it.

    Computing a node touches it and its operands: these are row v of ``touched``, and the nodes whose computing touches
    v row v of ``touchers``. Row v of ``before`` are the nodes computed before v, of ``later`` v and all those after it:
    against time, its readers and its ancestors. ``computed`` is the set of the nodes that are no inputs.
    """

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        touched: cython.const_ulonglong[::1],
        touchers: cython.const_ulonglong[::1],
        before: cython.const_ulonglong[::1],
        later: cython.const_ulonglong[::1],
        computed: cython.const_ulonglong[::1],
    ) -> None:
        self.weights = weights
        self.touched = touched
        self.touchers = touchers
        self.before = before
        self.later = later
        self.computed = computed
        self.n = weights.shape[0]
        self.words = computed.shape[0]


@cython.final
@cython.cclass
class Expansion:
    """The successors of one layer, as far as they are made, with room to work in.

    ``sets`` has a row (done, red, unsaved) per state of the layer, ``numbers`` what goes with it; ``states`` gets the
    successors. ``only`` is the node to compute, -1 for any. At most ``most_steps`` sets of values to let go are looked
    at per state and node.
    """

    states: States

    def __init__(
        self,
        graph: Graph,
        sets: cython.const_ulonglong[::1],
        numbers: cython.const_longlong[:, ::1],
        budget: cython.longlong,
        only: cython.longlong,
        most_steps: cython.longlong,
        patterns: Patterns,
        potential: Potential,
        group: Group,
    ) -> None:
        n = graph.n
        words = graph.words
        self.graph = graph
        self.sets = sets
        self.numbers = numbers
        self.potential = potential
        self.group = group
        self.lookup = Lookup(patterns, graph.touchers, words)
        self.budget = budget
        self.only = only
        self.most_steps = most_steps
        self.limit = 0
        self.position = 0
        self.is_cut = False
        self.work = 0
        self.is_open = False
        self.start = 0
        self.ready = np.empty(n, np.int64)
        self.ready_count = 0
        self.turn = 0
        self.cost = 0
        self.slack = 0
        self.base = np.empty(3 * words, np.uint64)
        self.touched = np.empty(n, np.int64)
        self.touched_count = 0
        self.total = 0
        self.released = 0
        self.excess = 0
        self.largest = 0
        self.held = 0
        self.own = np.zeros(n, np.int64)
        self.size = 0
        self.candidates = np.empty(n, np.int64)
        self.rises = np.empty(n, np.int64)
        self.sizes = np.empty(n, np.int64)
        self.digits = np.empty(n, np.int64)
        self.suffix = np.empty(n + 1, np.int64)
        self.covered = np.empty(n * words, np.uint64)
        self.is_covered = np.empty(n, np.uint8)
        self.leaders = np.empty(n * words, np.uint64)
        self.has_leaders = np.empty(n, np.uint8)
        self.is_paused = False
        self.steps = 0
        self.index = 0
        self.depth = 0
        self.weight = 0
        self.charge = 0
        self.chosen = np.empty(n + 1, np.int64)
        self.taken = np.empty(words, np.uint64)
