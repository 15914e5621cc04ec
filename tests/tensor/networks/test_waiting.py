"""Waiting: loads of what comes last, but for what fits into the memory, pass after what all of it needs is computed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.small_networks import SMALL, latency_s, machine, random_plan, read

from shorthaul.core.search import Search
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.bounds.waiting import waiting
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.needs import demands
from shorthaul.tensor.verbs.network_costs import replay_on
from shorthaul.tensor.verbs.network_search import planned


def _classifier(rng: np.random.Generator) -> Network:
    """Return convolutions, perhaps with a branch, before matrices that are large beside them."""
    net, c = Net("classifier"), int(rng.integers(2, 7))
    x = net.input(1, c, *rng.integers(3, 8, 2).tolist())
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(4)
        if kind == 0:
            x = net.conv(x, c, c, 3, g=c)
        elif kind == 1:
            x = net.op("Mul", x, net.conv(net.op("GlobalAveragePool", x), c, c, 1, act="Sigmoid"))
        elif kind == 2:
            x, c = net.op("Concat", x, net.conv(x, c, 3, 1), axis=1), c + 3
        else:
            x = net.add(x, net.conv(x, c, c, int(rng.choice([1, 3])), act="Relu"))
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    for _ in range(rng.integers(1, 4)):
        size = int(rng.integers(4, 60))
        x, c = net.linear(x, c, size, act="Relu"), size
    return read(net.model(net.op("Softmax", x, axis=-1)))


def _hunted(network: Network, rng: np.random.Generator, count: int) -> int:
    """Compare random plans with the bound by waiting, memory just as large as they need; return how often there is one."""
    found = 0
    for _ in range(count):
        plan = random_plan(network, rng)
        held = replay_network(network, plan, 1e12, double_buffered=True)
        if held.violations:
            continue
        size = int(np.ceil(max(group.peak_bytes for group in held.groups)))
        rate = sum(tensor.bytes for tensor in network.tensors if tensor.role != "made") * 64e9 / network.operations()
        on = machine(size, bandwidth=rate * 10 ** rng.uniform(-1, 1))
        value = waiting(network, on, demands(network, on), 0.0).value_s
        assert latency_s(network, on, plan, replay_on(network, plan, on)) >= value * (1 - 1e-9), plan
        found += value > 0
    return found


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_no_random_plan_beats_the_bound(name: str) -> None:
    _hunted(SMALL[name], np.random.default_rng(41), len(samples(24)))


@pytest.mark.slow
def test_no_plan_of_a_classifier_beats_the_bound() -> None:
    rng = np.random.default_rng(42)
    assert sum(_hunted(_classifier(rng), rng, 4) for _ in samples(24)) > 2


def test_weights_after_a_mean_wait_for_all_convolutions() -> None:
    """By hand: an operation of the second matrix needs one sum of the first, and so all of both convolutions."""
    net = Net("classifier")
    x = net.conv(net.conv(net.input(1, 32, 12, 12), 32, 32, 3), 32, 32, 3)
    x = net.linear(net.op("Flatten", net.op("GlobalAveragePool", x)), 32, 64, bias=False)
    network = read(net.model(net.linear(x, 64, 8192, bias=False)))
    on = machine(600_000, bandwidth=2e10)
    computed = 2 * 2 * 32 * 32 * 9 * 144 / 64e9
    floor, (plan, seen) = bound(network, on), planned(network, on, Search())
    assert floor.method == "waiting"
    assert floor.value == pytest.approx(computed + (64 * 8192 * 4 - 600_000) / 2e10)
    assert floor.value <= latency_s(network, on, plan, seen) < 1.35 * floor.value
