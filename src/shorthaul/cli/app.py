"""The command ``shorthaul``: one group per engine, and what spans them. Each is imported when it is called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer.main
from typer.core import TyperGroup

from shorthaul.core.version import VERSION

#: What the list of commands says of each.
SUMMARIES = {
    "pebble": "Load / store schedules for any DAG on a small fast memory.",
    "affine": "Data-movement lower bounds for C loop nests, with their proof.",
    "tensor": "Operator graphs scheduled on a scratchpad accelerator.",
    "dataflow": "Streaming networks mapped to heterogeneous many-cores.",
    "spatial": "Trees on a grid of processors, and algorithms that run there.",
    "report": "Draw result documents as one self-contained HTML file.",
    "export": "Write a figure of a result document as CSV, DOT, SVG or a trace.",
    "machines": "List the machines that come with the package, or show one.",
    "convert": "Rewrite a file in another format; the suffixes decide.",
    "demo": "Run the main job of every engine and draw one report.",
    "doctor": "Say what is installed, what is compiled and what is missing.",
}


#: Modules with several commands; any other command stands in the module of its name.
_MODULES = {"convert": "files", "export": "files", "machines": "files"}


@cache
def command(name: str) -> Any:
    """Return the command of this name, imported."""
    module = import_module(f"shorthaul.cli.{_MODULES.get(name, name)}")
    return typer.main.get_command(getattr(module, f"{name}_app" if name in _MODULES else "app"))


class Commands(TyperGroup):
    """The commands by name: a line of help each, until one is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({name: TyperGroup(name=name, help=text) for name, text in SUMMARIES.items()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that ``args`` name, imported."""
        if args and args[0] in SUMMARIES:
            self.commands[args[0]] = command(args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Begin a command, which is not the first one of its process where a program runs several."""
        from shorthaul.core.files.outputs import MISPLACED

        MISPLACED.clear()
        return super().invoke(ctx)


app = typer.Typer(
    name="shorthaul",
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="How little data has to move, a plan that moves that little, and a check of any plan.",
)


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
