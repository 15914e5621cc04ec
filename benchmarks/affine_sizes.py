"""Lower bounds at PolyBench's LARGE sizes, for three sizes of fast memory.

    python benchmarks/affine_sizes.py [KERNEL ...] [--against FILE]

prints one row per kernel and writes benchmarks/results/affine_sizes.json; with ``--against`` another such file, also
the quotient of the two, which is nowhere to be below 1.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from shorthaul.affine import bound
from shorthaul.affine.workloads.cases import POLYBENCH, case

CAPACITIES = (4_096, 32_768, 131_072)
#: NI, NJ, ... of LARGE_DATASET in PolyBench/C 4.2.
SIZES = """2mm NI=800,NJ=900,NK=1100,NL=1200; 3mm NI=800,NJ=900,NK=1000,NL=1100,NM=1200; adi TSTEPS=500,N=1000
atax M=1900,N=2100; bicg M=1900,N=2100; cholesky N=2000; correlation M=1200,N=1400; covariance M=1200,N=1400
deriche W=4096,H=2160; doitgen NQ=140,NR=150,NP=160; durbin N=2000; fdtd-2d TMAX=500,NX=1000,NY=1200
floyd-warshall N=2800; gemm NI=1000,NJ=1100,NK=1200; gemver N=2000; gesummv N=1300; gramschmidt M=1000,N=1200
heat-3d TSTEPS=500,N=120; jacobi-1d TSTEPS=500,N=2000; jacobi-2d TSTEPS=500,N=1300; lu N=2000; ludcmp N=2000
mvt N=2000; nussinov N=2500; seidel-2d TSTEPS=500,N=2000; symm M=1000,N=1200; syr2k M=1000,N=1200
syrk M=1000,N=1200; trisolv N=2000; trmm M=1000,N=1200"""
LARGE = dict(item.split() for item in re.split(r"[;\n]", SIZES))


def measure(name: str) -> dict[str, int]:
    """Return the bound in words by S."""
    program = case(name).workload
    return {
        str(capacity): int(bound(program, size=f"{LARGE[name]},S={capacity}", upper=False).bound.value)
        for capacity in CAPACITIES
    }


def kernel(name: str) -> str:
    """Return the name of a kernel that has a LARGE size, as argparse takes it."""
    if name not in LARGE:
        raise argparse.ArgumentTypeError(f"unknown kernel {name!r}")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", type=kernel, metavar="KERNEL", help="all 30 without one")
    parser.add_argument("--against", type=Path, help="figures to compare with")
    given = parser.parse_args()
    before = {} if given.against is None else json.loads(given.against.read_text())
    found = {}
    for name in given.kernels or POLYBENCH:
        start = time.process_time()
        found[name] = measure(name)
        cells = "".join(f"{value:16,}" for value in found[name].values())
        then = [found[name][key] / value for key, value in before.get(name, {}).items() if value]
        compared = "".join(f"{quotient:8.4f}" for quotient in then)
        print(f"{name:15}{cells}{compared}{time.process_time() - start:8.1f} s", flush=True)
    target = Path(__file__).parent / "results" / "affine_sizes.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
