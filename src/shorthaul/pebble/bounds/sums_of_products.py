"""Sums of products found in a CDAG: matrix products, matrix-vector products, convolutions, scores of attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """Terms x_t y_t, each added into one sum z_t.

    ``left``, ``right``, ``sums`` (shape (terms,)) number the two operands and the sum of each term, from 0.
    ``operands`` are the nodes of both kinds, ``accumulators`` the terms and partial sums, ``results`` the
    complete sums. ``duplicates`` is d such that
    any set of terms with a left operands, b right operands and c sums has at most sqrt(d a b c) members.
    ``left_weight``, ``right_weight``, ``sum_weight`` are the least weights of such values.
    """

    left: IntArray
    right: IntArray
    sums: IntArray
    operands: IntArray
    accumulators: IntArray
    results: IntArray
    duplicates: int
    left_weight: int
    right_weight: int
    sum_weight: int
    ends_in_outputs: bool

    @property
    def nodes(self) -> IntArray:
        """All nodes of the contraction."""
        return np.concatenate([self.operands, self.accumulators])


def contractions(cdag: Cdag, *, search: Search) -> Iterator[Contraction]:
    """Yield the sums of products of ``cdag``, large ones first; no node is in two as a term or partial sum.

    A partial sum adds two computed values that nothing else reads; a term is a node of two operands that is none.
    Terms belong together if they share operands or sums. Where each operand is in one term alone there is nothing to
    gain. It ends with the search.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> [found] = contractions(matmul(m=2, n=3, k=4, word=1), search=Search())
    >>> len(found.left), int(found.sums.max()) + 1, found.duplicates
    (24, 6, 1)
    """
    degrees, readers = cdag.parents.degrees(), cdag.children.degrees()
    binary = np.flatnonzero(degrees == 2)
    effort = cdag.n / tuning.PRODUCTS_RATE
    if len(binary) == 0 or effort > search.left():
        return
    search.spend(effort)
    pairs = cdag.parents.targets[cdag.parents.starts[binary][:, None] + np.arange(2)]
    adds = ((degrees[pairs] > 0) & (readers[pairs] == 1)).all(axis=1)
    is_sum = np.zeros(cdag.n, dtype=bool)
    is_sum[binary[adds]] = True
    total = _totals(cdag, is_sum)
    terms, operands = binary[~adds], pairs[~adds]
    if len(terms) == 0:
        return
    ends = np.concatenate([operands[:, 1], cdag.n + total[terms]])  # a sum that is an operand elsewhere joins nothing
    starts = np.concatenate([operands[:, 0], operands[:, 0]])
    family = component_of(2 * cdag.n, starts, ends)[operands[:, 0]]
    family_of_total = np.full(cdag.n, -1)
    family_of_total[total[terms]] = family
    family_of_node = np.where(is_sum, family_of_total[total], -1)
    family_of_node[terms] = family
    members = _groups(family_of_node)
    taken: set[int] = set()
    for label, chosen in sorted(_groups(family).items(), key=lambda item: -len(item[1])):
        if search.expired():
            return
        if len(np.unique(operands[chosen])) == 2 * len(chosen):
            continue
        search.spend(tuning.FAMILY_EFFORT + len(chosen) / tuning.PRODUCTS_RATE)
        one = _oriented(cdag, terms[chosen], operands[chosen], total, members[label])
        if one is not None and taken.isdisjoint(one.nodes.tolist()):  # else a value would be charged twice
            taken.update(one.nodes.tolist())
            yield one


def _groups(labels: IntArray) -> dict[int, IntArray]:
    """Return the places of each label that is not negative."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return {int(labels[group[0]]): group for group in np.split(order, cuts) if len(group)}


def _totals(cdag: Cdag, is_sum: BoolArray) -> IntArray:
    """Return per node the last partial sum that it is added into, itself if there is none."""
    total = np.arange(cdag.n, dtype=np.int64)
    starts, children = cdag.children.starts, cdag.children.targets
    for v in cdag.order[::-1].tolist():
        if starts[v + 1] == starts[v] + 1 and is_sum[children[starts[v]]]:
            total[v] = total[children[starts[v]]]
    return total


def _oriented(
    cdag: Cdag, terms: IntArray, operands: IntArray, total: IntArray, accumulators: IntArray
) -> Contraction | None:
    """Return the contraction of some terms with the better of the ways to call one operand the left one."""
    sums = np.unique(total[terms], return_inverse=True)[1]
    starts = cdag.children.starts
    low = operands.argmin(axis=1)
    by_index = operands[np.arange(len(terms))[:, None], np.stack([low, 1 - low], axis=1)]
    best = None
    for pairs in (operands, operands[:, ::-1], by_index, by_index[:, ::-1]):
        names_left, left = np.unique(pairs[:, 0], return_inverse=True)
        names_right, right = np.unique(pairs[:, 1], return_inverse=True)
        duplicates = _duplicates(left, right, sums)
        if duplicates is None or len(np.intersect1d(names_left, names_right)):
            continue
        if best is None or duplicates < best.duplicates:
            best = Contraction(
                left, right, sums, np.concatenate([names_left, names_right]), accumulators,
                np.unique(total[terms]), duplicates,
                int(cdag.weights[names_left].min()), int(cdag.weights[names_right].min()),
                int(cdag.weights[accumulators].min()), bool((starts[total[terms]] == starts[total[terms] + 1]).all()),
            )  # fmt: skip
    return best


def _duplicates(left: IntArray, right: IntArray, sums: IntArray) -> int | None:
    """Return how many faces (i, k) a left operand stands for at most; None if the terms are no boxes (i, j, k).

    j is what right operands and sums that meet have in common; k is the set of left operands that a right one meets,
    i the set that a sum meets. If (k, j) tells the right operands apart, (i, j) the sums and (i, j, k) the terms, then
    Loomis and Whitney's inequality bounds the terms by the faces.
    """
    rights, results = int(right.max()) + 1, int(sums.max()) + 1
    j = component_of(rights + results, right, rights + sums)
    k, i = _by_neighbours(right, left), _by_neighbours(sums, left)
    if not (_differ(k, j[:rights]) and _differ(i, j[rights:])):
        return None
    if not _differ(i[sums], k[right], j[rights:][sums]):
        return None
    faces = np.unique(np.stack([left, i[sums], k[right]], axis=1), axis=0)
    return int(np.bincount(faces[:, 0]).max())


def _by_neighbours(ends: IntArray, others: IntArray) -> IntArray:
    """Return a number for each end, equal for those that meet the same set of others, shape (ends,)."""
    pairs = np.unique(np.stack([ends, others], axis=1), axis=0)
    groups = np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1)
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(group.tobytes(), len(numbers)) for group in groups], dtype=np.int64)


def _differ(*columns: IntArray) -> bool:
    """True if no two rows of the columns side by side are equal."""
    rows = np.stack(columns, axis=1)
    return len(np.unique(rows, axis=0)) == len(rows)
