"""Tiled orders, plans and their files, the replay's complaints."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.affine.derived import quick

from shorthaul.affine import tuning
from shorthaul.affine.check.plan_check import check_plan
from shorthaul.affine.formats import plans as formats
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets import points as listing
from shorthaul.affine.integer_sets.points import points
from shorthaul.affine.plan import Plan
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tiling import Tiling, best_tiling, tile_space
from shorthaul.affine.sizes import parse_sizes, require_sizes
from shorthaul.affine.verbs import deriving, planning, replays, tasks
from shorthaul.affine.verbs.planning import plan
from shorthaul.affine.workloads.cases import CASES, kernel
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.search import Search
from shorthaul.graphs.replay import belady_loads


@pytest.mark.costly
@pytest.mark.parametrize("case", quick(CASES, CASES[::3]), ids=lambda case: case.name)
def test_every_tiled_order_respects_the_dependences(case: object) -> None:
    program = case.build()  # type: ignore[attr-defined]
    sizes = dict.fromkeys(program.parameters, 4 if len(program.parameters) < 5 else 2)
    cdag = concrete_cdag(program, sizes)
    space = tile_space(program, sizes, cdag)
    count = len(space.names)
    for tiling in (
        Tiling(tuple((at, 2) for at in range(count))),
        Tiling(tuple((at, 3) for at in reversed(range(count))), split=False),
        Tiling(((count - 1, 2),), split=False),
    ):
        order = space.order(tiling)
        position = np.full(cdag.n, -1)
        position[order] = np.arange(len(order))
        assert sorted(order.tolist()) == list(range(cdag.inputs, cdag.n))
        sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
        assert (position[cdag.operands] < position[sinks]).all()


BACKWARD_SOLVE = """void f(int N, int M, double U[N][N], double B[N][M]) {
#pragma scop
  for (int i = N - 1; i >= 0; i--) {
    for (int j = i + 1; j < N; j++)
      for (int c = 0; c < M; c++) B[i][c] -= U[i][j] * B[j][c];
    for (int c = 0; c < M; c++) B[i][c] /= U[i][i];
  }
#pragma endscop
}"""


@pytest.mark.slow
def test_tiles_pay() -> None:
    made = plan(kernel("matmul"), size="M=16,N=16,K=16,S=40", effort=0.1)
    assert made.cost is not None
    assert made.cost["loads_words"] < made.extra["program_order_loads_words"] / 2


@pytest.mark.slow
def test_lines_are_held_where_one_loop_alone_may_be_cut() -> None:
    """A solve backwards adds in ascending order: a row waits for the one below, and columns two or three at a time pay."""
    program = program_from_text(BACKWARD_SOLVE)
    made = plan(program, size="N=30,M=24,S=60", effort=0.2)
    assert made.cost is not None
    assert made.cost["loads_words"] < 0.65 * made.extra["program_order_loads_words"]


@pytest.mark.slow
def test_large_plans_replay_fewer_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*arguments: object, evaluations: int, **options: object) -> object:
        asked.append(evaluations)
        return best_tiling(*arguments, evaluations=1, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(replays, "best_tiling", counted)
    monkeypatch.setattr(tuning, "REPLAYED_INSTANCES", 80_000)
    for text in ("M=4,N=4,K=4,S=9", "M=8,N=8,K=8,S=20"):
        # what a test puts in place is not there in another process
        plan(kernel("matmul"), size=text, workers=1, effort=0.1)
    plan(kernel("matmul"), size="M=4,N=4,K=4,S=9", evaluations=17, workers=1, effort=0.1)
    assert asked == [200, 80_000 // (8**3 + 3 * 8**2), 17]


@pytest.mark.slow
def test_skewed_tiles_of_a_stencil_pay() -> None:
    made = plan(kernel("jacobi-1d"), size="TSTEPS=40,N=60,S=16")
    assert made.cost is not None
    assert made.cost["loads_words"] < made.extra["program_order_loads_words"] / 2
    assert "i + t" in made.extra["tiling"]


def test_an_operation_that_does_not_fit() -> None:
    with pytest.raises(InfeasibleError):
        plan(kernel("seidel-2d"), size="TSTEPS=2,N=5,S=9")


@pytest.fixture(scope="module")
def small() -> Plan:
    made = plan(kernel("trisolv"), size="N=4,S=5", effort=0.1).plan
    assert made is not None
    return made


def changed(given: Plan, keep: list[int]) -> Plan:
    return replace(given, statements=given.statements[keep], iterations=given.iterations[keep])


def rules(given: Plan) -> set[str]:
    return {item.rule for item in check_plan(kernel("trisolv"), given).violations}


def test_the_replay_finds_every_fault(small: Plan) -> None:
    everything = list(range(len(small)))
    assert rules(small) == set()
    assert rules(changed(small, everything[:-1])) == {"missing-instance"}
    assert rules(changed(small, [*everything, 3])) == {"executed-twice"}
    assert rules(changed(small, everything[::-1])) == {"before-operand"}
    assert "not-an-instance" in rules(replace(small, iterations=small.iterations + 2))
    assert rules(replace(small, names=("S0", "S1", "S9"))) == {"unknown-statement"}
    assert rules(replace(small, fast_memory=2)) == {"over-capacity"}


def test_the_replay_counts_the_same_loads_as_the_fast_cdag() -> None:
    for name in ("cholesky", "jacobi-2d", "nussinov", "durbin"):
        program = kernel(name)
        sizes = dict.fromkeys(program.parameters, 6)
        cdag = concrete_cdag(program, sizes)
        first = len(cdag.names) - len(program.statements)
        order = cdag.program_order
        given = Plan(sizes, 12, cdag.names[first:], cdag.owner[order] - first, cdag.coordinates[order])
        report = check_plan(program, given)
        assert report.ok
        assert report.cost is not None
        assert report.cost["loads_words"] == belady_loads(order, cdag.starts, cdag.operands, 12).sum()


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_plan_files_come_back_unchanged(small: Plan, suffix: str, tmp_path: Path) -> None:
    program = kernel("trisolv")
    path = tmp_path / f"plan{suffix}"
    formats.save_plan(path, small, program)
    again = formats.load_plan(path, program)
    assert (again.sizes, again.fast_memory, again.names, again.tiling) == (
        small.sizes,
        small.fast_memory,
        small.names,
        small.tiling,
    )
    assert np.array_equal(again.statements, small.statements)
    assert np.array_equal(again.iterations, small.iterations)


def test_long_plans_go_to_columns(small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_JSON_ENTRIES", 3)
    path = tmp_path / "plan.json"
    formats.save_plan(path, small, kernel("trisolv"))
    assert (tmp_path / "plan.json.npz").exists()
    assert np.array_equal(formats.load_plan(path, kernel("trisolv")).iterations, small.iterations)
    document = json.loads(path.read_text())
    document["digest"] = "sha256:0"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="digest"):
        formats.load_plan(path, kernel("trisolv"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "shorthaul/other"}, "another kind"),
        ({"version": 9}, "unknown version"),
        ({"sizes": {"M": 3}}, "unknown parameter"),
        ({"sizes": {}}, "no size for N"),
        ({"sizes": []}, "no object"),
        ({"sizes": {"N": -1}}, "no size"),
        ({"fast_memory": "many"}, "no size"),
        ({"order": 7}, "only its length"),
        ({"order": "S0"}, "no list"),
        ({"order": [["S7", 0]]}, "unknown statement"),
        ({"order": [["S0"]]}, "no instance"),
        ({"order": [["S0", 1.5]]}, "no instance"),
        ({"order": [[]]}, "no instance"),
    ],
)
def test_broken_plan_files(small: Plan, change: dict[str, object], says: str, tmp_path: Path) -> None:
    program = kernel("trisolv")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**formats.plan_document(small, program), **change}))
    with pytest.raises(InputError, match=says):
        formats.load_plan(path, program)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("N", "is not a size"),
        ("N=x", "is not a size"),
        ("N=4,Q=1", "unknown parameter"),
        ("N=4,N=5", "given twice"),
        ("N=-4", "out of range"),
        ("N=4,S=0", "out of range"),
        ("N=99999999999999999999", "out of range(.|\n)*99999999999999999999(.|\n)*integers from 1 to 1000000000000000"),
        ("N=" + "9" * 5000, r"out of range(.|\n)*5000 digits"),
        ("N=1e3", "is not a size"),
        ("N=\u0663", "is not a size"),
        ("S=4", "no size is given for N"),
        ("N=4", "no size is given for S"),
        ("", "no size is given for N, S"),
    ],
)
def test_wrong_sizes(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        require_sizes(text, kernel("trisolv"), fast_memory=True)


def test_sizes_may_come_from_the_file() -> None:
    assert parse_sizes(None, kernel("trisolv")) == {}
    assert require_sizes("N=3,S=4", kernel("trisolv"), fast_memory=True) == {"N": 3, "S": 4}


def test_too_many_points_are_refused() -> None:
    with pytest.raises(InputError, match="too many points"):
        points(kernel("matmul").statements[1].domain, {"M": 1000, "N": 1000, "K": 1000})


def test_sizes_that_cannot_be_listed_are_answered_by_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"size": "M=8,N=8,K=8,S=40", "effort": 0.1, "workers": 1}
    listed = plan(kernel("matmul"), **options)
    for module in ("integer_sets.points", "replay.cdag"):
        monkeypatch.setattr(f"shorthaul.affine.{module}.MOST_POINTS", 100)
    made = plan(kernel("matmul"), **options)
    assert made.plan is None
    assert made.check is None
    assert made.cost is not None
    assert listed.extra["upper"] is not None
    assert made.cost["loads_words"] == listed.extra["upper"]["value"] >= listed.extra["upper"]["replayed_loads_words"]
    assert made.bound == listed.bound
    assert "has 512 instances, too many to be listed" in made.extra["not_listed"]


def test_minutes_of_replays_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.affine.tuning.LISTED_UNASKED", 100)
    made = plan(kernel("matvec"), size="M=8,N=8,S=40", workers=1)
    assert made.plan is None
    assert "an effort or a time limit has them replayed" in made.extra["not_listed"]
    assert plan(kernel("matvec"), size="M=8,N=8,S=40", workers=1, effort=0.1).plan is not None


@pytest.mark.parametrize(
    ("limit", "pace"), [({"time_limit": 1000}, "POINTS_PER_SECOND"), ({"effort": 2}, "POINT_STEPS")]
)
def test_what_takes_too_long_to_list_is_answered_by_formula(
    limit: dict[str, float], pace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, pace, {"POINTS_PER_SECOND": 1e-6, "POINT_STEPS": 50}[pace])
    made = plan(kernel("matvec"), size="M=9,N=9,S=9", search=Search(**limit, workers=1))
    assert made.plan is None
    assert made.cost is not None
    assert made.bound is not None
    assert made.cost["loads_words"] >= made.bound.value > 0
    assert "too many for the effort or time" in made.extra["not_listed"]


def test_what_has_no_room_is_answered_by_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deriving, "room", lambda: 99 * tuning.LISTED_BYTES)
    made = plan(kernel("matvec"), size="M=9,N=9,S=9", effort=1, workers=1)
    assert made.cost is not None
    assert made.bound is not None
    assert made.cost["loads_words"] >= made.bound.value > 0
    assert "more memory than there is" in made.extra["not_listed"]


def test_an_interrupt_while_the_bound_is_derived_still_ends_in_a_checked_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    derive = planning.lower_bound

    def interrupted(*arguments, **keywords):
        signal.raise_signal(signal.SIGINT)
        return derive(*arguments, **keywords)

    monkeypatch.setattr(tasks, "lower_bound", interrupted)
    result = planning.plan(kernel("matmul"), size="M=6,N=6,K=6,S=16", search=Search(workers=1))
    assert result.provenance.interrupted
    assert result.check is not None
    assert result.check.ok
