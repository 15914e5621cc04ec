"""CDAGs that are forests once outputs computed from the same operands are taken together (the paper's pruning)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shorthaul.core.errors import InputError
from shorthaul.graphs.csr import Csr, from_arrays
from shorthaul.pebble.model import Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """A forest of computed values: node indices are those of the CDAG.

    ``order`` lists the computed nodes that remain after pruning, parents first; ``roots`` are those that nothing reads.
    ``parents`` holds computed parents only, ``twins`` the pruned outputs that are computed with each node; ``needs``
    is what computing a node and its twins one after another takes (shape (n,), 0 elsewhere).
    """

    order: IntArray
    roots: IntArray
    parents: Csr
    twins: Csr
    needs: IntArray


@lru_cache(maxsize=1)  # every step of a search asks again, for the same graph
def as_forest(cdag: Cdag) -> Forest | None:
    """Return the forest of ``cdag``; None if some value is read by nodes with different operands, or by two that go on.

    Graphs with constants are none.

    Nodes with the same operands are taken together: all but one of them must be outputs. They are computed one after
    another and each output is stored and dropped at once, as in Lemma 3.2; where an output is heavier than the value
    that goes on, it is the heavier one that has to fit.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import dwt
    >>> as_forest(dwt(n=4, d=2, word=1)).roots.tolist()
    [8]
    """
    if len(cdag.constants()):
        return None
    sources, targets = cdag.edge_arrays()
    computed = ~cdag.is_input()
    key = np.full(cdag.n, -1, dtype=np.int64)  # the least operand stands for all of them
    key[computed] = np.minimum.reduceat(cdag.parents.targets, cdag.parents.starts[:-1][computed])
    size = np.bincount(key[computed], minlength=cdag.n)
    children = cdag.children.degrees()
    if not bool((children[sources] == size[key[targets]]).all()):
        return None
    read_by = np.full(cdag.n, -1, dtype=np.int64)
    read_by[sources] = key[targets]
    if not bool((read_by[sources] == key[targets]).all()):
        return None
    goes_on = computed & ~cdag.is_output()
    if np.bincount(key[goes_on], minlength=1).max(initial=0) > 1:
        return None
    nodes = np.flatnonzero(computed)
    leader = np.full(cdag.n, -1, dtype=np.int64)  # per set of operands the node that goes on, else the first
    for those in (nodes[::-1], np.flatnonzero(goes_on)):
        leader[key[those]] = those
    stands = np.zeros(cdag.n, dtype=bool)
    stands[leader[leader >= 0]] = True
    pruned = np.flatnonzero(computed & ~stands)
    needs = cdag.needs()
    np.maximum.at(needs, leader[key[pruned]], needs[pruned])
    needs[~stands] = 0
    inner = computed[sources] & stands[targets]
    return Forest(
        order=cdag.order[stands[cdag.order]],
        roots=np.flatnonzero(stands & cdag.is_output()),
        parents=from_arrays(cdag.n, targets[inner], sources[inner]),
        twins=from_arrays(cdag.n, leader[key[pruned]], pruned),
        needs=needs,
    )


def require_forest(cdag: Cdag, method: str) -> Forest:
    """Return the forest of ``cdag``; raises :class:`InputError` naming a node in the way if there is none."""
    forest = as_forest(cdag)
    if forest is not None:
        return forest
    constants = cdag.constants()
    if len(constants):
        raise InputError(
            "this method plans trees of inputs only",
            place=f"--method {method}",
            value=f"node {cdag.id_of(int(constants[0]))} is computed from nothing",
            cure="use --method auto",
        )
    degrees = cdag.children.degrees()
    node = next(v for v in np.argsort(-degrees, kind="stable").tolist())
    children = [cdag.id_of(child) for child in cdag.children.neighbours(node).tolist()[:4]]
    raise InputError(
        "this method plans trees only",
        place=f"--method {method}",
        value=f"node {cdag.id_of(node)} is read by {', '.join(map(str, children))}",
        allowed="graphs in which each value is read once, outputs of the same operands apart",
        cure="use --method auto",
    )


def recursion_is_optimal(cdag: Cdag, forest: Forest) -> bool:
    """True if the recursion of Lemma 3.7 is proven optimal: all values that are kept for later weigh the same.

    Those are the computed nodes other than roots. Outputs computed beside them must not be heavier.
    """
    kept = kept_values(cdag, forest)
    weights = cdag.weights[kept]
    if len(weights) and int(weights.min()) != int(weights.max()):
        return False
    return twins_are_light(cdag, forest)


def kept_values(cdag: Cdag, forest: Forest) -> IntArray:
    """Return the computed nodes of the forest other than roots: what is kept for later."""
    kept: IntArray = forest.order[~cdag.is_output()[forest.order]]
    return kept


def twins_are_light(cdag: Cdag, forest: Forest) -> bool:
    """True if no output is heavier than the value kept for later that is computed beside it (Lemma 3.2)."""
    leaders = np.repeat(np.arange(cdag.n), forest.twins.degrees())
    heavier = cdag.weights[forest.twins.targets] > cdag.weights[leaders]  # their operands are the same
    return not bool((heavier & ~cdag.is_output()[leaders]).any())
