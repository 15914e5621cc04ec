"""A hunt for bounds of affine programs that a play beats: ``python -m tests.affine_hunt 200 8000000``.

Of every one of ``N`` random programs of six generators, begun at ``SEED``, the bound in program order and the one for
sums in any order are compared with plays: with the fewest loads of some orders (exact on tiny graphs), and with three
orders of all terms. Where sizes are given, arguments made for these are among those of the bound. The order found is
replayed, too: what it is said to load is below neither the replay nor the bound. Prints what is beaten,
how many comparisons there were, and in how many of them the bound was more than the inputs; ends with status 1 if a
bound is beaten.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain

import numpy as np

from shorthaul.affine.bounds.best import fitted, lower_bound
from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.counting import card
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.searching import order_and_formula
from shorthaul.affine.replay.cdag import ConcreteCdag, concrete_cdag
from shorthaul.core.search import Search
from tests.affine.bounds import test_hourglass as necks
from tests.affine.bounds import test_random_programs as nests
from tests.affine.bounds.test_random_study import least_known
from tests.affine.orders.boxes.test_boxes import replayed
from tests.reference.affine_programs import random_program
from tests.reference.reassociated_sums import Sums

SIZES = ((1, 3), (2, 2), (3, 3), (4, 7), (7, 4), (9, 9), (6, 18), (16, 5))
MOST = 1_000  #: instances


def updates(seed: int) -> str:
    """Return a program whose columns are updated by multiples of a column, with sums over parts of it in between."""
    rng = np.random.default_rng(seed)
    low, high = rng.choice(["0", "k", "k + 1", "k + 2"]), rng.choice(["M", "M", "M - 1", "M - k"])
    first, last = rng.choice(["0", "k + 1", "k + 2"]), rng.choice(["N", "N", "N - 1"])
    columns = f"for (int j = {first}; j < {last}; j++)"
    rows = f"for (int i = {low}; i < {high}; i++)"
    factor = rng.choice(["A[i][k]", "C[k][i]", "B[i][k]"])
    body = f"{rows} R[k][j] += {factor} * A[i][j]; {rows} A[i][j] -= {factor} * R[k][j];"
    apart = (
        f"{columns} {{ {rows} R[k][j] += {factor} * A[i][j]; }} {columns} {{ {rows} A[i][j] -= {factor} * R[k][j]; }}"
    )
    inner = rng.choice([f"{columns} {{ R[k][j] = 0; {body} }}", f"{columns} R[k][j] = w[j]; {apart}"])
    steps = rng.choice(["k = 0; k < N; k++", "k = N - 1; k >= 0; k--", "k = 0; k < N - 2; k++"])
    return necks.HEAD % f"for (int {steps}) {{ {inner} }}"


def closures(seed: int) -> str:
    """Return a program in which all elements take steps with a row and a column, which change too."""
    rng = np.random.default_rng(seed)
    steps = rng.choice(["k = 0; k < N; k++", "k = N - 1; k >= 0; k--", "k = 1; k < N; k++"])
    loops = [
        "{0} = 0; {0} < N; {0}++",
        "{0} = N - 1; {0} >= 0; {0}--",
        "{0} = 0; {0} <= k; {0}++",
        "{0} = 1; {0} < N; {0}++",
    ]
    rows, columns = (rng.choice(loops, p=(0.5, 0.2, 0.15, 0.15)).format(name) for name in "ij")
    factors = [
        "A[i][k] * A[k][j]",
        "A[i][k] * B[k][j]",
        "A[k][i] * A[k][j]",
        "A[i][k] * A[j][k]",
        "A[i][k] * A[k][j] + A[k][k]",
    ]
    body = f"A[i][j] = A[i][j] + {rng.choice(factors, p=(0.5, 0.2, 0.1, 0.1, 0.1))};"
    return (
        "void f(int N, double A[N][N], double B[N][N]) {\n#pragma scop\n"
        f"for (int {steps}) for (int {rows}) for (int {columns}) {body}\n#pragma endscop\n}}\n"
    )


def products(seed: int) -> str:
    """Return a program of two products in turn, step by step, with a common factor in any place."""
    rng = np.random.default_rng(seed)

    def nest(target: str, first: str, factors: tuple[str, str]) -> str:
        terms = " * ".join(
            name + rng.choice(("[i][k]", "[k][i]") if at == 0 else ("[k][j]", "[j][k]"))
            for at, name in enumerate(factors)
        )
        return (
            f"for (int i = 0; i < N; i++) for (int j = 0; j < {rng.choice(('N', 'N', 'i + 1'))}; j++) {{ "
            f"{target}[i][j] = {first}; for (int k = 0; k < N; k++) {target}[i][j] += {terms}; }}"
        )

    one = nest("C", rng.choice(("0", "B[i][j]")), tuple(rng.permutation(("A", "P"))))
    other = nest("P", rng.choice(("0", "B[i][j]")), tuple(rng.permutation(("C", rng.choice(("A", "A", "B"))))))
    return (
        "void f(int M, int N, double A[N][N], double B[N][N], double C[N][N], double P[N][N]) {\n#pragma scop\n"
        f"for (int t = 0; t < M; t++) {{ {one} {other} }}\n#pragma endscop\n}}\n"
    )


def temporaries(seed: int) -> str:
    """Return a nest of two or three loops that computes what it sums in local variables of an iteration."""
    rng = np.random.default_rng(seed)
    names = "ijk"[: rng.integers(2, 4)]

    def element() -> str:
        first, second = rng.choice(list(names), 2)
        return str(rng.choice((f"A[{first}][{second}]", f"B[{second}][{first}]", f"w[{first}]")))

    body = []
    for number in range(rng.integers(1, 5)):
        before = [f"t{rng.integers(number)}"] if number and rng.random() < 0.7 else []
        body.append(f"double t{number} = {' * '.join([element(), *before])};")
        if rng.random() < 0.3:
            body.append(f"t{number} = t{number} + {element()};")
    last = f"t{number} * t{rng.integers(number + 1)}"
    body.append(rng.choice((f"R[{names[0]}] += {last};", f"C[{names[0]}][{names[1]}] += {last};", f"s += {last};")))
    if rng.random() < 0.4:
        body.append(f"v[{names[-1]}] += t{rng.integers(number + 1)};")
    inner = "".join(f"for (int {name} = 0; {name} < N; {name}++) {{ " for name in names[1:])
    return (
        "void f(int N, double A[N][N], double B[N][N], double C[N][N], double w[N], double v[N], double R[N], "
        "double q[N]) {\n#pragma scop\n"
        f"for (int i = 0; i < N; i++) {{ double s = 0; {inner}{' '.join(body)} {'} ' * (len(names) - 1)}q[i] = s; }}\n"
        "#pragma endscop\n}\n"
    )


def orders(text: str, seed: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield of orders at some sizes where it was, their loads when replayed, what they are said to load, and 0."""
    program = program_from_text(text)
    flow = flow_dependences(program)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        sizes = {name: int(rng.integers(3, 11)) for name in program.parameters}
        if not 0 < sum(card(item.domain).at(sizes) for item in program.statements) <= MOST:
            continue
        sizes["S"] = int(rng.integers(1 + max(len(item.reads) for item in program.statements), 41))
        best, _ = order_and_formula(flow, sizes, Search(effort=0.3))
        loads, exact = replayed(best, flow, sizes)
        if exact:
            yield f"order at {sizes}", loads, int(best.value(sizes)), 0
        yield f"order and bound at {sizes}", int(lower_bound(program, flow=flow).value(sizes)), loads, 0


def comparisons(text: str, seed: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield of every comparison where it was, the bound, the loads of a play, and the inputs."""
    program = program_from_text(text)
    flow = flow_dependences(program)
    strict = lower_bound(program, flow=flow)
    free = lower_bound(program, BoundOptions(reassociate=True), flow=flow)
    rng = np.random.default_rng(seed)
    done = []
    for n, m in SIZES:
        sizes = {name: {"N": n, "M": m}.get(name, n) for name in program.parameters}
        if sizes in done or not 0 < sum(card(item.domain).at(sizes) for item in program.statements) <= MOST:
            continue
        done.append(sizes)
        cdag = concrete_cdag(program, sizes, flow)
        sums = Sums(program, sizes, cdag)
        least = int(np.diff(cdag.starts).max(initial=0)) + 1
        for capacity in sorted({least, least + 2, 2 * least, 4 * least, 10 * least}):
            here = {**sizes, "S": capacity}
            value = max(strict.value(here), fitted(strict, here, Search()).value(here))
            yield f"in order at {here}", value, least_known(cdag, capacity, rng), cdag.inputs
        least = sums.least_capacity()
        for capacity in sorted({least, least + 2, 2 * least, 4 * least, 10 * least}):
            here = {**sizes, "S": capacity}
            value = max(free.value(here), fitted(free, here, Search()).value(here))
            yield f"in any order at {here}", value, least_of_any_order(sums, cdag, capacity, rng), cdag.inputs


def least_of_any_order(sums: Sums, cdag: ConcreteCdag, capacity: int, rng: np.random.Generator) -> int:
    """Return the fewest loads of the terms as written, at random and in blocks."""
    tiles = rng.integers(1, 2 * max(1, round(capacity**0.5)), size=cdag.coordinates.shape[1])
    blocked = (cdag.coordinates // tiles) @ (101 ** np.arange(len(tiles)))
    noise = rng.random(cdag.n + 2 * len(sums.terms))
    ranks = (
        lambda v: float(noise[v]),
        lambda v: float(v if v < cdag.n else 0),
        lambda v: float(blocked[v] + v / cdag.n if v < cdag.n else -1),
    )
    return min(sums.play(capacity, rank) for rank in ranks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, metavar="N", help="programs")
    parser.add_argument("seed", type=int, metavar="SEED", help="seed of the first one")
    given = parser.parse_args()
    made = (random_program, nests.random_program, updates, closures, products, temporaries)
    done = active = beaten = 0
    for seed in range(given.seed, given.seed + given.count):
        text = made[seed % len(made)](seed)
        for where, value, loads, inputs in chain(comparisons(text, seed), orders(text, seed)):
            done += 1
            active += value > inputs
            if value > loads:
                beaten += 1
                print(f"seed {seed}, {where}: {value} is above {loads}\n{text}", flush=True)
        if seed % 10 == 9:
            print(f"up to seed {seed}: {done} comparisons, {active} above the inputs, {beaten} beaten", flush=True)
    print(f"{given.count} programs: {done} comparisons, {active} above the inputs, {beaten} beaten")
    sys.exit(beaten > 0)


if __name__ == "__main__":
    main()
