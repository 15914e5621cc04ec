"""The multi-reader buffer behaves as one FIFO per reader; the transformation merges and keeps what it should."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import samples

from shorthaul.core.errors import InputError
from shorthaul.dataflow.graphs.multi_reader_buffers import MultiReaderBuffer, substitute_mrbs
from shorthaul.dataflow.model import Actor, Application, Channel

MOVES = st.lists(st.tuples(st.sampled_from(["write", "a", "b", "c"]), st.integers(0, 3)), max_size=60)


@settings(max_examples=len(samples(150)))
@given(st.integers(1, 5), st.integers(0, 5), MOVES)
def test_same_as_one_fifo_per_reader(capacity: int, initial: int, moves: list[tuple[str, int]]) -> None:
    tokens = list(range(min(initial, capacity)))
    buffer = MultiReaderBuffer[int](capacity, ["a", "b", "c"], tokens)
    fifos = {reader: deque(tokens) for reader in "abc"}
    assert buffer.write_index == len(tokens) % capacity
    number = len(tokens)
    for who, count in moves:
        free = capacity - max(map(len, fifos.values()))
        assert buffer.free == free
        if who == "write":
            new = list(range(number, number + count))
            if count > free:
                with pytest.raises(InputError, match="overflows"):
                    buffer.write(new)
                continue
            buffer.write(new)
            number += count
            for fifo in fifos.values():
                fifo.extend(new)
        elif count > len(fifos[who]):
            with pytest.raises(InputError, match="absent token"):
                buffer.read(who, count)
        else:
            assert buffer.read(who, count) == [fifos[who].popleft() for _ in range(count)]


def test_wrong_buffers() -> None:
    with pytest.raises(InputError, match="not a capacity"):
        MultiReaderBuffer(0, ["a"])
    with pytest.raises(InputError, match="not a capacity"):
        MultiReaderBuffer(2**70, ["a"])
    with pytest.raises(InputError, match="not readers"):
        MultiReaderBuffer(1, ["a", "a"])
    with pytest.raises(InputError, match="more initial tokens"):
        MultiReaderBuffer(1, ["a"], [1, 2])
    with pytest.raises(InputError, match="unknown reader"):
        MultiReaderBuffer(1, ["a"]).read("b")


def chain() -> Application:
    tau = {"t": 1}
    actors = (
        Actor("a", tau), Actor("m", tau, "multicast"), Actor("n", tau, "multicast"), *(Actor(x, tau) for x in "bcd"),
    )  # fmt: skip
    ends = (("a", "m"), ("m", "b"), ("m", "n"), ("n", "c"), ("n", "d"))
    return Application("chain", actors, tuple(Channel(f"c{i}", s, d, 8, 1) for i, (s, d) in enumerate(ends)))


@pytest.mark.parametrize(
    ("xi", "expected"),
    [
        ({}, {"c0": ("m",), "c1": ("b",), "c2": ("n",), "c3": ("c",), "c4": ("d",)}),
        ({"m": 1}, {"c0": ("b", "n"), "c3": ("c",), "c4": ("d",)}),
        ({"n": 1}, {"c0": ("m",), "c1": ("b",), "c2": ("c", "d")}),
        ({"m": 1, "n": 1}, {"c0": ("b", "c", "d")}),
    ],
)
def test_chains_of_multicasts_merge(xi: dict[str, int], expected: dict[str, tuple[str, ...]]) -> None:
    network = substitute_mrbs(chain(), xi)
    assert {buffer.id: buffer.readers for buffer in network.buffers} == expected
    assert all(buffer.delay == 1 for buffer in network.buffers)
    assert not {name for name, value in xi.items() if value} & set(network.actors)


def test_lost_delays_may_deadlock() -> None:
    tau = {"t": 1}
    actors = (Actor("a", tau), Actor("m", tau, "multicast"), Actor("b", tau))
    ends = (("a", "m", 0), ("m", "a", 1), ("m", "b", 1))
    application = Application("loop", actors, tuple(Channel(f"c{i}", s, d, 8, k) for i, (s, d, k) in enumerate(ends)))
    substitute_mrbs(application, {})
    with pytest.raises(InputError, match="deadlock"):
        substitute_mrbs(application, {"m": 1})
