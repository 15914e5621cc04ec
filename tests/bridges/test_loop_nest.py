from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.affine.derived import quick
from tests.commands import shorthaul, shorthaul_json
from tests.reference.affine_interpreter import Interpreter

from shorthaul.affine.frontend.parser import parse
from shorthaul.affine.frontend.symbols import element_bytes, symbols
from shorthaul.affine.workloads.cases import CASES, kernel_text
from shorthaul.affine.workloads.cases import kernel as program_of
from shorthaul.bridges.loop_nest import LoopNestOptions, cdag_source
from shorthaul.core.errors import InputError
from shorthaul.pebble import plan

KERNEL = """
void f(int n, float a[n], double s[1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    s[0] += a[i];
#pragma endscop
}
void g(int n, double a[n]) {
#pragma scop
  for (int i = 1; i < n; i++)
    a[i] = a[i] + a[i - 1];
#pragma endscop
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "two.c"
    path.write_text(KERNEL)
    return str(path)


def test_a_loop_nest_is_a_cdag_weighted_in_bytes(kernel: str) -> None:
    cdag = cdag_source(kernel, LoopNestOptions(size="n=3", function="f")).workload
    # a[0], a[1], a[2] of four bytes, s[0] before and after each of three additions of eight
    assert sorted(np.asarray(cdag.weights).tolist()) == [4, 4, 4, 8, 8, 8, 8]
    assert len(cdag.inputs()) == 4


def test_the_command_plans_what_the_affine_engine_writes(kernel: str, tmp_path: Path) -> None:
    flags = ("--function", "g", "--size", "n=5")
    direct = shorthaul_json("pebble", "plan", kernel, *flags, "--budget", "24", "-o", "plan.json", cwd=tmp_path)
    shorthaul("affine", "cdag", kernel, *flags, "-o", "cdag.json", cwd=tmp_path)
    by_file = shorthaul_json("pebble", "plan", "cdag.json", "--budget", "24", cwd=tmp_path)
    assert direct["cost"] == by_file["cost"]
    assert direct["plan"] == by_file["plan"]
    assert direct["provenance"]["input"].endswith("two.c --size n=5")
    checked = shorthaul_json("pebble", "check", kernel, "plan.json", *flags, "--budget", "24", cwd=tmp_path)
    assert checked["cost"] == direct["cost"]
    assert json.loads(tmp_path.joinpath("cdag.json").read_text())["name"] == "g"


def test_other_sizes_are_another_input(kernel: str) -> None:
    digests = {cdag_source(kernel, LoopNestOptions(size=f"n={n}", function="f")).digest for n in (3, 4)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (LoopNestOptions(function="f"), "no size is given for n"),
        (LoopNestOptions(size="n=3"), "several functions"),
        (LoopNestOptions(size="m=3", function="f"), "unknown parameter"),
    ],
)
def test_what_a_loop_nest_lacks_is_told(kernel: str, options: LoopNestOptions, says: str) -> None:
    with pytest.raises(InputError, match=says):
        cdag_source(kernel, options)


def test_sizes_belong_to_c_files() -> None:
    done = shorthaul("pebble", "bound", "dwt:n=8,d=3,word=1", "--size", "N=3")
    assert done.returncode == 2
    assert "--size: does not apply" in done.stderr


@pytest.mark.parametrize("name", quick([one.name for one in CASES], [one.name for one in CASES][::3]))
def test_built_in_kernels_move_their_inputs_and_outputs_where_all_fits(name: str, tmp_path: Path) -> None:
    """Inputs are elements read before they are written, outputs values that nothing reads, as the C code runs."""
    text = kernel_text(name)
    sizes = dict.fromkeys(program_of(name).parameters, 3)
    path = tmp_path / "kernel.c"
    path.write_text(text)
    region = parse(text)
    ran = Interpreter(region, sizes, set(symbols(region).data)).run()
    read = set().union(*ran.reads.values())
    inputs, unread = {one for one in read if one[0] == "input"}, set(ran.instances) - read
    cdag = cdag_source(str(path), LoopNestOptions(size=",".join(f"{name}={n}" for name, n in sizes.items()))).workload
    assert cdag.n == len(inputs) + len(ran.instances)
    result = plan(cdag, budget=int(cdag.weights.sum()), method="belady")
    declared = symbols(region).declared
    assert result.cost["loads"] == sum(element_bytes(declared[array]) for _, array, *_ in inputs)
    assert result.cost["stores"] == cdag.weights[cdag.outputs()].sum()
    assert (len(cdag.inputs()), len(cdag.outputs())) == (len(inputs), len(unread))
    assert result.status.value == "optimal"
