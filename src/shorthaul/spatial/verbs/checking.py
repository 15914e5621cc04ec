"""The verb ``check``: replay a layout, verify the certificate of a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from shorthaul.core.cases import Source
from shorthaul.core.check import CheckReport
from shorthaul.core.errors import InputError
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result, Status
from shorthaul.core.verbs import asked, verb
from shorthaul.spatial import views
from shorthaul.spatial.bounds.energy import energy_bound, machine_bound
from shorthaul.spatial.check.replay import check_layout
from shorthaul.spatial.layout.cost import local_messaging
from shorthaul.spatial.model import Fabric, Grid, Load, Tree, tree_from_parents
from shorthaul.spatial.options import CheckOptions, TreeOptions
from shorthaul.spatial.plan import BoundExtra, Layout
from shorthaul.spatial.verbs.certified import certified
from shorthaul.spatial.verbs.inputs import LAYOUTS, TREES, LayoutLike, Workload
from shorthaul.spatial.verbs.machines import (
    SIZES,
    WEIGHTS,
    PerVertex,
    Put,
    check_layout_on_machine,
    expect_machine,
    machine_and_load,
)
from shorthaul.spatial.verbs.planning import KIND, row_of
from shorthaul.spatial.verbs.prices import bounded, priced

if TYPE_CHECKING:
    from shorthaul.spatial.verbs.keywords import CheckKeywords


@verb(
    CheckOptions,
    TREES,
    LAYOUTS,
    reading=TreeOptions,
    workload="The tree as the other verbs take it; None: the one of the layout itself.",
    sizes=SIZES,
    weights=WEIGHTS,
)
def check(
    workload: Workload | None,
    plan: LayoutLike | None = None,
    *,
    sizes: PerVertex = None,
    weights: PerVertex = None,
    **keywords: Unpack[CheckKeywords],
) -> Result[Layout, BoundExtra]:
    """Return what a replay of a layout finds: every violation, and the cost as recounted.

    ``bound`` names a result document, the certificate of whose bound is verified, with a layout or without one. The
    status is ``invalid`` if a rule is broken, or if the bound is not proven.

    Returns
    -------
    Result[Layout, BoundExtra]
        The violations, and the cost as recounted.

    Raises
    ------
    InputError
        If the tree or the layout is none.

    Examples
    --------
    >>> from shorthaul.spatial import plan
    >>> layout = plan([-1, 0, 1, 2]).plan
    >>> check([-1, 0, 1, 2], layout).cost["energy_hops"]
    3
    >>> check([-1, 0, 1, 1], layout).check.violations[0].rule
    'wrong-parent'
    """
    layout = plan
    assert layout is None or isinstance(layout, Layout)
    if workload is None and layout is not None:
        workload = Source(tree_from_parents(layout.parent, forest=True), "", "")
    if workload is None:
        raise InputError("there is no tree", place="TREE", cure="give a tree, or the layout of one")
    tree, options, search, source = asked(workload, TREES, CheckOptions, keywords)
    if layout is None and options.bound is None:
        raise InputError("there is nothing to check", place="LAYOUT", cure="give a layout, a bound, or both")
    is_on_machine = expect_machine(options, sizes, weights)
    report, put = CheckReport(), None
    if layout is not None and is_on_machine:
        report, put = check_layout_on_machine(layout, tree, options, search, sizes, weights)
    elif layout is not None:
        report = check_layout(layout, tree)
    if options.bound is not None:
        machine = machine_and_load(tree, options, search, sizes, weights) if is_on_machine else None
        report = _verified(str(options.bound), tree, machine, layout, put, report)
    made = provenance("spatial check", options=options, source=source, search=search)
    if layout is None:
        return Result(KIND, None if report.ok else Status.INVALID, check=report, provenance=made)
    extra: BoundExtra = {"vertices": tree.n, "grid": [layout.grid.width, layout.grid.height]}
    cost = report.cost
    if not report.ok or cost is None:
        return Result(KIND, Status.INVALID, check=report, provenance=made)
    rows = [row_of("given", cost, tree.n)]
    if put is not None:
        extra["machine"] = put.figures()
        found = bounded(machine_bound(tree, put.load, put.fabric, extra["machine"]["per_processor"]), put.fabric)
        figures = views.machine_figures(tree, put.fabric, put.place, rows, put.traffic.loads)
    else:
        found = energy_bound(tree, layout.grid)
        _, loads = local_messaging(tree.parent, layout.x, layout.y, layout.grid)
        figures = views.layout_figures(tree, layout.x, layout.y, layout.grid, rows, loads)
    status = Status.OPTIMAL if found.is_met_by(cost["energy_hops"]) else Status.FEASIBLE
    return Result(
        KIND,
        status,
        cost=priced(cost, None if put is None else put.fabric),
        bound=found,
        check=report,
        plan=layout,
        provenance=made,
        extra=extra,
        figures=figures,
    )


def _verified(
    path: str,
    tree: Tree,
    machine: tuple[Fabric, Load] | None,
    layout: Layout | None,
    put: Put | None,
    report: CheckReport,
) -> CheckReport:
    """Return what a replay of a layout, if there is one, found, and what is wrong with the bound in a document."""
    known: tuple[float, Grid | int] | None = None
    if layout is not None and report.cost is not None:
        used = layout.grid if put is None else put.figures()["per_processor"]
        known = report.cost["energy_hops"], used
    found = certified(path, KIND, tree, machine, known)
    violations = (*report.violations, *found.violations)
    return replace(report, violations=violations, remarks=(*report.remarks, *found.remarks))
