"""The machine's cycles beside those of a network simulated word by word."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference import flits

from shorthaul.core.search import Search
from shorthaul.spatial.algorithms.layout_creation import sort_network
from shorthaul.spatial.algorithms.stored import stored_nodes
from shorthaul.spatial.computer.collectives import all_reduce
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.operators import OPERATORS
from shorthaul.spatial.layout.stored_tree import store
from shorthaul.spatial.model import Grid
from shorthaul.spatial.options import PlacingOptions
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.verbs.treefix import run_treefix
from shorthaul.spatial.workloads import generators


def treefix(tree, method: str, direction: str, order: str = "light-first"):
    stored = store(tree, place(tree, PlacingOptions(order=order), Search())[0])

    def run() -> tuple[Machine, flits.Log]:
        log = flits.Log()
        machine = flits.heard(stored.x, stored.y, stored.grid, log)
        nodes = stored_nodes(machine, stored.virtual(), paths=True)
        run_treefix(machine, nodes, machine.register(1), OPERATORS["sum"], direction=direction, method=method)
        return machine, log, stored.x, stored.y

    return run


def traffic(seed: int, rounds: int, width: int, *, crowded: bool = False):
    """Random permutations; or only the messages to nine processors of a corner."""

    def run() -> tuple[Machine, flits.Log]:
        rng, log, grid = np.random.default_rng(seed), flits.Log(), Grid(8, 8)
        machine = flits.heard(*np.divmod(np.arange(64), 8)[::-1], grid, log, words=200)
        value = machine.register(0, width=width)
        for turn in range(rounds):
            target = rng.permutation(64)
            if crowded:
                target = np.where(target < 9, target, -1)
            to = machine.load(f"target {turn}", target)
            senders = machine.all.where(to >= 0)
            machine.send(to[senders], value[senders])
        return machine, log, *np.divmod(np.arange(64), 8)[::-1]

    return run


def program(work):
    def run() -> tuple[Machine, flits.Log]:
        log = flits.Log()
        machine = flits.heard(*np.divmod(np.arange(64), 8)[::-1], Grid(8, 8), log)
        work(machine)
        return machine, log, *np.divmod(np.arange(64), 8)[::-1]

    return run


def sort(machine: Machine) -> None:
    keys = machine.load("key", np.random.default_rng(0).permutation(64))
    sort_network(machine, keys, machine.register(0))


YULE, STAR, PATH, ATTACHED = (
    generators.yule(255, 1),
    generators.star(200),
    generators.random_path(150, 1),
    generators.preferential_attachment(250, 1),
)
CASES = {
    "yule up, wave": treefix(YULE, "convergecast", "up"),
    "yule down, wave": treefix(YULE, "convergecast", "down"),
    "yule up, rake-compress": treefix(YULE, "rake-compress", "up"),
    "yule down, rake-compress": treefix(YULE, "rake-compress", "down"),
    "yule up, heavy-path": treefix(YULE, "heavy-path", "up"),
    "yule at random, wave": treefix(YULE, "convergecast", "up", "random"),
    "yule at random, rake-compress": treefix(YULE, "rake-compress", "up", "random"),
    "yule at random, heavy-path": treefix(YULE, "heavy-path", "down", "random"),
    "star up": treefix(STAR, "convergecast", "up"),
    "star down, rake-compress": treefix(STAR, "rake-compress", "down", "random"),
    "path up": treefix(PATH, "convergecast", "up", "random"),
    "path up, rake-compress": treefix(PATH, "rake-compress", "up", "random"),
    "attached down": treefix(ATTACHED, "convergecast", "down", "random"),
    "attached up, heavy-path": treefix(ATTACHED, "heavy-path", "up"),
    "one permutation": traffic(1, 1, 1),
    "permutations of four words": traffic(2, 3, 4),
    "permutations of forty words": traffic(3, 2, 40),
    "a crowded corner": traffic(4, 3, 8, crowded=True),
    "all-reduce": program(lambda machine: all_reduce(machine, machine.register(1), OPERATORS["sum"])),
    "sorting": program(sort),
}


#: Ways of treefix and of the traffic that others of the cases mix otherwise.
SECOND = {
    "path up, rake-compress", "yule at random, heavy-path", "yule at random, rake-compress", "yule down, rake-compress",
    "yule up, heavy-path", "permutations of forty words",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SECOND else []) for name in CASES]
)
def test_cycles_are_those_of_a_simulation(name: str) -> None:
    machine, log, x, y = CASES[name]()
    found, expected = machine.figures()["cycles"], flits.cycles(x, y, log.rounds)
    assert found == pytest.approx(expected, rel=0.05)


def test_a_message_alone() -> None:
    # Two cycles to the router and back, one per link and per word.
    for words, hops in ((1, 4), (5, 3), (40, 7)):
        machine = Machine.on("8x1")
        to = machine.load("target", np.where(np.arange(8) == 0, hops, -1))
        first = machine.all.where(to >= 0)
        machine.send(to[first], machine.register(0, width=words)[first])
        assert machine.figures()["cycles"] == 2 + hops + 2 + words
        assert machine.cost()["energy_hops"] == hops * words


def test_messages_wait_for_a_link() -> None:
    machine = Machine.on("8x1")
    to = machine.load("target", [4, 5, 6, 7, -1, -1, -1, -1])
    machine.send(to[machine.all.where(to >= 0)], machine.register(0, width=8)[machine.all.where(to >= 0)])
    assert machine.cost()["link_load"] == 32
    free = Machine.on("8x1", count_links=False)
    to = free.load("target", [4, 5, 6, 7, -1, -1, -1, -1])
    free.send(to[free.all.where(to >= 0)], free.register(0, width=8)[free.all.where(to >= 0)])
    assert free.figures()["cycles"] == 2 + 4 + 2 + 8
    assert machine.figures()["cycles"] >= 2 + 1 + 2 + 32
