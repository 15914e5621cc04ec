"""``shorthaul affine``."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Data-movement lower bounds for C loop nests, with their proof.")
