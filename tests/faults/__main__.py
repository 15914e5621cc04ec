"""``python -m tests.faults COUNT [ENGINE...] [--seed N]``: inject so many faults into each engine and tell what is wrong."""

from __future__ import annotations

import argparse
import collections
import functools
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.inject import FAULTS, SEARCHES, Outcome, broken


def injected(engine: str, seed: int, faults: Sequence[str], number: int) -> Outcome:
    """Return what became of one search, in a folder of its own."""
    fault = faults[number % len(faults)]
    with tempfile.TemporaryDirectory() as folder:
        return broken(engine, fault, random.Random(f"{engine} {seed} {number}"), Path(folder))


def main() -> None:
    """Run the study; status 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("engines", nargs="*", default=list(SEARCHES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", nargs="*", default=FAULTS, choices=FAULTS, help="the kinds of faults, in turns")
    parser.add_argument("--jobs", type=int, default=1, help="searches at once")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # so does nohup
    wrong = 0
    for engine in given.engines:
        ends: collections.Counter[str] = collections.Counter()
        with ThreadPoolExecutor(given.jobs) as pool:
            for outcome in pool.map(functools.partial(injected, engine, given.seed, given.faults), range(given.count)):
                ends[outcome.how] += 1
                if outcome.wrong:
                    wrong += 1
                    print(outcome, flush=True)
        print(f"{engine}: {given.count} faults; {', '.join(f'{name} {n}' for name, n in ends.items())}", flush=True)
    print(f"{wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
