"""Tree contraction by rake and compress on the virtual tree, and its undoing (Baumann et al., Sections V-A to V-D).

The virtual tree has at most three children per node, so that a round is a constant number of messages for trees of any
degree; an added node carries the operator's identity. What the paper's section leaves open is settled thus:

- COMPRESS(u, v) merges a node v with one child w into its parent u, which has no other child. u keeps only the last
  node merged into it, v; w keeps v as the one before it. So the merged nodes form a list that is undone from its end,
  each passing on to the one before it, and nothing needs to be subtracted.
- RAKE: a node whose descendants are all merged reports its total to its parent once, when that happens. A parent keeps
  the sum of what its raked leaves reported apart from the path sum. Children of one slot report in one round, so that
  a parent knows who reports.
- Bottom-up, nothing is below a raked leaf when it reports, so it starts undoing without waiting for its parent.
- Top-down, a node in a chain knows the path sum of its parent.
- Chains begin to be merged after some rounds: most of them are gone by then, without the messages of COMPRESS.
- Coins are a hash of the seed, the node and the round: a node knows its neighbours' coins without a message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from shorthaul.spatial import tuning
from shorthaul.spatial.algorithms.stored import NONE, TreeNodes, neutral
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import Operator
from shorthaul.spatial.computer.registers import Register, Selection, Values

Choose = Callable[[Values, Values, Values, int], Values]


@dataclass(slots=True)
class Contracted:
    """The registers of every node; the names are those of the paper where it has them (P, A).

    Those that only one direction needs are None in the other.
    """

    tree: TreeNodes
    operator: Operator
    parent: Register
    value: Register
    path: Register  #: P: the sum along the merged path from this node (bottom-up: with what was raked into it)
    raked: Register | None  #: the sum of the leaves raked into this node; bottom-up only
    below: Register  #: A: bottom-up the sum below the merged path, top-down the sum above this node
    before_merge: Register | None  #: top-down: the path sum of the parent, which this node was merged into if it was
    pending: Register
    kid: Register  #: the exclusive or of the children not yet raked: the only one, when one is pending
    last: Register  #: the last node merged into this one
    left: Register  #: the node that was merged into the same one before this one
    ends_with: Register | None  #: top-down: the leaf raked into this node after it was merged with others
    spared: Register | None  #: top-down: the child that was not raked
    merged: Register  #: true once something was merged into or raked at this node
    only: Register
    gone: Register  #: merged into another node by COMPRESS
    rakes: Register | None  #: top-down: leaves were raked into this node before others were merged into it


def prepare(tree: TreeNodes, values: Register, operator: Operator, *, up: bool) -> Contracted:
    """Return the registers at the start; ``values`` are those of the nodes."""
    nodes, everybody = tree.nodes, tree.nodes.all
    value = values[everybody]
    kind, nothing = value.dtype, neutral(operator, value.dtype)

    def number(name: str, fill: Any = NONE) -> Register:
        return nodes.register(fill, np.int32, name=name)

    def flag(name: str) -> Register:
        return nodes.register(False, np.bool_, name=name)

    def amount(name: str) -> Register:
        return nodes.register(nothing, kind, width=operator.words, name=name)

    kid, pending = number("kid", 0), nodes.register(0, np.int8, name="pending")
    for register in tree.kids:
        kid ^= np.where(register >= 0, register, 0)
        pending += register >= 0
    parent, path = number("parent"), amount("path")
    parent[everybody], path[everybody] = tree.parent, value
    return Contracted(
        tree=tree,
        operator=operator,
        parent=parent,
        value=values,
        path=path,
        raked=amount("raked") if up else None,
        below=amount("below"),
        before_merge=None if up else amount("path before the merge"),
        pending=pending,
        kid=kid,
        last=number("last"),
        left=number("left"),
        ends_with=None if up else number("ends with"),
        spared=None if up else number("spared"),
        merged=flag("merged"),
        only=flag("only child"),
        gone=flag("gone"),
        rakes=None if up else flag("rakes"),
    )


def coins(kind: str, seed: int) -> Choose:
    """Return the rule by which nodes of a chain are chosen for COMPRESS so that no two are neighbours.

    ``random-mate``: a node that throws heads under a parent that throws tails (one in four). ``local-maximum``: a node
    whose coin exceeds its parent's and its child's (one in three).
    """

    def random_mate(node: Values, parent: Values, kid: Values, turn: int) -> Values:  # noqa: ARG001
        return (_hash(node, turn, seed) >> 31 == 1) & (_hash(parent, turn, seed) >> 31 == 0)

    def local_maximum(node: Values, parent: Values, kid: Values, turn: int) -> Values:
        own = _hash(node, turn, seed)
        return (own > _hash(parent, turn, seed)) & (own > _hash(kid, turn, seed))

    return random_mate if kind == "random-mate" else local_maximum


def _hash(node: Values, turn: int, seed: int) -> Values:
    """Return 32 random bits for every node, a finaliser of MurmurHash3's kind."""
    salt = (turn * 0x9E3779B1 + seed * 0x85EBCA77 + 0x165667B1) % 2**32
    bits = node.astype(np.uint32) ^ np.uint32(salt)
    for factor, shift in ((0x7FEB352D, 16), (0x846CA68B, 15)):
        bits ^= bits >> np.uint32(shift)
        bits *= np.uint32(factor)
    return bits ^ (bits >> np.uint32(16))


def merge(
    machine: Machine, state: Contracted, node: Selection, tell: Callable[[Selection], Values] | None = None
) -> None:
    """COMPRESS every one of these nodes into its parent; no two of them are neighbours.

    Their children learn their new parent; only those of nodes for which ``tell`` says so, if it is given.
    """
    state.gone[node] = True
    _join(machine, state, node)
    told = node if tell is None else node.where((state.kid[node] >= 0) & tell(node))
    if state.before_merge is None:
        receivers, (above, before) = machine.send(state.kid[told], state.parent[told], told.number)
    else:
        path = state.before_merge[told].combined(state.operator, state.path[told])
        receivers, (above, before, path) = machine.send(state.kid[told], state.parent[told], told.number, path)
        state.before_merge[receivers] = path
    state.parent[receivers], state.left[receivers] = above, before


def _join(machine: Machine, state: Contracted, node: Selection) -> None:
    """Tell the parents of merged nodes what these have held."""
    receivers, (path, kid) = machine.send(state.parent[node], state.path[node], state.kid[node])
    state.path[receivers] = state.path[receivers].combined(state.operator, path)
    state.last[receivers] = state.kid[receivers]
    state.kid[receivers] = kid
    state.merged[receivers] = True


def contract(machine: Machine, state: Contracted, choose: Choose, *, patience: int = tuning.PATIENCE) -> None:
    """Merge every tree into its root by rounds of RAKE and, after ``patience`` of them, COMPRESS."""
    everybody, turn = state.tree.nodes.all, 0
    leaves = everybody.where((state.pending == 0) & (state.parent >= 0))
    chain = everybody.where(state.gone)  # none
    while leaves or chain or turn <= patience:
        if turn == patience:
            told = _tell_only(machine, state, everybody.where(state.pending == 1))
            chain = told.where(state.pending[told] == 1)
        elif turn > patience:
            chosen = chain.where(choose(chain.number, state.parent[chain], state.kid[chain], turn))
            merge(machine, state, chosen)
            chain = chain.where(~state.gone[chain])
        touched = _report(machine, state, leaves)
        pending = state.pending[touched]
        finished = touched.where(pending == 0)
        single = touched.where((pending == 1) & ~state.merged[touched])
        _settle(state, finished, single)
        if turn >= patience:
            entering = single.where(state.only[single])
            told = _tell_only(machine, state, single)
            chain = chain.where(state.pending[chain] == 1) | entering | told.where(state.pending[told] == 1)
        leaves = finished.where(state.parent[finished] >= 0)
        turn += 1


def _tell_only(machine: Machine, state: Contracted, node: Selection) -> Selection:
    """Let these nodes tell their one child that it has no sibling left; return the children."""
    kid = state.kid[node]
    if state.before_merge is None:
        told, _ = machine.send(kid)
    else:
        told, (path,) = machine.send(kid, state.path[node])
        state.before_merge[told] = path
    state.only[told] = True
    return told


def _report(machine: Machine, state: Contracted, leaves: Selection) -> Selection:
    """Let leaves report to their parents, one sibling at a time; return the parents."""
    touched = []
    slots = state.tree.slot
    for place, kids in enumerate(state.tree.kids):
        leaf = leaves if slots is None else leaves.where(slots[leaves] == place)
        if state.raked is not None:
            total = state.path[leaf].combined(state.operator, state.below[leaf])
            parents, (total,) = machine.send(state.parent[leaf], total)
            merged = state.merged[parents]
            ending, plain = parents.where(merged), parents.where(~merged)
            state.below[ending] = total
            state.raked[plain] = state.raked[plain].combined(state.operator, total[plain])
        else:
            assert state.ends_with is not None
            assert state.rakes is not None
            parents, _ = machine.send(state.parent[leaf])
            merged = state.merged[parents]
            ending, plain = parents.where(merged), parents.where(~merged)
            state.ends_with[ending] = state.kid[ending]
            state.rakes[plain] = True
        state.pending[parents] -= 1
        state.kid[plain] ^= kids[plain]
        touched.append(parents)
    return reduce(Selection.__or__, touched)


def _settle(state: Contracted, finished: Selection, single: Selection) -> None:
    """RAKE: nodes left with one child take what was raked into their path sum; those left with none are leaves."""
    if state.raked is not None:
        bare = finished.where(~state.merged[finished])
        state.below[bare] = state.raked[bare]
        state.raked[bare] = neutral(state.operator, state.value.dtype)
        state.path[single] = state.path[single].combined(state.operator, state.raked[single])
    else:
        assert state.spared is not None
        state.spared[single] = state.kid[single]
    state.merged[single] = True


def expand_up(machine: Machine, state: Contracted) -> Register:
    """Undo the contraction bottom-up; return the sum over the subtree of every node.

    ``below`` (A) of a node that was not merged holds what lies below its path. It goes to the last node merged into
    it; every merged node hands its own sum on to the one merged before it, the first one back to where they started.
    """
    everybody, operator = state.tree.nodes.all, state.operator
    assert state.raked is not None
    starting = everybody.where(~state.gone[everybody])
    # A node merged as the end of a path knows that nothing is below it, and need not be told.
    passing = everybody.where(state.gone & (state.kid < 0))
    while starting or passing:
        starting = starting.where((state.last[starting] >= 0) & (state.kid[starting] >= 0))
        handed = state.path[passing].combined(operator, state.below[passing])
        left = state.left[passing]
        onward, back = passing.where(left >= 0), passing.where(left < 0)
        begun, (first,) = machine.send(state.last[starting], state.below[starting])
        reached, (further,) = machine.send(left[onward], handed[onward])
        ended, (total,) = machine.send(state.parent[back], handed[back])
        state.below[begun], state.below[reached], state.below[ended] = first, further, total
        starting = passing = begun | reached
    result = state.value[everybody].combined(operator, state.raked[everybody])
    state.value[everybody] = result.combined(operator, state.below[everybody])
    return state.value


def expand_down(machine: Machine, state: Contracted) -> Register:
    """Undo the contraction top-down; return the sum along the path from the root to every node.

    ``below`` (A) holds the sum above a node, its own value excluded.
    """
    everybody = state.tree.nodes.all
    awake = everybody.where(state.parent < 0)
    passing = everybody.where(state.gone & ~state.gone)  # none
    while awake or passing:
        onward = passing.where(state.left[passing] >= 0)
        starting = awake.where(state.last[awake] >= 0)
        assert state.before_merge is not None
        passing = _undo_merge(machine, state, state.left[onward], state.before_merge[onward])
        passing = passing | _undo_merge(machine, state, state.last[starting], state.below[starting])
        awake = passing | _undo_rakes(machine, state, awake)
    state.value[everybody] = state.below[everybody].combined(state.operator, state.value[everybody])
    return state.value


def _undo_merge(machine: Machine, state: Contracted, target: Values, above: Values) -> Selection:
    """Tell merged nodes the sum above the node they were merged into; return them."""
    before = state.before_merge
    assert before is not None
    receivers, (above,) = machine.send(target, above)
    state.below[receivers] = above.combined(state.operator, before[receivers])
    before[receivers] = above  # to be passed on
    return receivers


def _undo_rakes(machine: Machine, state: Contracted, awake: Selection) -> Selection:
    """Tell the leaves that were raked the sum above them; return them."""
    operator, below = state.operator, state.below
    assert state.ends_with is not None
    assert state.rakes is not None
    assert state.spared is not None
    ending = awake.where(state.ends_with[awake] >= 0)
    total = below[ending].combined(operator, state.path[ending])
    woken, (total,) = machine.send(state.ends_with[ending], total)
    below[woken] = total
    raking = awake.where(state.rakes[awake])
    total = below[raking].combined(operator, state.value[raking])
    for kids in state.tree.kids:
        kid = kids[raking]
        wanted = raking.where((kid >= 0) & (kid != state.spared[raking]))
        raked, (received,) = machine.send(kid[wanted], total[wanted])
        below[raked] = received
        woken = woken | raked
    return woken
