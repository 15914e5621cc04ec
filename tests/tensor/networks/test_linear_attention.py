"""Linear attention of ONNX, of every rule, as products of pieces: executed equal to the reference."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from shorthaul import tensor
from shorthaul.tensor.networks.translation.network import network_from_onnx

BATCH, PAIRS, SIZE, WIDTH = 2, 2, 3, 4
CASES = [
    (rule, heads, scalar, with_state)
    for (rule, heads), (scalar, with_state) in zip(
        itertools.product(("linear", "gated", "delta", "gated_delta"), (2, 4)),
        itertools.cycle([(True, True), (False, True), (False, False)]),
        strict=False,
    )
]


def _model(rule: str, heads: int, places: int, *, scalar: bool, with_state: bool, piece: int = 3) -> Any:
    shapes = {
        "query": (BATCH, places, heads * SIZE),
        "key": (BATCH, places, PAIRS * SIZE),
        "value": (BATCH, places, PAIRS * WIDTH),
        "state": (BATCH, PAIRS, SIZE, WIDTH),
        "decay": (BATCH, places, PAIRS * (1 if scalar else SIZE)),
        "rate": (BATCH, places, 1 if scalar else PAIRS),
    }
    used = {
        "query",
        "key",
        "value",
        *["state"] * with_state,
        *["decay"] * ("gated" in rule),
        *["rate"] * ("delta" in rule),
    }
    names = [name if name in used else "" for name in shapes]
    words = {"q_num_heads": heads, "kv_num_heads": PAIRS, "update_rule": rule, "chunk_size": piece}
    node = helper.make_node("LinearAttention", names, ["made", "after"], **words)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in names if name]
    made = {"made": (BATCH, places, heads * WIDTH), "after": shapes["state"]}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in made.items()]
    graph = helper.make_graph([node], "attention", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=13)


@pytest.mark.costly
@pytest.mark.parametrize(("rule", "heads", "scalar", "with_state"), CASES)
def test_every_rule_is_executed_as_the_reference(
    rule: str, heads: int, scalar: bool, with_state: bool, tmp_path: Path
) -> None:
    """Five places in pieces of three, of one decay per head or per feature, with and without a state before."""
    model, rng, drawn = _model(rule, heads, 5, scalar=scalar, with_state=with_state), np.random.default_rng(4), {}
    for item in model.graph.input:
        drawn[item.name] = rng.standard_normal([dim.dim_value for dim in item.type.tensor_type.shape.dim])
    drawn |= {"decay": -np.abs(drawn["decay"])} if "decay" in drawn else {}
    np.savez(tmp_path / "drawn.npz", **drawn)
    plan = tensor.plan(model, machine="phone-npu", effort=0.02).plan
    done = tensor.run(model, plan, machine="phone-npu", inputs=tmp_path / "drawn.npz")
    assert done.check.ok, done.check.violations
    assert not any("not known" in remark for remark in done.check.remarks)
    assert done.extra["run"]["not_finite"] == 0
    assert done.extra["run"]["largest_error"] < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "places", "piece", "scalar"), [(2, 5, 3, True), (4, 12, 12, False)])
def test_strong_decays_end_in_zero(heads: int, places: int, piece: int, scalar: bool, tmp_path: Path) -> None:
    """What is forgotten within a piece is no number beyond all: decays of some 400 a place, in two blocks of six."""
    model = _model("gated_delta", heads, places, scalar=scalar, with_state=True, piece=piece)
    rng = np.random.default_rng(5)
    drawn = {item.name: [dim.dim_value for dim in item.type.tensor_type.shape.dim] for item in model.graph.input}
    drawn = {name: rng.standard_normal(shape) for name, shape in drawn.items()}
    drawn["decay"] = -400.0 * np.abs(drawn["decay"]) * (rng.random(drawn["decay"].shape) < 0.5)
    np.savez(tmp_path / "drawn.npz", **drawn)
    plan = tensor.plan(model, machine="phone-npu", effort=0.02).plan
    done = tensor.run(model, plan, machine="phone-npu", inputs=tmp_path / "drawn.npz")
    assert done.check.ok, done.check.violations
    assert done.extra["run"]["not_finite"] == 0


@pytest.mark.parametrize(
    ("rule", "scalar", "known"), [("gated", True, True), ("gated", False, False), ("delta", True, False)]
)
def test_pieces_grow_where_nothing_is_lost(rule: str, scalar: bool, known: bool) -> None:
    """Behind 1,024 places: not where a system is solved, or features decay alone."""
    model = _model(rule, 2, 1025, scalar=scalar, with_state=False, piece=64)
    network = network_from_onnx(model.SerializeToString())
    assert any(item.barrier for item in network.operators) is not known


def test_a_reference_that_rounds_is_compared_as_such() -> None:
    found = tensor.run(_model("linear", 2, 4, scalar=True, with_state=False), machine="phone-npu", effort=0.05)
    assert found.extra["run"]["compared_with"].endswith("in the model's own types")
