"""Write the pictures of ``docs/gallery.md``: a drawing of a result of every engine."""

from __future__ import annotations

from pathlib import Path

import shorthaul

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def main() -> None:
    """Plan, and write one drawing of each result."""
    tensor = shorthaul.tensor.plan("mlp-chain", effort=0.5)
    tensor.to_svg(IMAGES / "tensor-timeline.svg", "Timeline of subgraphs")
    wavelet = shorthaul.pebble.sweep("dwt:n=64,d=6", budgets="48:160:16", effort=0.5)
    wavelet.to_svg(IMAGES / "pebble-curve.svg")
    loads = shorthaul.affine.sweep("matmul", size="M=500,N=500,K=500")
    loads.to_svg(IMAGES / "affine-loads.svg")
    camera = shorthaul.dataflow.plan("sobel", effort=0.5)
    camera.to_svg(IMAGES / "dataflow-front.svg", "Pareto front")
    camera.to_svg(IMAGES / "dataflow-schedule.svg", "Schedule over one period")
    tree = shorthaul.spatial.plan("yule:n=255,seed=1", effort=0.5)
    tree.to_svg(IMAGES / "spatial-layout.svg", "255 vertices on a grid of 16x16")


if __name__ == "__main__":
    main()
