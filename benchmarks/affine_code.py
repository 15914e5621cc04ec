"""The emitted C beside the program as written: agreement under warnings and a sanitiser, and the quotient of times.

    python benchmarks/affine_code.py [KERNEL ...] [--cc gcc] [--flags=-O3] [--rounds 5] [--words 4096] [--check]

writes the order of each kernel at PolyBench's LARGE sizes, compiles it with ``-Wall -Wextra -Werror``, and runs it
``--rounds`` times; the driver times both programs in one process, one after the other, so the median quotient (above 1:
the order is faster) stands even where other work shares the machine. ``--check`` compares at small sizes under
``-fsanitize=address,undefined`` and takes no times.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from affine_sizes import LARGE

from shorthaul.affine import code
from shorthaul.affine.workloads.cases import FURTHER, case

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover")
SMALL = 14
FURTHER_SIZES = {
    "attention": "N=2048,D=64",
    "convolution": "B=1,C=64,K=64,H=56,W=56,R=3,Q=3",
}


def measure(name: str, sizes: str, given: argparse.Namespace, folder: Path) -> list[float]:
    """Return the quotients of the rounds, one of 1 for ``--check``; ends the script where values differ."""
    extra = code(case(name).workload, size=f"{sizes},S={given.words}", effort=given.effort).extra
    source, program = folder / "tiled.c", folder / "compare"
    source.write_text(extra["code"])
    flags = SANITIZED if given.check else given.flags.split()
    subprocess.run([given.cc, *WARNINGS, *flags, source, "-lm", "-o", program], check=True)
    found = []
    for _ in range(1 if given.check else given.rounds):
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        if done.returncode or " 0 wrong" not in done.stdout:
            raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
        times = re.search(r"original ([\d.]+) s, tiled ([\d.]+) s", done.stdout)
        assert times is not None
        found.append(1.0 if given.check else float(times[1]) / max(float(times[2]), 1e-6))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="PolyBench's 30 and further ones without one")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--flags", default="-O3")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--words", type=int, default=4096, help="S, the words that the tiles are chosen for")
    parser.add_argument("--effort", type=float, default=3)
    parser.add_argument("--check", action="store_true", help="compare at small sizes under a sanitiser")
    given = parser.parse_args()
    known = {**LARGE, **(dict.fromkeys(FURTHER, "") if given.check else FURTHER_SIZES)}
    unknown = sorted(set(given.kernels) - set(known))
    if unknown:
        parser.error(f"unknown kernel {unknown[0]!r}")
    faster = 0
    names = given.kernels or known
    for name in names:
        sizes = known[name]
        if given.check:
            sizes = ",".join(f"{item}={SMALL - at}" for at, item in enumerate(case(name).workload.parameters))
        with tempfile.TemporaryDirectory() as folder:
            quotients = measure(name, sizes, given, Path(folder))
        middle = statistics.median(quotients)
        faster += middle > 1
        told = "agrees" if given.check else f"{middle:8.2f}   from {min(quotients):.2f} to {max(quotients):.2f}"
        print(f"{name:18}{told}", flush=True)
    if not given.check:
        print(f"faster than the program as written: {faster} of {len(names)}")


if __name__ == "__main__":
    main()
