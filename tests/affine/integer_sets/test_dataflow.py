"""Data flow by the definition, for loops on which isl's own routine fails, and beside it everywhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import islpy as isl
import numpy as np
import pytest
from tests.reference.affine_programs import random_program

import shorthaul.affine
from shorthaul.affine.check.plan_check import same_cdag
from shorthaul.affine.effort import limited
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import _last_writes, flow_dependences, sorted_maps
from shorthaul.affine.replay.cdag import concrete_cdag

STEPPED = """void stepped(int N, double A[3*N], double s) {
#pragma scop
for (int i = 1; i < N + 1; i += 2) {
  A[i] = A[i] + 1.0;
  for (int j = 1; j < i + 1; j++) s = A[j + i] + s;
  s = 0.0;
}
for (int i = N - 2; i >= 0; i--)
  if (i % 2 == 0) A[i + 1] = A[2 * i];
#pragma endscop
}
"""


@pytest.mark.parametrize("text", [STEPPED, random_program(1164)])  # isl fails on the second one
def test_stepped_loops(text: str) -> None:
    program = program_from_text(text)
    flow = flow_dependences(program)
    for sizes in ({"N": 1, "M": 1}, {"N": 3, "M": 2}, {"N": 6, "M": 5}):
        at = {name: sizes[name] for name in program.parameters}
        cdag = concrete_cdag(program, at, flow)
        labels = [cdag.label(vertex) for vertex in range(cdag.n)]
        sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts)).tolist()
        edges = {(labels[a], labels[b]) for a, b in zip(cdag.operands.tolist(), sinks, strict=True)}
        assert not same_cdag(program, at, edges, set(labels[: cdag.inputs]))


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(2000, 2008))
def test_the_last_write_is_what_isl_finds(seed: int) -> None:
    program = program_from_text(random_program(seed))
    writes, schedule = program.writes(), program.schedule()
    for statement in program.statements:
        for reference in statement.reads:
            read = isl.UnionMap.from_map(reference.relation)
            access = isl.UnionAccessInfo.from_sink(read).set_must_source(writes).set_schedule_map(schedule)
            known = access.compute_flow()
            dependence, without = _last_writes(read, writes, schedule)
            assert dependence.is_equal(known.get_must_dependence())
            assert without.is_equal(known.get_must_no_source())


#: Maps that take isl a hundred operations and more to simplify: a rectangle in 16 strips, between two statements.
ROWS = " or ".join(f"({16 * at} <= i < {16 * at + 16} and 0 <= j < N)" for at in range(16))
PIECES = isl.UnionMap(f"[N] -> {{ A[i, j] -> B[i, j] : {ROWS}; A[i, j] -> C[j, i] : {ROWS}; C[i, j] -> C[i, j + 1] }}")


@pytest.mark.parametrize(
    "function",
    [
        lambda _: sorted_maps(PIECES),
        lambda program: [item.relation for item in flow_dependences(program).flows],
    ],
)
def test_where_isl_stops_no_flow_is_lost(function, capfd: pytest.CaptureFixture[str]) -> None:
    """All flows or an error; nothing is printed, as islpy does with what a callback raises."""
    program = program_from_text(STEPPED)
    whole, stopped, operations = [str(item) for item in function(program)], 0, 1
    while True:
        try:
            with limited(operations):
                found = function(program)
        except isl.Error:
            stopped += 1
        else:
            assert [str(item) for item in found] == whole
            break
        operations = max(operations + 1, operations * 21 // 20)
    assert stopped > 50
    assert capfd.readouterr() == ("", "")


def test_callbacks_of_isl_only_append() -> None:
    """What a callback raises is printed and replaced by an error without a message, so none may call isl."""
    seen = 0
    for path in Path(shorthaul.affine.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "foreach_" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and "foreach_" in node.func.attr:
                (callback,) = node.args
                if isinstance(callback, ast.Lambda):
                    assert isinstance(callback.body, ast.Call), path
                    assert all(
                        not isinstance(inner, ast.Call) for item in callback.body.args for inner in ast.walk(item)
                    ), path
                    callback = callback.body.func
                assert isinstance(callback, ast.Attribute), path
                assert callback.attr == "append", path
                seen += 1
    assert seen > 20
