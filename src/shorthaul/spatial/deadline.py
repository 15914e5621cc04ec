"""The end of the time limit, for work that has nothing to show before it is done."""

from __future__ import annotations

import time

from shorthaul.core.errors import NoPlanError
from shorthaul.core.search import Search
from shorthaul.spatial import tuning


def expect_time(search: Search | None, needed_s: float = 0.0) -> None:
    """Raise :class:`NoPlanError` where the deadline of ``search`` will have passed for good in ``needed_s`` seconds.

    >>> expect_time(Search(time_limit=60))
    """
    if search is not None and time.monotonic() + needed_s >= search.deadline + tuning.GRACE_S:
        raise NoPlanError("no answer within the time limit\n  do:      give a longer --time-limit, or a smaller input")
