"""What the order of groups asks for: groups that rest on themselves, or follow the same one, are in no plan."""

from __future__ import annotations

import json
from random import Random

import pytest
from tests.samples import samples
from tests.tensor.annealed import improve
from tests.tensor.bounds.programs import column_prices
from tests.tensor.bounds.test_bound import starved
from tests.tensor.contest_family import contest_problem
from tests.tensor_hunt import hunt

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import prove
from shorthaul.tensor.bounds.columns import Program
from shorthaul.tensor.bounds.groups.ordering import RETAINED, RUN, STORED, Deed, GroupDeeds, Ordering
from shorthaul.tensor.bounds.pricing import column_of
from shorthaul.tensor.bounds.separation import ordered_prices, outnumbered, unsupported
from shorthaul.tensor.check.certificate import certificate_of, verify
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.workloads.cases import GraphBuilder


def some_ordering(problem, random):
    made = [operator.output for operator in problem.operators]
    deeds = [Deed(kind, tensor) for kind in (STORED, RETAINED) for tensor in made]
    supports = [
        frozenset([Deed(RUN, random.randrange(len(made))), *random.sample(deeds, random.randint(1, 2))])
        for _ in range(3)
    ]
    successions = [
        frozenset(
            frozenset(random.sample(made, random.randint(1, min(2, len(made))))) for _ in range(random.randint(1, 2))
        )
        for _ in range(3)
    ]
    return Ordering(tuple(dict.fromkeys(supports)), tuple(dict.fromkeys(successions)))


def totals(column):
    found = {}
    for row, sign in zip(column.rows, column.signs, strict=True):
        found[row] = found.get(row, 0.0) + sign
    return {row: sign for row, sign in found.items() if sign}


def test_the_diagram_knows_what_groups_serve():
    """Operator by operator, as from the whole group at once."""
    compared = changed = 0
    for seed in samples(48):
        problem = starved(seed, 7)
        ordering = some_ordering(problem, Random(seed))
        program = Program(problem, CONTEST, Search(effort=1), ordering=ordering)
        program.solve(Search(effort=1))
        rows = program.diagram.rows
        mine = {*rows.support.values(), *rows.succession.values()}
        for column in program.columns:
            whole = column_of(problem, rows, column.inside, column.resident, column.retained)
            assert totals(column) == totals(whole)
            compared += 1
            changed += not mine.isdisjoint(totals(column))
    assert compared > 5 * len(samples(48))
    assert changed > 2 * len(samples(48))


@pytest.mark.costly
@pytest.mark.parametrize("seed", [3, 7, 11, 40, 90])
def test_rows_of_any_order_are_true(seed):
    assert hunt(seed, in_order=True)[0] == ""


def test_deeds_that_nobody_supports_are_found():
    graph = GraphBuilder()
    first = graph.pointwise((graph.tensor(128, 128),), 1)
    second = graph.pointwise((first,), 1)
    third = graph.pointwise((second,), 1)
    problem = graph.problem(100_000, 10)
    # Operators 0 and 1, then 1 again with 2: nobody stores what 1 loads then.
    chosen = [
        (GroupDeeds(frozenset({Deed(RUN, 0), Deed(RUN, 1), Deed(RETAINED, second)}), frozenset()), 1.0),
        (
            GroupDeeds(frozenset({Deed(RUN, 1), Deed(RUN, 2), Deed(STORED, third)}), frozenset({Deed(STORED, first)})),
            1.0,
        ),
    ]
    assert unsupported(problem, frozenset(), chosen) == [frozenset({Deed(RUN, 2), Deed(STORED, first)})]
    stores = GroupDeeds(frozenset({Deed(RUN, 0), Deed(STORED, first)}), frozenset())
    assert unsupported(problem, frozenset(), [*chosen, (stores, 1.0)]) == []


def test_groups_that_follow_the_same_one_are_outnumbered():
    def finds(*tensors):
        return GroupDeeds(frozenset(), frozenset(Deed(RETAINED, tensor) for tensor in tensors))

    def keeps(*tensors):
        return GroupDeeds(frozenset(Deed(RETAINED, tensor) for tensor in tensors), frozenset())

    one, two = frozenset({1}), frozenset({2})
    assert outnumbered([(keeps(1, 2), 1.0), (finds(1), 1.0), (finds(2), 1.0)]) == [frozenset({one, two})]
    assert outnumbered([(keeps(1), 1.0), (keeps(2), 1.0), (finds(1, 2), 1.0)]) == [frozenset({one | two})]
    assert outnumbered([(keeps(1, 2), 0.5), (keeps(1), 1.0), (finds(1), 1.0), (finds(2), 0.5)]) == []


@pytest.fixture(scope="module")
def circular():
    """A problem whose plain program lets groups wait for one another, its best plan's latency, and a proof."""
    problem = contest_problem(907)
    plan = improve(problem, CONTEST, Search(effort=0.3, workers=1))
    latency = replay(problem, plan, CONTEST).cost["latency"]
    return problem, latency, prove(problem, CONTEST, Search(effort=1), plan, latency).bound


@pytest.mark.slow
def test_a_bound_without_circles_meets_the_plan(circular):
    problem, latency, bound = circular
    assert column_prices(problem, CONTEST, Search(effort=2)).value < 0.97 * latency
    assert bound.value == pytest.approx(latency, rel=1e-6)


def test_its_certificate_holds_and_others_do_not(circular):
    problem, _, bound = circular
    given = json.loads(json.dumps({"value": bound.value, "certificate": bound.details["certificate"]}))
    assert verify(problem, CONTEST, certificate_of(problem, given, "bound")) == []
    supports = given["certificate"]["support"]
    assert len(supports) > 3
    supports = supports[:3]
    refused = 0
    for row in supports:
        whole = row[0]
        row[0] = [deed for deed in whole if deed[0] == "run"]  # so all that run it get the price
        refused += bool(verify(problem, CONTEST, certificate_of(problem, given, "bound")))
        row[0] = [deed for deed in whole if deed[0] != "run"]  # plans need not store or retain
        with pytest.raises(InputError, match="is no support"):
            certificate_of(problem, given, "bound")
        row[0] = whole
    assert refused > len(supports) / 2


def test_successions_are_paid_by_who_follows():
    problem = contest_problem(6007)
    program = Program(problem, CONTEST, Search(effort=0.25))
    plain = program.solve(Search(effort=0.25)).value
    prices = ordered_prices(program, Search(effort=0.25), 1.02 * plain)[1]
    assert prices.value > 1.003 * plain
    given = {"value": prices.value, "certificate": prices.document()}
    assert verify(problem, CONTEST, certificate_of(problem, given, "bound")) == []
    assert given["certificate"]["succession"]
    given["certificate"]["succession"] = []
    assert verify(problem, CONTEST, certificate_of(problem, given, "bound")) != []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("support", 3),
        ("support", [[[["run", 99]], 1.0]]),
        ("support", [[[["run", 0]], -1.0]]),
        ("support", [[[["sung", 0]], 1.0]]),
        ("succession", [[[[]], 1.0]]),
        ("succession", [[[], 1.0]]),
        ("succession", [[[[0]], 1.0]]),
        ("succession", [[[[5]], None]]),
        ("cuts", [[2, 3]]),
    ],
)
def test_a_certificate_with_other_rows_is_refused_in_words(circular, field, value):
    problem, _, bound = circular
    given = {"value": bound.value, "certificate": {**bound.details["certificate"], field: value}}
    with pytest.raises(InputError, match=r"support|succession|cuts"):
        certificate_of(problem, given, "bound")
