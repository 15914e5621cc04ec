"""The tensor engine on the contest's instances and the built-in cases: quality, bound, and time on the wall.

    python benchmarks/tensor.py [FOLDER] [--rules contest|contest-loose|spec] [--share 1.0]

``FOLDER`` holds the contest's files ``mlsys-2026-N.json`` (they are not part of the project); without them only the
built-in cases are measured. Every plan comes from the command line, in a process of its own, within the instance's
time limit times ``--share``; the latency is the replay's. Beside it stand one operator per subgraph and the figures
known from the contest. Prints a table and writes ``benchmarks/results/tensor.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.reference.tensor_alone import one_operator_per_subgraph

from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import RULES
from shorthaul.tensor.verbs.planning import case

HERE = Path(__file__).parent
#: Instance: time limit in seconds, and the least latencies known, at least and at most: of plans that the contest
#: accepted, whose points have two digits, each a hundredth of the latency of its first plan; and under ``spec``.
KNOWN = {
    1: (2, (367_002, 367_002 + 4_194), (322_008, 322_008)),
    5: (5, (775_100, 775_100 + 9_612), (492_614, 492_614)),
    9: (15, (44_694_500, 44_694_500 + 483_184), (20_411_920, 20_411_920)),
    13: (30, (16_509_200, 16_509_200 + 221_600), (15_297_786, 15_297_786)),
    17: (60, (4_966_400, 4_966_400 + 50_265), (4_966_400, 4_966_400)),
}
CASES = {"transformer-block": 10, "mlp-chain": 10, "resnet": 10}


def measure(workload: str, rules: str, limit: float) -> dict[str, object]:
    """Plan ``workload`` through the command line and return what came of it."""
    problem = case(workload).workload
    alone = replay(problem, one_operator_per_subgraph(problem, RULES[rules]), RULES[rules]).cost
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "shorthaul", "tensor", "plan", workload, "--rules", rules]
        command += ["--time-limit", str(limit), "--json", "-o", str(Path(folder) / "plan.json")]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall_s = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)
    return {
        "workload": Path(workload).stem,
        "operators": len(problem.operators),
        "rules": rules,
        "limit_s": limit,
        "wall_s": round(wall_s, 2),
        "cpu_s": round(after.ru_utime - used.ru_utime + after.ru_stime - used.ru_stime, 2),
        "latency": result["cost"]["latency"],
        "bound": result["bound"]["value"],
        "bound_method": result["bound"]["method"],
        "gap": result["gap"],
        "status": result["status"],
        "check": result["check"]["ok"],
        "one_operator_per_subgraph": alone["latency"] if alone else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parents[1] / "shared" / "data" / "tensor")
    parser.add_argument("--rules", choices=list(RULES), action="append")
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    rows = []
    head = f"{'workload':<22}{'rules':<14}{'limit':>6}{'wall':>7}"
    print(f"{head}{'alone':>14}{'latency':>14}{'known best':>26}{'bound':>13}")
    for rules in options.rules or list(RULES):
        jobs = [
            (str(path), limit * options.share, spec if rules == "spec" else contest)
            for number, (limit, contest, spec) in KNOWN.items()
            if (path := options.folder / f"mlsys-2026-{number}.json").is_file()
        ]
        jobs += [(name, limit * options.share, None) for name, limit in CASES.items()]
        for workload, limit, best in jobs:
            row = measure(workload, rules, limit) | {"known_best": best}
            rows.append(row)
            known = "" if best is None else " to ".join(f"{latency:,}" for latency in dict.fromkeys(best))
            print(
                f"{row['workload']:<22}{rules:<14}{limit:>6g}{row['wall_s']:>7}"
                f"{row['one_operator_per_subgraph']:>14,.0f}{row['latency']:>14,.0f}{known:>26}{row['bound']:>13,.0f}",
                flush=True,
            )
    document = {"cores": len(os.sched_getaffinity(0)), "load_before": os.getloadavg()[0], "rows": rows}
    target = HERE / "results" / "tensor.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
