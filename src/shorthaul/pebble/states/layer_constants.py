"""The columns of numbers that go with a state of a layer: the same names as in ``layer_constants.pxd``.

They are what was charged so far, the weight in fast memory, the row of the state before, the node computed last, and
the least cost of a plan through the state.
"""

from __future__ import annotations

from typing import Final

COST: Final = 0
OCCUPANCY: Final = 1
ORIGIN: Final = 2
NODE: Final = 3
WHOLE: Final = 4
COLUMNS: Final = 5
