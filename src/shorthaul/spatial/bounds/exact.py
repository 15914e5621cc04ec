"""Small trees solved exactly: what no layout undercuts, and one that takes no more."""

from __future__ import annotations

from dataclasses import replace

from shorthaul.core.amounts import Bound
from shorthaul.core.search import Search
from shorthaul.spatial.bounds.energy import energy_bound
from shorthaul.spatial.bounds.placing import find_layout
from shorthaul.spatial.layout.cost_kernels import edge_energy
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Tree


def solve(stored: StoredTree, search: Search, effort: float) -> tuple[StoredTree, Bound]:
    """Return the best layout that so much effort finds, and how much energy it proves that every layout takes.

    A layout of as many hops as the bound is searched for; if there is none the bound is one hop higher.
    """
    bound = energy_bound(Tree(stored.parent), stored.grid, stored.vertex)
    least, best = int(bound.value), edge_energy(stored.parent, stored.x, stored.y)[0]
    part = search.within(effort)
    while least < best and not part.expired():
        is_settled, found = find_layout(stored, least, part)
        if not is_settled:
            break
        if found is not None:
            stored, best = found, least
            search.keep(best, found)
        else:
            least += 1
        search.report(best=best, bound=least, what="exact")
    if least == bound.value:
        return stored, bound
    proof = f"All layouts on {stored.grid} of less than {least} hops were searched through: there is none."
    values = {**bound.details["values"], "exact": least}
    return stored, replace(bound, value=least, method="exact", proof=proof, details={**bound.details, "values": values})
