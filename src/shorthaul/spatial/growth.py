"""The verb ``sweep``: energy by order and curve, and its growth with the number of vertices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shorthaul.core.cases import Case, Source, resolve
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.core.provenance import provenance
from shorthaul.core.result import Result
from shorthaul.core.search import Budget
from shorthaul.spatial import views
from shorthaul.spatial.bound import energy_bound
from shorthaul.spatial.cost import local_messaging
from shorthaul.spatial.model import Tree
from shorthaul.spatial.options import CURVES, ORDERS, PlacingOptions, SweepOptions
from shorthaul.spatial.orders import positions
from shorthaul.spatial.planning import KIND, as_tree, place
from shorthaul.spatial.treefix_sums import treefix


def grown(text: str, cases: Sequence[Case[Tree]], options: SweepOptions) -> list[Source[Tree]]:
    """Return the built-in tree that ``text`` names at each of the sizes; none if it names a file or fixes n itself."""
    name, _, given = text.partition(":")
    if name not in {case.name for case in cases} or "n=" in given.replace(" ", ""):
        return []
    sizes = []
    for cell in options.sizes.split(","):
        if not cell.strip().isdigit() or not 1 <= int(cell) <= 2**26:
            raise InputError("is no number of vertices", place="--sizes", value=cell, allowed="integers from 1 to 2^26")
        sizes.append(int(cell))
    extra = f",{given}" if given else ""
    return [resolve(f"{name}:n={size}{extra}", cases, lambda path, data: as_tree([-1])) for size in sizes]  # noqa: ARG005


def sweep(
    sources: Sequence[Source[Tree]], options: SweepOptions | None = None, *, search: Budget | None = None
) -> Result[Any]:
    """Return cost and bound of every order and curve for every tree, and a treefix sum each way.

    The points are in ``extra["points"]``, each with its bound.
    """
    options = SweepOptions() if options is None else options
    budget = Budget() if search is None else search
    orders = _names(options.orders, ORDERS, "--orders")
    curves = _names(options.curves, CURVES, "--curves")
    points: list[dict[str, Any]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for source in sources:
        tree = source.workload
        light_first = positions(tree, "light-first")
        for curve in curves:
            for order in orders:
                placing = PlacingOptions(order=order, curve=curve)
                layout, named = place(tree, placing, budget, light_first)
                cost, _ = local_messaging(tree.parent, layout.x, layout.y, layout.grid)
                bound = energy_bound(tree, layout.grid).value
                points.append(_point(tree.n, f"{order} + {named}", cost, bound))
                lines.setdefault(f"{order} + {curve}", []).append((tree.n, cost["energy_hops"] / tree.n))
        if options.treefix:
            for direction in ("up", "down"):
                result = treefix(tree, direction=direction, method="rake-compress", search=budget)
                assert result.cost is not None
                points.append(_point(tree.n, f"treefix {direction}", result.cost, tree.n - len(tree.roots())))
                lines.setdefault(f"treefix {direction}", []).append((tree.n, result.cost["energy_hops"] / tree.n))
    return Result(
        KIND,
        None,
        provenance=provenance("spatial sweep", options=options, source=sources[-1], budget=budget),
        extra={"points": points},
        figures=(
            views.growth("Energy per vertex against the number of vertices", "hops per vertex", lines),
            views.comparison("All points", points),
        ),
    )


def _point(n: int, what: str, cost: Any, bound: float) -> dict[str, Any]:
    return {"vertices": n, "what": what, **cost, "energy_per_vertex": cost["energy_hops"] / n, "bound": bound}


def _names(text: str, known: Sequence[str], flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise unknown_name("value", name, known, place=flag)
    if not names:
        raise InputError("names nothing", place=flag, value=text, allowed=", ".join(known))
    return names
