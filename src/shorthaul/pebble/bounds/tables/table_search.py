"""Tables found in any graph by what its nodes read, whatever their numbers: dynamic programming, Gauss-Seidel's order.

A place of a table reads those before it, one step along each axis. What it reads beside them has been read on the way
mostly, as corners are: an edge that two others go round is left out. Two ways of two edges from one node to another are
a square, opposite sides of which go the same way. Only guesses are made here: what is proven of a table counts what
its places do read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shorthaul.core.search import Search
from shorthaul.graphs.csr import component_of, distinct
from shorthaul.pebble import tuning
from shorthaul.pebble.model import BoolArray, Cdag, IntArray

#: Values with more readers are no places, nor inputs with more. Tables have two or three axes.
_MOST_READERS, _MOST_IN_PLACE, _AXES = 16, 9, (2, 3)
#: Links that hang on others in turn are found in so many rounds at most.
_ROUNDS = 4
#: Nodes that are looked at to tell whether there may be tables.
_SAMPLE = 256


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Nodes at different places, shape (nodes,) and (nodes, axes); of them the inputs are read only.

    ``links`` (shape (links, 2)) are nodes that read a node of the table, or another link of it, beside what is in no
    table, and which node that is: to read them is to read it. ``letters`` (shape (letters, 3)): an axis, a place along
    it, and a value that nodes of that place read; of tables with two axes only. ``helpers`` (shape (helpers, 2)) are
    nodes that read letters for a node of the table, and that node. ``has_lanes``: the links are counted as values of
    lanes (:mod:`lanes`).
    """

    nodes: IntArray
    places: IntArray
    links: IntArray
    letters: IntArray
    helpers: IntArray
    has_lanes: bool = False

    @property
    def axes(self) -> int:
        """The number of axes."""
        return int(self.places.shape[1])

    @property
    def moved(self) -> IntArray:
        """All nodes whose loads and stores are counted."""
        return np.concatenate([self.nodes, self.links[:, 0], self.letters[:, 2], self.helpers[:, 0]])

    def without_letters(self) -> Table:
        """Return the same without its letters."""
        return replace(self, letters=self.letters[:0], helpers=self.helpers[:0])


def tables(cdag: Cdag, *, search: Search) -> list[Table]:
    """Return tables that have no node in common: those without links, or with links of the kind that places most nodes.

    Links may read letters or not; where they do, nodes computed from inputs alone may count as letters.
    """
    readers = cdag.children.degrees()
    sources, targets = cdag.edge_arrays()
    edges = np.column_stack([sources, targets])[~cdag.given[sources] & (readers[sources] <= _MOST_READERS)]
    if not _may_be_placed(cdag, search):
        return []
    edges = _reduced(cdag.n, edges, search)
    inner = np.bincount(targets[~cdag.given[sources]], minlength=cdag.n)
    is_score = (inner == 0) & (readers == 1)  # computed from inputs alone, for one other
    best: tuple[int, IntArray, list[tuple[IntArray, IntArray]]] = (0, np.empty(0, np.int64), [])
    last = edges[:0]
    for number, kept in enumerate((edges, edges, edges, edges[~is_score[edges[:, 0]]])):
        owner = np.full(cdag.n, -1, np.int64)
        if number > 0:
            kept, owner = _contracted(cdag, kept, search, with_letters=number > 1)
        if not len(kept) or (number > 0 and owner.max() < 0) or np.array_equal(kept, last):
            continue
        last = kept
        placed = list(_placed(cdag.n, kept, search))
        best = max(best, (sum(len(nodes) for nodes, _ in placed), owner, placed), key=lambda found: found[0])
        if 2 * best[0] > np.count_nonzero(~cdag.given):
            break
    used, found = np.zeros(cdag.n, np.bool_), []
    for nodes, places in best[2]:
        found.append(_with_inputs(cdag, nodes, places, best[1], used))
        used[found[-1].moved] = True
    return found


def _may_be_placed(cdag: Cdag, search: Search) -> bool:
    """True if nodes drawn evenly read hardly more than places do in the mean, but for inputs and what others read."""
    nodes = np.flatnonzero(~cdag.given)
    nodes = nodes[:: -(-len(nodes) // _SAMPLE) or 1]
    search.spend(len(nodes) / tuning.PASS_RATE)
    counts = []
    for node in nodes.tolist():
        read = [v for v in cdag.parents.neighbours(node).tolist() if not cdag.given[v]]
        gone_by = {v for other in read for v in cdag.parents.neighbours(other).tolist()}
        counts.append(sum(v not in gone_by for v in read))
    return sum(counts) <= (max(_AXES) + 1) * sum(count > 0 for count in counts)


def _reduced(n: int, edges: IntArray, search: Search) -> IntArray:
    """Return the edges between nodes that no two other edges go between; none if that takes more than is left."""
    effort = (n + int(np.bincount(edges[:, 0], minlength=n)[edges[:, 1]].sum())) / tuning.TABLES_RATE
    if effort > search.left():
        return edges[:0]
    search.spend(effort)
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(edges), np.int64), edges.T), shape=(n, n))
    twice = ((matrix @ matrix).multiply(matrix)).tocoo()
    around = distinct(twice.row.astype(np.int64) * n + twice.col)
    return edges[~np.isin(edges[:, 0] * n + edges[:, 1], around)]


def _contracted(cdag: Cdag, edges: IntArray, search: Search, *, with_letters: bool) -> tuple[IntArray, IntArray]:
    """Return edges between nodes that are no links, and the owner of each link, -1 of other nodes.

    A link reads one other node, or links of it, beside inputs of one reader and, ``with_letters``, of many.
    """
    readers = cdag.children.degrees()
    sources, targets = cdag.edge_arrays()
    most = _MOST_IN_PLACE if with_letters else cdag.n
    borders = targets[cdag.given[sources] & (readers[sources] > 1) & (readers[sources] <= most)]
    owner = np.full(cdag.n, -1, np.int64)
    for _ in range(_ROUNDS):
        count = np.bincount(np.append(edges[:, 1], borders), minlength=cdag.n)
        new = edges[(count[edges[:, 1]] == 1) & (readers[edges[:, 1]] > 0)]
        if not len(new):
            break
        owner[new[:, 1]] = new[:, 0]
        for node in cdag.order[owner[cdag.order] >= 0].tolist():
            if owner[owner[node]] >= 0:
                owner[node] = owner[owner[node]]
        ends = np.where(owner >= 0, owner, np.arange(cdag.n))[edges[:, 0]]
        edges = np.column_stack([ends, edges[:, 1]])[owner[edges[:, 1]] < 0]
        edges = _reduced(cdag.n, np.unique(edges, axis=0), search)
    return edges, owner


def _placed(n: int, edges: IntArray, search: Search) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield nodes and their places, table by table."""
    edges, way, classes = _squared(n, edges)
    # A box of n places has 3 n (1 - n^(-1/3)) steps at most; halfway from there to 3 n it is levels of a stencil.
    places = len(distinct(edges[:, 1]))
    is_denser = len(edges) > max(_AXES) * (places - places ** (1 - 1 / max(_AXES)) / 2)
    if is_denser or len(edges) / tuning.TABLES_STEPS > search.left():
        return
    search.spend(len(edges) / tuning.TABLES_STEPS)
    ways = np.array(_joined(edges, way.tolist(), classes), dtype=np.int64)[way]
    often = np.bincount(ways, minlength=1)[ways] >= tuning.FEWEST_IN_TABLE // 2
    edges, ways = edges[often], ways[often]
    for end in (0, 1):  # no node has two edges that go one way
        key = edges[:, end] * (int(ways.max(initial=0)) + 1) + ways
        _, place, count = np.unique(key, return_inverse=True, return_counts=True)
        alone = count[place.ravel()] == 1
        edges, ways = edges[alone], ways[alone]
    part = component_of(n, *edges.T)
    count = int(part.max(initial=-1)) + 1
    of_edges = part[edges[:, 0]]
    size = np.bincount(part, minlength=count)
    order = np.argsort(of_edges, kind="stable")
    starts = np.searchsorted(of_edges[order], np.arange(count + 1))
    for one in np.flatnonzero(size >= tuning.FEWEST_IN_TABLE).tolist():
        chosen = order[starts[one] : starts[one + 1]]
        times = Counter(ways[chosen].tolist())
        axes = sorted(way for way, much in times.items() if 2 * much >= max(times.values()))
        effort = len(chosen) / tuning.TABLES_WALKED
        if len(axes) not in _AXES or effort > search.left():
            continue
        search.spend(effort)
        axis = {way: index for index, way in enumerate(axes)}
        steps = [(*edge, axis[way]) for edge, way in zip(edges[chosen].tolist(), ways[chosen].tolist(), strict=True)
                 if way in axis]  # fmt: skip
        found = _core(_walked(steps, len(axes)), steps, len(axes))
        if len(found) >= tuning.FEWEST_IN_TABLE:
            yield np.array(list(found.values())), np.array(list(found))


def _squared(n: int, edges: IntArray) -> tuple[IntArray, IntArray, int]:
    """Return the edges of squares, a class for each, alike on opposite sides, and how many classes there are."""
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    degrees = np.bincount(edges[:, 0], minlength=n)
    starts = np.cumsum(degrees) - degrees
    repeated = degrees[edges[:, 1]]
    first = np.repeat(np.arange(len(edges)), repeated)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(repeated) - repeated, repeated)
    second = order[starts[edges[first, 1]] + offset]
    keys = edges[first, 0] * n + edges[second, 1]
    ascending = np.argsort(keys, kind="stable")
    _, begin, count = np.unique(keys[ascending], return_index=True, return_counts=True)
    one, other = ascending[begin[count == 2]], ascending[begin[count == 2] + 1]
    alike = np.concatenate([np.column_stack([first[one], second[other]]), np.column_stack([first[other], second[one]])])
    way = component_of(len(edges), *alike.T)
    chosen = distinct(alike.ravel())
    return edges[chosen], way[chosen], int(way.max(initial=-1)) + 1


def _walked(steps: list[tuple[int, int, int]], axes: int) -> dict[tuple[int, ...], int]:
    """Return the nodes by their places, of those that hang together most; a place that is taken stays so."""
    near: dict[int, list[tuple[int, int, int]]] = {}
    for source, target, axis in steps:
        near.setdefault(source, []).append((target, axis, 1))
        near.setdefault(target, []).append((source, axis, -1))
    where: dict[int, tuple[int, ...]] = {}
    best: dict[tuple[int, ...], int] = {}
    for first in sorted(near):
        if first in where:
            continue
        where[first], found = (0,) * axes, {(0,) * axes: first}
        queue = [first]
        for node in queue:
            place = where[node]
            for other, axis, by in near[node]:
                if other in where:
                    continue
                reached = _stepped(place, axis, by)
                if reached not in found:
                    where[other], found[reached] = reached, other
                    queue.append(other)
        if len(found) > len(best):
            best = found
    return best


def _stepped(place: tuple[int, ...], axis: int, by: int) -> tuple[int, ...]:
    return (*place[:axis], place[axis] + by, *place[axis + 1 :])


def _core(
    found: dict[tuple[int, ...], int], steps: list[tuple[int, int, int]], axes: int
) -> dict[tuple[int, ...], int]:
    """Return the nodes without those next to fewer than one per axis of those that are left."""
    where = {node: place for place, node in found.items()}
    near: dict[int, list[int]] = {node: [] for node in where}
    for source, target, axis in steps:
        if source in where and target in where:
            here, there = where[source], where[target]
            if all(
                after - before == (index == axis) for index, (before, after) in enumerate(zip(here, there, strict=True))
            ):
                near[source].append(target)
                near[target].append(source)
    degree = {node: len(others) for node, others in near.items()}
    queue = [node for node, count in degree.items() if count < axes]
    for node in queue:
        for other in near[node]:
            degree[other] -= 1
            if degree[other] == axes - 1:
                queue.append(other)
    left_out = set(queue)
    return {place: node for place, node in found.items() if node not in left_out}


def _joined(edges: IntArray, way: list[int], classes: int) -> list[int]:
    """Return for each class of edges the one that stands for all that go its way.

    Where a node and the next one have edges of the same classes but for one each, these two are one way. Classes that
    many nodes say are one are joined first; two of which one node has edges are never.
    """
    rivals: list[set[int]] = [set() for _ in range(classes)]
    votes: Counter[tuple[int, int]] = Counter()
    for nodes in (edges, edges[:, ::-1]):
        stars: dict[int, set[int]] = {}
        for node, kind in zip(nodes[:, 0].tolist(), way, strict=True):
            stars.setdefault(node, set()).add(kind)
        for star in stars.values():
            for kind in star:
                rivals[kind] |= star - {kind}
        for (node, following), kind in zip(nodes.tolist(), way, strict=True):
            here, there = stars[node], stars.get(following, set())
            if 1 < len(here) == len(there) and here - there == {kind}:
                votes[kind, (there - here).pop()] += len(here)
    root = list(range(classes))
    for pair, _ in sorted(votes.items(), key=lambda item: (-item[1], item[0])):
        one, other = pair
        while root[one] != one:
            one = root[one]
        while root[other] != other:
            other = root[other]
        if one == other or other in rivals[one]:
            continue
        root[other] = one
        for rival in rivals[other]:
            rivals[rival].discard(other)
            rivals[rival].add(one)
        rivals[one] |= rivals[other]
    for kind in range(classes):
        while root[root[kind]] != root[kind]:
            root[kind] = root[root[kind]]
    return root


def _with_inputs(cdag: Cdag, nodes: IntArray, places: IntArray, owner: IntArray, used: BoolArray) -> Table:
    """Return a table with its links, the inputs in places that several nodes lack, and its letters."""
    readers = cdag.children.degrees()
    where = {tuple(place): node for node, place in zip(nodes.tolist(), places.tolist(), strict=True)}
    in_table = np.zeros(cdag.n, np.bool_)
    in_table[nodes] = True
    links = _needed(cdag, where, np.where(used | in_table, -1, owner))
    lacking: dict[tuple[int, ...], list[int]] = {}
    for place, node in where.items():
        for axis in range(places.shape[1]):
            before = _stepped(place, axis, -1)
            if before not in where:
                lacking.setdefault(before, []).append(node)
    free = cdag.given & ~used & (readers <= _MOST_IN_PLACE)
    pairs, missing = [], [place for place, those in lacking.items() if len(those) > 1]
    for index, place in enumerate(missing):
        common = set.intersection(*(set(cdag.parents.neighbours(node).tolist()) for node in lacking[place]))
        pairs += [(index, value) for value in sorted(common) if free[value]]
    if pairs:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        graph = csr_array((np.ones(len(pairs), np.int8), np.array(pairs).T), shape=(len(missing), cdag.n))
        chosen = maximum_bipartite_matching(graph, perm_type="column")
        matched = np.flatnonzero(chosen >= 0)
        nodes = np.append(nodes, chosen[matched])
        places = np.concatenate([places, np.array(missing)[matched]])
        in_table[nodes] = True
    in_table[links] = True
    letters = helpers = np.empty((0, 3), np.int64)
    if places.shape[1] == 2:
        letters, helpers = _letters(cdag, where, ~in_table & ~used)
    return Table(nodes, places, np.column_stack([links, owner[links]]), letters, helpers[:, :2])


def _needed(cdag: Cdag, where: dict[tuple[int, ...], int], owner: IntArray) -> IntArray:
    """Return the links by which nodes are read one step after them."""
    found: dict[int, int] = {}
    for place, node in where.items():
        befores = {
            where.get(tuple(at - (index == axis) for index, at in enumerate(place))) for axis in range(len(place))
        }
        queue = [v for v in cdag.parents.neighbours(node).tolist() if owner[v] in befores and v not in found]
        for link in queue:
            found[link] = int(owner[link])
            others = cdag.parents.neighbours(link).tolist()
            queue += [v for v in others if owner[v] == owner[link] and v not in found]
    return np.array(sorted(found), dtype=np.int64)


def _letters(cdag: Cdag, where: dict[tuple[int, ...], int], free: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the values that most nodes of a row or a column read, and the nodes by way of which they do."""
    readers = cdag.children.degrees()
    lines: dict[int, Counter[tuple[int, int]]] = {}
    helped: dict[int, int] = {}
    for place, node in where.items():
        read = {value for value in cdag.parents.neighbours(node).tolist() if free[value]}
        for helper in [value for value in read if readers[value] == 1 and not cdag.given[value]]:
            helped[helper] = node
            read |= {value for value in cdag.parents.neighbours(helper).tolist() if free[value]}
        for value in read:
            lines.setdefault(value, Counter()).update(enumerate(place))
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for value, count in lines.items():
        line, times = max(count.items(), key=lambda item: item[1])
        if times > 2 and times > best.get(line, (0, 0))[0]:
            best[line] = (times, value)
    found = [(*line, value) for line, (_, value) in sorted(best.items())]
    values = {value for *_, value in found}
    pairs = [(helper, node, 0) for helper, node in helped.items() if helper not in values
             and values.intersection(cdag.parents.neighbours(helper).tolist())]  # fmt: skip
    letters, helpers = (np.array(rows, dtype=np.int64).reshape(-1, 3) for rows in (found, sorted(pairs)))
    return letters, helpers
