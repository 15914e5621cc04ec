"""Sums of products found in a CDAG: matrix products, matrix-vector products, convolutions, scores of attention."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """Terms x_t y_t, each added into one sum z_t.

    ``left``, ``right``, ``sums`` (shape (terms,)) number the two operands and the sum of each term, from 0.
    ``operands`` are the nodes of both kinds and those beside them, ``accumulators`` the terms and partial sums,
    ``results`` the complete sums. ``duplicates`` is d such that
    any set of terms with a left operands, b right operands and c sums has at most sqrt(d a b c) members.
    ``left_weight``, ``right_weight``, ``sum_weight`` are the least weights of such values. ``is_shared`` tells that
    some operand is on both sides, ``is_symmetric`` also that no two terms have the same two operands, and that each
    operand has one k, whatever its side.
    ``terms`` are the nodes of the terms, ``pairs`` (shape (terms, 2)) their operands, ``places`` (shape (terms, 3))
    what tells the terms apart; ``after`` is the node of the same sum that reads each accumulator, -1 for results.
    ``beside`` (shape (values, 2)) are operands and values that the same nodes read: weights of operands are with these.
    """

    terms: IntArray
    pairs: IntArray
    places: IntArray
    after: IntArray
    left: IntArray
    right: IntArray
    sums: IntArray
    operands: IntArray
    beside: IntArray
    accumulators: IntArray
    results: IntArray
    duplicates: int
    left_weight: int
    right_weight: int
    sum_weight: int
    is_shared: bool
    is_symmetric: bool
    products: IntArray
    factor: float
    whole: Contraction | None = None

    def worth(self) -> float:
        """Return how many of the terms a number of words brings, but for a factor."""
        return self.factor * len(self.left) * math.sqrt(self.left_weight * self.right_weight / self.duplicates)

    @property
    def nodes(self) -> IntArray:
        """All nodes of the contraction whose loads and stores are counted: complete sums are not."""
        return np.union1d(self.operands, self.accumulators[self.after >= 0])


def contractions(cdag: Cdag, *, search: Search) -> Iterator[Contraction]:
    """Yield the sums of products of ``cdag``, large ones first; no node is in two as a term or partial sum.

    A partial sum adds two computed values that nothing else reads, or a product to a value that nothing else reads
    (fused multiply-add); other terms are nodes of two operands. Of more than two operands beside the partial sum, those
    with the fewest readers count, and values that the same nodes read count as one. Terms belong together if they share
    operands or sums. Where each operand is in one term alone there is nothing to gain. It ends with the search.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import matmul
    >>> [found] = contractions(matmul(m=2, n=3, k=4, word=1), search=Search())
    >>> len(found.left), int(found.sums.max()) + 1, found.duplicates
    (24, 6, 1)
    """
    effort = cdag.n / tuning.PRODUCTS_RATE
    if effort > search.left():
        return
    search.spend(effort)
    same = _same_readers(cdag)
    is_sum, into, terms, operands = _terms(cdag, same)
    if len(terms) == 0:
        return
    total = _totals(cdag, into)
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
        search.spend(tuning.FAMILY_EFFORT + len(chosen) / tuning.TERMS_RATE)
        one, best = None, 0.0
        for kept in _alike(operands[chosen], total[terms[chosen]]):
            found = _oriented(cdag, terms[chosen[kept]], operands[chosen[kept]], (total, into, same), members[label])
            if found is not None and found.worth() > tuning.WORTH_KEPT * best:
                one, best = found, found.worth()
        if one is None or one.duplicates > 1 or one.factor < 1 or len(one.terms) < len(chosen):
            several = _several(cdag, terms[chosen], operands[chosen], (total, into, same), members[label])
            one = replace(several, whole=one) if several is not None and several.worth() > best else one
        if one is None or len(one.operands) == 2 * len(one.left):
            continue
        nodes = {node for way in (one, one.whole) if way is not None for node in way.nodes.tolist()}
        if taken.isdisjoint(nodes):  # else a value would be charged twice
            taken.update(nodes)
            yield one


def _terms(cdag: Cdag, same: IntArray) -> tuple[BoolArray, IntArray, IntArray, IntArray]:
    """Return which nodes add two partial sums, into which node each partial sum goes, the terms and their operands.

    The shapes are (n,), (n,) with -1 for none, (terms,) and (terms, 2).
    """
    readers = cdag.children.degrees()
    sources, targets = cdag.edge_arrays()
    counted = same[sources] == sources
    sources, targets = sources[counted], targets[counted]
    degrees = np.bincount(targets, minlength=cdag.n)
    alone = readers[sources] == 1
    made = alone & (degrees[sources] > 0)
    count_made, count_alone = (np.bincount(targets[chosen], minlength=cdag.n) for chosen in (made, alone))
    is_sum = (degrees == 2) & (count_made == 2)
    fused = (degrees > 2) & ((count_made == 1) | ((count_made == 0) & (count_alone == 1)))
    goes_on = np.where(count_made[targets] > 0, made, alone) & (is_sum | fused)[targets]
    into = np.full(cdag.n, -1, dtype=np.int64)
    into[sources[goes_on]] = targets[goes_on]
    ends_a_sum = np.zeros(cdag.n, dtype=np.bool_)  # reads a complete sum and one value more: no product
    ends_a_sum[targets[made & (is_sum | fused)[sources]]] = True
    is_term = fused | ((degrees == 2) & ~is_sum & ~ends_a_sum)
    kept = is_term[targets] & ~goes_on
    sequence = np.lexsort((sources[kept], readers[sources[kept]], targets[kept]))
    sources, targets = sources[kept][sequence], targets[kept][sequence]
    first = np.flatnonzero(np.diff(targets, prepend=-1))
    return is_sum, into, targets[first], np.stack([sources[first], sources[first + 1]], axis=1)


def _same_readers(cdag: Cdag) -> IntArray:
    """Return for each node the first one that the same nodes read, itself where one reads it or none; shape (n,)."""
    same, readers = np.arange(cdag.n, dtype=np.int64), cdag.children
    first: dict[bytes, int] = {}
    for node in np.flatnonzero(readers.degrees() > 1).tolist():
        same[node] = first.setdefault(np.sort(readers.neighbours(node)).tobytes(), node)
    return same


def _alike(operands: IntArray, sums: IntArray) -> Iterator[IntArray]:
    """Yield the places of all terms, of those in sums of several, and of those with operands of usual terms.

    What a sum begins with may be a term by its form, as C times beta is, and so may the square of an operand times a
    factor: a value that is in one term alone, or one that is in far more of them than others, tells no place.
    """
    kept = np.arange(len(operands))
    yield kept
    label = np.unique(sums, return_inverse=True)[1]
    several = kept[np.bincount(label)[label] > 1]
    if 0 < len(several) < len(kept):
        yield (kept := several)
    number = np.bincount(operands[kept].ravel(), minlength=int(operands.max()) + 1)[operands[kept]]
    fewest, most = number.min(axis=1), number.max(axis=1)
    if (fewest > 1).any() and not (usual := (fewest > 1) & (most <= 2 * np.median(most[fewest > 1]))).all():
        yield kept[usual]


def _groups(labels: IntArray) -> dict[int, IntArray]:
    """Return the places of each label that is not negative."""
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    return {int(labels[group[0]]): group for group in np.split(order, cuts) if len(group)}


def _totals(cdag: Cdag, into: IntArray) -> IntArray:
    """Return per node the last partial sum that it is added into, itself if there is none."""
    total = np.arange(cdag.n, dtype=np.int64)
    for v in cdag.order[::-1].tolist():
        if into[v] >= 0:
            total[v] = total[into[v]]
    return total


def _oriented(
    cdag: Cdag, terms: IntArray, operands: IntArray, links: tuple[IntArray, IntArray, IntArray], accumulators: IntArray
) -> Contraction | None:
    """Return the contraction of some terms with the better of the ways to call one operand the left one.

    Terms that do not fit into it are left out. Where an operand is a left one of some terms and a right one of others,
    one word of it may serve as both: then each counts with half its weight. ``links`` are, by node, the last partial
    sum, the next one, and the first node of the same readers.
    """
    total, _, same = links
    sums = np.unique(total[terms], return_inverse=True)[1]
    classes = _classes_of_operands(operands, sums)
    sided = _by_sides(operands, classes)
    coloured = by_colours(sided)
    best: tuple[float, Contraction | None] = 0.0, None
    heaviest = np.bincount(same, cdag.weights, cdag.n)[operands].max()
    most = len(terms) * float(heaviest)  # all of them, told apart
    for pairs in (sided, sided[:, ::-1], coloured, coloured[:, ::-1]):
        for boxes_of in (partial(_boxes_of_classes, classes=classes), _boxes_of_sets):
            if best[0] >= most:
                return best[1]
            boxes = boxes_of(pairs, sums)
            if len(boxes.terms):
                found = _contraction(cdag, terms[boxes.terms], pairs[boxes.terms], boxes, links, accumulators)
                best = max(best, (found.worth(), found), key=lambda item: item[0])
    return best[1]


def _several(
    cdag: Cdag, terms: IntArray, operands: IntArray, links: tuple[IntArray, IntArray, IntArray], accumulators: IntArray
) -> Contraction | None:
    """Return products that share operands as one contraction, as A x and A' y do; None if there are not several.

    Sums of one product have two operands or more in common, as they share a row or a column.
    """
    from scipy.sparse import csr_array

    names, sums = np.unique(links[0][terms], return_inverse=True)
    entries = sums.repeat(2), np.unique(operands, return_inverse=True)[1].ravel()
    if (np.bincount(entries[1]) ** 2).sum() > tuning.MOST_GRID_PAIRS:
        return None
    reads = csr_array((np.ones(len(entries[0]), dtype=np.int64), entries))
    common = (reads @ reads.T).tocoo()
    alike = common.data > 1
    of_sum = component_of(len(names), common.row[alike].astype(np.int64), common.col[alike].astype(np.int64))
    found, groups = [], sorted(_groups(of_sum[sums]).values(), key=len)[: -1 - tuning.MOST_ROLES : -1]
    for chosen in groups if len(groups) > 1 else ():
        one = _oriented(cdag, terms[chosen], operands[chosen], links, accumulators)
        if one is not None and one.duplicates == 1 and not one.is_shared and len(one.operands) < 2 * len(one.terms):
            found.append(one)
    return _joined(cdag, found, links) if len(found) > 1 else None


def _joined(cdag: Cdag, found: list[Contraction], links: tuple[IntArray, IntArray, IntArray]) -> Contraction | None:
    """Return contractions as one; None if roles of their operands are too many.

    Operands that stand on the same sides of the same products have one role. Those of two roles face each other in
    ``most`` products at most. If there are no more than ``roles`` of which each faces each other, then of U operands
    most (1 - 1 / roles) U^2 / 2 pairs face each other at most (Turan).
    """
    products = np.repeat(np.arange(len(found)), [len(one.terms) for one in found])
    pairs, terms = (np.concatenate([getattr(one, name) for one in found]) for name in ("pairs", "terms"))
    places = np.concatenate([one.places for one in found])
    sides: dict[int, set[tuple[int, int]]] = {}
    for at, one in enumerate(found):
        for side in range(2):
            for operand in np.unique(one.pairs[:, side]).tolist():
                sides.setdefault(operand, set()).add((at, side))
    roles = [*{frozenset(one) for one in sides.values()}]
    if len(roles) > tuning.MOST_ROLES:
        return None
    facing = [[sum((at, 1 - side) in other for at, side in one) for other in roles] for one in roles]
    near = [{at for at, times in enumerate(row) if times} for row in facing]
    most = max(map(max, facing)) * (1 - 1 / _largest_clique(near, set(range(len(roles)))))
    boxes = _Boxes(np.arange(len(terms)), places, 1)
    accumulators = np.concatenate([one.accumulators for one in found])
    one = _contraction(cdag, terms, pairs, boxes, links, accumulators)
    return replace(one, is_symmetric=False, products=products, factor=math.sqrt(0.5 / most))


def _largest_clique(near: list[set[int]], among: set[int]) -> int:
    """Return how many of some vertices are neighbours of each other at most."""
    found, left = 0, set(among)
    while left:
        at = left.pop()
        found = max(found, 1 + _largest_clique(near, near[at] & left))
    return found


def _contraction(
    cdag: Cdag, terms: IntArray, pairs: IntArray, boxes: _Boxes, links: tuple[IntArray, IntArray, IntArray],
    accumulators: IntArray,
) -> Contraction:  # fmt: skip
    total, into, same = links
    names_left, left = np.unique(pairs[:, 0], return_inverse=True)
    names_right, right = np.unique(pairs[:, 1], return_inverse=True)
    results, sums = np.unique(total[terms], return_inverse=True)
    accumulators = accumulators[np.isin(total[accumulators], results)]
    names = np.union1d(names_left, names_right)
    further = np.flatnonzero(np.isin(same, names) & (same != np.arange(cdag.n)))
    beside = np.column_stack([same[further], further])
    weights = cdag.weights + np.bincount(beside[:, 0], cdag.weights[further], cdag.n).astype(np.int64)
    is_shared = bool(np.isin(names_left, names_right).any())
    is_symmetric = is_shared and boxes.duplicates == 1 and _is_symmetric(pairs, boxes.places[:, 2])
    factor = math.sqrt(0.5) if is_symmetric else 0.5 if is_shared else 1.0
    return Contraction(
        terms, pairs, boxes.places, into[accumulators],
        left, right, sums, np.union1d(names, further), beside, accumulators, results, boxes.duplicates,
        int(weights[names_left].min()), int(weights[names_right].min()),
        int(cdag.weights[accumulators].min()), is_shared, is_symmetric,
        np.zeros(len(terms), dtype=np.int64), factor,
    )  # fmt: skip


def _is_symmetric(pairs: IntArray, k: IntArray) -> bool:
    """True if no two terms have the same operands, in any order, and every operand has one k."""
    ordered = np.sort(pairs, axis=1)
    with_k = np.column_stack([pairs.ravel(), np.repeat(k, 2)])
    is_told = len(np.unique(_keys(ordered))) == len(pairs)
    return is_told and len(np.unique(_keys(with_k))) == len(np.unique(pairs))


def _keys(rows: IntArray) -> IntArray:
    """Return a number for each row of numbers from 0, equal for equal rows, that sorts as the rows do."""
    keys, size = rows[:, 0], int(rows[:, 0].max()) + 1
    for column in rows.T[1:]:
        width = int(column.max()) + 1
        if size * width >= 2**62:
            names, keys = np.unique(keys, return_inverse=True)
            size = len(names)
        keys, size = keys * width + column, size * width
    return keys


def _classes_of_operands(operands: IntArray, sums: IntArray) -> IntArray:
    """Return a number for each node that is an operand, equal for those that go into the same two sums and more."""
    width = int(sums.max()) + 1
    pairs = np.column_stack(np.divmod(np.unique(operands.ravel() * width + np.repeat(sums, 2)), width))
    same = np.flatnonzero(np.diff(pairs[:, 0]) == 0)
    _, keys = np.unique(pairs[same, 1] * width + pairs[same + 1, 1], return_inverse=True)
    n = int(operands.max()) + 1
    return component_of(n + len(same), pairs[same, 0], n + keys)[:n]


def _by_sides(operands: IntArray, classes: IntArray) -> IntArray:
    """Return the pairs of operands turned so that each class stands on one side; else larger classes come first."""
    count = int(classes.max()) + 1
    one, other = classes[operands[:, 0]], classes[operands[:, 1]]
    side = component_of(2 * count, np.concatenate([one, other]), np.concatenate([other, one]) + count)
    if bool((side[one] == side[one + count]).any()):
        size = np.bincount(classes[np.unique(operands)], minlength=count)
        turned = (size[one] < size[other]) | ((size[one] == size[other]) & (one > other))
    else:
        turned = side[one] > side[one + count]
    return np.where(turned[:, None], operands[:, ::-1], operands)


def by_colours(pairs: IntArray) -> IntArray:
    """Return the pairs turned so that no operand stands on both sides where those that hang together allow it.

    Each set of pairs that hang together is left as most of its pairs are.
    """
    names, ends = np.unique(pairs, return_inverse=True)
    one, other = ends.reshape(-1, 2).T
    count = len(names)
    side = component_of(2 * count, np.concatenate([one, other]), np.concatenate([other, one]) + count)
    turned = side[one] > side[one + count]
    is_clear = side[one] != side[one + count]
    part = np.minimum(side[one], side[one + count])
    against = np.bincount(part, np.where(turned, 1, -1))[part] > 0
    return np.where((is_clear & (turned != against))[:, None], pairs[:, ::-1], pairs)


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """Terms of the family that ``places`` (i, j, k) tell apart; ``duplicates`` faces (i, k) belong to a left operand.

    j and k are known for each right operand, i and j for each sum: Loomis and Whitney's inequality bounds the terms by
    the faces.
    """

    terms: IntArray
    places: IntArray
    duplicates: int


def _boxes_of_classes(pairs: IntArray, sums: IntArray, classes: IntArray) -> _Boxes:
    """Return the boxes in which i and j are the classes of the operands, and k is common to those that meet.

    Terms whose operands are of other classes than those of most terms of their sum are left out, and sums most of whose
    terms are.
    """
    i, j = classes[pairs].T
    is_usual = (i == _usual(i, sums)) & (j == _usual(j, sums))
    is_usual &= 2 * np.bincount(sums, is_usual)[sums] > np.bincount(sums)[sums]
    usual = np.flatnonzero(is_usual)
    left, right = pairs[usual].T
    if len(usual) == 0:
        return _Boxes(usual, np.empty((0, 3), dtype=np.int64), 1)
    n = int(pairs.max()) + 1
    k = component_of(2 * n, left, n + right)[left]
    rows = np.stack([i[usual], j[usual], k], axis=1)
    _, first = np.unique(_keys(rows), return_index=True)
    first.sort()
    return _Boxes(usual[first], rows[first], 1)


def _boxes_of_sets(pairs: IntArray, sums: IntArray) -> _Boxes:
    """Return the boxes in which j is what right operands and sums that meet have in common.

    k is the set of left operands that a right one meets, i the set that a sum meets. None are left where (i, j, k) does
    not tell the terms apart.
    """
    left, right = (np.unique(pairs[:, side], return_inverse=True)[1] for side in (0, 1))
    rights, results = int(right.max()) + 1, int(sums.max()) + 1
    j = component_of(rights + results, right, rights + sums)[right]
    ends = _by_neighbours(np.concatenate([sums, results + right]), np.concatenate([left, left]))
    i, k = ends[sums], ends[results + right]
    rows = np.stack([i, j, k], axis=1)
    if len(np.unique(_keys(rows))) < len(rows):
        return _Boxes(np.empty(0, dtype=np.int64), np.empty((0, 3), dtype=np.int64), 1)
    _, faces = np.unique(_keys(np.stack([left, i, k], axis=1)), return_index=True)
    return _Boxes(np.arange(len(pairs)), rows, int(np.bincount(left[faces]).max()))


def _usual(values: IntArray, keys: IntArray) -> IntArray:
    """Return for each entry the value that is most frequent among those of its key."""
    width = int(values.max()) + 1
    found, counts = np.unique(keys * width + values, return_counts=True)
    order = np.lexsort((counts, found // width))
    found = found[order]
    last = np.flatnonzero(np.diff(found // width, append=-1))
    usual: IntArray = found[last] % width
    return usual[keys]


def _by_neighbours(ends: IntArray, others: IntArray) -> IntArray:
    """Return a number for each end, equal for those that meet the same set of others, shape (ends,)."""
    width = int(others.max()) + 1
    first, second = np.divmod(np.unique(ends * width + others), width)
    groups = np.split(second, np.flatnonzero(np.diff(first)) + 1)
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(group.tobytes(), len(numbers)) for group in groups], dtype=np.int64)
