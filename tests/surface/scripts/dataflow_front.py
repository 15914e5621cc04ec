"""The Pareto front of a streaming network."""

from pathlib import Path

import shorthaul

result = shorthaul.dataflow.plan(
    "sobel", platform=Path("cores.json"), strategy="mrb-explore", generations=20, population=10, offspring=5,
    crossover=0.9, front=5, decoder="caps", order="inverse", start="evolve", capacity_rule="access",
    mrb_consumer="first", tolerance=0.001, journal="journal", resume=None, effort=1, seed=2,
)  # fmt: skip
if result.plan is not None:
    checked = shorthaul.dataflow.check("sobel", result.plan.front, platform="cores.json")
    done = shorthaul.dataflow.run("sobel", result, images="frames.npy", iterations=4, generations=2)
    print(checked, done, [point.period for point in result.plan.front])
shorthaul.dataflow.plan("sobel", platform=24)  # type: ignore[arg-type]
shorthaul.dataflow.plan("sobel", strategy="always")  # type: ignore[arg-type]
shorthaul.dataflow.plan("sobel", generations=2.5)  # type: ignore[arg-type]
shorthaul.dataflow.plan("sobel", mapping=None)  # type: ignore[call-arg]
shorthaul.dataflow.check("sobel", [1])  # type: ignore[list-item]
shorthaul.dataflow.run("sobel", iterations="8")  # type: ignore[arg-type]
