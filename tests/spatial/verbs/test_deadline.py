"""A time limit that has passed ends every verb, from reading the tree on, without an answer or with the best so far."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest
from tests.commands import shorthaul

import shorthaul.spatial as engine
from shorthaul.core.errors import NoPlanError
from shorthaul.core.search import Search
from shorthaul.spatial import tuning
from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.formats.files import tree_from_file
from shorthaul.spatial.layout.annealing import refine, shorten
from shorthaul.spatial.layout.orders import positions
from shorthaul.spatial.layout.stored_tree import store
from shorthaul.spatial.model import Grid
from shorthaul.spatial.options import PlacingOptions
from shorthaul.spatial.verbs.planning import place
from shorthaul.spatial.verbs.treefix import treefix
from shorthaul.spatial.workloads import generators


def late() -> Search:
    return Search(time_limit=1, started=time.monotonic() - 100)


def test_verbs_end_without_an_answer() -> None:
    tree = generators.yule(99, 1)
    for run in (
        lambda: engine.plan(tree, search=late()),
        lambda: engine.treefix(tree, search=late()),
        lambda: engine.lca(tree, random=9, search=late()),
    ):
        with pytest.raises(NoPlanError, match="time limit"):
            run()


def test_programs_end_between_rounds() -> None:
    machine = Machine.on(Grid(2, 2), search=late())
    with pytest.raises(NoPlanError):
        machine.send(3 - machine.all.number)


@pytest.mark.parametrize("name", ["tree.nwk", "tree.json", "tree.txt"])
def test_reading_ends(name: str) -> None:
    n = tuning.LINES_AT_ONCE + 1
    parents = [-1, *[0] * (n - 1)]
    text = {"nwk": "(a,b);", "json": str(parents), "txt": "\n".join(map(str, parents))}[name[5:].replace(".", "")]
    assert tree_from_file(Path(name), text.encode()).n in {3, n}
    with pytest.raises(NoPlanError):
        tree_from_file(Path(name), text.encode(), search=late())


def test_newick_text_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = generators.yule(99, 1)
    data = engine.newick_from_tree(tree)
    monkeypatch.setattr(tuning, "BYTES_AT_ONCE", 7)
    assert engine.newick_from_tree(engine.tree_from_newick(data)) == data


def test_refinement_that_is_late_keeps_the_layout() -> None:
    tree = generators.yule(99, 1)
    layout = place(tree, PlacingOptions(), Search())[0]
    stored = store(tree, layout, positions(tree, "light-first"))
    assert (refine(stored, 1.0, late()).x == stored.x).all()


def test_places_stay_without_room_to_search_for_better_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first layout is the answer where a search would pass the memory limit; with room enough it is improved."""
    tree = generators.yule(300, seed=2)
    stored = store(tree, place(tree, PlacingOptions(), Search())[0], positions(tree, "light-first"))
    needed = tuning.BOARD_BYTES * tree.n
    monkeypatch.setattr("shorthaul.spatial.layout.annealing.room", lambda: needed - 1)
    assert refine(stored, 0.1, Search()) is stored
    assert shorten(stored, 0.1, Search()) is stored
    monkeypatch.setattr("shorthaul.spatial.layout.annealing.room", lambda: needed)
    assert refine(stored, 0.1, Search()) is not stored


def test_a_late_plan_is_of_one_order_with_what_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shorthaul.core.searching.deadline.GRACE_S", 1000)  # it was in time up to here
    tree = generators.yule(99, 1)
    found, all_of_it = engine.plan(tree, search=late()), engine.plan(tree, refine=0)
    assert found.extra["placement"].startswith("light-first")
    assert {"virtual_tree"} == all_of_it.extra.keys() - found.extra.keys()
    assert 0 < found.bound.value <= all_of_it.bound.value


def test_a_late_plan_on_a_machine_is_of_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = generators.yule(99, 1)
    with pytest.raises(NoPlanError, match="time limit"):
        engine.plan(tree, machine="wafer-750x994", search=late())
    monkeypatch.setattr("shorthaul.core.searching.deadline.GRACE_S", 1000)  # it was in time up to here
    found = engine.plan(tree, machine="wafer-750x994", search=late())
    assert found.extra["placement"] == "light-first"
    assert found.extra["baselines"] == []
    monkeypatch.setattr(tuning, "CHECKED_SENDS", 1e9)  # but the check could not be
    with pytest.raises(NoPlanError, match="time limit"):
        engine.plan(tree, machine="wafer-750x994", search=late())


class Ended(Search):
    """Somebody ends the search when it has asked three times whether one has."""

    asked = 0

    @property
    def interrupted(self) -> bool:
        self.asked += 1
        return self.asked > 3

    def expired(self) -> bool:
        return self.asked > 3


def test_refinement_looks_up_within_a_tile() -> None:
    tree = generators.yule(99, 1)
    layout = place(tree, PlacingOptions(), Search())[0]
    search = Ended()
    refine(store(tree, layout, positions(tree, "light-first")), 1e6, search)
    assert search.asked > 3
    assert search.spent() <= 4 * tuning.READS_AT_ONCE / tuning.READS_PER_EFFORT


def test_commands_end_with_their_status(tmp_path: Path) -> None:
    ended = shorthaul("spatial", "treefix", "yule:n=3000000", "--time-limit", "1e-9", cwd=tmp_path)
    assert ended.returncode == 4
    assert "time limit" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_sums_that_have_no_room_by_every_method_are_made_by_the_one_of_least_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parents = [-1, 0, 1, 1, 0, 4, 5]
    monkeypatch.setattr("shorthaul.spatial.verbs.treefix.room", lambda _share=0.9: tuning.RUNS_BYTES * len(parents))
    assert len(treefix(parents).extra["cycles_by_method"]) == 3
    monkeypatch.setattr("shorthaul.spatial.verbs.treefix.room", lambda _share=0.9: tuning.RUNS_BYTES * len(parents) - 1)
    found = treefix(parents)
    assert list(found.extra["cycles_by_method"]) == ["convergecast"]
    assert found.plan.arrays["value"].tolist() == [7, 3, 1, 1, 3, 2, 1]


def test_the_quickest_method_comes_first_where_little_time_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "TRIALS", math.inf)
    assert list(treefix([-1, 0, 1, 1], time_limit=60).extra["cycles_by_method"]) == ["convergecast"]
