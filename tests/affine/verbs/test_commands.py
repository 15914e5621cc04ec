"""The command line of the affine engine, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json

KERNEL = """void f(int n, float a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 2.0 * b[i];
#pragma endscop
}
void g(int m, double c[m]) {
#pragma scop
  for (int i = 1; i < m; i++) c[i] += c[i - 1];
#pragma endscop
}
"""


def test_bound_prints_formula_model_and_proof() -> None:
    done = shorthaul("affine", "bound", "gemm", "--no-upper", "--proof")
    assert done.returncode == 0, done.stderr
    assert "2*NI*NJ*NK/sqrt(S)" in done.stdout
    assert "ed-white pebble game" in done.stdout


def test_bound_document_with_sizes() -> None:
    sized = shorthaul_json("affine", "bound", "matvec", "--size", "M=10,N=20,S=8", "--effort", "0.1")
    assert sized["bound"]["value"] >= 220
    assert sized["bound"]["inputs"].replace(" ", "") in {"M*N+N", "N+M*N"}
    assert set(sized["bound"]) >= {"of", "value", "method", "proof", "leading", "operations", "oi_limit"}


def test_other_ways_to_print() -> None:
    told = shorthaul("affine", "bound", "matvec", "--no-upper", "--proof", "--format", "latex").stdout
    assert "\\left\\lfloor" in told
    assert "Compulsory loads" in told
    assert "formula = " in shorthaul("affine", "bound", "matvec", "--no-upper", "--format", "sympy").stdout


def test_a_function_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text(KERNEL)
    assert shorthaul("affine", "bound", "two.c", cwd=tmp_path).returncode == 2
    document = shorthaul_json("affine", "bound", "two.c", "--function", "g", cwd=tmp_path)
    assert document["program"]["parameters"] == ["m"]
    assert document["bound"]["value"] is None
    assert document["status"] is None


def test_check_runs_the_oracle(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text(KERNEL)
    document = shorthaul_json("affine", "check", "two.c", "--function", "g", "--size", "m=9", cwd=tmp_path)
    assert document["check"]["ok"] is True
    assert {item["how"] for item in document["check"]["comparisons"]} == {"exact play", "derived order"}
    assert all(item["bound"] <= item["loads"] for item in document["check"]["comparisons"])


def test_sweep_over_the_fast_memory() -> None:
    arguments = (
        "affine",
        "sweep",
        "matmul",
        "--size",
        "M=64,N=64,K=64",
        "--least",
        "16",
        "--most",
        "1024",
        "--points",
        "4",
    )
    document = shorthaul_json(*arguments, "--balance", "5", "--effort", "0.05")
    values = [point["bound"] for point in document["points"]]
    assert [point["S"] for point in document["points"]] == [16, 64, 256, 1024]
    assert values == sorted(values, reverse=True)
    assert all("may_be_compute_bound" in point for point in document["points"])


def test_cdag_is_read_by_the_pebble_engine(tmp_path: Path) -> None:
    done = shorthaul("affine", "cdag", "cholesky", "--size", "N=4", "-o", "cdag.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "cdag.json").read_text())
    assert len(document["nodes"]) == 30
    assert {node["weight"] for node in document["nodes"]} == {8}
    planned = shorthaul_json("pebble", "plan", "cdag.json", "--budget", "64", cwd=tmp_path)
    assert planned["check"]["ok"] is True
    printed = shorthaul("affine", "cdag", "cholesky", "--size", "N=4", "-o", "-", cwd=tmp_path)
    assert json.loads(printed.stdout) == document


def test_a_check_of_bounds_has_no_plan_to_write(tmp_path: Path) -> None:
    done = shorthaul("affine", "check", "gemm", "-o", "plan.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "--output: there is no plan to write" in done.stderr


def test_a_plan_of_10_8_instances_is_an_order_and_its_loads(tmp_path: Path) -> None:
    asked = ("affine", "plan", "matvec", "--size", "M=10000,N=10000,S=1000", "--effort", "0.2")
    done = shorthaul(*asked)
    assert done.returncode == 0, done.stderr
    assert "100,000,000 instances, too many to be listed" in done.stdout
    done = shorthaul(*asked, "-o", str(tmp_path / "plan.json"))
    assert done.returncode == 2
    assert "'shorthaul affine code' writes an order as C" in done.stderr
    assert not list(tmp_path.iterdir())


def test_kernels_are_listed() -> None:
    done = shorthaul("affine", "cases")
    assert "floyd-warshall" in done.stdout
    assert "attention" in done.stdout


def test_a_wrong_plan_is_found(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text(KERNEL)
    head = {"kind": "shorthaul/affine-plan", "version": 1, "sizes": {"m": 3}, "fast_memory": 4}
    (tmp_path / "plan.json").write_text(json.dumps({**head, "order": [["S0", 2], ["S0", 1]]}))
    arguments = ("affine", "check", "two.c", "plan.json", "--function", "g")
    checked = shorthaul_json(*arguments, cwd=tmp_path, status=1)
    assert checked["status"] == "invalid"
    assert {item["rule"] for item in checked["check"]["violations"]} == {"before-operand"}


@pytest.mark.slow
def test_the_oracle_compares_parts_too() -> None:
    document = shorthaul_json("affine", "check", "cholesky", "--size", "N=5")
    assert any("U(K)" in remark for remark in document["check"]["remarks"])


def test_bytes_of_mixed_precision(tmp_path: Path) -> None:
    text = "void f(int n, float a[n], double b[n], double c[n]) {\n#pragma scop\n"
    text += "  for (int i = 0; i < n; i++) c[i] = a[i] * b[i];\n#pragma endscop\n}\n"
    (tmp_path / "mixed.c").write_text(text)
    document = shorthaul_json("affine", "bound", "mixed.c", "--size", "n=10,S=8", cwd=tmp_path)
    assert (document["bound"]["value"], document["bound"]["value_bytes"]) == (20, 120)
