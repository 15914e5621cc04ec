"""Figures as Plotly specifications: plain ``{"data": ..., "layout": ...}`` objects, ready to be embedded as JSON."""

from __future__ import annotations

from itertools import combinations, cycle
from typing import Any

from shorthaul.core.figure import Bars, Figure, Grid, Line, Network, Scatter, Series

#: A colour-blind safe palette (Okabe and Ito), the first for what matters most.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#8C6D31", "#5254A3", "#AD494A")

#: The kinds of figures that are drawn; tables and texts are not.
DRAWN = (Series, Bars, Grid, Network, Scatter)

_FONT = {"family": "system-ui, sans-serif", "size": 13, "color": "#1f2933"}
_GRID_COLOUR = "#e4e7eb"


def plotly_figure(figure: Figure) -> dict[str, Any] | None:
    """Return ``figure`` as a Plotly specification, None for tables and texts, which are no drawings."""
    if isinstance(figure, Series):
        return _series(figure)
    if isinstance(figure, Bars):
        return _bars(figure)
    if isinstance(figure, Grid):
        return _grid(figure)
    if isinstance(figure, Network):
        return _network(figure)
    if isinstance(figure, Scatter):
        return _scatter(figure)
    return None


def _layout(x_label: str = "", y_label: str = "", **more: Any) -> dict[str, Any]:
    axis = {"gridcolor": _GRID_COLOUR, "zeroline": False, "automargin": True}
    return {
        "font": _FONT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 60, "r": 20, "t": 20, "b": 90},
        "xaxis": {**axis, "title": {"text": x_label}},
        "yaxis": {**axis, "title": {"text": y_label}},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "colorway": list(PALETTE),
        "height": 420,
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#9aa5b1", "activecolor": "#0072B2"},
        **more,
    }


def _series(figure: Series) -> dict[str, Any]:
    layout = _layout(figure.x_label, figure.y_label, barmode="stack" if figure.stacked else "group")
    for axis, is_log in (("xaxis", figure.log_x), ("yaxis", figure.log_y)):
        if is_log:
            values = [v for line in figure.lines for v in (line.x if axis == "xaxis" else line.y) if v]
            layout[axis] |= {"type": "log", **_ticks(max(values, default=1) / min(values, default=1))}
    if not figure.log_y:
        layout["yaxis"]["rangemode"] = "tozero"
    if figure.limit is not None:
        name, value = figure.limit
        layout["shapes"] = [
            {
                "type": "line",
                "xref": "paper",
                "x0": 0,
                "x1": 1,
                "y0": value,
                "y1": value,
                "line": {"color": "#AD494A", "dash": "dash", "width": 1.5},
                "label": {"text": name, "textposition": "start", "font": {"color": "#AD494A"}},
            }
        ]
    data = [_line(line, stacked=figure.stacked) for line in figure.lines]
    if figure.points:
        names = dict(zip(figure.lines[0].x, figure.points, strict=True))
        for trace in data:
            trace |= {"mode": "lines+markers", "text": [names.get(x, "") for x in trace["x"]], **_CHOSEN}
    return {"data": data, "layout": layout}


def _ticks(ratio: float) -> dict[str, Any]:
    """Return the ticks of a logarithmic axis whose ends have this ratio: 1, 2 and 5, or powers of ten only."""
    return {} if ratio < 10 else {"dtick": "D2" if ratio < 1000 else 1}


#: How a point that is chosen stands out from the others.
_CHOSEN = {"selected": {"marker": {"size": 15}}, "unselected": {"marker": {"opacity": 0.5}}}


def _line(line: Line, *, stacked: bool) -> dict[str, Any]:
    trace: dict[str, Any] = {"name": line.name, "x": line.x, "y": line.y}
    if line.style == "bar":
        return {**trace, "type": "bar"}
    trace |= {"type": "scatter", "mode": "markers" if line.style == "points" else "lines"}
    if line.style == "line" and len(line.x) <= 60:
        trace["mode"] = "lines+markers"
    if line.style in {"step", "area", "floor"}:
        trace["line"] = {"shape": "vh" if line.style == "floor" else "hv", "width": 1.5}
    if line.style == "area":
        trace |= {"stackgroup": "one"} if stacked else {"fill": "tozeroy"}
    return trace


def _bars(figure: Bars) -> dict[str, Any]:
    lanes = list(dict.fromkeys(bar.lane for bar in figure.bars))
    groups = list(dict.fromkeys(bar.group for bar in figure.bars))
    data = []
    for group, colour in zip(groups, cycle(PALETTE), strict=False):
        members = [bar for bar in figure.bars if bar.group == group]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": group,
                "y": [bar.lane for bar in members],
                "x": [bar.stop - bar.start for bar in members],
                "base": [bar.start for bar in members],
                "text": [bar.label for bar in members],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "hovertemplate": "%{text}<br>%{y}: %{base} to %{customdata}<extra></extra>",
                "customdata": [bar.stop for bar in members],
                "marker": {"color": colour, "line": {"color": "white", "width": 1}},
            }
        )
    layout = _layout(figure.x_label, "", barmode="overlay", height=140 + 30 * len(lanes))
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": lanes[::-1], "type": "category"}
    layout["showlegend"] = len(groups) > 1 or groups != [""]
    return {"data": data, "layout": layout}


def _grid(figure: Grid) -> dict[str, Any]:
    data: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "z": figure.values,
            "colorscale": "Viridis",
            "colorbar": {"title": {"text": figure.scale_label, "side": "right"}},
            "hoverongaps": False,
        }
    ]
    if figure.paths:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": [x for path in figure.paths for x in (*(point[0] for point in path), None)],
                "y": [y for path in figure.paths for y in (*(point[1] for point in path), None)],
                "line": {"color": "rgba(255,255,255,0.8)", "width": 1},
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    layout = _layout("x", "y", height=620)
    layout["xaxis"] |= {"constrain": "domain", "showgrid": False}
    layout["yaxis"] |= {"scaleanchor": "x", "autorange": "reversed", "constrain": "domain", "showgrid": False}
    return {"data": data, "layout": layout}


def _network(figure: Network) -> dict[str, Any]:
    place = {node.id: (node.x, node.y) for node in figure.nodes}
    edges: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [x for start, stop in figure.edges for x in (place[start][0], place[stop][0], None)],
        "y": [y for start, stop in figure.edges for y in (place[start][1], place[stop][1], None)],
        "line": {"color": "#9aa5b1", "width": 1},
        "marker": {
            "symbol": "arrow",
            "angleref": "previous",
            "size": [0, 9, 0] * len(figure.edges),
            "standoff": 9,
            "color": "#9aa5b1",
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }
    data = [edges]
    groups = list(dict.fromkeys(node.group for node in figure.nodes))
    for group, colour in zip(groups, cycle(PALETTE), strict=False):
        members = [node for node in figure.nodes if node.group == group]
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": group,
                "x": [node.x for node in members],
                "y": [node.y for node in members],
                "text": [node.label for node in members],
                "textposition": "middle right",
                "textfont": {"size": 11},
                "hovertext": [node.hover or node.label for node in members],
                "hoverinfo": "text",
                "marker": {"size": 15, "symbol": [node.shape for node in members], "color": colour},
            }
        )
    depth = len({node.y for node in figure.nodes})
    layout = _layout(height=min(1400, 160 + 44 * max(depth, 5)))
    hidden = {"showgrid": False, "showticklabels": False, "zeroline": False}
    layout["xaxis"] |= hidden
    layout["yaxis"] |= {**hidden, "autorange": "reversed"}
    layout["showlegend"] = len(groups) > 1
    return {"data": data, "layout": layout}


def _scatter(figure: Scatter) -> dict[str, Any]:
    """One panel for every pair of axes; ``customdata`` is the number of the point, which links the panels."""
    if len(figure.axes) < 2:
        raise ValueError(f"{figure.title!r} has fewer than two axes")
    groups = figure.groups or ("",) * len(figure.points)
    names = list(dict.fromkeys(groups))
    pairs = list(combinations(range(len(figure.axes)), 2))
    layout = _layout(height=420)
    data = []
    for panel, (first, second) in enumerate(pairs, 1):
        suffix = "" if panel == 1 else str(panel)
        for name, colour in zip(names, cycle(PALETTE), strict=False):
            members = [index for index, other in enumerate(groups) if other == name]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "legendgroup": name,
                    "showlegend": panel == 1 and len(names) > 1,
                    "x": [figure.points[index][first] for index in members],
                    "y": [figure.points[index][second] for index in members],
                    "xaxis": f"x{suffix}",
                    "yaxis": f"y{suffix}",
                    "customdata": members,
                    "text": [figure.labels[index] for index in members] if figure.labels else None,
                    "marker": {"size": 9, "color": colour},
                    **_CHOSEN,
                }
            )
        left, right = (panel - 1) / len(pairs), panel / len(pairs)
        room = 0.0 if len(pairs) == 1 else 0.09
        for letter, axis in (("x", first), ("y", second)):
            plain = layout[f"{letter}axis"]
            layout[f"{letter}axis{suffix}"] = {**plain, "title": {"text": figure.axes[axis]}}
        layout[f"xaxis{suffix}"] |= {"domain": [left, right - room], "anchor": f"y{suffix}", "nticks": 5}
        layout[f"yaxis{suffix}"] |= {"anchor": f"x{suffix}"}
    return {"data": data, "layout": layout}
