"""What the reader of Newick text reports: where it stands, no problem, or one of these problems."""

from __future__ import annotations

UNFINISHED, FINE, UNOPENED, UNCLOSED, COMMENT, QUOTE, COMMA, OUTSIDE, TWICE, NUMBER, EMPTY = range(11)
