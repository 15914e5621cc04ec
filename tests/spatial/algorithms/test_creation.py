"""Creating the light-first order on the machine itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.reference import spatial_twins as twins
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.spatial.layout.fabric import usable
from shorthaul.spatial.model import Tree
from shorthaul.spatial.workloads import generators


def created(tree: Tree, **fields: object) -> dict[str, object]:
    return engine.plan(tree, baselines=False, create=True, refine=0.01, **fields).extra["creation"]


def test_it_arrives_at_the_order() -> None:
    rng = np.random.default_rng(11)
    for turn in samples(60):
        tree = twins.random_tree(rng, 40) if turn % 3 else twins.random_forest(rng)
        found = created(tree, curve=("auto", "snake")[turn % 2])  # itself compares the order, and replays the messages
        assert found["energy_hops"] > 0 or tree.n < 3


def test_on_machines(monkeypatch) -> None:
    rng = np.random.default_rng(12)
    for turn in samples(20):
        fabric = dataclasses.replace(twins.some_machine(rng), memory_bytes=8192)
        tree = twins.random_tree(rng, 60) if turn % 3 else twins.random_forest(rng)
        monkeypatch.setattr("shorthaul.spatial.verbs.machines.load_machine", lambda _, fabric=fabric: fabric)
        most = -(-tree.n // int(usable(fabric).sum())) + turn % 2
        found = created(tree, machine="some", per_processor=most)
        assert found["words_per_processor"] <= 8192 // 8
        assert found["energy_hops"] > 0 or tree.n <= most


def test_from_the_command_line(tmp_path) -> None:
    document = shorthaul_json("spatial", "plan", "yule:n=255", "--create", "--refine", "0.1", cwd=tmp_path)
    found = document["creation"]
    assert found["energy_hops"] > found["depth"] > 0


@pytest.mark.slow
def test_a_million_vertices() -> None:
    # Theorem 4: energy n^1.5; the sorting network makes the depth O(log^2 n).
    found = created(generators.yule(2**20, 1))
    assert 10 <= found["energy_hops"] / 2**30 <= 20
    assert found["depth"] <= 1.3 * 20**2
