"""How many random cases a test tries: a quarter of them by default, all of them where ``SHORTHAUL_THOROUGH`` is set."""

from __future__ import annotations

import os

#: The default run takes the first case of so many.
SHARE = 1 if os.environ.get("SHORTHAUL_THOROUGH") else 4


def samples(most: int) -> range:
    """Return the numbers of the cases to try, of so many in a thorough run.

    >>> len(samples(60)) * SHARE
    60
    """
    return range(-(-most // SHARE))
