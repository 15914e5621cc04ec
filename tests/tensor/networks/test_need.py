"""What no output needs is not computed: networks that end in a part of what their operators could make."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import ARRAYS, latency_s, machine, random_plan, read
from tests.tensor.networks.test_execution import agrees

import shorthaul as surface
from shorthaul.tensor.check.accesses import reached_by
from shorthaul.tensor.check.need import need_faults
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.execution.arrays import inputs_of, outputs_of
from shorthaul.tensor.networks.execution.onnx_functions import functions_of
from shorthaul.tensor.networks.model import Access, Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.translation.graph import graph_from_onnx
from shorthaul.tensor.verbs.network_costs import replay_on


def part(net: Net, x: str, axis: int, start: int, stop: int, step: int = 1) -> str:
    ends = (net.constant([number]) for number in (start, stop, axis, step))
    return str(net.op("Slice", x, *ends))


def middle_rows(net: Net) -> list[str]:
    x = net.op("Relu", net.input(1, 3, 12, 9))
    x = net.conv(net.conv(x, 3, 4, 3, act="Relu"), 4, 2, 3)
    return [net.op("Tanh", part(net, x, 2, 5, 7))]


def first_token(net: Net) -> list[str]:
    x = net.attention(net.layernorm(net.op("Relu", net.input(1, 6, 8)), 8), 1, 6, 8, 2)
    return [net.op("Tanh", net.op("Gemm", net.op("Gather", x, net.constant(0), axis=1), net.weight(8, 5)))]


def last_token(net: Net) -> list[str]:
    return [part(net, net.linear(net.op("Relu", net.input(2, 5, 6)), 6, 7), 1, -1, 5)]


def one_head(net: Net) -> list[str]:
    x = net.op("MatMul", net.op("Relu", net.input(5, 12)), net.weight(12, 36))
    parts = net.op("Split", x, net.constant([12, 10, 14]), axis=1, outputs=3)
    return [net.op("Exp", parts[1])]


def joined_parts(net: Net) -> list[str]:
    x = net.input(4, 6)
    joined = net.op("Concat", net.op("Relu", x), net.op("Exp", x), net.op("Tanh", x), axis=0)
    return [net.op("MatMul", part(net, joined, 0, 1, 7), net.weight(6, 3))]


def neighbouring_channels(net: Net) -> list[str]:
    return [part(net, net.op("LRN", net.op("Relu", net.input(1, 9, 3, 4)), size=3), 1, 3, 5)]


def grouped_channels(net: Net) -> list[str]:
    x = net.op("GroupNormalization", net.op("Relu", net.input(1, 8, 3, 4)), net.weight(8), net.weight(8), num_groups=4)
    return [part(net, net.conv(x, 8, 8, 1, g=4), 1, 3, 5)]


def enlarged(net: Net) -> list[str]:
    x = net.op(
        "Resize", net.op("Relu", net.input(1, 2, 6, 7)), "", net.constant([1, 1, 2, 3], np.float32), mode="linear"
    )
    return [part(net, x, 3, 10, 14)]


def spread_out(net: Net) -> list[str]:
    x = net.op("ConvTranspose", net.op("Relu", net.input(1, 3, 7, 5)), net.weight(3, 2, 3, 3), strides=[2, 2])
    return [part(net, x, 2, 6, 8)]


def margin_of_zeros(net: Net) -> list[str]:
    x = net.op("Pad", net.op("Relu", net.input(5, 6)), net.constant([3, 0, 0, 2]))
    return [net.op("Exp", part(net, x, 0, 2, 5))]


def margin_alone(net: Net) -> list[str]:
    x = net.op("Pad", net.op("Relu", net.input(5, 6)), net.constant([3, 0, 0, 2]))
    return [net.op("Exp", part(net, x, 0, 0, 2))]


def backwards(net: Net) -> list[str]:
    return [net.op("Exp", part(net, net.op("Relu", net.input(11, 3)), 0, 8, 1, -3))]


def reshaped(net: Net) -> list[str]:
    x = net.reshape(net.op("Relu", net.input(6, 4)), 3, 8)
    return [net.op("Exp", part(net, x, 0, 1, 2)), net.op("Tanh", part(net, x, 1, 2, 3))]


def taken(net: Net) -> list[str]:
    x, places = net.op("Relu", net.input(5, 6)), net.constant([[0, 1, 2, 3, 4, 0]] * 4)
    return [part(net, net.op("GatherElements", x, places, axis=0), 1, 2, 4)]


def words(net: Net) -> list[str]:
    words = net.input(2, 7, kind=onnx.TensorProto.INT64)
    x = net.op("Gather", net.weight(9, 6), words)
    return [net.linear(part(net, x, 1, 2, 4), 6, 3)]


def widened(net: Net) -> list[str]:
    x = net.op("Expand", net.op("Exp", net.input(3, 5)), net.constant([2, 3, 5]))
    return [part(net, x, 2, 1, 3)]


def unread(net: Net) -> list[str]:
    x = net.op("Relu", net.input(3, 40))
    net.op("TopK", net.op("Exp", x), net.constant([20]), outputs=2)
    return [net.op("Tanh", x), part(net, net.op("TopK", x, net.constant([30]), outputs=2)[0], 0, 1, 2)]


def read_twice(net: Net) -> list[str]:
    x = net.op("Relu", net.input(8, 8))
    return [net.op("Exp", part(net, x, 0, 2, 5)), net.op("ReduceSum", part(net, x, 1, 6, 8), net.constant([0]))]


def last_of_dilated(net: Net) -> list[str]:
    """Residual layers whose taps are 2 and 4 places apart, of which the last place is an output, and skips."""
    x, skips = net.op("Relu", net.input(1, 2, 12)), []
    for apart in (2, 4):
        y = net.op("Conv", x, net.weight(2, 2, 2), dilations=[apart], pads=[apart, 0])
        skips.append(part(net, y, 2, -1, 12))
        x = net.op("Add", x, net.op("Tanh", y))
    return [*skips, net.op("Exp", part(net, x, 2, -1, 12))]


def last_with_places_first(net: Net) -> list[str]:
    x = net.op("Relu", net.input(1, 9, 2))
    y = net.transpose(net.op("Conv", net.transpose(x, 0, 2, 1), net.weight(2, 1, 3), group=2, dilations=[3]), 0, 2, 1)
    return [part(net, net.linear(net.op("Exp", y), 2, 3), 1, 2, 3)]


def every_third(net: Net) -> list[str]:
    x = net.conv(net.op("Relu", net.input(1, 2, 9, 8)), 2, 3, 1)
    return [net.op("Exp", part(net, x, 2, 1, 9, 3)), part(net, part(net, x, 2, 4, 9, 3), 3, 7, 0, -2)]


def rows_apart(net: Net) -> list[str]:
    x = net.op("Tanh", net.op("Add", net.input(40, 3), net.input(3)))
    return [net.op("Exp", part(net, x, 0, 0, 1)), net.op("Gather", x, net.constant(39), axis=0)]


def pooled_from_apart(net: Net) -> list[str]:
    """Pooling computes all between, the convolution before it every other row."""
    x = net.conv(net.op("Relu", net.input(1, 2, 11, 4)), 2, 2, (1, 1), s=2, pad=0)
    return [part(net, net.op("MaxPool", x, kernel_shape=[1, 2], strides=[1, 1]), 2, 0, 6, 5)]


#: By network: where operators begin and how far they go, None of one that is left out; those not named are whole.
CROPPED: dict[Callable[[Net], list[str]], dict[str, tuple[tuple[int, ...], tuple[int, ...]] | None]] = {
    middle_rows: {
        "Relu_1": ((0, 3, 0), (3, 6, 9)),
        "Conv_2": ((0, 4, 0, 0, 0, 0), (4, 4, 9, 3, 3, 3)),
        "Relu_3": ((0, 4, 0), (4, 4, 9)),
        "Conv_4": ((0, 5, 0, 0, 0, 0), (2, 2, 9, 4, 3, 3)),
    },
    first_token: {
        **dict.fromkeys(("MatMul_3", "MatMul_22"), ((0, 0, 0), (1, 8, 8))),
        **dict.fromkeys(("Add_4", "Add_23"), ((0, 0), (1, 8))),
        "MatMul_16": ((0, 0, 0, 0), (2, 1, 6, 4)),
        **dict.fromkeys(("Div_17", "Softmax_18"), ((0, 0, 0), (2, 1, 6))),
        "MatMul_19": ((0, 0, 0, 0), (2, 1, 4, 6)),
    },
    last_token: {
        "Relu_1": ((0, 4, 0), (2, 1, 6)),
        "MatMul_2": ((0, 4, 0, 0), (2, 1, 7, 6)),
        "Add_3": ((0, 4, 0), (2, 1, 7)),
    },
    one_head: {"MatMul_2": ((0, 12, 0), (5, 10, 12))},
    joined_parts: {"Relu_1": ((1, 0), (3, 6)), "Exp_2": ((0, 0), (3, 6)), "Tanh_3": None},
    neighbouring_channels: {"Relu_1": ((2, 0, 0), (4, 3, 4)), "LRN_2": ((3, 0, 0, 0), (2, 3, 4, 3))},
    grouped_channels: {
        "Relu_1": ((2, 0, 0), (4, 3, 4)),
        "GroupNormalization_2": ((1, 0, 0, 0), (2, 2, 3, 4)),
        "Conv_3": ((1, 0, 0, 0, 0), (2, 2, 3, 4, 2)),
    },
    enlarged: {"Relu_1": ((0, 0, 3), (2, 6, 3)), "Resize_2": ((0, 0, 10, 0, 0), (2, 12, 4, 2, 2))},
    spread_out: {"Relu_1": ((0, 2, 0), (3, 2, 5)), "ConvTranspose_2": ((0, 6, 0, 0, 0, 0), (2, 2, 11, 3, 3, 3))},
    margin_of_zeros: {"Relu_1": ((0, 0), (2, 6)), "Pad_2": ((2, 0), (3, 8))},
    margin_alone: {"Pad_2": ((0, 0), (2, 8))},
    backwards: {"Relu_1": ((2, 0), (3, 3))},
    last_of_dilated: {
        "Relu_1": ((0, 5), (2, 4)),
        "Conv_2": ((0, 7, 0, 0), (2, 2, 2, 2)),
        **dict.fromkeys(("Tanh_4", "Add_5"), ((0, 7), (2, 2))),
        "Conv_6": ((0, 11, 0, 0), (2, 1, 2, 2)),
        **dict.fromkeys(("Tanh_8", "Add_9"), ((0, 11), (2, 1))),
    },
    last_with_places_first: {
        "Relu_1": ((2, 0), (3, 2)),
        "Conv_3": ((0, 2, 0), (2, 1, 3)),
        "Exp_5": ((2, 0), (1, 2)),
        "MatMul_6": ((2, 0, 0), (1, 3, 2)),
        "Add_7": ((2, 0), (1, 3)),
    },
    every_third: {"Relu_1": ((0, 1, 0), (2, 3, 8)), "Conv_2": ((0, 1, 0, 0), (3, 3, 8, 2))},
    rows_apart: {"Add_1": ((0, 0), (2, 3)), "Tanh_2": ((0, 0), (2, 3))},
    pooled_from_apart: {"Relu_1": ((0, 0, 0), (2, 6, 2))},
    reshaped: {"Relu_1": ((0, 0), (5, 4))},
    taken: {"Relu_1": ((0, 2), (5, 2)), "GatherElements_2": ((0, 2, 0), (4, 2, 5))},
    words: {"Gather_1": ((0, 2, 0), (2, 2, 6))},
    widened: {"Exp_1": ((0, 1), (3, 2))},
    unread: {"Exp_2": None, "TopK_3": None},
    read_twice: {},
}


def model_of(make: Callable[[Net], list[str]]) -> Any:
    net = Net(make.__name__, opset=18 if make is grouped_channels else 21, filled=True)
    return net.model(*make(net))


def whole_of(network: Network) -> Network:
    return network.whole or network


@pytest.mark.parametrize("make", CROPPED)
def test_operators_compute_what_outputs_need(make: Callable[[Net], list[str]]) -> None:
    network, expected = read(model_of(make)), CROPPED[make]
    found = {item.name: (item.first, item.dims) for item in network.operators}
    for item in whole_of(network).operators:
        assert found.get(item.name) == expected.get(item.name, ((), item.dims))
    for access in network.outputs:  # all of what is left of a tensor is there for somebody
        box = reached_by(access, [(np.zeros(1, np.int64), np.full(1, size - 1)) for size in access.shape])
        shape = network.tensors[access.tensor].shape
        if access.tensor in network.parts and not network.consumers[access.tensor]:
            assert [(int(low[0]), int(high[0])) for low, high in box] == [(0, size - 1) for size in shape]
    told = " ".join(network.remarks)
    assert all(name in told for name in expected)


def needed_elements(network: Network) -> dict[int, npt.NDArray[np.bool_]]:
    """Return the elements of tensors that outputs need, followed one by one."""
    found = {number: np.zeros(tensor.shape, bool) for number, tensor in enumerate(network.tensors)}

    def ask(access: Access, points: npt.NDArray[np.int64]) -> None:
        box = reached_by(access, [(at, at) for at in points])
        ends = [np.broadcast_arrays(*(side for ranges in box for side in ranges), points[:1].sum(0))][0][:-1]
        for low, high in zip(zip(*ends[::2], strict=True), zip(*ends[1::2], strict=True), strict=True):
            found[access.tensor][tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] = True

    for access in network.outputs:
        ask(access, np.indices(access.shape).reshape(len(access.shape), -1))
    for item in reversed(network.operators):
        if not any(found[access.tensor].any() for access in item.writes):
            continue
        if item.barrier:
            for access in item.reads:
                found[access.tensor][...] = True
            continue
        points = np.indices(item.dims).reshape(len(item.dims), -1)
        places = tuple(points[index.terms[0][0]] if index.terms else 0 for index in item.writes[0].axes)
        mask = found[item.writes[0].tensor]
        # Rows that are needed whole are computed whole.
        axes = tuple(
            axis for axis, index in enumerate(item.writes[0].axes) if index.terms and index.terms[0][0] in item.whole
        )
        found[item.writes[0].tensor] = mask = np.broadcast_to(mask.any(axes, keepdims=True), mask.shape)
        for access in item.reads:
            ask(access, points[:, mask[places]])
    return found


@pytest.mark.parametrize("make", CROPPED)
def test_nothing_is_left_out_that_an_output_needs(make: Callable[[Net], list[str]]) -> None:
    network = read(model_of(make))
    needed, whole = needed_elements(whole_of(network)), whole_of(network)
    made = {access.tensor for item in network.operators for access in item.writes}
    for number, tensor in enumerate(network.tensors):
        if whole.tensors[number].role != "made":
            continue
        if number not in made:
            assert not needed[number].any()
            continue
        part = network.parts.get(number, ((0, 1),) * len(tensor.shape))
        box = tuple(slice(low, low + by * (n - 1) + 1, by) for (low, by), n in zip(part, tensor.shape, strict=True))
        assert needed[number][box].sum() == needed[number].sum()
        if number in network.parts:  # and at its borders something is needed
            for axis in range(needed[number].ndim):
                others = tuple(other for other in range(needed[number].ndim) if other != axis)
                places = np.flatnonzero(needed[number].any(others))
                assert (places[0], places[-1]) == (box[axis].start, box[axis].stop - 1)


@pytest.mark.costly
@pytest.mark.parametrize("make", CROPPED)
def test_plans_of_parts_give_the_numbers_of_the_reference(make: Callable[[Net], list[str]]) -> None:
    model = model_of(make)
    network, rng = read(model), np.random.default_rng(zlib.crc32(make.__name__.encode()))
    assert sum(agrees(network, random_plan(network, rng), 1e9) for _ in range(6)) > 0
    done = surface.tensor.run(model, machine="cortex-m7", effort=0.1)
    assert done.status in {"feasible", "optimal"}
    assert isinstance(done.plan, NetworkPlan)
    if make in {neighbouring_channels, grouped_channels}:  # which the reference of onnx cannot compute in functions
        return
    written = functions_of(done.plan, network)
    parts = [prop.value for item in written.functions for prop in item.metadata_props if prop.key == "shorthaul.parts"]
    assert sum(len(json.loads(value)) for value in parts) == sum(bool(item.first) for item in network.operators)
    given = inputs_of(graph_from_onnx(model.SerializeToString(), {}), model, None, 0)
    expected, found = (outputs_of(item, given)[0] for item in (model, written))
    for output, values in expected.items():
        np.testing.assert_allclose(found[output], values, rtol=1e-12, atol=1e-15)


@pytest.mark.costly
@pytest.mark.parametrize("make", CROPPED)
def test_no_plan_of_a_part_beats_the_bound(make: Callable[[Net], list[str]]) -> None:
    network, rng = read(model_of(make)), np.random.default_rng(3)
    for number in range(9):
        plan, array = random_plan(network, rng), ("[]", *ARRAYS)[number % 3]
        held = replay_network(network, plan, 1e12, double_buffered=True)
        if held.violations:
            continue
        peak = max(group.peak_bytes for group in held.groups)
        on = machine(int(np.ceil(peak)), bandwidth=float(rng.choice([1e6, 1e9, 1e12])), array=array)
        assert latency_s(network, on, plan, replay_on(network, plan, on)) >= bound(network, on).value * (1 - 1e-9)


@pytest.mark.costly
@pytest.mark.parametrize("make", CROPPED)
def test_the_check_tells_what_is_left_out(make: Callable[[Net], list[str]]) -> None:
    """Shorter by one position, shifted by one, or without an operator: a network no longer does what the model does."""
    network = read(model_of(make))
    assert not list(need_faults(network))
    for number, item in enumerate(network.operators):
        others = (*network.operators[:number], *network.operators[number + 1 :])
        assert list(need_faults(replace(network, operators=others, whole=whole_of(network))))
        for dim, size in enumerate(item.dims if item.first else ()):
            for first, length in ((1, size), (0, size - 1), (1, size - 1), (-1, size)):
                moved = tuple(low + first * (at == dim) for at, low in enumerate(item.first))
                dims = tuple(length if at == dim else before for at, before in enumerate(item.dims))
                changed = replace(item, first=moved, dims=dims)
                shape = tuple(dims[index.terms[0][0]] if index.terms else 1 for index in item.writes[0].axes)
                tensors = list(network.tensors)
                tensors[item.writes[0].tensor] = replace(tensors[item.writes[0].tensor], shape=shape)
                operators = (*network.operators[:number], changed, *network.operators[number + 1 :])
                assert list(need_faults(replace(network, operators=operators, tensors=tuple(tensors))))


def test_a_network_of_which_all_is_needed_stays_as_it_is() -> None:
    assert read(model_of(read_twice)).whole is None
    net = Net("given back")
    x = net.input(2, 3)
    net.op("Exp", x)
    network = read(net.model(net.op("Relu", x)))
    assert [item.name for item in network.operators] == ["Relu_2"]


def test_places_that_views_repeat_are_read_as_often() -> None:
    net = Net("repeated", filled=True)
    x = net.op("Expand", net.reshape(net.input(5), 1, 5), net.constant([4, 5]))
    rows = net.op("Gather", net.reshape(net.input(1), 1, 1), net.constant([0, 0, 0]), axis=1)
    network = read(net.model(net.op("MatMul", net.weight(3, 4), x), net.op("Exp", rows)))
    assert agrees(network, NetworkPlan(tuple(Group((number,)) for number in range(len(network.operators)))), 1e9)


def test_a_tile_that_lies_in_the_margin_adds_nothing_up() -> None:
    net = Net("margin", filled=True)
    x = net.conv(net.input(1, 4, 3, 3), 4, 2, 1)
    network = read(net.model(net.conv(x, 2, 3, 1, pad=2)))
    first, second = network.operators
    loops = (Loop(1, second.dim_names.index("y"), 1), Loop(0, first.dim_names.index("c"), 2))
    assert agrees(network, NetworkPlan((Group((0, 1), loops),)), 1e9)
