"""What ``run`` answers of a model, and what ``plan`` writes for others to take away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.tensor.networks.onnx_writer import Net

import shorthaul as surface
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.execution.arrays import inputs_of, outputs_of
from shorthaul.tensor.networks.execution.support_vectors import coupled
from shorthaul.tensor.networks.execution.verdict import TOLERANCE
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.networks.translation.network import network_from_onnx


def saved(path: Path) -> Any:
    net = Net("layer", filled=True)
    x = net.op("Softmax", net.linear(net.input("b", "c", 6, name="x"), 6, 4), axis=-1)
    onnx.save(net.model(x), path / "model.onnx")
    return net


def test_a_command_plans_and_executes(tmp_path: Path) -> None:
    saved(tmp_path)
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "inputs.npz", x=rng.random((2, 3, 6)))
    common = ("model.onnx", "--machine", "edge-45nm", "--dim", "b=2,c=3", "--inputs", "inputs.npz", "--json")
    done = shorthaul_json("tensor", "run", *common, "--effort", "0.5", "-o", "plan.json", cwd=tmp_path)
    assert done["run"]["largest_error"] < 1e-9
    assert done["run"]["loads_bytes"] + done["run"]["stores_bytes"] == done["cost"]["traffic_bytes"]
    assert done["run"]["random_weights"] == 0


def test_outputs_that_differ_break_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shorthaul.tensor.networks.execution import verdict

    saved(tmp_path)
    given = {"machine": "edge-45nm", "dim": {"b": 2, "c": 3}}
    plan = surface.tensor.plan(tmp_path / "model.onnx", **given)  # type: ignore[arg-type]
    monkeypatch.setattr(verdict, "outputs_of", lambda *_: ({"softmax3": np.zeros((2, 3, 4))}, "somebody"))
    result = surface.tensor.run(tmp_path / "model.onnx", plan, **given)  # type: ignore[arg-type]
    assert result.check is not None
    assert [violation.rule for violation in result.check.violations] == ["output-differs"]


def test_numbers_that_are_not_finite_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of logarithms three are NaN and two infinite in both; a number in place of a NaN, or a NaN of one, differs."""
    from shorthaul.tensor.networks.execution import verdict

    net = Net("logarithms", filled=True)
    onnx.save(net.model(net.op("Log", net.input(2, 4, name="x"))), tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", x=[[-1.0, -2, -3, 0], [0, 1, 2, 3]])
    given: dict[str, Any] = {"machine": "edge-45nm", "inputs": tmp_path / "inputs.npz"}
    done = surface.tensor.run(tmp_path / "model.onnx", **given)
    assert done.check is not None
    assert done.check.ok
    assert (done.extra["run"]["not_finite"], done.extra["run"]["largest_error"] < TOLERANCE) == (5, True)
    assert sum("3 NaN and 2 infinite of 8" in remark for remark in done.check.remarks) == 1
    (name,), right = done.extra["run"]["outputs"], np.array([[np.nan] * 3 + [-np.inf], [-np.inf, *np.log([1, 2, 3])]])
    for place, wrong in ((0, 0.5), (5, np.nan), (3, np.inf), (4, np.nan)):
        other = right.copy()
        other.flat[place] = wrong
        monkeypatch.setattr(verdict, "outputs_of", lambda *_, other=other: ({name: other}, "somebody"))
        differing = surface.tensor.run(tmp_path / "model.onnx", **given)
        assert differing.check is not None
        assert [violation.rule for violation in differing.check.violations] == ["output-differs"]
        assert differing.extra["run"]["not_finite"] == 4 + (place == 5)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"y": np.zeros((2, 3, 6))}, "has no array 'x'"),
        ({"x": np.zeros((2, 3, 5))}, "of another form"),
        ({"x": np.full((2, 3, 6), np.nan)}, "must be finite"),
        ({"x": np.array([["a"]])}, "of another form"),
    ],
)
def test_wrong_inputs(arrays: dict[str, Any], said: str, tmp_path: Path) -> None:
    saved(tmp_path)
    np.savez(tmp_path / "inputs.npz", **arrays)
    given: dict[str, Any] = {"machine": "edge-45nm", "dim": "b=2,c=3", "inputs": tmp_path / "inputs.npz"}
    with pytest.raises(InputError, match=said):
        surface.tensor.run(tmp_path / "model.onnx", **given)


def test_what_nobody_else_computes_is_executed_and_not_verified(tmp_path: Path) -> None:
    net = Net("skip", filled=True)
    x = net.op("Relu", net.input(3, 8))
    y = net.op("SkipLayerNormalization", x, net.input(3, 8), net.weight(8), domain="com.microsoft")
    onnx.save(net.model(net.op("Exp", y)), tmp_path / "model.onnx")
    done = shorthaul_json("tensor", "run", "model.onnx", "--machine", "phone-npu", "--json", cwd=tmp_path)
    assert (done["run"]["largest_error"], done["run"]["compared_with"]) == (None, None)
    assert any("the outputs are not verified" in remark for remark in done["check"]["remarks"])
    assert done["run"]["loads_bytes"] + done["run"]["stores_bytes"] == done["cost"]["traffic_bytes"]


@pytest.mark.parametrize(("name", "value"), [("rules", "contest"), ("restarts", 2)])
def test_options_of_the_contest_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(InputError, match="does not go with"):
        surface.tensor.plan(tmp_path / "model.onnx", machine="edge-45nm", dim="b=2,c=3", **{name: value})


def test_a_command_writes_functions_tables_and_a_trace(tmp_path: Path) -> None:
    saved(tmp_path)
    common = ("--machine", "edge-45nm", "--dim", "b=2,c=3", "-o", "plan.onnx", "--result", "result.json", "--json")
    done = shorthaul_json("tensor", "plan", "model.onnx", *common, cwd=tmp_path)
    written = onnx.load(tmp_path / "plan.onnx")
    onnx.checker.check_model(written)
    assert len(written.functions) == len(done["plan"]["groups"])
    for target, figure in (("groups.csv", "Groups"), ("operators.csv", "Operators"), ("trace.json", "Schedule")):
        assert shorthaul("export", "result.json", target, "--figure", figure, cwd=tmp_path).returncode == 0
    assert (tmp_path / "operators.csv").read_text().count("\n") == 1 + len(network_of(tmp_path).operators)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ends = max(event["ts"] + event["dur"] for event in events if event["ph"] == "X")
    assert ends <= done["cost"]["latency_s"] * 1e6 * (1 + 1e-9)


def test_functions_have_the_weights_where_they_leave_the_folder_of_the_model(tmp_path: Path) -> None:
    saved(tmp_path)
    whole = onnx.load(tmp_path / "model.onnx")
    onnx.save(whole, tmp_path / "model.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "away").mkdir()
    weights = {tensor.name: tensor.raw_data for tensor in onnx.load(tmp_path / "model.onnx").graph.initializer}
    common = ("--machine", "edge-45nm", "--dim", "b=2,c=3", "--effort", "0.05", "-o", "away/plan.onnx")
    assert shorthaul("tensor", "plan", "model.onnx", *common, cwd=tmp_path).returncode == 0
    written = onnx.load(tmp_path / "away/plan.onnx").graph.initializer  # files that are not there are refused
    assert weights == {tensor.name: tensor.raw_data for tensor in written if tensor.name in weights}


def network_of(path: Path) -> Network:
    return network_from_onnx((path / "model.onnx").read_bytes(), {"b": 2, "c": 3})


def test_classifiers_as_scikit_learn_exports_them() -> None:
    """Operators of ``ai.onnx.ml``, of which ONNX infers no shapes, are barriers of the shapes that they make."""
    net = Net("classifier", filled=True)
    ml = {"domain": "ai.onnx.ml"}
    x = net.op("Scaler", net.input(5, 6), offset=[0.5] * 6, scale=[2.0] * 6, **ml)
    scores = net.op("Softmax", net.linear(x, 6, 4), axis=1)
    number = net.op("ArgMax", scores, axis=1, keepdims=0)
    label = net.op("ArrayFeatureExtractor", net.constant([3, 1, 4, 7]), number, **ml)
    value = net.op("LinearRegressor", scores, coefficients=[1.0] * 8, intercepts=[0.0, 1.0], targets=2, **ml)
    net.filled = False  # shapes are inferred while it is read
    model = net.model(net.op("Reshape", label, net.constant([-1])), net.op("Relu", value))
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.ml", 3))
    done = surface.tensor.run(network_from_onnx(model.SerializeToString()), machine="phone-npu", effort=0.05)
    assert done.check is not None
    assert done.check.ok, done.check.violations
    executed: Any = done.extra["run"]
    assert executed["largest_error"] < 1e-9
    assert not any("shape" in remark for remark in done.check.remarks)
    said = "ai.onnx.ml.LinearRegressor, ai.onnx.ml.Scaler: executed by the reference of onnx here too"
    by_itself = executed["compared_with"].startswith("the reference")
    assert any(said in remark for remark in done.check.remarks) == by_itself


def test_inputs_of_no_axes_are_arrays() -> None:
    """A runtime takes no bare numbers."""
    net = Net("scalars")
    x, chosen = net.input(), net.input(kind=onnx.TensorProto.BOOL)
    model = net.model(net.op("Where", chosen, net.op("Neg", x), x))
    given = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 0)
    assert all(isinstance(array, np.ndarray) and array.shape == () for array in given.values())


def test_cubic_interpolation_is_as_precise_as_its_reference() -> None:
    """Weights of single precision would differ by more than what a plan may."""
    net = Net("cubic", opset=13)
    model = net.model(net.op("Resize", net.input(7), "", "", net.constant([21]), mode="cubic"))
    (made,) = outputs_of(model, {"input0": np.eye(7)[1]})[0].values()
    # (a + 2) t^3 - (a + 3) t^2 + 1 at distances of 1, 2/3, 1/3 and 0, with a = -0.75
    assert made[1:5] == pytest.approx([0, 10 / 27, 21.5 / 27, 1], abs=1e-15)


def test_shares_of_pairs_of_classes_are_coupled() -> None:
    """Those of which all pairs are parts come out again: the reference mixes up the pairs of three classes or more."""
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    first = shares[:, None] / (shares[:, None] + shares)
    np.fill_diagonal(first, 0.0)
    assert coupled(first) == pytest.approx(shares, abs=0.005)
