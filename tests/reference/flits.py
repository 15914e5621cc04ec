"""A small network simulated word by word and cycle by cycle, to compare the machine's clock with.

Routers of a mesh with five inputs, whose words wait in queues; words go along their row first. Every cycle each output
takes one word from one of the inputs, in turn. A processor sends its messages in the order of its program, word by word,
each as soon as all that came to it in earlier rounds has arrived; its router is two cycles away.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from shorthaul.spatial.computer.machine import Machine
from shorthaul.spatial.computer.network import Network

RAMP = 2


@dataclass
class Message:
    """A message of a round; ``awaited`` is what its sender still waits for."""

    turn: int
    target: tuple[int, int]
    left: int
    missing: int
    awaited: int = 0


@dataclass
class Log:
    """The messages of a program, as a machine's listener hears them."""

    rounds: list[list[tuple[int, int, int]]] = field(default_factory=list)

    def round(self, sender, receiver, words: int) -> None:
        """Keep one round."""
        self.rounds.append([(a, b, words) for a, b in zip(sender.tolist(), receiver.tolist(), strict=True)])


def heard(x, y, grid, listener, **options: int) -> Machine:
    """Return a machine with processors at (x, y) whose messages a listener hears, as no program can."""
    places = (np.asarray(one, np.int32) for one in (x, y))
    network = Network(*places, grid, count_links=True, listener=listener, search=None)
    return Machine.over(network, len(x), **options)


def cycles(x, y, rounds: list[list[tuple[int, int, int]]]) -> int:
    """Return the cycle in which the last word has arrived."""
    place = list(zip(map(int, x), map(int, y), strict=True))
    outgoing: dict[tuple[int, int], deque[Message]] = defaultdict(deque)
    came: dict[tuple[int, int], int] = defaultdict(int)
    for turn, sent in enumerate(rounds):
        for a, b, words in sent:
            outgoing[place[a]].append(Message(turn, place[b], words, words, came[place[a]]))
        for _, b, _ in sent:
            came[place[b]] += 1
    queues: dict[tuple[tuple[int, int], int], deque[Message]] = defaultdict(deque)
    coming: dict[int, list[tuple[tuple[int, int], int, Message]]] = defaultdict(list)
    favourite: dict[tuple[tuple[int, int], int], int] = defaultdict(int)
    left = sum(words for sent in rounds for _, _, words in sent)
    now = last = 0
    while left:
        for cell, side, message in coming.pop(now, ()):
            if side >= 0:
                queues[cell, side].append(message)
                continue
            left -= 1
            last = now
            message.missing -= 1
            if message.missing == 0:
                for waiting in outgoing[cell]:
                    waiting.awaited -= waiting.turn > message.turn
        for cell, messages in outgoing.items():
            if messages and messages[0].awaited == 0:
                coming[now + RAMP].append((cell, 4, messages[0]))
                messages[0].left -= 1
                if messages[0].left == 0:
                    messages.popleft()
        _route(queues, coming, favourite, now)
        now += 1
    return last


def _route(queues, coming, favourite, now: int) -> None:
    """Let every output of every router take one word."""
    wanting: dict[tuple[tuple[int, int], int], list[int]] = defaultdict(list)
    for (cell, side), waiting in queues.items():
        if waiting:
            (x, y), (tx, ty) = cell, waiting[0].target
            out = 0 if tx > x else 1 if tx < x else 2 if ty > y else 3 if ty < y else 4
            wanting[cell, out].append(side)
    for (cell, out), sides in wanting.items():
        side = min(sides, key=lambda one: (one - favourite[cell, out]) % 5)
        favourite[cell, out] = side + 1
        message = queues[cell, side].popleft()
        if out == 4:
            coming[now + RAMP + 1].append((cell, -1, message))
        else:
            dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[out]
            coming[now + 1].append(((cell[0] + dx, cell[1] + dy), out, message))
