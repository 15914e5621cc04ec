"""What the replay notes, one bit each."""

from __future__ import annotations

from typing import Final

#: Of a node: it is in fast memory, in slow memory, it was computed, it is an input.
RED: Final = 1
BLUE: Final = 2
COMPUTED: Final = 4
INPUT: Final = 8

#: Of a move: the value is not where the move takes it from; it computes an input, computes once more, computes without
#: an operand; the fast memory is too small; the value is in fast memory already; there are no such moves; a value is
#: computed for the first time after one that follows it in the order.
ABSENT: Final = 1
COMPUTED_INPUT: Final = 2
REPEATED: Final = 4
MISSING_OPERAND: Final = 8
OVER_BUDGET: Final = 16
USELESS: Final = 32
FORBIDDEN: Final = 64
OUT_OF_ORDER: Final = 128
