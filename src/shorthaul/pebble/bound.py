"""The best lower bound on the traffic of any CDAG, with the argument that proves it."""

from __future__ import annotations

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Budget
from shorthaul.pebble import spectral, wavefront
from shorthaul.pebble.model import Cdag, require_budget

_PROOFS = {
    "algorithmic": "Every input is loaded and every output stored at least once (Proposition 2.4).",
    "wavefront": (
        "Every input is loaded and every output stored at least once. Beyond that: while a node is computed, every "
        "value computed before it and read after it, other than its operands, is in the room they leave or is loaded "
        "later, and stored too unless it is an input. The least weight of such values over all sets that may have been "
        "computed by then is a minimum cut; the bounds of disjoint parts of the graph add up. No value is computed "
        "twice."
    ),
    "spectral": (
        "Every input is loaded and every output stored at least once. Beyond that: any order of the computed values "
        "cuts into k equal segments; what crosses between segments is at least n / k times the sum of the k least "
        "eigenvalues of the Laplacian, of which the fast memory holds at most 2 (k - 1) budgets (Jain and Zaharia). "
        "No value is computed twice."
    ),
}


def best_bound(cdag: Cdag, budget: int, *, recompute: bool = False, search: Budget | None = None) -> Bound:
    """Return the best lower bound on the traffic of schedules within ``budget`` that no search has to prove.

    With ``recompute`` only the algorithmic bound (Proposition 2.4) holds, the others count values computed once.
    ``details["bounds"]`` lists all of them. Raises :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.generators import fft
    >>> found = best_bound(fft(n=8, word=1), 3)
    >>> found.value, found.method
    (18, 'wavefront')
    """
    require_budget(cdag, budget)
    least = cdag.algorithmic_bound()
    values = {"algorithmic": least}
    if not recompute:
        values["wavefront"] = least + wavefront.excess(cdag, budget, search=search or Budget())
        values["spectral"] = least + spectral.excess(cdag, budget)
    method = max(values, key=lambda name: values[name])
    return Bound("traffic", values[method], method, _PROOFS[method], {"bounds": values})


def exhausted(value: int, *, proven_optimal: bool, recompute: bool) -> Bound:
    """Return the bound of a search that covered all schedules below ``value``."""
    end = "found the optimum" if proven_optimal else "was completed for all costs below the bound"
    how = "may compute values again" if recompute else "compute no value twice"
    return Bound(
        "traffic",
        value,
        "exhausted search",
        f"A search over all schedules that {how} {end}: it left out only positions that another reaches as cheaply.",
    )
