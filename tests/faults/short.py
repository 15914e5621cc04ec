"""A command that has no memory any more as soon as an answer is kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from shorthaul.cli.endings import end_without_answer
from shorthaul.core.search import Search
from shorthaul.core.searching.points import Points


def end_at_the_first_answer() -> None:
    """Let every search of this process end the command so, before Python could raise an error."""
    Search._note = _ending(Search._note)  # type: ignore[method-assign]
    Points.note = _ending(Points.note)  # type: ignore[method-assign]


def _ending(note: Callable[..., None]) -> Callable[..., None]:
    def short(self: Any, *found: Any) -> None:
        note(self, *found)
        if not getattr(self, "_whole", None) and "SHORTHAUL_KEPT" not in os.environ:
            watch = threading.Thread(target=end_without_answer, args=("no room",))
            watch.start()
            watch.join()

    return short
