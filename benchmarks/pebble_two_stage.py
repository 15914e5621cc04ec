"""Plans beside the two-stage method of OneStopParallel, for one processor (written anew from what it does).

    python benchmarks/pebble_two_stage.py FOLDER... [--effort 2] [--generated]
    python benchmarks/pebble_two_stage.py FOLDER... --generated --again 60
    python benchmarks/pebble_two_stage.py --sample SEED... [--effort 20] --json FILE

``FOLDER`` holds HyperDAGs (they are not part of the project); ``--generated`` adds graphs of the generators. The method
orders the nodes depth first, cuts the order into the longest segments for which all that is missing can be loaded
beforehand, and lets go what is read again latest (Papp, Boehnlein, Yzelman, SPAA 2025); as there, room of what is
computed and read inside a segment counts as taken until its end. It starts from one superstep. Every
plan is replayed by the checker. Prints a table, the ratios and their geometric mean for the least budget and 1, 2 and 4
more, and writes ``benchmarks/results/pebble_two_stage.json``. ``at_most`` has the bounds in place of our plans: no
plans of anybody are further below the two-stage method's. ``--again`` plans anew, with that effort, what of the results
is not proven yet, and keeps what is better. ``--sample`` takes graphs of ``pebble_tiny.py``, eight a seed; ``--json``
writes elsewhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from pebble_tiny import sample

from shorthaul.pebble import Cdag, Move, Plan, case, load_cdag, plan
from shorthaul.pebble.check.replay import replay
from shorthaul.pebble.plan import plan_of

TARGET = Path(__file__).parent / "results" / "pebble_two_stage.json"
ABOVE_LEAST = (0, 1, 2, 4)
GENERATED = tuple(
    f"{family}:n={n},percent={percent}{steps},most=1,seed={seed}"
    for seed in (301, 302)
    for family, n, percent, steps in (
        ("spmv", 7, 30, ""),
        ("spmv", 10, 25, ""),
        ("exp", 4, 45, ",k=2"),
        ("exp", 5, 30, ",k=3"),
        ("knn", 5, 30, ",k=3"),
        ("knn", 6, 25, ",k=3"),
        ("cg", 3, 40, ",k=1"),
        ("cg", 2, 75, ",k=2"),
    )
)


def depth_first(cdag: Cdag) -> list[int]:
    """Return the nodes that are computed, each as soon as its last operand is there, newest first."""
    missing = cdag.parents.degrees().tolist()
    ahead = [node for node in range(cdag.n) if not missing[node]][::-1]
    order = []
    while ahead:
        node = ahead.pop()
        order.append(node)
        for reader in cdag.children.neighbours(node).tolist():
            missing[reader] -= 1
            if not missing[reader]:
                ahead.append(reader)
    given = cdag.given.tolist()
    return [node for node in order if not given[node]]


class TwoStage:
    """One graph and budget, and the order that is cut into segments."""

    def __init__(self, cdag: Cdag, budget: int) -> None:
        self.cdag, self.budget = cdag, budget
        self.weights = cdag.weights.tolist()
        self.operands = [cdag.parents.neighbours(node).tolist() for node in range(cdag.n)]
        self.order = depth_first(cdag)
        self.readers: list[list[int]] = [[] for _ in range(cdag.n)]
        for place, node in enumerate(self.order):
            for operand in self.operands[node]:
                self.readers[operand].append(place)

    def fits(self, start: int, stop: int) -> bool:
        """True if all that this segment reads from outside fits beside what it computes."""
        inside = set(self.order[start:stop])
        outside = {one for node in inside for one in self.operands[node]} - inside
        room = sum(self.weights[node] for node in outside)
        for place in range(start, stop):
            node = self.order[place]
            room += self.weights[node]
            if room > self.budget:
                return False
            for one in self.operands[node]:
                last = max(reader for reader in self.readers[one] if reader < stop)
                if last == place and one in outside:
                    room -= self.weights[one]
        return True

    def segments(self) -> list[tuple[int, int]]:
        """Return the segments, each found by doubling and halving."""
        found, start = [], 0
        while start < len(self.order):
            good, size = start + 1, 2
            while start + size <= len(self.order) and self.fits(start, start + size):
                good, size = start + size, 2 * size
            bad = min(start + size, len(self.order) + 1)
            while bad - good > 1:
                middle = (good + bad) // 2
                good, bad = (middle, bad) if self.fits(start, middle) else (good, middle)
            found.append((start, good))
            start = good
        return found

    def plan(self) -> Plan:
        """Return the moves: per segment what is missing is loaded, then everything computed."""
        moves: list[tuple[Move, int]] = []
        red: dict[int, None] = {}
        saved = set(self.cdag.inputs().tolist())

        def next_read(node: int, place: int) -> int:
            return next((reader for reader in self.readers[node] if reader >= place), len(self.order))

        def let_go(node: int) -> None:
            moves.append((Move.DELETE, node))
            del red[node]

        def save(node: int) -> None:
            if node not in saved:
                saved.add(node)
                moves.append((Move.STORE, node))

        def make_room(more: int, kept: set[int], place: int) -> None:
            while sum(self.weights[node] for node in red) + more > self.budget:
                node = max((one for one in red if one not in kept), key=lambda one: next_read(one, place))
                if next_read(node, place) < len(self.order):
                    save(node)
                let_go(node)

        for start, stop in self.segments():
            inside = set(self.order[start:stop])
            outside = {one for node in inside for one in self.operands[node]} - inside
            missing = sorted(outside - set(red))
            first = self.weights[self.order[start]]
            make_room(first + sum(self.weights[one] for one in missing), outside, start)
            for one in missing:
                moves.append((Move.LOAD, one))
                red[one] = None
            for place in range(start, stop):
                node = self.order[place]
                kept = {one for one in red if one in inside or next_read(one, place) < stop}
                make_room(self.weights[node], kept, place)
                moves.append((Move.COMPUTE, node))
                red[node] = None
                if not self.readers[node]:
                    save(node)
                for one in (*self.operands[node], node):
                    if one in red and next_read(one, place + 1) == len(self.order):
                        let_go(one)
        return plan_of(moves)


def traffic(cdag: Cdag, found: Plan, budget: int) -> int:
    """Return what the checker says that a plan moves."""
    report = replay(cdag, found, budget)
    if not report.ok:
        raise AssertionError(report.violations[0])
    return found.traffic(cdag.weights)


def graphs(folders: list[Path], *, generated: bool) -> list[tuple[str, Cdag]]:
    """Return the graphs by name."""
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in {".hdag", ".txt"}]
    found = [(path.stem, load_cdag(str(path))) for path in files]
    return [*found, *((text, case(text).workload) for text in (GENERATED if generated else ()))]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--effort", type=float, default=2.0)
    parser.add_argument("--generated", action="store_true")
    parser.add_argument("--again", type=float, default=0.0)
    parser.add_argument("--sample", type=int, nargs="+", default=[])
    parser.add_argument("--json", type=Path, default=TARGET)
    given = parser.parse_args()
    known = graphs(given.folders, generated=given.generated)
    known += [named for seed in given.sample for named in sample(seed, 31, 79)]
    if given.again:
        found = json.loads(TARGET.read_text())
        again(found["two_stage"], dict(known), given.again, found["effort"])
        return
    rows = []
    for name, cdag in known:
        for more in ABOVE_LEAST:
            row = {"problem": name, "nodes": cdag.n, "budget": cdag.least_budget() + more}
            row |= planned(cdag, row["budget"], given.effort)
            row["two_stage"] = traffic(cdag, TwoStage(cdag, row["budget"]).plan(), row["budget"])
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            write(rows, given.effort, given.json)


def planned(cdag: Cdag, budget: int, effort: float) -> dict[str, Any]:
    """Return what our plan moves, its bound, and the processor seconds that both took."""
    start = time.process_time()
    found = plan(cdag, budget=budget, effort=effort)
    seconds = round(time.process_time() - start, 2)
    return {"ours": traffic(cdag, found.plan, budget), "bound": int(found.bound.value), "cpu_s": seconds}


def again(rows: list[dict[str, Any]], known: dict[str, Cdag], effort: float, first: float) -> None:
    """Plan with more effort where a plan is not proven."""
    for row in sorted(rows, key=lambda row: row["ours"] - row["bound"]):
        if row["ours"] == row["bound"] or row["problem"] not in known:
            continue
        better = planned(known[row["problem"]], row["budget"], effort)
        row["ours"], row["bound"] = min(row["ours"], better["ours"]), max(row["bound"], better["bound"])
        row |= {"effort": effort, "cpu_s": better["cpu_s"]}
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        write(rows, first, TARGET)


def write(rows: list[dict[str, Any]], effort: float, target: Path) -> None:
    """Write the rows and the means of their ratios."""
    means: dict[str, float | None] = {}
    most: dict[str, float | None] = {}
    for name in ("all", "generated"):
        chosen = [row for row in rows if name == "all" or ":" in row["problem"]]
        for found, key in ((means, "ours"), (most, "bound")):
            ratios = [row["two_stage"] / row[key] for row in chosen]
            found[name] = round(statistics.geometric_mean(ratios), 3) if ratios else None
    print(means, "at most", most, flush=True)
    document = {"effort": effort, "times_ours": means, "at_most": most, "two_stage": rows}
    target.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
