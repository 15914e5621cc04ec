"""What ``bound`` prints: the number first, the proof where asked for."""

from __future__ import annotations

import math

import islpy as isl
import pytest
from tests.affine.derived import bound_of, flow_of
from tests.commands import shorthaul

from shorthaul.affine import bound, program_from_text
from shorthaul.affine.bounds.lifetime.phases import phases
from shorthaul.affine.bounds.lifetime.routes import routes
from shorthaul.affine.bounds.lifetime.wavefront import Reachability
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.verbs.answer import printed
from shorthaul.affine.workloads.cases import case

TILED = "NI=1000,NJ=1000,NK=1000,S=32768"
TRACE = "void f(int n, double a[n][n], double b[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) b[i] = a[i][i] + 1.0;\n#pragma endscop\n}\n"


def test_the_number_comes_first() -> None:
    result = bound(case("gemm").workload, size=TILED, effort=0.1)
    text = printed(result, "text", proof=False)
    lines = text.splitlines()
    assert len(lines) <= 10
    assert lines[0].startswith(f"value:       {result.bound.value:,.0f} words, {8 * result.bound.value:,.0f} bytes")
    parts = result.bound.details["rests_on"]
    assert sum(item["loads_words"] for item in parts) == pytest.approx(result.bound.value, abs=1)
    assert parts[1]["method"] == "K-partition"
    assert f"{parts[1]['loads_words']:,.0f}" in text
    gap = result.extra["upper"]["value"] / result.bound.value
    assert f"the order loads {gap:.3g} times the bound" in text
    assert result.extra["upper"]["at_sizes"] != result.extra["upper"]["steps"]
    assert any(item["order"] in text for item in result.extra["upper"]["at_sizes"])
    assert result.bound.proof in printed(result, "text", proof=True)
    assert "Lemma" not in text


def test_without_sizes_and_without_an_order() -> None:
    """No number, no gap; nothing but inputs to rest on."""
    result = bound(program_from_text(TRACE))
    text = printed(result, "text", proof=False)
    assert "--size n=...,S=... gives a number" in text
    assert "gap" not in text
    assert "rests on:    first loads of inputs\n" in text
    assert "order" not in printed(bound(program_from_text(TRACE), upper=False), "text", proof=False)
    optimal = printed(bound(program_from_text(TRACE), size="n=9,S=4"), "text", proof=False)
    assert "none: the order is optimal" in optimal


ELIMINATION = """void f(int M, int N, double A[M][N]) {
#pragma scop
for (int k = 0; k < N; k++) for (int i = k + 1; i < M; i++) for (int j = k + 1; j < N; j++) A[i][j] -= A[i][k] * A[k][j];
#pragma endscop
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "columns", "leading"),
    [(3000, 900, "N**2*(M - N/3)/sqrt(S)"), (900, 3000, "M**2*(-M/3 + N)/sqrt(S)")],
    ids=["tall", "wide"],
)
def test_formulas_suit_the_sizes_asked(rows: int, columns: int, leading: str) -> None:
    """What is printed for sizes holds for these: an elimination has other formulas for tall and for wide matrices."""
    sizes = {"M": rows, "N": columns, "S": 400}
    made = bound(program_from_text(ELIMINATION), size=",".join(f"{k}={v}" for k, v in sizes.items()), upper=False).bound
    assert made.details["leading"] == leading
    where, formula = made.details["simple"]["where"], made.details["simple"]["formula"]
    assert all(eval(item, {}, sizes) for item in where)
    assert 0.9 * made.value < eval(formula, {"sqrt": math.sqrt}, sizes) <= made.value


def test_the_command_prints_the_proof_when_asked() -> None:
    short, long = (shorthaul("affine", "bound", "matvec", "--no-upper", *more).stdout for more in ((), ("--proof",)))
    assert "Model:" not in short
    assert "Model:" in long


def test_sentences_are_printed_once() -> None:
    proof = bound_of("3mm").proof
    text = proof.text()
    assert len(proof.parts) == 3
    assert text.count("H spanned by (1, 0, 0), (0, 1, 0)") == 1
    assert "sentences of [1] from 'Exponents s0 = 1/2" in text


@pytest.mark.slow
def test_the_flows_between_events_are_named() -> None:
    flow = flow_of("durbin")
    reach = Reachability(flow)
    (item,) = (item for item in phases(flow) if item.events == ("S5",))
    found = routes(reach, item.kinds[0].pairs)
    assert found[0].text(flow) == "S5 <- S9 (as y[i]) <- S6 (as alpha) <- S5 (as sum)"
    for kind in item.kinds:
        led = [route.where for route in routes(reach, kind.pairs)]
        together = led[0]
        for where in led[1:]:
            together = together.union(where)
        assert together.is_equal(kind.pairs.reverse())


def test_what_transposed_convolutions_reach_is_found() -> None:
    # isl ended the process where some of these relations had equalities that it had not looked for
    text = """void f(int C, int H, double x[C][H], double w[C][4], double y[2 * H + 4]) {
      for (int c = 0; c < C; c++) for (int h = 0; h < H; h++) for (int r = 0; r < 4; r++)
        y[2 * h + r] += x[c][h] * w[c][r]; }"""
    reach = Reachability(flow_dependences(program_from_text(text)))
    start, end = isl.Set("[C, H] -> { S0[1, 1, 0] }"), isl.Set("[C, H] -> { S0[0, 0, 2] }")
    found = reach.ancestors("S0").intersect_domain(start).range()
    assert not found.intersect(end).is_empty()
