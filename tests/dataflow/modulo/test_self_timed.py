"""Self-timed schedules whose buffers hold few tokens: the checker replays them, and large networks start from them."""

from __future__ import annotations

import pytest
from tests.dataflow.small import small_problem
from tests.samples import samples

from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.dataflow.bounds.period import period_bound
from shorthaul.dataflow.check.replay import check_point
from shorthaul.dataflow.exploration.few_tokens import few_tokens
from shorthaul.dataflow.graphs.multi_reader_buffers import substitute_mrbs
from shorthaul.dataflow.mapping.arrays import build
from shorthaul.dataflow.mapping.binding import determine_channel_bindings, mapped, needed_capacities
from shorthaul.dataflow.model import Actor, Application, Channel
from shorthaul.dataflow.modulo.periodic import annealed_within, self_timed_within
from shorthaul.dataflow.modulo.solver import make_point
from shorthaul.dataflow.verbs.planning import plan
from shorthaul.dataflow.workloads.generators import platform24, random_graph


def executed(seed: int, *, atomic: bool = False) -> int:
    """Assert that a self-timed schedule of a small problem keeps all rules and its buffers their tokens; 1 if any."""
    problem = small_problem(seed, most_actors=8)
    try:
        network = substitute_mrbs(problem.application, problem.mapping.xi)
    except InputError:  # a deadlock
        return 0
    names = [channel.id for channel in problem.application.channels]
    tokens = dict(zip(names, few_tokens(problem.application).tolist(), strict=True))
    tokens = {buffer.id: tokens[buffer.id] for buffer in network.buffers}
    memory = determine_channel_bindings(network, problem.platform, problem.mapping, tokens)
    assert memory is not None
    net = mapped(problem.application, problem.platform, network, problem.mapping.binding, memory)
    least = int(period_bound(net).value)
    found = self_timed_within(net, least, Search(effort=1), tokens, 0, atomic=atomic)
    assert found is not None, seed
    held = needed_capacities(net, found.starts, found.period, atomic_firing=atomic)
    assert all(held[name] <= count for name, count in tokens.items()), (seed, held, tokens)
    instance = build(problem.application, problem.platform)
    point = make_point(instance, problem.mapping, net, found, held)
    assert not check_point(problem.application, problem.platform, point).violations, seed
    better = annealed_within(net, least, Search(effort=0.02), point, tokens, 500, atomic=atomic)
    assert least <= better.period <= found.period
    return 1


def test_every_self_timed_schedule_is_right() -> None:
    found = [executed(7000 + number, atomic=number % 3 == 0) for number in samples(60)]
    assert sum(found) > len(found) // 2


@pytest.mark.slow
def test_every_self_timed_schedule_is_right_at_length() -> None:
    assert sum(executed(seed, atomic=seed % 3 == 0) for seed in range(20_000, 22_000)) > 1500


def test_readers_come_first_where_tokens_are_there() -> None:
    """A loop: the buffer of many bytes keeps its initial token, the small one holds one more."""
    actors = (Actor("a", {"t1": 1}), Actor("b", {"t1": 1}))
    channels = (Channel("big", "a", "b", 100, delay=1), Channel("small", "b", "a", 1, delay=1))
    assert few_tokens(Application("loop", actors, channels)).tolist() == [1, 2]


def test_tokens_that_replaced_multicasts_lose_are_not_counted_on() -> None:
    """The channel out of the multicast has a token, the buffer that replaces both has none: a a before b."""
    actors = (*(Actor(name, {"t1": 1}) for name in "abd"), Actor("m", {"t1": 1}, "multicast"))
    ends = (("a", "m", 0, 8), ("m", "b", 1, 8), ("m", "d", 0, 8), ("a", "b", 1, 1))
    channels = tuple(Channel(f"c{i}", s, d, size, delay) for i, (s, d, delay, size) in enumerate(ends))
    assert few_tokens(Application("behind", actors, channels)).tolist() == [1, 1, 1, 2]


@pytest.mark.slow
def test_crowded_memories_are_used_with_care() -> None:
    """Before, the best of this effort and seed was above 60,000."""
    found = plan(random_graph(50, 0.3, 2, 2000, 3), platform=platform24(), search=Search(seed=0, effort=3, workers=1))
    assert found.plan is not None
    assert min(point.period for point in found.plan.front) < 60_000
