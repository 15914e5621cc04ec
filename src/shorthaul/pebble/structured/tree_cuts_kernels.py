"""Compiled kernels of :mod:`shorthaul.pebble.structured.tree_cuts`: profiles of subtrees, and the orders behind them.

A profile is a list of segments (hill, valley): what the fast memory holds at most, and then at least, while a subtree
is computed without spilling, hills falling and valleys rising (Liu's canonical form).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.jit import subroutine, tiered

IntArray = npt.NDArray[np.int64]

#: Segments of a profile; beyond, its end is coarsened.
MOST_SEGMENTS = 1024


@subroutine
def append_segment(hills: IntArray, valleys: IntArray, size: int, hill: int, valley: int) -> int:
    """Append a segment to a canonical profile of ``size`` segments; return the new size."""
    while size > 0 and (hill >= hills[size - 1] or valley <= valleys[size - 1]):
        hill = max(hill, hills[size - 1])
        size -= 1
    if size == len(hills):
        hills[size - 1] = max(hills[size - 1], hill)
        valleys[size - 1] = valley
        return size
    hills[size] = hill
    valleys[size] = valley
    return size + 1


@subroutine
def merge_profiles(
    a_hills: IntArray,
    a_valleys: IntArray,
    a_size: int,
    b_hills: IntArray,
    b_valleys: IntArray,
    b_size: int,
    hills: IntArray,
    valleys: IntArray,
) -> int:
    """Write the best interleaving of two profiles (falling hill minus valley) to ``hills``; return its size."""
    size = 0
    i = 0
    j = 0
    a_now = 0
    b_now = 0
    while i < a_size or j < b_size:
        if j == b_size or (i < a_size and a_hills[i] - a_valleys[i] >= b_hills[j] - b_valleys[j]):
            size = append_segment(hills, valleys, size, b_now + a_hills[i], b_now + a_valleys[i])
            a_now = a_valleys[i]
            i += 1
        else:
            size = append_segment(hills, valleys, size, a_now + b_hills[j], a_now + b_valleys[j])
            b_now = b_valleys[j]
            j += 1
    return size


@subroutine
def dominates(
    a_hills: IntArray, a_valleys: IntArray, a_size: int, b_hills: IntArray, b_valleys: IntArray, b_size: int
) -> bool:
    """Return True if profile a can stand in for profile b wherever b fits."""
    i = 0
    for j in range(b_size):
        while i < a_size and a_hills[i] <= b_hills[j] and a_valleys[i] <= b_valleys[j]:
            i += 1
    return i == a_size


@tiered(seconds=7)
def cut_states(
    order: IntArray,
    parent_starts: IntArray,
    parents: IntArray,
    weights: IntArray,
    operands: IntArray,
    twin_needs: IntArray,
    is_root: IntArray,
    limits: IntArray,
    budget: int,
    width: int,
    relaxed: bool,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, bool]:
    """Return the states of every node: (starts, costs, spilled, choice starts, choices, complete).

    The states of ``order[i]`` are ``starts[i]..starts[i + 1] - 1``, by cost: what was spilled in its subtree, whether
    the node itself is spilled, and the state of each computed parent. ``operands`` is the weight of all parents,
    ``twin_needs`` what the outputs computed beside a node take (0: none). Costs above ``limits`` are of no use.
    ``complete`` is False if more than ``width`` states were worth keeping somewhere; then the best state may be lost.
    With ``relaxed``, a state that is better than all of those stands in for them: costs are then lower bounds.
    """
    n = len(weights)
    count = len(order)
    starts = np.zeros(count + 1, dtype=np.int64)
    index = np.full(n, -1, dtype=np.int64)
    room = 8 * count + 64
    costs = np.empty(room, dtype=np.int64)
    spilled = np.empty(room, dtype=np.int64)
    choice_starts = np.empty(room, dtype=np.int64)
    profile_starts = np.empty(room + 1, dtype=np.int64)
    choices = np.empty(4 * room, dtype=np.int64)
    pool_hills = np.empty(8 * room, dtype=np.int64)
    pool_valleys = np.empty(8 * room, dtype=np.int64)
    states = 0
    chosen = 0
    pooled = 0
    profile_starts[0] = 0
    most_parents = 1
    for v in order:
        most_parents = max(most_parents, parent_starts[v + 1] - parent_starts[v])
    now_cost = np.empty(width, dtype=np.int64)
    now_size = np.empty(width, dtype=np.int64)
    now_hills = np.empty((width, MOST_SEGMENTS), dtype=np.int64)
    now_valleys = np.empty((width, MOST_SEGMENTS), dtype=np.int64)
    now_choice = np.empty((width, most_parents), dtype=np.int64)
    next_cost = np.empty(width, dtype=np.int64)
    next_size = np.empty(width, dtype=np.int64)
    next_hills = np.empty((width, MOST_SEGMENTS), dtype=np.int64)
    next_valleys = np.empty((width, MOST_SEGMENTS), dtype=np.int64)
    next_choice = np.empty((width, most_parents), dtype=np.int64)
    hills = np.empty(MOST_SEGMENTS, dtype=np.int64)
    valleys = np.empty(MOST_SEGMENTS, dtype=np.int64)
    complete = True
    for position in range(count):
        v = order[position]
        index[v] = position
        first_parent = parent_starts[v]
        arity = parent_starts[v + 1] - first_parent
        now = 1
        now_cost[0] = 0
        now_size[0] = 0
        for step in range(arity):
            parent = index[parents[first_parent + step]]
            low = starts[parent]
            offers = starts[parent + 1] - low
            pairs = now * offers
            pair_cost = np.empty(pairs, dtype=np.int64)
            for i in range(now):
                for j in range(offers):
                    pair_cost[i * offers + j] = now_cost[i] + costs[low + j]
            following = 0
            for pair in np.argsort(pair_cost, kind="mergesort"):
                if pair_cost[pair] > limits[v]:
                    break
                i = pair // offers
                state = low + pair % offers
                base = profile_starts[state]
                length = profile_starts[state + 1] - base
                size = merge_profiles(
                    now_hills[i],
                    now_valleys[i],
                    now_size[i],
                    pool_hills[base : base + length],
                    pool_valleys[base : base + length],
                    length,
                    hills,
                    valleys,
                )
                if size == MOST_SEGMENTS:
                    complete = False
                if hills[0] > budget:
                    continue
                needed = True
                for other in range(following):
                    if dominates(next_hills[other], next_valleys[other], next_size[other], hills, valleys, size):
                        needed = False
                        break
                if not needed:
                    continue
                if following == width:
                    complete = False
                    if relaxed:
                        held = 0
                        for other in range(step + 1):
                            held += weights[parents[first_parent + other]]
                        following -= 1
                        next_size[following] = append_segment(
                            next_hills[following], next_valleys[following], 0, held, held
                        )
                        following += 1
                    break
                next_cost[following] = pair_cost[pair]
                next_size[following] = size
                next_hills[following, :size] = hills[:size]
                next_valleys[following, :size] = valleys[:size]
                next_choice[following, :step] = now_choice[i, :step]
                next_choice[following, step] = state
                following += 1
            now = following
            now_cost, next_cost = next_cost, now_cost
            now_size, next_size = next_size, now_size
            now_hills, next_hills = next_hills, now_hills
            now_valleys, next_valleys = next_valleys, now_valleys
            now_choice, next_choice = next_choice, now_choice
        # Compute the node itself on top of its operands, and drop what is dominated.
        made = 0
        starts[position] = states
        cheapest = -1
        for i in range(now):
            size = now_size[i]
            hills[:size] = now_hills[i, :size]
            valleys[:size] = now_valleys[i, :size]
            if twin_needs[v] > 0:
                size = append_segment(hills, valleys, size, twin_needs[v], operands[v])
            size = append_segment(hills, valleys, size, operands[v] + weights[v], weights[v])
            if hills[0] > budget:
                continue
            if cheapest >= 0 and now_cost[i] >= now_cost[cheapest] + 2 * weights[v]:
                break
            needed = True
            for other in range(starts[position], states):
                base = profile_starts[other]
                length = profile_starts[other + 1] - base
                if dominates(
                    pool_hills[base : base + length], pool_valleys[base : base + length], length, hills, valleys, size
                ):
                    needed = False
                    break
            if not needed:
                continue
            if cheapest < 0:
                cheapest = i
            if made == width - 1:
                complete = False
                if not relaxed:
                    break
                size = append_segment(hills, valleys, 0, max(twin_needs[v], operands[v] + weights[v]), weights[v])
            while states + 3 > len(costs):
                costs = np.concatenate((costs, np.empty(len(costs), dtype=np.int64)))
                spilled = np.concatenate((spilled, np.empty(len(spilled), dtype=np.int64)))
                choice_starts = np.concatenate((choice_starts, np.empty(len(choice_starts), dtype=np.int64)))
                profile_starts = np.concatenate((profile_starts, np.empty(len(profile_starts), dtype=np.int64)))
            while chosen + 2 * arity > len(choices):
                choices = np.concatenate((choices, np.empty(len(choices) + 2 * arity, dtype=np.int64)))
            while pooled + size + 1 > len(pool_hills):
                pool_hills = np.concatenate((pool_hills, np.empty(len(pool_hills) + size, dtype=np.int64)))
                pool_valleys = np.concatenate((pool_valleys, np.empty(len(pool_valleys) + size, dtype=np.int64)))
            costs[states] = now_cost[i]
            spilled[states] = 0
            choice_starts[states] = chosen
            choices[chosen : chosen + arity] = now_choice[i, :arity]
            chosen += arity
            pool_hills[pooled : pooled + size] = hills[:size]
            pool_valleys[pooled : pooled + size] = valleys[:size]
            pooled += size
            states += 1
            profile_starts[states] = pooled
            made += 1
            if is_root[v] or made == width:
                break
        if made > 0 and not is_root[v]:
            first = starts[position]
            costs[states] = costs[first] + 2 * weights[v]
            spilled[states] = 1
            choice_starts[states] = choice_starts[first]
            pool_hills[pooled] = weights[v]
            pool_valleys[pooled] = weights[v]
            pooled += 1
            states += 1
            profile_starts[states] = pooled
        starts[position + 1] = states
    return starts, costs[:states].copy(), spilled[:states].copy(), choice_starts[:states].copy(), choices, complete


@tiered(seconds=1)
def chosen_cuts(
    order: IntArray,
    parent_starts: IntArray,
    parents: IntArray,
    is_root: IntArray,
    starts: IntArray,
    spilled: IntArray,
    choice_starts: IntArray,
    choices: IntArray,
) -> IntArray:
    """Return 1 for every node that is spilled in the cheapest state of its root (shape of the graph)."""
    cut = np.zeros(len(parent_starts) - 1, dtype=np.int64)
    state_of = np.full(len(parent_starts) - 1, -1, dtype=np.int64)
    for position in range(len(order) - 1, -1, -1):
        v = order[position]
        if is_root[v]:
            state_of[v] = starts[position]
        state = state_of[v]
        cut[v] = spilled[state]
        base = choice_starts[state]
        for step in range(parent_starts[v + 1] - parent_starts[v]):
            state_of[parents[parent_starts[v] + step]] = choices[base + step]
    return cut


@tiered(seconds=3)
def liu_order(
    order: IntArray,
    parent_starts: IntArray,
    parents: IntArray,
    weights: IntArray,
    operands: IntArray,
    twin_needs: IntArray,
    cut: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Return (next, first, peaks): Liu's order of the nodes within each piece that the ``cut`` nodes leave.

    The piece that ends in a cut node or root v starts with ``first[v]`` and goes on with ``next``, -1 at its end; it
    needs ``peaks[v]``. The segments of a node are a run of one array, linked to the nodes they compute.
    """
    n = len(weights)
    following = np.full(n, -1, dtype=np.int64)
    piece_first = np.full(n, -1, dtype=np.int64)
    peaks = np.zeros(n, dtype=np.int64)
    # The segments of node v are seg_*[run[v] .. run[v] + length[v]), on arrays that only grow.
    run = np.zeros(n, dtype=np.int64)
    length = np.zeros(n, dtype=np.int64)
    room = 4 * n + 64
    seg_hill = np.empty(room, dtype=np.int64)
    seg_valley = np.empty(room, dtype=np.int64)
    seg_first = np.empty(room, dtype=np.int64)
    seg_last = np.empty(room, dtype=np.int64)
    used = 0
    for v in order:
        mine = parents[parent_starts[v] : parent_starts[v + 1]]
        total = 0
        for p in mine:
            if cut[p] == 0:
                total += length[p]
        while used + total + 2 > len(seg_hill):
            seg_hill = np.concatenate((seg_hill, np.empty(len(seg_hill) + total, dtype=np.int64)))
            seg_valley = np.concatenate((seg_valley, np.empty(len(seg_valley) + total, dtype=np.int64)))
            seg_first = np.concatenate((seg_first, np.empty(len(seg_first) + total, dtype=np.int64)))
            seg_last = np.concatenate((seg_last, np.empty(len(seg_last) + total, dtype=np.int64)))
        keys = np.empty(total, dtype=np.int64)
        which = np.empty(total, dtype=np.int64)
        before = np.empty(total, dtype=np.int64)
        at = 0
        for p in mine:
            if cut[p] == 0:
                now = 0
                for s in range(run[p], run[p] + length[p]):
                    keys[at] = seg_valley[s] - seg_hill[s]
                    which[at] = s
                    before[at] = now
                    now = seg_valley[s]
                    at += 1
        base = used
        held = 0
        for position in np.argsort(keys, kind="mergesort"):
            s = which[position]
            hill = held - before[position] + seg_hill[s]
            held += seg_valley[s] - before[position]
            used = _push(
                seg_hill, seg_valley, seg_first, seg_last, following, base, used, hill, held, seg_first[s], seg_last[s]
            )
        hill = max(twin_needs[v], operands[v] + weights[v])
        used = _push(seg_hill, seg_valley, seg_first, seg_last, following, base, used, hill, weights[v], v, v)
        run[v] = base
        length[v] = used - base
        last = -1
        for s in range(base, used):
            if last >= 0:
                following[last] = seg_first[s]
            last = seg_last[s]
        if last >= 0:
            following[last] = -1
        piece_first[v] = seg_first[base]
        peaks[v] = seg_hill[base]
    return following, piece_first, peaks


@subroutine
def _push(
    seg_hill: IntArray,
    seg_valley: IntArray,
    seg_first: IntArray,
    seg_last: IntArray,
    following: IntArray,
    base: int,
    used: int,
    hill: int,
    valley: int,
    first: int,
    last: int,
) -> int:
    while used > base and (hill >= seg_hill[used - 1] or valley <= seg_valley[used - 1]):
        used -= 1
        following[seg_last[used]] = first
        first = seg_first[used]
        hill = max(hill, seg_hill[used])
    seg_hill[used] = hill
    seg_valley[used] = valley
    seg_first[used] = first
    seg_last[used] = last
    return used + 1
