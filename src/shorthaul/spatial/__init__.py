"""Trees laid out on a grid of processors, and the algorithms that run there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.spatial.formats import newick_from_tree, tree_from_newick
    from shorthaul.spatial.model import Grid, Tree, tree_from_parents
    from shorthaul.spatial.options import PlanOptions
    from shorthaul.spatial.plan import Layout
    from shorthaul.spatial.planning import bound, check, plan

_NAMES = {
    **dict.fromkeys(("newick_from_tree", "tree_from_newick"), "shorthaul.spatial.formats"),
    **dict.fromkeys(("Grid", "Tree", "tree_from_parents"), "shorthaul.spatial.model"),
    "PlanOptions": "shorthaul.spatial.options",
    "Layout": "shorthaul.spatial.plan",
    **dict.fromkeys(("bound", "check", "plan"), "shorthaul.spatial.planning"),
}

__all__ = [
    "Grid",
    "Layout",
    "PlanOptions",
    "Tree",
    "bound",
    "check",
    "newick_from_tree",
    "plan",
    "tree_from_newick",
    "tree_from_parents",
]

__getattr__, __dir__ = attach(__name__, _NAMES)
