"""The tensor engine's tiny problem and its broken inputs."""

from __future__ import annotations

import json

from tests.contracts.contract import Broken, Contract

PROBLEM = {
    "widths": [128, 128, 128, 128],
    "heights": [128, 128, 128, 128],
    "inputs": [[0], [1], [1, 2]],
    "outputs": [[1], [2], [3]],
    "base_costs": [1500, 1500, 1500],
    "op_types": ["Pointwise", "Pointwise", "Pointwise"],
    "fast_memory_capacity": 50000,
    "slow_memory_bandwidth": 10,
    "native_granularity": [128, 128],
}
PLAN = {
    "subgraphs": [[0, 1, 2]],
    "granularities": [[128, 128, 1]],
    "tensors_to_retain": [[]],
    "traversal_orders": [None],
    "subgraph_latencies": [4500.0],
}


def problem(**changes: object) -> dict[str, str]:
    return {"broken.json": json.dumps({**PROBLEM, **changes})}


def plan(**changes: object) -> dict[str, str]:
    return {"broken.json": json.dumps({**PLAN, **changes})}


PLANNED = ("plan", "broken.json", "-o", "out.json", "--result", "result.json")
CHECKED = ("check", "problem.json", "broken.json")

CONTRACT = Contract(
    engine="tensor",
    plan=("problem.json", "--rules", "contest"),
    check=("problem.json", "--rules", "contest"),
    plan_file="plan.json",
    objective="latency",
    files={"problem.json": json.dumps(PROBLEM)},
    broken=(
        Broken("no-file", ("plan", "problm.json"), ("no such file", "problem.json")),
        Broken("no-case", ("plan", "transformer-blok"), ("unknown file or built-in case", "transformer-block")),
        Broken("no-parameter", ("plan", "mlp-chain:depth=3"), ("unknown parameter", "layers")),
        Broken("no-rules", ("plan", "problem.json", "--rules", "contst"), ("--rules", "contest")),
        Broken("not-json", PLANNED, ("is not JSON", "line 1 column"), {"broken.json": '{"widths": ['}),
        Broken("nan", PLANNED, ("must be finite",), {"broken.json": '{"widths": [NaN]}'}),
        Broken("lengths", PLANNED, ("heights", "another length than widths"), problem(heights=[128])),
        Broken("cycle", PLANNED, ("the operators form a cycle",), problem(inputs=[[2], [1], [1, 2]])),
        Broken("shape", PLANNED, ("another shape",), problem(widths=[128, 64, 128, 128])),
        Broken("huge", PLANNED, ("widths[0]", "is too large"), problem(widths=[10**300, 128, 128, 128])),
        Broken("digits", PLANNED, ("line 1 column 13", "hundreds of"), problem(widths=[10**400, 128, 128, 128])),
        Broken("plan-lengths", CHECKED, ("granularities", "another length"), plan(granularities=[])),
        Broken("plan-operator", CHECKED, ("subgraphs[0][1]", "no such operator"), plan(subgraphs=[[0, 7]])),
        Broken("plan-key", CHECKED, ("traversal_orders",), plan(traversal_order=[None])),
        Broken(
            "breaks-a-rule",
            (*CHECKED, "--json"),
            ("violation", "operator 2 is in no subgraph"),
            plan(subgraphs=[[0, 1]]),
            status=1,
        ),
    ),
)
