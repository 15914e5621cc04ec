"""Derived tiled orders: leading terms, the policy's cost against brute force, and the replay below the formula."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import sympy
from tests.affine.derived import bound_of, flow_of, quick, upper_of
from tests.reference.affine_tile_policy import play
from tests.samples import samples

from shorthaul.affine.frontend.scop import program_from_text
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.integer_sets.quasi_polynomial import symbol
from shorthaul.affine.integer_sets.subspaces import integer_solution
from shorthaul.affine.orders.searching import at_sizes
from shorthaul.affine.orders.skewing import Distance, best_covectors, shifted
from shorthaul.affine.orders.tile_policy import all_loops
from shorthaul.affine.orders.tile_steps import Edge, Step, edge_formula
from shorthaul.affine.orders.turns import TurnsStep
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.orders.upper_report import tightness
from shorthaul.affine.replay.cdag import concrete_cdag
from shorthaul.affine.replay.tile_order import best_origin, tiled_order
from shorthaul.affine.verbs.bound import bound
from shorthaul.affine.verbs.oracle import least_capacity
from shorthaul.affine.verbs.planning import plan
from shorthaul.affine.verbs.sweep import sweep
from shorthaul.affine.workloads.cases import CASES, FURTHER, POLYBENCH, kernel
from shorthaul.core.search import Search

N, M, T = symbol("N"), symbol("M"), symbol("TSTEPS")
NI, NJ, NK, NL = (symbol(name) for name in ("NI", "NJ", "NK", "NL"))
NP, NQ, NR, H, W = (symbol(name) for name in ("NP", "NQ", "NR", "H", "W"))
root = sympy.sqrt(S)

#: Loads that suffice, to leading order: what good schedules by hand are known to need, or less.
LEADING = {
    "adi": 4 * N**2 * T,
    "2mm": 2 * NI * NJ * (NK + NL) / root,
    "atax": 2 * M * N,
    "bicg": M * N,
    "cholesky": N**3 / (3 * sympy.sqrt(2) * root),
    "correlation": M**2 * N / (sympy.sqrt(2) * root),
    "covariance": M**2 * N / (sympy.sqrt(2) * root),
    "doitgen": 2 * NP**2 * NQ * NR / root,
    "fdtd-2d": 3 * sympy.sqrt(3) * symbol("NX") * symbol("NY") * symbol("TMAX") / root,
    "floyd-warshall": 2 * N**3 / root,
    "gemm": 2 * NI * NJ * NK / root,
    "gemver": 2 * N**2,
    "gesummv": 2 * N**2,
    "gramschmidt": M * N**2 / 2,
    "heat-3d": 6 * N**3 * T / sympy.cbrt(S),
    "jacobi-1d": 4 * N * T / S,
    "jacobi-2d": 4 * sympy.sqrt(2) * N**2 * T / root,
    "lu": 2 * N**3 / (3 * root),
    "ludcmp": 2 * N**3 / (3 * root),
    "mvt": N**2,
    "nussinov": N**3 / 3,
    "seidel-2d": 2 * sympy.sqrt(2) * N**2 * T / root,
    "symm": 2 * M**2 * N / root,
    "syr2k": sympy.sqrt(2) * M * N**2 / root,
    "syrk": M * N**2 / (sympy.sqrt(2) * root),
    "trisolv": N**2 / 2,
    "trmm": M**2 * N / root,
}


#: One kernel of each kind of order.
QUICK = {"atax", "floyd-warshall", "gemm", "gramschmidt", "jacobi-1d", "jacobi-2d", "symm", "trisolv"}


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(LEADING, QUICK))
def test_leading_terms(name: str) -> None:
    assert sympy.simplify(upper_of(name).leading - LEADING[name]) == 0


@pytest.mark.slow
def test_two_scans_need_five_loads_per_pixel() -> None:
    assert upper_of("deriche").leading == 5 * H * W


def replayed(name: str, base: int, factors: tuple[int, ...]) -> None:
    upper = upper_of(name)
    sizes = {item: base + at % 3 for at, item in enumerate(upper.program.parameters)}
    cdag = concrete_cdag(upper.program, sizes)
    sinks = np.repeat(np.arange(cdag.n), np.diff(cdag.starts))
    for factor in factors:
        given = {**sizes, "S": least_capacity(cdag) * factor}
        order, loads = best_origin(upper, cdag, given, Search())
        position = np.full(cdag.n, -1)
        position[order] = np.arange(len(order))
        assert sorted(order.tolist()) == list(range(cdag.inputs, cdag.n))
        assert (position[cdag.operands] < position[sinks]).all()
        assert loads <= upper.value(given)


@pytest.mark.costly
@pytest.mark.parametrize("name", quick([item for item in POLYBENCH if item != "deriche"], QUICK))
def test_the_replay_needs_no_more_than_the_formula(name: str) -> None:
    deep = max(len(item.iterators) for item in kernel(name).statements)
    replayed(name, 4 if deep > 3 else 8, (1, 3, 9))


@pytest.mark.slow
@pytest.mark.parametrize("case", [item for item in CASES if item.name != "convolution"], ids=lambda item: item.name)
def test_the_replay_of_larger_orders(case: object) -> None:
    name = case.name  # type: ignore[attr-defined]
    deep = max(len(item.iterators) for item in kernel(name).statements)
    for base in (4, 7, 9) if deep > 3 else (8, 17, 26, 33):
        replayed(name, base, (1, 2, 3, 5, 10, 20))


#: Kernel, sizes, edge of the tiles: every class of values, kept at every level, occurs.
PLAYED = [
    ("gemm", 6, 2),
    ("gemm", 5, 3),
    ("cholesky", 7, 2),
    ("lu", 6, 3),
    ("symm", 5, 2),
    ("doitgen", 4, 2),
    ("bicg", 8, 3),
    ("gemver", 7, 2),
    ("trisolv", 9, 4),
    ("nussinov", 7, 1),
    ("jacobi-1d", 8, 2),
    ("jacobi-1d", 9, 3),
    ("jacobi-2d", 6, 2),
    ("seidel-2d", 6, 2),
    ("heat-3d", 5, 2),
    ("fdtd-2d", 4, 2),
    ("gramschmidt", 5, 1),
    ("adi", 6, 2),
]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "base", "edge"),
    quick(
        PLAYED,
        [
            item
            for item in PLAYED
            if item[0] in {"gemm", "symm", "bicg", "trisolv", "jacobi-1d", "jacobi-2d", "gramschmidt"}
        ],
    ),
)
def test_the_policy_played_value_by_value(name: str, base: int, edge: int) -> None:
    """The average over all origins is what the formula says or less, and no moment needs more words than it says."""
    program = upper_of(name).program
    sizes = {item: base + at % 2 for at, item in enumerate(program.parameters)}
    parts: list[Step] = []
    for item in upper_of(name).steps:
        parts += [item] if isinstance(item, Step) else [item.plain]
        parts += item.groups if isinstance(item, TurnsStep) and not item.parts.pieces else ()
    for step in parts:
        if step.phase is None or step.policy is None:
            continue
        tiles = step.policy.sizes(edge)
        grid = list(product(*(range(size) for size in tiles.values())))
        if len(grid) > 30:  # with a drawn part of the origins the average is not exact
            grid = [tuple(row) for row in np.random.default_rng(3).permutation(grid)[:4].tolist()]
        outcomes = [play(step, sizes, edge, origin) for origin in grid]
        formula = step.phase.loads(step.policy, edge, step.counts.at(sizes))
        slack = 1.0 if len(grid) != 4 else 1.2
        assert sum(loads for loads, _ in outcomes) / len(outcomes) <= float(formula) * slack + 1e-9
        assert max(words for _, words in outcomes) <= step.phase.live(step.policy, edge)


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        ("B[j][i] = A[i][j];", {"n": 321, "m": 28059810762433, "S": 8}),  # 2^53 + 1, which no float is
        ("B[j][i] = A[i][j] + x[j]; C[i][j] = x[i];", {"n": 40_000_001, "m": 700_000_001, "S": 8}),
        ("y[i] += A[i][j] * x[j];", {"n": 10**9 + 1, "m": 10**9 + 3, "S": 50}),
    ],
)
def test_loads_of_large_programs_are_exact(source: str, sizes: dict[str, int]) -> None:
    """No bound is above them, as one could be above loads that are rounded."""
    arrays = "double A[n][m], double B[m][n], double C[n][m], double x[m], double y[n]"
    loops = f"for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) {{ {source} }}"
    program = program_from_text(f"void f(int n, int m, {arrays}) {{\n#pragma scop\n{loops}\n#pragma endscop\n}}")
    made = bound(program, size=sizes, effort=0.3)
    assert made.extra["upper"] is not None
    upper = made.extra["upper"]
    loads = [upper[name] for name in ("value", "value_bytes", "without_cache")]
    assert all(isinstance(amount, int) for amount in loads)
    assert 2**53 < made.bound.value <= upper["value"] <= upper["without_cache"]
    assert upper["value_bytes"] == 8 * upper["value"]
    assert sum(part["loads_words"] for part in made.bound.details["rests_on"]) <= made.bound.value


def test_the_formula_is_what_the_steps_add_up_to() -> None:
    for name in ("gemm", "symm", "atax"):
        upper = upper_of(name)
        sizes = dict.fromkeys(upper.program.parameters, 40)
        capacity = 100
        edges = {item: edge.formula.subs(S, capacity) for item, edge in upper.edges.items()}
        values = {symbol(key): value for key, value in sizes.items()}
        by_formula = float(upper.formula.subs(edges).subs(values))
        assert upper.value({**sizes, "S": capacity}) <= by_formula + 1e-6  # numbers use the largest edge that fits
        assert by_formula <= upper.value({**sizes, "S": capacity}) * 1.6


@pytest.mark.costly
@pytest.mark.parametrize("text", ["b**2 + b + 2", "2*b + 7", "b**3/2 + 5*b**2 + 1", "b**2/4 + 9*b + 30", "7"])
def test_the_edge_fits(text: str) -> None:
    made = edge_formula(sympy.Poly(sympy.sympify(text, locals={"b": Edge.SYMBOL}), Edge.SYMBOL))
    least = int(made.least_capacity)
    for capacity in range(least, least + 400, 7):
        edge = made.formula.subs(S, capacity)
        assert edge >= 1
        assert made.capacity.eval(edge) <= capacity


def test_covectors_of_known_stencils() -> None:
    line = [(1, -1), (1, 0), (1, 1)]
    rows = np.array([item.entries for item in best_covectors([Distance("S", "S", step) for step in line], 2)[0]])
    assert abs(np.linalg.det(rows)) / (rows @ np.array(line).T).max(axis=1).prod() == pytest.approx(1 / 2)
    plane = [(1, 0, 0), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1)]
    rows = np.array([item.entries for item in best_covectors([Distance("S", "S", step) for step in plane], 3)[0]])
    assert ((rows @ np.array(plane).T) >= 0).all()
    assert abs(np.linalg.det(rows)) / (rows @ np.array(plane).T).max(axis=1).prod() == pytest.approx(1 / 2)


@pytest.mark.parametrize("seed", samples(10))
def test_shifts_point_no_dependence_backwards(seed: int) -> None:
    """Shifts exist exactly where no cycle of dependences points backwards; cycles of up to three are listed."""
    random = np.random.default_rng([seed, 3])
    names = "ABC"
    ends = [(a, b) for a in names for b in names if a == b or random.random() < 0.7]
    given = [Distance(a, b, (1 if a >= b else 0, *random.integers(-1, 2, 2).tolist())) for a, b in ends]
    lengths = {
        entries: {(item.source, item.sink): int(np.dot(entries, item.steps)) for item in given}
        for entries in product(range(-2, 3), repeat=3)
    }
    for chosen in best_covectors(given, 3):
        for item in chosen:
            reach = dict.fromkeys(names, 0)
            for (a, b), length in lengths[item.entries].items():
                moved = length + item.shifts[b] - item.shifts[a]
                assert moved >= 0
                reach[a] = max(reach[a], moved)
            assert item.reach == sum(reach.values())
    cycles = [item for size in (1, 2, 3) for item in permutations(names, size)]
    known = {entries for entries in lengths if shifted(entries, given) is not None}
    for entries, along in lengths.items():
        sums = [[along.get((a, b)) for a, b in zip(item, (*item[1:], item[0]), strict=True)] for item in cycles]
        backwards = any(None not in item and sum(item) < 0 for item in sums)
        assert (entries in known) == (not backwards)


def test_linear_equations_in_integers() -> None:
    assert integer_solution(((2, 0), (0, 1)), (1, 0)) is None
    assert integer_solution(((1, 1), (0, 1)), (3, 5)) == (3, 2)
    assert integer_solution(((1, 0, 0),), (0, 1, 0)) is None
    assert integer_solution((), ()) == ()


def test_orders_of_deep_nests_stay_few() -> None:
    assert sum(1 for _ in all_loops(7)) < 500


def test_transposed_reads_are_fused() -> None:
    """b reads what a has made with the loops exchanged: one phase, every word of the matrix loaded once."""
    program = program_from_text(
        "void f(int n, double A[n][n], double x[n], double y[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = A[i][j] + x[i];\n"
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) y[i] += A[j][i];\n#pragma endscop\n}"
    )
    upper = upper_bound(program)
    assert len(upper.steps) == 1
    assert upper.leading == symbol("n") ** 2


def test_a_program_without_reads() -> None:
    program = program_from_text(
        "void f(int n, double a[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 1;\n#pragma endscop\n}"
    )
    made = bound(program, size="n=5,S=2").document()
    assert (made["upper"]["leading"], made["upper"]["tightness"], made["upper"]["value"]) == ("0", 1.0, 0)
    assert made["bound"]["oi_limit"] == "oo"


@pytest.mark.slow
def test_small_dimensions() -> None:
    """With K small against S, C is made in fast memory and A or B streams by: fewer loads than M N."""
    upper = upper_bound(kernel("gemm"), small=("NK",))
    assert upper.leading == NI * NJ
    assert upper_bound(kernel("syrk"), small=("M",)).leading == N**2 / 2
    made = bound(kernel("gemm"), small="NK").document()
    assert (made["bound"]["leading"], made["upper"]["tightness"]) == ("NI*NJ", 1.0)


def test_an_origin_is_found() -> None:
    upper = upper_of("gemm")
    sizes = dict.fromkeys(upper.program.parameters, 7) | {"S": 12}
    cdag = concrete_cdag(upper.program, sizes)
    orders = {tiled_order(upper, cdag, sizes, origin).tobytes() for origin in ((0, 0), (1, 1))}
    assert len(orders) == 2


TIGHT = ("gemm", "atax", "lu", "syrk", "cholesky", "floyd-warshall")


@pytest.mark.parametrize("name", quick(TIGHT, ("gemm", "syrk")))
def test_tightness_of_the_tight_kernels(name: str) -> None:
    assert tightness(bound_of(name).leading, upper_of(name).leading) == 1


@pytest.mark.slow
def test_documents_name_the_upper_bound() -> None:
    made = bound(kernel("matmul"), size="M=50,N=50,K=50,S=80", effort=0.2)
    upper = made.document()["upper"]
    assert upper["tightness"] == 1
    assert upper["leading"] == "2*K*M*N/sqrt(S)"
    assert made.bound is not None
    assert made.bound.value <= upper["value"]
    assert upper["tiles"]["b"].startswith("floor(sqrt(S)")
    assert bound(kernel("matmul"), upper=False, effort=0.1).document()["upper"] is None
    planned = plan(kernel("matmul"), size="M=9,N=9,K=9,S=30", evaluations=3, effort=0.1).document()
    assert planned["cost"]["loads_words"] <= planned["upper"]["replayed_loads_words"] <= planned["upper"]["value"]


@pytest.mark.slow
def test_sweeps_stand_beside_the_bound() -> None:
    made = sweep(kernel("matmul"), size="M=300,N=300,K=300", least=2, most=4096, points=4, balance=20.0, effort=0.2)
    points = made.extra["points"]
    assert points[0]["loads_words"] is None  # S = 2 holds no operation
    for point in points[1:]:
        assert point["bound"] <= point["loads_words"]
        assert point["oi_reached"] <= point["oi_limit"]
        assert point["peak_reached"] <= point["peak_limit"] <= 1
    assert [item.title for item in made.figures[:3]] == [
        "Loads over the fast memory",
        "Operational intensity",
        "Roofline over the fast memory",
    ]


MIXED = (
    "void f(int N, float A[N][N], float B[N][N], double C[N][N]) {\n#pragma scop\n"
    "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) for (int k = 0; k < N; k++)\n"
    "C[i][j] += A[i][k] * B[k][j];\n#pragma endscop\n}"
)


def test_bytes_of_the_derived_order() -> None:
    """Every load has the width of its array; with equal widths bytes are words."""
    program = program_from_text(MIXED)
    upper, sizes = upper_bound(program), {"N": 40, "S": 60}
    assert 4 * upper.value(sizes) < upper.value_bytes(sizes) < 8 * upper.value(sizes)
    for name in ("gemm",):
        same = upper_of(name)
        given = dict.fromkeys(same.program.parameters, 40) | {"S": 60}
        assert same.value_bytes(given) == pytest.approx(8 * same.value(given))
    large = {"N": 10**5, "M": 10**5, "S": 1024}  # where triangular blocks are taken
    assert upper_of("syrk").value_bytes(large) == pytest.approx(8 * upper_of("syrk").value(large))


@pytest.mark.parametrize("name", quick((*POLYBENCH, *FURTHER), ("gemver",)))
def test_bytes_at_given_sizes_are_words_times_the_widest(name: str) -> None:
    program = kernel(name)
    width = max(item.element_bytes for item in program.arrays.values())
    sizes = {item: (9 if len(program.parameters) > 4 else 40) + at % 3 for at, item in enumerate(program.parameters)}
    found = at_sizes(upper_of(name), flow_of(name), {**sizes, "S": 60}, Search(effort=0.3))
    words = found.value({**sizes, "S": 60})
    assert 0 < found.value_bytes({**sizes, "S": 60}) <= width * words * (1 + 1e-9)


def test_bytes_of_plans_and_sweeps() -> None:
    program = program_from_text(MIXED)
    made = plan(program, size="N=8,S=20", evaluations=3, effort=0.1)
    assert made.cost is not None
    assert made.bound is not None
    assert made.bound.details["value_bytes"] <= made.cost["loads_bytes"]
    assert 4 * made.cost["loads_words"] < made.cost["loads_bytes"] < 8 * made.cost["loads_words"]
    curve = {"size": "N=90", "least": 9, "most": 400, "points": 3, "balance": 2.0, "effort": 0.2}
    words, by_bytes = (sweep(program, **curve, unit=unit) for unit in ("words", "bytes"))
    for one, other in zip(words.extra["points"], by_bytes.extra["points"], strict=True):
        assert one["bound_bytes"] <= one["loads_bytes"]
        assert one["oi_limit"] == pytest.approx(other["oi_limit"] * one["bound_bytes"] / one["bound"])
        assert one["oi_reached"] == pytest.approx(other["oi_reached"] * one["loads_bytes"] / one["loads_words"])
        assert other["peak_limit"] == min(1, other["oi_limit"] / 2)
    assert "per byte" in by_bytes.figures[1].y_label


@pytest.mark.slow
def test_little_effort_finds_skewed_tiles() -> None:
    """Of a search that ends among the policies of the first skewed coordinates the best until then is kept."""
    inside = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++)"
    update = "B[i][j] = A[i - 1][j] + A[i + 1][j] + A[i][j - 1] + A[i][j + 1] + c[i][j];"
    loops = f"for (int t = 0; t < T; t++) {{ {inside} {update} {inside} A[i][j] = B[i][j]; }}"
    text = f"void f(int T, int n, double A[n][n], double B[n][n], double c[n][n]) {{ {loops} }}"
    flow = flow_dependences(program_from_text(text))
    phases = [upper_bound(flow.program, flow=flow, search=Search(effort=effort)).steps[0].phase for effort in (0.12, 9)]
    assert all(phase is not None and phase.is_skewed for phase in phases)


def test_what_loads_its_inputs_is_not_tried_in_panels() -> None:
    """Where every value is read once there is nothing to gain, and little effort is spent."""
    loops = "for (int h = 0; h < H; h++) for (int i = 0; i < N; i++) for (int j = 0; j <= i; j++)"
    text = f"void f(int H, int N, double A[H][N][N], double s[H][N]) {{ {loops} A[h][i][j] /= s[h][i]; }}"
    flow, search = flow_dependences(program_from_text(text)), Search(effort=3)
    upper_bound(flow.program, flow=flow, search=search)
    assert search.spent() < 0.2
