"""Samples between places: grids of them, and windows whose taps are moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import machine

from shorthaul.core.search import Search
from shorthaul.tensor.networks.execution.arrays import constants_of, doubled, outputs_of
from shorthaul.tensor.networks.execution.machine import Execution
from shorthaul.tensor.networks.execution.mended import OWN
from shorthaul.tensor.networks.grouping.fusion import fuse
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.networks.translation.network import network_from_onnx, translated

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "AveragePool", "LpPool"])
@pytest.mark.parametrize("pads", [[1, 0, 2, 1], "SAME_UPPER", "SAME_LOWER"])
def test_windows_tap_by_tap(kind: str, pads: list[int] | str) -> None:
    """What ours are compared with, beside the operators of the reference itself."""
    net, has_weights = Net(kind, opset=22, filled=True), "Conv" in kind
    more: dict[str, Any] = {"auto_pad": pads} if isinstance(pads, str) else {"pads": pads}
    more |= {"dilations": [1, 2], "group": 2} if kind == "Conv" else {}  # transposed groups fail in the reference
    weights = net.weight(6, 2, 3, 2) if kind == "Conv" else net.weight(4, 6, 3, 2), net.weight(6)
    x = net.input(2, 4, 7, 8)
    model = net.model(net.op(kind, x, *weights[: 2 * has_weights], kernel_shape=[3, 2], strides=[2, 2], **more))
    given = {x: RNG.standard_normal((2, 4, 7, 8)).astype(np.float32)}
    ours, theirs = (ReferenceEvaluator(model, new_ops=new).run(None, given)[0] for new in (OWN, None))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("mode", "dilation", "opset"), [("linear", 1, 19), ("grouped", 2, 22)])
def test_windows_whose_taps_are_moved(mode: str, dilation: int, opset: int) -> None:
    """``DeformConv`` place by place: every tap is a sample between four places, nothing lies beyond the border."""
    grouped = mode == "grouped"
    net, (n, c, height, width), m, taps, stride, pad = Net("moved", opset=opset), (2, 4, 6, 7), 6, (3, 2), 2, 1
    kernel = RNG.standard_normal((m, c // (1 + grouped), *taps))
    rows, columns = (
        (s + 2 * pad - dilation * (t - 1) - 1) // stride + 1 for s, t in zip((height, width), taps, strict=True)
    )
    many = (1 + grouped) * taps[0] * taps[1]
    sizes = {"x": (n, c, height, width), "offset": (n, 2 * many, rows, columns), "mask": (n, many, rows, columns)}
    inputs = {key: net.input(*size, name=key) for key, size in sizes.items()}
    bias = RNG.standard_normal(m)
    named = (net.constant(kernel, np.float32), inputs["offset"], net.constant(bias, np.float32))
    y = net.op("DeformConv", inputs["x"], *named, inputs["mask"], strides=[stride] * 2, pads=[pad] * 4,
               kernel_shape=list(taps), dilations=[dilation] * 2, group=1 + grouped, offset_group=1 + grouped)  # fmt: skip
    model = net.model(y)
    network = network_from_onnx(model.SerializeToString())
    assert not any(item.barrier for item in network.operators)
    plan = NetworkPlan(tuple(item.group for item in next(fuse(network, machine(3000), Search(), 3000))))
    given = {key: RNG.standard_normal(size) for key, size in sizes.items()}
    graph = graph_from_onnx(model.SerializeToString(), {})
    execution = Execution(translated(model.SerializeToString()), constants_of(graph, model), given)
    (found,) = execution.run(plan, Search()).values()
    expected = np.broadcast_to(bias.astype(np.float32)[:, None, None], found.shape).astype(float)
    moves = given["offset"].reshape(n, 1 + grouped, *taps, 2, rows, columns)
    masks = given["mask"].reshape(n, 1 + grouped, *taps, rows, columns)
    weights = kernel.astype(np.float32).astype(float)
    for at in np.ndindex(n, c, *taps, rows, columns):
        s, k, i, j, row, column = at
        group = k // (c // (1 + grouped))
        y0 = row * stride - pad + i * dilation + moves[s, group, i, j, 0, row, column]
        x0 = column * stride - pad + j * dilation + moves[s, group, i, j, 1, row, column]
        value = sum(
            given["x"][s, k, a, b] * max(0.0, 1 - abs(y0 - a)) * max(0.0, 1 - abs(x0 - b))
            for a in range(height) for b in range(width)
        )  # fmt: skip
        made = range(m // 2 * group, m // 2 * (group + 1)) if grouped else range(m)
        expected[s, made, row, column] += (
            value * masks[s, group, i, j, row, column] * weights[made, k % weights.shape[1], i, j]
        )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(outputs_of(model, given)[0][y], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("margin", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 2, 3, 4, 5)])
def test_samples_are_those_of_the_reference(mode: str, margin: str, shape: tuple[int, ...]) -> None:
    """All at once, where the reference takes one after the other, at places that it has in single precision."""
    net, grid = Net("samples", opset=20), (shape[0], *(3,) * (len(shape) - 2), len(shape) - 2)
    x, g = net.input(*shape), net.input(*grid)
    y = [net.op("GridSample", x, g, mode=mode, padding_mode=margin, align_corners=corners) for corners in (0, 1)]
    model = doubled(net.model(*y))
    given = {x: RNG.standard_normal(shape), g: RNG.uniform(-1.6, 1.6, grid)}
    theirs, ours = (onnx.reference.ReferenceEvaluator(model, new_ops=own).run(None, given) for own in (None, OWN))
    for expected, found in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
