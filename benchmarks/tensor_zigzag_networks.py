"""Whole networks on the example machines of zigzag: latency and energy of our plans beside the bound.

    python benchmarks/tensor_zigzag_networks.py --zigzag PYTHON [--machines tpu_like] [--networks resnet18] [--write]

``PYTHON`` is an interpreter of an environment of its own with ``zigzag-dse``, whose models (in single precision) and
machine files are taken. ``--write`` puts the rows into ``benchmarks/results/tensor_zigzag_networks.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import time
from pathlib import Path
from typing import Any

from shorthaul import tensor

RESULTS = Path(__file__).parent / "results" / "tensor_zigzag_networks.json"
MACHINES = ("tpu_like", "edge_tpu_like", "meta_prototype", "ascend_like", "tesla_npu_like")
NETWORKS = ("resnet18", "mobilenetv2", "alexnet")


def planned(network: str, machine: str, inputs: Path) -> dict[str, Any]:
    """Plan a network on a machine, and return its row."""
    began = time.process_time()
    hardware = inputs / "hardware" / f"{machine}.yaml"
    found = tensor.plan(str(inputs / "workload" / f"{network}.onnx"), machine=str(hardware))
    assert found.cost is not None
    assert found.bound is not None
    row = {"machine": machine, "network": network, **found.cost, "bound_s": found.bound.value, "gap": found.gap}
    return {**row, "bound_method": found.bound.method, "cpu_s": round(time.process_time() - began, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zigzag", required=True, help="the interpreter of an environment with zigzag")
    parser.add_argument("--machines", nargs="+", default=MACHINES, choices=MACHINES)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    where = [options.zigzag, "-c", "import zigzag; print(zigzag.__file__)"]
    text = subprocess.run(where, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    inputs = Path(text.splitlines()[-1]).parent / "inputs"
    ratios = []
    for network in options.networks:
        for machine in options.machines:
            row = planned(network, machine, inputs)
            ratios.append(row["latency_s"] / row["bound_s"])
            told = f"{row['latency_s']:>10.4g} s {ratios[-1]:>6.2f} of the bound by {row['bound_method']}"
            print(f"{network:<14}{machine:<16}{told}, {row['energy_j']:.4g} J, {row['cpu_s']:.1f} s", flush=True)
            if options.write:
                write(row)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} planned; geometric mean of latency / bound {mean:.3f}, at most {max(ratios):.2f}")


def write(row: dict[str, Any]) -> None:
    """Put a row into the file of results, in place of an older one of the same network and machine."""
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    kept = {(one["machine"], one["network"]): one for one in [*known, row]}
    RESULTS.write_text(json.dumps({"rows": [kept[key] for key in sorted(kept)]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
