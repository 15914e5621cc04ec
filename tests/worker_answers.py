"""Is an answer the same with any number of workers? ``python -m tests.worker_answers SEED... [--cluster]``.

Inputs of every engine are drawn from each seed. Every command that works in tasks runs there with 1, 2 and 5 workers, and
with ``--cluster`` on a scheduler and three workers on loopback; their documents have to be equal but for what depends on
the clock. ``--also INPUT`` runs the sweep of dataflow on a file beside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.cluster_faults import cluster, document
from tests.faults.drawn import drawn

WORKERS = (1, 2, 5)


def differing(command: tuple[str, ...], address: str | None) -> list[str]:
    """Return the ways to run a command whose answer is another than that of one worker, with what they said."""
    ways = [("--workers", str(count)) for count in WORKERS] + ([] if address is None else [("--cluster", address)])
    answers = [(way, *document(command, *way)) for way in ways]
    return [f"{' '.join(way)}: {said[-500:]}" for way, found, said in answers if not found or found != answers[0][1]]


def main() -> None:
    """Print every command with the ways that differ; status 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="+")
    parser.add_argument("--only", default="", help="commands that contain this")
    parser.add_argument("--also", type=Path, action="append", default=[], help="a network to sweep")
    parser.add_argument("--cluster", action="store_true")
    given = parser.parse_args()
    commands = [("dataflow", "sweep", str(path), "--generations", "15", "--seeds", "2") for path in given.also]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in given.seeds:
            (folder / str(seed)).mkdir()
            commands += drawn(folder / str(seed), seed)
        commands = [command for command in commands if given.only in " ".join(command)]
        if given.cluster:
            with cluster(folder) as (address, _):
                wrong = sum(_tell(command, address) for command in commands)
        else:
            wrong = sum(_tell(command, None) for command in commands)
    print(f"{wrong} of {len(commands)} commands differ")
    sys.exit(1 if wrong else 0)


def _tell(command: tuple[str, ...], address: str | None) -> bool:
    found = differing(command, address)
    print(f"{' '.join(command)}: {'; '.join(found) or 'the same'}", flush=True)
    return bool(found)


if __name__ == "__main__":
    main()
