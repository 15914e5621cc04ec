"""No plan beats a bound: random problems, starved of bandwidth so that traffic decides, against the search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.core.errors import InfeasibleError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import lower_bound, prove
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import load_problem
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, RULES, SPEC, Machine, Operator, OperatorType, Problem, Tensor
from shorthaul.tensor.search.annealing import anneal
from shorthaul.tensor.search.schedules import Schedules
from shorthaul.tensor.workloads.cases import GraphBuilder

DATA = Path(__file__).parents[4] / "shared" / "data" / "tensor"


def starved(seed, operators):
    """A random problem whose traffic costs more than its compute, with a small native tile."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, operators=int(rng.integers(1, operators + 1)))
    capacity = float(rng.choice([problem.machine.capacity, 60, 120, 300]))
    native = (int(rng.choice((1, 2, 3, 4))), int(rng.choice((1, 2, 3, 4))))
    return replace(problem, machine=Machine(capacity, float(rng.choice([0.01, 0.1, 0.5])), *native))


def hunt(seed, rules, effort=0.05):
    """Return latency over bound of the best plan that a short search finds, None if it finds none."""
    problem = starved(seed, 7)
    schedules = Schedules(problem, rules)
    start = schedules.solution(tuple((operator,) for operator in problem.topological_order))
    if start is None:
        return None
    best = anneal(schedules, start, seed, Search(effort=effort), hottest=0.2, coldest=1e-3)
    latency = replay(problem, schedules.plan(best.sequence), rules).cost["latency"]
    bound = lower_bound(problem, rules)
    assert latency >= bound.value * (1 - 1e-9), bound
    return latency / bound.value if bound.value else None


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_no_search_beats_the_bound(name):
    ratios = [ratio for seed in samples(120) if (ratio := hunt(seed, RULES[name])) is not None]
    assert len(ratios) > 0.75 * len(samples(120))
    assert sum(ratio < 1 + 1e-9 for ratio in ratios) > 0.2 * len(ratios), "the bound is met now and then"


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_no_random_plan_beats_the_bound(name):
    rules = RULES[name]
    legal = 0
    for seed in samples(800):
        problem = starved(seed, 4)
        seen = replay(problem, random_plan(np.random.default_rng(seed), problem, rules), rules)
        if not seen.violations:
            legal += 1
            assert seen.cost["latency"] >= lower_bound(problem, rules).value * (1 - 1e-9)
    assert legal > len(samples(800)) / 8


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_no_long_search_beats_the_bound(name):
    for seed in range(50, 2000):
        hunt(seed, RULES[name], effort=1)


def test_a_search_that_is_over_leaves_the_quick_bounds():
    for seed in samples(80):
        problem = starved(seed, 7)
        over = Search(effort=1)
        over.spend(2)
        quick, whole = lower_bound(problem, CONTEST, over), lower_bound(problem, CONTEST)
        assert quick.details["streamed_operands"] == 0
        assert quick.value <= whole.value
        assert quick.details["boundary_traffic"] == whole.details["boundary_traffic"]


def test_one_matmul_streams_both_operands():
    """8 x 8 times 8 x 8 on 4 x 4 tiles, k up to 4: both operands twice, the output once; no plan does with less."""
    tensors = (Tensor(8, 8),) * 3
    problem = Problem(tensors, (Operator(OperatorType.MATMUL, (0, 1), 2, 0.0),), Machine(1000.0, 1.0, 4, 4))
    bound = lower_bound(problem, CONTEST)
    assert (bound.method, bound.value) == ("streamed operands", 2 * 64 + 2 * 64 + 64)
    assert lower_bound(problem, SPEC).value == 3 * 64


def test_products_of_one_tensor_that_are_never_together_share_nothing():
    """Both are read by nobody: each is alone, and streams its operands; the second has half of the columns."""
    tensors = (Tensor(8, 8), Tensor(8, 8), Tensor(4, 8), Tensor(8, 8), Tensor(4, 8))
    operators = tuple(Operator(OperatorType.MATMUL, (0, right), right + 2, 0.0) for right in (1, 2))
    problem = Problem(tensors, operators, Machine(1000.0, 1.0, 4, 4))
    assert lower_bound(problem, CONTEST).value == (2 * 64 + 2 * 64 + 64) + (64 + 2 * 32 + 32)


def test_what_a_product_reads_through_a_long_prologue_is_stored():
    """A Pointwise before a reduction of 8 cannot join on 4 x 4 tiles; its output, of 64, fits nowhere."""
    tensors = (Tensor(8, 8),) * 4
    operators = (Operator(OperatorType.POINTWISE, (0,), 1, 0.0), Operator(OperatorType.MATMUL, (1, 2), 3, 0.0))
    problem = Problem(tensors, operators, Machine(60.0, 1.0, 4, 4))
    assert lower_bound(problem, CONTEST).value == 64 + 64 + (2 * 64 + 2 * 64 + 64)
    assert lower_bound(problem, CONTEST_LOOSE).value < 320 + 64


def siblings(seed):
    """Products of one tensor, of equal and other widths, and what takes them; tiles that meet by chance."""
    rng = Random(seed)
    graph = GraphBuilder()
    native = rng.choice((1, 2, 3, 4)), rng.choice((1, 2, 3, 4))
    width = native[0] * rng.choice((2, 3, 4))
    height = rng.choice((native[1] * rng.choice((1, 2, 3)), width))
    shared = graph.tensor(height, width)
    if rng.random() < 0.3:
        shared = graph.pointwise((shared,), 1)
    elif rng.random() < 0.4:
        inner = rng.choice((width, native[0]))
        shared = graph.matmul(graph.tensor(height, inner), graph.tensor(inner, width), 1)
    other = rng.choice((width, width, 2 * native[0]))
    pool = [shared]
    for _ in range(rng.randint(1, 3)):
        wide = rng.choice((other, other, width, native[0]))
        if rng.random() < 0.75 or height != width:
            pool.append(graph.matmul(shared, graph.tensor(width, wide), rng.choice((0, 1, 3))))
        else:
            pool.append(graph.matmul(graph.tensor(wide, height), shared, rng.choice((0, 1, 3))))
    for _ in range(rng.randint(0, 4)):
        taken = rng.choice(pool)
        shape = graph.tensors[taken]
        same = [tensor for tensor in pool if graph.tensors[tensor] == shape and tensor != taken]
        if rng.random() < 0.7:
            pool.append(graph.pointwise((taken, *rng.sample(same, min(1, len(same)))), 1))
        else:
            pool.append(graph.matmul(taken, graph.tensor(shape.width, rng.choice((other, native[0]))), 1))
    capacity = float(rng.choice((3, 4, 5, 6, 8, 10, 14, 20, 30)) * native[0] * native[1])
    return replace(graph.problem(capacity, 1.0), machine=Machine(capacity, rng.choice((0.01, 0.05, 0.2)), *native))


@pytest.mark.costly
@pytest.mark.parametrize("name", RULES)
def test_no_search_beats_the_bound_of_products_of_one_tensor(name):
    met = seen = 0
    for seed in samples(96):
        problem = siblings(seed)
        try:
            plan = improve(problem, RULES[name], Search(effort=0.02, workers=1))
        except (InfeasibleError, NoPlanError):
            continue
        latency = replay(problem, plan, RULES[name]).cost["latency"]
        bound = lower_bound(problem, RULES[name])
        assert latency >= bound.value * (1 - 1e-9), (seed, bound)
        seen += 1
        met += bound.is_met_by(latency)
    assert seen > 0.75 * len(samples(96))
    assert met > seen / 10


@pytest.mark.skipif(not DATA.is_dir(), reason="the contest's instances are not part of the project")
@pytest.mark.parametrize(
    ("instance", "compute", "traffic", "least"),
    [
        (1, 112_000, 65_536, 230_000),
        (5, 160_000, 46_967, 170_000),
        (9, 13_465_600, 2_768_241, 38_000_000),
        (13, 5_201_500, 1_006_961, 10_000_000),
        (17, 4_966_400, 760_218, 4_966_400),
    ],
)
def test_contest_instances(instance, compute, traffic, least):
    path = DATA / f"mlsys-2026-{instance}.json"
    problem = load_problem(path)
    bound = lower_bound(problem, CONTEST)
    assert bound.details["compute"] == pytest.approx(compute)
    assert bound.details["boundary_traffic"] == pytest.approx(traffic, abs=0.5)
    assert bound.value >= least
    assert lower_bound(problem, SPEC).value == pytest.approx(compute)


def test_a_large_product_is_proven():
    """Neither operand fits: four columns and five rows of tiles, whose operands pass by once for each."""
    graph = GraphBuilder()
    graph.matmul(graph.tensor(4096, 4096), graph.tensor(4096, 4096), base_cost=1)
    problem = graph.problem(capacity=2**20, bandwidth=1)
    search = Search(effort=0.05, workers=1)
    assert prove(problem, SPEC, search).bound.value == pytest.approx(10 * 4096**2)
