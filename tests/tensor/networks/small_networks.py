"""Networks small enough for all their steps, machines and random plans for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.tensor.networks.onnx_writer import Net

from shorthaul.core.machines.files import machine_file
from shorthaul.tensor.check.network_replay import NetworkReplay
from shorthaul.tensor.networks.loops import shape_of
from shorthaul.tensor.networks.machine import Machine, machine_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.verbs.network_costs import cost_of, rows_of


def read(model: Any, dims: dict[str, int] | None = None) -> Network:
    return network_from_onnx(model.SerializeToString(), dims)


#: Arrays of matrix units: one that spreads everything, a systolic one.
ARRAYS = (
    "[{size: 3, spreads: [rows, batch]}, {size: 4, spreads: [columns]}, {size: 2, spreads: [reduction, taps]}]",
    "[{size: 16, spreads: [columns]}, {size: 8, spreads: [reduction]}]",
)


def machine(capacity: int, *, double: bool = True, bandwidth: float = 1e9, array: str = "[]") -> Machine:
    text = f"""{{name: test, levels: [{{name: far, bandwidth_bytes_per_s: {bandwidth}}},
      {{name: near, capacity_bytes: {capacity}, bandwidth_bytes_per_s: 1.0, double_buffered: {str(double).lower()}}}],
      compute: {{clock_hz: 1.0e9, matrix: {{operations_per_cycle: {{32: 64}}}}, vector: {{operations_per_cycle: {{32: 8}}}},
      array: {array}}}}}"""
    return machine_of(machine_file(text, "levels", "compute"))


def latency_s(network: Network, on: Machine, plan: NetworkPlan, replayed: NetworkReplay) -> float:
    """Return the seconds that a plan takes, as its replay sees it."""
    return cost_of(rows_of(network, on, plan, replayed))["latency_s"]


def small_networks() -> dict[str, Network]:
    """Return networks with every kind of access, small enough for all their steps."""
    made = {}
    net = Net("convolutions")
    x = net.conv(net.input(1, 4, 13, 11), 4, 8, 3, 2, norm=True, act="Relu")
    y = net.conv(x, 8, 8, 3, g=8, d=2, pad=2)
    x = net.op("Concat", net.add(x, y), net.conv(x, 8, 4, 1), axis=1)
    x = net.op("ConvTranspose", x, net.weight(12, 6, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    made["convolutions"] = read(net.model(net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])))
    net = Net("attention")
    x = net.input(1, 5, 6)
    made["attention"] = read(net.model(net.attention(net.layernorm(x, 6), 1, 5, 6, 2)))
    net = Net("split heads")
    x = net.op("MatMul", net.input(5, 12), net.weight(12, 36))
    q, k, v = (
        net.transpose(net.reshape(p, 5, 3, 4), 1, 0, 2) for p in net.op("Split", x, axis=1, num_outputs=3, outputs=3)
    )
    y = net.op("MatMul", net.op("Softmax", net.op("MatMul", q, net.transpose(k, 0, 2, 1)), axis=-1), v)
    made["split heads"] = read(net.model(net.reshape(net.transpose(y, 1, 0, 2), 5, 12)))
    net = Net("strides")
    x = net.op("Relu", net.input(1, 3, 12, 12))
    left = net.conv(x, 3, 5, 1, 2)
    right = net.op("Slice", x, net.constant([1]), net.constant([12]), net.constant([3]), net.constant([2]))
    up = net.op("Resize", left, "", net.constant([1, 1, 2, 2], np.float32), mode="linear")
    made["strides"] = read(net.model(up, net.op("Tanh", right)))
    net = Net("first row")
    x = net.layernorm(net.input(1, 7, 12), 12)
    row = net.op("Gather", x, net.constant(0), axis=1)
    made["first row"] = read(net.model(x, net.op("Tanh", net.op("Gemm", row, net.weight(12, 12), net.weight(12)))))
    net = Net("mlp")
    x = net.linear(net.linear(net.input(9, 10), 10, 14, act="Relu"), 14, 7)
    made["mlp"] = read(net.model(net.op("Softmax", x, axis=-1)))
    return made


SMALL = small_networks()


def random_plan(network: Network, rng: np.random.Generator) -> NetworkPlan:
    """Return a plan with neighbours fused at random and loops cut at random; it may break rules."""
    groups: list[tuple[int, ...]] = []
    for number in range(len(network.operators)):
        reads = {network.producer.get(access.tensor) for access in network.operators[number].reads}
        if groups and groups[-1][-1] in reads and rng.random() < 0.6 and not network.operators[number].barrier:
            groups[-1] = (*groups[-1], number)
        else:
            groups.append((number,))
    made = []
    for members in groups:
        shape = shape_of(network, members)
        loops = []
        for keys in (shape.sink, shape.inner):
            for at in rng.permutation(len(keys)):
                tile = int(rng.integers(1, shape.sizes[keys[at]] + 1))
                loops.append(Loop(*keys[at], tile))
        kept = tuple(a.tensor for a in network.operators[members[-1]].writes if rng.random() < 0.3)
        made.append(Group(members, tuple(loops), kept))
    return NetworkPlan(tuple(made))
