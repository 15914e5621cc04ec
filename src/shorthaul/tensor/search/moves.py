"""Random changes of a sequence of groups: fuse, split, move, recompute, reorder."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from shorthaul.tensor.search.groups import Groups, bits
from shorthaul.tensor.search.sequence import Sequence, executable

Move = Callable[[Groups, Sequence, Random], Sequence | None]


def neighbour(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Return a sequence that differs by one random move, executable and complete, or None if the move led nowhere."""
    move = random.choices(_MOVES, _WEIGHTS)[0]
    changed = move(groups, sequence, random)
    if changed is None:
        return None
    return settled(groups, changed)


def settled(groups: Groups, sequence: Sequence) -> Sequence | None:
    """Return the sequence with every group connected, repeated groups dropped, in an executable order."""
    known = groups.known
    parts: list[int] = []
    covered = 0
    for operators in sequence:
        if operators:
            covered |= operators
            parts += [operators] if known[operators].is_connected else groups.parts(operators)
    if covered != groups.all_operators:
        return None
    return executable(groups, tuple(dict.fromkeys(parts)))


def _link(groups: Groups, sequence: Sequence, random: Random) -> tuple[int, int, int] | None:
    """Return a random tensor that one group takes from another: producing group, consuming group, tensor."""
    consumer = random.randrange(len(sequence))
    needs = groups.group(sequence[consumer]).needs
    if not needs:
        return None
    tensor = random.choice(needs)
    known = groups.known
    for source in range(consumer - 1, -1, -1):
        if known[sequence[source]].produced >> tensor & 1:
            return source, consumer, tensor
    return None


def _replaced(sequence: Sequence, changes: dict[int, int]) -> Sequence:
    return tuple(changes.get(position, operators) for position, operators in enumerate(sequence))


def fuse(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Fuse a group with the one that produces an input of it."""
    link = _link(groups, sequence, random)
    if link is None:
        return None
    source, consumer, _ = link
    both = sequence[source] | sequence[consumer]
    # Everything that the two wait for, or that waits for them, finds its place again when the sequence is settled.
    return _replaced(sequence, {source: 0, consumer: both} if random.random() < 0.5 else {source: both, consumer: 0})


def fuse_all(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Fuse a group with all that produce its inputs, or with all that take one of its outputs."""
    link = _link(groups, sequence, random)
    if link is None:
        return None
    source, consumer, tensor = link
    if random.random() < 0.5:
        needs = sum(1 << number for number in groups.group(sequence[consumer]).needs)
        members = [p for p in range(consumer) if groups.group(sequence[p]).produced & needs] + [consumer]
    else:
        members = [source] + [
            p for p in range(source + 1, len(sequence)) if groups.group(sequence[p]).inputs >> tensor & 1
        ]
    if len(members) > 6:
        return None
    union = 0
    for member in members:
        union |= sequence[member]
    return _replaced(sequence, dict.fromkeys(members, 0) | {members[-1]: union})


def duplicate(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Let a group recompute an input itself: alone, or with all that its producing group does for it."""
    link = _link(groups, sequence, random)
    if link is None:
        return None
    source, consumer, tensor = link
    operator = groups.problem.producer[tensor]
    assert operator is not None
    added = 1 << operator
    if random.random() < 0.4:
        added = _above(groups, sequence[source], added)
    changes = {consumer: sequence[consumer] | added}
    if random.random() < 0.3:
        others = [p for p, ops in enumerate(sequence) if p != source and groups.group(ops).inputs >> tensor & 1]
        changes |= {p: sequence[p] | added for p in others}
        changes[source] = sequence[source] & ~added
    return _replaced(sequence, changes)


def _above(groups: Groups, inside: int, operators: int) -> int:
    """Return ``operators`` with everything ``inside`` that they depend on."""
    found = frontier = operators
    while frontier:
        wanted = 0
        for operator in bits(frontier):
            for tensor in bits(groups.sources[operator]):
                producer = groups.problem.producer[tensor]
                if producer is not None:
                    wanted |= 1 << producer
        frontier = wanted & inside & ~found
        found |= frontier
    return found


def drop(_: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Take an operator out of a group if another group computes it too."""
    once = twice = 0
    for operators in sequence:
        twice |= once & operators
        once |= operators
    if not twice:
        return None
    operator = 1 << random.choice(list(bits(twice)))
    position = random.choice([p for p, operators in enumerate(sequence) if operators & operator])
    return _replaced(sequence, {position: sequence[position] & ~operator})


def shift(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Move one operator across the border of two linked groups."""
    link = _link(groups, sequence, random)
    if link is None:
        return None
    source, consumer, tensor = link
    if random.random() < 0.5:
        producer = groups.problem.producer[tensor]
        assert producer is not None
        moved, origin, target = 1 << producer, source, consumer
    else:
        users = [op for op in groups.problem.consumers[tensor] if sequence[consumer] >> op & 1]
        moved, origin, target = 1 << random.choice(users), consumer, source
    return _replaced(sequence, {origin: sequence[origin] & ~moved, target: sequence[target] | moved})


def split(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Cut a group in two: what one of its operators depends on, and the rest."""
    position = random.randrange(len(sequence))
    operators = sequence[position]
    if operators & (operators - 1) == 0:
        return None
    chosen = 1 << random.choice(list(bits(operators)))
    upper = _above(groups, operators, chosen) if random.random() < 0.8 else chosen
    if upper == operators:
        upper &= ~chosen
    return (*sequence[:position], upper, operators & ~upper, *sequence[position + 1 :])


def reorder(groups: Groups, sequence: Sequence, random: Random) -> Sequence | None:
    """Put a group right after the one that produces an input of it, or anywhere else."""
    if random.random() < 0.7:
        link = _link(groups, sequence, random)
        if link is None:
            return None
        source, consumer, _ = link
        if consumer == source + 1:
            return None
        order = list(sequence)
        if random.random() < 0.5:
            order.insert(source + 1, order.pop(consumer))
        else:
            order.insert(consumer - 1, order.pop(source))
        return tuple(order)
    order = list(sequence)
    group = order.pop(random.randrange(len(order)))
    order.insert(random.randrange(len(order) + 1), group)
    return tuple(order)


_MOVES: list[Move] = [fuse, fuse_all, duplicate, drop, shift, split, reorder]
_WEIGHTS = [5, 1, 3, 2, 4, 3, 4]
