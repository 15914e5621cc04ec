"""The explorer: the same front for the same seed on one thread and several, resumed or not; ends of the front reached."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.samples import samples

from shorthaul.core.document import digest
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.search import Search
from shorthaul.dataflow.exploration.kept import Explored, pack, unpack
from shorthaul.dataflow.exploration.nsga2_kernels import entering, rank_and_crowd
from shorthaul.dataflow.formats.documents import application_document
from shorthaul.dataflow.model import Actor, Application, Channel, Core, CoreType, Platform, Tile
from shorthaul.dataflow.verbs.planning import bound, plan, sweep
from shorthaul.dataflow.workloads import generators


def documents(result):
    return [point.document() for point in result.plan.front]


@pytest.mark.costly
@pytest.mark.parametrize("strategy", ["reference", "mrb-always", "mrb-explore"])
def test_cheap_and_small_ends_are_reached(strategy: str) -> None:
    result = plan(generators.sobel4(), strategy=strategy, generations=40, polish_effort=0)
    assert result.cost["core_cost"] == 0.5
    assert result.cost["footprint_bytes"] == (74_685_636 if strategy == "reference" else 58_072_828)
    for point in result.plan.front:
        assert point.period >= point.bound["value"]
        assert set(point.xi.values()) <= ({0, 1} if strategy == "mrb-explore" else {int(strategy == "mrb-always")})


def test_threads_do_not_change_the_answer() -> None:
    one, three = (
        plan(generators.sobel4(), generations=30, polish_effort=0, search=Search(seed=5, workers=workers))
        for workers in (1, 3)
    )
    assert documents(one) == documents(three)
    assert one.plan.hypervolume == three.plan.hypervolume


def test_hypervolume_never_falls() -> None:
    trace = plan(generators.sobel(), generations=60, polish_effort=0).plan.hypervolume
    assert len(trace) == 61
    assert all(a <= b + 1e-12 for a, b in pairwise(trace))


def test_resuming_is_as_if_never_stopped(tmp_path) -> None:
    file = tmp_path / "journal"
    plan(generators.sobel4(), generations=8, journal=file, polish_effort=0)
    resumed, straight = (
        plan(generators.sobel4(), generations=12, resume=resume, polish_effort=0.05) for resume in (file, None)
    )
    assert documents(resumed) == documents(straight)
    assert resumed.plan.hypervolume == straight.plan.hypervolume
    with pytest.raises(InputError, match="is a journal of another search"):
        plan(generators.sobel(), generations=40, resume=file)
    file.write_bytes(b"a letter")
    with pytest.raises(InputError, match="is not a journal"):
        plan(generators.sobel4(), resume=file)


@pytest.mark.costly
@pytest.mark.parametrize("kinds", ["bhif", "Qibd"])
def test_a_state_of_other_types_is_the_same_state(kinds: str, tmp_path: Path) -> None:
    """Kernels take one type of each array."""
    file = tmp_path / "journal"
    plan(generators.sobel(), generations=2, journal=file, population=4, offspring=2, polish_effort=0.0)
    state = unpack(base64.b64decode(file.read_bytes().splitlines()[-1].split(b"\t")[2])).state
    straight = plan(generators.sobel(), generations=4, resume=file, population=4, offspring=2, polish_effort=0.0)
    state.rank, state.crowd = state.rank.astype(kinds[0]), state.crowd.astype(kinds[3])
    for group in (state.population, state.archive):
        group.binding, group.xi = group.binding.astype(kinds[1]), group.xi.astype(kinds[2])
    text = b'{"cost": -2.0}\t' + base64.b64encode(pack(Explored(state)))
    with file.open("ab") as lines:
        lines.write(digest(text).encode() + b"\t" + text + b"\n")
    resumed = plan(generators.sobel(), generations=4, resume=file, population=4, offspring=2, polish_effort=0.0)
    assert documents(resumed) == documents(straight)


def test_ranking_and_archive_against_plain_definitions() -> None:
    random = np.random.default_rng(3)
    for _ in samples(30):
        points = random.integers(0, 4, (12, 3)).astype(float)
        rank, crowd = np.empty(12, np.int64), np.empty(12)
        rank_and_crowd(points, np.argsort(points.T, axis=1, kind="stable"), rank, crowd)

        def dominated(i: int, points=points) -> bool:
            return any((p <= points[i]).all() and (p < points[i]).any() for p in points)

        first = {i for i in range(12) if not dominated(i)}
        copies = {i for i in range(12) if any((points[j] == points[i]).all() for j in range(i))}
        assert {i for i in range(12) if rank[i] == 0} == first - copies
        kept, entered = np.empty(0, np.uint8), np.empty(12, np.uint8)
        entering(points[:0], points, kept, entered)
        assert {i for i in range(12) if entered[i]} == first - copies


def tiny_platform(global_bytes: int | None) -> Platform:
    tile = Tile("T", (Core("p", "t1", 10), Core("q", "t1", 10)), 10, 1e6)
    return Platform("tiny", {"t1": CoreType(1.0)}, (tile,), 1e6, global_bytes)


def chain_without_global_memory(size: int) -> tuple[Application, Platform]:
    """A chain of twelve actors, two of which run on r; a core s and a tile have memories, and nothing else has."""
    actors = tuple(Actor(f"a{n}", {"r" if n < 2 else "s": 10}) for n in range(12))
    channels = tuple(Channel(f"c{n}", f"a{n}", f"a{n + 1}", 100) for n in range(11))
    tile = Tile("T", (*(Core(f"r{n}", "r", 0) for n in range(3)), Core("s", "s", size)), 100, 1e9)
    return Application("chain", actors, channels), Platform("p", {"r": CoreType(1), "s": CoreType(1)}, (tile,), 1e9, 0)


def test_a_mapping_is_found_where_hardly_any_fits_and_no_memory_is_unlimited() -> None:
    # only with c0 in the memory of the tile and all others in that of core s, one token each
    application, platform = chain_without_global_memory(1000)
    assert plan(application, platform=platform, effort=0.05).cost["footprint_bytes"] == 1100
    application, platform = chain_without_global_memory(999)
    with pytest.raises(InfeasibleError, match="all memories together"):
        plan(application, platform=platform, effort=0.05)
    tile = replace(platform.tiles[0], tile_memory_bytes=101)  # as much as all need, but not in two parts
    with pytest.raises(InfeasibleError, match=r"global memory .* 100 needed, the limit is 0"):
        plan(application, platform=replace(platform, tiles=(tile,)), effort=0.05)


def test_memory_too_small_is_proven_infeasible() -> None:
    actors = (Actor("a", {"t1": 5}), Actor("b", {"t1": 5}))
    application = Application("pair", actors, (Channel("c", "a", "b", 100, 1),))
    assert plan(application, platform=tiny_platform(None), generations=2, population=4).check.ok
    with pytest.raises((InfeasibleError, NoPlanError), match="memor"):
        plan(application, platform=tiny_platform(20), generations=2, population=4)


@pytest.mark.slow
def test_sweep_compares_the_strategies() -> None:
    options = {"generations": 2, "population": 10, "seeds": 2}
    result = sweep(generators.sobel(), search=Search(workers=2), **options)
    rows = result.extra["runs"]
    assert [(row["strategy"], row["seed"]) for row in rows] == [
        (strategy, seed) for strategy in ("reference", "mrb-always", "mrb-explore") for seed in (0, 1)
    ]
    assert result.check.ok
    alone = sweep(generators.sobel(), search=Search(workers=1), **options)
    assert documents(alone) == documents(result)


def test_bounds_of_the_applications_name_their_argument() -> None:
    result = bound(generators.sobel())
    assert (result.bound.method, result.bound.value) == ("crossbar of one tile", 7726)
    assert "front_bound" in result.extra


def test_one_document_on_standard_output(tmp_path) -> None:
    arguments = ("dataflow", "plan", "sobel", "--generations", "5", "--polish-effort", "0.05", "--workers")
    one = shorthaul_json(*arguments, "1", cwd=tmp_path)
    two = shorthaul_json(*arguments, "2", cwd=tmp_path)
    assert one["plan"] == two["plan"]
    assert one["bound"] is None
    assert one["gap"] is None
    assert len(one["hypervolume"]["by_generation"]) == 6
    point = one["plan"]["front"][0]
    names = {"period", "footprint_bytes", "core_cost", "starts", "binding", "xi", "channel_decision", "capacities"}
    assert names <= set(point)
    assert point["bound"]["of"] == "period"
    tmp_path.joinpath("point.json").write_text(json.dumps(point))
    again = shorthaul_json(
        "dataflow", "schedule", "sobel", "--mapping", "point.json", "--decoder", "modulo", cwd=tmp_path
    )
    assert again["cost"]["period"] <= point["period"] * 1.001
    point["period"] -= 1000
    tmp_path.joinpath("point.json").write_text(json.dumps(point))
    broken = shorthaul_json("dataflow", "check", "sobel", "point.json", cwd=tmp_path, status=1)
    assert broken["status"] == "invalid"
    assert broken["check"]["violations"]


def test_multirate_sdf3_goes_all_the_way(tmp_path) -> None:
    from shorthaul.dataflow.formats.documents import write_sdf3

    actors = (Actor("in", {"arm": 3}), Actor("fft", {"arm": 9, "dsp": 4}), Actor("out", {"dsp": 2}))
    channels = (Channel("x", "in", "fft", 64, 0, 4, 1, 2), Channel("y", "fft", "out", 32, 1, 4, 3, 2))
    tmp_path.joinpath("app.xml").write_text(write_sdf3(Application("chain", actors, channels)))
    document = shorthaul_json(
        "dataflow", "plan", "app.xml", "--generations", "10", "--polish-effort", "0.1", cwd=tmp_path
    )
    assert document["check"]["ok"] is True
    bound_to = document["plan"]["front"][0]["binding"]
    assert set(bound_to) == {*(f"in#{k}" for k in range(4)), "fft#0", "fft#1", *(f"out#{k}" for k in range(3))}


def test_a_mapping_speaks_of_all_firings_of_an_actor(tmp_path) -> None:
    actors = (Actor("in", {"t1": 3}), Actor("fft", {"t1": 9, "t2": 4}))
    application = Application("chain", actors, (Channel("x", "in", "fft", 64, 0, 4, 1, 2),))
    mapping = {"binding": {"in": "p1", "in#1": "p2", "fft": "p3"}, "channel_decision": {"x": "GLOBAL", "x#0": "PROD"}}
    tmp_path.joinpath("app.json").write_text(json.dumps(application_document(application)))
    tmp_path.joinpath("map.json").write_text(json.dumps({**mapping, "application": "app.json"}))
    point = shorthaul_json("dataflow", "schedule", "map.json", cwd=tmp_path)["plan"]["front"][0]
    assert point["binding"] == {"in#0": "p1", "in#1": "p2", "fft": "p3"}
    assert point["channel_decision"] == {"x#0": "PROD", "x#1": "GLOBAL"}
    del mapping["binding"]["in"]
    tmp_path.joinpath("map.json").write_text(json.dumps(mapping))
    incomplete = shorthaul("dataflow", "bound", "app.json", "--mapping", "map.json", cwd=tmp_path)
    assert incomplete.returncode == 2
    assert "map.json: binding: an actor is not bound to a core" in incomplete.stderr
    assert "'in#0'" in incomplete.stderr


@pytest.mark.slow
def test_an_exact_search_that_was_stopped_goes_on_as_if_never_stopped(tmp_path) -> None:
    """What a stop cuts short is not in the journal."""
    file = tmp_path / "journal"
    options = {"decoder": "modulo", "solver_effort": 0.05, "population": 8, "offspring": 4}

    stopped = plan(generators.sobel(), generations=8, search=Search(effort=0.15, journal=file), **options)
    assert 0 < stopped.extra["generations"] < 8
    resumed = plan(generators.sobel(), generations=8, resume=file, **options)
    straight = plan(generators.sobel(), generations=8, **options)
    assert documents(resumed) == documents(straight)


def test_a_search_stopped_in_its_first_generation_answers_with_what_was_decoded(tmp_path) -> None:
    file = tmp_path / "journal"
    late = Search(time_limit=1, started=time.monotonic() - 9, journal=file)
    stopped = plan(generators.sobel4(), polish_effort=0, search=late)
    assert stopped.check.ok
    assert stopped.extra["generations"] == 0
    assert not file.read_bytes()  # going on from there would not be as if never stopped
    whole = plan(generators.sobel4(), generations=0, polish_effort=0)
    assert len(stopped.plan.front) < len(whole.plan.front)
    assert stopped.cost["core_cost"] == whole.cost["core_cost"] == 0.5  # the cheapest mappings come first


def test_polishing_adds_volume_and_counts_its_work() -> None:
    """Whatever else the machine does, on one process or several: the same points, none lost but to better ones."""
    options = {"generations": 8, "population": 16}
    rough = plan(generators.sobel4(), polish_effort=0, search=Search(seed=2, workers=1), **options)
    fronts = [
        plan(generators.sobel4(), polish_effort=0.1, search=Search(seed=2, workers=workers), **options)
        for workers in (1, 2)
    ]
    assert documents(fronts[0]) == documents(fronts[1])
    assert fronts[0].check.ok
    assert fronts[0].plan.hypervolume == rough.plan.hypervolume
    volumes = [found.extra["hypervolume"]["of_front"] for found in (rough, fronts[0])]
    assert volumes[0] == pytest.approx(rough.plan.hypervolume[-1], abs=1e-6)
    assert volumes[1] > volumes[0]
    for point in rough.plan.front:
        assert any(
            all(a <= b for a, b in zip(better.objectives, point.objectives, strict=True))
            for better in fronts[0].plan.front
        )


def test_the_same_effort_gives_the_same_answer_on_any_number_of_threads() -> None:
    """Exploration and polishing share the effort; more of it is never worse."""
    fronts = [
        plan(generators.sobel4(), search=Search(effort=effort, workers=workers))
        for effort, workers in ((0.05, 1), (0.05, 3), (0.25, 1))
    ]
    assert documents(fronts[0]) == documents(fronts[1])
    generations = [front.extra["generations"] for front in fronts]
    assert 0 < generations[0] == generations[1] < generations[2] < 2500
    assert fronts[0].plan.hypervolume == fronts[2].plan.hypervolume[: generations[0] + 1]


def test_polishing_keeps_to_the_number_of_points_and_the_effort() -> None:
    few = plan(generators.sobel4(), generations=10, population=30, front=4, polish_effort=0.1, search=Search(seed=1))
    assert len(few.plan.front) <= 4
    search = Search(seed=1, effort=0.05)
    stopped = plan(generators.sobel4(), generations=10**6, polish_effort=10**5, search=search)
    assert stopped.check.ok
    assert search.spent() < 0.1
    assert stopped.extra["hypervolume"]["of_front"] >= stopped.plan.hypervolume[-1] - 1e-6


@pytest.mark.parametrize(
    ("tile", "core", "place"),
    [("T", "tile_T", "tiles[0].cores[0].id"), ("T", "global", "tiles[0].cores[0].id"), ("NoC", "p", "tiles[0].id"),
     ("T", "h_T", "tiles[0].cores[0].id")],
)  # fmt: skip
def test_names_that_two_resources_would_share_are_refused(tile: str, core: str, place: str) -> None:
    with pytest.raises(InputError, match="share a name") as caught:
        Platform("p", {"t": CoreType(1.0)}, (Tile(tile, (Core(core, "t", 1),), 1, 1.0),), 1.0)
    assert place in str(caught.value)
