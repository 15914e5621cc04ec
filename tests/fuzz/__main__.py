"""Fuzz every reader, or those named: ``python -m tests.fuzz 100000 [NAME...]``, at most 2 GiB of memory, 10 s each."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.readers import READERS, fuzz_within_limits

BATCH = 200
#: After so many batches a new process goes on, as the memory of one that has parsed 10^5 damaged programs is in pieces.
BATCHES = 50


def main() -> None:
    """Print what went wrong, by reader, and how long it took."""
    count, names, failed = int(sys.argv[1]), sys.argv[2:], 0
    apart = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, apart, max_tasks_per_child=BATCHES) as others:
        for reader in READERS:
            if names and reader.name not in names:
                continue
            sizes = [min(BATCH, count - first) for first in range(0, count, BATCH)]
            batches = [others.submit(fuzz_within_limits, reader.name, size, seed) for seed, size in enumerate(sizes)]
            ended = [batch.result() for batch in batches]
            wrong = [text for found, _, _ in ended for text in found]
            passed, took_s = sum(read for _, read, _ in ended), sum(seconds for _, _, seconds in ended)
            failed += len(wrong)
            print(f"{reader.name}: {len(wrong)} of {count} wrong, {passed} read, {took_s:.1f} s", flush=True)
            for line in list({text.split(": ")[1] + text.split(": ")[2][:80]: text for text in wrong}.values())[:8]:
                print(f"  {line[:1500]}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
