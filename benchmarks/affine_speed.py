"""Time of the emitted C beside the program as written, both by the same compiler, with and without -march=native.

    python benchmarks/affine_speed.py [PROGRAM | FILE.c ...] [--half even|odd] [--words 4096] [--effort 1] [--rounds 3]

takes programs of the field (benchmarks/field/*.c; every second one with ``--half``), or those of a file in the same
format: a line ``// M=400,N=1000`` with sizes before each function. The least of ``--rounds`` times stands for a program
(of one where that takes more than ten seconds); with the right to it, it runs at real-time priority, as other work on
the machine else makes times 30 % apart. Columns: milliseconds of the original and of the emitted loops, their quotient
(above 1: the emitted loops take less), and what the file says of its order.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

from affine_field import FUNCTION, programs

from shorthaul.affine import code, program_from_text

FLAGS = ("-O3", "-O3 -march=native")
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
LONG_MS = 10_000  #: more than this is measured once
PRIORITY = ("chrt", "-f", "60")


def times(program: Path, rounds: int) -> tuple[float, float]:
    """Return the least milliseconds of the original and of the emitted loops; ends the script where values differ."""
    first = (
        (*PRIORITY,) if subprocess.run([*PRIORITY, "true"], capture_output=True, check=False).returncode == 0 else ()
    )
    found = []
    for _ in range(rounds):
        done = subprocess.run([*first, program], capture_output=True, text=True, check=False)
        if done.returncode or " 0 wrong" not in done.stdout:
            raise SystemExit(f"{program}: {done.stdout}{done.stderr}")
        told = re.search(r"original ([\d.]+) s, tiled ([\d.]+) s", done.stdout)
        assert told is not None
        found.append((1e3 * float(told[1]), max(1e3 * float(told[2]), 1e-3)))
        if sum(found[-1]) > LONG_MS:
            break
    return min(item[0] for item in found), min(item[1] for item in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="of the field, or files; the field without one")
    parser.add_argument("--half", choices=("even", "odd"), help="every second program of the field")
    parser.add_argument("--words", type=int, default=4096, help="S, the words that the tiles are chosen for")
    parser.add_argument("--effort", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder in which the emitted files stay")
    given = parser.parse_args()
    field = programs()
    chosen: dict[str, tuple[str, str]] = {}
    for name in given.programs or list(field)[given.half == "odd" :: 2 if given.half else 1]:
        if name.endswith(".c"):
            found = FUNCTION.finditer(Path(name).read_text())
            chosen |= {item["name"]: (item["text"], item["sizes"]) for item in found}
        elif name in field:
            chosen[name] = field[name]
        else:
            parser.error(f"unknown program {name!r}")
    print(f"{'program':24}{'s':>6}" + "".join(f"{flags:>27}" for flags in FLAGS))
    slower = dict.fromkeys(FLAGS, 0)
    for name, (text, sizes) in chosen.items():
        start = time.process_time()
        extra = code(
            program_from_text(text), size=f"{sizes},S={given.words}", effort=given.effort, time_limit=3600
        ).extra
        cells = f"{time.process_time() - start:6.0f}"
        with tempfile.TemporaryDirectory() as folder:
            source, program = (given.keep or Path(folder)) / f"{name}.c", Path(folder) / "compare"
            source.write_text(extra["code"])
            for flags in FLAGS:
                compiled = ("gcc", *WARNINGS, *flags.split(), source, "-lm", "-o", program)
                subprocess.run(compiled, check=True)
                original, tiled = times(program, given.rounds)
                cells += f"{original:10.1f}{tiled:9.1f}{original / tiled:8.2f}"
                slower[flags] += original < tiled * 0.95
        print(f"{name:24}{cells}  {'; '.join(extra['remarks'])[:120]}", flush=True)
    print(f"of {len(chosen)} take more than 1.05 times as long: " + ", ".join(f"{n} ({f})" for f, n in slower.items()))


if __name__ == "__main__":
    main()
