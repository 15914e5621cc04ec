"""``shorthaul report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shorthaul.cli.verbs import verb


def register(app: typer.Typer) -> None:
    """Add the verb to the top level of the command line."""
    verb(app, "report")(report)


def report(
    results: Annotated[list[Path], typer.Argument(help="Result documents, from --result FILE or --json.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Draw result documents as one self-contained HTML file."""
    from shorthaul.core.document import load_json, write_text
    from shorthaul.report.html import render

    page = render([load_json(path) for path in results], names=[str(path) for path in results])
    write_text(output, page)
    print(output)
