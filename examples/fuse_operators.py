"""A transformer block on a scratchpad accelerator: the fused plan, its bound, and an independent check."""

import shorthaul
from shorthaul.core.cases import resolve
from shorthaul.tensor import CASES, load_problem

problem = resolve("transformer-block:tokens=256,width=256,heads=2,hidden=512", CASES, load_problem).workload
result = shorthaul.tensor.plan(problem, effort=1, seed=1)
assert result.cost is not None
assert result.bound is not None
assert result.plan is not None
print(f"latency {result.cost['latency']:,.0f}, bound {result.bound.value:,.0f} ({result.bound.method})")
for number, subgraph in enumerate(result.plan.subgraphs):
    tile = subgraph.granularity
    print(f"  subgraph {number}: operators {subgraph.operators}, tile {tile.w} x {tile.h} x {tile.k}")
again = shorthaul.tensor.check(problem, result.plan)
assert again.check is not None
print("an independent replay finds", len(again.check.violations), "violations")
