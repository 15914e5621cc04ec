"""What the verbs take as CDAG and as plan."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol, TypeAlias

from shorthaul.core.cases import Source, Workloads, comes_from
from shorthaul.core.result import Result
from shorthaul.core.verbs import Plans
from shorthaul.pebble.formats.documents import (
    cdag_from_document,
    load_cdag,
    load_plan,
    plan_document,
    plan_table,
    save_plan,
)
from shorthaul.pebble.formats.graphs import from_dependencies, from_networkx
from shorthaul.pebble.formats.matrices import from_sparse
from shorthaul.pebble.formats.traced import from_traced, is_traced
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Plan
from shorthaul.pebble.workloads.cases import CASES


class DirectedGraph(Protocol):
    """A ``networkx.DiGraph``."""

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        ...


class SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy."""

    def tocoo(self) -> object:
        """Return the matrix as coordinates."""
        ...


class TracedGraph(Protocol):
    """A ``torch.fx.Graph``."""

    @property
    def nodes(self) -> object:
        """The nodes in order."""
        ...


class TracedModule(Protocol):
    """A ``torch.fx.GraphModule``, or an exported program."""

    @property
    def graph(self) -> object:
        """The graph that was traced."""
        ...


Dependencies: TypeAlias = Mapping[str, object] | Mapping[int, object]
Workload: TypeAlias = (
    Cdag | Source[Cdag] | str | PathLike[str] | Dependencies | DirectedGraph | SparseMatrix | TracedGraph | TracedModule
)
PlanLike: TypeAlias = Plan | Result[Plan] | str | PathLike[str]


def _convert(workload: Any, _options: object) -> Cdag | None:
    if isinstance(workload, Mapping):
        return cdag_from_document(dict(workload)) if "kind" in workload else from_dependencies(workload)
    if comes_from(workload, "networkx") and hasattr(workload, "is_directed"):
        return from_networkx(workload)
    if comes_from(workload, "scipy") and hasattr(workload, "tocoo"):
        return from_sparse(workload)
    if comes_from(workload, "torch") and is_traced(workload):
        return from_traced(workload)
    return None


CDAGS = Workloads(
    Cdag,
    CASES,
    lambda path, data, options: load_cdag(path, data),  # noqa: ARG005
    "a Cdag, a built-in case, the path of a CDAG, HyperDAG, DOT, MatrixMarket, GraphML, GML or edge-list file, such "
    "text, a mapping from nodes to what they are computed from, a networkx.DiGraph (the node attribute 'weight', or "
    "'size', is its size), a SciPy sparse matrix L (the solution of L x = b, L the lower triangle), or a graph that "
    "torch.fx or torch.export traced, with the sizes of its values",
    _convert,
)
PLANS: Plans[Plan, Cdag] = Plans(Plan, load_plan, plan_document, save_plan, plan_table)
