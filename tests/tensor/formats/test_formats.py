"""The contest's files: read, written, and every way they can be wrong."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path

import numpy as np
import pytest
from tests.samples import samples
from tests.tensor.random_plans import random_plan, random_problem

from shorthaul.core.errors import InputError
from shorthaul.tensor.formats.documents import (
    load_plan,
    load_problem,
    plan_document,
    plan_from_bytes,
    plan_from_document,
    problem_document,
    problem_from_document,
    save_plan,
    save_problem,
)
from shorthaul.tensor.model import RULES
from shorthaul.tensor.workloads.cases import CASES, example_3

PROBLEM = {
    "widths": [128, 128, 128, 64, 64],
    "heights": [128, 128, 128, 128, 128],
    "inputs": [[0], [1, 2], [3]],
    "outputs": [[1], [3], [4]],
    "base_costs": [1500, 1500.5, 0],
    "op_types": ["Pointwise", "MatMul", "Pointwise"],
    "fast_memory_capacity": 50000,
    "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128],
}
PROBLEM["widths"][2] = 64
PLAN = {
    "subgraphs": [[0, 1], [2]],
    "granularities": [[64, 128, 32], [64, 64, 1]],
    "tensors_to_retain": [[3], []],
    "traversal_orders": [None, [1, 0]],
    "subgraph_latencies": [1, 2.5],
}


def problem_error(**changes):
    with pytest.raises(InputError) as caught:
        problem_from_document({**PROBLEM, **changes})
    return str(caught.value)


def plan_error(**changes):
    with pytest.raises(InputError) as caught:
        plan_from_document({**PLAN, **changes}, problem_from_document(PROBLEM))
    return str(caught.value)


def test_a_problem_comes_back_as_it_was_read():
    assert problem_document(problem_from_document(PROBLEM)) == PROBLEM


def test_a_plan_comes_back_as_it_was_read():
    assert plan_document(plan_from_document(PLAN, problem_from_document(PROBLEM))) == PLAN


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_a_file(case, tmp_path):
    problem = case.build(**{name: parameter.default for name, parameter in case.parameters.items()})
    path = tmp_path / "problem.json"
    save_problem(path, problem)
    assert load_problem(str(path)) == problem


def test_random_plans_come_back(tmp_path):
    for seed in samples(50):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng)
        plan = random_plan(rng, problem, RULES["spec"])
        save_plan(tmp_path / "plan.json", plan)
        assert load_plan(tmp_path / "plan.json", problem) == plan


@pytest.mark.parametrize("orders", [None, "absent"])
def test_traversal_orders_may_be_left_out(orders):
    document = {**PLAN, "traversal_orders": orders}
    if orders == "absent":
        del document["traversal_orders"]
    plan = plan_from_document(document, problem_from_document(PROBLEM))
    assert [subgraph.traversal for subgraph in plan.subgraphs] == [None, None]


def test_a_result_document_stands_for_its_plan():
    data = json.dumps({"kind": "shorthaul/tensor-result", "version": 1, "plan": PLAN}).encode()
    assert plan_document(plan_from_bytes(Path("result.json"), data, problem_from_document(PROBLEM))) == PLAN


def test_other_keys_of_a_problem_are_let_be():
    assert problem_from_document({**PROBLEM, "name": "mine"}) == problem_from_document(PROBLEM)


class TestProblemErrors:
    @pytest.mark.parametrize("key", PROBLEM)
    def test_every_key_is_needed(self, key):
        document = {name: value for name, value in PROBLEM.items() if name != key}
        with pytest.raises(InputError, match="is missing") as caught:
            problem_from_document(document)
        assert str(caught.value).startswith(key)

    def test_a_misspelled_key_is_guessed(self):
        document = {**PROBLEM, "base_cost": PROBLEM["base_costs"]}
        del document["base_costs"]
        with pytest.raises(InputError, match="did you mean 'base_cost'"):
            problem_from_document(document)

    @pytest.mark.parametrize("document", [None, [], 3, "problem"])
    def test_something_else(self, document):
        with pytest.raises(InputError, match="is not a problem"):
            problem_from_document(document)

    @pytest.mark.parametrize("key", ["heights", "inputs", "outputs", "base_costs"])
    def test_lengths_that_differ(self, key):
        text = problem_error(**{key: PROBLEM[key][:-1]})
        assert key in text
        assert "has another length than" in text

    def test_a_double_producer(self):
        text = problem_error(outputs=[[1], [3], [3]], widths=[128, 128, 64, 64, 64])
        assert text.startswith("outputs[2][0]: tensor 3 is produced by operator 1 already")

    @pytest.mark.parametrize("outputs", [[], [3, 4]])
    def test_several_outputs_or_none(self, outputs):
        text = problem_error(outputs=[[1], outputs, [4]])
        assert text.startswith("outputs[1]: an operator has exactly one output")

    def test_a_pointwise_input_of_another_shape(self):
        text = problem_error(inputs=[[0], [1, 2], [3, 1]])
        assert text.startswith("inputs[2][1]: a Pointwise input has another shape than the output")
        assert "tensor 1 of 128 rows x 128 columns" in text
        assert "tensors of 128 rows x 64 columns" in text

    def test_a_pointwise_without_input(self):
        assert problem_error(inputs=[[], [1, 2], [3]]).startswith("inputs[0]: a Pointwise operator needs an input")

    @pytest.mark.parametrize("inputs", [[], [1], [1, 2, 2]])
    def test_a_matmul_without_two_inputs(self, inputs):
        assert problem_error(inputs=[[0], inputs, [3]]).startswith("inputs[1]: a MatMul needs two inputs")

    def test_a_matmul_whose_inputs_do_not_fit(self):
        text = problem_error(inputs=[[0], [2, 1], [3]])
        assert text.startswith("inputs[1]: the left input's width is not the right input's height")
        assert "a right input of height 64" in text

    def test_a_matmul_whose_output_does_not_fit(self):
        text = problem_error(widths=[128, 128, 64, 32, 32])
        assert text.startswith("outputs[1]: the output's shape does not fit the MatMul")
        assert "an output of 128 rows x 64 columns" in text

    def test_a_cycle(self):
        square = {"widths": [8] * 4, "heights": [8] * 4}
        text = problem_error(
            **square, inputs=[[3, 0], [1, 0], [2]], outputs=[[1], [2], [3]], op_types=["Pointwise"] * 3
        )
        assert "the operators form a cycle" in text
        assert "operator 0 -> operator 1 -> operator 2 -> operator 0" in text or "->" in text
        text = problem_error(**square, inputs=[[1], [1], [2]], outputs=[[1], [2], [3]], op_types=["Pointwise"] * 3)
        assert "operator 0 -> operator 0" in text

    def test_an_unknown_operator_type(self):
        text = problem_error(op_types=["Pointwise", "Matmul", "Pointwise"])
        assert text.startswith("op_types[1]: unknown operator type")
        assert "did you mean 'MatMul'?" in text

    @pytest.mark.parametrize("number", [-1, 5])
    def test_a_tensor_that_is_not_there(self, number):
        assert problem_error(inputs=[[0], [1, number], [3]]).startswith("inputs[1][1]: no such tensor")
        assert problem_error(outputs=[[1], [number], [4]]).startswith("outputs[1][0]: no such tensor")

    @pytest.mark.parametrize("value", [0, -128])
    def test_sizes_that_are_not_positive(self, value):
        assert problem_error(widths=[128, value, 64, 64, 64]).startswith("widths[1]: must be positive")
        assert problem_error(heights=[128, 128, 128, 128, value]).startswith("heights[4]: must be positive")
        assert problem_error(native_granularity=[128, value]).startswith("native_granularity[1]: must be positive")
        assert problem_error(fast_memory_capacity=value).startswith("fast_memory_capacity: must be above 0")
        assert problem_error(slow_memory_bandwidth=value).startswith("slow_memory_bandwidth: must be above 0")

    assert problem_error(slow_memory_bandwidth=1e-320).startswith("slow_memory_bandwidth: is too small")

    def test_a_negative_cost(self):
        assert problem_error(base_costs=[1, -1, 1]).startswith("base_costs[1]: must be at least 0")

    @pytest.mark.parametrize("value", [10**10, 10**30, 10**400])
    def test_huge_integers(self, value):
        assert problem_error(widths=[128, value, 64, 64, 64]).startswith("widths[1]: is too large")
        assert "is too large" in problem_error(base_costs=[1, value * 10**6, 1])
        assert "is too large" in problem_error(fast_memory_capacity=value * 10**6)

    def test_a_huge_tensor(self):
        text = problem_error(widths=[2**31 - 1] * 2 + [64] * 3, heights=[2**31 - 1] * 5)
        assert "tensor 0 has too many elements" in text

    @pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
    def test_numbers_that_are_none(self, text):
        data = json.dumps(PROBLEM).replace("1500.5", text).encode()
        with pytest.raises(InputError) as caught:
            load_problem(Path("mine.json"), data)
        assert str(caught.value).startswith("mine.json: ")
        assert "must be finite" in str(caught.value) or "too large" in str(caught.value)

    @pytest.mark.parametrize(
        ("key", "value", "place"),
        [
            ("widths", [128, "128", 64, 64, 64], "widths[1]"),
            ("widths", [128, 12.5, 64, 64, 64], "widths[1]"),
            ("widths", [128, True, 64, 64, 64], "widths[1]"),
            ("widths", 128, "widths"),
            ("widths", None, "widths"),
            ("inputs", [[0], 1, [3]], "inputs[1]"),
            ("inputs", [[0], [1, None], [3]], "inputs[1][1]"),
            ("op_types", ["Pointwise", 2, "Pointwise"], "op_types[1]"),
            ("base_costs", [1, "2", 3], "base_costs[1]"),
            ("fast_memory_capacity", [1], "fast_memory_capacity"),
            ("slow_memory_bandwidth", "10", "slow_memory_bandwidth"),
            ("native_granularity", {"w": 1}, "native_granularity"),
        ],
    )
    def test_wrong_types(self, key, value, place):
        assert problem_error(**{key: value}).startswith(f"{place}: expected ")

    @pytest.mark.parametrize("value", [[128], [128, 128, 128], []])
    def test_a_native_granularity_of_another_length(self, value):
        assert problem_error(native_granularity=value).startswith("native_granularity: must be two sizes")

    def test_no_operator(self):
        empty = {"inputs": [], "outputs": [], "base_costs": [], "op_types": []}
        assert problem_error(**empty).startswith("op_types: has no operator")


class TestPlanErrors:
    @pytest.mark.parametrize("key", ["subgraphs", "granularities", "tensors_to_retain", "subgraph_latencies"])
    def test_every_list_is_needed(self, key):
        document = {name: value for name, value in PLAN.items() if name != key}
        with pytest.raises(InputError, match=f"{key}: is missing"):
            plan_from_document(document, problem_from_document(PROBLEM))

    def test_an_unknown_key(self):
        text = plan_error(traversal_order=[None, None])
        assert text.startswith("traversal_order: unknown key of a plan")
        assert "did you mean 'traversal_orders'?" in text

    @pytest.mark.parametrize("key", list(PLAN)[1:])
    def test_lengths_that_differ(self, key):
        text = plan_error(**{key: PLAN[key][:-1]})
        assert text.startswith(f"{key}: has another length than subgraphs")

    @pytest.mark.parametrize("number", [-1, 3])
    def test_an_operator_that_is_not_there(self, number):
        assert plan_error(subgraphs=[[0, 1], [number]]).startswith("subgraphs[1][0]: no such operator")

    def test_a_tensor_that_is_not_there(self):
        assert plan_error(tensors_to_retain=[[5], []]).startswith("tensors_to_retain[0][0]: no such tensor")

    @pytest.mark.parametrize("size", [[], [64, 64], [64, 64, 1, 1]])
    def test_a_granularity_of_another_length(self, size):
        assert plan_error(granularities=[size, [64, 64, 1]]).startswith("granularities[0]: must be three sizes")

    @pytest.mark.parametrize(
        ("key", "value", "place"),
        [
            ("subgraphs", [[0, 1], 2], "subgraphs[1]"),
            ("granularities", [[64, 64, 1], None], "granularities[1]"),
            ("granularities", [[64, 64, 1], [64, 64, 0.5]], "granularities[1][2]"),
            ("tensors_to_retain", [None, []], "tensors_to_retain[0]"),
            ("traversal_orders", [None, ["1", 0]], "traversal_orders[1][0]"),
            ("subgraph_latencies", [1, None], "subgraph_latencies[1]"),
        ],
    )
    def test_wrong_types(self, key, value, place):
        assert plan_error(**{key: value}).startswith(f"{place}: expected ")

    def test_huge_integers(self):
        assert plan_error(granularities=[[64, 64, 1], [64, 64, 10**40]]).startswith("granularities[1][2]: is too large")

    @pytest.mark.parametrize("document", [None, [], 3])
    def test_something_else(self, document):
        with pytest.raises(InputError, match="is not a plan"):
            plan_from_document(document, problem_from_document(PROBLEM))

    def test_the_file_is_named(self):
        with pytest.raises(InputError, match=r"^plan.json: subgraphs: is missing"):
            plan_from_bytes(Path("plan.json"), b"{}", problem_from_document(PROBLEM))


def corrupted(rng, document):
    """The text of a document with one random thing wrong with it, in its values or in its text."""
    document = copy.deepcopy(document)
    values = (None, -1, 0, 1.5, "x", [], {}, True, 10**9, 10**25, 1e300, [[0]], 3)
    place, key = document, str(rng.choice(list(document)))
    while isinstance(place[key], list) and place[key] and rng.random() < 0.7:
        place, key = place[key], int(rng.integers(len(place[key])))
    way = rng.integers(5)
    if way == 0:
        del place[key]
    elif way == 1:
        place[key] = values[int(rng.integers(len(values)))]
    elif way == 2 and isinstance(place, list):
        place.append(place[key])
    else:
        text = json.dumps(document)
        start = int(rng.integers(len(text)))
        if way == 3:
            return text[:start] + text[start + int(rng.integers(1, 4)) :]
        return text[:start] + str(rng.choice(list('",[]{}:-+0eEN\\\x00é9'))) + text[start + 1 :]
    return json.dumps(document)


def test_corrupted_files_are_used_or_refused_never_a_traceback():
    problem = example_3()
    for seed in samples(400):
        from shorthaul.tensor.check.replay import replay

        rng = np.random.default_rng(seed)
        plan = {
            "subgraphs": [[0], [1, 2]],
            "granularities": [[128, 128, 1], [64, 128, 1]],
            "tensors_to_retain": [[1], []],
            "traversal_orders": [None, [1, 0]],
            "subgraph_latencies": [1638.4, 3000],
        }
        for name, document, load in (
            ("problem.json", problem_document(problem), load_problem),
            ("plan.json", plan, lambda path, data: plan_from_bytes(path, data, problem)),
        ):
            data = corrupted(rng, document).encode()
            with contextlib.suppress(InputError):
                found = load(Path(name), data)
                if name == "plan.json":
                    replay(problem, found, RULES["spec"])
