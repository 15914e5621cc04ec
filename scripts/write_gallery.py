"""Results of every engine: the pictures of ``docs/gallery.md``, and a hook of MkDocs that adds their reports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import shorthaul

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def results() -> dict[str, Any]:
    """Return a result of every engine."""
    return {
        "tensor": shorthaul.tensor.plan("mlp-chain", effort=0.5),
        "pebble": shorthaul.pebble.sweep("dwt:n=64,d=6", budgets="48:160:16", effort=0.5),
        "affine": shorthaul.affine.sweep("matmul", size="M=500,N=500,K=500"),
        "dataflow": shorthaul.dataflow.plan("sobel", effort=0.5),
        "spatial": shorthaul.spatial.plan("yule:n=255,seed=1", effort=0.5),
    }


def on_files(files: Any, config: Any) -> Any:
    """Add the report of every result to the site, as ``reports/ENGINE.html``."""
    from mkdocs.structure.files import File

    with tempfile.TemporaryDirectory() as folder:
        for name, result in results().items():
            page = Path(folder, f"{name}.html")
            shorthaul.report([result], page)
            files.append(File.generated(config, f"reports/{name}.html", content=page.read_bytes()))
    return files


def main() -> None:
    """Write the drawings."""
    made = results()
    made["tensor"].to_svg(IMAGES / "tensor-timeline.svg", "Timeline of subgraphs")
    made["pebble"].to_svg(IMAGES / "pebble-curve.svg")
    made["affine"].to_svg(IMAGES / "affine-loads.svg")
    made["dataflow"].to_svg(IMAGES / "dataflow-front.svg", "Pareto front")
    made["dataflow"].to_svg(IMAGES / "dataflow-schedule.svg", "Schedule over one period")
    made["spatial"].to_svg(IMAGES / "spatial-layout.svg", "255 vertices on a grid of 16x16")


if __name__ == "__main__":
    main()
