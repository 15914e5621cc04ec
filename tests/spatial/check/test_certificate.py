"""Certificates of bounds on energy: true ones hold, others prove no more than layouts take, and errors name the place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import shorthaul as command
from tests.reference.falsified import changed_numbers, put
from tests.reference.spatial_twins import random_forest
from tests.samples import ALL, samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.check.certificate import Room, verify
from shorthaul.spatial.check.rooted import Rooted
from shorthaul.spatial.formats.machines import load_machine
from shorthaul.spatial.model import Grid, Load, Tree, tree_from_parents
from shorthaul.spatial.workloads import generators

#: More than any bound proves.
ANY = 10**9
#: For each kind a tree and a grid whose bound it proves.
PROVEN_BY = {
    "edges": (generators.path(30), Grid(6, 5)),
    "growth on a line": (generators.star(63), Grid(63, 1)),
    "growth": (tree_from_parents([-1, *((v - 1) // 6 for v in range(1, 140))]), Grid(12, 12)),
    "growth of stars": (tree_from_parents([-1, *[0] * 12, *[1] * 12, *[2] * 12, *[3] * 12]), Grid(9, 9)),
    "growth of parts": (generators.perfect_binary(255), Grid(16, 16)),
}


def proven(tree: Tree, grid: Grid, certificate: Mapping[str, Any]) -> float:
    """Return what a certificate comes to, by stating far more; -1 if it is wrong."""
    kind = certificate["kind"]
    bound = {"of": "energy_hops", "value": ANY, "method": kind, "certificate": certificate}
    violations, _ = verify(tree, bound, grid)
    assert len(violations) == 1
    return -1.0 if violations[0].available is None else violations[0].available


def any_parts(rng: np.random.Generator, rooted: Rooted, tops: list[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Return parts of a tree with these tops: their reaches, and those of others that are not regular."""
    reach, irregular = [-1] * len(rooted.parent), []
    for v in rooted.order:
        a = reach[rooted.parent[v]] if rooted.parent[v] >= 0 else -1
        if v in tops:
            reach[v] = int(rng.integers(1, rooted.height[v] + 1))
        elif a >= 0 and rng.random() < 0.2:
            reach[v] = int(rng.integers(-1, min(a + 1, rooted.height[v]) + 1))
            irregular.append([v, reach[v]])
        elif a > 0:
            reach[v] = min(a - 1, rooted.height[v])
    return [[v, reach[v]] for v in tops], irregular


@pytest.mark.parametrize("argument", PROVEN_BY)
def test_each_argument_has_a_certificate(argument: str) -> None:
    bound = energy_bound(*PROVEN_BY[argument])
    kind = argument.split(maxsplit=1)[0]
    assert (bound.method, bound.details["certificate"]["kind"]) == (kind, kind)
    assert proven(*PROVEN_BY[argument], bound.details["certificate"]) == bound.value


def test_longest_edge_and_link_load_are_verified() -> None:
    rng = np.random.default_rng(7)
    for _ in samples(48):
        n = int(rng.integers(1, 60))
        tree = random_forest(rng, n) if rng.random() < 0.3 else generators.preferential_attachment(n, 1 + n)
        width = int(rng.integers(1, n + 2))
        grid = Grid(width, -(-n // width) + int(rng.integers(2)))
        bound = energy_bound(tree, grid).document()
        assert verify(tree, bound, grid)[0] == []
        for name in ("distance_hops", "link_load"):
            violations, _ = verify(tree, {**bound, name: bound[name] + 1}, grid)
            assert [(one.place, one.available) for one in violations] == [(f"bound.{name}", bound[name])]


def test_true_certificates_hold() -> None:
    rng = np.random.default_rng(5)
    weighed = 0
    for _ in samples(40):
        degree = int(rng.integers(2, 7))
        parent = [-1, *((v - 1) // int(rng.integers(2, degree + 1)) for v in range(1, int(rng.integers(2, 400))))]
        names = rng.permutation(len(parent)).astype(np.int32)
        shuffled = np.full(len(parent), -1, np.int32)
        shuffled[names[1:]] = names[parent[1:]]
        side = int(np.ceil(len(parent) ** 0.5))
        grid = Grid(side, side) if rng.random() < 0.7 else Grid(4, -(-len(parent) // 4))
        bound = energy_bound(tree_from_parents(parent), grid, names)
        assert proven(tree_from_parents(shuffled), grid, bound.details["certificate"]) >= bound.value
        weighed += bound.method == "growth" and bool(bound.details["certificate"]["layers"])
    assert weighed
    forest = random_forest(np.random.default_rng(1), 60)
    bound = energy_bound(forest, Grid(8, 8))
    assert proven(forest, Grid(8, 8), bound.details["certificate"]) >= bound.value


def any_hub(rng: np.random.Generator, tree: Tree) -> list[Any]:
    """A vertex, the least cap, and vertices around it that are joined to it."""
    rooted = Rooted(tree, [top := int(rng.integers(tree.n))])
    kept, below = {top}, [0] * tree.n
    kept.update(v for v in rooted.order if rooted.parent[v] in kept and rng.random() < 0.8)
    for v in reversed(rooted.order[1:]):
        below[v] += v in kept
        below[rooted.parent[v]] += below[v]
    return [top, max(1, *(below[v] for v in rooted.kids[top])), sorted(kept - {top})]


@pytest.mark.parametrize("each", [1, 2])
def test_no_certificate_proves_more_than_a_layout_takes(each: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    tight = 0
    file, where, given = tmp_path / "ring.json", Grid(5, 4), {"grid": "5x4"}
    if each > 1:
        machine = {"grid": {"width": 5, "height": 2}, "processor": {"memory_bytes": 32}}
        file.write_text(json.dumps({"name": "ring", **machine, "network": {"topology": "torus"}}))
        bytes_each, one = np.full(20, 16, np.int32), np.ones(20, np.int32)
        where, given = Room(load_machine(file), Load(bytes_each, one), each), {"machine": str(file)}
    for _ in samples(6):
        degree = int(rng.integers(3, 8))
        tree = tree_from_parents([-1, *(min(v - 1, (v - 1) // degree + v % 2) for v in range(1, 20))])
        energy = engine.plan(tree, **given, refine=0.02, baselines=False).cost["energy_hops"]
        for turn in range(60):
            rooted = Rooted(tree, [int(rng.integers(tree.n))])
            some = [v for v in range(tree.n) if rooted.height[v] and rng.random() < 0.15]
            upward = [v for v in range(tree.n) if rooted.parent[v] >= 0 and rng.random() < 0.3]
            tops, reaches = any_parts(rng, rooted, some)
            weights = [[v, 1 / (2 * t - 1)] for v, t in tops]
            sums = [[v, 1 / int(rng.integers(1, rooted.size[v]))] for v in some]
            below = {"roots": rooted.order[:1]}
            longer = [[some[0], 1.0]] if some and turn % 2 else []
            parts = {"tops": tops, "reaches": reaches, "weights": weights, "upward": upward}
            layers = [{"shares": [[int(rooted.order[0]), share]], **parts} for share in (1.0, *rng.random(turn % 4))]
            some_of_all = {"sums": sums, "longer": longer, "upward": upward, "layers": layers[1:]}
            parts_alone = {"sums": [], "longer": [], "upward": upward, "layers": layers[:1]}
            hubs_alone = {"sums": [], "longer": [], "upward": [], "layers": [], "hubs": [any_hub(rng, tree)]}
            alone = (some_of_all, parts_alone, hubs_alone)
            certificates = ({"kind": "growth", **one, **below} for one in alone)
            found = max(proven(tree, where, certificate) for certificate in certificates)
            assert found <= energy
            tight += found > (tree.n - 1) // each
    assert tight > 10


@pytest.mark.parametrize("argument", [argument for argument in PROVEN_BY if "growth" in argument])
def test_changed_certificates_prove_no_more(argument: str) -> None:
    tree, grid = PROVEN_BY[argument]
    bound = energy_bound(tree, grid)
    certificate = bound.details["certificate"]
    places = list(changed_numbers(certificate))
    for place, other in [places[at] for at in range(0, len(places), max(1, len(places) // (25 if ALL else 12)))]:
        assert proven(tree, grid, put(certificate, place, other)) <= bound.value
        for wrong in ("vertex", None, [], -1, True):
            assert proven(tree, grid, put(certificate, place, wrong)) < bound.value
    for key in {*certificate} - {"kind"}:
        for wrong in ("all", None, [[]], [1.5], {"1": 1}):
            assert proven(tree, grid, {**certificate, key: wrong}) == -1


def test_the_command_verifies_bounds(tmp_path: Path) -> None:
    path = tmp_path / "bound.json"
    document = engine.bound("star:n=40", grid="7x6").document()
    document["bound"]["value"] += 1
    path.write_text(json.dumps(document))
    done = command("spatial", "check", "star:n=40", "--bound", str(path))
    assert done.returncode == 1
    assert "bound.value" in done.stdout + done.stderr
    assert "growth verified: energy_hops" in done.stdout + done.stderr


def test_plans_hold_the_certificate_in_the_numbers_of_the_input(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(3), tmp_path / "plan.json"
    names = rng.permutation(100)
    parent = np.full(100, -1)
    parent[names[1:]] = names[(np.arange(1, 100) - 1) // 3]
    result = engine.plan(parent, refine=0)
    path.write_text(json.dumps(result.document()))
    checked = engine.check(parent, result.plan, bound=path)
    assert checked.check.ok
    assert checked.cost == result.cost
    assert "verified" in checked.check.remarks[1]
    document = json.loads(path.read_text())
    document["bound"]["value"] = ANY
    path.write_text(json.dumps(document))
    found = engine.check(parent, result.plan, bound=str(path))
    assert (found.status, found.check.violations[0].place) == ("invalid", "bound.value")


@pytest.mark.parametrize("parent", [[], [-1]], ids=["tree", "forest"])
def test_what_a_search_proved_is_searched_again(tmp_path: Path, parent: list[int]) -> None:
    path, tree = tmp_path / "plan.json", [*generators.perfect_binary(15).parent.tolist(), *parent]
    result = engine.plan(tree, exact=True, grid="4x4", refine=0.02, forest=bool(parent))
    assert (result.bound.value, result.bound.method) == (16, "exact")
    path.write_text(json.dumps(result.document()))
    found = engine.check(tree, bound=str(path), forest=bool(parent)).check
    assert found.ok
    told = "taken as it is" if parent else "verified by a search of its own"
    assert f"exact {told}" in "; ".join(found.remarks)
    path.write_text(json.dumps({**result.document(), "bound": {**result.bound.document(), "value": 17}}))
    assert engine.check(tree, bound=str(path), forest=bool(parent)).check.ok is bool(parent)
    violations = engine.check(tree, result.plan, bound=str(path), forest=bool(parent)).check.violations
    assert {one.message for one in violations} >= {"the layout takes less than the bound"}
    assert any("a layout takes less" in one.message for one in violations) or parent


@pytest.mark.parametrize(("per_processor", "kind"), [(3, "cuts"), (2, "growth"), (1, "growth")])
def test_bounds_on_machines_are_verified(tmp_path: Path, per_processor: int, kind: str) -> None:
    path, tree = tmp_path / "bound.json", generators.star(30)
    given = {"machine": "wafer-750x994", "weights": [2] * 15 + [3] * 15}
    tree = generators.path(30) if kind == "cuts" else tree
    result = engine.bound(tree, per_processor=per_processor, **given)
    assert result.bound.method == kind
    path.write_text(json.dumps(result.document()))
    assert engine.check(tree, bound=str(path), **given).check.ok
    assert not engine.check(tree, bound=str(path), machine="wafer-750x994").check.ok  # lighter messages
    with pytest.raises(InputError, match="give machine wafer-750x994"):
        engine.check(tree, bound=str(path))
    if kind == "growth":
        path.write_text(json.dumps({**result.document(), "bound": {**result.bound.document(), "per_processor": 4}}))
        assert not engine.check(tree, bound=str(path), **given).check.ok  # more room


def test_wrong_documents_name_the_place(tmp_path: Path) -> None:
    path, tree = tmp_path / "bound.json", generators.star(40)
    document = engine.bound(tree).document()
    bound = document["bound"]
    for change, place in (
        ({"bound": None}, "bound"),
        ({"bound": {**bound, "certificate": None}}, "bound.certificate"),
        ({"bound": {**bound, "certificate": {"kind": "luck"}}}, "bound.certificate.kind"),
        ({"bound": {**bound, "of": "depth"}}, "bound.of"),
        ({"bound": {**bound, "method": "edges"}}, "bound.method"),
        ({"bound": {**bound, "value": True}}, "bound.value"),
        ({"vertices": 41}, "vertices"),
        ({"grid": [40]}, "grid"),
        ({"provenance": {}}, "provenance.options.machine"),
    ):
        path.write_text(json.dumps({**document, **change}))
        with pytest.raises(InputError, match=f"{path.name}: {place}"):
            engine.check(tree, bound=str(path))
    with pytest.raises(InputError, match="nothing to check"):
        engine.check(tree)
    with pytest.raises(InputError, match="no tree"):
        engine.check(None)
