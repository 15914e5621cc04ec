"""Certificates of bounds: verified as they are, and not with one number changed."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import islpy as isl
import pytest
from tests.affine.bounds.lifetime import test_phases as phases
from tests.affine.bounds.lifetime import test_successive as successive
from tests.affine.derived import bound_of, flow_of, kernel, quick
from tests.commands import shorthaul_json
from tests.reference.affine_programs import random_program
from tests.reference.affine_rewritings import split
from tests.reference.falsified import at, changed_numbers, put

from shorthaul.affine import bound, check, program_from_text
from shorthaul.affine.bounds.best import AffineBound, lower_bound
from shorthaul.affine.check.certificate import verify
from shorthaul.affine.check.data_flow import ProgramReads
from shorthaul.affine.check.formulas import is_same, value_of
from shorthaul.affine.check.subspaces import lattice, spanned, unmet
from shorthaul.affine.integer_sets.dependences import flow_dependences
from shorthaul.affine.model import Program
from shorthaul.affine.verbs.deriving import bound_of as as_bound
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, case, kernel_text
from shorthaul.core.errors import InputError
from shorthaul.core.result import Status
from shorthaul.core.search import Search

KERNELS = (*POLYBENCH, *FURTHER)
#: Plain, mirrored, few values, statements merged, what waits after an event.
QUICK = ("gemm", "cholesky", "convolution-1d", "gesummv", "atax")
#: Relations that only have to be true: a part of one may do.
HINTS = {"ancestors", "descendants", "before", "order", "between"}


def certified(name: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the bound as a document holds it, and its sizes."""
    flow = flow_of(name)
    sizes = {**dict.fromkeys(flow.program.parameters, 900), "S": 100}
    return json.loads(json.dumps(as_bound(flow.program, bound_of(name), sizes, flow).document())), sizes


@pytest.mark.costly
@pytest.mark.parametrize("name", quick(KERNELS, QUICK))
def test_bounds_of_kernels_are_verified(name: str) -> None:
    document, sizes = certified(name)
    violations, remarks = verify(kernel(name), document, sizes)
    assert not violations
    parts = document["certificate"]["parts"]
    assert len(remarks) == len(parts)
    assert [": verified" in text for text in remarks] == [item["kind"] != "formula" for item in parts]


IN_STEPS = {
    **{name: phases.FRAME % text for name, (text, _) in phases.PROGRAMS.items()},
    **{name: phases.RECURRENT % text for name, (text, _) in phases.PRODUCTS.items()},
    **{name: successive.FRAME % item[:2] for name, item in successive.PROGRAMS.items()},
}


@pytest.mark.parametrize("name", quick(("matmul", "syrk", "cholesky", "gesummv", "atax", "lu"), ("matmul",)))
def test_bounds_with_own_vertices_are_verified(name: str) -> None:
    assert_is_verified(program_from_text(split(kernel_text(name))))


@pytest.mark.parametrize("name", quick(IN_STEPS, ("batch norm",)))
def test_bounds_in_steps_are_verified(name: str) -> None:
    assert_is_verified(program_from_text(IN_STEPS[name]))


@pytest.mark.parametrize("seed", quick((700_003, 700_030, 700_066, 700_083, 91_041), (700_003,)))
def test_bounds_of_random_programs_are_verified(seed: int) -> None:
    """Thirds among the shares, inputs of which some are counted, a chain that leads to a source in another class."""
    program = program_from_text(random_program(seed))
    bound = lower_bound(program, search=Search(effort=0.3))
    document = as_bound(program, bound, None, flow_dependences(program)).document()
    assert not verify(program, json.loads(json.dumps(document)), None)[0]


def assert_is_verified(program: Program, found: AffineBound | None = None) -> None:
    """Every argument of the program's bound has a certificate that holds."""
    sizes = {**dict.fromkeys(program.parameters, 900), "S": 100}
    document = as_bound(program, found or lower_bound(program), sizes, flow_dependences(program)).document()
    violations, remarks = verify(program, json.loads(json.dumps(document)), sizes)
    assert not violations
    assert remarks
    assert all(text.endswith(": verified") for text in remarks)


def means_the_same(one: Any, other: Any, *, is_bound: bool) -> bool:
    """True for two texts of one set, relation or formula; of a bound, for formulas that differ below 0 alone."""
    if not isinstance(one, str):
        return False
    if "{" in one:
        kinds = (isl.UnionMap, isl.UnionSet)
        for kind in kinds:
            try:
                return bool(kind(one).is_equal(kind(other)))
            except isl.Error:
                continue
        return True  # neither is read, which is found elsewhere
    names = sorted(set(re.findall(r"\b[A-Z]+\b", one)))
    values = (dict(zip(names, row, strict=True)) for row in itertools.product((1, 2, 3, 7), repeat=len(names)))
    try:
        both = [(value_of(one, item), value_of(other, item)) for item in values]
        return all(is_same(a, b) or (is_bound and max(a, b) <= 0) for a, b in both)
    except InputError:
        return False


def missed(name: str, step: int) -> list[tuple[Any, ...]]:
    document, sizes = certified(name)
    found = [*changed_numbers({key: document[key] for key in ("certificate", "value", "formula", "inputs")})]
    wrong = []
    for path, value in found[::step]:
        before = at(document, path)
        if (
            means_the_same(before, value, is_bound=path[-1] == "value")
            or verify(kernel(name), put(document, path, value), sizes)[0]
        ):
            continue
        if path[-1] in HINTS and isl.UnionMap(value).is_subset(isl.UnionMap(before)):
            continue
        wrong.append((path, before, value))
    return wrong


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "step"),
    quick(
        [
            ("trisolv", 11),
            ("heat-1d", 101),
            ("atax", 67),
            ("jacobi-2d", 41),
            ("seidel-2d", 41),
            ("nussinov", 53),
            ("adi", 53),
            ("deriche", 37),
            ("durbin", 37),
            ("gramschmidt", 61),
            ("gemver", 61),
            ("symm", 41),
        ],
        [("trisolv", 11), ("atax", 67)],
    ),
)
def test_a_changed_number_is_found(name: str, step: int) -> None:
    assert not missed(name, step)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("gemm", "cholesky", "convolution-1d", "gesummv", "floyd-warshall", "lu", "trisolv"),
        *("jacobi-1d", "heat-1d", "atax", "covariance"),
    ],
)
def test_every_changed_number_is_found(name: str) -> None:
    assert not missed(name, 1)


@pytest.mark.parametrize("name", quick(("jacobi-2d", "seidel-2d"), ("jacobi-2d",)))
def test_a_value_that_is_wrong_where_sizes_are_large_is_found(name: str) -> None:
    """At sizes at which instances are counted nothing tells it from the true one."""
    document, sizes = certified(name)
    parts = document["certificate"]["parts"]
    for at_part in sorted({0, len(parts) - 1}):
        path = ("certificate", "parts", at_part, "value")
        changed = put(document, path, f"{parts[at_part]['value']} + Max(0, N - 100)")
        places = {item.place for item in verify(kernel(name), changed, sizes)[0]}
        assert f"bound.certificate.parts[{at_part + 1}]" in places


def test_formulas_that_others_hide_are_verified() -> None:
    """An argument made for the sizes is the largest one near them only; what a minimum in it hides is found too."""
    program, sizes = case("gemm").workload, {"NI": 900, "NJ": 1100, "NK": 1000, "S": 65_536}
    flow = flow_dependences(program)
    document = as_bound(
        program, lower_bound(program, flow=flow, sizes=sizes, search=Search(effort=0.3)), sizes, flow
    ).document()
    document = json.loads(json.dumps(document))
    made = next(at for at, part in enumerate(document["certificate"]["parts"]) if part["events"].isdecimal())
    paths = (("formula",), ("certificate", "parts", made, "value"))
    found = [*changed_numbers({"formula": document["formula"]})]
    found += [(paths[1], value) for _, value in changed_numbers({"value": at(document, paths[1])})]
    hidden = [(path, value) for path, value in found if "Min(" in value]
    assert len(hidden) > 30
    for path, value in hidden[::40]:
        assert verify(program, put(document, path, value), sizes)[0], (path, value)


TEXT = (
    "void f(int n, double a[n], double b[n + 9]) {\n#pragma scop\nfor (int i = %s) a[i] %s= b[i];\n#pragma endscop\n}\n"
)


@pytest.mark.parametrize("loop", ["0; i < n; i++", "0; i < n; i += 2", "n - 1; i >= 0; i--"])
def test_what_is_read_by_definition(loop: str) -> None:
    program = program_from_text(TEXT % (loop, "+"))
    flow = isl.UnionMap("{ }")
    for item in bound_flow(program):
        flow = flow.union(item)
    assert ProgramReads(program).of("S0").is_equal(flow)


def bound_flow(program: Any) -> list[isl.UnionMap]:
    return [isl.UnionMap.from_map(item.relation.reverse()) for item in flow_dependences(program).flows]


def test_subspaces_and_exponents() -> None:
    axes = tuple(spanned([row]) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1]))
    known = lattice(axes, 3)
    assert known is not None
    assert len(known) == 7
    assert unmet(axes, [value_of("1/2", {})] * 3, 3) is None  # type: ignore[list-item]
    assert "of rank 1" in str(unmet(axes, [value_of("1/3", {})] * 3, 3))  # type: ignore[list-item]


@pytest.mark.parametrize(
    "text",
    ["__import__('os').system('true')", "S.real", "S**S**S**S", "(1,)", "1 +", "N", "floor(1, 2)", "x" * 9, "{**S}"],
)
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(InputError, match="is no"):
        value_of(text, {"S": 70})


def test_parts_in_a_root_are_not_hidden() -> None:
    """What a part is there and where it is hidden are two numbers, though it is evaluated once."""
    text = "Max(ceiling(sqrt(Max(1, ceiling(S)))), ceiling(S))"
    apart = text.replace("1, ceiling(S)", "1, ceiling(S + 0)")
    assert value_of(text, {"S": 70}, opaque=True) == value_of(apart, {"S": 70}, opaque=True)


def test_the_document_of_a_bound(tmp_path: Path) -> None:
    """A document is verified, one with a changed value is not; other files end in a message."""
    program = case("matvec").workload
    bound(program, size="M=90,N=90,S=8", upper=False).save(tmp_path / "good.json")
    document = shorthaul_json("affine", "check", "matvec", "--bound", "good.json", cwd=tmp_path)
    assert document["check"]["ok"] is True
    assert document["check"]["remarks"] == [f"[{at}] K-partition on S1: verified" for at in (1, 2)]  # for the sizes too
    saved = json.loads((tmp_path / "good.json").read_text())
    changed = tmp_path / "changed.json"
    for path in (("bound", "value"), ("bound", "certificate", "parts", 0, "kernels"), ("bound", "formula")):
        changed.write_text(json.dumps(put(saved, path, 7)))
        assert check(program, bound=str(changed)).status is Status.INVALID
    wrong = {("sizes",): "every parameter", ("bound", "certificate"): "no cert", ("kind",): "kind"}
    for path, message in {**wrong, ("bound", "value"): "no value", ("program",): "which program"}.items():
        changed.write_text(json.dumps(put(saved, path, None)))
        with pytest.raises(InputError, match=message):
            check(program, bound=str(changed))
    with pytest.raises(InputError, match="of another program"):  # though it lacks parameters of that one
        check(case("gemm").workload, bound=str(tmp_path / "good.json"))


def test_a_certificate_of_another_program_is_one_error(tmp_path: Path) -> None:
    loops = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++)"
    made = "void f(int N, double A[N][N], double x[N], double y[N]) {{ {} {} }}"
    (tmp_path / "f.c").write_text(made.format(loops, "y[i] += A[i][j] * x[j];"))
    bound(tmp_path / "f.c", size="N=20,S=8", upper=False, effort=0.2).save(tmp_path / "f.json")
    # the last one has the same loads
    for text in ("y[i] = A[i][j];", "y[i] += A[i][j] / x[j];"):
        (tmp_path / "g.c").write_text(made.format(loops, text))
        with pytest.raises(InputError, match="of another program") as found:
            check(tmp_path / "g.c", bound=str(tmp_path / "f.json"))
        assert found.value.value == str(tmp_path / "f.c")
    (tmp_path / "g.c").write_text(f"/* the same */ {(tmp_path / 'f.c').read_text()}")
    assert check(tmp_path / "g.c", bound=str(tmp_path / "f.json")).status is None
