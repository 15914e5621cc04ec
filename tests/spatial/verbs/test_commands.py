from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.reference import spatial_twins as twins

from shorthaul.core.errors import InputError
from shorthaul.spatial.verbs.sweep import sizes_from_text


def test_treefix_of_given_values_into_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tree = twins.random_tree(rng)
    values = rng.integers(-9, 9, tree.n)
    np.save(tmp_path / "tree.npy", tree.parent)
    np.save(tmp_path / "values.npy", values)
    arguments = ("treefix", "tree.npy", "--values", "values.npy", "--op", "max", "--refine", "0.1", "-o", "sums.npz")
    document = shorthaul_json("spatial", *arguments, cwd=tmp_path)
    expected = twins.subtree_fold(tree.parent.tolist(), values.tolist(), max)
    with np.load(tmp_path / "sums.npz") as found:
        assert found["value"].tolist() == document["plan"]["value"] == expected
    assert document["check"]["messages_replayed"] is True
    assert {"rounds", "words_per_processor", "cycles", "method"} <= set(document)


def test_lca_of_given_queries_into_a_file(tmp_path: Path) -> None:
    tmp_path.joinpath("t.nwk").write_text("((a,b)c,(d,e)f)r;")
    tmp_path.joinpath("q.txt").write_text("# pairs\n2 3\n2,5\n\n")
    document = shorthaul_json("spatial", "lca", "t.nwk", "--queries", "q.txt", "-o", "a.npz", cwd=tmp_path)
    with np.load(tmp_path / "a.npz") as found:
        assert found["ancestor"].tolist() == document["plan"]["ancestor"] == [1, 0]


def test_a_forest_needs_the_flag(tmp_path: Path) -> None:
    tmp_path.joinpath("t.nwk").write_text("(a,b);\n(c,d);\n")
    refused = shorthaul("spatial", "plan", "t.nwk", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--forest" in refused.stderr
    document = shorthaul_json("spatial", "plan", "t.nwk", "--forest", cwd=tmp_path)
    assert document["bound"]["value"] == 4


@pytest.mark.slow
def test_large_layouts_leave_the_document(tmp_path: Path) -> None:
    document = shorthaul_json("spatial", "plan", "yule:n=100001", "--refine", "0", "-o", "layout.npz", cwd=tmp_path)
    assert set(document["plan"]) == {"grid", "n", "file", "digest"}
    assert len(json.dumps(document)) < 400_000
    with np.load(tmp_path / "layout.npz") as layout:
        parent, x, y = layout["parent"], layout["x"].astype(int), layout["y"].astype(int)
    child = parent >= 0
    hops = np.abs(x[child] - x[parent[child]]) + np.abs(y[child] - y[parent[child]])
    assert hops.sum() == document["cost"]["energy_hops"]
    assert hops.max() == document["cost"]["distance_hops"]


def test_a_result_document_leads_to_its_large_layout(tmp_path: Path) -> None:
    tmp_path.joinpath("results").mkdir()
    quick = ("star:n=33400", "--refine", "0", "--no-baselines")
    planned = ("--curve", "snake", "-o", "results/layout.npz", "--result", "r.json")
    document = shorthaul_json("spatial", "plan", *quick, *planned, cwd=tmp_path)
    assert document["plan"]["file"] == "results/layout.npz"
    checked = shorthaul_json("spatial", "check", "star:n=33400", "r.json", cwd=tmp_path)
    assert checked["cost"] == document["cost"]
    assert checked["plan"]["digest"] == document["plan"]["digest"]

    outside = {**document, "plan": {**document["plan"], "file": "../layout.npz"}}
    tmp_path.joinpath("results", "r.json").write_text(json.dumps(outside))
    refused = shorthaul("spatial", "check", "star:n=33400", "results/r.json", cwd=tmp_path)
    assert refused.returncode == 2
    assert "leads out of the document's folder" in refused.stderr

    with np.load(tmp_path / "results" / "layout.npz") as arrays:
        np.savez(tmp_path / "results" / "layout.npz", **{**arrays, "x": arrays["x"][::-1]})
    other = shorthaul("spatial", "check", "star:n=33400", "r.json", cwd=tmp_path)
    assert other.returncode == 2
    assert "layout.npz: digest: is not the file that was written with the plan" in other.stderr

    shorthaul("spatial", "plan", *quick, "--result", "alone.json", cwd=tmp_path)
    nowhere = shorthaul("spatial", "check", "star:n=33400", "alone.json", cwd=tmp_path)
    assert nowhere.returncode == 2
    assert "alone.json: plan.file: the layout was too large for the document" in nowhere.stderr


def test_sweep_over_sizes_orders_and_curves(tmp_path: Path) -> None:
    arguments = ("sweep", "yule:seed=2", "--sizes", "64,256", "--orders", "light-first,dfs", "--curves", "hilbert,z")
    document = shorthaul_json("spatial", *arguments, cwd=tmp_path)
    assert len(document["points"]) == 2 * (4 + 2)
    assert all(point["energy_hops"] >= point["bound"] for point in document["points"])
    assert document["status"] is None


@pytest.mark.slow
@pytest.mark.parametrize("verb", [("treefix", "yule:n=99", "--method", "heavy-path")])
def test_kernels_give_the_same_as_plain_python(
    verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb = (*verb, "--refine", "0.001")
    compiled = shorthaul_json("spatial", *verb, cwd=tmp_path)
    monkeypatch.setenv("SHORTHAUL_COMPILED", "0")
    plain = shorthaul_json("spatial", *verb, cwd=tmp_path)
    assert plain["cost"] == compiled["cost"]
    assert plain["plan"] == compiled["plan"]


def test_people_see_the_baselines_and_what_a_run_held(tmp_path: Path) -> None:
    arguments = ("spatial", "plan", "star:n=63", "--refine", "0.1", "--result", "r.json")
    planned = shorthaul(*arguments, cwd=tmp_path).stdout
    for row in ("this layout", "through the virtual tree", "dfs + hilbert", "bfs + hilbert", "random + hilbert"):
        assert row in planned
    # Relayed messages take less than direct ones have to: the virtual tree has a bound of its own.
    document = json.loads(tmp_path.joinpath("r.json").read_text())
    relayed = document["virtual_tree"]
    assert relayed["bound"] == 62 <= relayed["energy_hops"] < document["bound"]["value"]
    run = shorthaul("spatial", "treefix", "star:n=63", "--refine", "0.1", cwd=tmp_path).stdout
    assert all(name in run for name in ("method", "rounds", "words_per_processor", "cycles"))


def test_sweep_over_sizes_of_a_path(tmp_path: Path) -> None:
    arguments = ("sweep", "path", "--sizes", "2^6..2^9", "--orders", "light-first", "--methods", "convergecast")
    table = shorthaul("spatial", *arguments, "--result", "r.json", cwd=tmp_path).stdout
    document = json.loads(tmp_path.joinpath("r.json").read_text())
    assert [point["vertices"] for point in document["points"][::3]] == [64, 128, 256, 512]
    assert all(point["energy_hops"] == point["vertices"] - 1 for point in document["points"])
    assert "treefix down, convergecast" in table


def test_wrong_sizes() -> None:
    for sizes in ("2^9..2^6", "2^27", "0", "1e3", "2^3..9", "9999999999", ",", ""):
        with pytest.raises(InputError, match=r"(?s)--sizes.*2\^10\.\.2\^20"):
            sizes_from_text(sizes)
