"""Traffic over the room of a buffer: plans and bounds of the tensor engine beside mappings as Orojenesis counts them.

    python benchmarks/tensor_orojenesis.py [--write]

Orojenesis (Huang, Tsai, Emer, Parashar, ISCA 2024) tries every mapping of a product to one buffer before a memory: a
tile whose sides divide the sizes, and an order of the loops over tiles. The buffer holds a tile of every tensor; a tile
passes again whenever a loop outside of it, or one that its tensor has, takes a step; a sum that is not complete passes
both ways. Attention is fused as there: a block of rows of all scores stays, keys and values pass by in tiles, or stay.
Both are tried here by this file, without its program. Sizes are in words; our plans run on a machine without limits but
the buffer.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tensor.networks.onnx_writer import Net

from shorthaul import tensor
from shorthaul.core.errors import InfeasibleError
from shorthaul.tensor.networks.translation.network import network_from_onnx

RESULTS = Path(__file__).parent / "results" / "tensor_orojenesis.json"
#: Products as rows, columns, reduction, and how many of them: those of BERT (base, 512 tokens), of GPT-3 6.7B, squares.
PRODUCTS = {
    "bert_projection": (512, 768, 768, 1),
    "bert_feed_forward": (512, 3072, 768, 1),
    "bert_scores": (512, 512, 64, 12),
    "bert_values": (512, 64, 512, 12),
    "gpt3_6.7b_projection": (2048, 4096, 4096, 1),
    "square_1024": (1024, 1024, 1024, 1),
    "square_4096": (4096, 4096, 4096, 1),
    "odd": (1000, 700, 330, 1),
}
#: Attention as heads, tokens, features.
ATTENTION = {"bert_attention": (12, 512, 64), "llama_attention": (32, 2048, 128)}
ROOMS = (4_096, 16_384, 65_536, 262_144, 1_048_576)
WORD = 4
MACHINE = """
name: one buffer
levels:
- {{name: memory, bandwidth_bytes_per_s: 1.0e9}}
- {{name: buffer, bandwidth_bytes_per_s: 1.0e21, capacity_bytes: {bytes}, double_buffered: false}}
compute:
  clock_hz: 1.0e15
  matrix: {{operations_per_cycle: {{32: 1.0e15}}}}
  vector: {{operations_per_cycle: {{32: 1.0e15}}}}
"""


def divisors(number: int) -> list[int]:
    return [item for item in range(1, number + 1) if number % item == 0]


def mappings(rows: int, columns: int, depth: int) -> Iterator[tuple[int, int]]:
    """Yield what every mapping of a product holds and moves, in words."""
    sizes = (rows, columns, depth)
    tensors = ((0, 2), (2, 1), (0, 1))
    for tile in itertools.product(*map(divisors, sizes)):
        steps = [size // side for size, side in zip(sizes, tile, strict=True)]
        held = sum(tile[a] * tile[b] for a, b in tensors)
        for order in itertools.permutations(range(3)):
            moved = 0
            for number, axes in enumerate(tensors):
                taking = [at for at, axis in enumerate(order) if axis in axes and steps[axis] > 1]
                last = max(taking, default=-1)
                times = math.prod(steps[axis] for axis in order[: last + 1])
                words = tile[axes[0]] * tile[axes[1]] * times
                whole = sizes[axes[0]] * sizes[axes[1]]
                moved += words if number < 2 else 2 * words - whole
            yield held, moved


def fused(tokens: int, features: int) -> Iterator[tuple[int, int]]:
    """Yield what every fused mapping of a head of attention holds and moves, in words."""
    whole = tokens * features
    for rows, keys in itertools.product(divisors(tokens), divisors(tokens)):
        yield 2 * rows * features + rows * tokens + keys * features, 2 * whole + 2 * whole * (tokens // rows)
        yield 2 * rows * features + rows * tokens + 2 * whole, 4 * whole  # keys and values stay


def least(found: list[tuple[int, int]], room: int) -> int | None:
    return min((moved for held, moved in found if held <= room), default=None)


def product_model(rows: int, columns: int, depth: int, count: int) -> Any:
    net = Net("product")
    batch = () if count == 1 else (count,)
    a, b = net.input(*batch, rows, depth), net.input(*batch, depth, columns)
    return net.model(net.op("MatMul", a, b))


def attention_model(heads: int, tokens: int, features: int) -> Any:
    net = Net("attention")
    q, k, v = (net.input(1, heads, tokens, features) for _ in range(3))
    scores = net.op("MatMul", q, net.transpose(k, 0, 1, 3, 2))
    return net.model(net.op("MatMul", net.op("Softmax", scores, axis=-1), v))


def ours(model: Any, room: int, folder: Path) -> tuple[float, float] | None:
    """Return the words that our plan moves, and those that our bound says at least."""
    file = folder / "one-buffer.yaml"
    file.write_text(MACHINE.format(bytes=room * WORD))
    network = network_from_onnx(model.SerializeToString(), None)
    try:
        found = tensor.plan(network, machine=file)
    except InfeasibleError:
        return None
    assert found.cost is not None
    assert found.bound is not None
    assert tensor.check(network, found.plan, machine=file).cost == found.cost
    return found.cost["traffic_bytes"] / WORD, found.bound.value * 1e9 / WORD


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    cases = [(name, sizes, None) for name, sizes in PRODUCTS.items()]
    cases += [(name, None, sizes) for name, sizes in ATTENTION.items()]  # type: ignore[misc]
    for name, product, attention in cases:
        if product is not None:
            *sizes, count = product
            found, model = list(mappings(*sizes)), product_model(*product)
        else:
            assert attention is not None
            count, found, model = attention[0], list(fused(*attention[1:])), attention_model(*attention)
        for room in ROOMS:
            theirs, here = least(found, room), ours(model, room, folder)
            yield {
                "name": name,
                "room_words": room,
                "orojenesis_words": None if theirs is None else count * theirs,
                "plan_words": None if here is None else here[0],
                "bound_words": None if here is None else here[1],
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    import tempfile

    rows, line = [], "{:<22}{:>10,}{:>15}{:>15}{:>15}{:>11}{:>14}"
    print(f"{'name':<22}{'room':>10}{'orojenesis':>15}{'plan':>15}{'bound':>15}{'plan / it':>11}{'bound / plan':>14}")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows_of(Path(folder)):
            rows.append(row)
            theirs, plan, bound = row["orojenesis_words"], row["plan_words"], row["bound_words"]
            ratio = "" if theirs is None or plan is None else f"{plan / theirs:.4f}"
            tight = "" if plan is None else f"{bound / plan:.3f}"
            shown = ["-" if item is None else f"{item:,.0f}" for item in (theirs, plan, bound)]
            print(line.format(row["name"], row["room_words"], *shown, ratio, tight), flush=True)
    if options.write:
        RESULTS.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
