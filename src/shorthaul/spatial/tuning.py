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
