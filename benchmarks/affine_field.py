"""Lower bound over derived order of 50 programs of the field, as one command of ``affine bound`` gives both.

    python benchmarks/affine_field.py [PROGRAM ...] [--sample NAME] [--effort E] [--processes P]

reads benchmarks/field/*.c (linear algebra, learning, stencils, dynamic programs and graphs, signals; written before any
of them was measured), prints one row per program and S (bound, loads of the order, their quotient), counts the programs
with lower / upper of at least a half at every S, and writes benchmarks/results/affine_field.json, in which rows of
programs not asked for stay. With --sample NAME it reads benchmarks/field/NAME/*.c and writes
results/NAME/affine_field.json: `later` are 72 programs of four samples that were drawn up afterwards, a part of which
nobody had worked on, `strided` stages at every second or third value and a star of 25 points.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from shorthaul.affine import bound, program_from_text

FOLDER = Path(__file__).parent
FIELD = FOLDER / "field"
CAPACITIES = (4_096, 32_768)
WANTED = 0.5
LIMIT_S = 3_600  #: only effort ends a search, on a busy machine too
Row = dict[str, float | None]
#: A line with sizes, and the function behind it, up to the brace in the first column.
FUNCTION = re.compile(r"^// (?P<sizes>\S+)\n(?P<text>void (?P<name>\w+)\(.*?^\}\n)", re.MULTILINE | re.DOTALL)


def programs(folder: Path = FIELD) -> dict[str, tuple[str, str]]:
    """Return (C text, sizes) of every program of a folder by name."""
    found = {}
    for path in sorted(folder.glob("*.c")):
        for item in FUNCTION.finditer(path.read_text()):
            found[item["name"]] = item["text"], item["sizes"]
    return found


def measure(text: str, sizes: str, effort: float, capacity: int) -> Row:
    """Return bound and loads in words; no loads where the search ends before there is an order."""
    start = time.process_time()
    found = bound(program_from_text(text), size=f"{sizes},S={capacity}", effort=effort, time_limit=LIMIT_S)
    order = found.extra["upper"]
    most = None if order is None else order["value"]
    least = found.bound.value
    if most is not None and least > most:
        raise SystemExit(f"at {sizes},S={capacity} the order loads {most:,.0f}, below the bound {least:,.0f}")
    return {"bound": least, "loads": most, "seconds": round(time.process_time() - start, 1)}


def measured(texts: dict[str, tuple[str, str]], effort: float, processes: int) -> Iterator[tuple[str, dict[str, Row]]]:
    """Yield every program with its rows by S, in the order given; pairs of program and S are measured side by side."""
    with ProcessPoolExecutor(processes, max_tasks_per_child=1, mp_context=get_context("spawn")) as pool:
        pairs = {
            name: [pool.submit(measure, *text, effort, item) for item in CAPACITIES] for name, text in texts.items()
        }
        for name, rows in pairs.items():
            yield name, {str(item): row.result() for item, row in zip(CAPACITIES, rows, strict=True)}


def tightness(row: Row) -> float:
    """Return lower over upper; 0 without an order."""
    return row["bound"] / row["loads"] if row["loads"] else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="programs to measure, all without one")
    samples = sorted(path.name for path in FIELD.iterdir() if path.is_dir())
    parser.add_argument("--sample", choices=samples, default="", help="a folder of benchmarks/field in place of the 50")
    parser.add_argument("--effort", type=float, default=10.0, help="effort of each bound with its order")
    parser.add_argument("--processes", type=int, default=1, help="pairs of program and S that are measured at once")
    given = parser.parse_args()
    known = programs(FIELD / given.sample)
    target = FOLDER / "results" / given.sample / "affine_field.json"
    target.parent.mkdir(exist_ok=True)
    unknown = sorted(set(given.programs) - set(known))
    if unknown:
        parser.error(f"unknown program {unknown[0]!r}")
    rows = json.loads(target.read_text()) if target.exists() else {}
    print(f"{'program':24}" + "".join(f"{f'S = {item:,}':>42}" for item in CAPACITIES))
    asked = {name: known[name] for name in given.programs or known}
    for name, found in measured(asked, given.effort, given.processes):
        rows[name] = found
        cells = "".join(
            f"{row['bound']:17,.0f}{row['loads'] or float('nan'):18,.0f}{tightness(row):7.2f}"
            for row in rows[name].values()
        )
        print(f"{name:24}{cells}{sum(row['seconds'] for row in rows[name].values()):7.1f} s", flush=True)
        target.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")
    near = [name for name, row in rows.items() if all(tightness(item) >= WANTED for item in row.values())]
    print(f"lower / upper of at least {WANTED:g} at every S: {len(near)} of {len(rows)}")
    print("the others: " + ", ".join(name for name in rows if name not in near))


if __name__ == "__main__":
    main()
