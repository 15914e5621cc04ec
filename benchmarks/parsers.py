"""Our own parsers beside the libraries that could replace them: why they stay.

    pip install pydot pcpp
    python benchmarks/parsers.py

Prints and writes to ``benchmarks/results/parsers.json``: processor seconds of pydot and of ours for DOT files of the
same graphs; how SciPy's reader of MatrixMarket ends on damaged files, each in a process of its own (ours ends with an
error that names the line); how long pcpp expands macros that double one another (ours refuses them).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from shorthaul.affine.frontend.preprocess import preprocess
from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.dot import read_dot
from shorthaul.pebble.formats.matrices import read_matrix_market

TARGET = Path(__file__).parent / "results" / "parsers.json"
SCIPY = "import io, sys; from scipy.io import mmread; mmread(io.StringIO(sys.stdin.read()))"
PCPP = """
import sys
from pcpp import Preprocessor
reader = Preprocessor()
reader.parse(sys.stdin.read())
while reader.token():
    pass
"""
#: Seconds after which a preprocessor that still expands is stopped.
LIMIT_S = 20


def dot_text(nodes: int) -> str:
    """Return a random graph of so many nodes, every one but the first with one or two operands, in DOT."""
    chosen = random.Random(nodes)
    edges = (f"  n{chosen.randrange(at)} -> n{at};" for at in range(1, nodes) for _ in range(chosen.choice((1, 2))))
    return "digraph {\n" + "\n".join(edges) + "\n}\n"


def dot_row(nodes: int) -> dict[str, float]:
    """Return the processor seconds of both parsers of DOT."""
    import pydot

    text = dot_text(nodes)
    began = time.process_time()
    pydot.graph_from_dot_data(text)
    between = time.process_time()
    read_dot(text)
    theirs, ours = between - began, time.process_time() - between
    return {"nodes": nodes, "pydot_s": theirs, "ours_s": ours, "ratio": theirs / ours}


def status(program: str, text: str) -> str:
    """Return how a process with the program ends that is given the text."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], input=text, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"no end within {LIMIT_S} s"
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    return "read" if done.returncode == 0 else "error"


def ours(reader: object, text: str) -> str:
    """Return how our reader ends."""
    try:
        reader(text)  # type: ignore[operator]
    except InputError:
        return "error"
    return "read"


def main() -> None:
    head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n"
    damaged = ("2 2 1.0-e7", "2 2 1.0\0", "2 2", "2 2 1.0e", "9 9 1.0\n", "2 2 1.0\n3 3 1.0\n")
    doubling = "#define A0 1\n" + "".join(f"#define A{i} A{i - 1} + A{i - 1}\n" for i in range(1, 26))
    doubling += "int main() { return A25; }\n"
    found = {
        "versions": {name: version(name) for name in ("pydot", "pcpp", "scipy")},
        "dot": [dot_row(nodes) for nodes in (500, 2000, 8000)],
        "matrix_market": [
            {"last_line": line, "scipy": status(SCIPY, head + line), "ours": ours(read_matrix_market, head + line)}
            for line in damaged
        ],
        "macros": {"pcpp": status(PCPP, doubling), "ours": ours(preprocess, doubling)},
    }
    print(json.dumps(found, indent=2))
    TARGET.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
