"""Compiled kernels of :mod:`shorthaul.pebble.structured.tree_cuts`: profiles of subtrees, and the cheapest cuts.

A profile is a list of segments (hill, valley): what the fast memory holds at most, and then at least, while a subtree
is computed without spilling, hills falling and valleys rising (Liu's canonical form).
"""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.queue_kernels import Stack
from cython.dataclasses import dataclass

IntArray = npt.NDArray[np.int64]

#: Most segments of a profile.
MOST_SEGMENTS = cython.declare(cython.Py_ssize_t, 1024)


@dataclass(frozen=True, eq=False, repr=False, match_args=False)
@cython.final
@cython.cclass
class Tree:
    """The computed nodes of a forest, ``order`` parents first, and what they need.

    ``operands`` is the weight of all parents of a node, ``twin_needs`` what the outputs computed beside it take
    (0: none).
    """

    order: cython.const_longlong[::1]
    parent_starts: cython.const_longlong[::1]
    parents: cython.const_longlong[::1]
    weights: cython.const_longlong[::1]
    operands: cython.const_longlong[::1]
    twin_needs: cython.const_longlong[::1]
    is_root: cython.const_uchar[::1]


@cython.final
@cython.cclass
class Profile:
    """A profile that grows at its end; one that is too long becomes worse, with ``relaxed`` better."""

    hills: cython.longlong[::1]
    valleys: cython.longlong[::1]
    size: cython.Py_ssize_t
    relaxed: cython.bint

    def __init__(self, relaxed: cython.bint) -> None:
        self.relaxed = relaxed
        self.hills = np.empty(MOST_SEGMENTS, np.int64)
        self.valleys = np.empty(MOST_SEGMENTS, np.int64)
        self.size = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def append(self, hill: cython.longlong, valley: cython.longlong) -> cython.void:
        """Append a segment, so that the profile stays canonical."""
        size: cython.Py_ssize_t = self.size
        while size > 0 and (hill >= self.hills[size - 1] or valley <= self.valleys[size - 1]):
            size -= 1
            hill = max(hill, self.hills[size])
        if size == MOST_SEGMENTS:
            self.size = size
            if self.relaxed:
                return
            size -= 1
            hill = max(hill, self.hills[size])
        self.hills[size] = hill
        self.valleys[size] = valley
        self.size = size + 1


@cython.final
@cython.cclass
class States:
    """Partial answers for a subtree: what each spills, its profile, and where its choices stand."""

    costs: Stack
    choices: Stack
    starts: Stack  # of the profiles; one more than there are states
    hills: Stack
    valleys: Stack

    def __init__(self) -> None:
        self.costs = Stack()
        self.choices = Stack()
        self.starts = Stack()
        self.hills = Stack()
        self.valleys = Stack()
        self.starts.push(0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(self, cost: cython.longlong, choice: cython.longlong, profile: Profile) -> cython.void:
        """Append a state."""
        for i in range(profile.size):
            self.hills.push(profile.hills[i])
            self.valleys.push(profile.valleys[i])
        self.costs.push(cost)
        self.choices.push(choice)
        self.starts.push(self.hills.size)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def shorten(self, count: cython.Py_ssize_t) -> cython.void:
        """Keep the first ``count`` states."""
        self.costs.size = count
        self.choices.size = count
        self.starts.size = count + 1
        self.hills.size = self.starts.items[count]
        self.valleys.size = self.starts.items[count]


@cython.final
@cython.cclass
class Cuts:
    """The states of every node, as far as they are found, and of the node at hand.

    The states of ``order[i]`` are ``starts[i]..starts[i + 1] - 1``, by cost, that with the node itself spilled last.
    Costs above ``limits`` are of no use. ``complete`` is False if more than ``width`` states were worth keeping
    somewhere; then the best state may be lost. With ``relaxed``, a state that is better than all of those stands in for
    them: costs are then lower bounds.
    """

    limits: cython.const_longlong[::1]
    budget: cython.longlong
    width: cython.Py_ssize_t
    relaxed: cython.bint
    complete = cython.declare(cython.bint, visibility="readonly")
    starts = cython.declare(cython.longlong[::1], visibility="readonly")
    index: cython.longlong[::1]  # of each node in order
    states: States  # of all nodes
    choices: Stack  # the states chosen for the parents, from where States.choices says
    work = cython.declare(cython.longlong, visibility="readonly")  # segments compared so far
    position: cython.Py_ssize_t  # of the node at hand
    step: cython.Py_ssize_t  # parents that are merged
    is_merging: cython.bint  # the next one is being merged
    merged: cython.Py_ssize_t  # states of merged parents: in the queue, or at last the node computed on top of them
    cheapest: cython.longlong  # of those, -1: none fits
    even: States  # of the parents merged, and of those with one more, by turns
    odd: States
    log_before: Stack  # what each of these states was made from
    log_state: Stack
    queue: cython.longlong[::1]  # a heap of the states merged: by the cost with the next state of the parent
    heads: cython.longlong[::1]  # that state
    profile: Profile

    def __init__(
        self,
        tree: Tree,
        limits: cython.const_longlong[::1],
        budget: cython.longlong,
        width: cython.Py_ssize_t,
        relaxed: cython.bint,
    ) -> None:
        self.limits = limits
        self.budget = budget
        self.width = width
        self.relaxed = relaxed
        self.complete = True
        self.starts = np.zeros(tree.order.shape[0] + 1, np.int64)
        self.index = np.full(tree.weights.shape[0], -1, np.int64)
        self.states = States()
        self.choices = Stack()
        self.work = 0
        self.position = 0
        self.step = -1
        self.is_merging = False
        self.merged = 0
        self.cheapest = -1
        self.even = States()
        self.odd = States()
        self.log_before = Stack()
        self.log_state = Stack()
        self.queue = np.empty(width, np.int64)
        self.heads = np.empty(width, np.int64)
        self.profile = Profile(relaxed)

    def costs(self) -> IntArray:
        """Return the costs of all states."""
        costs: IntArray = self.states.costs.values()
        return costs


def advance(cuts: Cuts, tree: Tree, work: cython.longlong) -> bool:
    """Compare about ``work`` further segments; True when all nodes have their states."""
    work += cuts.work
    with cython.nogil:
        while cuts.work < work and cuts.position < tree.order.shape[0]:
            if cuts.step & 1:
                _advance(cuts, tree, cuts.odd, cuts.even)
            else:
                _advance(cuts, tree, cuts.even, cuts.odd)
    return bool(cuts.position == tree.order.shape[0])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _advance(cuts: Cuts, tree: Tree, now: States, following: States) -> cython.void:
    """Begin with a node, or merge a pair of states, or compute the node on top of a state."""
    v: cython.longlong = tree.order[cuts.position]
    first: cython.Py_ssize_t = tree.parent_starts[v]
    cuts.work += 1
    if cuts.step < 0:
        cuts.index[v] = cuts.position
        cuts.step = 0
        cuts.merged = 0
        cuts.cheapest = -1
        cuts.log_before.size = 0
        cuts.log_state.size = 0
        cuts.profile.size = 0
        cuts.even.shorten(0)
        cuts.even.add(0, -1, cuts.profile)
        cuts.starts[cuts.position + 1] = cuts.states.costs.size
    elif cuts.step == tree.parent_starts[v + 1] - first:
        if cuts.merged == now.costs.size or not _computes(cuts, tree, v, now):
            _finish(cuts, tree, v)
    elif not cuts.is_merging:
        _begin_merge(cuts, cuts.index[tree.parents[first + cuts.step]], now)
        following.shorten(0)
        cuts.is_merging = True
    elif not _merges(cuts, tree, v, cuts.index[tree.parents[first + cuts.step]], now, following):
        cuts.is_merging = False
        cuts.merged = 0
        cuts.step += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_merge(cuts: Cuts, parent: cython.longlong, now: States) -> cython.void:
    """Queue every state with the cheapest one of the parent."""
    for i in range(now.costs.size):
        cuts.queue[i] = i
        cuts.heads[i] = cuts.starts[parent]
    cuts.merged = now.costs.size
    if cuts.starts[parent] == cuts.starts[parent + 1]:
        cuts.merged = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pair_cost(cuts: Cuts, now: States, i: cython.longlong) -> cython.longlong:
    return now.costs.items[i] + cuts.states.costs.items[cuts.heads[i]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_pair(cuts: Cuts, parent: cython.longlong, now: States) -> cython.void:
    """Go on from the pair on top of the queue: pairs come by cost, then by the state merged."""
    at: cython.Py_ssize_t = 0
    below: cython.Py_ssize_t = 1
    i: cython.longlong = cuts.queue[0]
    cuts.heads[i] += 1
    if cuts.heads[i] == cuts.starts[parent + 1]:
        cuts.merged -= 1
        i = cuts.queue[cuts.merged]
        if cuts.merged == 0:
            return
    cost = _pair_cost(cuts, now, i)
    while below < cuts.merged:
        other = cuts.queue[below]
        least = _pair_cost(cuts, now, other)
        if below + 1 < cuts.merged and (
            _pair_cost(cuts, now, cuts.queue[below + 1]) < least
            or (_pair_cost(cuts, now, cuts.queue[below + 1]) == least and cuts.queue[below + 1] < other)
        ):
            below += 1
            other = cuts.queue[below]
            least = _pair_cost(cuts, now, other)
        if cost < least or (cost == least and i < other):
            break
        cuts.queue[at] = other
        at = below
        below = 2 * at + 1
    cuts.queue[at] = i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _merges(
    cuts: Cuts, tree: Tree, v: cython.longlong, parent: cython.longlong, now: States, following: States
) -> cython.bint:
    """Merge the next pair of states; False if there are no more."""
    held: cython.longlong = 0
    if cuts.merged == 0:
        return False
    i = cuts.queue[0]
    head = cuts.heads[i]
    cost = _pair_cost(cuts, now, i)
    if cost > cuts.limits[v]:
        return False
    _next_pair(cuts, parent, now)
    _interleave(cuts, now, i, cuts.states, head)
    if cuts.profile.size == MOST_SEGMENTS:
        cuts.complete = False
    if cuts.profile.hills[0] > cuts.budget or _is_dominated(cuts, following, 0):
        return True
    if following.costs.size < cuts.width:
        following.add(cost, cuts.log_before.size, cuts.profile)
        cuts.log_before.push(now.choices.items[i])
        cuts.log_state.push(head)
        return True
    cuts.complete = False
    if cuts.relaxed:
        other = following.costs.size - 1
        cost = following.costs.items[other]
        i = following.choices.items[other]
        following.shorten(other)
        for other in range(cuts.step + 1):
            held += tree.weights[tree.parents[tree.parent_starts[v] + other]]
        cuts.profile.size = 0
        cuts.profile.append(held, held)
        following.add(cost, i, cuts.profile)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _interleave(cuts: Cuts, a: States, i: cython.longlong, b: States, j: cython.longlong) -> cython.void:
    """Let ``profile`` be the best interleaving of the profiles of two states (falling hill minus valley)."""
    at: cython.longlong = a.starts.items[i]
    stop: cython.longlong = a.starts.items[i + 1]
    other: cython.longlong = b.starts.items[j]
    last: cython.longlong = b.starts.items[j + 1]
    a_now: cython.longlong = 0
    b_now: cython.longlong = 0
    cuts.profile.size = 0
    cuts.work += stop - at + last - other
    while at < stop or other < last:
        if other == last or (
            at < stop and a.hills.items[at] - a.valleys.items[at] >= b.hills.items[other] - b.valleys.items[other]
        ):
            a_now = a.valleys.items[at]
            cuts.profile.append(b_now + a.hills.items[at], b_now + a_now)
            at += 1
        else:
            b_now = b.valleys.items[other]
            cuts.profile.append(a_now + b.hills.items[other], a_now + b_now)
            other += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_dominated(cuts: Cuts, states: States, first: cython.Py_ssize_t) -> cython.bint:
    """True if one of the states from ``first`` on can stand in for ``profile`` wherever that fits."""
    for state in range(first, states.costs.size):
        at = states.starts.items[state]
        stop = states.starts.items[state + 1]
        for i in range(cuts.profile.size):
            while (
                at < stop
                and states.hills.items[at] <= cuts.profile.hills[i]
                and states.valleys.items[at] <= cuts.profile.valleys[i]
            ):
                at += 1
        cuts.work += cuts.profile.size
        if at == stop:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _computes(cuts: Cuts, tree: Tree, v: cython.longlong, now: States) -> cython.bint:
    """Compute ``v`` on top of the next state of its operands; False if no further one is of use."""
    i: cython.longlong = cuts.merged
    own: cython.Py_ssize_t = cuts.starts[cuts.position]
    made: cython.Py_ssize_t = cuts.states.costs.size - own
    cuts.merged += 1
    cuts.profile.size = 0
    for edge in range(now.starts.items[i], now.starts.items[i + 1]):
        cuts.profile.append(now.hills.items[edge], now.valleys.items[edge])
    if tree.twin_needs[v] > 0:
        cuts.profile.append(tree.twin_needs[v], tree.operands[v])
    cuts.profile.append(tree.operands[v] + tree.weights[v], tree.weights[v])
    if cuts.profile.hills[0] > cuts.budget:
        return True
    if cuts.cheapest >= 0 and now.costs.items[i] >= now.costs.items[cuts.cheapest] + 2 * tree.weights[v]:
        return False
    if _is_dominated(cuts, cuts.states, own):
        return True
    if cuts.cheapest < 0:
        cuts.cheapest = i
    if made == cuts.width - 1:
        cuts.complete = False
        if not cuts.relaxed:
            return False
        cuts.profile.size = 0
        cuts.profile.append(max(tree.twin_needs[v], tree.operands[v] + tree.weights[v]), tree.weights[v])
    cuts.states.add(now.costs.items[i], cuts.choices.size, cuts.profile)
    for _ in range(cuts.step):
        cuts.choices.push(-1)
    edge = now.choices.items[i]
    for step in range(1, cuts.step + 1):
        cuts.choices.items[cuts.choices.size - step] = cuts.log_state.items[edge]
        edge = cuts.log_before.items[edge]
    return not tree.is_root[v] and made + 1 < cuts.width


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _finish(cuts: Cuts, tree: Tree, v: cython.longlong) -> cython.void:
    """Add the state with ``v`` itself spilled, and go on to the next node."""
    own: cython.Py_ssize_t = cuts.starts[cuts.position]
    if cuts.states.costs.size > own and not tree.is_root[v]:
        cuts.profile.size = 0
        cuts.profile.append(tree.weights[v], tree.weights[v])
        cuts.states.add(
            cuts.states.costs.items[own] + 2 * tree.weights[v], cuts.states.choices.items[own], cuts.profile
        )
    cuts.position += 1
    cuts.starts[cuts.position] = cuts.states.costs.size
    cuts.step = -1


def chosen_cuts(cuts: Cuts, tree: Tree) -> IntArray:
    """Return 1 for every node that is spilled in the cheapest state of its root, shape (n,)."""
    cut = np.zeros(tree.weights.shape[0], np.int64)
    cut_view: cython.longlong[::1] = cut
    state_of: cython.longlong[::1] = np.full(tree.weights.shape[0], -1, np.int64)
    with cython.nogil:
        _choose_cuts(cuts, tree, cut_view, state_of)
    return cut


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_cuts(
    cuts: Cuts, tree: Tree, cut: cython.longlong[::1], state_of: cython.longlong[::1]
) -> cython.void:  # fmt: skip
    step: cython.Py_ssize_t
    first: cython.Py_ssize_t
    for position in range(tree.order.shape[0] - 1, -1, -1):
        v = tree.order[position]
        if tree.is_root[v]:
            state_of[v] = cuts.starts[position]
        else:
            cut[v] = state_of[v] == cuts.starts[position + 1] - 1
        first = tree.parent_starts[v]
        for step in range(tree.parent_starts[v + 1] - first):
            state_of[tree.parents[first + step]] = cuts.choices.items[cuts.states.choices.items[state_of[v]] + step]
