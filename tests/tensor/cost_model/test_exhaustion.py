"""The proven least latency of a group, in search and checker, beside every granularity and many orders."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from tests.reference.tensor_exhaustive import best_execution
from tests.samples import samples
from tests.tensor.columns import column
from tests.tensor.shapes import shaped_group, shaped_problem

from shorthaul.tensor.check.column_floor import cheaper
from shorthaul.tensor.cost_model.cost import ALL, Costs
from shorthaul.tensor.cost_model.exhaustion import Floor
from shorthaul.tensor.cost_model.profile import profile_of
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, Machine
from shorthaul.tensor.plan import Granularity
from shorthaul.tensor.workloads.cases import GraphBuilder


def least_of_all(profile, machine):
    """Return the least latency at any granularity, in lines, serpentines and, of up to four tiles, every order."""
    costs, best = Costs(profile, machine), math.inf
    most = (profile.width, profile.height, max(1, profile.k_limit))
    native = (machine.native_width, machine.native_height, machine.native_width)
    for size in product(*(range(1, min(pair) + 1) for pair in zip(most, native, strict=True))):
        costs.at(Granularity(*size))
        tiles = -(-profile.width // size[0]) * -(-profile.height // size[1])
        found = [(costs.follow(None), costs.peak)]
        found += [(costs.walk(order), costs.peak) for order in (ALL if tiles > 1 else ())]
        every = permutations(range(tiles)) if 1 < tiles <= 4 else ()
        found += [(costs.follow(np.array(order)), costs.peak) for order in every]
        best = min([best, *(latency for latency, peak in found if peak <= machine.capacity)])
    return best


def judged(problem, inside, outputs, resident=(), retained=()):
    """Return the least latency of a group, once search and checker are seen to prove no more."""
    sets = frozenset(inside), [*outputs], frozenset(resident), frozenset(retained)
    best = least_of_all(profile_of(problem, *sets), problem.machine)
    prove_no_more(problem, CONTEST_LOOSE, sets, best)
    return best


def prove_no_more(problem, rules, sets, best):
    """Ask search and checker for what a group takes at least; return whether the search proves ``best``."""
    floor = Floor(profile_of(problem, *sets), problem.machine, rules)
    while not floor.is_final:
        floor.raise_it()
    assert floor.value <= best * (1 + 1e-9)
    if math.isfinite(best):
        assert cheaper(problem, rules, column(problem, *sets), best * (1 + 1e-6)) is not None or best == 0
    return floor.value >= best * (1 - 1e-9)


def test_a_step_as_long_as_the_axis_holds_less_than_a_short_one():
    """The square's operand is held whole, and in parts of it where steps are short."""
    graph = GraphBuilder()
    operand = graph.tensor(3, 3)
    wide = graph.matmul(graph.matmul(operand, operand, 0), graph.tensor(3, 9), 0)
    last = graph.matmul(graph.tensor(9, 3), wide, 3)
    problem = replace(graph.problem(24, 9), machine=Machine(24, 9, 4, 1))
    assert judged(problem, (0, 1, 2), (last,)) == 81


def test_a_longer_step_may_fit_where_a_shorter_one_does_not():
    """Eleven as six and five do not leave room for what the last step loads; as seven and four they do."""
    graph = GraphBuilder()
    product_ = graph.matmul(graph.tensor(1, 11), graph.tensor(11, 1), 44)
    last = graph.pointwise((product_, *(graph.tensor(1, 1) for _ in range(6))), 0)
    problem = replace(graph.problem(15, 1), machine=Machine(15, 1, 11, 1))
    assert judged(problem, (0, 1), (last,)) == pytest.approx(44)


def test_where_all_of_a_tensor_is_there_short_steps_load_less():
    """The first product is retained, and asked for whole: its right operand passes by in parts, and whole."""
    graph = GraphBuilder()
    first = graph.matmul(graph.tensor(4, 9), graph.tensor(9, 4), 3)
    last = graph.matmul(graph.matmul(first, graph.tensor(4, 9), 1), graph.tensor(9, 4), 10)
    problem = replace(graph.problem(180, 0.03), machine=Machine(180, 0.03, 3, 5))
    assert judged(problem, (0, 1, 2), (first, last), (0,), (first,)) == pytest.approx(5366 + 2 / 3)


def test_products_that_take_a_tensor_again_and_again():
    for seed in samples(40):
        rng = np.random.default_rng(seed)
        graph = GraphBuilder()
        made = [graph.tensor(*rng.choice((2, 3, 6), 1).repeat(2).tolist())]
        for _ in range(int(rng.integers(2, 5))):
            pair = (made[-1], int(rng.choice(made)))
            made.append(graph.matmul(*(pair if rng.random() < 0.5 else pair[::-1]), int(rng.choice((0, 1, 10)))))
        natives = ((1, 6), (6, 2), (3, 5), (2, 2))[int(rng.integers(4))]
        machine = Machine(float(rng.integers(10, 200)), float(rng.choice((0.03, 0.7, 9))), *natives)
        problem = replace(graph.problem(1, 1), machine=machine)
        inside = range(len(problem.operators))
        taken = {tensor for operator in problem.operators for tensor in operator.inputs}
        outputs = [operator.output for operator in problem.operators if operator.output not in taken]
        kept = [operator.output for operator in problem.operators[:-1] if rng.random() < 0.3]
        judged(problem, inside, sorted({*outputs, *kept}), (), kept)


@pytest.mark.slow
def test_groups_of_many_shapes():
    """Beside the replay at every granularity, in the best order of up to eight tiles; nearly all are proven."""
    proven = tried = 0
    for seed in range(10_000, 12_000):
        random = Random(seed)
        problem = shaped_problem(random, random.randint(1, 5))
        group = shaped_group(random, problem)
        if group is None:
            continue
        rules = (CONTEST, CONTEST_LOOSE)[seed % 2]
        inside, outputs, resident, retained = group
        seen = SimpleNamespace(outputs=outputs, resident=resident, retained=retained)
        best = best_execution(problem, rules, SimpleNamespace(operators=inside), seen)
        tried += 1
        proven += prove_no_more(problem, rules, (inside, [*outputs], resident, retained), best)
    assert tried > 1_700
    assert proven > 0.9 * tried
