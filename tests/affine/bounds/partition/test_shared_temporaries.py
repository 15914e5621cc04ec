"""Stencils by way of temporaries that several instances read: fields that read differences of one another."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sympy
from tests.affine.bounds.test_random_study import least_known
from tests.affine.derived import quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.stencil_levels import stencils, sub_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.quasi_polynomial import number_at, symbol
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.core.search import Search

HEAD = "void f(int N, int T, double u[N], double p[N + 1], double q[N + 1]) {\n#pragma scop\n%s\n#pragma endscop\n}"
LOOP = "for (int i = 1; i < N - 1; i++) "
FLUX = f"for (int t = 0; t < T; t++) {{ {LOOP} p[i] = %s; {LOOP} u[i] = u[i] - p[i + 1] + p[i]; }}"
#: What flows between cells: a difference, also with what flowed before, and by way of a second temporary.
PROGRAMS = {
    "difference": FLUX % "u[i] - u[i - 1]",
    "with a memory": FLUX % "p[i] + u[i] * u[i - 1]",
    "scaled": (FLUX % "q[i] * 2.0").replace("{ for", f"{{ {LOOP} q[i] = u[i] - u[i - 1]; for", 1),
}
#: Here a temporary stands for two neighbours that its readers do not read themselves.
TWO = (FLUX % "u[i + 1] - u[i - 2]").replace("i = 1", "i = 2")


def program(text: str) -> Program:
    return program_from_text(HEAD % text)


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(PROGRAMS, ("with a memory", "difference")))
def test_temporaries_that_stand_for_one_neighbour(name: str) -> None:
    found = lower_bound(program(PROGRAMS[name]), search=Search(effort=0.4))
    fields = 2 if name == "with a memory" else sympy.Rational(3, 2)  # two fields: double cones show more
    assert found.leading == fields * symbol("N") * symbol("T") / symbol("S")
    document = as_bound(found.program, found, None, flow_dependences(found.program)).document()
    violations, remarks = verify(found.program, json.loads(json.dumps(document)), None)
    assert not violations
    assert all(text.endswith(": verified") for text in remarks)


def test_temporaries_that_stand_for_two() -> None:
    assert all(item.between.is_empty() for item in stencils(flow_dependences(program(TWO))))


@pytest.mark.parametrize("name", quick(PROGRAMS, ("with a memory",)))
def test_no_play_beats_it(name: str) -> None:
    flow = flow_dependences(program(PROGRAMS[name]))
    found = [sub_bound(item, flow, balanced=True).value for item in stencils(flow) if not item.between.is_empty()]
    active = 0
    for n, steps in ((6, 4), (12, 9), (30, 30)):
        cdag = concrete_cdag(flow.program, {"N": n, "T": steps}, flow)
        for capacity in (4, 5, 8, 12):
            sizes = {"N": n, "T": steps, "S": capacity}
            least = least_known(cdag, capacity, np.random.default_rng(n))
            for item in found:
                loads = cdag.inputs + number_at(item, sizes)
                assert loads <= least
                active += loads > cdag.inputs
    assert active
