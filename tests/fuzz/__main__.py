"""Fuzz readers: ``python -m tests.fuzz 100000 [NAME...] [--seed N]``, at most 2 GiB of memory, 10 s each."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.readers import READERS, fuzz_within_limits

BATCH = 200
#: After so many batches a new process goes on, as the memory of one that has parsed 10^5 damaged programs is in pieces.
BATCHES = 50


def main() -> None:
    """Print what went wrong, by reader, and how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="damaged files for each reader")
    parser.add_argument("names", nargs="*", help="readers (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first batch, which is its seed")
    given, failed = parser.parse_args(), 0
    apart = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, apart, max_tasks_per_child=BATCHES) as others:
        for reader in READERS:
            if given.names and reader.name not in given.names:
                continue
            batches = [
                others.submit(fuzz_within_limits, reader.name, min(BATCH, given.count - first), given.seed + number)
                for number, first in enumerate(range(0, given.count, BATCH))
            ]
            ended = [batch.result() for batch in batches]
            wrong = [text for found, _, _ in ended for text in found]
            passed, took_s = sum(read for _, read, _ in ended), sum(seconds for _, _, seconds in ended)
            failed += len(wrong)
            print(f"{reader.name}: {len(wrong)} of {given.count} wrong, {passed} read, {took_s:.1f} s", flush=True)
            for line in list({text.split(": ")[1] + text.split(": ")[2][:80]: text for text in wrong}.values())[:8]:
                print(f"  {line[:1500]}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
