"""Misses of the emitted C in a simulated cache beside the loads that `affine code` promises.

    python benchmarks/affine_misses.py [KERNEL ...] [--size 40] [--words 400] [--effort 3]

compiles what `affine code` writes with gcc's hooks on every access to memory (those of its thread sanitiser, answered
by a recorder of this file), runs it, and replays the addresses in a fully associative cache of ``--words`` words: a
read of a word that is not there loads it, a written word is there. The cache leaves out what is read again last
(Belady's replacement), or, with twice the words, what was used longest ago (LRU). Nothing of the tool is used for it.
Scalars that live in registers are no accesses. Columns: loads with Belady's replacement and with LRU, what is said
(by replay of the instances, "at most" by the formula), and the quotients. From 0.9 to 1.1 is wanted of the first.
"""

from __future__ import annotations

import argparse
import heapq
import re
import subprocess
import tempfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shorthaul.affine import code
from shorthaul.affine.workloads.cases import FURTHER, POLYBENCH, case

IntArray = npt.NDArray[np.int64]
HOOKED = ("-O0", "-w", "-std=gnu11", "-fsanitize=thread", "-c")
_SIZED = "\n".join(
    f"void __tsan_{kind}{width}(void *at) {{ record(at, {int(kind.endswith('write'))}); }}"
    for width in (1, 2, 4, 8, 16)
    for kind in ("read", "write", "unaligned_read", "unaligned_write")
)
RECORDER = f"""#include <stdio.h>
int recording = 0;
static FILE *trace;
static void record(void *at, int is_write) {{
  if (!recording) return;
  if (!trace) trace = fopen("trace", "wb");
  long item[2] = {{(long)at, is_write}};
  fwrite(item, sizeof item, 1, trace);
}}
{_SIZED}
void __tsan_init(void) {{}}
void __tsan_func_entry(void *at) {{ (void)at; }}
void __tsan_func_exit(void) {{}}
"""


def traced(text: str, folder: Path) -> IntArray:
    """Return address and whether it is a write of every access of the order in an emitted file, shape (accesses, 2)."""
    call = re.compile(r"^( *)(\w+_tiled\(.*\);)$", re.MULTILINE)
    before, driver = text.split("int main(void) {")
    driver = call.sub(r"\1recording = 1; \2 recording = 0;", driver)
    (folder / "tiled.c").write_text(f"extern int recording;\n{before}int main(void) {{{driver}")
    (folder / "recorder.c").write_text(RECORDER)
    subprocess.run(["gcc", *HOOKED, "tiled.c"], cwd=folder, check=True)
    subprocess.run(["gcc", "-O1", "recorder.c", "tiled.o", "-lm", "-o", "run"], cwd=folder, check=True)
    subprocess.run(["./run"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return np.fromfile(folder / "trace", np.int64).reshape(-1, 2)


def belady(trace: IntArray, words: int) -> int:
    """Return the loads if the word that is read again last leaves; one that is written next need not be kept."""
    never = len(trace)
    following: dict[int, tuple[int, int]] = {}
    reads_next = np.full(never, never)
    for at in range(never - 1, -1, -1):
        place, is_write = trace[at].tolist()
        later, later_writes = following.get(place, (never, 1))
        reads_next[at] = never if later_writes else later
        following[place] = at, is_write
    held: dict[int, int] = {}
    queue: list[tuple[int, int]] = []
    loads = 0
    for at, (place, is_write) in enumerate(trace.tolist()):
        loads += not is_write and place not in held
        held[place] = int(reads_next[at])
        heapq.heappush(queue, (-held[place], place))
        while len(held) > words:
            when, out = heapq.heappop(queue)
            if out == place:  # what is in use stays: entered again behind the next one
                when, out = heapq.heappop(queue)
                heapq.heappush(queue, (-held[place], place))
            if held.get(out) == -when and out != place:
                del held[out]
    return loads


def least_recently_used(trace: IntArray, words: int) -> int:
    """Return the loads if the word leaves that was used longest ago."""
    held: OrderedDict[int, None] = OrderedDict()
    loads = 0
    for place, is_write in trace.tolist():
        if place in held:
            held.move_to_end(place)
            continue
        loads += not is_write
        held[place] = None
        if len(held) > words:
            held.popitem(last=False)
    return loads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    parser.add_argument("--size", type=int, default=40, help="the first parameter; every further one is 1 smaller")
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--effort", type=float, default=3)
    given = parser.parse_args()
    unknown = sorted(set(given.kernels) - {*POLYBENCH, *FURTHER})
    if unknown:
        parser.error(f"unknown kernel {unknown[0]!r}")
    within = counted = 0
    for name in given.kernels or POLYBENCH:
        sizes = {item: given.size - at for at, item in enumerate(case(name).workload.parameters)}
        found = code(case(name).workload, size={**sizes, "S": given.words}, effort=given.effort)
        with tempfile.TemporaryDirectory() as folder:
            trace = traced(found.extra["code"], Path(folder))
        best, lru = belady(trace, given.words), least_recently_used(trace, 2 * given.words)
        said = found.extra["loads_words"]
        counted += said is not None
        within += said is not None and 0.9 * said <= best <= 1.1 * said
        told = "nothing is said" if said is None else f"{said:12,.0f} {best / said:8.3f} {lru / said:8.3f}"
        told += "" if found.extra["is_replayed"] else "   at most"
        print(f"{name:16} {best:12,} {lru:12,}  {told}", flush=True)
    print(f"Belady's replacement loads 0.9 to 1.1 times what is said: {within} of {counted}")


if __name__ == "__main__":
    main()
