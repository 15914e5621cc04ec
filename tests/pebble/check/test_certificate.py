from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import shorthaul as command
from tests.pebble.bounds.test_crossing import small
from tests.pebble.families import grid, shuffled
from tests.reference.falsified import changed_numbers, put
from tests.samples import samples

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.graphs.csr import layers
from shorthaul.pebble.bounds.crossings import crossing
from shorthaul.pebble.check.certificate import verify
from shorthaul.pebble.exact import priced_search
from shorthaul.pebble.local_search.sequences import Game
from shorthaul.pebble.model import LARGEST_TOTAL, Cdag, Terms, build
from shorthaul.pebble.states.layered_search import layered
from shorthaul.pebble.workloads import kernels_as_graphs

FFT, BUDGET = kernels_as_graphs.fft(n=64, word=1), 8
USUAL = Terms()
#: More than any bound proves.
ANY = 10**18


def proven(
    cdag: Cdag, parts: list[Any], budget: int, *, of: str = "traffic", recompute: bool = False, terms: Terms = USUAL
) -> float:
    """Return what a certificate comes to, by stating far more; -1 if it is wrong."""
    bound = {"of": of, "value": ANY, "certificate": {"parts": [{"kind": "algorithmic"}, *parts]}}
    violations, _ = verify(cdag, bound, budget, recompute=recompute, terms=terms)
    if violations[0].place != "bound.value":
        return -1
    assert len(violations) == 1
    assert violations[0].available is not None
    return violations[0].available


def of_crossings(cdag: Cdag, budget: int, effort: float = 0.3) -> tuple[int, list[dict[str, Any]]]:
    found = crossing.excess(cdag, budget, search=Search(effort=effort))
    parts = [
        {**part, "share": [share.numerator, share.denominator]}
        for piece, share in found.pieces
        if piece.shown
        for part in piece.shown(cdag)
    ]
    return cdag.algorithmic_bound() + found.excess, parts


def test_true_certificates_hold() -> None:
    rng = np.random.default_rng(0)
    graphs = [grid(5, 5, 4), kernels_as_graphs.fft(n=64, word=1), grid(4, 7, 6), kernels_as_graphs.stencil(n=20, t=12)]
    shuffles = [shuffled(build(rng.integers(1, 4, one.n), *one.edge_arrays()), rng) for one in graphs]
    kinds = set()
    for number, cdag in enumerate([*graphs[:2], *shuffles[2:], *(small(rng) for _ in samples(80))]):
        budget = cdag.least_budget() + int(rng.integers(0, 3))
        value, parts = of_crossings(cdag, budget)
        assert proven(cdag, parts, budget) >= value, number
        kinds |= {part["around"] is None for part in parts}
    assert kinds == {False, True}


def drawn(cdag: Cdag, rng: np.random.Generator) -> dict[str, Any]:
    """Return paths, drawn backwards, to nodes of one depth, around a node or none: often no certificate."""
    depth = layers(cdag.children, cdag.order)
    level = np.flatnonzero(depth == rng.integers(1, depth.max() + 1))
    ends = rng.choice(level, min(len(level), int(rng.integers(2, 6))), replace=False).tolist()
    around = int(rng.integers(cdag.n)) if rng.random() < 0.3 else None
    free = set(range(cdag.n)) - set(ends) - {around}
    paths = []
    for _ in range(12):
        path, length = [int(rng.choice(ends))], int(rng.integers(2, 5))
        while len(path) < length:
            ways = sorted(free.intersection(cdag.parents.neighbours(path[0]).tolist()))
            if not ways:
                break
            path.insert(0, int(rng.choice(ways)))
            free.discard(path[0])
        paths += [path] if len(path) > 1 else []
    return {"kind": "crossing", "around": around, "paths": paths}


def accepted_below_optima(seeds: range) -> tuple[int, int]:
    """Return how many certificates drawn were accepted that say anything, and how many of the true ones changed."""
    random = changed = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = small(rng)
        budget = cdag.least_budget() + int(rng.integers(0, 2))
        _, found = of_crossings(cdag, budget)
        tries = [[drawn(cdag, rng)] for _ in range(60)]
        for _ in range(20 if found else 0):
            copy = json.loads(json.dumps(found))
            part = copy[int(rng.integers(len(copy)))]
            path = part["paths"][int(rng.integers(len(part["paths"])))]
            path[int(rng.integers(len(path)))] = int(rng.integers(cdag.n))
            tries.append(copy)
        claims = [proven(cdag, parts, budget) - cdag.algorithmic_bound() for parts in tries]
        if max(claims) > 0:
            least = layered(cdag, budget, limit=10**9, search=Search()).excess
            assert least is not None
            assert max(claims) <= least, seed
            random += max(claims[:60]) > 0
            changed += max(claims[60:], default=0) > 0
    return random, changed


def test_no_certificate_that_is_accepted_exceeds_an_optimum() -> None:
    random, changed = accepted_below_optima(range(15))
    assert random > 1
    assert changed > 1


@pytest.mark.slow
def test_no_certificate_that_is_accepted_exceeds_an_optimum_on_thousands() -> None:
    assert accepted_below_optima(range(1000, 4000))[0] > 50


@pytest.mark.parametrize(
    "name", ["stencil:n=12,t=6,word=1", pytest.param("matmul:m=4,n=4,k=4,word=1", marks=pytest.mark.slow)]
)
def test_memories_that_hold_all_values_leave_nothing_to_move(name: str) -> None:
    cdag = shorthaul.pebble.case(name).workload
    heavy = replace(cdag, weights=cdag.weights * (LARGEST_TOTAL // int(cdag.weights.sum())))
    for seen in (cdag, heavy):
        known, least = seen.algorithmic_bound(), seen.least_budget()
        parts = shorthaul.pebble.bound(seen, budget=least, effort=0.2).bound.details["certificate"]["parts"][1:]
        for budget in (2**46, 2**58, 2**60):  # some products of these and charges exceed 64 bits
            assert shorthaul.pebble.bound(seen, budget=budget, effort=0.1).bound.value == known
            assert all(proven(seen, [part], budget) in (-1, known) for part in parts)


def priced_below_optima(seeds: range) -> int:
    lifted = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        cdag = kernels_as_graphs.fft(n=4, word=1) if seed % 2 else grid(1, 3, 3)
        cdag = build(rng.integers(1, 3, cdag.n), *cdag.edge_arrays(), compute=rng.integers(0, 3, cdag.n))
        terms = Terms(*rng.integers(0, 4, 2).tolist(), bool(rng.integers(2)), bool(rng.integers(2)))
        budget = int(terms.needs(cdag).max())
        told = max(proven(cdag, [drawn(cdag, rng)], budget, of="total", terms=terms) for _ in range(60))
        if told <= terms.least(cdag):
            continue
        done = priced_search.solve(Game(cdag, budget, False, terms), limit=2**40, search=Search(effort=2))
        assert done.is_complete
        if done.events is not None:
            assert told <= done.least, seed
            lifted += 1
    return lifted


def test_certificates_hold_with_prices_in_order_and_in_place() -> None:
    assert priced_below_optima(range(10)) > 0


def falsified(parts: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a certificate of the butterfly with one thing changed, by what that is."""
    found: dict[str, list[dict[str, Any]]] = {}

    def changed(name: str) -> list[list[int]]:
        found[name] = json.loads(json.dumps(parts))
        paths: list[list[int]] = found[name][0]["paths"]
        return paths

    paths = changed("a node that there is not")
    paths[0][0] = FFT.n
    paths = changed("no edge")
    del paths[0][1]
    paths = changed("a path twice")
    paths.append(paths[0])
    paths = changed("through a later node")
    paths[1][-1] = paths[0][-2]
    paths = changed("in two parts")
    found["in two parts"].append(found["in two parts"][0])
    paths = changed("not needed by all")
    last = paths[0][-2]
    sibling = next(node for node in FFT.children.neighbours(last).tolist() if node != paths[0][-1])
    paths[0] = [last, sibling]
    paths = changed("a path left out")
    del paths[0]
    paths = changed("a part left out")
    del found["a part left out"][0]
    changed("no paths")
    found["no paths"][0]["paths"] = []
    changed("around another")
    found["around another"][0]["around"] = 0
    changed("another kind")
    found["another kind"][0]["kind"] = "crossings"
    return found


def test_falsified_certificates_are_refused() -> None:
    value, parts = of_crossings(FFT, BUDGET)
    assert value > FFT.algorithmic_bound()
    assert proven(FFT, parts, BUDGET) == value
    for name, wrong in falsified(parts).items():
        assert proven(FFT, wrong, BUDGET) < value, name
    assert proven(FFT, parts, BUDGET + 1) < value
    assert proven(FFT, parts, BUDGET, recompute=True) == -1
    assert proven(FFT, parts, BUDGET, of="total", terms=Terms(partial=True)) < value
    assert proven(FFT, parts, BUDGET, of="total", terms=Terms(store=None)) == -1
    around = [part for part in parts if part["around"] is None]
    assert around, "the butterfly has such parts"
    for node in (around[0]["paths"][0][-1], around[0]["paths"][0][0]):
        assert proven(FFT, [{**around[0], "around": node}], BUDGET) < proven(FFT, around[:1], BUDGET)


def test_any_other_number_is_refused_or_proves_no_more() -> None:
    cdag = shuffled(grid(4, 4, 3), np.random.default_rng(2))
    value, parts = of_crossings(cdag, 8, 0.01)
    assert value > cdag.algorithmic_bound()
    claims = [proven(cdag, put(parts, place, other), 8) for place, other in changed_numbers(parts)]
    assert max(claims) <= value
    assert claims.count(-1) > 0.9 * len(claims)
    for place, _ in list(changed_numbers(parts))[::9]:
        for other in ("node", True, None, [], 2.5, -1):
            assert proven(cdag, put(parts, place, other), 8) < value or (place[-1] == "around" and other is None)


def test_the_command_verifies_bounds(tmp_path: Path) -> None:
    workload, path = "fft:n=128,word=1", tmp_path / "bound.json"
    command("pebble", "bound", workload, "--budget", "6", "--effort", "0.1", "--result", str(path))
    document = json.loads(path.read_text())
    done = command("pebble", "check", workload, "--bound", str(path))
    assert done.returncode == 0
    assert " nodes) verified: traffic" in done.stdout + done.stderr
    document["bound"]["certificate"]["parts"] = document["bound"]["certificate"]["parts"][:2]
    document["bound"]["value"] += 1
    path.write_text(json.dumps(document))
    done = command("pebble", "check", workload, "--bound", str(path))
    assert done.returncode == 1
    assert "bound.value" in done.stdout + done.stderr


def test_bounds_without_a_certificate_say_so(tmp_path: Path) -> None:
    cdag = kernels_as_graphs.pyramid(n=4, word=1)
    path = tmp_path / "bound.json"
    result = shorthaul.pebble.plan(cdag, budget=4, effort=1, recompute=True)
    path.write_text(json.dumps(result.document()))
    checked = shorthaul.pebble.check(cdag, result.plan, budget=4, bound=str(path))
    assert checked.check is not None
    assert checked.check.ok
    assert any("no certificate" in remark for remark in checked.check.remarks)
    document = result.document()
    for change, place in (
        ({"bound": None}, "bound"),
        ({"bound": {**document["bound"], "certificate": None}}, "bound.certificate"),
        ({"bound": {**document["bound"], "of": "budget"}}, "bound.of"),
        ({"problem": {}}, "problem.budget"),
        ({"problem": {**document["problem"], "edges": 1}}, "problem.edges"),
        ({"bound": {**document["bound"], "value": True}}, "bound.value"),
        ({"provenance": {}}, "provenance.options"),
    ):
        path.write_text(json.dumps({**document, **change}))
        with pytest.raises(InputError, match=f"{path.name}: {place}"):
            shorthaul.pebble.check(cdag, bound=str(path))
    with pytest.raises(InputError, match="nothing to check"):
        shorthaul.pebble.check(cdag)
