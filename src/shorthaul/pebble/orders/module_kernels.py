"""The compiled loop of :mod:`composition` that orders modules by the values they share."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.shorthaul.core.compiled.queue_kernels import Heap

#: Values read by more modules than this say nothing about which of them should follow each other.
MOST_READERS = cython.declare(cython.Py_ssize_t, 64)


@cython.final
@cython.cclass
class Sharing:
    """An order of modules, as far as it is found: next comes the ready one that shares most with what came last.

    What was read and computed last is what lies back by at most ``budget``. ``readers`` are the modules that read a
    value, ``touched`` the values that a module reads, ``results`` those it computes, and ``missing`` counts the values
    that a module reads from others, and is used up.
    """

    weights: cython.const_longlong[::1]
    reader_starts: cython.const_longlong[::1]
    readers: cython.const_longlong[::1]
    touched_starts: cython.const_longlong[::1]
    touched: cython.const_longlong[::1]
    result_starts: cython.const_longlong[::1]
    results: cython.const_longlong[::1]
    missing: cython.longlong[::1]
    budget: cython.longlong
    order = cython.declare(cython.longlong[::1], visibility="readonly")
    count: cython.Py_ssize_t
    done: cython.uchar[::1]
    score: cython.longlong[::1]  # the weight of recent values that a module reads
    ready: Heap
    recent: cython.longlong[::1]  # values by when they were read or computed; only the last entry of one counts
    last: cython.longlong[::1]  # that entry, -1 where none is recent
    first: cython.Py_ssize_t
    end: cython.Py_ssize_t
    held: cython.longlong

    def __init__(
        self,
        weights: cython.const_longlong[::1],
        reader_starts: cython.const_longlong[::1],
        readers: cython.const_longlong[::1],
        touched_starts: cython.const_longlong[::1],
        touched: cython.const_longlong[::1],
        result_starts: cython.const_longlong[::1],
        results: cython.const_longlong[::1],
        missing: cython.longlong[::1],
        budget: cython.longlong,
    ) -> None:
        modules = missing.shape[0]
        self.weights = weights
        self.reader_starts = reader_starts
        self.readers = readers
        self.touched_starts = touched_starts
        self.touched = touched
        self.result_starts = result_starts
        self.results = results
        self.missing = missing
        self.budget = budget
        self.order = np.empty(modules, np.int64)
        self.count = 0
        self.done = np.zeros(modules, np.uint8)
        self.score = np.zeros(modules, np.int64)
        self.ready = Heap()
        self.recent = np.empty(touched.shape[0] + results.shape[0], np.int64)
        self.last = np.full(weights.shape[0], -1, np.int64)
        self.first = 0
        self.end = 0
        self.held = 0
        with cython.nogil:
            _start(self)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _start(sharing: Sharing) -> cython.void:
    for module in range(sharing.missing.shape[0]):
        if sharing.missing[module] == 0:
            sharing.ready.push(0, module)


def advance(sharing: Sharing, values: cython.longlong) -> bool:
    """Go on until about ``values`` values were read and computed; True at the end."""
    stop: cython.Py_ssize_t = sharing.end + values
    with cython.nogil:
        while sharing.ready.size > 0 and sharing.end < stop:
            _take(sharing)
    return bool(sharing.ready.size == 0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(sharing: Sharing) -> cython.void:
    """Take the best module, unless its place in the heap is out of date."""
    module: cython.longlong = sharing.ready.items[0]
    score: cython.double = -sharing.ready.keys[0]
    place: cython.Py_ssize_t
    edge: cython.Py_ssize_t
    sharing.ready.pop()
    if sharing.done[module] or sharing.score[module] != score:
        return
    sharing.done[module] = True
    sharing.order[sharing.count] = module
    sharing.count += 1
    for place in range(sharing.result_starts[module], sharing.result_starts[module + 1]):
        node = sharing.results[place]
        for edge in range(sharing.reader_starts[node], sharing.reader_starts[node + 1]):
            other = sharing.readers[edge]
            if other != module:
                sharing.missing[other] -= 1
                if sharing.missing[other] == 0:
                    sharing.ready.push(-sharing.score[other], other)
    for place in range(sharing.touched_starts[module], sharing.touched_starts[module + 1]):
        _remember(sharing, sharing.touched[place])
    for place in range(sharing.result_starts[module], sharing.result_starts[module + 1]):
        _remember(sharing, sharing.results[place])
    while sharing.held > sharing.budget:
        node = sharing.recent[sharing.first]
        if sharing.last[node] == sharing.first:
            sharing.last[node] = -1
            sharing.held -= sharing.weights[node]
            _credit(sharing, node, -sharing.weights[node])
        sharing.first += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _remember(sharing: Sharing, node: cython.longlong) -> cython.void:
    """Let ``node`` be the most recent value."""
    if sharing.last[node] < 0:
        sharing.held += sharing.weights[node]
        _credit(sharing, node, sharing.weights[node])
    sharing.recent[sharing.end] = node
    sharing.last[node] = sharing.end
    sharing.end += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _credit(sharing: Sharing, node: cython.longlong, more: cython.longlong) -> cython.void:
    """Let the modules that read ``node`` share so much more with what is recent."""
    edge: cython.Py_ssize_t
    if sharing.reader_starts[node + 1] - sharing.reader_starts[node] > MOST_READERS:
        return
    for edge in range(sharing.reader_starts[node], sharing.reader_starts[node + 1]):
        module = sharing.readers[edge]
        sharing.score[module] += more
        if not sharing.done[module] and sharing.missing[module] == 0:
            sharing.ready.push(-sharing.score[module], module)
