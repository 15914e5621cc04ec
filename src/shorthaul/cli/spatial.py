"""``shorthaul spatial``."""

from __future__ import annotations

import typer

app = typer.Typer(
    no_args_is_help=True, help="Trees laid out on a grid of processors, and the algorithms that run there."
)
