"""What the verbs take as tree and as layout."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from shorthaul.core.cases import Source, Workloads, comes_from
from shorthaul.core.errors import InputError
from shorthaul.core.result import Result
from shorthaul.core.verbs import Plans
from shorthaul.spatial.formats.decision_trees import tree_from_sklearn
from shorthaul.spatial.formats.files import (
    archive,
    arrays_document,
    layout_arrays,
    layout_bytes,
    layout_document,
    load_layout,
    save_arrays,
    table_of,
    tree_from_file,
)
from shorthaul.spatial.formats.networkx_trees import tree_from_networkx
from shorthaul.spatial.layout.stored_tree import StoredTree
from shorthaul.spatial.model import Tree, tree_from_parents
from shorthaul.spatial.options import TreeOptions
from shorthaul.spatial.plan import Layout, VertexTable
from shorthaul.spatial.workloads.cases import CASES


class Estimator(Protocol):
    """A fitted decision tree, forest or boosting of scikit-learn."""

    def get_params(self, deep: bool = True) -> object:
        """Return the parameters of the estimator."""
        ...


class DirectedGraph(Protocol):
    """A ``networkx.DiGraph``."""

    def is_directed(self) -> bool:
        """Return whether edges lead from one node to the other."""
        ...


Parents: TypeAlias = Sequence[int] | npt.NDArray[np.int64] | npt.NDArray[np.int32]
Pairs: TypeAlias = Sequence[Sequence[int]] | npt.NDArray[np.int64] | npt.NDArray[np.int32]
Workload: TypeAlias = Tree | Source[Tree] | str | PathLike[str] | Parents | Estimator | DirectedGraph
LayoutLike: TypeAlias = Layout | Result[Layout] | str | PathLike[str]
LAYOUT = "The layout, a result that holds one, or the path of a file with one (default: a new one)."


def _convert(workload: Any, options: object) -> Tree | None:
    if comes_from(workload, "sklearn"):
        return tree_from_sklearn(workload)
    if comes_from(workload, "networkx") and hasattr(workload, "is_directed"):
        return tree_from_networkx(workload, forest=_is_forest(options))
    if isinstance(workload, list | tuple) or hasattr(workload, "__array__"):
        return tree_from_parents(workload, forest=_is_forest(options))
    return None


def _is_forest(options: object) -> bool:
    return isinstance(options, TreeOptions) and options.forest


TREES = Workloads(
    Tree,
    CASES,
    lambda path, data, options: tree_from_file(path, data, forest=_is_forest(options)),
    "a Tree, a built-in case, a parent array (-1 for the root), Newick text, the path of a Newick, NEXUS, CSV, .npy, "
    ".npz, .json, .txt or .joblib file, or a fitted tree or forest of scikit-learn, or a "
    "networkx.DiGraph with edges from parents to children",
    _convert,
)


class _Layouts(Plans[Layout, Tree]):
    __slots__ = ()

    def packed(self, plan: Layout | StoredTree, workload: Tree) -> bytes:
        """Return a layout, or a tree as stored with one, as the bytes of a file."""
        return layout_bytes(_layout_of(plan, workload))

    def answered(self, kept: Layout | StoredTree, workload: Tree, options: object) -> Layout:
        """Return the layout."""
        del options
        return _layout_of(kept, workload)


def _layout_of(kept: Layout | StoredTree, tree: Tree) -> Layout:
    return kept if isinstance(kept, Layout) else kept.layout(tree)


LAYOUTS = _Layouts(
    Layout,
    lambda path, tree: load_layout(path),  # noqa: ARG005
    lambda layout, tree: layout_document(layout),  # noqa: ARG005
    lambda path, layout, tree: save_arrays(path, layout_document(layout), partial(layout_bytes, layout)),  # noqa: ARG005
    lambda layout, tree: table_of(layout_arrays(layout), tree.labels),
)


def _no_table(path: Path, _tree: Tree) -> VertexTable:
    raise InputError("cannot be read back", file=path)


TABLES: Plans[VertexTable, Tree] = Plans(
    VertexTable,
    _no_table,
    lambda table, tree: arrays_document(table.arrays),  # noqa: ARG005
    lambda path, table, tree: save_arrays(path, arrays_document(table.arrays), partial(archive, **table.arrays)),  # noqa: ARG005
    lambda table, tree: table_of(table.arrays, tree.labels),
)
