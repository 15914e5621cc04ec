"""Figures as SVG, for notebooks, documents and pages without scripts: nothing else is needed to show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise
from typing import Final

from shorthaul.core.drawing.plots import PALETTE
from shorthaul.core.drawing.words import described
from shorthaul.core.figure import Bars, Figure, Grid, Line, Network, Scatter, Series

Number = int | float

#: Pixels of a drawing, and of the room around it for labels.
WIDTH: Final = 720
HEIGHT: Final = 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 34, 66
#: Cells of a heat map along an edge; of larger ones each cell drawn is the mean of several.
_MOST_CELLS: Final = 90
#: Nodes of a graph whose labels do not run into one another.
_MOST_LABELS: Final = 40
_SHADES: Final = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Values from ``low`` to ``high`` along an axis from pixel ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def at(self, value: Number) -> float:
        low, high, here = (math.log10(v) if self.log else v for v in (self.low, self.high, max(value, self.low)))
        return round(self.start + (self.stop - self.start) * (here - low) / (high - low), 1)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            steps = (1, 2, 5) if last - first <= 3 else (1,)
            made = [
                10.0**power * step for power in range(first, last + 1, max(1, (last - first) // 6)) for step in steps
            ]
            return [tick for tick in made if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]
        raw = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def svg_text(figure: Figure) -> str | None:
    """Return a figure as an SVG element, with what it shows in words; None for tables and texts, which are no drawings.

    >>> from shorthaul.core.figure import Scatter
    >>> svg_text(Scatter("Front", ("period", "cost"), ((10, 2.5), (12, 1))))[:69]
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 340" role="i'
    """
    if isinstance(figure, Series):
        body, height = _series(figure)
    elif isinstance(figure, Bars):
        body, height = _bars(figure)
    elif isinstance(figure, Grid):
        body, height = _grid(figure)
    elif isinstance(figure, Network):
        body, height = _network(figure)
    elif isinstance(figure, Scatter):
        body, height = _scatter(figure)
    else:
        return None
    words = escape(described(figure))
    frame = f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{words}" font-family="system-ui, sans-serif"'
    style = f'font-size="12" fill="currentColor" style="max-width:{WIDTH}px"'
    title = f'<title>{words}</title><text x="8" y="18" font-size="14" font-weight="600">{escape(figure.title)}</text>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {style}>{title}{"".join(body)}</svg>'


def svg_file(figure: Figure) -> str:
    """Return a drawing as the text of a file: dark on white wherever it is shown, not in the colours around it."""
    return f"{svg_text(figure)}\n".replace(' style="', ' style="background:white;color:#1f2933;', 1)


def _series(figure: Series) -> tuple[list[str], float]:
    lines = _stacked(figure.lines) if figure.stacked else figure.lines
    xs = [x for line in lines for x in line.x]
    ys = [y for line in lines for y in line.y if y is not None]
    ys += [] if figure.limit is None else [figure.limit[1]]
    across = _scale(xs, _LEFT, WIDTH - _RIGHT, log=figure.log_x)
    up = _scale(ys if figure.log_y else [*ys, 0], HEIGHT - _BOTTOM, _TOP, log=figure.log_y)
    body = _axes(across, up, figure.x_label, figure.y_label)
    names = list(dict.fromkeys(line.name for line in lines))
    width = max(1.0, 0.8 * (across.stop - across.start) / max(1, max((len(line.x) for line in lines), default=1)))
    for line in reversed(lines):  # stacks are drawn from the highest
        colour = _colour(names.index(line.name))
        points = [(across.at(x), None if y is None else up.at(y)) for x, y in zip(line.x, line.y, strict=True)]
        if line.style == "points":
            body += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in _thin(points) if y is not None]
        elif line.style == "bar":
            bars = [(x, y) for x, y in _thin(points) if y is not None]
            body += [_box(x - width / 2, y, width, up.start - y, colour) for x, y in bars]
        else:
            path = _path(_thin(points), _STAIRS.get(line.style, _STRAIGHT))
            body.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
    if figure.limit is not None:
        y = up.at(figure.limit[1])
        body.append(f'<path d="M{_LEFT} {y}H{WIDTH - _RIGHT}" stroke="#AD494A" stroke-dasharray="5 4"/>')
        body.append(f'<text x="{_LEFT + 4}" y="{y - 4}" fill="#AD494A">{escape(figure.limit[0])}</text>')
    return body + _legend(names, HEIGHT - 10), HEIGHT


def _stacked(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, each on top of those before it that share its places."""
    below: dict[Number, Number] = {}
    stacked = []
    for line in lines:
        for x, y in zip(line.x, line.y, strict=True):
            below[x] = below.get(x, 0) + (y or 0)
        stacked.append(Line(line.name, line.x, tuple(below[x] for x in line.x), line.style))
    return stacked


def _bars(figure: Bars) -> tuple[list[str], float]:
    lanes = {lane: at for at, lane in enumerate(dict.fromkeys(bar.lane for bar in figure.bars))}
    groups = list(dict.fromkeys(bar.group for bar in figure.bars))
    rows = min(24, max(3, 600 // max(1, len(lanes))))
    height = _TOP + rows * len(lanes) + _BOTTOM
    ends = [end for bar in figure.bars for end in (bar.start, bar.stop)]
    across = _scale(ends, 2 * _LEFT, WIDTH - _RIGHT)
    body = _axes(across, None, figure.x_label, "", bottom=height - _BOTTOM)
    if rows >= 10:
        body += [
            f'<text x="{2 * _LEFT - 6}" y="{_TOP + rows * at + rows * 0.7:g}" text-anchor="end">{_short(lane)}</text>'
            for lane, at in lanes.items()
        ]
    colours = {group: _colour(at) for at, group in enumerate(groups)}
    drawn: dict[str, float] = {}
    for bar in sorted(figure.bars, key=lambda bar: bar.start):
        start, stop = across.at(bar.start), across.at(bar.stop)
        if stop - start < 0.5 and stop <= drawn.get(bar.lane, -1.0):
            continue  # within a pixel that is drawn: nobody could see it
        drawn[bar.lane] = max(stop, start + 0.5)
        body.append(_box(start, _TOP + rows * lanes[bar.lane], max(0.5, stop - start), rows * 0.86, colours[bar.group]))
    return body + _legend(groups, height - 10), height


def _grid(figure: Grid) -> tuple[list[str], float]:
    rows, columns = len(figure.values), max((len(row) for row in figure.values), default=0)
    merged = max(1, math.ceil(max(rows, columns) / _MOST_CELLS))
    cells: dict[tuple[int, int], list[Number]] = {}
    for y, row in enumerate(figure.values):
        for x, value in enumerate(row):
            if value is not None:
                cells.setdefault((y // merged, x // merged), []).append(value)
    means = {place: sum(values) / len(values) for place, values in cells.items()}
    low, high = min(means.values(), default=0), max(means.values(), default=1)
    edge = min(
        30.0, (WIDTH - _LEFT - 120) / max(1, math.ceil(columns / merged)), 560 / max(1, math.ceil(rows / merged))
    )
    body = []
    for y, places_of_row in groupby(sorted(means), key=lambda place: place[0]):
        shades = [(x, _shade(means[y, x], low, high)) for _, x in places_of_row]
        for (shade, _), run in groupby(enumerate(shades), key=lambda item: (item[1][1], item[1][0] - item[0])):
            places = [x for _, (x, _) in run]
            width = edge * len(places)
            body.append(_box(_LEFT + places[0] * edge, _TOP + y * edge, width, edge, _SHADES[shade]))
    centre = edge / merged
    ways = [[(_LEFT + (x + 0.5) * centre, _TOP + (y + 0.5) * centre) for x, y in path] for path in figure.paths]
    if ways:
        lines = "".join(_path(way) for way in ways)
        body.append(f'<path d="{lines}" fill="none" stroke="white" stroke-width="0.7" opacity="0.8"/>')
    labels = [f"{low:,.6g}", f"{high:,.6g} {figure.scale_label}"]
    height = _TOP + math.ceil(rows / merged) * edge + 40
    body += [_box(_LEFT + 14 * at, height - 30, 14, 10, shade) for at, shade in enumerate(_SHADES)]
    body.append(f'<text x="{_LEFT - 6}" y="{height - 21:g}" text-anchor="end">{escape(labels[0])}</text>')
    body.append(f'<text x="{_LEFT + 14 * len(_SHADES) + 6}" y="{height - 21:g}">{escape(labels[1])}</text>')
    return body, height


def _shade(value: float, low: float, high: float) -> int:
    return round((len(_SHADES) - 1) * (value - low) / (high - low)) if high > low else 0


def _network(figure: Network) -> tuple[list[str], float]:
    depth = len({node.y for node in figure.nodes})
    height = min(1200, 120 + 40 * max(depth, 3))
    across = _scale([node.x for node in figure.nodes], 40, WIDTH - 140)
    down = _scale([node.y for node in figure.nodes], _TOP + 14, height - 40)
    place = {node.id: (across.at(node.x), down.at(node.y)) for node in figure.nodes}
    groups = list(dict.fromkeys(node.group for node in figure.nodes))
    ways = "".join(f"M{place[a][0]} {place[a][1]}L{place[b][0]} {place[b][1]}" for a, b in figure.edges)
    body = [f'<path d="{ways}" stroke="currentColor" opacity="0.35"/>']
    for node in figure.nodes:
        x, y = place[node.id]
        colour = _colour(groups.index(node.group))
        square = node.shape == "square"
        body.append(
            _box(x - 5, y - 5, 10, 10, colour) if square else f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>'
        )
        if len(figure.nodes) <= _MOST_LABELS:
            body.append(f'<text x="{x + 8}" y="{y + 4}">{_short(node.label)}</text>')
    return body + _legend(groups, height - 10), height


def _scatter(figure: Scatter) -> tuple[list[str], float]:
    """Points in the plane of the first two axes; a third one is drawn over the first beside it."""
    pairs = [(0, 1)] if len(figure.axes) < 3 else [(0, 1), (0, 2)]
    groups = list(dict.fromkeys(figure.groups))
    room = WIDTH / len(pairs)
    body: list[str] = []
    for panel, (first, second) in enumerate(pairs):
        left = panel * room
        across = _scale([point[first] for point in figure.points], left + _LEFT, left + room - _RIGHT)
        up = _scale([point[second] for point in figure.points], HEIGHT - _BOTTOM, _TOP)
        body += _axes(across, up, figure.axes[first], figure.axes[second])
        for at, point in enumerate(figure.points):
            colour = _colour(groups.index(figure.groups[at]) if groups else 0)
            body.append(f'<circle cx="{across.at(point[first])}" cy="{up.at(point[second])}" r="4" fill="{colour}"/>')
    return body + _legend(groups, HEIGHT - 10), HEIGHT


def _scale(values: Iterable[Number], start: float, stop: float, *, log: bool = False) -> _Scale:
    usable = [value for value in values if math.isfinite(value) and (value > 0 or not log)] or [1, 10]
    low, high = float(min(usable)), float(max(usable))
    if not low < high:
        low, high = (low / 2, low * 2) if log else (low - 0.5 - abs(low) / 2, high + 0.5 + abs(high) / 2)
    return _Scale(low, high, start, stop, log)


def _axes(
    across: _Scale, up: _Scale | None, x_label: str, y_label: str, *, bottom: float = HEIGHT - _BOTTOM
) -> list[str]:
    made = []
    for tick in across.ticks():
        x = across.at(tick)
        made.append(f'<path d="M{x} {_TOP}V{bottom:g}" stroke="currentColor" opacity="0.12"/>')
        made.append(f'<text x="{x}" y="{bottom + 15:g}" text-anchor="middle">{_amount(tick)}</text>')
    middle = (across.start + across.stop) / 2
    made.append(f'<text x="{middle:g}" y="{bottom + 32:g}" text-anchor="middle">{escape(x_label)}</text>')
    if up is not None:
        for tick in up.ticks():
            y = up.at(tick)
            made.append(f'<path d="M{across.start:g} {y}H{across.stop:g}" stroke="currentColor" opacity="0.12"/>')
            made.append(f'<text x="{across.start - 6:g}" y="{y + 4:g}" text-anchor="end">{_amount(tick)}</text>')
        made.append(f'<text x="{across.start:g}" y="{_TOP - 4}" font-size="11">{escape(y_label)}</text>')
    return made


def _legend(names: Sequence[str], y: float) -> list[str]:
    """Return the names beside their colours in a row; nothing for one without a name, nor for more than fit."""
    if not any(names):
        return []
    made: list[str] = []
    x = 8.0
    for at, name in enumerate(names):
        text = _short(name)
        if x + 8 * len(text) > WIDTH:
            return [*made, f'<text x="{x:g}" y="{y:g}">...</text>']
        made.append(f'{_box(x, y - 9, 10, 10, _colour(at))}<text x="{x + 14:g}" y="{y:g}">{text}</text>')
        x += 7 * len(text) + 30
    return made


def _thin(points: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Return points of a curve: of those in one pixel column the first, the extremes and the last, in their order."""
    columns: dict[int, list[int]] = {}
    for at, (x, y) in enumerate(points):
        if y is not None:
            columns.setdefault(int(x), []).append(at)
    height: Callable[[int], float] = lambda at: points[at][1] or 0.0  # noqa: E731
    kept = {at for own in columns.values() for at in (own[0], min(own, key=height), max(own, key=height), own[-1])}
    gaps = {at for at, (_, y) in enumerate(points) if y is None and at - 1 in kept}
    return [points[at] for at in sorted(kept | gaps)]


#: How a curve leads to its next point, in general and in some styles.
_STRAIGHT: Final = "L{x:.5g} {y:.5g}"
_STAIRS: Final = {"step": "H{x:.5g}V{y:.5g}", "area": "H{x:.5g}V{y:.5g}", "floor": "V{y:.5g}H{x:.5g}"}


def _path(points: Sequence[tuple[float, float | None]], way: str = _STRAIGHT) -> str:
    parts = []
    for (_, before), (x, y) in pairwise([(0.0, None), *points]):
        if y is not None:
            parts.append(("M{x:.5g} {y:.5g}" if before is None else way).format(x=x, y=y))
    return "".join(parts)


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.5g}" y="{y:.5g}" width="{width:.4g}" height="{height:.4g}" fill="{colour}"/>'


def _colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def _short(text: str) -> str:
    return escape(text if len(text) <= 24 else f"{text[:21]}...")


def _amount(value: float) -> str:
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.3g}"
