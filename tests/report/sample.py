"""A result with one figure of every type."""

from __future__ import annotations

from shorthaul.core.amounts import Bound, Cost
from shorthaul.core.check import CheckReport
from shorthaul.core.figure import Bar, Bars, Figure, Grid, Line, Network, Node, Scatter, Series, Table, Text
from shorthaul.core.provenance import Provenance
from shorthaul.core.result import Result, Status

FIGURES: tuple[Figure, ...] = (
    Series(
        "Occupancy",
        "step",
        "words",
        (Line("used", (0, 1, 2, 3), (1, 4, 2, None), "area"), Line("other", (0, 1, 2, 3), (2, 2, 3, 1), "line")),
        limit=("capacity", 5),
        note="a note",
    ),
    Series(
        "Roofline", "step", "time", (Line("compute", (0, 1), (3, 4), "bar"), Line("memory", (0, 1), (1, 5), "points"))
    ),
    Bars(
        "Gantt",
        "ticks",
        (Bar("core 1", 0, 4, "a", "read"), Bar("core 1", 4, 9, "b", "execute"), Bar("core 2", 2, 5, "<c>", "read")),
    ),
    Grid("Load", ((1, 2, None), (4, 5, 6)), "messages", paths=(((0, 0), (1, 1), (2, 1)),)),
    Network(
        "Graph",
        (Node("a", "A", 0, 0, "in"), Node("b", "B", 1, 1, "out", "square", "more </script> words")),
        (("a", "b"),),
    ),
    Scatter("Front", ("period", "bytes", "cost"), ((1, 2, 3), (2, 1, 3), (3, 1, 1)), ("p", "q", "r"), ("x", "x", "y")),
    Scatter("Plane", ("period", "bytes"), ((1, 2), (2, 1))),
    Table("Subgraphs", ("name", "latency"), (("first", 12.5), ("second", None))),
    Series(
        "Traffic by memory",
        "words",
        "traffic",
        (Line("plan", (1, 4), (9, 2), "step"), Line("lower bound", (1, 4), (3, 2), "floor")),
        points=("p", "q"),
    ),
    Bars("Schedule of p", "ticks", (Bar("core 1", 0, 4),), point="p"),
    Bars("Schedule of q", "ticks", (Bar("core 1", 0, 3),), point="q"),
    Table("Load of q", ("core", "ticks"), (("core 1", 3),), point="q"),
    Text(
        "Proof", "line one\n  line two", ("<mrow><mi>N</mi><mo>&InvisibleTimes;</mo><msqrt><mn>2</mn></msqrt></mrow>",)
    ),
)


def sample() -> Result[list[int]]:
    return Result(
        kind="shorthaul/sample-result",
        status=Status.FEASIBLE,
        cost=Cost(traffic=12, loads=8),
        bound=Bound("traffic", 10, "counting", "every input is loaded once"),
        check=CheckReport(cost=Cost(traffic=12, loads=8)),
        plan=[1, 2],
        provenance=Provenance("0.1.0", "sample plan", {"seed": 1}, 1, "sample.json", "sha256:0", 1.25),
        figures=FIGURES,
    )
