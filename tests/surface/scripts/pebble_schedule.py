"""Schedules of a DAG on a small fast memory."""

from pathlib import Path

import shorthaul

result = shorthaul.pebble.plan("dwt:n=8,d=3,word=1", budget=4, method="auto", recompute=False, effort=1, seed=7)
if result.cost is not None and result.plan is not None:
    traffic: float = result.cost["traffic"]
    again = shorthaul.pebble.check("dwt:n=8,d=3,word=1", result.plan, budget=4)
    print(traffic, again.status, repr(result))
shorthaul.pebble.plan(Path("fir.dot"), time_limit=2.5, search=None)
shorthaul.pebble.plan("fir.dot", budgt=4)  # type: ignore[call-arg]
shorthaul.pebble.plan("fir.dot", budget="4")  # type: ignore[arg-type]
shorthaul.pebble.plan("fir.dot", method="belaady")  # type: ignore[arg-type]
shorthaul.pebble.plan(3)  # type: ignore[arg-type]
shorthaul.pebble.plan("fir.dot", recompute="yes")  # type: ignore[arg-type]
