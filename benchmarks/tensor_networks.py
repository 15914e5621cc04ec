"""Public architectures planned and checked on machines: processor time, latency, bound, gap and traffic of each.

    python benchmarks/tensor_networks.py [--machines phone-npu edge-45nm] [--names resnet50 bert_base] [--write | --run]

The architectures are those of ``tests/tensor/networks``, at their real sizes, without limits. Every plan is replayed
again by ``check``. ``--run`` executes it as well, whole, on weights and inputs that are drawn, and compares the outputs
with the reference of onnx, and what is moved and computed with the replay: up to some minutes each. ``--write`` puts
the rows into ``benchmarks/results/tensor_networks.json``, in place of older ones.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tensor.networks.architectures import ARCHITECTURES, DIMS

from shorthaul import tensor
from shorthaul.core.errors import InfeasibleError
from shorthaul.tensor.networks.machine import load_machine
from shorthaul.tensor.networks.translation.network import network_from_onnx

RESULTS = Path(__file__).parent / "results" / "tensor_networks.json"
ROW = (
    "{name:<28}{machine:<12}{operators:>10}{groups:>8}{cpu_s:>8.1f}{check_s:>9.1f}"
    "{latency_s:>12.4g}{bound_s:>12.4g}{gap:>8.1%}"
)
HEAD = ROW.replace(".1f", "").replace(".4g", "").replace(".1%", "")


def measured(name: str, machine: str) -> dict[str, Any]:
    """Plan a network and check the plan; processor time includes reading the model."""
    model = ARCHITECTURES[name]().SerializeToString()
    began = time.process_time()
    network = network_from_onnx(model, DIMS.get(name), most_row_bytes=load_machine(machine).most_row_bytes())
    found = tensor.plan(network, machine=machine)
    planned = time.process_time()
    checked = tensor.check(network, found.plan, machine=machine)
    taken = time.process_time() - planned
    assert found.cost is not None
    assert found.bound is not None
    assert checked.status in {"feasible", "optimal"}
    assert checked.cost == found.cost
    return {
        "name": name,
        "machine": machine,
        "operators": len(network.operators),
        "groups": len(found.plan.groups),
        "cpu_s": round(planned - began, 2),
        "check_s": round(taken, 2),
        "latency_s": found.cost["latency_s"],
        "traffic_bytes": found.cost["traffic_bytes"],
        "bound_s": found.bound.value,
        "bound_method": found.bound.method,
        "gap": found.gap,
    }


def executed(name: str, machine: str) -> None:
    """Plan and execute a network; what differs from the replay is an error, and so are other outputs."""
    network = network_from_onnx(
        ARCHITECTURES[name]().SerializeToString(), DIMS.get(name), most_row_bytes=load_machine(machine).most_row_bytes()
    )
    plan = tensor.plan(network, machine=machine).plan
    began = time.process_time()
    done = tensor.run(network, plan, machine=machine)
    assert done.check is not None
    assert done.check.ok, done.check.violations
    error, taken = done.extra["run"]["largest_error"], time.process_time() - began
    print(f"{name:<28}{machine:<12}largest error {error:.1e}, executed in {taken:.1f} s of processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", nargs="+", default=["phone-npu", "edge-45nm"])
    parser.add_argument("--names", nargs="+", default=list(ARCHITECTURES), choices=list(ARCHITECTURES))
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true")
    what.add_argument("--run", action="store_true")
    options = parser.parse_args()
    if options.run:
        for machine in options.machines:
            for name in options.names:
                executed(name, machine)
        return
    print(HEAD.format(**{key: key for key in ("name", "machine", "operators", "groups", "cpu_s", "check_s")},
                      latency_s="latency_s", bound_s="bound_s", gap="gap"))  # fmt: skip
    rows = []
    for machine in options.machines:
        for name in options.names:
            try:
                rows.append(measured(name, machine))
            except InfeasibleError as error:
                print(f"{name:<28}{machine:<12}{str(error).splitlines()[0]}", flush=True)
                continue
            print(ROW.format(**rows[-1]), flush=True)
            if options.write:
                write(rows)
    mean = math.exp(sum(math.log(row["latency_s"] / row["bound_s"]) for row in rows) / len(rows))
    most = max(rows, key=lambda row: row["cpu_s"])
    print(
        f"{len(rows)} planned; geometric mean of latency / bound {mean:.3f}; "
        f"most: {most['name']}, {most['cpu_s']:.0f} s"
    )


def write(rows: list[dict[str, Any]]) -> None:
    """Put rows into the file of results, in place of older ones of the same networks and machines."""
    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    found = {(row["machine"], row["name"]): row for row in [*known, *rows]}
    RESULTS.write_text(json.dumps({"rows": [found[key] for key in sorted(found)]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
