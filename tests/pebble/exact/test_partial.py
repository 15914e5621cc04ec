"""The game with partial values: plans, bounds, check and run against a brute force and by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.pebble.bounds.test_crossing import small
from tests.pebble.exact.test_exact import random_cdag
from tests.reference.pebble_partial import least_paid
from tests.samples import samples

from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.pebble import bound, check, code, from_pairs, load_cdag, load_plan, plan, run, save_plan
from shorthaul.pebble.bounds.best import accumulated_bound
from shorthaul.pebble.check.certificate import verify
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.exact import accumulation, accumulation_search
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import Cdag, Terms, build
from shorthaul.pebble.plan import plan_of
from shorthaul.pebble.run import execute
from shorthaul.pebble.workloads import kernels_as_graphs

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "pebble"


def sample(seed: int, largest: int = 5) -> tuple[Game, Cdag]:
    """A random game with partial values, and its graph with its inputs."""
    rng = np.random.default_rng(seed)
    plain = random_cdag(rng, int(rng.integers(2, largest + 1)), int(rng.choice([1, 3])))
    name = rng.permutation(plain.n)
    sources, targets = plain.edge_arrays()
    back = np.argsort(name)
    compute = rng.integers(0, rng.choice([1, 4]), plain.n)
    cdag = build(plain.weights[back], name[sources], name[targets], given=plain.given[back], compute=compute)
    load, store = (([None, 0, 1, 1, 1, 3])[int(rng.integers(6))] for _ in range(2))
    terms = Terms(load, store, partial=True)
    seen = terms.played(cdag)
    return Game(seen, int(terms.needs(seen).max()) + int(rng.integers(3)), False, terms), cdag


def agree(seeds: Sequence[int]) -> None:
    """The exact search finds the optimum of the game; annealing never beats it, and mostly meets it."""
    met = 0
    for seed in seeds:
        game, cdag = sample(seed)
        optimum = least_paid(cdag, game.budget, game.terms)
        computing = int(game.cdag.compute[~game.cdag.given].sum())
        done = accumulation_search.solve(game, limit=2**61, search=Search())
        assert done.is_complete
        assert (done.plan is None) == (optimum is None), seed
        found = accumulation.improve(game, [], search=Search(effort=0.01), goal=0)
        if optimum is None or done.plan is None:
            assert found is None, seed
            met += 1
            continue
        assert done.least == optimum, seed
        for made, paid in ((done.plan, optimum), found or (done.plan, optimum)):
            report = replay(cdag, made, game.budget, terms=game.terms)
            assert report.ok, (seed, report.violations[:2])
            assert report.cost["total"] == paid + computing >= optimum + computing, seed
        met += found is not None and found[1] == optimum
    assert met >= 0.9 * len(seeds)


def test_plans_agree_with_the_game() -> None:
    agree(samples(60))


@pytest.mark.slow
def test_plans_agree_with_the_game_on_many_more() -> None:
    agree(range(1000, 3000))


@pytest.mark.parametrize("seed", samples(12))
def test_the_verbs_agree_with_the_game(seed: int) -> None:
    game, cdag = sample(200 + seed)
    load, store = (math.inf if price is None else price for price in (game.terms.load, game.terms.store))
    asked = {"budget": game.budget, "load_price": load, "store_price": store, "partial": True, "effort": 0.2}
    optimum = least_paid(cdag, game.budget, game.terms)
    if optimum is None:
        with pytest.raises((InfeasibleError, NoPlanError)):
            plan(cdag, **asked)
        return
    optimum += int(game.cdag.compute[~game.cdag.given].sum())
    result = plan(cdag, **asked)
    assert (result.cost["total"], result.status.value) == (optimum, "optimal")
    assert bound(cdag, **asked).bound.value == optimum
    assert check(cdag, result.plan, **asked).cost == result.cost
    assert run(cdag, result.plan, **asked).extra["run"]["agrees"]


def test_a_long_sum_needs_two_words() -> None:
    """Fifty operands, one word for the sum and one for what is added; a binary tree of sums saves nothing."""
    cdag = from_pairs([1] * 51, [(v, 50) for v in range(50)])
    result = plan(cdag, partial=True)
    assert (result.cost["peak"], result.cost["total"], result.status.value) == (2, 51, "optimal")
    with pytest.raises(InfeasibleError, match="2 needed"):
        plan(cdag, budget=1, partial=True)
    with pytest.raises(InfeasibleError, match="51 needed"):
        plan(cdag, budget=50)
    with pytest.raises(InfeasibleError, match="9 needed"):  # a constant that nobody reads
        plan(build([1, 1, 9], [0], [1], given=[True, False, False]), budget=3, partial=True)


def paths_stay_below(seeds: Sequence[int]) -> int:
    """No bound by paths is above the optimum, its certificate is accepted, and one more is not; return how many help."""
    terms, lifted = Terms(partial=True), 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = small(rng)
        if cdag.edges > 17:
            continue
        budget = int(terms.needs(cdag).max()) + int(rng.integers(2))
        found = accumulated_bound(cdag, budget, search=Search(effort=0.05))
        if found.value == cdag.algorithmic_bound():
            continue
        for more, is_right in ((0, True), (1, False)):
            document = {"of": "traffic", "value": found.value + more, **found.details}
            assert (not verify(cdag, document, budget, recompute=False, terms=terms)[0]) is is_right, seed
        done = accumulation_search.solve(Game(cdag, budget, False, terms), limit=found.value, search=Search(effort=0.5))
        assert done.plan is None, (seed, done.least, found.value)
        lifted += 1
    return lifted


def test_paths_bound_what_is_accumulated() -> None:
    assert paths_stay_below(samples(60)) > 1


@pytest.mark.slow
def test_paths_bound_what_is_accumulated_on_many_more() -> None:
    assert paths_stay_below(range(1000, 4000)) > 50


def test_values_that_are_computed_at_once_are_a_start() -> None:
    """A plan of the usual game is one that accumulates, so none is kept that pays more."""
    cdag = kernels_as_graphs.fft(n=8, word=1)
    usual, found = (plan(cdag, budget=6, effort=0.1, partial=partial) for partial in (False, True))
    moves = accumulation.accumulated(cdag, usual.plan)
    assert check(cdag, moves, budget=6, partial=True).cost["traffic"] == usual.cost["traffic"]
    assert found.cost["traffic"] <= 1.05 * usual.cost["traffic"]


def test_long_sums_are_planned_as_chains() -> None:
    """No value of a row fits beside its operands; plans of accumulations alone moved 232 there."""
    found = plan("spmv:n=16,percent=30,seed=9", budget=4, partial=True, effort=0.02)
    assert found.cost["traffic"] <= 134


def test_broken_plans() -> None:
    """Each rule is broken once by a change of a plan that keeps them all."""
    cdag = from_pairs([1] * 5, [(0, 2), (1, 2), (2, 4), (3, 4)])
    fine = [(0, 0), (4, 0), (3, 0), (0, 1), (4, 1), (3, 1), (4, 2), (3, 2), (0, 3), (4, 3), (1, 4)]
    terms = Terms(partial=True)
    rules = {
        "missing-operand": fine[1:],
        "partial-operand": [*fine[:4], (4, 2), *fine[4:6], *fine[7:]],
        "recomputed": [*fine[:2], (4, 0), *fine[2:]],
        "over-budget": [*fine[:5], (0, 3), *fine[5:8], *fine[9:]],
        "missing-partial": [*fine[:2], (3, 2), *fine[2:]],
        "load-of-absent": [*fine[:2], (1, 2), (3, 2), (0, 2), *fine[2:5], (3, 2), (0, 2), *fine[5:]],
        "missing-output": fine[:-1],
        "not-at-once": [(2, 4), *fine],
        "delete-of-absent": [(3, 4), *fine],
        "store-of-absent": [(1, 4), *fine],
    }
    assert replay(cdag, plan_of(fine), 2, terms=terms).ok
    for rule, moves in rules.items():
        found = {
            item.rule for item in replay(cdag, plan_of(moves), 2 + (rule == "load-of-absent"), terms=terms).violations
        }
        assert rule in found, (rule, found)
        if rule not in {"over-budget", "recomputed", "missing-output"}:
            with pytest.raises(InputError, match=r"^plan|^move"):
                execute(cdag, plan_of(moves), None, np.ones(3), terms)
    with pytest.raises(InputError, match="check it with partial"):
        check(cdag, plan_of(fine))
    with pytest.raises(InputError, match="cannot be combined with partial"):
        plan(cdag, partial=True, in_place=True)
    with pytest.raises(InputError, match="cannot be combined with partial"):
        plan(cdag, partial=True, recompute=True)
    with pytest.raises(InputError, match="does not accumulate values"):
        plan(cdag, partial=True, method="belady")


@pytest.mark.parametrize("name", ["plan.json", "plan.npz"])
def test_plans_come_back(name: str, tmp_path: Path) -> None:
    cdag = build([1] * 5, [0, 1, 2, 3], [2, 2, 4, 4], ids=list("abcde"))
    made = plan(cdag, partial=True).plan
    assert made is not None
    save_plan(tmp_path / name, made, cdag)
    assert list(load_plan(tmp_path / name, cdag)) == list(made)
    assert code(cdag, tmp_path / name, partial=True, format="csv").extra["code"]
    if name == "plan.json":
        document = json.loads((tmp_path / name).read_text())
        assert ["accumulate", "c", "a"] in document["moves"]
        for move, message in ((["accumulate", "a", "c"], "names no edge"), (["accumulate", "a"], "is no move")):
            (tmp_path / name).write_text(json.dumps({**document, "moves": [move]}))
            with pytest.raises(InputError, match=message):
                load_plan(tmp_path / name, cdag)


FILES = sorted(path.name for path in DATA.glob("*/*") if path.suffix in {".txt", ".hdag"})


@pytest.mark.slow
@pytest.mark.parametrize("budget", [4, 8, 16])
@pytest.mark.parametrize("name", FILES)
def test_public_graphs_in_small_memories(name: str, budget: int) -> None:
    """Every graph can be planned, and with more room than the usual game needs, it pays no more than that."""
    cdag = load_cdag(next(DATA.glob(f"*/{name}")))
    budget *= int(cdag.weights.max())
    result = plan(cdag, budget=budget, partial=True, effort=3)
    assert result.bound.value <= result.cost["total"]
    if budget >= cdag.least_budget():
        assert result.cost["total"] <= 1.05 * plan(cdag, budget=budget, effort=3).cost["traffic"]
