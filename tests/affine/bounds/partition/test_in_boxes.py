"""Places that fill a box: inequalities inside of it, the most that a part computes, certificates, plays."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy
from tests.affine.bounds.partition.test_cones import CROSS, LOOP, PRESSURE, TIME, members, most, text_of
from tests.affine.bounds.test_random_study import least_known
from tests.affine.check.test_certificate import means_the_same
from tests.affine.derived import flow_of, kernel, quick
from tests.reference.affine_fields import field_program
from tests.reference.falsified import at, changed_numbers, put
from tests.samples import samples

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds import cones
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.boxes.fields import boxed_cones
from shorthaul.affine.bounds.boxes.stencils import boxed_stencils
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.bounds.partition.stencil_levels import sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.partition_points import counted
from shorthaul.affine.check.stencils.levels import stencil_of, wrong_formulas, wrong_levels, wrong_value
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.proofs.inside import inside
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.errors import InputError


def around(dimensions: int, kind: str, radius: int = 1) -> list[tuple[int, ...]]:
    reach = itertools.product(range(-radius, radius + 1), repeat=dimensions)
    return [step for step in reach if kind == "cube" or sum(map(abs, step)) <= radius]


def grown(places: np.ndarray, steps: list[tuple[int, ...]]) -> int:
    """Return how many places of the box are reached."""
    found = np.zeros_like(places)
    for step in steps:
        to = tuple(slice(max(0, by), side + min(0, by)) for by, side in zip(step, places.shape, strict=True))
        of = tuple(slice(max(0, -by), side + min(0, -by)) for by, side in zip(step, places.shape, strict=True))
        found[to] |= places[of]
    return int(found.sum())


def worst_of(sets: Any, kind: str, sides: tuple[int, ...], radius: int = 1) -> float:
    """Return the least share of what the inequality says that a set of places gains."""
    steps = around(len(sides), kind, radius)
    known = {item.kind.partition(" ")[0]: item for item in inside(frozenset(steps), [sympy.Integer(k) for k in sides])}
    c, limit = float(known[kind].constant), known[kind].most
    found = math.inf
    for places in sets:
        q, all_of_it = int(places.sum()), grown(places, steps)
        if q and all_of_it <= limit:
            found = min(found, (all_of_it - q) / (c * q ** ((len(sides) - 1) / len(sides))))
    return found


def all_sets(sides: tuple[int, ...]) -> Any:
    size = math.prod(sides)
    return (((number >> np.arange(size)) & 1).astype(bool).reshape(sides) for number in range(1, 1 << size))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("sides", "radius"),
    [((7,), 1), ((8,), 2), ((3, 4), 1), ((2, 6), 1), pytest.param((2, 2, 3), 1, marks=pytest.mark.slow)],
)
def test_all_sets_of_small_boxes(sides: tuple[int, ...], radius: int) -> None:
    for kind in ("cross", "cube") if len(sides) > 1 else ("cube",):
        assert worst_of(all_sets(sides), kind, sides, radius) >= 1 - 1e-9


@pytest.mark.costly
@pytest.mark.parametrize("sides", [(7, 7), (6, 8), (5, 10)])
def test_all_pushed_sets_of_the_plane(sides: tuple[int, int]) -> None:
    """Every set has as few neighbours as a pushed one; the inequality is sharp for the cross."""
    rows = [np.arange(sides[1]) < count for count in range(sides[1], -1, -1)]
    sets = [np.array(item) for item in itertools.combinations_with_replacement(rows, sides[0])]
    for kind in ("cross", "cube"):
        assert 1 - 1e-9 <= worst_of(sets, kind, sides) < 1.5


def pushed(sides: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return boxes, simplices and prisms in a corner of a box."""
    places, grid = np.zeros(sides, bool), np.indices(sides)
    for _ in range(rng.integers(1, 5)):
        kind = rng.integers(3)
        lengths = [int(rng.integers(1, max(2, side // (1 + kind)) + 1)) for side in sides]
        if kind == 2:
            lengths[int(rng.integers(len(sides)))] = max(sides)
        if kind == 1:
            places |= sum(at / (2 * by) for at, by in zip(grid, lengths, strict=True)) < 1
        else:
            places[tuple(slice(length) for length in lengths)] = True
    return places


@pytest.mark.parametrize("seed", samples(6))
def test_pushed_sets_in_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    side = int(rng.integers(6, 14))
    sides = (side, side, side) if seed % 2 else tuple(map(int, rng.integers(6, 14, 3)))
    sets = [pushed(sides, rng) for _ in range(150)]
    for kind in ("cross", "cube"):
        assert worst_of(sets, kind, sides) >= 1 - 1e-9


BODY = "for (int i = 2; i < N - 2; i++) v[i] = {u}; for (int i = 2; i < N - 2; i++) u[i] = {v};"
LINE = "void f(int N, int T, double u[N], double v[N]) {\n#pragma scop\n%s\n#pragma endscop\n}"


def on_a_line(reach: int) -> str:
    terms = {name: " + ".join(f"{name}[i{by:+d}]" for by in range(-reach, reach + 1)) for name in "uv"}
    return LINE % TIME.format(BODY.format(**terms))


@pytest.mark.parametrize(("reach", "n", "steps"), quick([(1, 9, 2), (2, 10, 2), (1, 8, 3), (2, 9, 2)], [(1, 8, 2)]))
def test_no_part_computes_more(reach: int, n: int, steps: int) -> None:
    """Every set of instances of a small graph, its in-vertices against U."""
    flow = flow_dependences(program_from_text(on_a_line(reach)))
    (item,) = boxed_stencils(flow)
    sizes = {"N": n, "T": steps}
    cdag = concrete_cdag(flow.program, sizes, flow)
    inside_of, spill = (np.flatnonzero(members(cdag, sets, sizes)) for sets in (item.domains, sets_of(item.spill)))
    bit = {int(vertex): 1 << number for number, vertex in enumerate(spill)}
    needed = [sum(bit.get(int(v), 0) for v in {*cdag.operands[cdag.starts[p] : cdag.starts[p + 1]]}) for p in inside_of]
    own = [bit.get(int(p), 0) for p in inside_of]
    largest: dict[int, int] = {}
    reads, held = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for need, mine in zip(needed, own, strict=True):  # all subsets, one instance after the other
        reads, held = np.concatenate([reads, reads | need]), np.concatenate([held, held | mine])
    sizes_of = popcount(np.arange(len(reads)))
    borders = popcount(reads & ~held)
    for budget in range(1, n - 4):
        largest[budget] = int(sizes_of[borders <= budget].max(initial=0))
        assert largest[budget] <= budget**2 / (2 * reach)
    assert max(largest.values()) > 1


def popcount(numbers: np.ndarray) -> np.ndarray:
    """Return how many bits are set."""
    return np.array([bin(int(number)).count("1") for number in numbers])


def numbers_of(value: sympy.Expr, sizes: dict[str, int]) -> float:
    return number_at(value, sizes)


@pytest.mark.parametrize(
    ("reach", "n", "steps"), quick([(1, 30, 30), (2, 40, 20), (1, 16, 60), (2, 24, 24)], [(1, 16, 30)])
)
def test_no_play_beats_it(reach: int, n: int, steps: int) -> None:
    flow = flow_dependences(program_from_text(on_a_line(reach)))
    (item,) = boxed_stencils(flow)
    cdag = concrete_cdag(flow.program, {"N": n, "T": steps}, flow)
    active = 0
    for capacity in (2 * reach + 2, 2 * reach + 4, n // 3):
        loads = least_known(cdag, capacity, np.random.default_rng(n))
        for events in range(1, n - 4 - capacity):
            value = sub_bound(item, flow, balanced=True, events=events).value
            number = numbers_of(value, {"N": n, "T": steps, "S": capacity})
            assert cdag.inputs + number <= loads
            active += number > 0
    assert active


@pytest.mark.parametrize("seed", [960 + at for at in samples(12)])
def test_no_stretch_of_fields_computes_more(seed: int) -> None:
    """Stretches between vertices around one place, against what the lemma says for what they read."""
    dimensions, text = field_program(seed)
    flow = flow_dependences(program_from_text(text))
    sizes = {1: {"N": 30, "T": 14}, 2: {"N": 13, "T": 6}}[dimensions]
    cdag = None
    for item in boxed_cones(flow):
        cdag = cdag or concrete_cdag(flow.program, sizes, flow)
        if cdag.n < 3_000:
            assert largest_stretch(item, cdag, sizes, np.random.default_rng(seed)) <= 1


def largest_stretch(item: cones.Cones, cdag: ConcreteCdag, sizes: dict[str, int], rng: np.random.Generator) -> float:
    """Return the largest share of U that some stretch between vertices around one place computes, often in a corner."""
    assert item.box is not None
    limit = numbers_of(item.box.most, sizes)
    reach, reads = np.eye(cdag.n, dtype=bool), np.zeros((cdag.n, cdag.n), dtype=bool)
    for vertex in range(cdag.inputs, cdag.n):
        for operand in cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]]:
            reach[vertex] |= reach[operand]
            reads[vertex, operand] = True
    inner, sources = (members(cdag, sets, sizes) for sets in ([item.domain], sets_of(item.sources)))
    computed, where, largest = np.arange(cdag.n) >= cdag.inputs, cdag.coordinates, 0.0
    for _ in range(40):
        place = where[rng.choice(np.flatnonzero(inner)), 1:]
        place = place if rng.random() < 0.5 else where[inner, 1:].min(0)
        far = np.abs(where[:, 1:] - place).sum(1)
        first, last = sorted(rng.integers(0, sizes["T"], 2))
        low, high = (
            np.flatnonzero(inner & (where[:, 0] == step) & (far <= rng.integers(0, 6))) for step in (first, last)
        )
        if len(low) and len(high):
            part = reach[high].any(0) & reach[:, low].any(1) & computed
            K = int((reads[part].any(0) & ~part).sum() + (part & sources).sum())
            if K / item.values <= limit:
                largest = max(largest, float((part & inner).sum() / most(item, K)))
    return largest


@pytest.mark.parametrize("name", quick(("heat-3d", "jacobi-2d", "jacobi-1d"), ("jacobi-1d",)))
def test_the_certificate_holds_and_no_other(name: str) -> None:
    flow = flow_of(name)
    reads = ProgramReads(kernel(name))
    for item in boxed_stencils(flow):
        part = json.loads(json.dumps(sub_bound(item, flow, balanced=True, events=3).certified()))
        assert not wrong(part, reads)
        kept = ("domains", "covector", "shifts", "box", "sources", "ends", "events", "sources_count", "value")
        changes = [*changed_numbers({key: part[key] for key in kept})]
        for number in samples(40):
            path, value = changes[len(changes) * number // 40]
            same = means_the_same(at(part, path), value, is_bound=path == ("value",))
            assert same or wrong(put(part, path, value), reads), (path, value)


def wrong(part: dict[str, Any], reads: ProgramReads) -> list[str]:
    """Return what a checker of its own finds wrong."""
    name = "TSTEPS" if "TSTEPS" in reads.program.parameters else "T"
    try:
        item = stencil_of(part, reads)
        found = [*wrong_levels(item, reads)]
        for sizes in ({"N": 9, name: 4}, {"N": 12, name: 3}, {"N": 5, name: 1}, {"N": 2, name: 1}, {"N": 7, name: 7}):
            found += wrong_value(item, partial(counted, sizes=sizes), sizes)
            found += (one for S in (1, 3, 4) for one in wrong_formulas(item, {**sizes, "S": S}))
    except (InputError, ValueError, IndexError, ArithmeticError, RuntimeError) as error:
        return [str(error)]
    return found


@pytest.mark.parametrize("body", [
    f"{LOOP} v[i][j] = u[i - 1][j] + u[i + 1][j]; {LOOP} u[i][j] = v[i][j];",  # along one direction only
    f"{LOOP} u[i][j] = u[i - 1][j] + u[i][j - 1];",  # nothing comes back
    f"{LOOP} v[i][j] = {CROSS}; for (int i = 1; i < N - 1; i++) for (int j = 1; j < i; j++) u[i][j] = v[i][j];",
], ids=["lines", "one way", "no box"])  # fmt: skip
def test_what_is_no_box(body: str) -> None:
    flow = flow_dependences(program_from_text(text_of(body)))
    assert not [*boxed_stencils(flow)]
    assert not [*boxed_cones(flow)]


@pytest.mark.slow
def test_heat_in_space_beside_a_large_memory() -> None:
    """S is a twelfth of the values of a step: the border of all steps would be all that the argument is worth."""
    sizes = {"TSTEPS": 500, "N": 120, "S": 131_072}
    program = kernel("heat-3d")
    found = lower_bound(program, flow=flow_of("heat-3d"), sizes=sizes)
    assert 33e6 < found.value(sizes) < 195e6
    document = json.loads(json.dumps(as_bound(program, found, sizes, flow_of("heat-3d")).document()))
    assert not verify(program, document, sizes)[0]


@pytest.mark.slow
def test_pressure_in_a_box() -> None:
    """Three fields, and the certificate of their cones."""
    program = program_from_text(text_of(PRESSURE))
    flow = flow_dependences(program)
    kinds = {item.box.kind for item in boxed_cones(flow) if item.box is not None}
    assert "cross" in kinds
    sizes = {"N": 300, "T": 4_000, "S": 20_000}
    document = json.loads(json.dumps(as_bound(program, lower_bound(program, sizes=sizes), sizes, flow).document()))
    assert any(part.get("box") for part in document["certificate"]["parts"])
    violations, remarks = verify(program, document, sizes)
    assert not violations
    assert any("double cones" in text and text.endswith("verified") for text in remarks)
