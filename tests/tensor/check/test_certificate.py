"""Certificates of bounds: those that the linear program writes hold, falsified ones are found out."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random
from unittest.mock import Mock

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.bounds.programs import column_prices
from tests.tensor.bounds.test_bound import starved
from tests.tensor.columns import column
from tests.tensor.contest_family import contest_problem
from tests.tensor.random_plans import random_plan, random_problem

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.tensor.check import certificate
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.column_floor import Steps, TooManyError
from shorthaul.tensor.check.groups import by_box
from shorthaul.tensor.check.groups.by_box import parts_of
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.formats.documents import save_problem
from shorthaul.tensor.model import CONTEST, CONTEST_LOOSE, RULES, SPEC
from shorthaul.tensor.workloads.cases import GraphBuilder


def certified(problem, rules):
    """Return what certifies the bound of a problem, for the caller to change."""
    return copy.deepcopy(written(problem, rules))


@cache
def written(problem, rules):
    prices = column_prices(problem, rules, Search(effort=3))
    return None if prices is None or not prices.value else {"value": prices.value, "certificate": prices.document()}


@pytest.mark.costly
@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_certificates_hold(rules):
    verified = 0
    for seed in samples(80):
        problem = starved(seed, 6)
        document = certified(problem, rules)
        if document is not None:
            assert verify(problem, rules, certificate_of(problem, document, "bound")) == []
            verified += 1
    assert verified > len(samples(80)) / 2


def test_the_order_of_a_certificate_decides_nothing():
    """Without one, or with another than the bound's, the same prices hold, and the same raised ones do not."""
    refused = 0
    for seed in samples(40):
        problem = starved(seed, 6)
        document = certified(problem, CONTEST)
        if document is None:
            continue
        others = [None, [*reversed(problem.topological_order)]]
        for rows, order in product((document, falsified(Random(seed), document)), others):
            given = certificate_of(problem, rows, "bound")
            changed = replace(given, order=order)
            wrong = bool(verify(problem, CONTEST, given))
            assert bool(verify(problem, CONTEST, changed)) == wrong
            refused += wrong
    assert refused > len(samples(40)) / 2


def test_parts_of_fast_memory_that_fit_exactly():
    for capacity in range(10, 20_000, 10):
        room = np.arange(11.0) * (capacity // 10)
        assert (parts_of(room, float(capacity)) == np.arange(11)).all()
        assert (parts_of(room[1:] - 1, float(capacity)) == np.arange(10)).all() or capacity < 100


@pytest.mark.parametrize("rules", [CONTEST, SPEC], ids=lambda rules: rules.name)
def test_prices_raised_are_found_out(rules):
    """Where a plan meets the bound, prices raised by a thousandth are too much for some subgraph."""
    found = 0
    for seed in samples(96):
        problem = starved(seed, 4)
        document = certified(problem, rules)
        plan = improve(problem, rules, Search(effort=0.05, workers=1))
        if document is None or replay(problem, plan, rules).cost["latency"] > document["value"] * (1 + 1e-6):
            continue
        higher = copy.deepcopy(document)
        higher["value"] *= 1.001
        (violation,) = verify(problem, rules, certificate_of(problem, higher, "bound"))
        assert violation.rule == "certificate-sum"
        for name in ("cover", "link", "hand_over"):
            for row in higher["certificate"][name]:
                row[-1] *= 1.001
        higher["value"] *= 1 - 1e-12
        (violation,) = verify(problem, rules, certificate_of(problem, higher, "bound"))
        assert violation.rule == "certificate-price"
        found += 1
    assert found > len(samples(96)) / 4


def falsified(rng, document):
    """A certificate with some prices raised, and perhaps some that count against columns left out."""
    false = copy.deepcopy(document)
    tables = false["certificate"]
    rows = [row for name in ("cover", "link") for row in tables[name]]
    for row in rng.sample(rows, rng.randint(1, len(rows))):
        row[-1] = row[-1] * rng.uniform(1.02, 3) + rng.choice((0, 1))
    if rng.random() < 0.5:
        tables["hand_over"] = [row for row in tables["hand_over"] if rng.random() < 0.5]
    false["value"] = sum(row[-1] for row in rows) * (1 - 1e-12)
    return false


@pytest.mark.costly
@pytest.mark.parametrize("many", [20_000, 0])
@pytest.mark.parametrize("rules", [CONTEST, SPEC], ids=lambda rules: rules.name)
def test_what_claims_more_than_a_plan_takes_is_found_out(rules, many, monkeypatch):
    """By weights, and box by box from the first group in the making on."""
    monkeypatch.setattr(certificate, "_MANY_GROUPS", many)
    mutations = 0
    for seed in samples(40):
        problem = starved(seed, 6)
        document = certified(problem, rules)
        if document is None:
            continue
        plan = improve(problem, rules, Search(effort=0.05, workers=1))
        latency = replay(problem, plan, rules).cost["latency"]
        rng = Random(seed)
        for false in [falsified(rng, document) for _ in range(10)]:
            if false["value"] > latency * (1 + 1e-6):
                assert verify(problem, rules, certificate_of(problem, false, "bound"))
                mutations += 1
    assert mutations > 4 * len(samples(40))


def test_where_tensors_may_stay_nobody_hands_them_over():
    document = certified(small(), SPEC)
    document["certificate"]["hand_over"].append([small().operators[0].output, 1.0])
    with pytest.raises(InputError, match="says nothing under these rules"):
        verify(small(), SPEC, certificate_of(small(), document, "bound"))


def test_what_is_much_too_dear_is_refused_at_once():
    """Where every group is favoured there are too many to be judged all, but one of them is enough."""
    problem = contest_problem(8206)
    cover = [[operator, 1e6] for operator in problem.topological_order]
    document = {"value": 1e6 * len(cover), "certificate": {"cover": cover, "link": [], "hand_over": []}}
    (violation,) = verify(problem, CONTEST, certificate_of(problem, document, "bound"))
    assert violation.rule == "certificate-price"


def test_what_is_only_stated(monkeypatch):
    """A certificate whose groups are too many to be judged is neither right nor wrong, one that is false is wrong."""
    monkeypatch.setattr(certificate, "_MANY_GROUPS", 0)
    monkeypatch.setattr(by_box, "_Walk", Mock(side_effect=TooManyError))
    problem = starved(6, 6)
    document = certified(problem, CONTEST)
    with pytest.raises(InputError, match="stated, not verified"):
        verify(problem, CONTEST, certificate_of(problem, document, "bound"))
    refused = [
        verify(problem, CONTEST, certificate_of(problem, falsified(Random(seed), document), "bound"))
        for seed in range(5)
    ]
    assert all(refused)


def test_no_execution_is_below_the_floor():
    """Whatever granularity and order a random plan has, the replay sees no subgraph below its floor there."""
    seen = 0
    for seed in samples(300):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, operators=5)
        plan = random_plan(rng, problem, CONTEST_LOOSE)
        for subgraph, found in zip(plan.subgraphs, replay(problem, plan, CONTEST_LOOSE).subgraphs, strict=True):
            if found is None or found.peak > problem.machine.capacity:
                continue
            if not found.retained <= {problem.operators[index].output for index in subgraph.operators}:
                continue
            inside = frozenset(subgraph.operators)
            item = column(problem, inside, list(found.outputs), found.resident, found.retained)
            size = subgraph.granularity
            steps = Steps(problem, item, *(np.array([value]) for value in (size.w, size.h, size.k)))
            assert steps.floor(problem.machine.capacity)[0] <= found.latency * (1 + 1e-9)
            low, high = ([np.array([value]) for value in ends] for ends in a_box_around(size, rng))
            assert Steps(problem, item, *high).outline_in_all(*low[:2])[0] <= found.latency * (1 + 1e-9)
            assert Steps(problem, item, *low).held_at_least()[0] <= found.peak
            seen += 1
    assert seen > 0.6 * len(samples(300))


def a_box_around(size, rng):
    low = [int(rng.integers(1, value + 1)) for value in (size.w, size.h, size.k)]
    return low, [value + int(rng.integers(0, 4)) for value in (size.w, size.h, size.k)]


def small(rows=64, inner=256, columns=96, capacity=3_000):
    graph = GraphBuilder()
    x = graph.pointwise((graph.matmul(graph.tensor(rows, inner), graph.tensor(inner, columns), 100),), 10)
    graph.pointwise((graph.matmul(x, graph.tensor(columns, inner), 100),), 10)
    return graph.problem(capacity, 1)


def test_from_the_command_line(tmp_path):
    save_problem(tmp_path / "problem.json", small(8, 16, 8, 100))
    rules = ("--rules", "contest")
    shorthaul_json("tensor", "bound", "problem.json", *rules, "--effort", "2", "--result", "bound.json", cwd=tmp_path)
    found = shorthaul_json("tensor", "check", "problem.json", "--bound", "bound.json", *rules, cwd=tmp_path)
    assert found["check"]["ok"]
    document = json.loads((tmp_path / "bound.json").read_text())
    assert found["bound"]["value"] == document["bound"]["value"]
    document["bound"]["value"] *= 2
    (tmp_path / "false.json").write_text(json.dumps(document))
    false = shorthaul_json("tensor", "check", "problem.json", "--bound", "false.json", *rules, cwd=tmp_path, status=1)
    assert [item["rule"] for item in false["check"]["violations"]] == ["certificate-sum", "certificate-figure"]


def test_a_gap_that_is_not_that_of_the_plans_proof_says_so(tmp_path):
    """The plan is proven by a linear program; a check without its proof has a formula, which is below."""
    problem = small(8, 16, 8, 100)
    found = shorthaul.tensor.plan(problem, rules="contest", effort=2)
    found.save(tmp_path / "result.json")
    checked = shorthaul.tensor.check(problem, found.plan, rules="contest")
    assert (found.status, checked.status) == ("optimal", "feasible")
    assert any("--bound RESULT" in remark for remark in checked.check.remarks)
    verified = shorthaul.tensor.check(problem, found.plan, bound=tmp_path / "result.json", rules="contest")
    assert (verified.status, verified.check.remarks) == ("optimal", ())


WRONG = (lambda right: right * 0.99, lambda right: right * 1.01, lambda _: "much", lambda _: None, lambda _: -1)


@pytest.mark.parametrize("effort", [0.2, pytest.param(2, marks=pytest.mark.slow)])
def test_figures_beside_a_certificate(effort, tmp_path):
    """A figure that is another, and words that say nothing, are told; a formula left out for want of time is not."""
    problem = small(8, 16, 8, 100)
    document = shorthaul.tensor.bound(problem, rules="contest", effort=effort).document()
    path = tmp_path / "bound.json"

    def told(bound):
        path.write_text(json.dumps({**document, "bound": {**document["bound"], **bound}}))
        found = shorthaul.tensor.check(problem, rules="contest", bound=str(path))
        return [violation.place for violation in found.check.violations]

    assert told({}) == told({"streamed_operands": 0.0}) == []
    names = ["boundary_traffic", "compute", "linear_program", "streamed_operands"]
    for wrong in WRONG:
        assert sorted(told({name: wrong(document["bound"][name]) for name in names})) == names
    certificate = document["bound"]["certificate"]
    for word in ({"of": "traffic"}, {"method": "compute"}, {"more": 1}, {"certificate": {**certificate, "weight": []}}):
        with pytest.raises(InputError, match=f"bound.*{next(iter(word))}"):
            told(word)


def test_what_is_no_certificate():
    problem = small()
    document = certified(problem, CONTEST)
    for name, row in (("cover", [99, 1.0]), ("cover", [0, -1.0]), ("link", [0, 0, 1.0]), ("hand_over", [0])):
        wrong = copy.deepcopy(document)
        wrong["certificate"][name].append(row)
        with pytest.raises(InputError, match=f"certificate.{name}"):
            certificate_of(problem, wrong, "bound")
    order = document["certificate"]["order"]
    for wrong_order in ("0", order[:-1], [*order, order[0]], [*order[:-1], -1], [*order[:-1], True], order[::-1]):
        wrong = copy.deepcopy(document)
        wrong["certificate"]["order"] = wrong_order
        with pytest.raises(InputError, match=r"certificate\.order"):
            certificate_of(problem, wrong, "bound")
    with pytest.raises(InputError, match="holds no certificate"):
        certificate_of(problem, {"value": 1.0}, "bound")
    with pytest.raises(InputError, match="nothing to check"):
        shorthaul.tensor.check(problem)
