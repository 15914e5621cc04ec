"""What a figure shows, in a sentence: for readers who hear a page, and where nothing can be drawn."""

from __future__ import annotations

from collections.abc import Iterable

from shorthaul.core.figure import Bars, Figure, Grid, Network, Scatter, Series, Table


def described(figure: Figure) -> str:
    """Return what a figure shows.

    >>> from shorthaul.core.figure import Scatter
    >>> described(Scatter("Front", ("period", "cost"), ((10, 2.5), (12, 1))))
    'Front: 2 points. period from 10 to 12, cost from 1 to 2.5.'
    """
    return f"{figure.title}: {_content(figure)}."


def _content(figure: Figure) -> str:
    if isinstance(figure, Series):
        limit = "" if figure.limit is None else f"; {figure.limit[0]} at {figure.limit[1]:,.6g}"
        curves = [f"{line.name} {_range(line.y)}" for line in figure.lines]
        along = _range(x for line in figure.lines for x in line.x)
        return f"{figure.y_label} over {figure.x_label} {along}. {', '.join(curves)}{limit}"
    if isinstance(figure, Bars) and not figure.over_time:
        lengths = {bar.lane: 0.0 for bar in figure.bars}
        for bar in figure.bars:
            lengths[bar.lane] += bar.stop - bar.start
        return f"{figure.x_label}: " + ", ".join(f"{lane} {length:,.6g}" for lane, length in lengths.items())
    if isinstance(figure, Bars):
        along = _range(end for bar in figure.bars for end in (bar.start, bar.stop))
        lanes = _many(len({bar.lane for bar in figure.bars}), "lane")
        return f"{_many(len(figure.bars), 'interval')} on {lanes}, {figure.x_label} {along}"
    if isinstance(figure, Grid):
        values = [value for row in figure.values for value in row]
        size = f"{max((len(row) for row in figure.values), default=0)} by {len(figure.values)} cells"
        return f"{size}, {figure.scale_label or 'values'} {_range(values)}"
    if isinstance(figure, Network):
        return f"{_many(len(figure.nodes), 'node')} and {_many(len(figure.edges), 'edge')}"
    if isinstance(figure, Scatter):
        ranges = [f"{axis} {_range(point[at] for point in figure.points)}" for at, axis in enumerate(figure.axes)]
        return f"{_many(len(figure.points), 'point')}. {', '.join(ranges)}"
    if isinstance(figure, Table):
        return f"a table of {_many(len(figure.rows), 'row')}"
    return "a text"


def _range(values: Iterable[float | None]) -> str:
    found = [value for value in values if value is not None]
    return f"from {min(found):,.6g} to {max(found):,.6g}" if found else "without values"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
