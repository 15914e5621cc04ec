"""The signals that end a search with its best plan, and the limit that the system sets on processor time."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType
from typing import Final, NoReturn

try:
    import resource
except ImportError:  # not on every system
    resource = None  # type: ignore[assignment]

#: The signals upon which a search returns what it has: those of a terminal, and of whoever runs jobs.
ENDING: Final = (signal.SIGINT, signal.SIGTERM)
#: Those that do so in a command, where nobody has them ignored (``nohup``): its terminal is gone, or its processor time
#: (``ulimit -t``) is nearly over. They end no answer that is on its way, however often they come.
ENDING_COMMANDS: Final = tuple(getattr(signal, name) for name in ("SIGHUP", "SIGXCPU") if hasattr(signal, name))
#: The signal of the second, where there is one.
_OVER: Final[int] = getattr(signal, "SIGXCPU", 0)
#: What is left of the processor time for the answer: this part of it, in seconds at least and at most.
_PART, _LEAST_S, _MOST_S = 10, 1, 10


def is_processor_time(number: int | None) -> bool:
    """True for the signal that processor time is over, and for the exit status of a process that it ended."""
    return _OVER != 0 and number in {_OVER, -_OVER, 128 + _OVER}


def end_by_processor_time(_number: int, _frame: FrameType | None = None) -> NoReturn:
    """End a process of a search with the status of that signal; by itself the signal would leave a core file."""
    os._exit(128 + _OVER)


def keep_processor_time() -> None:
    """Have the signal of the processor time sent before the time is over, where the system would end us at once."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if soft == hard != resource.RLIM_INFINITY and hard > _LEAST_S:
            kept = min(_MOST_S, max(_LEAST_S, hard // _PART))
            resource.setrlimit(resource.RLIMIT_CPU, (hard - kept, hard))


def use_processor_time() -> None:
    """Have that signal sent no more: it would come every second from now on."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
