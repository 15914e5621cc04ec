"""Every verb's result is drawn, written as a table, and as a graph and a trace where it holds one; else it says why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shorthaul import affine, dataflow, pebble, spatial, tensor
from shorthaul.core.errors import InputError
from shorthaul.core.result import Result

_GRAPH = "dwt:n=8,d=2"
_NEST = "matvec"
_SIZES = "M=6,N=6,S=8"
_TREE = [-1, 0, 0, 1, 1, 2]
_FIRST = {"effort": 0.01, "seed": 1}

#: What each verb's result can be written as, beside a table: a drawing (d), a graph (g), a trace (t).
VERBS: dict[str, tuple[Callable[[], Any], str]] = {
    "pebble plan": (lambda: pebble.plan(_GRAPH, budget=160), "dgt"),
    "pebble bound": (lambda: pebble.bound(_GRAPH, budget=160), "dg"),
    "pebble check": (lambda: pebble.check(_GRAPH, pebble.plan(_GRAPH, budget=160), budget=160), "dgt"),
    "pebble sweep": (lambda: pebble.sweep(_GRAPH, budgets="128,160"), "dgt"),
    "pebble memory": (lambda: pebble.memory(_GRAPH), "dgt"),
    "pebble run": (lambda: pebble.run(_GRAPH, budget=160), "dgt"),
    "affine plan": (lambda: affine.plan(_NEST, size=_SIZES), "dg"),
    "affine bound": (lambda: affine.bound(_NEST, size=_SIZES), "dg"),
    "affine check": (lambda: affine.check(_NEST, affine.plan(_NEST, size=_SIZES)), "d"),
    "affine sweep": (lambda: affine.sweep(_NEST, size="M=6,N=6", least=4, most=16, points=2), "dg"),
    "affine code": (lambda: affine.code(_NEST, size=_SIZES), "dg"),
    "tensor plan": (lambda: tensor.plan("example-1", **_FIRST), "dgt"),
    "tensor bound": (lambda: tensor.bound("example-1"), "dg"),
    "tensor check": (lambda: tensor.check("example-1", tensor.plan("example-1", **_FIRST)), "dgt"),
    "tensor sweep": (lambda: tensor.sweep("example-1", points=2, **_FIRST), "dgt"),
    "dataflow plan": (lambda: dataflow.plan("fig7", **_FIRST), "dgt"),
    "dataflow bound": (lambda: dataflow.bound("fig7"), "dg"),
    "dataflow check": (lambda: dataflow.check("fig7", dataflow.plan("fig7", **_FIRST)), "dgt"),
    "dataflow sweep": (lambda: dataflow.sweep("fig7", **_FIRST), "dgt"),
    "dataflow schedule": (lambda: dataflow.schedule("fig7", order="topological"), "dt"),
    "dataflow throughput": (lambda: dataflow.throughput("examples/cd2dat.xml", serial=True), "dgt"),
    "dataflow buffers": (lambda: dataflow.buffers("examples/cd2dat.xml", serial=True, deadline=9000), "dt"),
    "dataflow run": (lambda: dataflow.run("fig7", **_FIRST), ""),
    "spatial plan": (lambda: spatial.plan(_TREE), "dg"),
    "spatial bound": (lambda: spatial.bound(_TREE), "d"),
    "spatial check": (lambda: spatial.check(_TREE, spatial.plan(_TREE)), "dg"),
    "spatial sweep": (lambda: spatial.sweep(_TREE), "d"),
    "spatial treefix": (lambda: spatial.treefix(_TREE), "d"),
    "spatial lca": (lambda: spatial.lca(_TREE, random=2), "d"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_result_is_drawn_and_taken_away(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    call, more = VERBS[verb]
    result: Result[Any, Any] = call()
    result.to_csv(tmp_path / "a.csv")
    assert len(tmp_path.joinpath("a.csv").read_text().splitlines()) > 1
    written = (("d", result.to_svg, "a.svg"), ("g", result.to_dot, "a.dot"), ("t", result.to_perfetto, "a.json"))
    for kind, write, file in written:
        if kind in more:
            write(tmp_path / file)
            assert tmp_path.joinpath(file).stat().st_size > 0
        else:
            with pytest.raises(InputError, match="has no figure that is a"):
                write(tmp_path / file)
            assert not tmp_path.joinpath(file).exists()
