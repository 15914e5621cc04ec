"""The command ``shorthaul``: one group per engine, and what spans them."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from shorthaul.cli import affine, convert, dataflow, demo, doctor, pebble, report, spatial, tensor
from shorthaul.cli.verbs import silence_output, unwritable_text
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


def main() -> None:
    """Run the command line; every way to end goes through an exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or file whose encoding lacks a sign, such as a cross in a table, gets its number.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as ended:
        # Rich and Click answer a reader of a pipe that went away, which is no failure, with status 1.
        sys.exit(0 if isinstance(ended.__context__, BrokenPipeError) else ended.code)
    except OSError as error:  # help and version are printed outside of the verbs
        silence_output()
        if not isinstance(error, BrokenPipeError):
            print(unwritable_text(error), file=sys.stderr)
            sys.exit(2)
