"""Kernels of the machine: messages travel word by word over links that carry one word a cycle."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt

#: Cycles between a processor and its router (Luczynski et al.).
ROUTER_CYCLES = cython.declare(cython.longlong, 2)
#: The columns of the processors' state.
X = cython.declare(cython.Py_ssize_t, 0)
Y = cython.declare(cython.Py_ssize_t, 1)
CLOCK = cython.declare(cython.Py_ssize_t, 2)
FAR = cython.declare(cython.Py_ssize_t, 3)
READY = cython.declare(cython.Py_ssize_t, 4)
SENT = cython.declare(cython.Py_ssize_t, 5)
RECEIVED = cython.declare(cython.Py_ssize_t, 6)
#: Words that travel as one piece; longer messages are cut.
PIECE = cython.declare(cython.longlong, 16)
#: Of its past a link remembers at least so many cycles, of the 64 that it remembers at all.
PAST = cython.declare(cython.longlong, 32)
#: The parts of an entry's lower half: whether words did not fit before the cycles remembered; all words so far.
FULL = cython.declare(cython.ulonglong, 1 << 31)
LOAD = cython.declare(cython.ulonglong, (1 << 31) - 1)


@cython.final
@cython.cclass
class Traffic:
    """Processors at (x, y) of a grid, and what the messages between them have taken so far.

    ``state`` holds a row for each processor, which fills a line of cache: where it is, the longest chain of messages,
    of hops and of cycles that ends there, and how many messages it sent and received. ``links`` holds two entries for
    each of the six ways of every cell: east, west, south, north, from the processor to its router and back. The first
    tells in which of 64 cycles the way is taken; the second holds the first of these cycles, times 2^32, whether the
    way was crowded before them, and the words that went there. If these arrays are empty, nothing is counted but
    messages, hops and chains, and nobody waits for a link. Nodes of one processor share its memory: nothing travels
    between them.
    """

    width: cython.Py_ssize_t
    counted: cython.bint
    state: cython.longlong[:, ::1]
    links: cython.ulonglong[::1]
    now: cython.int[::1]  # scratch space of one round, zero outside
    when: cython.int[::1]  # what every message of a round will have taken when it arrives
    travelled: cython.longlong[::1]
    arrives: cython.longlong[::1]
    messages = cython.declare(cython.longlong, visibility="readonly")
    hops = cython.declare(cython.longlong, visibility="readonly")
    longest = cython.declare(cython.longlong, visibility="readonly")

    def __init__(
        self,
        x: npt.NDArray[np.int32],
        y: npt.NDArray[np.int32],
        width: cython.Py_ssize_t,
        cells: cython.Py_ssize_t,
        counted: cython.bint,
    ) -> None:
        n: cython.Py_ssize_t = len(x)
        state = np.zeros((n, 8), np.int64)
        state[:, X], state[:, Y] = x, y
        self.state = state
        self.width = width
        self.counted = counted
        self.now = np.zeros(n if counted else 0, np.int32)
        self.links = np.zeros(12 * cells if counted else 0, np.uint64)
        self.when = np.empty(0, np.int32)
        self.travelled = np.empty(0, np.int64)
        self.arrives = np.empty(0, np.int64)
        self.messages = self.hops = self.longest = 0

    def chains(self) -> tuple[int, int, int]:
        """Return the longest chain of messages, of hops and of cycles."""
        depth, far, ready = np.asarray(self.state)[:, CLOCK : READY + 1].max(axis=0, initial=0)
        return int(depth), int(far), int(ready)

    def busiest(self) -> int:
        """Return the most messages that a processor sent or received."""
        return int(np.asarray(self.state)[:, SENT : RECEIVED + 1].max(initial=0))

    def largest_load(self) -> int:
        """Return the most words over one link."""
        with cython.nogil:
            load = _largest_load(self)
        return int(load)

    def loads(self) -> npt.NDArray[np.int32]:
        """Return the words over every way, shape (cells, 6)."""
        return (np.asarray(self.links)[1::2] & np.uint64(2**31 - 1)).astype(np.int32).reshape(-1, 6)


@cython.final
@cython.cclass
class Messages:
    """One message of ``words`` words from every ``sender[i]`` to ``receiver[i]``, nodes that ``host`` places."""

    sender: cython.const_int[::1]
    receiver: cython.const_int[::1]
    host: cython.const_int[::1]
    words: cython.longlong

    def __init__(
        self,
        sender: cython.const_int[::1],
        receiver: cython.const_int[::1],
        host: cython.const_int[::1],
        words: cython.longlong,
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.host = host
        self.words = words


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest_load(traffic: Traffic) -> cython.ulonglong:
    most: cython.ulonglong = 0
    at: cython.Py_ssize_t
    for at in range(traffic.links.shape[0] // 2):
        if at % 6 < 4:
            most = max(most, traffic.links[2 * at + 1] & LOAD)
    return most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(traffic: Traffic, link: cython.Py_ssize_t, when: cython.longlong, words: cython.longlong) -> cython.longlong:
    """Take a way for so many cycles in a row, the first free ones from ``when`` on; return the first of them."""
    begins: cython.ulonglong = traffic.links[2 * link + 1] >> 32
    full: cython.ulonglong = traffic.links[2 * link + 1] & FULL
    load: cython.ulonglong = (traffic.links[2 * link + 1] & LOAD) + cython.cast(cython.ulonglong, words)
    used: cython.ulonglong = traffic.links[2 * link]
    at: cython.longlong = when - cython.cast(cython.longlong, begins)
    one: cython.ulonglong = 1
    wanted: cython.ulonglong = (one << words) - one
    if at < 0 and full == 0:  # so long ago that it is forgotten, but it was free
        traffic.links[2 * link + 1] = (begins << 32) | load
        return when
    at = max(at, 0)
    if at > PAST:
        used = used >> (at - PAST) if at - PAST < 64 else 0
        begins += cython.cast(cython.ulonglong, at - PAST)
        full = 0
        at = PAST
    while (used >> at) & wanted:
        at += 1
        if at + words > 64:
            used >>= PIECE
            begins += cython.cast(cython.ulonglong, PIECE)
            full = FULL
            at -= PIECE
    traffic.links[2 * link] = used | (wanted << at)
    traffic.links[2 * link + 1] = (begins << 32) | full | load
    return cython.cast(cython.longlong, begins) + at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _travel(
    traffic: Traffic, a: cython.Py_ssize_t, b: cython.Py_ssize_t, when: cython.longlong, words: cython.longlong
) -> cython.longlong:
    """Send a piece along its row, then along its column; return when it has arrived."""
    x: cython.longlong = traffic.state[a, X]
    y: cython.longlong = traffic.state[a, Y]
    end: cython.longlong = traffic.state[b, X]
    side: cython.longlong = traffic.width
    when = _take(traffic, 6 * (y * side + x) + 4, when, words) + ROUTER_CYCLES
    while x < end:
        when = _take(traffic, 6 * (y * side + x), when, words) + 1
        x += 1
    while x > end:
        x -= 1
        when = _take(traffic, 6 * (y * side + x) + 1, when, words) + 1
    end = traffic.state[b, Y]
    while y < end:
        when = _take(traffic, 6 * (y * side + x) + 2, when, words) + 1
        y += 1
    while y > end:
        y -= 1
        when = _take(traffic, 6 * (y * side + x) + 3, when, words) + 1
    return _take(traffic, 6 * (y * side + x) + 5, when + ROUTER_CYCLES, words) + words


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _arrival(
    traffic: Traffic, a: cython.Py_ssize_t, b: cython.Py_ssize_t, hops: cython.longlong, words: cython.longlong
) -> cython.longlong:
    """Return the cycle in which the last word of a message from ``a`` has arrived at ``b``."""
    when: cython.longlong = traffic.state[a, READY]
    last: cython.longlong = when + hops + 2 * ROUTER_CYCLES + words
    left: cython.longlong = words
    if not traffic.counted:
        return last
    while left > 0:
        last = max(last, _travel(traffic, a, b, when, min(left, PIECE)))
        left -= PIECE
        when += PIECE
    return last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(
    traffic: Traffic, a: cython.Py_ssize_t, b: cython.Py_ssize_t, words: cython.longlong
) -> cython.longlong:  # fmt: skip
    """Count a message from one processor to another; return how far it travels."""
    hops: cython.longlong = abs(traffic.state[a, X] - traffic.state[b, X]) + abs(
        traffic.state[a, Y] - traffic.state[b, Y]
    )
    traffic.messages += 1
    traffic.hops += hops * words
    traffic.longest = max(traffic.longest, hops)
    return hops


def travel(traffic: Traffic, messages: Messages, first: cython.Py_ssize_t, most_hops: cython.longlong) -> int:
    """Send the messages from number ``first`` on, all at once, until so many hops are done; return the next one."""
    if traffic.when.shape[0] < messages.sender.shape[0]:
        traffic.when = np.empty(messages.sender.shape[0], np.int32)
        traffic.travelled = np.empty(messages.sender.shape[0], np.int64)
        traffic.arrives = np.empty(messages.sender.shape[0], np.int64)
    with cython.nogil:
        following = _travel_at_once(traffic, messages, first, most_hops)
    return int(following)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _travel_at_once(
    traffic: Traffic, messages: Messages, first: cython.Py_ssize_t, most_hops: cython.longlong
) -> cython.Py_ssize_t:
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t = first
    until: cython.longlong = traffic.hops + most_hops
    while i < messages.sender.shape[0] and traffic.hops < until:
        a = messages.host[messages.sender[i]]
        b = messages.host[messages.receiver[i]]
        if a == b:
            traffic.when[i] = -1
        else:
            hops = _count(traffic, a, b, messages.words)
            traffic.when[i] = cython.cast(cython.int, traffic.state[a, CLOCK]) + 1
            traffic.travelled[i] = traffic.state[a, FAR] + hops
            traffic.arrives[i] = _arrival(traffic, a, b, hops, messages.words)
        i += 1
    return i


def arrive(traffic: Traffic, messages: Messages) -> int:
    """Let all messages arrive; return the most that one processor sent or received."""
    with cython.nogil:
        _arrive(traffic, messages)
        most = _count_ports(traffic, messages) if traffic.counted else 0
    return int(most)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _arrive(traffic: Traffic, messages: Messages) -> cython.void:
    b: cython.Py_ssize_t
    for i in range(messages.sender.shape[0]):
        if traffic.when[i] >= 0:
            b = messages.host[messages.receiver[i]]
            traffic.state[b, CLOCK] = max(traffic.state[b, CLOCK], traffic.when[i])
            traffic.state[b, FAR] = max(traffic.state[b, FAR], traffic.travelled[i])
            traffic.state[b, READY] = max(traffic.state[b, READY], traffic.arrives[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_ports(traffic: Traffic, messages: Messages) -> cython.int:
    most: cython.int = 0
    way: cython.int
    p: cython.Py_ssize_t
    for way in range(2):
        for i in range(messages.sender.shape[0]):
            if traffic.when[i] >= 0:
                p = messages.host[messages.sender[i] if way == 0 else messages.receiver[i]]
                traffic.now[p] += 1
                most = max(most, traffic.now[p])
        for i in range(messages.sender.shape[0]):
            if way == 0:
                p = messages.host[messages.sender[i]]
                traffic.state[p, SENT] += traffic.now[p]
            else:
                p = messages.host[messages.receiver[i]]
                traffic.state[p, RECEIVED] += traffic.now[p]
            traffic.now[p] = 0
    return most


def travel_in_order(traffic: Traffic, messages: Messages, first: cython.Py_ssize_t, most_hops: cython.longlong) -> int:
    """Send the messages from ``first`` on, each after those before it have arrived; return the next one."""
    with cython.nogil:
        following = _travel_in_order(traffic, messages, first, most_hops)
    return int(following)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _travel_in_order(
    traffic: Traffic, messages: Messages, first: cython.Py_ssize_t, most_hops: cython.longlong
) -> cython.Py_ssize_t:
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    i: cython.Py_ssize_t = first
    until: cython.longlong = traffic.hops + most_hops
    while i < messages.sender.shape[0] and traffic.hops < until:
        a = messages.host[messages.sender[i]]
        b = messages.host[messages.receiver[i]]
        if a != b:
            hops = _count(traffic, a, b, messages.words)
            traffic.state[b, CLOCK] = max(traffic.state[b, CLOCK], traffic.state[a, CLOCK] + 1)
            traffic.state[b, FAR] = max(traffic.state[b, FAR], traffic.state[a, FAR] + hops)
            traffic.state[b, READY] = max(traffic.state[b, READY], _arrival(traffic, a, b, hops, messages.words))
            if traffic.counted:
                traffic.state[a, SENT] += 1
                traffic.state[b, RECEIVED] += 1
        i += 1
    return i


def first_wrong(numbers: cython.const_int[::1], seen: cython.int[::1], turn: cython.int) -> int:
    """Return the first position whose number is none of those ``seen`` has room for, or came before; -1 if none.

    ``seen`` holds the turn in which a number was seen last.
    """
    with cython.nogil:
        wrong = _first_wrong(numbers, seen, turn)
    return int(wrong)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _first_wrong(numbers: cython.const_int[::1], seen: cython.int[::1], turn: cython.int) -> cython.Py_ssize_t:
    for i in range(numbers.shape[0]):
        if numbers[i] < 0 or numbers[i] >= seen.shape[0] or seen[numbers[i]] == turn:
            return i
        seen[numbers[i]] = turn
    return -1
