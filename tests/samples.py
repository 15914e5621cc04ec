"""How many random cases a test tries: an eighth of them by default, all of them where ``SHORTHAUL_THOROUGH`` is set."""

from __future__ import annotations

import os

#: True if all cases of costly tests are tried, and searches of commands in the documentation get what pages say.
ALL = bool(os.environ.get("SHORTHAUL_THOROUGH")) or os.environ.get("SHORTHAUL_CASES") == "all"
#: The default run takes the first case of so many.
SHARE = 1 if os.environ.get("SHORTHAUL_THOROUGH") else 8


def samples(most: int) -> range:
    """Return the numbers of the cases to try, of so many in a thorough run.

    >>> len(samples(80)) * SHARE
    80
    """
    return range(-(-most // SHARE))
