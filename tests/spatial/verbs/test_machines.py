"""Machine files, and layouts of several vertices per processor around what is dead."""

from __future__ import annotations

import dataclasses
import itertools
import json
from functools import partial
from pathlib import Path

import msgspec
import networkx as nx
import numpy as np
import pytest
from tests.commands import shorthaul_json
from tests.reference.spatial_twins import lca, random_forest, random_tree, some_machine, ways
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.compiled.random_kernels import Random
from shorthaul.core.errors import InfeasibleError, InputError, NoPlanError
from shorthaul.core.machines.schema import schema
from shorthaul.spatial.bounds.energy import machine_bound
from shorthaul.spatial.formats.files import layout_bytes
from shorthaul.spatial.formats.machines import load_machine, machine_from_text
from shorthaul.spatial.layout.crowd_kernels import anneal_crowd, centre_crowd
from shorthaul.spatial.layout.fabric import crowd_of, send, usable
from shorthaul.spatial.model import Fabric, Load, Tree, tree_from_parents
from shorthaul.spatial.options import METHODS
from shorthaul.spatial.workloads import generators

DOCS = Path(__file__).parents[3] / "docs"
SMALL = {"name": "small", "grid": {"width": 4, "height": 3}, "processor": {"memory_bytes": 100}}


def changed(path: str, value: object) -> str:
    document = json.loads(json.dumps(SMALL))
    *sections, field = path.split(".")
    section = document
    for name in sections:
        section = section.setdefault(name, {})
    section[field] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("name", 3, "name: expected 'str'"),
        ("source", [], "source: expected 'str'"),
        ("grid.width", 0, "grid.width: expected 'int' >= 1"),
        ("grid.height", "3", "grid.height: expected 'int'"),
        ("grid.layers", -1, "grid.layers"),
        ("grid.layers", 2**24, "grid: has too many processors"),
        ("grid.depth", 2, "unknown field 'depth'"),
        ("processor.memory_bytes", 0, "processor.memory_bytes"),
        ("processor.reserved_bytes", 100, "processor.reserved_bytes: leaves no memory"),
        ("processor.dead", [[1, 1], [4, 0]], "processor.dead[1]: lies outside"),
        ("processor.dead", [[1]], "processor.dead[0]"),
        ("processor.dead", [[x, y] for x in range(4) for y in range(3)], "leaves no living processor"),
        ("processor.dead_share", 1, "processor.dead_share"),
        ("processor.dead_seed", -1, "processor.dead_seed"),
        ("network.topology", "ring", "network.topology: invalid enum value 'ring', allowed are mesh"),
        ("network.dead_links", [[[0, 0], [2, 0]]], "network.dead_links[0]: is no link"),
        ("network.dead_links", [[[0, 0], [0, 3]]], "network.dead_links[0][1]: lies outside"),
        ("network.dead_links", [[[0, 0], [3, 0]]], "network.dead_links[0]: is no link"),
        ("network.dead_links", [[[0, 0], [1, 0]]] * 2, "network.dead_links[1]: is no link"),
        ("network.forwards_through_dead", 1, "network.forwards_through_dead"),
        ("dies.width", 2, "dies.crossing_hops is missing"),
        ("dies", {"width": 2, "height": 2, "crossing_hops": 0}, "dies.crossing_hops"),
        ("wires", {}, "unknown field 'wires'"),
    ],
)
def test_a_wrong_field_is_named(path: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        machine_from_text(changed(path, value))
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "? ", "{1: 2}", "a: &x [*x]", "name: b\n\tgrid: 3", "\0"])
def test_what_is_no_machine_file(text: str) -> None:
    with pytest.raises(InputError):
        machine_from_text(text)


def test_the_schema_is_the_one_of_the_reader() -> None:
    assert json.loads((DOCS / "machine.schema.json").read_text()) == msgspec.to_builtins(schema())


def test_the_fields_are_documented() -> None:
    page = (DOCS / "machines.md").read_text()
    for section in schema()["$defs"].values():
        for name in section["properties"]:
            assert f"`{name}`" in page


def test_links_of_a_torus_of_dies_counted_by_hand() -> None:
    text = "{name: t, grid: {width: 4, height: 1}, processor: {memory_bytes: 9, dead: [[2, 0]]}, "
    text += "network: {topology: torus, forwards_through_dead: true}, dies: {width: 2, height: 1, crossing_hops: 5}}"
    fabric = machine_from_text(text)
    assert fabric.living.tolist() == [True, True, False, True]
    assert fabric.links[4:].tolist() == [[1, 5, 1, 5], [5, 1, 5, 1]]
    assert not fabric.links[:4].any()


def test_the_bundled_wafer() -> None:
    fabric = load_machine(Path("wafer-750x994"))
    assert (fabric.cells, fabric.memory_bytes, int((fabric.links > 0).sum())) == (
        745500,
        49152,
        2 * fabric.grid.links // 2,
    )
    with pytest.raises(InputError, match="unknown machine"):
        load_machine(Path("wafer-750x99"))


def some_load(rng: np.random.Generator, n: int) -> Load:
    return Load(rng.integers(1, 5, n).astype(np.int32), rng.integers(1, 4, n).astype(np.int32))


def test_messages_take_shortest_ways_on_links_that_are_not_dead() -> None:
    rng = np.random.default_rng(3)
    for _ in samples(60):
        fabric, tree = some_machine(rng), random_tree(rng)
        load = some_load(rng, tree.n)
        place = rng.choice(np.flatnonzero(usable(fabric)), tree.n).astype(np.int32)
        traffic = send(fabric, tree.parent, place, load.weight, trails=True)
        graph, loads = ways(fabric), np.zeros_like(traffic.loads)
        busy: set[tuple[int, str, int]] = set()
        for v in np.flatnonzero(tree.parent >= 0).tolist():
            source, target = int(place[tree.parent[v]]), int(place[v])
            assert traffic.hops[v] == nx.dijkstra_path_length(graph, source, target, "hops")
            trail = traffic.trail[traffic.starts[v] : traffic.starts[v + 1]].tolist()
            at, length, taken = source, 0, []
            for link in trail:
                way, cell = divmod(link, fabric.cells)
                assert cell == at
                at, length = next(
                    (q, length + edge["hops"]) for _, q, edge in graph.out_edges(cell, data=True) if edge["way"] == way
                )
                loads[way, cell] += load.weight[v]
                taken.append(("link", link))
            assert (at, length) == (target, traffic.hops[v])
            assert (traffic.round[v] < 0) == (not trail)
            if trail:
                for thing in [*taken, ("sends", source), ("receives", target)]:
                    assert (traffic.round[v], *thing) not in busy
                    busy.add((traffic.round[v], *thing))
        np.testing.assert_array_equal(loads, traffic.loads)


def written(path: Path, fabric_text: str) -> Path:
    path.write_text(fabric_text)
    return path


def test_layouts_on_many_machines(tmp_path, monkeypatch) -> None:
    rng, refused = np.random.default_rng(5), []
    for turn in samples(60):
        tree, fabric = random_tree(rng), some_machine(rng)
        monkeypatch.setattr("shorthaul.spatial.verbs.machines.load_machine", lambda _, fabric=fabric: fabric)
        load = some_load(rng, tree.n)
        np.save(tmp_path / "sizes.npy", load.bytes)
        np.save(tmp_path / "weights.npy", load.weight)
        given = {"machine": "some", "sizes": tmp_path / "sizes.npy", "weights": tmp_path / "weights.npy"}
        room = fabric.memory_bytes * usable(fabric).sum()
        try:
            result = engine.plan(tree, refine=0.01, seed=turn, **given)
        except (InfeasibleError, NoPlanError) as error:
            fits = load.bytes.sum() <= room and load.bytes.max() <= fabric.memory_bytes
            refused.append((isinstance(error, NoPlanError), bool(fits)))
            continue
        made = result.extra["machine"]
        assert made["largest_bytes"] <= fabric.memory_bytes
        again = engine.check(tree, result.plan, **given)
        assert again.cost == result.cost
        assert again.check.ok
        assert again.bound.value <= result.cost["energy_hops"]
        others = result.extra["baselines"]
        assert all(row["energy_hops"] >= result.cost["energy_hops"] for row in others)
    assert 0 < len(refused) < 10
    assert all(without_proof == fits for without_proof, fits in refused)


@pytest.mark.costly
@pytest.mark.parametrize("cost", ["link_load", "distance_hops"])
def test_other_objectives_on_a_machine(tmp_path, cost) -> None:
    dead = {"width": 14, "height": 13}, {"memory_bytes": 32, "dead_share": 0.05, "dead_seed": 2}
    found: dict[str, int] = {"energy": 0, "objective": 0}
    grids = dead, ({"width": 6, "height": 6, "layers": 3}, {"memory_bytes": 32})
    for (grid, processor), topology in zip(grids, ("mesh", "torus"), strict=True):
        text = {"name": "m", "grid": grid, "processor": processor, "network": {"topology": topology}}
        given = {"machine": written(tmp_path / "m.yaml", json.dumps(text)), "weights": [1, 2, 1] * 53}
        tree = generators.yule(159, 4)
        plain = engine.plan(tree, effort=0.05, baselines=False, **given)
        objective = "distance" if cost == "distance_hops" else "link-load"
        less = engine.plan(tree, effort=0.1, objective=objective, baselines=False, **given)
        assert less.check.ok
        assert less.bound.value <= less.cost["energy_hops"]
        assert less.cost[cost] <= plain.cost[cost]
        found["energy"] += int(plain.cost[cost])
        found["objective"] += int(less.cost[cost])
    assert found["objective"] <= 0.8 * found["energy"]


def test_vertices_of_all_sizes_fill_the_memory(tmp_path) -> None:
    square = SMALL | {"grid": {"width": 10, "height": 10}, "processor": {"memory_bytes": 1000}}
    machine = written(tmp_path / "m.json", json.dumps(square))
    rng = np.random.default_rng(3)
    for largest, share in ((600, 0.9), (1000, 0.9), (300, 0.95)):
        sizes = rng.integers(1, largest + 1, 1000)
        sizes = sizes[np.cumsum(sizes) < share * 100 * 1000]
        tree = generators.random_recursive(len(sizes), 1)
        made = engine.plan(tree, machine=machine, sizes=sizes, refine=0.01, baselines=False)
        assert made.extra["machine"]["largest_bytes"] <= 1000
        again = engine.check(tree, made.plan, machine=machine, sizes=sizes.tolist(), weights=[2] * tree.n)
        assert again.cost["energy_hops"] == 2 * made.cost["energy_hops"]
        assert engine.bound(tree, machine=machine, sizes=sizes).bound.value <= made.cost["energy_hops"]


def test_what_the_check_refuses() -> None:
    text = changed("processor.dead", [[1, 0]])
    tree = tree_from_parents([-1, 0, 0])

    def rules(tmp: str, **places: list[int]) -> set[str]:
        x, y = (np.array(places[axis], np.int32) for axis in "xy")
        layout = engine.Layout(tree.parent, x, y, engine.Grid(4, 3))
        from shorthaul.spatial.check.machine_replay import check_on_machine

        load = Load(np.array([40, 40, 40], np.int32), np.ones(3, np.int32))
        return {violation.rule for violation in check_on_machine(layout, tree, machine_from_text(tmp), load).violations}

    assert rules(text, x=[0, 2, 2], y=[0, 0, 0]) == set()
    assert rules(text, x=[0, 1, 2], y=[0, 0, 0]) == {"dead-processor"}
    assert rules(text, x=[0, 4, 2], y=[0, 0, 0]) == {"outside-grid"}
    assert rules(text, x=[2, 2, 2], y=[0, 0, 0]) == {"memory-exceeded"}
    walled = changed("processor.dead", [[1, 0], [1, 1], [1, 2]])
    assert rules(walled, x=[0, 2, 2], y=[0, 0, 0]) == {"no-way"}


def least_energy(tree: Tree, load: Load, fabric: Fabric, most: int) -> int | None:
    """The least energy of all placements, the slow way."""
    graph = ways(fabric)
    hops = dict(nx.all_pairs_dijkstra_path_length(graph, weight="hops"))
    best = None
    for place in itertools.product(np.flatnonzero(usable(fabric)).tolist(), repeat=tree.n):
        count, used = np.bincount(place), np.bincount(place, weights=load.bytes)
        if count.max() <= most and used.max() <= fabric.memory_bytes:
            energy = sum(
                hops[place[p]][place[v]] * load.weight[v] for v, p in enumerate(tree.parent.tolist()) if p >= 0
            )
            best = energy if best is None else min(best, energy)
    return best


def test_no_placement_beats_the_bound() -> None:
    rng = np.random.default_rng(8)
    met = 0
    for _ in samples(40):
        fabric, tree = some_machine(rng, 2), random_tree(rng, 5)
        load, most = some_load(rng, tree.n), int(rng.integers(1, 4))
        least = least_energy(tree, load, fabric, most)
        if least is not None:
            bound = machine_bound(tree, load, fabric, most).value
            assert bound <= least
            met += bound == least
    assert 4 * met > len(samples(40))


def test_the_best_of_several_vertices_per_processor_counted_by_hand(tmp_path) -> None:
    file = written(tmp_path / "small.yaml", json.dumps(SMALL))
    whole = engine.plan(generators.path(6), machine=file)  # 16 bytes each, six of them on one processor
    assert whole.cost["energy_hops"] == 5 - 0  # one each: they all fit
    packed = engine.plan(generators.path(6), machine=file, per_processor=3)
    assert (packed.cost["energy_hops"], packed.bound.value, packed.status) == (1, 1, "optimal")
    star = engine.plan(generators.star(24), machine=file)
    assert star.extra["machine"]["per_processor"] == 2
    assert star.cost["energy_hops"] >= star.bound.value == 1 * 8 + 2 * 14


def test_small_layouts_around_dead_links_are_the_best(tmp_path) -> None:
    """Rings, meshes and layers with dead links, on which all layouts are tried."""
    rng = np.random.default_rng(3)
    for _ in samples(32):
        width, height, layers = ((3, 2, 1), (5, 1, 1), (3, 1, 2))[rng.integers(3)]
        dead = [[[x, 0, 0], [x + 1, 0, 0]] for x in range(width - 1)][rng.integers(2) :][:1]
        dead += [[[x, 0, 0], [x, 0, 1]] for x in range(1, width)] if layers > 1 else []
        network = {"topology": str(rng.choice(["mesh", "torus"])), "dead_links": dead}
        grid = {"width": width, "height": height, "layers": layers}
        file = written(tmp_path / "some.yaml", json.dumps(SMALL | {"grid": grid, "network": network}))
        fabric, tree = load_machine(file), generators.random_recursive(5, int(rng.integers(99)))
        most, one = int(rng.integers(1, 3)), np.ones(tree.n, np.int32)
        least = least_energy(tree, Load(one, one), fabric, most)
        if least is not None:
            found = engine.plan(tree, machine=file, vertex_bytes=1, per_processor=most, effort=0.05)
            assert found.cost["energy_hops"] == least


def delivered(routes: dict[str, np.ndarray], place: np.ndarray) -> int:
    """Play exported routes: each vertex' number goes to its children, round by round; return the number of colours."""
    width, height, _ = routes["machine"].tolist()
    cells, got = width * height, np.full(len(place), -1)
    taken: set[tuple[int, int]] = set()
    for turn in range(-1, routes["round"].max() + 1):
        busy: set[tuple[str, int]] = set()
        for v in np.flatnonzero((routes["round"] == turn) & (routes["parent"] >= 0)).tolist():
            here = int(place[routes["parent"][v]])
            links = routes["link"][routes["starts"][v] : routes["starts"][v + 1]].tolist()
            things = (
                [("sends", here), ("receives", int(place[v])), *(("link", link) for link in links)] if links else []
            )
            routers = {here}
            for link in links:
                way, p = divmod(link, cells)
                assert p == here
                here = p + {2: width, 3: -width, 4: 1, 5: -1}[way]
                routers.add(here)
            assert here == place[v]
            assert not busy & set(things)
            busy |= set(things)
            if links:
                coloured = {(int(routes["colour"][v]), router) for router in routers}
                assert not taken & coloured
                taken |= coloured
            got[v] = routes["parent"][v]
    assert (got == routes["parent"]).all()
    return max(colour for colour, _ in taken) + 1


def test_export(tmp_path) -> None:
    file = written(tmp_path / "m.yaml", changed("processor.dead", [[1, 1]]))
    tree = ["yule:n=41,seed=1", "--machine", file.name]
    document = shorthaul_json(
        "spatial",
        "plan",
        *tree,
        "--refine",
        "0.01",
        "-o",
        "layout.npz",
        "--table",
        "t.csv",
        "--routes",
        "r.npz",
        cwd=tmp_path,
    )
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0] == "x,y,z,living,vertices,bytes,sent,received,link_load,held"
    held = [line.split(",")[-1].split() for line in lines[1:]]
    assert sorted(int(v) for cell in held for v in cell) == list(range(41))
    assert lines[6].startswith("1,1,0,0,0,0,0,0,0")
    routes = np.load(tmp_path / "r.npz")
    assert len(routes["link"]) == document["cost"]["energy_hops"]
    assert document["machine"]["rounds"] == routes["round"].max() + 1 >= document["cost"]["link_load"]
    layout = np.load(tmp_path / "layout.npz")
    colours = delivered({**routes}, layout["y"] * 4 + layout["x"])
    assert document["machine"]["colours"] == colours <= 24
    again = shorthaul_json(
        "spatial", "check", "yule:n=41,seed=1", "layout.npz", "--machine", "m.yaml", "--table", "t.npz", cwd=tmp_path
    )
    assert again["cost"] == document["cost"]
    table = np.load(tmp_path / "t.npz")
    assert (table["bytes"] == 16 * table["vertices"]).all()


def test_runs_on_many_machines(monkeypatch) -> None:
    # Every message is replayed on ways that the checker finds itself.
    rng, methods = np.random.default_rng(15), itertools.cycle(METHODS)
    for turn in samples(30):
        tree = random_tree(rng, 40) if turn % 3 else random_forest(rng)
        fabric = dataclasses.replace(some_machine(rng), memory_bytes=8000)
        monkeypatch.setattr("shorthaul.spatial.verbs.machines.load_machine", lambda _, fabric=fabric: fabric)
        how = {"machine": "some", "method": next(methods), "refine": 0.001 * (turn % 2)}
        for op, direction in (("sum", "up"), ("affine", "down")):
            values = rng.integers(0, 1000, (tree.n, 2) if op == "affine" else tree.n)
            run = engine.treefix(tree, values, op=op, direction=direction, **how)
            assert run.check.ok
            assert run.check.details["messages_replayed"]
            assert run.bound.value <= run.cost["energy_hops"]
            assert run.extra["machine"]["largest_bytes"] <= 8000
        queries = rng.integers(0, tree.n, (9, 2))
        found = engine.lca(tree, queries, barriers=turn % 5 == 0, **how)
        assert found.check.ok
        expected = [lca(tree.parent.tolist(), u, v) for u, v in queries.tolist()]
        assert found.plan.arrays["ancestor"].tolist() == expected


def test_a_machine_without_faults_is_a_grid(tmp_path) -> None:
    tree = generators.yule(63, 1)
    layout, machine = tmp_path / "layout.npz", tmp_path / "m.json"
    layout.write_bytes(layout_bytes(engine.plan(tree, refine=0, grid="8x8").plan))
    wide = {"name": "grid", "grid": {"width": 8, "height": 8}, "processor": {"memory_bytes": 8 * 96}}
    wide["network"] = {"link_bytes_per_s": 4e9, "pj_per_byte": 0.5}
    machine.write_text(json.dumps(wide))
    for method in METHODS[1:]:
        runs = [engine.treefix(tree, layout=layout, method=method, machine=given) for given in (None, machine)]
        hops, _, longest, busiest = dict(runs[0].cost).values()
        told = {"traffic_bytes": 8 * hops, "energy_j": 4e-12 * hops, "distance_s": 2e-9 * longest}
        told |= {"link_load_s": 2e-9 * busiest, "latency_s": 2e-9 * runs[0].extra["cycles"]}
        assert dict(runs[1].cost) == pytest.approx(dict(runs[0].cost) | told)
        assert runs[1].bound.details["value_j"] == pytest.approx(4e-12 * runs[1].bound.value)
        for name in ("cycles", "rounds", "messages", "messages_per_processor", "words_per_processor"):
            assert runs[0].extra[name] == runs[1].extra[name]
    layout.write_bytes(layout_bytes(engine.plan(tree, refine=0, grid="8x8", order="random").plan))
    as_given, refined = (engine.treefix(tree, layout=layout, machine=machine, refine=more) for more in (0, 0.2))
    assert refined.cost["energy_hops"] < 0.6 * as_given.cost["energy_hops"]


def test_runs_refused_on_a_machine(tmp_path) -> None:
    written(tmp_path / "m.yaml", json.dumps(SMALL))
    (tmp_path / "layout.npz").write_bytes(layout_bytes(engine.plan("path:n=13", refine=0, grid="13x1").plan))
    machine = {"machine": tmp_path / "m.yaml"}
    for given, said in (
        ({"per_processor": 2}, "per_processor: is for machines"),
        ({**machine, "words": 50}, "words: cannot be combined with machine"),
        ({**machine, "grid": "4x4"}, "grid: cannot be combined with machine"),
        ({**machine, "restarts": 2}, "restarts: cannot be combined with machine"),
        ({**machine, "layout": tmp_path / "layout.npz"}, "outside the machine"),
        ({**machine, "method": "rake-compress"}, "memory of a processor"),
    ):
        for run in (engine.treefix, partial(engine.lca, random=5)):
            with pytest.raises((InputError, InfeasibleError)) as caught:
                run("path:n=13", **given)
            assert said in str(caught.value)


def test_errors(tmp_path) -> None:
    written(tmp_path / "m.yaml", json.dumps(SMALL))
    (tmp_path / "w.txt").write_text("0\n" * 41)
    machine = {"machine": tmp_path / "m.yaml"}
    for given, said in (
        ({"per_processor": 2}, "per_processor: is for machines"),
        ({"weights": tmp_path / "w.txt"}, "weights: is for machines"),
        ({"weights": [1] * 41}, "weights: is for machines"),
        ({**machine, "weights": [1] * 40 + [0]}, "weights[40]: is out of range"),
        ({**machine, "sizes": np.ones(41)}, "sizes: are not integers"),
        ({**machine, "sizes": [1, 2]}, "sizes: does not match the tree"),
        ({"machine": tmp_path / "no.yaml"}, "no such file"),
        ({**machine, "grid": "4x4"}, "grid: cannot be combined with machine"),
        ({**machine, "create": True, "sizes": "s.npy"}, "create: is for vertices of one size"),
        ({**machine, "curve": "snake"}, "curve: cannot be combined"),
        ({**machine, "table": tmp_path / "t.txt"}, ".csv, .npz"),
        ({**machine, "per_processor": 2}, "at least --per-processor 4"),
        ({**machine, "vertex_bytes": 101}, "memory of a processor in bytes: 101 needed, the limit is 100"),
        ({**machine, "vertex_bytes": 30}, "at most 25 bytes per vertex"),
        ({**machine, "weights": tmp_path / "w.txt"}, "1 to 2147483647"),
    ):
        with pytest.raises((InputError, InfeasibleError, NoPlanError)) as caught:
            engine.plan("yule:n=41", **given)
        assert said in str(caught.value)
    with pytest.raises(InfeasibleError, match="processors, with 2 vertices on each: 21 needed"):
        engine.plan("yule:n=41", **machine, per_processor=2)


def test_a_vertex_of_many_neighbours_moves_to_their_middle() -> None:
    """A star whose centre is in a corner, once beside a dead middle, once on a full grid; the hops are those saved."""
    tree = tree_from_parents(np.array([-1] + [0] * 24, np.int32))
    one, numbers = np.ones(25, np.int32), np.arange(25, dtype=np.int32)
    for rest, places in (
        ("{memory_bytes: 2, dead: [[2, 2]]}", [c for c in range(25) if c != 12]),
        ("{memory_bytes: 1}", None),
    ):
        fabric = machine_from_text(f"{{name: square, grid: {{width: 5, height: 5}}, processor: {rest}}}")
        place = numbers if places is None else np.array([0, *places], np.int32)
        crowd = crowd_of(tree, Load(one, one), fabric, place, 2, numbers)
        before = np.abs(place[1:] % 5 - place[0] % 5).sum() + np.abs(place[1:] // 5 - place[0] // 5).sum()
        centre_crowd(crowd, np.zeros(1, np.int32))
        after = np.array(crowd.place)
        hops = np.abs(after[1:] % 5 - after[0] % 5).sum() + np.abs(after[1:] // 5 - after[0] // 5).sum()
        assert crowd.grown == hops - before
        assert hops == (60 if places is None else 64)


def test_of_a_full_processor_the_vertex_that_gains_most_makes_room() -> None:
    """Two joined stars of four on two processors for four each; one leaf of each is with the other star."""
    tree = tree_from_parents(np.array([-1, 0, 0, 0, 0, 4, 4, 4], np.int32))
    fabric = machine_from_text("{name: two, grid: {width: 2, height: 1}, processor: {memory_bytes: 4}}")
    one, numbers = np.ones(8, np.int32), np.arange(8, dtype=np.int32)
    for seed in range(20):
        crowd = crowd_of(tree, Load(one, one), fabric, np.array([0, 0, 0, 1, 1, 1, 1, 0], np.int32), 4, numbers)
        anneal_crowd(crowd, Random(seed), np.zeros(64, np.uint64), (3, 4), 500.0)
        assert crowd.grown == -2
        assert np.array(crowd.place).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("objective", "cost"), [("energy", "energy_hops"), ("distance", "distance_hops")])
def test_large_messages_are_laid_out_as_well_as_small_ones(tmp_path: Path, objective: str, cost: str) -> None:
    text = "{name: wide, grid: {width: 30, height: 30}, processor: {memory_bytes: 64}}"
    machine = written(tmp_path / "m.yaml", text)
    for seed in (1, 2):
        one, many = (
            engine.plan(
                f"random-recursive:n=200,seed={seed}", machine=machine, weights=[size] * 200, effort=0.2, seed=1,
                per_processor=1, baselines=False, objective=objective,
            ).cost[cost]
            for size in (1, 1000)
        )  # fmt: skip
        assert many <= (1.03 * 1000 * one if objective == "energy" else one + 2), (one, many)
