"""How much fast memory is enough, and what less of it costs."""

import shorthaul

smallest = shorthaul.pebble.memory({"c": ["a", "b"], "d": ["c", "a"]}, method="auto", capacities=[64, 128], effort=1)
curve = shorthaul.pebble.sweep("dwt", budgets=[48, 64, 96], points=3, method="belady", recompute=True)
bound = shorthaul.pebble.bound("dwt", budget=64, recompute=False, options=None)
done = shorthaul.pebble.run("dwt", smallest, data=[1.0, 2.0], budget=64, method="auto", recompute=False)
print(smallest, curve.extra["points"], bound.bound, done.plan)
least: int = bound.extra["problem"]["least_budget"]
areas: list[float] = [one["area_um2"] for one in smallest.extra["sram"]["estimates"]]
curve.extra["sram"]  # type: ignore[typeddict-item]
shorthaul.pebble.memory("dwt", budget=4)  # type: ignore[call-arg]
shorthaul.pebble.memory("dwt", capacities=64)  # type: ignore[arg-type]
shorthaul.pebble.sweep("dwt", budgets=48)  # type: ignore[arg-type]
shorthaul.pebble.sweep("dwt", points="many")  # type: ignore[arg-type]
shorthaul.pebble.run("dwt", 3)  # type: ignore[arg-type]
shorthaul.pebble.run("dwt", data=3)  # type: ignore[arg-type]
shorthaul.pebble.bound("dwt", method="auto")  # type: ignore[call-arg]
