"""``shorthaul pebble``."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="Load / store schedules for computation DAGs on a small fast memory.")
