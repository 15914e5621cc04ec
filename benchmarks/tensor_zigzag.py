"""Single layers on the example machines of zigzag: latency and energy of our plans beside what zigzag finds.

    python benchmarks/tensor_zigzag.py --zigzag PYTHON [--machines tpu_like edge_tpu_like] [--write]

``PYTHON`` is an interpreter of an environment of its own with ``zigzag-dse`` and ``six``. zigzag searches the temporal
mappings of its example mapping files for the least latency, of which it takes any, and for the least product of
energy and latency; the same machine files are given to ``tensor plan --machine``. Our latency stands beside that of the
first one, our energy beside those of both. ``--write`` puts the rows into ``benchmarks/results/tensor_zigzag.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "tensor_zigzag.json"
#: Products (rows, columns, reduction) and convolutions (output channels, input channels, places per axis, kernel).
LAYERS: dict[str, tuple[int, ...]] = {
    "product 512 x 512 x 512": (512, 512, 512),
    "product 128 x 768 x 768": (128, 768, 768),
    "product 128 x 3072 x 768": (128, 3072, 768),
    "convolution 64, 64, 56 x 56, 3 x 3": (64, 64, 56, 3),
    "convolution 256, 256, 14 x 14, 3 x 3": (256, 256, 14, 3),
    "convolution 1024, 256, 14 x 14, 1 x 1": (1024, 256, 14, 1),
    "product 256 x 1024 x 384": (256, 1024, 384),
    "convolution 128, 64, 28 x 28, 3 x 3": (128, 64, 28, 3),
    "convolution 512, 512, 7 x 7, 3 x 3": (512, 512, 7, 3),
    "convolution 64, 256, 28 x 28, 1 x 1": (64, 256, 28, 1),
}
#: The hardware and mapping files of zigzag that belong together.
MACHINES = {
    "tpu_like": "tpu_like",
    "edge_tpu_like": "edge_tpu_like",
    "meta_prototype": "meta_prototype_like",
    "ascend_like": "ascend_like",
    "tesla_npu_like": "tesla_npu_like",
}


def layer_of_zigzag(sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return a layer as zigzag's workload files have it: operands of 8 bits, sums of 16."""
    rows = sizes[0] if len(sizes) == 3 else 0
    # zigzag's mappings spread places over the array, which its products do not have: they are 1 x 1 convolutions.
    wide = next(n for n in range(math.isqrt(rows), 0, -1) if rows % n == 0) if rows else 0
    k, c, y, x, tap = (sizes[1], sizes[2], rows // wide, wide, 1) if rows else (*sizes[:3], sizes[2], sizes[3])
    return {
        "id": 0,
        "name": "layer",
        "operator_type": "Conv",
        "equation": "O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]",
        "dimension_relations": ["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
        "loop_dims": ["B", "K", "C", "OY", "OX", "FY", "FX"],
        "loop_sizes": [1, k, c, y, x, tap, tap],
        "operand_precision": {"W": 8, "I": 8, "O": 16, "O_final": 8},
        "operand_source": {"I": 0, "W": 0},
    }


def measure_zigzag(machines: list[str]) -> None:
    """Print, as JSON lines, what zigzag finds; in its own environment."""
    import logging
    from importlib.metadata import version

    import zigzag  # type: ignore[import-not-found]
    from zigzag.api import get_hardware_performance_zigzag  # type: ignore[import-not-found]

    logging.disable(logging.CRITICAL)
    folder = Path(zigzag.__file__).parent / "inputs"
    with tempfile.TemporaryDirectory() as target:
        for machine in machines:
            hardware, mapping = folder / f"hardware/{machine}.yaml", folder / f"mapping/{MACHINES[machine]}.yaml"
            for name, sizes in LAYERS.items():
                row: dict[str, Any] = {"machine": machine, "layer": name, "zigzag": version("zigzag-dse")}
                row["file"] = str(hardware)
                for opt, prefix in (("latency", ""), ("EDP", "edp_")):
                    given = ([layer_of_zigzag(sizes)], str(hardware), str(mapping))
                    words = {"opt": opt, "dump_folder": target, "pickle_filename": f"{target}/found.pickle"}
                    energy, cycles, _ = get_hardware_performance_zigzag(*given, **words, loma_show_progress_bar=False)
                    row |= {f"{prefix}cycles": float(cycles), f"{prefix}pj": float(energy)}
                print(json.dumps(row), flush=True)


def planned(sizes: tuple[int, ...], machine: str, objective: str) -> dict[str, float]:
    """Return cycles and picojoules of our plan for a layer, and the bound on its cycles."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import numpy as np
    from onnx import TensorProto
    from tests.tensor.networks.onnx_writer import Net

    from shorthaul import tensor
    from shorthaul.core.machines.zigzag import CLOCK_HZ

    net = Net("layer")
    scale, zero = net.constant(0.1, np.float32), net.constant(0, np.uint8)
    net.kind = TensorProto.UINT8
    if len(sizes) == 3:
        rows, columns, reduction = sizes
        kind, data, weights = "QLinearMatMul", (rows, reduction), (reduction, columns)
    else:
        k, c, place, tap = sizes
        kind, data, weights = "QLinearConv", (1, c, place + tap - 1, place + tap - 1), (k, c, tap, tap)
    x, w = net.input(*data), net.weight(*weights)
    model = net.model(net.op(kind, x, scale, zero, w, scale, zero, scale, zero))
    found = tensor.plan(model, machine=machine, objective=objective)
    assert found.cost is not None
    assert found.bound is not None
    cycles, least = found.cost["latency_s"] * CLOCK_HZ, found.bound.value * CLOCK_HZ
    return {"our_cycles": cycles, "our_bound": least, "our_pj": found.cost["energy_j"] * 1e12}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zigzag", help="the interpreter of an environment with zigzag")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=list(MACHINES))
    parser.add_argument("--objective", default="balanced", choices=("balanced", "time", "energy"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure_zigzag(options.machines)
        return
    if not options.zigzag:
        parser.error("--zigzag: give the interpreter of an environment with zigzag-dse")
    rows = []
    for machine in options.machines:
        command = [options.zigzag, __file__, "--measure", "--machines", machine]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                hardware = row.pop("file")
                rows.append({**row, **planned(LAYERS[row["layer"]], hardware, options.objective)})
                show(rows[-1])
        if options.write:
            write(rows)
    for key, mine in (("cycles", "our_cycles"), ("pj", "our_pj"), ("edp_pj", "our_pj")):
        near = sum(abs(row[mine] / row[key] - 1) <= 0.1 for row in rows)
        print(f"{key}: {near} of {len(rows)} within 10 %")


def write(rows: list[dict[str, Any]]) -> None:
    """Put rows into the file of results, in place of older ones of the same layers and machines."""
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    kept = {(row["machine"], row["layer"]): row for row in [*known, *rows]}
    RESULTS.write_text(json.dumps({"rows": list(kept.values())}, indent=1) + "\n")


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    parts = [
        row[mine] / row[key] - 1 for mine, key in (("our_cycles", "cycles"), ("our_pj", "pj"), ("our_pj", "edp_pj"))
    ]
    told = f"{row['our_cycles']:>10.0f} of {row['cycles']:>10.0f} cycles {parts[0]:>+7.1%}"
    print(f"{row['machine']:<16}{row['layer']:<40}{told}, energy {parts[1]:>+7.1%} {parts[2]:>+7.1%}", flush=True)


if __name__ == "__main__":
    main()
