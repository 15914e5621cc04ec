"""Kernels of the machine: messages travel word by word over links that carry one word a cycle."""

from __future__ import annotations

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.shorthaul.core.compiled.bits import prefetch

#: Cycles between a processor and its router (Luczynski et al.).
ROUTER_CYCLES = cython.declare(cython.longlong, 2)
#: What a row of a processor holds: x + 2^32 y, the longest chains that end there, when it may send again, the entry of
#: the way from its router, how many messages it sent + 2^32 times those that it received.
ROW = cython.declare(cython.Py_ssize_t, 8)
PLACE = cython.declare(cython.Py_ssize_t, 0)
CLOCK = cython.declare(cython.Py_ssize_t, 1)
FAR = cython.declare(cython.Py_ssize_t, 2)
READY = cython.declare(cython.Py_ssize_t, 3)
FREE = cython.declare(cython.Py_ssize_t, 4)
INTO = cython.declare(cython.Py_ssize_t, 5)
PORTS = cython.declare(cython.Py_ssize_t, 7)
LOW = cython.declare(cython.ulonglong, (1 << 32) - 1)
#: Words that travel as one piece; longer messages are cut.
PIECE = cython.declare(cython.longlong, 16)
#: Of its past a link remembers at least so many cycles, of the 64 that it remembers at all.
PAST = cython.declare(cython.longlong, 32)
#: The parts of an entry's lower half: whether words did not fit before the cycles remembered; all words so far.
FULL = cython.declare(cython.ulonglong, 1 << 31)
LOAD = cython.declare(cython.ulonglong, (1 << 31) - 1)
#: So many messages before their turn the rows of their ends are fetched; half as many before, the links at their ends.
AHEAD = cython.declare(cython.Py_ssize_t, 16)


@cython.final
@cython.cclass
class Traffic:
    """Processors at (x, y) of a grid, and what the messages between them have taken so far.

    ``table`` begins with a row for each processor, which fills a line of cache. Then comes an entry of two words for
    each link: on a mesh those of every cell to the east, west, south and north. The first word of an entry tells in
    which of 64 cycles the link is taken; the second holds the first of these cycles, times 2^32, whether the link was
    crowded before them, and the words that went there. Without entries of links nothing is counted but messages, hops
    and chains, and nobody waits for a link. Nodes of one processor share its memory: nothing travels between them.
    Where ``lengths`` of the links are given, messages follow the routes that come with them.
    """

    width: cython.Py_ssize_t
    processors: cython.Py_ssize_t
    counted: cython.bint
    table: cython.ulonglong[::1]
    lengths: cython.const_int[::1]
    when: cython.int[::1]  # scratch space of one round: what every message will have taken when it arrives
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
        links: cython.Py_ssize_t,
        lengths: cython.const_int[::1],
        counted: cython.bint,
    ) -> None:
        n: cython.Py_ssize_t = len(x)
        bytes_ = np.zeros(64 * (n + 1) + (16 * links if counted else 0), np.uint8)
        begin = -bytes_.ctypes.data % 64
        table = bytes_[begin : begin + len(bytes_) - 64].view(np.uint64)
        table[PLACE : ROW * n : ROW] = np.asarray(x, np.uint64) | np.asarray(y, np.uint64) << np.uint64(32)
        self.table = table
        self.lengths = lengths
        self.width = width
        self.processors = n
        self.counted = counted
        self.when = np.empty(0, np.int32)
        self.travelled = np.empty(0, np.int64)
        self.arrives = np.empty(0, np.int64)
        self.messages = self.hops = self.longest = 0

    def chains(self) -> tuple[int, int, int]:
        """Return the longest chain of messages, of hops and of cycles."""
        clock, far, ready = (int(self._column(column).max(initial=0)) for column in (CLOCK, FAR, READY))
        return clock, far, ready

    def busiest(self) -> int:
        """Return the most messages that a processor sent or received."""
        ports = self._column(PORTS)
        return int(max((ports & np.uint64(LOW)).max(initial=0), (ports >> np.uint64(32)).max(initial=0)))

    def _column(self, column: int) -> npt.NDArray[np.uint64]:
        return np.asarray(self.table)[column : ROW * self.processors : ROW]

    def loads(self) -> npt.NDArray[np.int32]:
        """Return the words over every link."""
        entries = np.asarray(self.table)[ROW * self.processors + 1 :: 2]
        return (entries & np.uint64(2**31 - 1)).astype(np.int32)


@cython.final
@cython.cclass
class Messages:
    """One message of ``words`` words from every ``sender[i]`` to ``receiver[i]``, nodes that ``host`` places.

    With routes, message i takes the links ``route[starts[i]:starts[i + 1]]``.
    """

    sender: cython.const_longlong[::1]
    receiver: cython.const_longlong[::1]
    host: cython.const_int[::1]
    words: cython.longlong
    starts: cython.const_longlong[::1]
    route: cython.const_int[::1]

    def __init__(
        self,
        sender: cython.const_longlong[::1],
        receiver: cython.const_longlong[::1],
        host: cython.const_int[::1],
        words: cython.longlong,
        starts: cython.const_longlong[::1],
        route: cython.const_int[::1],
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.host = host
        self.words = words
        self.starts = starts
        self.route = route


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take(traffic: Traffic, entry: cython.Py_ssize_t, when: cython.longlong, words: cython.longlong) -> cython.longlong:
    """Take a link for so many cycles in a row, the first free ones from ``when`` on; return the first of them."""
    begins: cython.ulonglong = traffic.table[entry + 1] >> 32
    full: cython.ulonglong = traffic.table[entry + 1] & FULL
    load: cython.ulonglong = (traffic.table[entry + 1] & LOAD) + cython.cast(cython.ulonglong, words)
    used: cython.ulonglong = traffic.table[entry]
    at: cython.longlong = when - cython.cast(cython.longlong, begins)
    one: cython.ulonglong = 1
    wanted: cython.ulonglong = (one << words) - one
    if at < 0 and full == 0:  # so long ago that it is forgotten, but it was free
        traffic.table[entry + 1] = (begins << 32) | load
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
    traffic.table[entry] = used | (wanted << at)
    traffic.table[entry + 1] = (begins << 32) | full | load
    return cython.cast(cython.longlong, begins) + at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _x(traffic: Traffic, p: cython.Py_ssize_t) -> cython.longlong:
    return cython.cast(cython.longlong, traffic.table[ROW * p + PLACE] & LOW)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _y(traffic: Traffic, p: cython.Py_ssize_t) -> cython.longlong:
    return cython.cast(cython.longlong, traffic.table[ROW * p + PLACE] >> 32)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _travel(
    traffic: Traffic, messages: Messages, i: cython.Py_ssize_t, when: cython.longlong, words: cython.longlong
) -> cython.longlong:
    """Send a piece along its row, then along its column, or along its route; return when it has arrived."""
    a: cython.Py_ssize_t = messages.host[messages.sender[i]]
    b: cython.Py_ssize_t = messages.host[messages.receiver[i]]
    x: cython.longlong = _x(traffic, a)
    y: cython.longlong = _y(traffic, a)
    end: cython.longlong = _x(traffic, b)
    # What a processor sends later is never ready earlier: its way to the router is taken without gaps.
    when = max(when, cython.cast(cython.longlong, traffic.table[ROW * a + FREE]))
    traffic.table[ROW * a + FREE] = cython.cast(cython.ulonglong, when + words)
    when += ROUTER_CYCLES
    if traffic.lengths.shape[0] > 0:
        for k in range(messages.starts[i], messages.starts[i + 1]):
            link = messages.route[k]
            when = _take(traffic, ROW * traffic.processors + 2 * link, when, words) + traffic.lengths[link]
        return _take(traffic, ROW * b + INTO, when + ROUTER_CYCLES, words) + words
    entry: cython.Py_ssize_t = ROW * (traffic.processors + y * traffic.width + x)
    while x < end:
        when = _take(traffic, entry, when, words) + 1
        entry += ROW
        x += 1
    while x > end:
        entry -= ROW
        x -= 1
        when = _take(traffic, entry + 2, when, words) + 1
    end = _y(traffic, b)
    while y < end:
        when = _take(traffic, entry + 4, when, words) + 1
        entry += ROW * traffic.width
        y += 1
    while y > end:
        entry -= ROW * traffic.width
        y -= 1
        when = _take(traffic, entry + 6, when, words) + 1
    return _take(traffic, ROW * b + INTO, when + ROUTER_CYCLES, words) + words


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _arrival(traffic: Traffic, messages: Messages, i: cython.Py_ssize_t, hops: cython.longlong) -> cython.longlong:
    """Return the cycle in which the last word of a message has arrived."""
    sender: cython.Py_ssize_t = ROW * messages.host[messages.sender[i]]
    when: cython.longlong = cython.cast(cython.longlong, traffic.table[sender + READY])
    last: cython.longlong = when + hops + 2 * ROUTER_CYCLES + messages.words
    left: cython.longlong = messages.words
    if not traffic.counted:
        return last
    while left > 0:
        last = max(last, _travel(traffic, messages, i, when, min(left, PIECE)))
        left -= PIECE
        when += PIECE
    return last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(traffic: Traffic, messages: Messages, i: cython.Py_ssize_t) -> cython.longlong:
    """Count a message from one processor to another; return how far it travels."""
    a: cython.Py_ssize_t = messages.host[messages.sender[i]]
    b: cython.Py_ssize_t = messages.host[messages.receiver[i]]
    hops: cython.longlong = 0
    if traffic.lengths.shape[0] > 0:
        for k in range(messages.starts[i], messages.starts[i + 1]):
            hops += traffic.lengths[messages.route[k]]
    else:
        hops = abs(_x(traffic, a) - _x(traffic, b)) + abs(_y(traffic, a) - _y(traffic, b))
    traffic.messages += 1
    traffic.hops += hops * messages.words
    traffic.longest = max(traffic.longest, hops)
    if traffic.counted:
        traffic.table[ROW * a + PORTS] += 1
        traffic.table[ROW * b + PORTS] += LOW + 1
    return hops


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look_ahead(traffic: Traffic, messages: Messages, i: cython.Py_ssize_t) -> cython.void:
    """Fetch what later messages need: most of the time of a message would be waiting for memory."""
    near: cython.Py_ssize_t = i + AHEAD // 2
    if i + AHEAD >= messages.sender.shape[0]:
        return
    prefetch(traffic.table, ROW * messages.host[messages.sender[i + AHEAD]])
    prefetch(traffic.table, ROW * messages.host[messages.receiver[i + AHEAD]])
    if traffic.counted and traffic.lengths.shape[0] == 0:
        a: cython.Py_ssize_t = messages.host[messages.sender[near]]
        b: cython.Py_ssize_t = messages.host[messages.receiver[near]]
        row: cython.Py_ssize_t = traffic.processors + _y(traffic, a) * traffic.width
        prefetch(traffic.table, ROW * (row + _x(traffic, a)))
        prefetch(traffic.table, ROW * (row + _x(traffic, b)))
        prefetch(traffic.table, ROW * (traffic.processors + _y(traffic, b) * traffic.width + _x(traffic, b)))


def travel(
    traffic: Traffic, messages: Messages, first: cython.Py_ssize_t, most_hops: cython.longlong, in_order: cython.bint
) -> int:
    """Send the messages from number ``first`` on until so many hops are done; return the next one.

    They go all at once, or each after those before it have arrived.
    """
    if not in_order and traffic.when.shape[0] < messages.sender.shape[0]:
        traffic.when = np.empty(messages.sender.shape[0], np.int32)
        traffic.travelled = np.empty(messages.sender.shape[0], np.int64)
        traffic.arrives = np.empty(messages.sender.shape[0], np.int64)
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    with cython.nogil:
        i: cython.Py_ssize_t = first
        until: cython.longlong = traffic.hops + most_hops
        while i < messages.sender.shape[0] and traffic.hops < until:
            a = messages.host[messages.sender[i]]
            b = messages.host[messages.receiver[i]]
            _look_ahead(traffic, messages, i)
            if a != b:
                hops = _count(traffic, messages, i)
                clock: cython.longlong = cython.cast(cython.longlong, traffic.table[ROW * a + CLOCK]) + 1
                far: cython.longlong = cython.cast(cython.longlong, traffic.table[ROW * a + FAR]) + hops
                ready: cython.longlong = _arrival(traffic, messages, i, hops)
                if in_order:
                    _reach(traffic, b, clock, far, ready)
                else:
                    traffic.when[i] = cython.cast(cython.int, clock)
                    traffic.travelled[i] = far
                    traffic.arrives[i] = ready
            elif not in_order:
                traffic.when[i] = -1
            i += 1
    return int(i)


def arrive(traffic: Traffic, messages: Messages) -> None:
    """Let all messages arrive."""
    b: cython.Py_ssize_t
    with cython.nogil:
        for i in range(messages.sender.shape[0]):
            if i + AHEAD < messages.sender.shape[0]:
                prefetch(traffic.table, ROW * messages.host[messages.receiver[i + AHEAD]])
            if traffic.when[i] >= 0:
                b = messages.host[messages.receiver[i]]
                _reach(traffic, b, traffic.when[i], traffic.travelled[i], traffic.arrives[i])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reach(
    traffic: Traffic,
    b: cython.Py_ssize_t,
    clock: cython.longlong,
    far: cython.longlong,
    ready: cython.longlong,
) -> cython.void:
    """Let a message end at a processor whose chains may be longer with it."""
    row: cython.Py_ssize_t = ROW * b
    traffic.table[row + CLOCK] = max(traffic.table[row + CLOCK], cython.cast(cython.ulonglong, clock))
    traffic.table[row + FAR] = max(traffic.table[row + FAR], cython.cast(cython.ulonglong, far))
    traffic.table[row + READY] = max(traffic.table[row + READY], cython.cast(cython.ulonglong, ready))


def first_waiting(
    sender: cython.const_int[::1], receiver: cython.const_int[::1], reached: cython.int[::1], begin: cython.Py_ssize_t
) -> int:
    """Return the first message that waits for one from number ``begin`` on: until there, all may go at once.

    ``reached`` holds for every processor what the last call left there, at first 0.
    """
    with cython.nogil:
        mark: cython.int = cython.cast(cython.int, begin + 1)
        i: cython.Py_ssize_t = begin
        while i < sender.shape[0] and reached[sender[i]] != mark:
            reached[receiver[i]] = mark
            i += 1
    return int(i)


def first_wrong(numbers: cython.const_longlong[::1], seen: cython.int[::1], turn: cython.int) -> int:
    """Return the first position whose number is none of those ``seen`` has room for, or came before; -1 if none.

    ``seen`` holds the turn in which a number was seen last.
    """
    i: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < numbers.shape[0] and 0 <= numbers[i] < seen.shape[0] and seen[numbers[i]] != turn:
            seen[numbers[i]] = turn
            i += 1
    return int(i) if i < numbers.shape[0] else -1
