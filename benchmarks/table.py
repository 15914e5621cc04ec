"""Writes the tables of docs/results.md from what the other scripts measured.

    python benchmarks/table.py

Reads ``benchmarks/results/*.json``; the figures known before are named with their source in the row. Run it once the
results are committed: the page says of each file the day and the commit of its measurement.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sympy

HERE = Path(__file__).parent
ROOT = HERE.parent
PAGE = ROOT / "docs" / "results.md"
BEGIN = "<!-- measured: written by benchmarks/table.py -->"
END = "<!-- end -->"

Row = tuple[str, str, str, str, str]


def load(engine: str) -> dict[str, Any]:
    """Return what the script of ``engine`` measured."""
    document: dict[str, Any] = json.loads((HERE / "results" / f"{engine}.json").read_text())
    return document


def tensor() -> Iterator[Row]:
    """Latency of contest instances against the best published."""
    for row in load("tensor")["rows"]:
        if row["rules"] != "spec" and row["known_best"] is not None:
            what = f"latency of {row['workload']}, {row['operators']} operators, `{row['rules']}`, {row['limit_s']:g} s"
            least, most = row["known_best"]
            known = f"{least:,} to {most:,} (best of the MLSys 2026 contest, by points of two digits)"
            yield "tensor", what, known, f"{row['latency']:,.0f}", f"{row['bound']:,.0f}"


def pebble() -> Iterator[Row]:
    """Traffic of graphs that were open, or on which the best public heuristic was beaten."""
    document = load("pebble")
    for row in [*document["hard"], *document["osp"]]:
        if row["problem"] in {"fft:n=16,word=1", "CG_N4_K1_nzP0d35"} and row["budget"] in {6, 8}:
            what = f"traffic of {row['problem']}, memory {row['budget']}"
            yield "pebble", what, f"{row['known']} (best known)", f"{row['traffic']}", f"{row['bound']}"


def least_memories() -> str:
    """Return the paper's Table 1 beside ours as Markdown, in words; empty where it was not measured."""
    rows = load("pebble").get("table1", [])
    if not rows:
        return ""
    names = ("workload", "weights", "words", "paper", "ioopt", "layer_by_layer", "layer_by_layer_freeing")
    title = (
        "Smallest fast memory in words at which inputs and outputs alone are moved (Table 1 of the pebbling paper;\n"
        "the last column, the same order with dead values freed immediately, is the fairer baseline):"
    )
    heads = (
        "workload",
        "weights",
        "shorthaul",
        "paper",
        "IOOpt (paper)",
        "layer by layer (paper's)",
        "with dead values freed immediately",
    )
    lines = [title, "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join('-' if row[name] is None else str(row[name]) for name in names)} |" for row in rows]
    return "\n".join(lines) + "\n\n"


def affine() -> Iterator[Row]:
    """How many leading terms of IOLB's Table 1 are exceeded."""
    rows = load("affine")["rows"]
    higher = sum(row["best_large"] > row["iolb_large"] * (1 + 1e-9) for row in rows)
    equal = sum(abs(row["best_large"] / row["iolb_large"] - 1) <= 1e-9 for row in rows)
    by_name = {row["kernel"]: row for row in rows}
    for name, known in (("floyd-warshall", "N^3/sqrt(S)"), ("syrk", "M N^2/(2 sqrt(S))")):
        order, least = (_formula(by_name[name][entry]) for entry in ("upper", "best"))
        yield "affine", f"leading loads of {name}, S words", f"at least {known} (IOLB, PLDI 2020)", order, least
    tight = sum(abs(row["tightness"] - 1) <= 1e-9 for row in rows)
    what, ours = "leading terms of 30 PolyBench kernels", f"derived orders reach the bound for {tight}"
    yield "affine", what, "Table 1 (IOLB)", ours, f"{higher} higher, {equal} equal to our IOLB profile"


def _formula(text: str) -> str:
    """Return a leading term in the page's notation."""
    shown = sympy.sympify(text, {name: sympy.Symbol(name) for name in "NMS"})
    return str(shown).replace("**", "^").replace("*", " ")


def dataflow() -> Iterator[Row]:
    """Exploration time and front quality against the paper's."""
    for row in (row for row in load("dataflow")["summary"] if row["capacity_rule"] == "access"):
        box = row["in_the_box_of_published_fronts"]["mrb-explore"]
        what = f"{row['application']}: 2,500 generations"
        known = f"{row['paper_s']:,} s on an i7-4790, hypervolume {box['published']:.3f} (Letras et al. 2024)"
        ours = f"{row['explore_cpu_s']:.1f} s of CPU time, hypervolume {box['ours_median']:.3f}"
        yield "dataflow", what, known, ours, "per point"


def spatial() -> Iterator[Row]:
    """Energy per vertex of a phylogeny-like tree, and of summing over its subtrees."""
    document = load("spatial")
    layouts = next(rows for title, rows in document.items() if title.startswith("Energy per vertex"))
    for row in layouts:
        if row["tree"] == "yule":
            what = "energy per vertex, Yule tree of 2^20 vertices, light-first order without refining"
            yield (
                "spatial",
                what,
                f"{row['random']:.0f} (random placement)",
                f"{row['light-first']:.2f}",
                f"{row['bound']:.2f}",
            )


def table() -> str:
    """Return the table as Markdown."""
    lines = ["| engine | what | known before | shorthaul | proven lower bound |", "|---|---|---|---|---|"]
    for engine in (tensor, pebble, affine, dataflow, spatial):
        lines += [f"| {' | '.join(cell or '-' for cell in row)} |" for row in engine()]
    return "\n".join(lines)


def pages_with(script: str) -> list[str]:
    """Return the pages that show figures of a script."""
    pages = [path for path in sorted(PAGE.parent.glob("*.md")) if path.name not in {PAGE.name, "status.md"}]
    return [f"[{path.stem}]({path.name})" for path in pages if f"benchmarks/{script}.py" in path.read_text()]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def measurements() -> str:
    """Return when each file of results was measured, at which commit, and on which pages its figures stand."""
    lines = [
        "## When it was measured",
        "",
        "A figure is that of the commit in its row, not of today's code; the last column counts the changes of the",
        "engine since then, up to the day this page was written. Where it is not 0, run the script to see what the",
        "code does now. A script that ran with `--only` left its other tables as they were, and these may be older.",
        "",
        "| script | measured | commit | figures also on | changes of the engine since |",
        "|---|---|---|---|---|",
    ]
    for path in sorted(HERE.glob("results/*.json")):
        commit, day = _git("log", "-1", "--format=%h %cs", "--", str(path)).split()
        engine = f"src/shorthaul/{path.stem.split('_')[0]}"
        since = _git("rev-list", "--count", f"{commit}..HEAD", "--", engine) if (ROOT / engine).is_dir() else "-"
        pages = ", ".join(pages_with(path.stem)) or "-"
        made = path.stem if (HERE / f"{path.stem}.py").exists() else path.stem.rpartition("_")[0]
        script = f"`benchmarks/{made}.py`" + ("" if made == path.stem else f" into `{path.name}`")
        lines.append(f"| {script} | {day} | {commit} | {pages} | {since} |")
    unkept = [path.stem for path in sorted(HERE.glob("*.py")) if not (HERE / f"results/{path.stem}.json").exists()]
    shown = [f"`benchmarks/{stem}.py` ({', '.join(pages_with(stem))})" for stem in unkept if pages_with(stem)]
    if shown:
        lines += ["", "Figures whose results are not kept, so that only the page says what was measured:", ""]
        lines += [f"- {text}" for text in shown]
    return "\n".join(lines)


def main() -> None:
    """Put the tables between the marks of the page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    note = "Measured by `benchmarks/` on two cores; every plan was replayed by its checker."
    PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{least_memories()}{note}\n\n{measurements()}\n{END}{after}")
    print(table())


if __name__ == "__main__":
    main()
