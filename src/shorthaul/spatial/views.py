"""Figures: the tree on the grid, its edge lengths, the link loads, energy against n. Large ones are coarsened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.core.amounts import Bound
from shorthaul.core.figure import Figure, Line, Network, Node, OfPoint, Scatter, Series, Table, by_argument
from shorthaul.core.figure import Grid as GridFigure
from shorthaul.graphs.tree_kernels import depths, sorted_by
from shorthaul.spatial.model import Fabric, Grid, Tree

Index = npt.NDArray[np.int32]
Counts = npt.NDArray[Any]

#: Cells a side of a picture, at most; larger grids are coarsened.
_SIDE = 64
#: Edges drawn over a picture, at most: those of the vertices nearest the root.
_EDGES = 1500
#: Vertices of a tree whose names can still be read.
_MOST_NAMED = 150


def of_bound(bound: Bound) -> tuple[Figure, ...]:
    """Return what every argument of a bound proves."""
    return (by_argument("energy (hops)", bound.details["values"]),)


def layout_figures(
    tree: Tree, x: Index, y: Index, grid: Grid, rows: Sequence[Mapping[str, float | str]], loads: Counts
) -> tuple[Figure, ...]:
    """Return the picture of the layout, its distance histogram, its link loads and the table of baselines."""
    return (
        *seen_of_layout(tree, x, y, grid, loads),
        comparison("Placements compared", rows),
        *_drawn_tree(tree, x, y),
    )


def seen_of_layout(tree: Tree, x: Index, y: Index, grid: Grid, loads: Counts) -> tuple[OfPoint, ...]:
    """Return the picture of the layout, its distance histogram and its link loads."""
    return (
        placement(tree, x, y, grid),
        distances(tree, x, y),
        load_map(loads, "Link load: one message from every parent to each child"),
    )


def points_compared(
    points: Sequence[Mapping[str, Any]], names: Sequence[str], lines: Sequence[str]
) -> tuple[Scatter, ...]:
    """Return energy, depth and link load of the points of a sweep; none of algorithms, whose links are not counted."""
    at = [number for number, point in enumerate(points) if "link_load" in point]
    axes = {
        "energy per vertex (hops)": "energy_per_vertex",
        "distance (hops)": "distance_hops",
        "link load": "link_load",
    }
    return (
        (
            Scatter(
                "Placements of the sweep",
                tuple(axes),
                tuple(tuple(points[number][key] for key in axes.values()) for number in at),
                tuple(names[number] for number in at),
                tuple(lines[number] for number in at),
            ),
        )
        if at
        else ()
    )


def _drawn_tree(tree: Tree, x: Index, y: Index) -> tuple[Network, ...]:
    """Return the tree by the names of its vertices, each at its processor; none if it is too large to be read."""
    if tree.n > _MOST_NAMED:
        return ()
    names = [""] * tree.n if tree.labels is None else tree.labels.names()
    places = zip(names, x.tolist(), y.tolist(), strict=True)
    nodes = tuple(Node(str(v), name or str(v), across, down) for v, (name, across, down) in enumerate(places))
    edges = tuple((str(p), str(v)) for v, p in enumerate(tree.parent.tolist()) if p >= 0)
    return (Network("Tree on the grid", nodes, edges),)


def machine_figures(
    tree: Tree, fabric: Fabric, place: Index, rows: Sequence[Mapping[str, float | str]], loads: Counts
) -> tuple[Figure, ...]:
    """Return the same for a machine, its layers side by side, and how many vertices its processors hold."""
    width, height = fabric.width * fabric.layers, fabric.height
    layer, across = np.divmod(place, fabric.grid.cells)
    y, x = np.divmod(across, fabric.width)
    x = (x + layer * fabric.width).astype(np.int32)
    flat, living = side_by_side(fabric, loads.max(axis=0))[None], side_by_side(fabric, fabric.living)
    return (
        placement(tree, x, y.astype(np.int32), Grid(width, height)),
        _crowds(x, y, living),
        load_map(flat, "Link load: one message from every parent to each child, times its size"),
        comparison("Placements compared", rows),
    )


def side_by_side(fabric: Fabric, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a value per processor with the layers beside one another, shape (height, layers * width)."""
    layers = values.reshape(fabric.layers, fabric.height, fabric.width)
    return np.moveaxis(layers, 0, 1).reshape(fabric.height, -1)


def _crowds(x: Index, y: Index, living: npt.NDArray[np.bool_]) -> GridFigure:
    """Return the vertices on every processor; dead ones are empty and crossed out, or counted in the note."""
    height, width = living.shape
    block = _block(Grid(width, height))
    shape = (-(-height // block), -(-width // block))
    row, column = np.nonzero(living)
    alive = np.bincount((row // block) * shape[1] + column // block, minlength=shape[0] * shape[1])
    count = np.bincount((y // block) * shape[1] + x // block, minlength=shape[0] * shape[1])
    mean = np.divide(count, alive, out=np.full(len(count), np.nan), where=alive > 0).reshape(shape)
    rows, columns = np.nonzero(~living)
    note = f"{len(rows)} of {living.size} processors are dead"
    crosses: list[tuple[tuple[float, float], ...]] = []
    if block == 1:
        for r, c in zip(rows.tolist(), columns.tolist(), strict=True):
            crosses += [((c - 0.3, r - 0.3), (c + 0.3, r + 0.3)), ((c - 0.3, r + 0.3), (c + 0.3, r - 0.3))]
    else:
        note += f"; each square is {block} x {block} processors, coloured by the mean of those that live"
    return GridFigure("Vertices on each processor", _cells(mean), "vertices", tuple(crosses), note)


def placement(tree: Tree, x: Index, y: Index, grid: Grid) -> GridFigure:
    """Return the grid with every processor coloured by its vertex' depth and the edges near the root drawn."""
    depth, _ = depths(tree.parent)
    block = _block(grid)
    shape = (-(-grid.height // block), -(-grid.width // block))
    cell = (y // block) * shape[1] + x // block
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, weights=depth, minlength=shape[0] * shape[1])
    mean = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0).reshape(shape)
    levels = np.cumsum(np.bincount(depth))
    last = min(int(np.searchsorted(levels, _EDGES + 1)), len(levels) - 1)  # so many levels hold enough
    near = np.flatnonzero(depth <= last)
    near = near[sorted_by(depth[near], last)][: _EDGES + 1]
    near = near[tree.parent[near] >= 0]
    ends = np.stack([tree.parent[near], near], axis=1)
    across, down = (np.round(value[ends] / block, 3).tolist() for value in (x, y))
    paths = tuple(tuple(zip(*path, strict=True)) for path in zip(across, down, strict=True))
    note = f"each square is {block} x {block} processors, coloured by mean depth" if block > 1 else ""
    if len(near) < tree.n - 1:
        note += f"{'; ' if note else ''}the {len(near)} edges nearest the root are drawn"
    return GridFigure(f"{tree.n} vertices on a grid of {grid}", _cells(mean), "depth in the tree", paths, note)


def _block(grid: Grid) -> int:
    return -(-max(grid.width, grid.height) // _SIDE)


def _cells(values: npt.NDArray[np.float64]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(None if isnan(v) else v for v in row) for row in np.round(values, 3).tolist())


def distances(tree: Tree, x: Index, y: Index) -> Series:
    """Return how many edges have which length, long ones gathered in doubling classes."""
    child = np.flatnonzero(tree.parent >= 0)
    above = tree.parent[child]
    counts = np.bincount(np.abs(x[child] - x[above]) + np.abs(y[child] - y[above]), minlength=1)
    longest = len(counts) - 1
    edges = [*range(min(17, longest + 1))]
    while edges[-1] < longest:
        edges.append(min(2 * edges[-1], longest))
    sums = np.concatenate([[0], np.cumsum(counts)])
    at, number = [], []
    for low, high in zip([-1, *edges[:-1]], edges, strict=True):
        if high > 0:
            at.append(high)
            number.append(int(sums[high + 1] - sums[low + 1]))
    line = Line("edges", tuple(at), tuple(number), "bar")
    note = "beyond 16 hops a bar counts all lengths since the bar before" if longest > 16 else ""
    return Series("Edge lengths", "hops", "edges", (line,), log_x=longest > 16, log_y=longest > 16, note=note)


def load_map(loads: Counts, title: str) -> GridFigure:
    """Return the largest load of a link at each processor (four directions together), coarsened by the maximum."""
    worst = loads.max(axis=0)
    height, width = worst.shape
    block = _block(Grid(width, height))
    rows, columns = -(-height // block), -(-width // block)
    padded = np.zeros((rows * block, columns * block), np.int64)
    padded[:height, :width] = worst
    coarse = padded.reshape(rows, block, columns, block).max(axis=(1, 3))
    note = f"each square is the largest of {block} x {block} processors" if block > 1 else ""
    return GridFigure(title, tuple(map(tuple, coarse.tolist())), "messages over a link", (), note)


def comparison(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows of named numbers as a table."""
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(title, columns, tuple(tuple(row.get(name) for name in columns) for row in rows))


def growth(title: str, y_label: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> Series:
    """Return one curve per name over the number of vertices."""
    curves = tuple(
        Line(name, tuple(p[0] for p in points), tuple(p[1] for p in points), "line") for name, points in lines.items()
    )
    return Series(title, "vertices", y_label, curves, log_x=True)
