"""Tree contraction by rake and compress on the virtual tree, and its undoing (Baumann et al., Sections V-A to V-D).

The virtual tree has at most three children per node, so that a round is a constant number of messages for trees of any
degree; an added node carries the operator's identity. What the paper's section leaves open is settled thus:

- COMPRESS(u, v) merges a node v with one child w into its parent u, which has no other child. u keeps only the last
  node merged into it, v; w keeps v as the one before it. So the merged nodes form a list that is undone from its end,
  each passing on to the one before it, and nothing needs to be subtracted.
- RAKE: a node whose descendants are all merged reports its total to its parent once, when that happens. A parent keeps
  the sum of what its raked leaves reported apart from the path sum.
- Bottom-up, nothing is below a raked leaf when it reports, so it starts undoing without waiting for its parent.
- Coins are a hash of the seed, the node and the round: a node knows its neighbours' coins without a message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer.machine import SpatialComputer
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.layout.virtual_tree import VirtualTree

Index = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Values = npt.NDArray[Any]
NONE = np.int32(-1)

Choose = Callable[[Index, Index, Index, int], Flags]


@dataclass(slots=True)
class Contracted:
    """The registers of every node; the names are those of the paper where it has them (P, A)."""

    parent: Index
    slot: Index
    value: Values
    path: Values  #: P: the sum along the merged path from this node (bottom-up: with what was raked into it)
    raked: Values  #: the sum of the leaves raked into this node; bottom-up only
    below: Values  #: A: bottom-up the sum below the merged path, top-down the sum above this node
    before_merge: Values  #: top-down: the path sum of the parent when this node was merged into it
    pending: npt.NDArray[np.int8]
    kid: Index  #: the exclusive or of the children not yet raked: the only one, when one is pending
    last: Index  #: the last node merged into this one
    left: Index  #: the node that was merged into the same one before this one
    ends_with: Index  #: top-down: the leaf raked into this node after it was merged with others
    spared: Index  #: top-down: the child that was not raked
    merged: Flags  #: true once something was merged into or raked at this node
    only: Flags
    gone: Flags  #: merged into another node by COMPRESS
    rakes: Flags


def prepare(
    computer: SpatialComputer, tree: VirtualTree, values: Values, operator: Operator, *, up: bool
) -> Contracted:
    """Return the registers at the start; ``values`` are those of the vertices, by processor."""
    computer.hosting(tree.host)
    words, kind = operator.words, values.dtype
    neutral = operator.identity
    value = computer.register(neutral, kind, words=words)
    value[: len(values)] = values
    inner = np.flatnonzero(tree.parent >= 0).astype(np.int32)
    pending = np.bincount(tree.parent[inner], minlength=tree.nodes).astype(np.int8)
    kid = computer.register(0)
    np.bitwise_xor.at(kid, tree.parent[inner], inner)
    computer.keep(1)  # pending and the flags share a word
    unused = np.empty(0, kind)
    return Contracted(
        parent=computer.register(tree.parent),
        slot=tree.slot,
        value=value,
        path=computer.register(value, kind, words=words),
        raked=computer.register(neutral, kind, words=words) if up else unused,
        below=computer.register(neutral, kind, words=words),
        before_merge=unused if up else computer.register(neutral, kind, words=words),
        pending=pending,
        kid=kid,
        last=computer.register(NONE),
        left=computer.register(NONE),
        ends_with=np.empty(0, np.int32) if up else computer.register(NONE),
        spared=np.empty(0, np.int32) if up else computer.register(NONE),
        merged=np.zeros(tree.nodes, np.bool_),
        only=np.zeros(tree.nodes, np.bool_),
        gone=np.zeros(tree.nodes, np.bool_),
        rakes=np.zeros(tree.nodes, np.bool_),
    )


def coins(kind: str, seed: int) -> Choose:
    """Return the rule by which nodes of a chain are chosen for COMPRESS so that no two are neighbours.

    ``random-mate``: a node that throws heads under a parent that throws tails (one in four). ``local-maximum``: a node
    whose coin exceeds its parent's and its child's (one in three).
    """

    def random_mate(node: Index, parent: Index, kid: Index, turn: int) -> Flags:  # noqa: ARG001
        return np.asarray((_hash(node, turn, seed) >> 31 == 1) & (_hash(parent, turn, seed) >> 31 == 0))

    def local_maximum(node: Index, parent: Index, kid: Index, turn: int) -> Flags:
        own = _hash(node, turn, seed)
        return np.asarray((own > _hash(parent, turn, seed)) & (own > _hash(kid, turn, seed)))

    return random_mate if kind == "random-mate" else local_maximum


def _hash(node: Index, turn: int, seed: int) -> npt.NDArray[np.uint32]:
    """Return 32 random bits for every node, a finaliser of MurmurHash3's kind."""
    salt = (turn * 0x9E3779B1 + seed * 0x85EBCA77 + 0x165667B1) % 2**32
    bits = node.astype(np.uint32) ^ np.uint32(salt)
    for factor, shift in ((0x7FEB352D, 16), (0x846CA68B, 15)):
        bits ^= bits >> np.uint32(shift)
        bits *= np.uint32(factor)
    return np.asarray(bits ^ (bits >> np.uint32(16)))


def merge(
    computer: SpatialComputer,
    state: Contracted,
    node: Index,
    operator: Operator,
    *,
    up: bool,
    tell: Callable[[Index], Flags] | None = None,
) -> None:
    """COMPRESS every one of these nodes into its parent; no two of them are neighbours.

    Their children learn their new parent; only those that ``tell`` says need it, if it is given.
    """
    parent, kid = state.parent[node], state.kid[node]
    computer.send(node, parent, state.path[node], kid)
    state.path[parent] = operator.combine(state.path[parent], state.path[node])
    state.kid[parent] = kid
    state.last[parent] = node
    state.merged[parent] = True
    state.gone[node] = True
    if tell is not None:
        told = (kid >= 0) & tell(kid)
        node, parent, kid = node[told], parent[told], kid[told]
    if up:
        computer.send(node, kid, parent)
    else:
        computer.send(parent, kid, state.path[parent], node)
        state.before_merge[kid] = state.path[parent]
    state.parent[kid] = parent
    state.left[kid] = node


def contract(computer: SpatialComputer, state: Contracted, operator: Operator, choose: Choose, *, up: bool) -> int:
    """Merge every tree into its root by rounds of COMPRESS and RAKE; return the number of rounds."""
    single = np.flatnonzero(state.pending == 1).astype(np.int32)
    _tell_only(computer, state, single, up=up)
    chain = np.flatnonzero(state.only & (state.pending == 1)).astype(np.int32)
    leaves = np.flatnonzero((state.pending == 0) & (state.parent >= 0)).astype(np.int32)
    seen = np.full(len(state.parent), -1, np.int32)
    turn = 0
    while len(leaves) or len(chain):
        if len(chain):
            chosen = choose(chain, state.parent[chain], state.kid[chain], turn)
            merge(computer, state, chain[chosen], operator, up=up)
            chain = chain[~chosen]
        touched = _report(computer, state, leaves, operator, seen, turn, up=up)
        finished = touched[state.pending[touched] == 0]
        single = touched[(state.pending[touched] == 1) & ~state.merged[touched]]
        _settle(state, finished, single, operator, up=up)
        entering = single[state.only[single]]
        _tell_only(computer, state, single, up=up)
        kid = state.kid[single]
        chain = np.concatenate([chain[state.pending[chain] == 1], entering, kid[state.pending[kid] == 1]])
        leaves = finished[state.parent[finished] >= 0]
        turn += 1
    return turn


def _tell_only(computer: SpatialComputer, state: Contracted, node: Index, *, up: bool) -> None:
    """Let these nodes tell their one child that it has no sibling left."""
    kid = state.kid[node]
    if up:
        computer.send(node, kid)
    else:
        computer.send(node, kid, state.path[node])
        state.before_merge[kid] = state.path[node]
    state.only[kid] = True


def _report(
    computer: SpatialComputer, state: Contracted, leaves: Index, operator: Operator, seen: Index, turn: int, *, up: bool
) -> Index:
    """Let leaves report to their parents, one sibling at a time; return the parents, each once."""
    touched = []
    slot = state.slot[leaves]
    for place in range(3):
        leaf = leaves[slot == place]
        if len(leaf) == 0:
            continue
        parent = state.parent[leaf]
        if up:
            total = operator.combine(state.path[leaf], state.below[leaf])
            computer.send(leaf, parent, total, leaf)
            merged = state.merged[parent]
            state.below[parent[merged]] = total[merged]
            plain = parent[~merged]
            state.raked[plain] = operator.combine(state.raked[plain], total[~merged])
        else:
            computer.send(leaf, parent, leaf)
            merged = state.merged[parent]
            state.ends_with[parent[merged]] = leaf[merged]
            state.rakes[parent[~merged]] = True
        state.pending[parent] -= 1
        state.kid[parent] ^= leaf
        touched.append(parent[seen[parent] != turn])
        seen[parent] = turn
    return np.concatenate(touched) if touched else leaves


def _settle(state: Contracted, finished: Index, single: Index, operator: Operator, *, up: bool) -> None:
    """RAKE: nodes left with one child take what was raked into their path sum; those left with none are leaves."""
    if up:
        bare = finished[~state.merged[finished]]
        state.below[bare] = state.raked[bare]
        state.raked[bare] = operator.identity
        state.path[single] = operator.combine(state.path[single], state.raked[single])
    else:
        state.spared[single] = state.kid[single]
    state.merged[single] = True


def expand_up(computer: SpatialComputer, state: Contracted, operator: Operator) -> Values:
    """Undo the contraction bottom-up; return the sum over the subtree of every node.

    ``below`` (A) of a node that was not merged holds what lies below its path. It goes to the last node merged into
    it; every merged node hands its own sum on to the one merged before it, the first one back to where they started.
    """
    starting = np.flatnonzero(~state.gone).astype(np.int32)
    # A node merged as the end of a path knows that nothing is below it, and need not be told.
    passing = np.flatnonzero(state.gone & (state.kid < 0)).astype(np.int32)
    while len(starting) or len(passing):
        starting = starting[(state.last[starting] >= 0) & (state.kid[starting] >= 0)]
        target = state.last[starting]
        first = state.below[starting]
        handed = operator.combine(state.path[passing], state.below[passing])
        left = state.left[passing]
        onward = left >= 0
        back = state.parent[passing]
        computer.send(starting, target, first)
        receiver = np.where(onward, left, back)
        computer.send(passing, receiver, handed)
        state.below[target] = first
        state.below[receiver] = handed
        starting = passing = np.concatenate([target, left[onward]])
    return operator.combine(operator.combine(state.value, state.raked), state.below)


def expand_down(computer: SpatialComputer, state: Contracted, tree: VirtualTree, operator: Operator) -> Values:
    """Undo the contraction top-down; return the sum along the path from the root to every node.

    ``below`` (A) holds the sum above a node, its own value excluded.
    """
    children = [computer.register(NONE) for _ in range(3)]
    for place, child in enumerate(children):
        here = np.flatnonzero((tree.slot == place) & (tree.parent >= 0)).astype(np.int32)
        child[tree.parent[here]] = here
    awake = np.flatnonzero(tree.parent < 0).astype(np.int32)
    base = operator.identities(0).astype(state.value.dtype)
    passing = np.empty(0, np.int32)
    while len(awake) or len(passing):
        woken = []
        left = state.left[passing]
        onward = left >= 0
        starting = awake[state.last[awake] >= 0]
        source = np.concatenate([starting, passing[onward]])
        target = np.concatenate([state.last[starting], left[onward]])
        sent = np.concatenate([state.below[starting], base[onward]])
        computer.send(source, target, sent)
        ending = awake[state.ends_with[awake] >= 0]
        leaf = state.ends_with[ending]
        total = operator.combine(state.below[ending], state.path[ending])
        computer.send(ending, leaf, total)
        raking = awake[state.rakes[awake]]
        own = operator.combine(state.below[raking], state.value[raking])
        for child in children:
            kid = child[raking]
            wanted = (kid >= 0) & (kid != state.spared[raking])
            computer.send(raking[wanted], kid[wanted], own[wanted])
            state.below[kid[wanted]] = own[wanted]
            woken.append(kid[wanted])
        state.below[leaf] = total
        state.below[target] = operator.combine(sent, state.before_merge[target])
        passing, base = target, sent
        awake = np.concatenate([*woken, leaf, target])
    return operator.combine(state.below, state.value)
