"""Two products that share a factor, where chains of one stand for broadcasts of the other one: forward and backward."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from tests.affine.check.test_largest_parts import members
from tests.affine.derived import alone, is_legal, quick

from shorthaul.affine import program_from_text
from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.bounds.partition.candidates import Candidate, instances, sub_bound
from shorthaul.affine.bounds.partition.merged_statements import partitions
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.largest_part import largest_part
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import number_at
from shorthaul.affine.model import Program
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.graphs.replay import belady_loads

HEAD = """void f(int B, int I, int H, double X[B][I], double W[I][H], double A[B][H], double G[B][H], double D[I][H],
  double Y[B][I]) {
#pragma scop
%s
#pragma endscop
}"""
LOOPS = {name: f"for (int {name} = 0; {name} < {name.upper()}; {name}++) " for name in "bih"}


def nest(order: str, text: str) -> str:
    return "".join(LOOPS[name] for name in order) + text + "\n"


FORWARD = nest("bh", "{ A[b][h] = 0.0; " + LOOPS["i"] + "A[b][h] += X[b][i] * W[i][h]; }")
PROGRAMS = {
    "weights": FORWARD + nest("ih", "{ D[i][h] = 0.0; " + LOOPS["b"] + "D[i][h] += X[b][i] * G[b][h]; }"),
    "weights in place": FORWARD + nest("ihb", "W[i][h] -= X[b][i] * G[b][h];"),
    "both gradients": nest("ihb", "D[i][h] += X[b][i] * G[b][h];") + nest("bih", "Y[b][i] += G[b][h] * W[i][h];"),
}


@cache
def program(name: str) -> Program:
    return program_from_text(HEAD % PROGRAMS[name])


@cache
def mixed(name: str) -> Candidate:
    """Return the best argument with a family that consists of chains in one part only."""
    flow, where = flow_dependences(program(name)), instances()
    made = partitions(flow, where, where[0].sizes(program(name).parameters), symmetric=True)
    found = [item for item in made if is_mixed(item)]
    return max(found, key=lambda item: item.worth(0))


def is_mixed(item: Candidate) -> bool:
    kinds = {tuple(path.is_chain for path in part.paths) for part in item.argument.parts}
    return len(kinds) > 1 and set(item.argument.folds) == {1}


@pytest.mark.parametrize("name", quick(PROGRAMS, ("weights", "weights in place")))
def test_both_products_count(name: str) -> None:
    """As much as two products of their own, less the sources of the second one."""
    sizes = {**dict.fromkeys("BIH", 10_000), "S": 1_000}
    value = number_at(sub_bound(mixed(name).argument, flow_dependences(program(name))).value, sizes)
    assert value > 0.97 * 2 * 2 * 10_000**3 / 1_000**0.5


def in_tiles(name: str, cdag: ConcreteCdag) -> Iterator[np.ndarray]:
    """Yield orders in tiles of both products, in turn or one after the other, that operands allow."""
    computed = cdag.program_order
    by_name = program(name).by_name
    at = np.zeros((len(computed), 3), dtype=np.int64)
    for number, vertex in enumerate(computed):
        iterators = by_name[cdag.names[cdag.owner[vertex]]].iterators
        at[number, ["bih".index(one) for one in iterators]] = cdag.coordinates[vertex, : len(iterators)]
    owner = cdag.owner[computed]
    for tile in itertools.product((1, 2, 3, 8), repeat=3):
        tiles = (at // tile).T
        for outer in itertools.permutations(range(3)):
            for in_turn in (True, False):
                keys = [*at.T[::-1], owner, *(tiles[one] for one in outer[::-1])]
                order = computed[np.lexsort(keys if in_turn else [*keys, owner])]
                if is_legal(order, cdag):
                    yield order


@pytest.mark.costly
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_tiled_play_beats_it(name: str) -> None:
    flow = flow_dependences(program(name))
    bound = sub_bound(mixed(name).argument, flow)
    active = 0
    for lengths in ((4, 4, 4), (5, 4, 6)):
        sizes = dict(zip("BIH", lengths, strict=True))
        cdag = concrete_cdag(program(name), sizes, flow)
        orders = list(in_tiles(name, cdag))
        for capacity in (4, 6, 10, 18):
            values = [bound, *filter(None, [bound.tuned and bound.tuned({**sizes, "S": capacity})])]
            value = max(number_at(item.value, {**sizes, "S": capacity}) for item in values)
            loads = (int(belady_loads(order, cdag.starts, cdag.operands, capacity).sum()) for order in orders)
            assert cdag.inputs + value <= min(loads)
            active += value > 0
    assert active


@pytest.mark.parametrize("name", quick(PROGRAMS, ("weights in place",)))
def test_no_part_is_larger_than_its_bound(name: str) -> None:
    """The exact maximum by integer programming; it is met somewhere."""
    flow, sizes = flow_dependences(program(name)), {"B": 2, "I": 2, "H": 2}
    bound, cdag = sub_bound(mixed(name).argument, flow), concrete_cdag(program(name), sizes, flow)
    assert bound.points is not None
    assert bound.sources is not None
    counted, inside = members(bound.points, sizes, cdag), ~members(bound.sources, sizes, cdag)
    inside[: cdag.inputs] = False
    quotients = []
    for capacity in (1, 2, 4):
        budget, most = (float(bound.facts[key].subs(S, capacity)) for key in ("K", "U"))
        found, proven, _ = largest_part(cdag.starts, cdag.operands, inside, counted, int(budget), nodes=100_000)
        assert proven
        quotients.append(found / most)
    assert 0.99 < max(quotients) < 1 + 1e-9


SIZES = {"B": 700, "I": 800, "H": 900, "S": 300}


@cache
def written(name: str) -> str:
    flow = flow_dependences(program(name))
    return alone(flow, sub_bound(mixed(name).argument, flow), SIZES)


@pytest.mark.parametrize("name", quick(PROGRAMS, ("weights in place",)))
def test_the_certificate_is_verified(name: str) -> None:
    document = json.loads(written(name))
    kinds = [{tuple(part["chains"]) for part in item.get("parts", ())} for item in document["certificate"]["parts"]]
    assert max(map(len, kinds)) == 2
    assert not verify(program(name), document, SIZES)[0]


@pytest.mark.costly
@pytest.mark.parametrize("at", range(2))
def test_kinds_that_are_changed_are_found(at: int) -> None:
    """A chain called a broadcast ends where it has no source; a broadcast called a chain never goes on."""
    for family in range(3):
        document = json.loads(written("weights"))
        item = next(one for one in document["certificate"]["parts"] if len(one.get("parts", ())) == 2)
        item["parts"][at]["chains"][family] ^= True
        assert verify(program("weights"), document, SIZES)[0]


def test_no_chain_leads_to_sources_only() -> None:
    """Every second term is added to what the others have made: no line goes on within these terms."""
    text = """void f(int n, int m, double a[n][m], double b[m][n], double c[n][n]) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        for (int k = 0; k < m; k++) {
          double t;
          if (k % 2 == 0) t = a[i][k] * b[k][j];
          else t = a[j][k] + b[k][i];
          if (j <= i) c[i][j] += t;
        }
    }"""
    found = lower_bound(own := program_from_text(text), flow=(flow := flow_dependences(own)))
    document = json.loads(json.dumps(as_bound(own, found, None, flow).document()))
    assert document["certificate"]["parts"]
    assert not verify(own, document, None)[0]
