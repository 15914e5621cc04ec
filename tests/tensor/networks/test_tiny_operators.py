"""Single operators, tiny ones: no tiling in any order of loops beats the bound, and few the plan that is found."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import latency_s, machine, read

from shorthaul.core.search import Search
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.machine import Machine
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan
from shorthaul.tensor.verbs.network_costs import replay_on
from shorthaul.tensor.verbs.network_search import planned

#: How much longer than the best of these tilings plans take at most; of a dilated convolution twice as long.
NEAR = {"dilated": 2.01}


def tiny() -> dict[str, Network]:
    """Return networks that are one operator, or a softmax and the sums over its rows."""
    made = {}

    def add(name: str, net: Net, output: str) -> None:
        made[name] = read(net.model(output))

    net = Net("product")
    add("product", net, net.op("MatMul", net.input(5, 4), net.input(4, 3)))
    net = Net("batched product")
    add("batched product", net, net.op("MatMul", net.input(2, 3, 4), net.input(2, 4, 2)))
    net = Net("strided")
    add(
        "strided", net, net.op("Conv", net.input(1, 2, 7, 5), net.weight(3, 2, 3, 2), strides=[2, 1], pads=[1, 0, 2, 1])
    )
    net = Net("dilated")
    add(
        "dilated",
        net,
        net.op("Conv", net.input(1, 2, 6, 6), net.weight(2, 2, 2, 2), dilations=[2, 3], pads=[0, 1, 1, 0]),
    )
    net = Net("grouped")
    add("grouped", net, net.op("Conv", net.input(1, 4, 4, 4), net.weight(4, 2, 2, 2), group=2))
    net = Net("depthwise")
    add("depthwise", net, net.op("Conv", net.input(1, 3, 5, 4), net.weight(3, 1, 3, 3), group=3, pads=[1, 1, 1, 1]))
    net = Net("transposed")
    add("transposed", net, net.op("ConvTranspose", net.input(1, 2, 3, 3), net.weight(2, 2, 3, 2), strides=[2, 3]))
    net = Net("pooled")
    add("pooled", net, net.op("MaxPool", net.input(1, 3, 7, 6), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 0, 1]))
    net = Net("mean of rows")
    add("mean of rows", net, net.op("ReduceMean", net.input(4, 3, 5), net.constant([1]), keepdims=0))
    net = Net("softmax")
    add("softmax", net, net.op("Softmax", net.input(4, 6), axis=-1))
    net = Net("broadcast")
    add("broadcast", net, net.op("Add", net.input(4, 1, 3), net.input(5, 1)))
    net = Net("online softmax")
    rows = net.op("Softmax", net.input(3, 8), axis=-1)
    add("online softmax", net, net.op("MatMul", rows, net.input(8, 2)))
    return made


TINY = tiny()


def groups(network: Network) -> Iterator[Group]:
    """Yield all operators as one group, cut in every way by up to three loops (two of windows), in every order."""
    sink = len(network.operators) - 1
    operators = tuple(range(len(network.operators)))
    cuts = [
        [Loop(number, dim, tile) for tile in range(1, size)]
        for number in operators
        for dim, size in enumerate(network.operators[number].dims)
        if size > 1 and (number == sink or dim in network.operators[number].reduced)
    ]
    for count in range(min(3 if len(cuts) < 4 else 2, len(cuts)) + 1):
        for chosen in itertools.combinations(cuts, count):
            for loops in itertools.product(*chosen):
                for order in itertools.permutations(loops):
                    yield Group(operators, order)


def least(network: Network, on: Machine) -> float | None:
    """Return the least latency of all tilings that fit, None if there is none."""
    found = None
    for group in groups(network):
        plan = NetworkPlan((group,))
        replayed = replay_on(network, plan, on)
        if not replayed.violations:
            seconds = latency_s(network, on, plan, replayed)
            found = seconds if found is None else min(found, seconds)
    return found


@pytest.mark.costly
@pytest.mark.parametrize("double", [True, False], ids=["double", "single"])
@pytest.mark.parametrize("name", TINY)
def test_no_tiling_beats_the_bound(name: str, double: bool) -> None:
    network = TINY[name]
    whole = sum(tensor.elements * tensor.bits / 8 for tensor in network.tensors)
    compared = 0
    for share, bandwidth in ((0.3, 1e9), (0.6, 1e11)):
        on = machine(int(whole * share), double=double, bandwidth=bandwidth)
        best = least(network, on)
        if best is not None:
            plan, replayed = planned(network, on, Search(effort=0.3, seed=1), "time")
            assert bound(network, on).value <= best * (1 + 1e-9)
            assert latency_s(network, on, plan, replayed) <= NEAR.get(name, 1.11) * best
            compared += 1
    assert compared
