"""Drawings of programs: statements and the arrays that they read first."""

from __future__ import annotations

import pytest

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.verbs import deriving
from shorthaul.affine.verbs.deriving import drawn_data_flow
from shorthaul.affine.workloads.cases import case


def test_statements_stand_after_what_they_take_values_from() -> None:
    (graph,) = drawn_data_flow(flow_dependences(case("fdtd-2d").workload))
    at = {node.id: node.x for node in graph.nodes}
    assert {name for name, column in at.items() if column == 0} == {"_fict_", "ex", "ey", "hz"}
    assert [at[f"S{number}"] for number in range(4)] == [1, 1, 1, 2]
    back = {edge for edge in graph.edges if at[edge[0]] >= at[edge[1]]}
    assert back == {("S3", "S1"), ("S3", "S2")}
    (hover,) = (node.hover for node in graph.nodes if node.id == "S1")
    assert "takes values of earlier iterations from S1, S3" in hover


def test_too_many_statements_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(f"x[i] = {number} * x[i];" for number in range(4))
    flow = flow_dependences(
        program_from_text(f"void f(double x[10]) {{ int i; for (i = 0; i < 10; i++) {{ {body} }} }}")
    )
    monkeypatch.setattr(deriving, "_MOST_NODES", 5)  # with x
    assert len(drawn_data_flow(flow)) == 1
    monkeypatch.setattr(deriving, "_MOST_NODES", 4)
    assert drawn_data_flow(flow) == ()
