"""What edges from a vertex of a part lead to, and how it is kept."""

from __future__ import annotations

#: Children of any reach, of less than its own, or these and theirs of less again.
ANY, LESS, LESS_TWICE = range(3)
#: Columns have so many bits where they are kept together with one of these.
COLUMN_BITS = 5
