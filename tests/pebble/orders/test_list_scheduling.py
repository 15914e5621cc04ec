from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.pebble.orders.test_belady import is_topological, random_cdag
from tests.reference.pebble_fused import fused_heads
from tests.reference.pebble_scheduler import counts
from tests.samples import samples

from shorthaul.core.compiled.twins import plain
from shorthaul.core.search import Search
from shorthaul.pebble import case
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.orders import belady, list_scheduling
from shorthaul.pebble.orders.fusion import fuse
from shorthaul.pebble.orders.list_scheduling import RULES, Scheduler
from shorthaul.pebble.workloads import kernels_as_graphs


def test_every_rule_gives_a_topological_order_of_what_is_computed() -> None:
    for seed in samples(60):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 3 + seed)
        scheduler = Scheduler(cdag, cdag.least_budget() + seed % 5)
        computed = np.flatnonzero(~cdag.is_input()).tolist()
        for rules in RULES:
            order = scheduler.order(rules, Search(), seed)
            assert sorted(order.tolist()) == computed
            assert is_topological(cdag, order)


def test_running_counts_agree_with_their_plain_twin() -> None:
    kernels = plain("shorthaul.pebble.orders.list_scheduling_memory_kernels")
    random = plain("shorthaul.core.compiled.random_kernels").Random(1)
    for seed in samples(40):
        rng = np.random.default_rng(seed)
        cdag = random_cdag(rng, 4 + seed % 25)
        fused, budget = fuse(cdag, 0), cdag.least_budget() + seed % 4
        parents, children = fused.parents, fused.children
        order = fused.order_of_groups(cdag.order)
        rules = kernels.Rules(0.0, 1.0, 1.0, 1, 8)
        state = kernels.State(
            parents.starts, parents.targets, children.starts, children.targets, cdag.weights,
            cdag.given.view(np.uint8), order, rules, budget, random,
        )  # fmt: skip
        for node in order.tolist():
            kernels.compute(state, node)
            is_done, is_red, is_saved = (np.array(flags, dtype=bool) for flags in (state.done, state.red, state.saved))
            done, red = set(np.flatnonzero(is_done).tolist()), set(np.flatnonzero(is_red).tolist())
            for name, expected in counts(cdag, done, red).items():
                found = np.array(getattr(state, name))
                known = name in {"left", "solo"} or ~is_done  # the others mean nothing for computed nodes
                assert np.where(known, found, 0).tolist() == expected, name
            assert state.room == budget - int(cdag.weights[is_red].sum()) >= 0
            assert state.dirty == int(cdag.weights[is_red & ~is_saved].sum())
            assert sorted(state.residents[: state.resident].tolist()) == sorted(red)
            for v in np.flatnonzero(~is_done & (np.array(state.absent) == 1)).tolist():
                assert [p for p in cdag.parents.neighbours(v).tolist() if p not in red] == [state.which[v]]


def test_fusing_keeps_edges_and_orders() -> None:
    for seed, most, whole in itertools.product(range(40), (0, 1, 3, 9), (False, True)):
        cdag = random_cdag(np.random.default_rng(seed), 3 + seed % 30)
        fused = fuse(cdag, most, with_largest=whole)
        assert fused.heads[fused.group_of].tolist() == fused_heads(cdag, most, with_largest=whole)
        expected = {
            (int(fused.group_of[p]), int(fused.group_of[v]))
            for p, v in zip(*(array.tolist() for array in cdag.edge_arrays()), strict=True)
            if fused.group_of[p] != fused.group_of[v]
        }
        found = {(int(p), v) for v in range(len(fused.heads)) for p in fused.parents.neighbours(v)}
        assert found == expected
        for v in range(cdag.n):  # what goes with a reader has that reader alone
            head = int(fused.heads[fused.group_of[v]])
            assert v == head or fused.group_of[cdag.children.neighbours(v)].tolist() == [fused.group_of[v]]
        order = fused.expanded(fused.order_of_groups(cdag.order), cdag.order)
        assert is_topological(cdag, order)
        assert most > 0 or len(fused.heads) == cdag.n


@pytest.mark.parametrize(
    ("name", "budget", "most"),
    [("stencil:n=200,t=100,word=1", 40, 2300), ("fft:n=256,word=1", 32, 1100)],
)
def test_structured_graphs_come_out_tiled(name: str, budget: int, most: int) -> None:
    cdag = case(name).workload
    start = belady.plan(cdag, budget)
    found = list_scheduling.plan(cdag, budget, search=Search(effort=10), incumbent=start, goal=most)
    report = replay(cdag, found, budget, recompute=False)
    assert report.ok
    assert report.cost is not None
    assert report.cost["traffic"] <= most < start.traffic(cdag.weights)


def test_a_race_is_never_worse_than_its_start_and_repeats_itself() -> None:
    cdag = kernels_as_graphs.pyramid(n=8, word=1)
    start = belady.plan(cdag, 4)
    found = list_scheduling.plan(cdag, 4, search=Search(seed=3), incumbent=start)
    again = list_scheduling.plan(cdag, 4, search=Search(seed=3), incumbent=start)
    assert found.traffic(cdag.weights) <= start.traffic(cdag.weights)
    assert found.nodes.tolist() == again.nodes.tolist()
