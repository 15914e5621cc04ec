"""``shorthaul convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shorthaul.bridges.operator_network import NetworkOptions
from shorthaul.cli.verbs import single, verb
from shorthaul.tensor.formats.onnx_model import AcceleratorOptions

app = single()


@verb(app, "convert")
def convert(
    source: Annotated[Path, typer.Argument(help="The file to read.")],
    target: Annotated[Path, typer.Argument(help="The file to write; its suffix names the format.")],
    accelerator: AcceleratorOptions,
    network: NetworkOptions,
) -> None:
    """Rewrite a file in another format; the suffixes decide."""
    from shorthaul.bridges.conversion import convert as convert_file

    print(f"{convert_file(source, target, accelerator, network)}: {target}")
