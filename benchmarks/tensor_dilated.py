"""Dilated chains that are read at some places: latency beside the bound, and beside that of all places as outputs.

    python benchmarks/tensor_dilated.py [--machine phone-npu] [--random 3] [--seed 1] [--effort 1] [--write]

Three families, each with one network of a usual size and ``--random`` others that a seed draws: ``tcn`` (residual
blocks of two causal convolutions, the last place is classified), ``wavenet`` (stacks of gated layers whose dilation
doubles, the last places are an output) and ``image`` (dilated layers of which every so-many-th row and column is
read). ``--write`` puts the rows into ``benchmarks/results/tensor_dilated.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tensor.networks.onnx_writer import Net

from shorthaul import tensor
from shorthaul.core.result import Result

RESULTS = Path(__file__).parent / "results" / "tensor_dilated.json"


def part(net: Net, x: str, axes: list[int], start: int, step: int = 1) -> str:
    """Return the places of some axes from ``start`` on, ``step`` apart."""
    ends = ([start] * len(axes), [2**31 - 1] * len(axes), axes, [step] * len(axes))
    return str(net.op("Slice", x, *(net.constant(end) for end in ends)))


def tcn(read: bool, channels: int, length: int, kernel: int, blocks: int) -> Any:
    """Residual blocks of two causal convolutions; the last place is classified."""
    net = Net("tcn")
    x, given = net.input(1, 8, length), 8
    for block in range(blocks):
        reach, y, c = (kernel - 1) << block, x, given
        for _ in range(2):
            weights = net.weight(channels, c, kernel), net.weight(channels)
            y = net.op("Conv", y, *weights, dilations=[1 << block], pads=[reach, reach])
            ends = (net.constant([number]) for number in (0, -reach, 2))
            y, c = net.op("Relu", net.op("Slice", y, *ends)), channels
        skip = x if given == channels else net.op("Conv", x, net.weight(channels, given, 1))
        x, given = net.op("Relu", net.add(y, skip)), channels
    if not read:
        return net.model(net.op("Conv", x, net.weight(10, channels, 1), net.weight(10)))
    last = net.op("Gather", x, net.constant(-1), axis=2)
    return net.model(net.op("Gemm", last, net.weight(channels, 10), net.weight(10)))


def wavenet(read: bool, channels: int, skip: int, length: int, stacks: int, layers: int, last: int) -> Any:
    """Stacks of gated layers with skips; the last places are an output."""
    net, skips = Net("wavenet"), []
    x = net.op("Conv", net.input(1, 1, length), net.weight(channels, 1, 1))
    for layer in range(stacks * layers):
        d = 1 << layer % layers
        weights = net.weight(2 * channels, channels, 2), net.weight(2 * channels)
        ways = net.op(
            "Split", net.op("Conv", x, *weights, dilations=[d], pads=[d, 0]), axis=1, num_outputs=2, outputs=2
        )
        gated = net.op("Mul", net.op("Tanh", ways[0]), net.op("Sigmoid", ways[1]))
        skips.append(net.op("Conv", gated, net.weight(skip, channels, 1)))
        x = net.add(net.op("Conv", gated, net.weight(channels, channels, 1), net.weight(channels)), x)
    y = net.op("Conv", net.op("Relu", net.op("Sum", *skips)), net.weight(256, skip, 1))
    return net.model(net.op("Softmax", part(net, y, [2], -last) if read else y, axis=1))


def image(read: bool, channels: int, size: int, layers: int, apart: int) -> Any:
    """Dilated 3 x 3 layers of which rows and columns far apart are an output."""
    net = Net("image")
    x, given = net.input(1, 32, size, size), 32
    for layer in range(layers):
        x, given = net.conv(x, given, channels, d=1 << layer, act="Relu"), channels
    return net.model(part(net, x, [2, 3], 0, apart) if read else x)


#: The usual size of a family, and what others are drawn from.
FAMILIES: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[tuple[int, ...], ...]]] = {
    "tcn": (tcn, (150, 2048, 7, 8), ((25, 50, 96, 200), (400, 1000, 3000), (2, 3, 5, 8), (4, 6, 7))),
    "wavenet": (
        wavenet,
        (64, 128, 4096, 2, 10, 1),
        ((24, 32, 96), (64, 192), (1200, 2500, 5000), (1, 2), (6, 8, 9), (1, 3, 16, 100)),
    ),
    "image": (image, (64, 65, 4, 8), ((24, 48, 100), (49, 96, 150), (3, 4, 5), (4, 8, 12, 16))),
}


def networks(others: int, seed: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield family and sizes: the usual ones, then as many others of each as asked for."""
    rng = np.random.default_rng(seed)
    for family, (_, usual, drawn) in FAMILIES.items():
        yield family, usual
        for _ in range(others):
            yield family, tuple(int(rng.choice(values)) for values in drawn)


def planned(model: Any, machine: str, effort: float) -> Result[Any]:
    """Plan and check."""
    found = tensor.plan(model, machine=machine, effort=effort)
    checked = tensor.check(model, found.plan, machine=machine)
    assert checked.check is not None
    assert checked.check.ok, checked.check.violations
    assert checked.cost == found.cost
    return found


def measured(family: str, sizes: tuple[int, ...], machine: str, effort: float) -> dict[str, Any]:
    """Return the row of a network."""
    began = time.process_time()
    found = planned(FAMILIES[family][0](True, *sizes), machine, effort)
    taken = time.process_time() - began
    everywhere = planned(FAMILIES[family][0](False, *sizes), machine, effort)
    assert found.cost is not None
    assert found.bound is not None
    assert everywhere.cost is not None
    least = found.bound.value
    return {
        "family": family,
        "sizes": list(sizes),
        "machine": machine,
        "latency_s": found.cost["latency_s"],
        "bound_s": least,
        "ratio": round(found.cost["latency_s"] / least, 4),
        "all_places_s": everywhere.cost["latency_s"],
        "cpu_s": round(taken, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default="phone-npu")
    parser.add_argument("--random", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = []
    for family, sizes in networks(options.random, options.seed):
        if family not in options.families:
            continue
        rows.append(measured(family, sizes, options.machine, options.effort))
        row = rows[-1]
        print(
            f"{family:<8} {'x'.join(map(str, sizes)):<22} {row['latency_s'] * 1e3:8.3f} ms,"
            f" {row['ratio']:.3f} of the bound, {row['all_places_s'] * 1e3:8.3f} with all places, {row['cpu_s']} s",
            flush=True,
        )
        if options.write:
            RESULTS.write_text(
                json.dumps({"seed": options.seed, "effort": options.effort, "rows": rows}, indent=1) + "\n"
            )
    mean = float(np.exp(np.mean([np.log(row["ratio"]) for row in rows])))
    print(f"{len(rows)} networks, geometric mean of latency / bound {mean:.3f}")


if __name__ == "__main__":
    main()
