"""Recurrent layers as ``run`` executes them: lengths, limits and activations, which the reference does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tests.tensor.networks.onnx_writer import Net

from shorthaul import tensor
from shorthaul.tensor.networks.execution import recurrent

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_OWN = [recurrent.RNN, recurrent.GRU, recurrent.LSTM]


def made(kind: str, given: dict[str, Any], *, own: bool = True, **attributes: Any) -> list[Any]:
    """Return what a layer makes of its inputs by name, in the order of ONNX."""
    order = ["x", "w", "r", "b", "lengths", "h", "c", "p"][: 8 if kind == "LSTM" else 6]
    outputs = ["places", "last", "cell"][: 3 if kind == "LSTM" else 2]
    node = helper.make_node(kind, [name if name in given else "" for name in order], outputs, **attributes)
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in names] for names in (given, outputs)
    ]
    model = helper.make_model(helper.make_graph([node], "layer", *ends), opset_imports=[helper.make_opsetid("", 22)])
    return list(ReferenceEvaluator(model, new_ops=_OWN if own else None).run(None, given))


def numbers(kind: str, count: int, samples: int = 3) -> dict[str, Any]:
    random, gates = np.random.default_rng(7), _GATES[kind]
    shapes = {"x": (5, samples, 2), "w": (count, gates * 4, 2), "r": (count, gates * 4, 4), "b": (count, gates * 8)}
    shapes |= {"h": (count, samples, 4)} | ({"c": (count, samples, 4), "p": (count, 12)} if kind == "LSTM" else {})
    return {name: random.standard_normal(shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", _GATES)
def test_a_layer_is_the_references_and_a_sample_ends_at_its_length(kind: str, direction: str) -> None:
    given = numbers(kind, 2 if direction == "bidirectional" else 1)
    how = {"hidden_size": 4, "direction": direction} | ({"linear_before_reset": 1} if kind == "GRU" else {})
    for one, other in zip(made(kind, given, **how), made(kind, given, own=False, **how), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    lengths = np.array([5, 2, 4], np.int32)
    places, *last = made(kind, {**given, "lengths": lengths}, **how)
    for sample, length in enumerate(lengths):
        alone = {name: value[:, sample : sample + 1] if name in "hcx" else value for name, value in given.items()}
        expected, *ends = made(kind, {**alone, "x": alone["x"][:length]}, own=False, **how)
        np.testing.assert_allclose(places[:length, :, sample], expected[:, :, 0], rtol=1e-12)
        assert not places[length:, :, sample].any()
        for one, other in zip(last, ends, strict=True):
            np.testing.assert_allclose(one[:, sample], other[:, 0], rtol=1e-12)


def test_activations_take_their_numbers_in_order_and_limits_hold_before_them() -> None:
    given = numbers("RNN", 2)
    how = {"hidden_size": 4, "direction": "bidirectional", "activations": ["Relu", "Affine"], "clip": 0.5}
    places, _ = made("RNN", given, activation_alpha=[3.0], activation_beta=[0.25], **how)
    state, (w, r), bias = given["h"][1], (given["w"][1], given["r"][1]), given["b"][1].reshape(2, 4).sum(0)
    for place in reversed(range(5)):
        state = 3 * np.clip(given["x"][place] @ w.T + state @ r.T + bias, -0.5, 0.5) + 0.25
        np.testing.assert_allclose(places[place, 1], state, rtol=1e-12)
    assert places[:, 0].min() == 0
    assert places[:, 0].max() == 0.5


def test_samples_first_and_coupled_gates() -> None:
    given = numbers("LSTM", 1)
    turned = {name: value.swapaxes(0, 1) if name in "hcx" else value for name, value in given.items()}
    places, last, cell = made("LSTM", given, hidden_size=4, input_forget=1)
    by_sample = made("LSTM", turned, hidden_size=4, input_forget=1, layout=1)
    np.testing.assert_allclose(by_sample[0], places.transpose(2, 0, 1, 3), rtol=1e-12)
    np.testing.assert_allclose(by_sample[1], last.swapaxes(0, 1), rtol=1e-12)
    np.testing.assert_allclose(by_sample[2], cell.swapaxes(0, 1), rtol=1e-12)
    assert abs(cell).max() <= max(1, abs(given["c"]).max())  # a mean of the cell before and of what is within 1


def test_a_network_with_lengths_is_executed() -> None:
    net = Net("recurrent", filled=True, opset=22)
    lengths = net.constant([4, 1], np.int32)
    x, _ = net.op("RNN", net.input(4, 2, 3), net.weight(1, 5, 3), net.weight(1, 5, 5), "", lengths, outputs=2,
                  hidden_size=5, activations=["Relu"])  # fmt: skip
    found = tensor.run(net.model(net.op("Exp", x)), machine="cortex-m7", effort=0.05)
    assert found.check.ok
    assert found.extra["run"]["largest_error"] < 1e-3
