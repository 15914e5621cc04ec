"""Kernels of the spatial computer: the delivery of messages."""

from __future__ import annotations

import cython
import numpy as np


@cython.final
@cython.cclass
class Traffic:
    """Processors at (x, y), and what the messages between them have taken so far.

    ``clock`` and ``far`` hold the longest chain of messages and of hops that ends at each processor, ``sent`` and
    ``received`` its messages (empty: not counted). Nodes of one processor share its memory: nothing travels between
    them.
    """

    x: cython.const_int[::1]
    y: cython.const_int[::1]
    clock: cython.int[::1]
    far: cython.longlong[::1]
    sent: cython.int[::1]
    received: cython.int[::1]
    now: cython.int[::1]  # scratch space of one round, zero outside
    when: cython.int[::1]
    travelled: cython.longlong[::1]
    messages = cython.declare(cython.longlong, visibility="readonly")
    hops = cython.declare(cython.longlong, visibility="readonly")
    longest = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        x: cython.const_int[::1],
        y: cython.const_int[::1],
        clock: cython.int[::1],
        far: cython.longlong[::1],
        sent: cython.int[::1],
        received: cython.int[::1],
    ) -> None:
        self.x = x
        self.y = y
        self.clock = clock
        self.far = far
        self.sent = sent
        self.received = received
        self.now = np.zeros(sent.shape[0], np.int32)
        self.when = np.empty(x.shape[0], np.int32)
        self.travelled = np.empty(x.shape[0], np.int64)
        self.messages = self.hops = self.longest = 0


def deliver(
    traffic: Traffic,
    sender: cython.const_int[::1],
    receiver: cython.const_int[::1],
    host: cython.const_int[::1],
    in_order: cython.bint,
) -> None:
    """Deliver messages between nodes: all at once, or, ``in_order``, each one after those before it have arrived."""
    if not in_order and traffic.when.shape[0] < sender.shape[0]:
        traffic.when = np.empty(sender.shape[0], np.int32)
        traffic.travelled = np.empty(sender.shape[0], np.int64)
    with cython.nogil:
        if in_order:
            _deliver_in_order(traffic, sender, receiver, host)
        else:
            _deliver(traffic, sender, receiver, host)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _distance(traffic: Traffic, a: cython.Py_ssize_t, b: cython.Py_ssize_t) -> cython.longlong:
    """Count a message from one processor to another; return how far it travels."""
    hops: cython.longlong = abs(traffic.x[a] - traffic.x[b]) + abs(traffic.y[a] - traffic.y[b])
    traffic.messages += 1
    traffic.hops += hops
    traffic.longest = max(traffic.longest, hops)
    return hops


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _deliver_in_order(
    traffic: Traffic, sender: cython.const_int[::1], receiver: cython.const_int[::1], host: cython.const_int[::1]
) -> cython.void:
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for i in range(sender.shape[0]):
        a = host[sender[i]]
        b = host[receiver[i]]
        if a != b:
            traffic.clock[b] = max(traffic.clock[b], traffic.clock[a] + 1)
            traffic.far[b] = max(traffic.far[b], traffic.far[a] + _distance(traffic, a, b))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _deliver(
    traffic: Traffic, sender: cython.const_int[::1], receiver: cython.const_int[::1], host: cython.const_int[::1]
) -> cython.void:
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for i in range(sender.shape[0]):
        a = host[sender[i]]
        b = host[receiver[i]]
        if a == b:
            traffic.when[i] = -1
        else:
            traffic.when[i] = traffic.clock[a] + 1
            traffic.travelled[i] = traffic.far[a] + _distance(traffic, a, b)
    for i in range(sender.shape[0]):
        if traffic.when[i] >= 0:
            b = host[receiver[i]]
            traffic.clock[b] = max(traffic.clock[b], traffic.when[i])
            traffic.far[b] = max(traffic.far[b], traffic.travelled[i])


def count_ports(
    traffic: Traffic, sender: cython.const_int[::1], receiver: cython.const_int[::1], host: cython.const_int[::1]
) -> int:
    """Add the messages to ``sent`` and ``received``; return the most that one processor sent or received now."""
    with cython.nogil:
        most = _count_ports(traffic, sender, receiver, host)
    return int(most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_ports(
    traffic: Traffic, sender: cython.const_int[::1], receiver: cython.const_int[::1], host: cython.const_int[::1]
) -> cython.int:
    most: cython.int = 0
    way: cython.int
    p: cython.Py_ssize_t
    for way in range(2):
        for i in range(sender.shape[0]):
            p = host[sender[i]]
            if p != host[receiver[i]]:
                if way == 1:
                    p = host[receiver[i]]
                traffic.now[p] += 1
                most = max(most, traffic.now[p])
        for i in range(sender.shape[0]):
            if way == 0:
                p = host[sender[i]]
                traffic.sent[p] += traffic.now[p]
            else:
                p = host[receiver[i]]
                traffic.received[p] += traffic.now[p]
            traffic.now[p] = 0
    return most
