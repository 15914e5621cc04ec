"""Trees laid out on a grid of processors, and the algorithms that run there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.spatial.ancestors import lca
    from shorthaul.spatial.decision_trees import tree_from_sklearn
    from shorthaul.spatial.formats import newick_from_tree, tree_from_newick
    from shorthaul.spatial.growth import sweep
    from shorthaul.spatial.model import Grid, Tree, tree_from_parents
    from shorthaul.spatial.operators import Operator
    from shorthaul.spatial.options import PlanOptions
    from shorthaul.spatial.plan import Layout
    from shorthaul.spatial.planning import bound, case, cases, check, plan
    from shorthaul.spatial.treefix_sums import treefix

_NAMES = {
    **dict.fromkeys(("newick_from_tree", "tree_from_newick"), "shorthaul.spatial.formats"),
    **dict.fromkeys(("Grid", "Tree", "tree_from_parents"), "shorthaul.spatial.model"),
    "lca": "shorthaul.spatial.ancestors",
    "sweep": "shorthaul.spatial.growth",
    "treefix": "shorthaul.spatial.treefix_sums",
    "tree_from_sklearn": "shorthaul.spatial.decision_trees",
    "Operator": "shorthaul.spatial.operators",
    "PlanOptions": "shorthaul.spatial.options",
    "Layout": "shorthaul.spatial.plan",
    **dict.fromkeys(("bound", "case", "cases", "check", "plan"), "shorthaul.spatial.planning"),
}

__all__ = [
    "Grid",
    "Layout",
    "Operator",
    "PlanOptions",
    "Tree",
    "bound",
    "case",
    "cases",
    "check",
    "lca",
    "newick_from_tree",
    "plan",
    "sweep",
    "tree_from_newick",
    "tree_from_parents",
    "tree_from_sklearn",
    "treefix",
]

__getattr__, __dir__ = attach(__name__, _NAMES)
