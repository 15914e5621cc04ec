"""``python -m tests.faults COUNT [ENGINE...] [--seed N]``: inject so many faults into each engine and tell what is wrong."""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
from pathlib import Path

from tests.faults.inject import FAULTS, SEARCHES, broken


def main() -> None:
    """Run the study; status 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("engines", nargs="*", default=list(SEARCHES))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong = 0
    for engine in given.engines:
        draw = random.Random(f"{engine} {given.seed}")
        ends: collections.Counter[str] = collections.Counter()
        for number in range(given.count):
            fault = FAULTS[number % len(FAULTS)]
            with tempfile.TemporaryDirectory() as folder:
                outcome = broken(engine, fault, draw, Path(folder))
            ends[outcome.how] += 1
            if outcome.wrong:
                wrong += 1
                print(outcome, flush=True)
        print(f"{engine}: {given.count} faults; {', '.join(f'{name} {n}' for name, n in ends.items())}", flush=True)
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
