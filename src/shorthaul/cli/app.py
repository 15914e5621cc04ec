"""The command ``shorthaul``: one group per engine, and what spans them."""

from __future__ import annotations

from typing import Annotated

import typer

from shorthaul.cli import affine, convert, dataflow, demo, doctor, pebble, report, spatial, tensor
from shorthaul.core.version import VERSION

app = typer.Typer(
    name="shorthaul",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="How little data has to move, a plan that moves that little, and a check of any plan.",
)
for _name, _group in (
    ("pebble", pebble.app),
    ("affine", affine.app),
    ("tensor", tensor.app),
    ("dataflow", dataflow.app),
    ("spatial", spatial.app),
):
    app.add_typer(_group, name=_name)
for _module in (report, convert, demo, doctor):
    _module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...
