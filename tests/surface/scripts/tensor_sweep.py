"""The best latency over a range of capacities."""

import shorthaul
from shorthaul.tensor import Problem


def curve(problem: Problem) -> list[float | None]:
    result = shorthaul.tensor.sweep(problem, over="capacity", least=1024.0, most=4096, points=3, rules="spec", effort=1)
    bound = shorthaul.tensor.bound(problem, rules="contest").bound
    return [point.get("latency") for point in result.extra["points"]] + ([] if bound is None else [bound.value])


workload = shorthaul.tensor.case("example-1").workload
assert isinstance(workload, Problem)
print(curve(workload))
shorthaul.tensor.sweep("example-1").extra["pionts"]  # type: ignore[typeddict-item]
shorthaul.tensor.sweep("example-1", over="latency")  # type: ignore[arg-type]
shorthaul.tensor.sweep("example-1", most="4096")  # type: ignore[arg-type]
shorthaul.tensor.sweep("example-1", points=[1, 2])  # type: ignore[arg-type]
shorthaul.tensor.bound("example-1", over="capacity")  # type: ignore[call-arg]
