"""What a fast memory costs in silicon, estimated from a table of generated SRAM macros.

Areas are those of single-port macros made with the open memory compiler OpenRAM for its 45 nm process freepdk45, words
of 16 bits. Between the sizes of the table, and beyond its ends, the logarithm of the area is linear in the logarithm of
the capacity. Leakage and read energy are relative: leakage follows the area, read energy the square root of the
capacity (the length of word and bit lines). None of it is calibrated against silicon; use it to compare capacities.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

#: Capacity in bits, area in um^2.
AREAS_UM2 = ((256, 2945), (512, 3158), (1024, 4595), (2048, 5489), (4096, 9038), (8192, 15527), (16384, 27142))
#: The capacity that relative numbers refer to, in bits.
REFERENCE_BITS = 1024
SOURCE = "OpenRAM freepdk45 macros of 16-bit words, log-log interpolation; relative, uncalibrated"


@dataclass(frozen=True, slots=True)
class Sram:
    """One memory: ``area_um2`` in square micrometres, leakage and read energy relative to 1 Kb.

    ``interpolated`` is False for sizes of the table, ``extrapolated`` True beyond its ends.
    """

    capacity_bits: int
    area_um2: float
    relative_leakage: float
    relative_read_energy: float
    interpolated: bool
    extrapolated: bool


def estimate(capacity_bits: int) -> Sram:
    """Return the estimate for a memory of ``capacity_bits`` (1 or more).

    >>> estimate(256).area_um2, round(estimate(1448).area_um2)
    (2945.0, 5022)
    """
    area = _area(capacity_bits)
    return Sram(
        capacity_bits=capacity_bits,
        area_um2=area,
        relative_leakage=area / _area(REFERENCE_BITS),
        relative_read_energy=math.sqrt(capacity_bits / REFERENCE_BITS),
        interpolated=all(capacity_bits != bits for bits, _ in AREAS_UM2),
        extrapolated=not AREAS_UM2[0][0] <= capacity_bits <= AREAS_UM2[-1][0],
    )


def _area(capacity_bits: int) -> float:
    for bits, area in AREAS_UM2:
        if bits == capacity_bits:
            return float(area)
    upper = next((i for i, (bits, _) in enumerate(AREAS_UM2) if bits > capacity_bits), len(AREAS_UM2) - 1)
    (low, low_area), (high, high_area) = AREAS_UM2[max(upper, 1) - 1], AREAS_UM2[max(upper, 1)]
    slope = math.log(high_area / low_area) / math.log(high / low)
    return float(low_area * (capacity_bits / low) ** slope)


def power_of_two(capacity_bits: int) -> int:
    """Return the least power of two that holds ``capacity_bits``.

    >>> power_of_two(160), power_of_two(256)
    (256, 256)
    """
    return 1 << max(0, capacity_bits - 1).bit_length()


def cacti(capacity_bits: int) -> dict[str, float] | None:
    """Return what a ``cacti`` program on the search path says (area in mm^2, read energy in nJ, leakage in mW).

    None if there is no such program, or if it does not answer for this size.
    """
    program = shutil.which("cacti")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sram.cfg"
        path.write_text(_CACTI.format(size=max(64, capacity_bits // 8)), encoding="utf-8")
        try:
            done = subprocess.run(
                [program, "-infile", str(path)],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                cwd=folder,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    wanted = {
        "area_mm2": r"Data array: Area \(mm2\):\s*([\d.eE+-]+)",
        "read_energy_nj": r"Total dynamic read energy per access \(nJ\):\s*([\d.eE+-]+)",
        "leakage_mw": r"Total leakage power of a bank.*\(mW\):\s*([\d.eE+-]+)",
    }
    found = {name: match for name, pattern in wanted.items() if (match := re.search(pattern, done.stdout))}
    return {name: float(match[1]) for name, match in found.items()} or None


_CACTI = """-size (bytes) {size}
-block size (bytes) 2
-associativity 1
-read-write port 1
-exclusive read port 0
-exclusive write port 0
-single ended read ports 0
-UCA bank count 1
-technology (u) 0.045
-Data array cell type - "itrs-hp"
-Data array peripheral type - "itrs-hp"
-Tag array cell type - "itrs-hp"
-Tag array peripheral type - "itrs-hp"
-output/input bus width 16
-operating temperature (K) 300
-cache type "ram"
-tag size (b) "default"
-access mode (normal, sequential, fast) - "normal"
-design objective (weight delay, dynamic power, leakage power, cycle time, area) 0:0:0:0:100
-deviate (delay, dynamic power, leakage power, cycle time, area) 60:100000:100000:100000:1000000
-NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area) 100:100:0:0:100
-NUCAdeviate (delay, dynamic power, leakage power, cycle time, area) 10:10000:10000:10000:10000
-Optimize ED or ED^2 (ED, ED^2, NONE): "NONE"
-Cache model (NUCA, UCA)  - "UCA"
-NUCA bank count 0
-Wire signaling (fullswing, lowswing, default) - "default"
-Wire inside mat - "global"
-Wire outside mat - "global"
-Interconnect projection - "conservative"
-Core count 1
-Cache level (L2/L3) - "L2"
-Add ECC - "false"
-Print level (DETAILED, CONCISE) - "DETAILED"
-Print input parameters - "false"
-Force cache config - "false"
"""
