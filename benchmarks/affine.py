"""Lower bounds of the 30 PolyBench kernels: leading terms by profile, values beside the published formulas, and times.

    python benchmarks/affine.py [KERNEL ...]

prints a table and writes benchmarks/results/affine.json. ``iolb/T2`` and ``best/T2`` are the whole formulas over the
printed ones of Olivry et al. (2020), Table 2, at N = M = ... = 4000, T = 1000, S = 1024; ``gain`` is best over iolb for
sizes far above S. ``upper`` is the leading term of the derived tiled order, ``tight`` best over upper.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import sympy

from shorthaul.affine.bound import lower_bound
from shorthaul.affine.cases import POLYBENCH, kernel
from shorthaul.affine.leading import S
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.upper import upper_bound
from shorthaul.affine.upper_report import tightness

#: Table 2 as printed; r is sqrt(S), q is sqrt(2). adi, durbin, heat-3d and others overstate their inputs there.
TABLE_2 = {
    "2mm": "Max(NI*NJ+NJ*NK+NI*NL+NJ*NL+2, 2/r*NI*NJ*(NK-1)+2*NI+2*NJ+NK-4*q*S"
    "+2/r*NI*NL*(NJ-1)+2*NI+2*NL+NJ-4*q*S-2*NI*NJ-2)",
    "atax": "M*N+N+Max(0, ((2*M-1-8*S)*(2*N-1-8*S)-1)/(8*S)-10*S+2)",
    "bicg": "M*N+M+N+Max(0, ((2*M-1-8*S)*(2*N-1-8*S)-1)/(8*S)-10*S+2)",
    "cholesky": "Max(N*(N+1)/2, (N-1)*(N-2)*(N-3)/(6*r)+(N-1)*(N-2)/(2*q*S)-(N-2)*(N-7)-4*q*S)",
    "correlation": "Max(M*N+2, M*(M-1)*(N-1+q/2/r)/(2*r)-(M-3)*(M+2*N-2)/2+2-4*S*q)",
    "covariance": "Max(M*N+2, M*(M-1)*(N-1+q/2/r)/(2*r)-(M-3)*(M+2*N-2)/2+1-4*S*q)",
    "deriche": "H*W+1",
    "doitgen": "Max(NP**2+NP*NQ*NR, 2/r*NQ*NR*NP*(NP-1+1/(q*r))-NQ*NR*(NP-1)+2*NP-8*q*S-1)",
    "floyd-warshall": "Max(N**2, (N-1)**3/r-(6*N-19)*(N-2)-8*q*S)",
    "gemm": "Max(NI*NJ+NJ*NK+NI*NK+2, 2/r*NI*NJ*(NK-1)+2*NI+2*NJ+NK-4*q*S)",
    "gemver": "N**2+8*N+2+Max(0, (3*N-2)*(N-8*S)/(4*S)-3*S+1)",
    "gesummv": "2*N**2+N+2+Max(0, (N-1)*(N-8*S)/(2*S)-2*S)",
    "gramschmidt": "Max(M*N, M*N*(N-3)/r-M*(N-5-2/r)-(N-1)*(N-6)/2-4*q*S-3)",
    "jacobi-1d": "Max(2+N, (TSTEPS-1)*(N-3)/(4*S)-TSTEPS-S+7)",
    "jacobi-2d": "Max((N-2)*(N+6), 2/(3*sqrt(3))/r*(N-3)**2*(TSTEPS-1)-4*q/(3*sqrt(3))*S-(TSTEPS-7)*(2*N-7)+14)",
    "lu": "Max(N**2, 2*(N-2)*(N**2-4*N+6)/(3*r)-2*(N**2-10*N+18)-8*q*S)",
    "mvt": "N**2+4*N+Max(0, N*(N-1)/(8*S)-2*S-4*N+4)",
    "seidel-2d": "Max(N**2, 2/(3*sqrt(3))/r*(N-3)**2*(TSTEPS-1)-(2*N-7)*(TSTEPS-5)-4*q/(3*sqrt(3))*S+12)",
    "symm": "Max(M*(M+1)/2+2*M*N+2, 2/r*(M-1)*(M-2)*N-((4*N+M)*(M-5)+5*(M-2))/2-8*q*S)",
    "syr2k": "Max(2+2*M*N+N*(N+1)/2, (M-1)*(N+1)*N/r+M+4*N-4*q*S)",
    "syrk": "Max(M*N+(N+1)*N/2+2, (M-1)*(N+1)*N/(2*r)-(M-4)*(N-1)-2*q*S+4)",
    "trisolv": "N*(N+1)/2+N+Max(0, (N-1)*(N-2)/(8*S)-2*N-S+5)",
    "trmm": "Max(M*(M-1)/2+M*N+1, (M-2+q/r)*(M-1)*N/r-(M-4)*(N-2)-8*q*S+5)",
}


def printed_value(name: str, sizes: dict[str, int]) -> float | None:
    if name not in TABLE_2:
        return None
    names = {key: sympy.Integer(value) for key, value in sizes.items()}
    return float(sympy.sympify(TABLE_2[name], locals=names | {"r": sympy.sqrt(sizes["S"]), "q": sympy.sqrt(2)}))


def measure(name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"kernel": name}
    program = kernel(name)
    sizes = {key: 1000 if key.startswith("T") else 4000 for key in program.parameters} | {"S": 1024}
    for profile in ("iolb", "best"):
        start = time.process_time()
        bound = lower_bound(program, BoundOptions(profile=profile))
        row[profile] = str(bound.leading)
        row[f"{profile}_seconds"] = round(time.process_time() - start, 2)
        row[f"{profile}_value"] = bound.value(sizes)
        large = dict.fromkeys(bound.leading.free_symbols - {S}, 10**9)
        row[f"{profile}_large"] = float(bound.leading.subs(large).subs(S, 10**4))
    row["table_2_value"] = printed_value(name, sizes)
    start = time.process_time()
    upper = upper_bound(program)
    row["upper"] = str(upper.leading)
    row["upper_seconds"] = round(time.process_time() - start, 2)
    row["upper_formula"] = str(upper.formula)
    row["upper_tiles"] = {str(key): str(edge.formula) for key, edge in upper.edges.items()}
    row["upper_value"] = upper.value(sizes)
    row["tightness"] = tightness(bound.leading, upper.leading)
    return row


def main() -> None:
    rows = [measure(name) for name in sys.argv[1:] or POLYBENCH]
    print(
        f"{'kernel':15} {'iolb':40} {'best':40} {'gain':>7} {'iolb/T2':>8} {'best/T2':>8} "
        f"{'upper':40} {'tight':>6} {'s iolb':>7} {'s best':>7} {'s upper':>7}"
    )
    for row in rows:
        printed = row["table_2_value"]
        quotients = [f"{row[f'{p}_value'] / printed:8.3f}" if printed else f"{'-':>8}" for p in ("iolb", "best")]
        print(
            f"{row['kernel']:15} {row['iolb']:40} {row['best']:40} {row['best_large'] / row['iolb_large']:7.3f} "
            f"{' '.join(quotients)} {row['upper']:40} {row['tightness']:6.3f} "
            f"{row['iolb_seconds']:7.2f} {row['best_seconds']:7.2f} {row['upper_seconds']:7.2f}"
        )
    total = {p: round(sum(row[f"{p}_seconds"] for row in rows), 1) for p in ("iolb", "best", "upper")}
    print(f"CPU seconds for {len(rows)} kernels: {total}")
    target = Path(__file__).parent / "results" / "affine.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"rows": rows, "seconds": total}, indent=1) + "\n")


if __name__ == "__main__":
    main()
