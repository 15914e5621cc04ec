"""Kernels of the spatial computer: the delivery of messages, and folds of the built-in operators."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import kernel

Index = npt.NDArray[np.int32]
Values = npt.NDArray[np.int64]


@kernel
def deliver(
    sender: Index,
    receiver: Index,
    host: Index,
    x: Index,
    y: Index,
    clock: Index,
    far: Values,
    totals: Values,
    when: Index,
    travelled: Values,
    in_order: bool,
) -> None:
    """Deliver messages between nodes: all at once, or, ``in_order``, each one after those before it have arrived.

    ``clock`` and ``far`` hold the longest chain of messages and of hops that ends at each processor. ``totals`` gathers
    messages, hops and the longest message. Nodes of one processor share its memory: nothing travels between them.
    ``when`` and ``travelled`` are scratch space for at least as many messages.
    """
    count, hops, longest = 0, 0, 0
    for i in range(sender.size):
        a, b = host[sender[i]], host[receiver[i]]
        if a == b:
            when[i] = -1
            continue
        d = abs(x[a] - x[b]) + abs(y[a] - y[b])
        count += 1
        hops += d
        longest = max(longest, d)
        if in_order:
            clock[b] = max(clock[b], clock[a] + 1)
            far[b] = max(far[b], far[a] + d)
        else:
            when[i] = clock[a] + 1
            travelled[i] = far[a] + d
    totals[0] += count
    totals[1] += hops
    totals[2] = max(totals[2], longest)
    if not in_order:
        for i in range(sender.size):
            if when[i] >= 0:
                b = host[receiver[i]]
                clock[b] = max(clock[b], when[i])
                far[b] = max(far[b], travelled[i])


@kernel
def count_ports(sender: Index, receiver: Index, host: Index, sent: Values, received: Values, now: Values) -> int:
    """Add the messages to ``sent`` and ``received``; return the most that one processor sent or received in this call.

    ``now`` is zero on entry and on return, one entry per processor.
    """
    most = 0
    for way in range(2):
        ends = sender if way == 0 else receiver
        for i in range(sender.size):
            if host[sender[i]] != host[receiver[i]]:
                p = host[ends[i]]
                now[p] += 1
                most = max(most, now[p])
        for i in range(sender.size):
            p = host[ends[i]]
            if now[p] > 0:
                if way == 0:
                    sent[p] += now[p]
                else:
                    received[p] += now[p]
                now[p] = 0
    return most


@kernel
def operate(code: int, a: Values, b: Values) -> None:
    """Replace a by a o b for a built-in operator."""
    if code == 0:
        a[0] += b[0]
    elif code == 1:
        a[0] = max(a[0], b[0])
    elif code == 2:
        a[0] = min(a[0], b[0])
    elif code == 3:
        a[0] *= b[0]
    elif code == 4:
        a[0] ^= b[0]
    elif code == 5:
        a[0] |= b[0]
    elif code == 6:
        a[0] &= b[0]
    else:
        a[1] = (b[0] * a[1] + b[1]) % 2147483647
        a[0] = b[0] * a[0] % 2147483647


@kernel
def fold_up(sender: Index, receiver: Index, values: Values, code: int) -> None:
    """Let every sender in turn add its value to its receiver's; ``values`` has shape (nodes, words)."""
    for i in range(sender.size):
        operate(code, values[receiver[i]], values[sender[i]])


@kernel
def fold_down(sender: Index, receiver: Index, values: Values, code: int) -> None:
    """Let every receiver in turn put its sender's value before its own; ``values`` has shape (nodes, words)."""
    words = values.shape[1]
    held = np.empty(words, np.int64)
    for i in range(sender.size):
        for k in range(words):
            held[k] = values[sender[i], k]
        operate(code, held, values[receiver[i]])
        for k in range(words):
            values[receiver[i], k] = held[k]
