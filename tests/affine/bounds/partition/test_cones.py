"""Systems of fields: the most that a stretch computes, plays, certificates, and what is no field."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial
from typing import Any

import islpy as isl
import numpy as np
import pytest
import sympy
from tests.affine.bounds.test_random_study import least_known
from tests.affine.check.test_certificate import means_the_same
from tests.affine.derived import bound_of, quick
from tests.reference.affine_fields import field_program
from tests.reference.falsified import at, changed_numbers, put
from tests.samples import samples

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.cones import Cones, cones, sub_bound
from shorthaul.affine.bounds.partition.parts import sets_of
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.partition_points import counted
from shorthaul.affine.check.stencils.cones import cones_of, wrong_cone_formulas, wrong_cone_value, wrong_cones
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at, symbol
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.core.errors import InputError

HEAD = "void f(int N, int T, double u[N][N], double v[N][N], double w[N][N]) {\n#pragma scop\n%s\n#pragma endscop\n}"
LOOP = "for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) "
TIME = "for (int t = 0; t < T; t++) {{ {0} }}"
CROSS = "u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]"
#: Two steps of one field are kept; two fields, one in place.
WAVE = f"{LOOP} w[i][j] = {CROSS} + u[i][j] - v[i][j]; {LOOP} v[i][j] = u[i][j]; {LOOP} u[i][j] = w[i][j];"
PRESSURE = f"{LOOP} v[i][j] = v[i][j] + u[i][j] - u[i - 1][j]; {LOOP} w[i][j] = w[i][j] + u[i][j] - u[i][j - 1]; {LOOP} u[i][j] = u[i][j] + v[i + 1][j] - v[i][j] + w[i][j + 1] - w[i][j];"
#: Seeds of fields on a line.
STRINGS = (1, 6)
SIZES = {1: ({"N": 26, "T": 16}, {"N": 14, "T": 9}), 2: ({"N": 10, "T": 7},)}


def text_of(body: str) -> str:
    return HEAD % TIME.format(body)


@pytest.mark.slow
def test_finite_differences_in_time() -> None:
    """Three fields; a place that is computed in k steps has its neighbours in k - 2."""
    NX, NY, T, S = (symbol(name) for name in ("NX", "NY", "TMAX", "S"))
    assert bound_of("fdtd-2d").leading == 3 * sympy.sqrt(2) * NX * NY * T / sympy.sqrt(S)


def test_fields_and_periods() -> None:
    """What is kept of a wave is two values of every place, of pressure and velocities three."""
    for body, periods in ((WAVE, [2]), (PRESSURE, [1, 1, 1])):
        flow = flow_dependences(program_from_text(text_of(body)))
        found = [sorted(one.period for one in item.fields) for item in cones(flow)]
        assert found == [periods], found


def members(cdag: ConcreteCdag, sets: list[isl.Set], sizes: dict[str, int]) -> np.ndarray:
    """Return which vertices are in the sets."""
    numbers = {
        (cdag.names[owner], tuple(place[: cdag.widths[owner]])): vertex
        for vertex, (owner, place) in enumerate(zip(cdag.owner.tolist(), cdag.coordinates.tolist(), strict=True))
    }
    found = np.zeros(cdag.n, dtype=bool)
    for item in sets:
        for name, value in sizes.items():
            axis = item.find_dim_by_name(isl.dim_type.param, name)
            item = item if axis < 0 else item.fix_val(isl.dim_type.param, axis, isl.Val(value))
        points: list[isl.Point] = []
        item.project_out(isl.dim_type.param, 0, item.dim(isl.dim_type.param)).foreach_point(points.append)
        for point in points:
            place = tuple(
                point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(item.dim(isl.dim_type.set))
            )
            found[numbers[item.get_tuple_name(), place]] = True
    return found


def most(item: Cones, K: int) -> float:
    """Return U of the lemma."""
    n, q = item.around.dimensions, K / item.values
    cone = n / ((n + 1) * float(item.around.constant)) * q ** ((n + 1) / n)
    return item.around.trip * (q + cone) + (K if max(one.period for one in item.fields) > 1 else 0)


def worst(item: Cones, cdag: ConcreteCdag, sizes: dict[str, int], rng: np.random.Generator, tries: int) -> float:
    """Return the largest share of U that some stretch between vertices around one place computes."""
    reach, reads = np.eye(cdag.n, dtype=bool), np.zeros((cdag.n, cdag.n), dtype=bool)
    for vertex in range(cdag.inputs, cdag.n):
        for operand in cdag.operands[cdag.starts[vertex] : cdag.starts[vertex + 1]]:
            reach[vertex] |= reach[operand]
            reads[vertex, operand] = True
    inside, beside, sources = (
        members(cdag, sets, sizes) for sets in ([item.domain], [item.border], sets_of(item.sources))
    )
    computed = np.arange(cdag.n) >= cdag.inputs
    where, every, largest = cdag.coordinates, np.flatnonzero(computed), 0.0
    for _ in range(tries):
        place = where[rng.choice(np.flatnonzero(inside)), 1:]
        far = np.abs(where[:, 1:] - place).sum(1)
        first, last = sorted(rng.integers(0, sizes["T"], 2))
        pool = np.flatnonzero(inside | beside) if rng.random() < 0.6 else every
        low, high = (pool[(where[pool, 0] == step) & (far[pool] <= rng.integers(0, 5))] for step in (first, last))
        if not len(low) or not len(high):
            continue
        part = reach[high].any(0) & reach[:, low].any(1) & computed
        loads = reads[part].any(0) & ~part
        K = loads.sum() + (part & sources).sum() + item.weight * (part & beside).sum()
        if (part & inside).any():
            largest = max(largest, float((part & inside).sum() / most(item, int(K))))
    return largest


@pytest.mark.parametrize("seed", [900 + at for at in samples(16)])
def test_no_stretch_computes_more(seed: int) -> None:
    """Stretches between vertices around one place, against what the lemma says for what they read."""
    dimensions, text = field_program(seed)
    flow = flow_dependences(program_from_text(text))
    for item in cones(flow):
        for sizes in SIZES[dimensions]:
            cdag = concrete_cdag(flow.program, sizes, flow)
            if cdag.n < 2_500 and members(cdag, [item.domain], sizes).any():
                assert worst(item, cdag, sizes, np.random.default_rng(seed), 25) <= 1


def test_stretches_come_near() -> None:
    """A third of what the lemma allows, as its terms of lower order count at these sizes."""
    flow = flow_dependences(program_from_text(field_program(1)[1]))
    (item,) = cones(flow)
    cdag = concrete_cdag(flow.program, SIZES[1][0], flow)
    assert worst(item, cdag, SIZES[1][0], np.random.default_rng(0), 60) > 0.33


@pytest.mark.parametrize("seed", quick(STRINGS, STRINGS[:1]))
def test_no_play_beats_it(seed: int) -> None:
    """Fields on a line, where the argument is active at sizes that can be played."""
    flow = flow_dependences(program_from_text(field_program(seed)[1]))
    found, active = tuple(cones(flow)), 0
    for n, steps in ((12, 8), (40, 40)):
        cdag = concrete_cdag(flow.program, {"N": n, "T": steps}, flow)
        least = int(np.diff(cdag.starts).max()) + 1
        for capacity in (least, least + 4):
            loads = least_known(cdag, capacity, np.random.default_rng(n))
            for item, events in itertools.product(found, (capacity, 3 * capacity)):
                sizes = {"N": n, "T": steps, "S": capacity}
                value = number_at(sub_bound(item, flow, events).value, sizes)
                assert cdag.inputs + math.ceil(value) <= loads
                active += bool(value > 0)
    assert active


def wrong(part: dict[str, Any], reads: ProgramReads) -> list[str]:
    """Return what a checker of its own finds wrong."""
    try:
        item = cones_of(part, reads)
        found = [*wrong_cones(item, reads)]
        for sizes in ({"N": 7, "T": 4}, {"N": 9, "T": 6}, {"N": 3, "T": 1}):
            found += wrong_cone_value(item, partial(counted, sizes=sizes), sizes)
            found += (one for S in (1, 40) for one in wrong_cone_formulas(item, {**sizes, "S": S}))
    except (InputError, isl.Error, ValueError, IndexError, ArithmeticError) as error:
        return [str(error)]
    return found


def test_the_certificate_holds_and_no_other() -> None:
    program = program_from_text(text_of(PRESSURE))
    flow = flow_dependences(program)
    (item,) = cones(flow)
    part = json.loads(json.dumps(sub_bound(item, flow).certified()))
    reads = ProgramReads(program)
    assert not wrong(part, reads)
    kept = ("delta", "axis", "neighbours", "trip", "weight", "fields", "domain", "border", "sources", "shape", "value")
    changes = [*changed_numbers({key: part[key] for key in kept})]
    for number in samples(80):
        path, value = changes[len(changes) * number // 80]
        same = means_the_same(at(part, path), value, is_bound=path == ("value",))
        assert same or wrong(put(part, path, value), reads), (path, value)


@pytest.mark.parametrize("body", [
    f"{LOOP} u[i][j] = u[i - 1][j - 1];",
    f"{LOOP} u[i][j] = u[i][j] + 1.0;",
    f"{LOOP} v[i][j] = {CROSS}; {LOOP} u[i][j] = v[j][i];",
], ids=["along a diagonal", "without neighbours", "transposed"])  # fmt: skip
def test_what_is_no_field(body: str) -> None:
    assert not [*cones(flow_dependences(program_from_text(text_of(body))))]
