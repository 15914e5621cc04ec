"""Bounds do not fall with more effort."""

import pytest
from tests.tensor.contest_family import contest_problem

from shorthaul.core.search import Search
from shorthaul.tensor.bounds.best import prove, prove_in_tasks
from shorthaul.tensor.bounds.parts import PartPrograms, parts_effort, passes, stage
from shorthaul.tensor.model import CONTEST
from shorthaul.tensor.search.driver import begin


def test_a_search_of_more_effort_begins_with_the_passes_of_one_of_less():
    def efforts(effort):
        search, found = Search(effort=effort), []
        for part in passes(contest_problem(5), search):
            found.append(part.effort)
            part.spend(part.effort)
        return found

    assert efforts(1.3) == efforts(5.2) == [0.25, 1, 4]
    assert efforts(5.3) == [0.25, 1, 4, 16]
    assert next(passes(contest_problem(9512), Search())).effort > 0.25  # parts of one operator take more there


def test_a_stage_ends_where_its_search_does():
    search = Search(effort=1)
    part = stage(search, 4)
    assert part.part(0.5).effort == 2
    part.spend(1)
    assert part.expired()


def test_parts_begin_only_where_there_is_effort_for_them_in_all():
    problem = contest_problem(9503)
    search = Search(effort=0.4 * parts_effort(problem))
    programs = PartPrograms(problem, CONTEST)
    programs.go_on(stage(search, 10.0))
    assert search.spent() == 0
    assert programs.best is None


@pytest.mark.parametrize(
    ("seed", "efforts"),
    [
        (9509, (0.05, 0.2)),
        pytest.param(9503, (1, 2, 4), marks=pytest.mark.slow),
        pytest.param(9518, (1, 2, 4), marks=pytest.mark.slow),
    ],
)
def test_a_bound_never_falls_with_more_effort(seed, efforts):
    problem = contest_problem(seed)
    values = [prove_in_tasks(problem, CONTEST, Search(effort=effort, workers=1)).value for effort in efforts]
    assert values == sorted(values)
    assert values[0] < values[-1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [9304, 9319])
def test_nor_beside_a_plan(seed):
    problem = contest_problem(seed)
    begun = begin(problem, CONTEST, Search(effort=1))
    plan = begun.schedules.plan(begun.best.sequence)
    values = [prove(problem, CONTEST, Search(effort=n), plan, begun.best.latency).bound.value for n in (1, 2, 4)]
    assert values == sorted(values)
