"""Inputs of every engine that nobody has seen before, drawn from a seed, and the commands that search there in tasks."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from xml.etree import ElementTree as ET

#: Statements of a loop nest over i and j (and k, where there is one), of which a program has one to three.
_STATEMENTS = (
    "for (k = 0; k < N; k++) C[i][j] += A[i][k] * B[k][j];",
    "for (k = 0; k <= i; k++) C[i][j] -= A[i][k] * C[k][j];",
    "for (k = 0; k < N; k++) D[i][j] += C[k][i] * A[k][j];",
    "B[i][j] = 0.5 * (A[i][j] + A[j][i]);",
    "D[i][j] = B[i][j] + C[i][j] * A[i][j];",
    "for (k = j; k < N; k++) B[i][j] += D[k][i] * C[j][k];",
)


def drawn(folder: Path, seed: int) -> list[tuple[str, ...]]:
    """Write inputs into ``folder`` and return commands: sweeps, plans and bounds of every engine."""
    draw = Random(f"drawn {seed}")
    graph, problem, network, tree, program = (
        str(folder / name) for name in ("dag.edges", "problem.json", "network.xml", "tree.parents", "kernel.c")
    )
    most = _graph(Path(graph), draw)
    _problem(Path(problem), draw)
    _network(Path(network), draw)
    _tree(Path(tree), draw)
    _program(Path(program), draw)
    budget, generations = str(most + draw.randrange(2, 6)), str(draw.randrange(8, 15))
    return [
        ("pebble", "sweep", graph, "--points", "5", "--effort", "3"),
        ("pebble", "plan", graph, "--budget", budget, "--restarts", "4", "--effort", "2"),
        ("pebble", "bound", graph, "--budget", budget, "--effort", "4"),
        ("affine", "sweep", program, "--size", f"N={draw.randrange(90, 160)}", "--points", "4"),
        ("affine", "plan", program, "--size", f"N=14,S={draw.randrange(40, 90)}", "--effort", "2"),
        ("affine", "bound", program),
        ("tensor", "sweep", problem, "--points", "5", "--effort", "3"),
        ("tensor", "plan", problem, "--restarts", "4", "--effort", "3"),
        ("tensor", "bound", problem, "--effort", "3"),
        ("dataflow", "sweep", network, "--generations", generations, "--seeds", "2"),
        ("dataflow", "plan", network, "--generations", generations, "--restarts", "3", "--polish-effort", "0.3"),
        ("dataflow", "bound", network, "--effort", "2"),
        ("dataflow", "buffers", network, "--serial", "--effort", "3"),
        ("spatial", "sweep", f"random-recursive:seed={seed}", "--sizes", f"2^{draw.randrange(8, 11)}..2^14"),
        ("spatial", "plan", tree, "--restarts", "4", "--refine", "1"),
    ]


def _graph(path: Path, draw: Random) -> int:
    """Write a graph of some 450 nodes whose edges come from near or from anywhere; return the most operands."""
    n, most, near = draw.randrange(420, 520), draw.randrange(2, 5), draw.choice((15, 40, 600))
    edges = []
    for node in range(draw.randrange(5, 20), n):
        for operand in draw.sample(range(max(0, node - near), node), min(node, draw.randrange(1, most + 1))):
            edges.append(f"v{operand} v{node}\n")
    path.write_text("".join(edges))
    return most


def _problem(path: Path, draw: Random) -> None:
    """Write a problem of tensors that are multiplied and added, each from earlier ones."""
    sizes = [128 * draw.randrange(1, 5) for _ in range(3)]
    tensors = [(draw.choice(sizes), draw.choice(sizes)) for _ in range(4)]  # width, height
    inputs, outputs, kinds = [], [], []
    for _ in range(draw.randrange(14, 44)):
        first = draw.randrange(max(0, len(tensors) - 8), len(tensors))
        width, height = tensors[first]
        alike = [at for at, shape in enumerate(tensors) if shape == (width, height) and at != first]
        if alike and draw.random() < 0.5:
            operands = [first, draw.choice(alike)]
        elif draw.random() < 0.5:  # a fresh right operand
            wide = draw.choice(sizes)
            tensors.append((wide, width))
            operands, width = [first, len(tensors) - 1], wide
            kinds.append("MatMul")
        else:
            operands = [first]
        if len(kinds) == len(inputs):
            kinds.append("Pointwise")
        tensors.append((width, height))
        inputs.append(operands)
        outputs.append([len(tensors) - 1])
    document = {
        "widths": [width for width, _ in tensors],
        "heights": [height for _, height in tensors],
        "inputs": inputs,
        "outputs": outputs,
        "base_costs": [draw.randrange(200, 3000) for _ in inputs],
        "op_types": kinds,
        "fast_memory_capacity": draw.choice((30_000, 60_000, 120_000)),
        "slow_memory_bandwidth": draw.choice((10, 20, 40)),
        "native_granularity": [128, 128],
    }
    path.write_text(json.dumps(document))


def _network(path: Path, draw: Random) -> None:
    """Write a multirate chain with branches, as SDF3 does."""
    root = ET.Element("sdf3", type="sdf", version="1.0")
    application = ET.SubElement(root, "applicationGraph", name="drawn")
    sdf = ET.SubElement(application, "sdf", name="drawn", type="drawn")
    times = ET.SubElement(application, "sdfProperties")
    firings: list[int] = [draw.choice((2, 4, 6))]
    actors, channels = [_actor(sdf, times, 0, draw)], []
    for number in range(1, draw.randrange(5, 9)):
        firings.append(draw.choice((1, 2, 3, 4, 6)))
        actors.append(_actor(sdf, times, number, draw))
        for source in {number - 1, draw.randrange(max(0, number - 3), number)}:
            channels.append((source, number))
    for at, (source, target) in enumerate(channels):  # rates that balance: firings of source times its rate
        ET.SubElement(actors[source], "port", type="out", name=f"o{at}", rate=str(firings[target]))
        ET.SubElement(actors[target], "port", type="in", name=f"i{at}", rate=str(firings[source]))
        ends = {"srcActor": f"a{source}", "srcPort": f"o{at}", "dstActor": f"a{target}", "dstPort": f"i{at}"}
        ET.SubElement(sdf, "channel", name=f"c{at}", **ends)
        properties = ET.SubElement(times, "channelProperties", channel=f"c{at}")
        ET.SubElement(properties, "tokenSize", sz=str(8 * draw.randrange(1, 4000)))
    path.write_bytes(ET.tostring(root))


def _actor(sdf: ET.Element, times: ET.Element, number: int, draw: Random) -> ET.Element:
    longest = draw.randrange(10, 300)
    properties = ET.SubElement(times, "actorProperties", actor=f"a{number}")
    for kind, part in (("t1", 3), ("t2", 2), ("t3", 1)):
        processor = ET.SubElement(properties, "processor", type=kind)
        if kind == "t1":
            processor.set("default", "true")
        ET.SubElement(processor, "executionTime", time=str(longest // part))
    return ET.SubElement(sdf, "actor", name=f"a{number}", type="drawn")


def _tree(path: Path, draw: Random) -> None:
    """Write the parents of a tree whose vertices hang below late or below any earlier ones."""
    n, near = draw.randrange(2000, 5000), draw.choice((3, 50, 10_000))
    path.write_text("\n".join(["-1", *(str(draw.randrange(max(0, at - near), at)) for at in range(1, n))]) + "\n")


def _program(path: Path, draw: Random) -> None:
    """Write a C program of one to three loop nests."""
    nests = draw.sample(_STATEMENTS, draw.randrange(1, 4))
    bounds = [draw.choice(("j = 0; j < N", "j = 0; j <= i", "j = i; j < N")) for _ in nests]
    body = "".join(
        f"  for (i = 0; i < N; i++)\n    for ({bound}; j++)\n      {nest}\n"
        for nest, bound in zip(nests, bounds, strict=True)
    )
    arrays = ", ".join(f"double {name}[N][N]" for name in "ABCD")
    path.write_text(f"void f(int N, {arrays}) {{\n  int i, j, k;\n#pragma scop\n{body}#pragma endscop\n}}\n")
