"""Other names of vertices: the graph of a kernel whose loops run in another way is found again, and none is changed."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, quick
from tests.reference.affine_programs import random_program
from tests.reference.affine_rewritings import LOOPS, rewritten

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.names import renamed
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import DataFlow, flow_dependences
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.workloads.cases import POLYBENCH, kernel_text


def flow_of(name: str, how: str, *, inner: bool = False) -> DataFlow:
    text = kernel_text(name)
    text = LOOPS[how](text, inner=inner) if how in LOOPS else rewritten(text, how, {})
    return flow_dependences(program_from_text(text))


def edges(flow: DataFlow) -> isl.UnionMap:
    """Return all flows, statements named by their number."""
    numbers = {item.name: f"at{number}" for number, item in enumerate(flow.program.statements)}
    found = isl.UnionMap("{ }")
    for item in flow.flows:
        relation = item.relation.set_tuple_name(isl.dim_type.out, numbers[item.sink])
        if item.source is not None:
            relation = relation.set_tuple_name(isl.dim_type.in_, numbers[item.source])
        found = found.union(isl.UnionMap.from_map(relation))
    return found


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "how", "inner"),
    [
        ("jacobi-1d", "unrolled", True),
        ("jacobi-1d", "unrolled", False),
        ("jacobi-1d", "skewed", False),
        ("syrk", "halved", True),
    ],
)
def test_the_plain_graph_is_found_again(name: str, how: str, inner: bool) -> None:
    found = renamed(flow_of(name, how, inner=inner))
    assert found is not None
    assert edges(found[0]).is_equal(edges(flow_dependences(program_from_text(kernel_text(name)))))


ALL = [(name, how, inner) for name in POLYBENCH for how in LOOPS for inner in (False, True)]
QUICK = [*(("trisolv", how, False) for how in LOOPS), ("cholesky", "unrolled", True), ("durbin", "halved", True)]


@pytest.mark.costly
@pytest.mark.parametrize(("name", "how", "inner"), quick(ALL, QUICK))
def test_the_graph_stays_as_it_is(name: str, how: str, inner: bool) -> None:
    """At small sizes, vertex by vertex in the order of the program."""
    flow = flow_of(name, how, inner=inner)
    found = renamed(flow)
    if found is None:
        return
    sizes = {parameter: 4 + at % 2 for at, parameter in enumerate(flow.program.parameters)}
    before, after = concrete_cdag(flow.program, sizes, flow), concrete_cdag(found[0].program, sizes, found[0])
    assert np.array_equal(before.starts, after.starts)
    assert np.array_equal(before.operands, after.operands)


@pytest.mark.parametrize(
    ("name", "how", "inner"),
    quick(
        [
            *((name, how, inner) for name in ("jacobi-1d", "syrk") for how in LOOPS for inner in (False, True)),
            ("atax", "unrolled", True),
            ("symm", "skewed", False),
            ("lu", "reflected", True),
        ],
        [("syrk", "halved", True)],
    ),
)
def test_a_bound_does_not_depend_on_how_loops_run(name: str, how: str, inner: bool) -> None:
    assert sympy.simplify(lower_bound(flow_of(name, how, inner=inner).program).leading - bound_of(name).leading) == 0


@pytest.mark.slow
def test_statements_that_read_by_paths_of_unequal_length() -> None:
    """The proof lists the levels that there are."""
    assert lower_bound(program_from_text(LOOPS["unrolled"](random_program(7000)))).proof.text()


def test_subscripts_that_no_loops_complete() -> None:
    """2 h + 3 r has no coordinate beside it that makes all of h and r: loops name the instances, as before."""
    text = "void f(int n, double a[5 * n], double b[n]) {\n#pragma scop\n"
    text += "for (int h = 0; h < n; h++) for (int r = 0; r < n; r++) b[0] += a[2 * h + 3 * r];\n#pragma endscop\n}\n"
    flow = flow_dependences(program_from_text(text))
    found = renamed(flow)
    assert found is None or len(found[0].program.statements) == 1
    assert lower_bound(flow.program).value({"n": 10, "S": 100}) == 1 + 44
