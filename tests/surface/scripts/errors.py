"""What can go wrong, and searches shared by several calls."""

import shorthaul


def best(name: str, search: shorthaul.Search) -> float | None:
    try:
        result = shorthaul.pebble.plan(name, search=search)
    except shorthaul.InfeasibleError as error:
        return float(error.demand)
    except (shorthaul.InputError, shorthaul.NoPlanError):
        return None
    return None if result.gap is None else result.gap


print(best("dwt", shorthaul.Search(effort=1, time_limit=5, seed=2, workers=1)))
options = shorthaul.pebble.PlanOptions(budget=64)
shorthaul.pebble.plan(shorthaul.pebble.case("dwt"), options=options, recompute=True)
shorthaul.pebble.plan("dwt", options=shorthaul.pebble.SweepOptions())  # type: ignore[arg-type]
shorthaul.pebble.plan("dwt", effort="1")  # type: ignore[arg-type]
shorthaul.Search(efort=1)  # type: ignore[call-arg]
