"""``shorthaul report``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shorthaul.cli.verbs import single, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shorthaul.core.figure import Figure


app = single()


@verb(app, "report")
def report(
    results: Annotated[list[Path], typer.Argument(help="Result documents, from --result FILE or --json.")],
    peak: Annotated[
        float | None, typer.Option(help="Draw a roofline first: the machine's operations per unit of time.")
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option(help="With --peak: the data that the machine moves per unit of time.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Draw result documents as one self-contained HTML file."""
    from shorthaul.cli.output import put_answer
    from shorthaul.core.document import load_json, write_text
    from shorthaul.core.errors import InputError
    from shorthaul.core.files.outputs import promise_output
    from shorthaul.report.html import expect_results, render

    if (peak is None) != (bandwidth is None):
        raise InputError("needs both --peak and --bandwidth", cure="give both for a roofline, or neither")
    promise_output(output, (".html", ".htm"))
    documents, names = [load_json(path) for path in results], [str(path) for path in results]
    overview: Sequence[Figure] = ()
    if peak is not None and bandwidth is not None:
        from shorthaul.bridges.roofline import roofline

        expect_results(documents, names=names)
        overview = roofline(documents, names=names, peak=peak, bandwidth=bandwidth)
    page = render(documents, names=names, overview=overview)
    put_answer(output, partial(write_text, text=page))
    print(output)
