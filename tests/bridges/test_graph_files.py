from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.affine.derived import quick
from tests.commands import shorthaul, shorthaul_json
from tests.reference.affine_interpreter import Interpreter
from tests.tensor.networks.architectures import ARCHITECTURES
from tests.tensor.networks.onnx_writer import Net

from shorthaul.affine.frontend.parser import parse
from shorthaul.affine.frontend.symbols import element_bytes, symbols
from shorthaul.affine.workloads.cases import CASES, kernel_text
from shorthaul.affine.workloads.cases import kernel as program_of
from shorthaul.bridges.graph_files import GraphOptions, cdag_source
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
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
    cdag = cdag_source(kernel, GraphOptions(size="n=3", function="f")).workload
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
    digests = {cdag_source(kernel, GraphOptions(size=f"n={n}", function="f")).digest for n in (3, 4)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (GraphOptions(function="f"), "no size is given for n"),
        (GraphOptions(size="n=3"), "several functions"),
        (GraphOptions(size="m=3", function="f"), "unknown parameter"),
    ],
)
def test_what_a_loop_nest_lacks_is_told(kernel: str, options: GraphOptions, says: str) -> None:
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
    cdag = cdag_source(str(path), GraphOptions(size=",".join(f"{name}={n}" for name, n in sizes.items()))).workload
    assert cdag.n == len(inputs) + len(ran.instances)
    result = plan(cdag, budget=int(cdag.weights.sum()), method="belady")
    declared = symbols(region).declared
    assert result.cost["loads"] == sum(element_bytes(declared[array]) for _, array, *_ in inputs)
    assert result.cost["stores"] == cdag.weights[cdag.outputs()].sum()
    assert (len(cdag.inputs()), len(cdag.outputs())) == (len(inputs), len(unread))
    assert result.status.value == "optimal"


def model(path: Path, *, again: bool = False) -> None:
    """A layer and its activation, viewed under another shape; the layer is a result too where ``again`` says so."""
    net = Net("layer")
    layer = net.linear(net.input("batch", 8), 8, 4, bias=False)
    last = net.op("Relu", net.op("Reshape", layer, net.constant([-1, 2])))
    path.write_bytes(net.model(*([layer] if again else []), last).SerializeToString())


def test_a_model_is_a_cdag_weighted_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    model(path)
    cdag = cdag_source(str(path), GraphOptions(dim="batch=3")).workload
    sizes = dict(zip(map(str, cdag.ids or ()), cdag.weights.tolist(), strict=True))
    costs = dict(zip(map(str, cdag.ids or ()), cdag.compute.tolist(), strict=True))
    assert sorted(sizes.values()) == [4 * 3 * 4, 4 * 3 * 4, 4 * 3 * 8, 4 * 8 * 4]
    assert sorted(costs.values()) == [0, 0, 3 * 4, 2 * 3 * 8 * 4]
    assert (len(cdag.inputs()), len(cdag.outputs()), cdag.edges) == (2, 1, 3)
    done = shorthaul("pebble", "plan", "layer.onnx", "--dim", "batch=3", "--effort", "0.1", cwd=tmp_path)
    assert "optimal" in done.stdout


def test_results_that_are_read_too_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    model(path, again=True)
    cdag = cdag_source(str(path), GraphOptions(dim="batch=3")).workload
    assert sorted(cdag.weights[cdag.outputs()].tolist()) == [4 * 3 * 4, 4 * 3 * 4]
    result = plan(cdag, budget=int(cdag.weights.sum()), effort=0.1)
    assert (result.cost["loads"], result.cost["stores"]) == (4 * 3 * 8 + 4 * 8 * 4, 2 * 4 * 3 * 4)
    assert result.status.value == "optimal"


def test_what_a_model_lacks_is_told(tmp_path: Path) -> None:
    path = tmp_path / "layer.onnx"
    model(path)
    for options, says in (
        (GraphOptions(), "layer.onnx: graph inputs: has dimensions without a size"),
        (GraphOptions(size="batch=3"), "--size: does not apply"),
        (GraphOptions(dim="batch"), "--dim: is no size"),
        (GraphOptions(work=True), "--work: does not apply"),
    ):
        with pytest.raises(InputError) as caught:
            cdag_source(str(path), options)
        assert says in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_public_architectures_are_graphs(name: str, tmp_path: Path) -> None:
    """Every result is an output, also where it is read too, and the graph fits its own weight."""
    path = tmp_path / "model.onnx"
    made = ARCHITECTURES[name]()
    path.write_bytes(made.SerializeToString())
    symbols = {dim.dim_param for item in made.graph.input for dim in item.type.tensor_type.shape.dim if dim.dim_param}
    dims = ",".join(f"{symbol}=2" for symbol in sorted(symbols)) or None
    cdag = cdag_source(str(path), GraphOptions(dim=dims)).workload
    assert len(cdag.outputs()) == len({item.name for item in made.graph.output})
    assert plan(cdag, budget=int(cdag.weights.sum()), effort=0.1).status.value == "optimal"


def test_work_of_hyperdags_is_a_cost(tmp_path: Path) -> None:
    path = tmp_path / "graph.hdag"
    path.write_text("1 2 2\n0 3\n0 5\n1 7\n0 0\n0 1\n")
    plain, worked = (cdag_source(str(path), GraphOptions(work=work)) for work in (False, True))
    assert plain.workload.compute.tolist() == [0, 0]
    assert worked.workload.compute.tolist() == [5, 7]
    assert plain.digest != worked.digest
    path.write_text("1 2 2\n0 3\n0 5\n1 -7\n0 0\n0 1\n")
    with pytest.raises(InputError, match="line 4: must be an integer from 0"):
        cdag_source(str(path), GraphOptions(work=True))


def test_orders_of_programs_end_with_the_effort(tmp_path: Path) -> None:
    """Wherever the effort runs out: there is an order then, or none."""
    path = tmp_path / "kernel.c"
    path.write_text(kernel_text("matmul"))
    cdag = cdag_source(str(path), GraphOptions(size="M=3,N=4,K=3")).workload
    assert cdag.origin is not None
    computed = np.flatnonzero(~cdag.given)
    for effort in (0.01, 0.0377, 0.0633, 0.1):
        order = cdag.origin.order(64, 8, Search(effort=effort))
        assert order is None or np.array_equal(np.sort(order), computed)
