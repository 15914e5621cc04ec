"""Threads, which the system may refuse (``ulimit -u``, limits of containers): then the work is done without them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Any


def start_thread(target: Callable[[], object], name: str) -> threading.Thread | None:
    """Start a thread that ends with the process, and return it; None if the system refuses."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    with suppress(RuntimeError):
        thread.start()
        return thread
    return None


class Threads(Executor):
    """Runs calls on up to ``count`` threads: on as many as the system allows, without any in that of the caller.

    A ``ThreadPoolExecutor`` starts its threads when they are needed, and fails where one is refused.

    >>> with Threads(2) as beside:
    ...     beside.submit(divmod, 7, 2).result()
    (3, 1)
    """

    def __init__(self, count: int) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        while len(self._threads) < count and (thread := start_thread(self._serve, "pool")) is not None:
            self._threads.append(thread)

    def submit(self, fn: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Return what becomes the answer, or the error, of a call."""
        future: Future[Any] = Future()
        self._calls.put((future, lambda: fn(*given, **named)))
        if not self._threads:
            self._calls.put(None)
            self._serve()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once all calls are done; ``wait`` until then."""
        del cancel_futures  # of what nobody calls off
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            future, run = call
            try:
                future.set_result(run())
            except BaseException as error:
                future.set_exception(error)
            del call, future, run
