"""Long plans in columns, beside the contest's file and in place of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.samples import samples
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.core.errors import InputError
from shorthaul.tensor.formats import documents as formats
from shorthaul.tensor.formats.documents import (
    load_plan,
    plan_columns,
    plan_document,
    plan_from_document,
    save_plan,
    save_problem,
)
from shorthaul.tensor.model import RULES, Machine, Operator, OperatorType, Problem, Tensor
from shorthaul.tensor.workloads.cases import example_3

PLAN = {
    "subgraphs": [[0], [1, 2]],
    "granularities": [[128, 128, 1], [64, 128, 1]],
    "tensors_to_retain": [[1], []],
    "traversal_orders": [None, [1, 0]],
    "subgraph_latencies": [1638.4, 3000.0],
}


def load(path: Path, problem: Problem):
    return load_plan(path, problem)


def test_random_plans_come_back_from_columns(tmp_path):
    for seed in samples(50):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        plan = random_plan(rng, problem, RULES["spec"])
        save_plan(tmp_path / "plan.npz", plan)
        assert load(tmp_path / "plan.npz", problem) == plan


def test_a_long_plan_is_written_both_ways_and_leaves_the_document(tmp_path):
    side = 330
    tensors = (Tensor(side, side), Tensor(side, side))
    problem = Problem(tensors, (Operator(OperatorType.POINTWISE, (0,), 1, 1),), Machine(2, 1, 1, 1))
    save_problem(tmp_path / "problem.json", problem)
    order = list(range(side * side))[::-1]
    long = {
        "subgraphs": [[0]],
        "granularities": [[1, 1, 1]],
        "tensors_to_retain": [[]],
        "traversal_orders": [order],
        "subgraph_latencies": [2.0 * side * side],
    }
    save_plan(tmp_path / "given.json", plan_from_document(long, problem))
    assert json.loads((tmp_path / "given.json").read_text()) == long
    assert load(tmp_path / "given.json.npz", problem) == load(tmp_path / "given.json", problem)
    (tmp_path / "results").mkdir()
    check = ("tensor", "check", "problem.json", "given.json.npz", "--rules", "contest")
    done = shorthaul(*check, "-o", "results/again.json", "--result", "result.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    carried = json.loads((tmp_path / "result.json").read_text())["plan"]
    assert carried["entries"] == side * side + 5
    assert carried["file"] == "results/again.json.npz"
    assert (tmp_path / "results" / "again.json.npz").is_file()
    from_result = shorthaul_json("tensor", "check", "problem.json", "result.json", cwd=tmp_path)
    assert from_result["cost"]["traffic"] == 2 * side * side


def damaged(**changes):
    return {**plan_columns(plan_from_document(PLAN, example_3())), "kind": np.array(formats.PLAN_KIND), **changes}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": np.array("shorthaul/pebble-plan")}, "another kind"),
        ({"latencies": np.array([1.0, np.nan])}, "latencies: a number must be finite"),
        ({"latencies": np.array([1, 2])}, "latencies: is an array of another form"),
        ({"operators": np.zeros((1, 3), np.int64)}, "operators: is an array of another form"),
        ({"operators_end": np.array([2, 1])}, "operators_end: does not say where lists end"),
        ({"operators_end": np.array([1])}, "operators_end: does not say where lists end"),
        ({"retained_end": np.array([-1, 1])}, "retained_end: is too small"),
        ({"operators": np.array([0, 1, 9])}, "no such operator"),
        ({"granularities": np.zeros((2, 2), np.int64)}, "must be three sizes"),
        ({"granularities": np.zeros((3, 3), np.int64)}, "another length"),
        ({"operators": np.zeros(4, np.int64), "operators_end": np.array([4, 4])}, "holds more than there are"),
        ({"traversals": np.zeros(1 << 24, np.int8)}, "numbers"),
        ({"has_traversal": np.zeros(3001, bool)}, "'3001 subgraphs'"),
    ],
)
def test_wrong_columns_are_explained(changes, says, tmp_path):
    path = tmp_path / "plan.npz"
    np.savez(path, **damaged(**changes))
    with pytest.raises(InputError) as caught:
        load(path, example_3())
    assert says in str(caught.value)
    assert "plan.npz" in str(caught.value)


def test_a_missing_column_and_a_damaged_archive(tmp_path):
    columns = damaged()
    del columns["operators"]
    np.savez(tmp_path / "plan.npz", **columns)
    with pytest.raises(InputError, match="has no array"):
        load(tmp_path / "plan.npz", example_3())
    whole = (tmp_path / "plan.npz").read_bytes()
    for size in (2, 40, len(whole) // 2):
        (tmp_path / "plan.npz").write_bytes(whole[:size])
        with pytest.raises(InputError, match="is a damaged archive"):
            load(tmp_path / "plan.npz", example_3())


def test_columns_that_a_result_document_names(tmp_path):
    plan = plan_from_document(PLAN, example_3())
    save_plan(tmp_path / "plan.npz", plan)
    result = tmp_path / "result.json"

    def carrying(**fields):
        head = {"kind": formats.PLAN_KIND, "version": 1, **fields}
        result.write_text(json.dumps({"kind": "shorthaul/tensor-result", "version": 1, "plan": head}))
        return load(result, example_3())

    assert plan_document(carrying(file="plan.npz")) == PLAN
    with pytest.raises(InputError, match="digest: is not the file"):
        carrying(file="plan.npz", digest="sha256:0")
    with pytest.raises(InputError, match="holds no lists, only their length"):
        carrying()
    with pytest.raises(InputError, match="no such file"):
        carrying(file="elsewhere/plan.npz")
    with pytest.raises(InputError, match="file: is no file name"):
        carrying(file=7)
