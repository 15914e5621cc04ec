"""``shorthaul convert`` and ``shorthaul machines``: commands about files of any engine."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from shorthaul.bridges.operator_network import NetworkOptions
from shorthaul.cli.flags import Listing
from shorthaul.cli.verbs import single, verb
from shorthaul.tensor.options import AcceleratorOptions

convert_app, export_app, machines_app = single(), single(), single()


@verb(convert_app, "convert")
def convert(
    source: Annotated[Path, typer.Argument(help="The file to read.")],
    target: Annotated[Path, typer.Argument(help="The file to write; its suffix names the format.")],
    accelerator: AcceleratorOptions,
    network: NetworkOptions,
) -> None:
    """Rewrite a file in another format; the suffixes decide."""
    from shorthaul.bridges.conversion import convert as convert_file
    from shorthaul.cli.output import put_answer
    from shorthaul.core.files.outputs import promise_output

    promise_output(target)
    given = dataclasses.asdict(accelerator) | dataclasses.asdict(network)
    put_answer(target, lambda path: print(f"{convert_file(source, path, **given)}: {path}"))


@verb(export_app, "export")
def export(
    result: Annotated[Path, typer.Argument(help="A result document, as --result writes it.")],
    target: Annotated[
        Path | None, typer.Argument(metavar="[TARGET]", help="The file to write: .csv, .dot, .svg, .json (a trace).")
    ] = None,
    figure: Annotated[str | None, typer.Option(help="The title of the figure (default: the first that fits).")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The same as TARGET.")] = None,
) -> None:
    """Write a figure of a result document as CSV, DOT, SVG or a trace.

    Tables are .csv, graphs .dot, drawings .svg; .json takes all timelines, for Perfetto. Without a target,
    list the figures.
    """
    from shorthaul.cli.output import put_answer
    from shorthaul.core.document import load_json
    from shorthaul.core.drawing.exports import with_answer, write_figure
    from shorthaul.core.errors import InputError
    from shorthaul.core.figure import figures_of
    from shorthaul.core.files.outputs import promise_output
    from shorthaul.report.text import print_table

    if target is not None and output is not None:
        raise InputError("cannot be combined with TARGET", place="--output", cure="give one of the two")
    target = target or output
    if target is not None:
        promise_output(target, (".csv", ".dot", ".svg", ".json"))
    document = load_json(result)
    figures = with_answer(figures_of(document, file=result), document)
    if target is None:
        print_table(("figure", "kind"), [(item.title, type(item).__name__) for item in figures], file=sys.stdout)
    else:
        put_answer(target, lambda path: print(f"{write_figure(figures, path, figure)} -> {path}"))


@verb(machines_app, "machines")
def machines(
    listing: Listing,
    machine: Annotated[
        str | None, typer.Argument(metavar="[MACHINE]", help="A machine file or a bundled machine: show and check it.")
    ] = None,
) -> None:
    """List the machines that come with the package, or show one. A file of your own is checked."""
    import msgspec

    from shorthaul.core.document import json_text
    from shorthaul.core.errors import InputError
    from shorthaul.core.machines.files import bundled, load_machine_file, machine_text
    from shorthaul.core.machines.memories import levels_of
    from shorthaul.report.text import print_table

    if machine is not None:
        found = load_machine_file(machine, place="machine")
        if found.levels is not None:
            try:
                levels_of(found)
            except InputError as error:
                raise error.in_file(machine) from None
        if listing.json:
            sys.stdout.write(json_text({"kind": "shorthaul/machine", "version": 1, **msgspec.to_builtins(found)}))
        else:
            sys.stdout.write(machine_text(machine)[1])
        return
    files = {name: load_machine_file(name) for name in bundled()}
    if listing.json:
        entries = [{"machine": name, **msgspec.to_builtins(file)} for name, file in files.items()]
        sys.stdout.write(json_text({"kind": "shorthaul/machines", "version": 1, "machines": entries}))
        return
    rows = []
    for name, file in files.items():
        levels = [level.name for level in file.levels or ()]
        takes = "tensor, pebble, affine" if levels else ""
        if file.grid is not None:
            takes = f"{takes}, spatial".strip(", ")
            levels = [*levels, f"{file.grid.width} x {file.grid.height} processors"]
        if file.many_core is not None:
            takes = f"{takes}, dataflow".strip(", ")
            levels = [*levels, f"{sum(tile.count for tile in file.many_core.tiles)} tiles of cores"]
        rows.append((name, takes, " > ".join(levels), file.source.split(": ")[0]))
    print_table(("machine", "engines", "levels", "source"), rows, file=sys.stdout)
