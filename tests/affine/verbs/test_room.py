"""A fast memory in which no order runs, as an instance and its operands need more room."""

from __future__ import annotations

from typing import Any

import pytest

from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.bound import bound
from shorthaul.affine.verbs.coding import code
from shorthaul.affine.verbs.planning import plan
from shorthaul.affine.verbs.room import lack_of_room
from shorthaul.affine.verbs.sweep import sweep
from shorthaul.affine.workloads.cases import kernel
from shorthaul.core.errors import InfeasibleError
from shorthaul.graphs.replay import belady_loads

MATVEC = "M=6,N=6"


@pytest.mark.parametrize("verb", [plan, code])
@pytest.mark.parametrize("words", [{"size": f"{MATVEC},S=2"}, {"size": MATVEC, "level": "100,3"}])
def test_orders_refuse_it(verb: Any, words: dict[str, str]) -> None:
    """The largest need of all statements at once, by the name, line and text of the statement."""
    with pytest.raises(InfeasibleError, match=r"S1\[0, 0\] \(line 8: y.*: 4 needed(.|\n)*at least 4") as caught:
        verb("matvec", **words)
    assert caught.value.exit_status == 3


def test_a_bound_has_no_order_beside_it() -> None:
    small = bound("matvec", size=f"{MATVEC},S=3", effort=0.1).extra
    assert small["upper"] is not None
    assert "value" not in small["upper"]
    assert small["no_order"].startswith("runs in less than 4 words: S1[0, 0] (line 8: ")
    large = bound("matvec", size=f"{MATVEC},S=4", effort=0.1).extra
    assert "no_order" not in large
    assert large["upper"] is not None
    assert large["upper"]["value"] > 0


def test_of_several_only_the_small_ones_have_no_loads() -> None:
    levels = bound("matvec", size=MATVEC, level="3,100", effort=0.1).extra["levels"]
    assert [row["loads_words"] is None for row in levels] == [True, False]
    points = sweep("matvec", size=MATVEC, least=3, most=4, points=2, effort=0.1).extra["points"]
    assert [point["loads_words"] is None for point in points] == [True, False]


@pytest.mark.costly
@pytest.mark.parametrize("name", ["gemm", "trisolv", "jacobi-1d", "nussinov", "lcs", "symm"])
def test_the_least_memory_is_that_of_the_graph(name: str) -> None:
    program = kernel(name)
    for sizes in ({item: 2 + at for at, item in enumerate(program.parameters)}, dict.fromkeys(program.parameters, 5)):
        starts = concrete_cdag(program, sizes).starts
        least = int((starts[1:] - starts[:-1]).max()) + 1
        assert lack_of_room(program, sizes, least) is None
        found = lack_of_room(program, sizes, least - 1)
        assert found is not None
        assert found.demand == least


@pytest.mark.slow
def test_a_bound_names_program_order_where_that_loads_less() -> None:
    size = "M=20,N=23"
    upper = bound("gramschmidt", size=f"{size},S=16", effort=0.1).extra["upper"]
    assert upper is not None
    program = kernel("gramschmidt")
    cdag = concrete_cdag(program, {"M": 20, "N": 23})
    loads = int(belady_loads(cdag.program_order, cdag.starts, cdag.operands, 16).sum())
    assert upper["value"] == loads < upper["without_cache"] / 2
    assert [item["order"] for item in upper["at_sizes"]] == ["program order, by replay"]
