from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import onnx
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.tensor.networks.onnx_writer import Net

from shorthaul.bridges.conversion import convert
from shorthaul.bridges.operator_network import NetworkOptions, network_of
from shorthaul.core.errors import InputError
from shorthaul.dataflow.formats.documents import load_application
from shorthaul.tensor.formats.documents import save_problem
from shorthaul.tensor.model import Problem
from shorthaul.tensor.networks.machine import load_machine
from shorthaul.tensor.workloads.cases import CASES, GraphBuilder


def residual() -> Problem:
    graph = GraphBuilder()
    x = graph.tensor(256, 128)
    hidden = graph.matmul(x, graph.tensor(128, 300), base_cost=1000)
    back = graph.matmul(hidden, graph.tensor(300, 128), base_cost=700)
    graph.pointwise((back, x), base_cost=50)
    return graph.problem(capacity=120_000, bandwidth=20)


def test_actors_channels_and_times() -> None:
    made = network_of(residual(), NetworkOptions(core_types="slow=2,fast=0.3", element_bytes=2))
    times = {actor.id: dict(actor.tau) for actor in made.actors}
    assert times["op0"] == {"slow": 12000, "fast": 1800}, "256 x 300 are 2 x 3 native tiles of 1000"
    assert times["op1"] == {"slow": 2800, "fast": 420}
    assert times["op2"] == {"slow": 200, "fast": 30}
    assert made.multicasts == ("multicast0",), "x goes to the first MatMul and past both"
    ends = {(channel.src, channel.dst): channel.token_bytes for channel in made.channels}
    assert ends == {
        ("input0", "multicast0"): 256 * 128 * 2,
        ("multicast0", "op0"): 256 * 128 * 2,
        ("multicast0", "op2"): 256 * 128 * 2,
        ("op0", "op1"): 256 * 300 * 2,
        ("op1", "op2"): 256 * 128 * 2,
        ("op2", "output5"): 256 * 128 * 2,
    }, "weights are no channels"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_a_network(case: object) -> None:
    problem = case.build(**{name: item.default for name, item in case.parameters.items()})  # type: ignore[attr-defined]
    made = network_of(problem, NetworkOptions())
    assert made.is_marked_graph
    assert sum(actor.id.startswith("op") for actor in made.actors) >= len(problem.operators)


@pytest.mark.parametrize("wrong", ["", "t1", "t1=0", "t1=nan", "t1=x", "t1=1,t1=2", "=3", "t1=-1"])
def test_wrong_core_types(wrong: str) -> None:
    with pytest.raises(InputError, match="is no core type") as caught:
        network_of(residual(), NetworkOptions(core_types=wrong))
    assert "--core-types" in str(caught.value)


def test_too_many_ticks() -> None:
    with pytest.raises(InputError, match="operator 0 on t1: takes too many ticks"):
        network_of(residual(), NetworkOptions(core_types="t1=1e8"))


def test_from_the_command_line_to_a_bound(tmp_path: Path) -> None:
    save_problem(tmp_path / "problem.json", residual())
    for target in ("network.json", "network.xml"):
        done = shorthaul("convert", "problem.json", target, "--network", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "streaming network" in done.stdout
    assert json.loads((tmp_path / "network.json").read_text())["name"] == "problem"
    found = shorthaul_json("dataflow", "bound", "network.json", cwd=tmp_path)
    assert found["bound"]["value"] >= 4002, "the first MatMul on the fastest cores"
    refused = shorthaul("convert", "problem.json", "x.json", "--network", "--core-types", "t1=0", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is no core type" in refused.stderr
    refused = shorthaul("convert", "problem.json", "x.npz", "--network", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no conversion between these suffixes" in refused.stderr
    assert not list(tmp_path.glob("x.*"))


def test_a_model_on_a_machine_keeps_its_names(tmp_path: Path) -> None:
    """Any operators: times of the machine's units, bytes of the tensors, names of nodes; two alike get numbers."""
    net = Net("block")
    x = net.input(1, 4, "side", 8, name="image")
    y = net.conv(x, 4, 4, 3, act="Relu")
    model = net.model(net.op("Add", y, x), y)
    for node in model.graph.node:
        node.name = "layer"
    onnx.save(model, tmp_path / "model.onnx")
    given: dict[str, Any] = {"network": True, "machine": "edge-45nm", "core_types": "a=1,b=3"}
    convert(tmp_path / "model.onnx", tmp_path / "made.json", dim="side=6", **given)
    made = load_application(tmp_path / "made.json", (tmp_path / "made.json").read_bytes())
    assert [actor.id for actor in made.actors if actor.ticks["a"]] == ["layer", "layer#2", "layer#3"]
    assert {channel.token_bytes for channel in made.channels} == {4 * 6 * 8 * 4}
    assert {*made.multicasts} == {"multicast image", "multicast relu2"}
    machine = load_machine("edge-45nm")
    taken = 2 * 4 * 4 * 9 * 6 * 8 * machine.seconds_per_operation("matrix", 32)
    assert (made.time_unit, made.actors[1].ticks) == ("ns", {"a": math.ceil(taken * 1e9), "b": math.ceil(3e9 * taken)})
    model.graph.node[-1].op_type, model.graph.node[-1].domain = "Odd", "org.example"
    onnx.save(model, tmp_path / "odd.onnx")
    assert "note: org.example.Odd is not known (layer)" in convert(
        tmp_path / "odd.onnx", tmp_path / "odd.json", dim="side=6", **given
    )
    with pytest.raises(InputError, match="side"):
        convert(tmp_path / "model.onnx", tmp_path / "made.json", **given)
    with pytest.raises(InputError, match="goes with --network"):
        convert(tmp_path / "model.onnx", tmp_path / "made.json", machine="edge-45nm")
