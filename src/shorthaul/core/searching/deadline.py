"""The end of the time limit, for work that has nothing to show before it is done."""

from __future__ import annotations

import time

from shorthaul.core.errors import NoPlanError
from shorthaul.core.search import Search

#: Seconds after the deadline until which an answer that is nearly there is waited for; a second is allowed. Chosen, not
#: measured.
GRACE_S = 0.4


def expect_time(search: Search | None, needed_s: float = 0.0) -> None:
    """Raise :class:`NoPlanError` where the deadline of ``search`` will have passed for good in ``needed_s`` seconds.

    >>> expect_time(Search(time_limit=60))
    """
    if search is not None and time.monotonic() + needed_s >= search.deadline + GRACE_S:
        raise NoPlanError("no answer within the time limit\n  do:      give a longer --time-limit, or a smaller input")
