"""Every engine takes its workload as a path, a case, text and the field's own objects, and gives the same answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shorthaul
from shorthaul.core.errors import InputError
from shorthaul.core.result import Result
from shorthaul.pebble.formats.documents import cdag_document

DOT = "digraph { a -> c; b -> c; c -> d; a -> d; }"
C = """void scale(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) b[i] = 2 * a[i];
#pragma endscop
}
"""


def pebble(workload: Any, budget: int = 4) -> dict[str, float]:
    cost = shorthaul.pebble.plan(workload, budget=budget, effort=0.1).cost
    assert cost is not None
    return dict(cost)


def test_pebble(tmp_path: Path) -> None:
    path = tmp_path / "graph.dot"
    path.write_text(DOT)
    mapping = {"c": ["a", "b"], "d": ["c", "a"]}
    cdag = shorthaul.pebble.from_dependencies(mapping)
    workloads = (path, str(path), DOT, mapping, cdag, cdag_document(cdag), shorthaul.pebble.case(str(path)))
    assert len({tuple(pebble(workload).items()) for workload in workloads}) == 1


def test_a_networkx_graph() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "c"), ("b", "c"), ("c", "d"), ("a", "d")])
    assert pebble(graph) == pebble(DOT)
    graph.nodes["c"]["weight"] = np.int64(2)
    assert pebble(graph)["peak"] == 4
    for wrong, says in ((graph.to_undirected(), "not directed"), (networkx.DiGraph(), "no nodes")):
        with pytest.raises(InputError, match=says):
            pebble(wrong)
    graph.nodes["c"]["weight"] = 0.5
    with pytest.raises(InputError, match="positive integer"):
        pebble(graph)


def test_a_sparse_matrix_is_its_matrix_market_file(tmp_path: Path) -> None:
    import scipy.io
    import scipy.sparse

    matrix = scipy.sparse.csr_array(np.array([[1.0, 5, 0], [2, 1, 0], [3, 4, 1]]))
    scipy.io.mmwrite(tmp_path / "l.mtx", scipy.sparse.coo_matrix(matrix))
    assert pebble(matrix, 8) == pebble(tmp_path / "l.mtx", 8)
    for wrong in (matrix[:2], scipy.sparse.csr_array((3, 3)), scipy.sparse.coo_array(np.ones(4))):
        with pytest.raises(InputError):
            pebble(wrong)


def test_affine(tmp_path: Path) -> None:
    path = tmp_path / "scale.c"
    path.write_text(C)
    values = set()
    for workload in (path, str(path), C, shorthaul.affine.case(str(path)), shorthaul.affine.case(str(path)).workload):
        bound = shorthaul.affine.bound(workload, size={"n": 9, "S": 4}, function="scale", upper=False, effort=1).bound
        assert bound is not None
        values.add(bound.value)
    assert values == {9}


def test_tensor(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    shape = lambda name: onnx.helper.make_tensor_value_info(name, 1, [64, 64])  # noqa: E731
    nodes = [onnx.helper.make_node("MatMul", ["a", "b"], ["c"])]
    graph = onnx.helper.make_graph(nodes, "g", [shape("a"), shape("b")], [shape("c")])
    model = onnx.helper.make_model(graph)
    path, text = tmp_path / "model.onnx", tmp_path / "model.json"
    onnx.save(model, path)
    shorthaul.convert(path, str(text))
    document = json.loads(text.read_text())
    bounds = [
        shorthaul.tensor.bound(workload).bound for workload in (model, path, str(text), text.read_text(), document)
    ]
    assert len({bound and bound.value for bound in bounds}) == 1


def test_dataflow(tmp_path: Path) -> None:
    path = tmp_path / "app.xml"
    application = shorthaul.dataflow.case("fig7").workload.application
    path.write_text(shorthaul.dataflow.write_sdf3(application))
    for workload in (application, path, path.read_text(), str(path), shorthaul.dataflow.case(str(path))):
        bound = shorthaul.dataflow.bound(workload, strategy="reference").bound
        assert bound is not None


def test_spatial(tmp_path: Path) -> None:
    tree = pytest.importorskip("sklearn.tree").DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    path = tmp_path / "t.nwk"
    path.write_text("(a,b)c;")
    workloads = ([-1, 0, 0], (-1, 0, 0), np.array([-1, 0, 0]), "(a,b)c;", path, str(path), tree, "star:n=3")
    assert {shorthaul.spatial.bound(workload).extra["vertices"] for workload in workloads} == {3}
    assert shorthaul.spatial.bound("(a,b)c;(d)e;", forest=True).extra["vertices"] == 5
    assert shorthaul.spatial.plan([-1, -1], forest=True, grid=(2, 1)).extra["grid"] == [2, 1]


def test_paths_stand_for_objects(tmp_path: Path) -> None:
    values = tmp_path / "values.npy"
    np.save(values, np.array([4, 3, 2, 1]))
    plans = [shorthaul.spatial.treefix([-1, 0, 0, 1], given).plan for given in (values, str(values), [4, 3, 2, 1])]
    assert {tuple(plan.arrays["value"].tolist()) for plan in plans if plan is not None} == {(10, 4, 2, 1)}
    data = tmp_path / "data.txt"
    data.write_text("1\n2\n")
    for given in (data, [1.0, 2.0], np.array([1, 2])):
        assert shorthaul.pebble.run(DOT, data=given).extra["run"]["agrees"]


@pytest.mark.parametrize("engine", ["affine", "dataflow", "pebble", "spatial", "tensor"])
def test_a_saved_result_is_a_plan(engine: str, tmp_path: Path) -> None:
    from tests.surface.test_wrong_calls import SMALL, plan_of

    result = plan_of(engine)
    assert isinstance(result, Result)
    assert "\n" not in repr(result)
    assert repr(result).startswith(f"<{engine}-result: ")
    path = tmp_path / "result.json"
    result.save(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(result.to_dict()))
    check = getattr(shorthaul, engine).check
    for given in (result, path, str(path), result.plan):
        assert check(SMALL[engine], given).check.ok
    page = shorthaul.report([result, path, result.to_dict()], tmp_path / "page.html")
    assert engine in page.read_text()


def test_a_long_plan_is_saved_beside_its_document(tmp_path: Path) -> None:
    result = shorthaul.spatial.plan("path:n=100001", baselines=False, effort=0.01)
    result.save(tmp_path / "r.json")
    assert shorthaul.spatial.check("path:n=100001", tmp_path / "r.json").status is result.status


@pytest.mark.slow
def test_a_long_order_is_saved_beside_its_document(tmp_path: Path) -> None:
    order = shorthaul.affine.plan("matvec", size="M=320,N=320,S=64", effort=0.5, evaluations=1)
    order.save(tmp_path / "a.json")
    assert shorthaul.affine.check("matvec", tmp_path / "a.json", effort=0.5).status is not None


def test_a_search_and_its_keywords_are_one_or_the_other() -> None:
    by_keywords = shorthaul.tensor.plan("example-3", effort=0.1, seed=4).provenance
    by_search = shorthaul.tensor.plan("example-3", search=shorthaul.Search(effort=0.1, seed=4)).provenance
    assert by_keywords is not None
    assert by_search is not None
    assert (by_keywords.seed, by_keywords.options) == (by_search.seed, by_search.options)
    with pytest.raises(InputError, match="cannot be combined"):
        shorthaul.tensor.plan("example-3", effort=1, search=shorthaul.Search())


@pytest.mark.parametrize("results", [3, None, [], "", {}, [3], [{}], ["missing.json"], object()])
def test_reports_of_nothing(results: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        shorthaul.report(results, tmp_path / "page.html")


def test_a_function_of_a_built_in_kernel_is_refused() -> None:
    with pytest.raises(InputError, match=r"function: does not apply(.|\n)*not for gemm"):
        shorthaul.affine.bound("gemm", function="main")
