"""Constants that steer the searches, each with its unit and the measurement that set it.

Measured with ``benchmarks/spatial.py`` on one core of the machine of our benchmarks, unless a line says otherwise.
"""

from __future__ import annotations

# Annealing of layouts (layout/annealing.py). Section "Refinement" of the benchmark, and runs of 30 to 200,000 reads per
# vertex on Yule, random recursive and preferential attachment trees of 2^10 to 2^20 vertices.

#: Reads per effort: 90 to 140 million a second on trees of up to 2^20 vertices.
READS_PER_EFFORT = 100e6
#: Vertices annealed together: their places fit into the cache. Energies are the same from 512 to 2^20; at 2^20
#: vertices the speed is 98 million reads a second with 2,048, 81 with 8,192, 29 without windows.
WINDOW = 2048
#: Temperatures: 4 to 256 of them make no difference beyond 0.3 %.
STAGES = 32
#: The last temperature, in hops: 0.05 to 0.2 make no difference, 0.3 is worse by 0.5 %.
COLDEST = 0.12
#: The first temperature, in hops, is HOTTEST_FACTOR r^HOTTEST_POWER for r reads per vertex: the best was 0.3 at
#: r = 300, 0.5 at 4,000, 0.8 at 20,000 and 1.2 at 200,000.
HOTTEST_FACTOR, HOTTEST_POWER = 0.1, 0.2
#: Reads between two looks at the clock: some 20 ms.
READS_AT_ONCE = 2_000_000

# The deadline. Wall time of planning a Yule tree of 10^7 vertices.

#: Cost, check, bound and figures of a layout take these seconds, and this many times what making it took: 0.1 and 1.8
#: measured, with a reserve.
FINISH_S, FINISH_SHARE = 0.3, 3.0
#: Seconds after the deadline until which an answer that is nearly there is waited for; a second is allowed.
GRACE_S = 0.4
#: Seconds for writing an answer, and seconds per vertex: 0.1 and 0.06e-6 measured (12 bytes and their digest).
WRITE_S, WRITE_VERTEX_S = 0.2, 0.1e-6
#: Bytes of Newick text, or lines of a list, read between two looks at the clock: some milliseconds.
BYTES_AT_ONCE, LINES_AT_ONCE = 2**20, 2**14
