"""The codes of kernels for slices and moves; those of slices as in :mod:`shorthaul.tensor.cost_model.profile`."""

FULL = 0
TILE = 1
STEP = 2
ROWS_EXACT = 1
COLUMNS_EXACT = 2
NO_REDUCTION = -1
LAST = -1
ROWS = 0
COLUMNS = 1
GROUP = 2
HEIGHT = 3
WIDTH = 4
HELD = 5
NUMBER = 6
EXACT = 5
REDUCTION = 6
BEGIN = 7
END = 8
START = 0
JUMP = 1
ALONG_ROW = 2
ALONG_COLUMN = 3
