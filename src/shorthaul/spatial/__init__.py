"""Trees laid out on a grid of processors, and the algorithms that run there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shorthaul.core.lazy import attach

if TYPE_CHECKING:
    from shorthaul.spatial.computer.machine import Machine
    from shorthaul.spatial.computer.memory import MachineError
    from shorthaul.spatial.computer.operators import Operator
    from shorthaul.spatial.computer.registers import Nodes, Register, Selection, Values
    from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
    from shorthaul.spatial.formats.files import newick_from_tree, tree_from_newick
    from shorthaul.spatial.model import Grid, Tree, tree_from_parents
    from shorthaul.spatial.options import (
        BoundOptions,
        CheckOptions,
        LcaOptions,
        PlanOptions,
        SweepOptions,
        TreefixOptions,
    )
    from shorthaul.spatial.plan import Layout
    from shorthaul.spatial.verbs.checking import check
    from shorthaul.spatial.verbs.lca import lca
    from shorthaul.spatial.verbs.planning import bound, case, cases, plan
    from shorthaul.spatial.verbs.sweep import sweep
    from shorthaul.spatial.verbs.treefix import treefix

_NAMES = {
    **dict.fromkeys(("newick_from_tree", "tree_from_newick"), "shorthaul.spatial.formats.files"),
    **dict.fromkeys(("Grid", "Tree", "tree_from_parents"), "shorthaul.spatial.model"),
    "check": "shorthaul.spatial.verbs.checking",
    "lca": "shorthaul.spatial.verbs.lca",
    "sweep": "shorthaul.spatial.verbs.sweep",
    "treefix": "shorthaul.spatial.verbs.treefix",
    "tree_from_sklearn": "shorthaul.spatial.formats.decision_trees",
    "Machine": "shorthaul.spatial.computer.machine",
    "Operator": "shorthaul.spatial.computer.operators",
    "MachineError": "shorthaul.spatial.computer.memory",
    **dict.fromkeys(("Nodes", "Register", "Selection", "Values"), "shorthaul.spatial.computer.registers"),
    **dict.fromkeys(
        ("BoundOptions", "CheckOptions", "LcaOptions", "PlanOptions", "SweepOptions", "TreefixOptions"),
        "shorthaul.spatial.options",
    ),
    "Layout": "shorthaul.spatial.plan",
    **dict.fromkeys(("bound", "case", "cases", "plan"), "shorthaul.spatial.verbs.planning"),
}

__all__ = [
    "BoundOptions",
    "CheckOptions",
    "Grid",
    "Layout",
    "LcaOptions",
    "Machine",
    "MachineError",
    "Nodes",
    "Operator",
    "PlanOptions",
    "Register",
    "Selection",
    "SweepOptions",
    "Tree",
    "TreefixOptions",
    "Values",
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
