"""One mapping scheduled, bounded, and strategies compared."""

import shorthaul

result = shorthaul.dataflow.schedule(
    "fig7", mapping=None, point=0, decoder="multistart", tolerance=0.0, chrome_trace="trace.json", order="topological"
)
bound = shorthaul.dataflow.bound("fig7", mapping="mapping.json", strategy="reference")
runs = shorthaul.dataflow.sweep("fig7", generations=5, population=4, offspring=2, seeds=1, decoder="caps", cluster=None)
print(result, bound.bound, runs.extra["runs"])
shorthaul.dataflow.schedule("fig7", 3)  # type: ignore[arg-type]
shorthaul.dataflow.schedule("fig7", decoder="exact")  # type: ignore[arg-type]
shorthaul.dataflow.schedule("fig7", point=None)  # type: ignore[arg-type]
shorthaul.dataflow.bound("fig7", generations=1)  # type: ignore[call-arg]
shorthaul.dataflow.sweep("fig7", seeds=0.5)  # type: ignore[arg-type]
