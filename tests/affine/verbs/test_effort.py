"""Searches that end early: a true bound, a checked plan, the same for the same effort."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import islpy as isl
import pytest
import sympy

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.effort import OutOfEffortError, charged_to, limited, patiently
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_bound import Formulas, UpperBound, upper_bound
from shorthaul.affine.verbs.bound import bound
from shorthaul.affine.verbs.deriving import loads_of
from shorthaul.affine.verbs.planning import check, plan
from shorthaul.affine.verbs.sweep import _found, _Task, sweep
from shorthaul.affine.verbs.tasks import Derived, Order, Ordered, Proof, Proven, Tasks
from shorthaul.affine.workloads.cases import kernel
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.core.search import Search

NOTHING = 1e-6
SIZES = {"N": 200, "S": 64}


def test_without_effort_the_bound_is_0() -> None:
    found = lower_bound(kernel("cholesky"), search=Search(effort=NOTHING))
    assert found.formula == 0
    assert found.operations is None
    assert found.oi_limit == sympy.oo
    assert found.proof.text().count("Every input is loaded at least once") == 1


def test_more_effort_gives_no_smaller_bound_and_all_of_it_the_whole() -> None:
    program = kernel("trisolv")
    whole = lower_bound(program)
    values = [lower_bound(program, search=Search(effort=effort)).value(SIZES) for effort in (NOTHING, 0.2, 1, 20)]
    assert values == sorted(values)
    assert values[0] == 0
    assert values[-1] == whole.value(SIZES)


def test_drawings_end_at_the_largest_memory() -> None:
    """Inputs of these sizes are more than 64 bits hold."""
    found = bound("matvec", size={"M": 10**12, "N": 10**12, "S": 8}, effort=0.1, upper=False)
    assert found.bound is not None
    assert found.bound.value >= 10**24
    assert found.figures


@pytest.mark.slow
def test_drawings_leave_out_an_order_whose_loads_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object) -> float:
        raise OutOfEffortError("the search has ended")

    order = upper_bound(kernel("jacobi-1d"))
    monkeypatch.setattr(UpperBound, "value", ended)
    assert loads_of(order, {"TSTEPS": 9, "N": 9, "S": 8}, [8]) == {}


@pytest.mark.costly
@pytest.mark.parametrize("effort", [0.05, 0.5, 2])
def test_the_same_effort_gives_the_same_bound_and_order(effort: float) -> None:
    found = [bound(kernel("trisolv"), search=Search(effort=effort)) for _ in range(2)]
    formulas = [(item.bound and item.bound.details["formula"], item.extra["upper"]) for item in found]
    assert formulas[0] == formulas[1]


def test_a_program_is_written_as_it_was_read_whatever_was_computed_with_its_sets() -> None:
    loops = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int t = 0; t <= j; t++)"
    text = (
        f"void k(int N, double A[N][N], double C[N]) {{\n#pragma scop\n{loops} C[i] += A[i][t];\n#pragma endscop\n}}\n"
    )
    (statement,) = bound(text, effort=0.1, workers=1, upper=False).extra["program"]["statements"]
    assert "0 <= j < N and 0 <= t <= j" in statement["domain"]


def test_an_order_that_was_not_derived_runs_as_the_program_does() -> None:
    with pytest.raises(OutOfEffortError):
        upper_bound(kernel("gemm"), search=Search(effort=NOTHING))
    plain, whole = upper_bound(kernel("gemm"), search=Search(effort=0.01)), upper_bound(kernel("gemm"))
    sizes = {"NI": 40, "NJ": 40, "NK": 40, "S": 300}
    assert all(item.phase is None for item in plain.steps)
    assert plain.value(sizes) > whole.value(sizes)


def test_verbs_without_effort() -> None:
    program = kernel("gemm")
    answer = bound(program, size="NI=9,NJ=9,NK=9,S=16", search=Search(effort=NOTHING))
    assert answer.bound is not None
    assert (answer.bound.value, answer.extra["upper"], answer.extra["operations"]) == (
        3 * 81 + 2,
        None,
        None,
    )  # the inputs
    curve = {"size": "NI=9,NJ=9,NK=9", "least": 4, "most": 64, "points": 2}
    points = sweep(program, **curve, search=Search(effort=NOTHING)).extra["points"]
    assert {item["loads_words"] for item in points} == {None}
    stopped = Search()
    stopped.stop()
    assert len(sweep(program, **curve, search=stopped).extra["points"]) == len(points)
    whole = sweep(program, **curve, effort=0.1).extra["points"]
    assert all(item["bound"] <= other["bound"] for item, other in zip(points, whole, strict=True))
    report = check(program, search=Search(effort=NOTHING)).check
    assert report is not None
    assert report.ok
    assert "stopped early" in report.remarks[0]
    with pytest.raises(NoPlanError):
        plan(program, size="NI=9,NJ=9,NK=9,S=16", search=Search(effort=NOTHING))


@pytest.mark.slow
def test_a_point_of_a_sweep_has_its_first_round_whatever_its_effort() -> None:
    program, sizes = kernel("gemm"), {"NI": 40, "NJ": 40, "NK": 40, "S": 300}
    flow = flow_dependences(program)
    derived, search = Derived(program, True, flow, Formulas(flow)), Search(effort=0.01)
    (found,), (whole,) = (_found(_Task(derived, (sizes,)), item).loads for item in (search, Search()))
    assert search.expired()
    assert found.words is not None
    assert whole.words is not None
    assert whole.words <= found.words <= 1.05 * whole.words


@pytest.mark.slow
def test_a_sweep_never_loses_with_effort_or_memory_and_its_points_share_what_is_found() -> None:
    sizes = ",".join(f"{name}=6" for name in kernel("convolution").parameters)
    curve = {"size": sizes, "least": 256, "most": 36_864, "points": 3}
    rows = [sweep(kernel("convolution"), **curve, effort=effort).extra["points"] for effort in (0.1, 0.7)]
    loads = [[item["loads_words"] for item in row] for row in rows]
    assert all(more <= less for row in loads for less, more in pairwise(row))
    assert all(more <= less for a, b in pairwise(loads) for less, more in zip(a, b, strict=True))
    assert loads[0][0] < 2 * loads[-1][0]
    assert loads[-1][0] < 20_000  # 374,185 when none was shared


def test_a_plan_of_little_effort_is_checked() -> None:
    made = plan(kernel("gemm"), size="NI=9,NJ=9,NK=9,S=16", search=Search(effort=0.1))
    assert made.check is not None
    assert made.check.ok


@pytest.mark.parametrize(
    ("name", "size", "effort"),
    [
        ("gemm", "NI=14,NJ=14,NK=14,S=40", 0.02),
        pytest.param("fdtd-2d", "TMAX=9,NX=23,NY=19,S=90", 0.1, marks=pytest.mark.slow),
    ],
)
def test_few_instances_are_listed_whatever_the_effort(name: str, size: str, effort: float) -> None:
    made = plan(name, size=size, effort=effort, workers=1)
    assert made.cost["loads_words"] <= made.extra["program_order_loads_words"]


@pytest.mark.slow
def test_a_plan_in_a_journal_outlives_an_effort_that_lists_nothing(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    asked: dict[str, Any] = {"size": "NI=38,NJ=38,NK=38,S=40", "workers": 1}
    plan("gemm", effort=0.5, journal=journal, **asked)
    assert plan("gemm", effort=0.1, **asked).plan is None
    again = plan("gemm", effort=0.1, resume=journal, **asked)
    assert again.check.ok
    assert again.cost["loads_words"] <= again.extra["program_order_loads_words"] / 2


def test_a_bound_that_was_cut_off_says_so() -> None:
    assert bound("gemm", effort=0.01, upper=False).bound.details["cut_off"]
    assert not bound("gemm", upper=False).bound.details["cut_off"]


@pytest.mark.slow
def test_memories_keep_their_rows_and_the_first_loads_where_the_effort_ends() -> None:
    found = plan("ik,kj->ij", size="i=9,k=7,j=8", level="20,60", effort=0.2)
    assert found.bound is not None
    assert found.bound.value >= 9 * 7 + 7 * 8
    assert [row["bound"] >= 9 * 7 + 7 * 8 for row in found.extra["levels"]] == [True, True]


def test_numbers_that_isl_has_no_operations_left_to_write() -> None:
    with pytest.raises(isl.Error, match="operations"), limited(1):
        assert [isl.Val(7).to_python() for _ in range(5)] == []
    with pytest.raises(TypeError, match="int"), limited(1000):
        int(None)  # type: ignore[call-overload]


class _Cheap(Proof):
    def done(self, search: Search) -> Proven:
        search.spend(1)
        return Proof.done(self, Search(effort=NOTHING))


class _Told(Order):
    given: ClassVar[list[float]] = []

    def done(self, search: Search) -> Ordered:
        self.given.append(search.left())
        return Ordered(None, None, {})


def test_an_order_has_the_effort_that_proofs_leave() -> None:
    tasks, derived = Tasks(Search(effort=10)), Derived(kernel("matvec"), has_order=False)
    tasks.add(_Told(derived, None, ()), 0.3)
    tasks.add(_Told(derived, None, ()), 0.1)
    tasks.add(_Cheap(derived, BoundOptions(), None, (), 0.6), 0.6)
    tasks.run()
    assert _Told.given == pytest.approx([0.75 * 9, 0.25 * 9], rel=1e-3)
    assert len(tasks.answers) == 3


def test_what_a_task_sent_away_derives_again_takes_no_effort() -> None:
    search, sent = Search(effort=1), pickle.loads(pickle.dumps(Derived(kernel("trisolv"), has_order=True)))
    with charged_to(search):
        assert sent.cdag({"N": 6}, search).n > 0
        assert sent.known(search)[1] is not None
    assert search.spent() == 0


def test_factors_that_no_machine_word_holds_are_refused() -> None:
    text = f"void f(int n, double A[n]) {{\n#pragma scop\nfor (int i=0; i<n; i++) A[{10**32}*i] = A[i%{10**20}];\n#pragma endscop\n}}"
    with pytest.raises(InputError, match="periods up to"):
        bound(program_from_text(text), effort=0.3)


HOLES = "[n] -> { [i, j] : 0 <= i, j < n and ((i mod 5) = 1 or (j mod 7) = 2) }"


def test_what_has_to_be_known_is_tried_with_twice_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, holes = [], isl.Set(HOLES)

    def disjoint() -> isl.Set:
        tries.append(1)
        return holes.make_disjoint()

    assert patiently(disjoint).is_equal(holes)
    assert len(tries) == 1
    monkeypatch.setattr("shorthaul.affine.effort.FIRST_OPERATIONS", 1)
    assert patiently(disjoint).is_equal(holes)
    assert len(tries) > 2
    tries.clear()
    ended = Search(effort=NOTHING)
    ended.spend(1)
    with charged_to(ended), pytest.raises(OutOfEffortError):
        patiently(disjoint)
    assert len(tries) == 1
    with limited(1), pytest.raises(isl.Error, match="operations"):
        patiently(disjoint)
    assert len(tries) == 2
