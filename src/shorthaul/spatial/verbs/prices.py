"""What messages take on a machine in bytes, seconds and joules, beside hops and words."""

from __future__ import annotations

from dataclasses import replace

from shorthaul.core.amounts import Bound, Cost
from shorthaul.spatial.computer.memory import WORD_BYTES
from shorthaul.spatial.model import Fabric


def priced(cost: Cost, fabric: Fabric | None, cycles: int | None = None) -> Cost:
    """Return the cost with bytes and, where the machine has the figures, seconds and joules; without one as it is.

    ``traffic_bytes`` counts a byte on every hop. ``distance_s`` is the time of the longest way, ``link_load_s`` that in
    which the busiest link passes its words, ``latency_s`` that of a run of ``cycles``, in each of which a word passes.
    """
    if fabric is None:
        return cost
    more = _moved("traffic_bytes", "energy_j", cost["energy_hops"], fabric)
    if fabric.link_bytes_per_s is not None:
        word_s = WORD_BYTES / fabric.link_bytes_per_s
        times = {"distance_hops": "distance_s", "link_load": "link_load_s"}
        more |= {name: cost[of] * word_s for of, name in times.items() if of in cost}
        more |= {} if cycles is None else {"latency_s": cycles * word_s}
    return Cost(**cost, **more)


def bounded(bound: Bound, fabric: Fabric | None) -> Bound:
    """Return a bound on hops with the bytes, and joules, that they are at least; without a machine as it is."""
    if fabric is None:
        return bound
    return replace(bound, details={**bound.details, **_moved("value_bytes", "value_j", bound.value, fabric)})


def _moved(as_bytes: str, as_joules: str, word_hops: float, fabric: Fabric) -> dict[str, float]:
    found = {as_bytes: WORD_BYTES * word_hops}
    if fabric.pj_per_byte is not None:
        found[as_joules] = WORD_BYTES * word_hops * fabric.pj_per_byte * 1e-12
    return found
