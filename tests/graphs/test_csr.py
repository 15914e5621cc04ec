from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shorthaul.graphs.csr import component_of, find_cycle, from_edges, layers, strong_components, topological_order

edges = st.integers(1, 8).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
)


@given(edges)
def test_neighbours_and_reversal(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    csr = from_edges(n, pairs)
    assert [(v, int(w)) for v in range(n) for w in csr.neighbours(v)] == sorted(pairs, key=lambda pair: pair[0])
    back = csr.reversed()
    assert sorted((int(w), v) for v in range(n) for w in back.neighbours(v)) == sorted(pairs)


@given(edges)
def test_order_or_cycle(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    csr = from_edges(n, pairs)
    order, cycle = topological_order(csr), find_cycle(csr)
    if order is None:
        assert cycle
        assert all((cycle[i], cycle[(i + 1) % len(cycle)]) in pairs for i in range(len(cycle)))
    else:
        assert not cycle
        place = np.argsort(order)
        assert all(place[v] < place[w] for v, w in pairs)


@given(edges)
def test_layers_are_longest_paths(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    forward = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    csr = from_edges(n, forward)
    order = topological_order(csr)
    assert order is not None
    depth = layers(csr, order)
    for node in range(n):
        expected = max((int(depth[v]) + 1 for v, w in forward if w == node), default=0)
        assert depth[node] == expected


@given(edges)
def test_components(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    label = list(range(n))
    for _ in range(n):
        for v, w in pairs:
            label[v] = label[w] = min(label[v], label[w])
    sources, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    found = component_of(n, sources, targets).tolist()
    assert [found.index(one) for one in found] == [label.index(one) for one in label]


@given(edges)
def test_strong_components_are_what_reaches_one_another(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, pairs = graph
    reaches = np.eye(n, dtype=bool)
    for u, v in pairs:
        reaches[u, v] = True
    for middle in range(n):
        reaches |= reaches[:, middle, None] & reaches[None, middle]
    label = strong_components(from_edges(n, pairs))
    assert ((label[:, None] == label[None]) == (reaches & reaches.T)).all()
