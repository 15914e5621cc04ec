"""The command line, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json

from shorthaul.tensor.formats.documents import problem_document
from shorthaul.tensor.workloads.cases import example_3, example_5


@pytest.fixture
def folder(tmp_path):
    tmp_path.joinpath("problem.json").write_text(json.dumps(problem_document(example_3())))
    return tmp_path


def plan_file(folder, **changes):
    document = {
        "subgraphs": [[0], [1, 2]],
        "granularities": [[128, 128, 1], [128, 128, 1]],
        "tensors_to_retain": [[1], []],
        "traversal_orders": [None, None],
        "subgraph_latencies": [1638.4, 3000],
    }
    folder.joinpath("plan.json").write_text(json.dumps({**document, **changes}))


def test_plan_writes_the_five_lists_and_nothing_else(folder):
    document = shorthaul_json(
        "tensor", "plan", "problem.json", "--rules", "contest", "--effort", "0.5", "-o", "out.json", cwd=folder
    )
    plan = json.loads(folder.joinpath("out.json").read_text())
    assert set(plan) == {
        "subgraphs",
        "granularities",
        "tensors_to_retain",
        "traversal_orders",
        "subgraph_latencies",
    }
    assert plan == document["plan"]
    assert sum(plan["subgraph_latencies"]) == pytest.approx(document["cost"]["latency"])
    assert document["rules"] == "contest"


def test_check_prints_every_subgraph_and_what_it_claims_wrongly(folder):
    plan_file(folder, subgraph_latencies=[1638.4, 2999])
    done = shorthaul("tensor", "check", "problem.json", "plan.json", cwd=folder)
    assert done.returncode == 0
    assert "1,638.4" in done.stdout
    assert "remark: subgraph 1: the plan claims latency 2999, the replay finds 3000" in done.stdout


def test_check_prints_violations_and_ends_with_1(folder):
    plan_file(folder, tensors_to_retain=[[], [3]])
    done = shorthaul("tensor", "check", "problem.json", "plan.json", cwd=folder)
    assert done.returncode == 1
    assert "violation: subgraph 1: graph output 3 is retained" in done.stdout
    document = shorthaul_json("tensor", "check", "problem.json", "plan.json", cwd=folder, status=1)
    assert document["status"] == "invalid"
    assert [item["rule"] for item in document["check"]["violations"]] == ["output-retained"]
    assert document["check"]["subgraph_latencies"] == pytest.approx([3276.8, 3000])


def test_capacity_violations_name_subgraph_step_required_and_available(tmp_path):
    tmp_path.joinpath("problem.json").write_text(json.dumps(problem_document(example_5())))
    plan = {
        "subgraphs": [[0, 1]],
        "granularities": [[128, 128, 128]],
        "tensors_to_retain": [[]],
        "subgraph_latencies": [0],
    }
    tmp_path.joinpath("plan.json").write_text(json.dumps(plan))
    document = shorthaul_json("tensor", "check", "problem.json", "plan.json", cwd=tmp_path, status=1)
    (violation,) = document["check"]["violations"]
    assert (violation["place"], violation["required"], violation["available"]) == ("subgraph 0, step 0", 65536, 45000)


def test_the_rules_decide(folder):
    plan_file(folder, granularities=[[256, 128, 1], [128, 128, 1]])
    assert shorthaul("tensor", "check", "problem.json", "plan.json", cwd=folder).returncode == 0
    done = shorthaul("tensor", "check", "problem.json", "plan.json", "--rules", "contest", cwd=folder)
    assert done.returncode == 1
    assert "granularity w exceeds the native tile (required 256, available 128)" in done.stdout


def test_run_executes_a_plan(folder):
    plan_file(folder)
    document = shorthaul_json("tensor", "run", "problem.json", "plan.json", "--seed", "7", cwd=folder)
    assert document["run"]["loads"] == 16384
    assert document["run"]["largest_error"] < 1e-9
    assert document["status"] == "feasible"


def test_run_refuses_a_plan_that_breaks_a_rule(folder):
    plan_file(folder, tensors_to_retain=[[0], []])
    document = shorthaul_json("tensor", "run", "problem.json", "plan.json", "--rules", "contest", cwd=folder, status=1)
    assert document["run"] is None


def test_bound_prints_its_proof(folder):
    done = shorthaul("tensor", "bound", "problem.json", cwd=folder)
    assert done.returncode == 0
    assert "bound on latency" in done.stdout
    assert "operator" in done.stdout


def test_sweep_prints_the_curve(folder):
    document = shorthaul_json(
        "tensor", "sweep", "problem.json", "--over", "bandwidth", "--points", "3", "--effort", "3", cwd=folder
    )
    assert [point["bandwidth"] for point in document["points"]] == pytest.approx([2.5, 10, 40])
    assert document["figures"][0]["title"] == "Latency over bandwidth"


def test_an_infeasible_machine_ends_with_3(folder):
    problem = problem_document(example_3())
    folder.joinpath("small.json").write_text(json.dumps({**problem, "fast_memory_capacity": 1}))
    document = shorthaul_json("tensor", "plan", "small.json", "-o", "out.json", cwd=folder, status=3)
    assert document["status"] == "infeasible"
    assert document["infeasible"]["demand"] == 2
    assert not folder.joinpath("out.json").exists()


def test_options_out_of_range(folder):
    for arguments, text in (
        (("plan", "problem.json", "--time-limit", "0"), "--time-limit"),
        (("sweep", "problem.json", "--points", "0"), "--points"),
        (("sweep", "problem.json", "--over", "capacty"), "did you mean 'capacity'"),
        (("check", "problem.json"), "PLAN"),
        (("check", "problem.json", "none.json"), "no such file"),
        (("check", "problem.json", "problem.json"), "subgraphs: is missing"),
    ):
        done = shorthaul("tensor", *arguments, cwd=folder)
        assert done.returncode == 2, (arguments, done.stderr)
        assert text in done.stderr


def test_results_of_other_engines_and_options_of_networks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"kind": "shorthaul/pebble-result", "version": 1, "plan": {}}')
    done = shorthaul("tensor", "check", "example-3", "other.json", cwd=tmp_path)
    assert (done.returncode, "shorthaul/pebble-result" in done.stderr) == (2, True)
    done = shorthaul("tensor", "run", "example-3", "--inputs", "inputs.npz", cwd=tmp_path)
    assert (done.returncode, "goes with an ONNX model" in done.stderr) == (2, True)
