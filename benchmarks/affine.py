"""Lower bounds of the 30 PolyBench kernels: leading terms by profile, values beside the published formulas, and times.

    python benchmarks/affine.py [KERNEL ...]

prints a table and writes benchmarks/results/affine.json. ``iolb/T2`` and ``best/T2`` are the whole formulas over the
printed ones of Olivry et al. (2020), Table 2, at three settings: all sizes 4000, steps 1000, S = 1024; 1000, 100, 256;
2000, 500, 32768, where rows fit and planes do not. ``gain`` is best over iolb for sizes far above S. ``upper`` is the
leading term of the derived tiled order, ``tight`` best over upper.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import sympy

from shorthaul.affine.bounds.best import lower_bound
from shorthaul.affine.integer_sets.leading_term import S
from shorthaul.affine.options import BoundOptions
from shorthaul.affine.orders.upper_bound import upper_bound
from shorthaul.affine.orders.upper_report import tightness
from shorthaul.affine.workloads.cases import POLYBENCH, kernel

#: All sizes but the time steps, the time steps, and S.
SETTINGS = ((4000, 1000, 1024), (1000, 100, 256), (2000, 500, 32768))
#: Table 2 as printed; r is sqrt(S), q is sqrt(2), h and k are cube roots of 3 and of S. The inputs of nussinov and a
#: constant of heat-3d (here the smaller reading of what is subtracted) are not legible in the text at hand.
TABLE_2 = {
    "2mm": "Max(NI*NJ+NJ*NK+NI*NL+NJ*NL+2, 2/r*NI*NJ*(NK-1)+2*NI+2*NJ+NK-4*q*S"
    "+2/r*NI*NL*(NJ-1)+2*NI+2*NL+NJ-4*q*S-2*NI*NJ-2)",
    "3mm": "Max(NI*NK+NJ*NK+NJ*NM+NL*NM, 2/r*NI*NJ*(NK-1)+2*NI+2*NJ+NK-4*q*S+2/r*NI*NL*(NJ-1)+2*NI+2*NL+NJ-4*q*S"
    "+2/r*NJ*NL*(NM-1)+2*NJ+2*NL+NM-4*q*S-2*NJ*NI-2*NJ*NL-NI*NL-6)",
    "adi": "4*N**2+Max(0, (N**2-4*N-S+5)*(TSTEPS-2))",
    "atax": "M*N+N+Max(0, ((2*M-1-8*S)*(2*N-1-8*S)-1)/(8*S)-10*S+2)",
    "bicg": "M*N+M+N+Max(0, ((2*M-1-8*S)*(2*N-1-8*S)-1)/(8*S)-10*S+2)",
    "cholesky": "Max(N*(N+1)/2, (N-1)*(N-2)*(N-3)/(6*r)+(N-1)*(N-2)/(2*q*S)-(N-2)*(N-7)-4*q*S)",
    "correlation": "Max(M*N+2, M*(M-1)*(N-1+q/2/r)/(2*r)-(M-3)*(M+2*N-2)/2+2-4*S*q)",
    "covariance": "Max(M*N+2, M*(M-1)*(N-1+q/2/r)/(2*r)-(M-3)*(M+2*N-2)/2+1-4*S*q)",
    "deriche": "H*W+1",
    "doitgen": "Max(NP**2+NP*NQ*NR, 2/r*NQ*NR*NP*(NP-1+1/(q*r))-NQ*NR*(NP-1)+2*NP-8*q*S-1)",
    "durbin": "2*N+Max(0, (N-3)*(N-2-2*S)/2)",
    "fdtd-2d": "Max(3*NX*NY-NY+TMAX-1, (NX-2)*(NY-2)*(TMAX-1)/(2*q*r)+2*(NX+2)*(NY+2)-TMAX*(NX+NY-6)-NY-S-23)",
    "floyd-warshall": "Max(N**2, (N-1)**3/r-(6*N-19)*(N-2)-8*q*S)",
    "gemm": "Max(NI*NJ+NJ*NK+NI*NK+2, 2/r*NI*NJ*(NK-1)+2*NI+2*NJ+NK-4*q*S)",
    "gemver": "N**2+8*N+2+Max(0, (3*N-2)*(N-8*S)/(4*S)-3*S+1)",
    "gesummv": "2*N**2+N+2+Max(0, (N-1)*(N-8*S)/(2*S)-2*S)",
    "gramschmidt": "Max(M*N, M*N*(N-3)/r-M*(N-5-2/r)-(N-1)*(N-6)/2-4*q*S-3)",
    "heat-3d": "Max((N-10)*(N+2)**2, 9*h/(16*k)*(TSTEPS-1)*(N-3)**3-3*(TSTEPS-7)*(N-3)*(N-4)+42*N-TSTEPS-9*S/4-111)",
    "jacobi-1d": "Max(2+N, (TSTEPS-1)*(N-3)/(4*S)-TSTEPS-S+7)",
    "jacobi-2d": "Max((N-2)*(N+6), 2/(3*sqrt(3))/r*(N-3)**2*(TSTEPS-1)-4*q/(3*sqrt(3))*S-(TSTEPS-7)*(2*N-7)+14)",
    "lu": "Max(N**2, 2*(N-2)*(N**2-4*N+6)/(3*r)-2*(N**2-10*N+18)-8*q*S)",
    "ludcmp": "Max(N**2+N, (2*N-3)*(N-1)*(N-2)/(3*r)+q/S*(N-1)*(N-2)-(2*N**2-15*N+19)-16*q*S)",
    "mvt": "N**2+4*N+Max(0, N*(N-1)/(8*S)-2*S-4*N+4)",
    "nussinov": "Max(N**2/2, N**3/(6*r)-(N**2-13*N+22)-8*q*S)",
    "seidel-2d": "Max(N**2, 2/(3*sqrt(3))/r*(N-3)**2*(TSTEPS-1)-(2*N-7)*(TSTEPS-5)-4*q/(3*sqrt(3))*S+12)",
    "symm": "Max(M*(M+1)/2+2*M*N+2, 2/r*(M-1)*(M-2)*N-((4*N+M)*(M-5)+5*(M-2))/2-8*q*S)",
    "syr2k": "Max(2+2*M*N+N*(N+1)/2, (M-1)*(N+1)*N/r+M+4*N-4*q*S)",
    "syrk": "Max(M*N+(N+1)*N/2+2, (M-1)*(N+1)*N/(2*r)-(M-4)*(N-1)-2*q*S+4)",
    "trisolv": "N*(N+1)/2+N+Max(0, (N-1)*(N-2)/(8*S)-2*N-S+5)",
    "trmm": "Max(M*(M-1)/2+M*N+1, (M-2+q/r)*(M-1)*N/r-(M-4)*(N-2)-8*q*S+5)",
}


def printed_value(name: str, sizes: dict[str, int]) -> float:
    names = {key: sympy.Integer(value) for key, value in sizes.items()}
    roots = {"r": sympy.sqrt(sizes["S"]), "q": sympy.sqrt(2), "h": sympy.cbrt(3), "k": sympy.cbrt(sizes["S"])}
    return float(sympy.sympify(TABLE_2[name], locals=names | roots))


def sizes_of(parameters: tuple[str, ...], setting: tuple[int, int, int]) -> dict[str, int]:
    size, steps, fast_memory = setting
    return {key: steps if key.startswith("T") else size for key in parameters} | {"S": fast_memory}


def measure(name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"kernel": name}
    program = kernel(name)
    settings = [sizes_of(program.parameters, item) for item in SETTINGS]
    for profile in ("iolb", "best"):
        start = time.process_time()
        bound = lower_bound(program, BoundOptions(profile=profile))
        row[profile] = str(bound.leading)
        row[f"{profile}_seconds"] = round(time.process_time() - start, 2)
        row[f"{profile}_values"] = [bound.value(sizes) for sizes in settings]
        large = dict.fromkeys(bound.leading.free_symbols - {S}, 10**9)
        row[f"{profile}_large"] = float(bound.leading.subs(large).subs(S, 10**4))
    row["table_2_values"] = [printed_value(name, sizes) for sizes in settings]
    start = time.process_time()
    upper = upper_bound(program)
    row["upper"] = str(upper.leading)
    row["upper_seconds"] = round(time.process_time() - start, 2)
    row["upper_formula"] = str(upper.formula)
    row["upper_tiles"] = {str(key): str(edge.formula) for key, edge in upper.edges.items()}
    row["upper_value"] = upper.value(settings[0])
    row["tightness"] = tightness(bound.leading, upper.leading)
    return row


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    named = "kernels to measure, all 30 of PolyBench without one"
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=named)
    given = parser.parse_args()
    unknown = sorted(set(given.kernels) - set(POLYBENCH))
    if unknown:
        parser.error(f"unknown kernel {unknown[0]!r}; known are {', '.join(POLYBENCH)}")
    return given


def main() -> None:
    rows = [measure(name) for name in arguments().kernels or POLYBENCH]
    head = f"{'kernel':15} {'iolb':40} {'best':40} {'gain':>7} {'iolb/T2':>23} {'best/T2':>23}"
    print(head, f"{'upper':40} {'tight':>6} {'s iolb':>7} {'s best':>7} {'s upper':>7}")
    for row in rows:
        quotients = [
            " ".join(f"{a / b:7.3f}" for a, b in zip(row[f"{p}_values"], row["table_2_values"], strict=True))
            for p in ("iolb", "best")
        ]
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
