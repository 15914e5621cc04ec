"""Fuzz every reader, or those named: ``python -m tests.fuzz 100000 [NAME...]``, at most 2 GiB of memory, 10 s each."""

from __future__ import annotations

import faulthandler
import resource
import sys
import time

from tests.fuzz.readers import READERS, fuzz

BATCH = 200


def main() -> None:
    """Print what went wrong, by reader, and how long it took."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    count, names, failed = int(sys.argv[1]), sys.argv[2:], 0
    for reader in READERS:
        if names and reader.name not in names:
            continue
        began, wrong, passed = time.process_time(), [], 0
        for seed in range(-(-count // BATCH)):
            faulthandler.dump_traceback_later(10 * BATCH, exit=True)
            found, through = fuzz(reader, min(BATCH, count - seed * BATCH), seed)
            wrong, passed = wrong + found, passed + through
        failed += len(wrong)
        print(
            f"{reader.name}: {len(wrong)} of {count} wrong, {passed} read, {time.process_time() - began:.1f} s",
            flush=True,
        )
        for line in list({text.split(": ")[1] + text.split(": ")[2][:80]: text for text in wrong}.values())[:8]:
            print(f"  {line[:1500]}", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
