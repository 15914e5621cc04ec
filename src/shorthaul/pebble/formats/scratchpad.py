"""A plan as C: a fast memory of its own, explicit copies in and out, and a call for every computation."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from shorthaul.core.errors import InputError
from shorthaul.pebble.formats.orders import rooms_taken
from shorthaul.pebble.model import Cdag
from shorthaul.pebble.plan import Move, Plan

#: Longer plans are refused: compilers take minutes for them.
MOST_MOVES = 200_000
#: What the arrays of the program hold together, at most: their indices are of type int.
_MOST_UNITS = 2**30
#: Moves of one C function.
_MOVES_PER_FUNCTION = 500


@dataclass(frozen=True, slots=True)
class Scratchpad:
    """The C file, the units of fast memory it takes, and what is moved within it to make room in one piece."""

    code: str
    size: int
    moved_within: int


def scratchpad(cdag: Cdag, plan: Plan, budget: int, *, in_place: bool) -> Scratchpad:
    """Return a plan that keeps the rules as C that plays it in an array of ``budget``.

    One element of the arrays is what all weights are multiples of. Where the room for a value is there, but not in one
    piece, values are moved together first, within the fast memory. In place, a result takes the room of an operand that
    is deleted in the next move and no smaller: result and operand are then one array. Plans with partial values call
    another function for each operand. Raises :class:`InputError` for long plans.
    """
    if len(plan) > MOST_MOVES:
        raise InputError(
            "is too long for a C file",
            place="plan",
            value=f"{len(plan)} moves",
            allowed=f"up to {MOST_MOVES}",
            cure="take --format json, and let a loop play the moves",
        )
    unit = math.gcd(*cdag.weights.tolist())
    total = int(cdag.weights.sum()) // unit
    if total > _MOST_UNITS:
        allowed = f"up to {_MOST_UNITS} times their greatest common divisor, together"
        raise InputError("are too large for a C file", place="weights", value=total, allowed=allowed)
    sizes = [weight // unit for weight in cdag.weights.tolist()]
    slow, lengths = _places(cdag, plan, sizes)
    memory = _Memory(sizes, min(budget // unit, total))
    lines = list(_moves(cdag, plan, memory, slow, in_place=in_place))
    most_operands = max(int(cdag.parents.degrees().max()), 1)
    blocks = [lines[at : at + _MOVES_PER_FUNCTION] for at in range(0, len(lines), _MOVES_PER_FUNCTION)]
    functions = "\n".join(
        f"static void part_{number}(void) {{\n" + "\n".join(block) + "\n}\n" for number, block in enumerate(blocks)
    )
    calls = "\n".join(f"    part_{number}();" for number in range(len(blocks)))
    adds = bool((plan.kinds == Move.ACCUMULATE).any())
    text = _FILE.format(
        **{key: text if adds else "" for key, text in _ADDING.items()},
        directly=_DIRECT_SUMS if adds else "compute(node, direct[node], operands);",
        title=_comment(cdag.name or "a graph"),
        unit=unit,
        room=memory.size,
        nodes=cdag.n,
        most_operands=most_operands,
        largest=max(sizes),
        functions=functions,
        calls=calls,
        places="\n".join(_listing(cdag, sizes, slow)),
        **{key: max(value, 1) for key, value in lengths.items()},
        sizes=_table(sizes),
        starts=_table(cdag.parents.starts.tolist()),
        parents=_table(cdag.parents.targets.tolist() or [0]),
        order=_table(cdag.order.tolist()),
        given=_table([slow[node][1] if node in slow and slow[node][0] == "in" else -1 for node in range(cdag.n)]),
        results=_table([slow[node][1] if node in slow and slow[node][0] == "out" else -1 for node in range(cdag.n)]),
    )
    return Scratchpad(text, memory.size, memory.moved)


def _places(cdag: Cdag, plan: Plan, sizes: list[int]) -> tuple[dict[int, tuple[str, int]], dict[str, int]]:
    """Return where each value that is loaded or stored lies in slow memory, and how long the three arrays are."""
    stored = set(plan.nodes[plan.kinds == Move.STORE].tolist())
    inputs, outputs = cdag.inputs().tolist(), [node for node in cdag.outputs().tolist() if node in stored]
    groups = {"in": inputs, "out": outputs, "spill": sorted(stored - {*inputs, *outputs})}
    places: dict[int, tuple[str, int]] = {}
    lengths = {}
    for array, nodes in groups.items():
        at = 0
        for node in nodes:
            places[node] = array, at
            at += sizes[node]
        lengths[array] = at
    return places, lengths


class _Memory:
    """The fast memory: where each value lies. The first hole that is large enough is taken."""

    def __init__(self, sizes: list[int], size: int) -> None:
        self.size, self.moved = size, 0
        self.sizes = sizes
        self._taken: list[tuple[int, int]] = []  # (where, node), ascending
        self.at: dict[int, int] = {}

    def put(self, node: int) -> list[tuple[int, int, int]]:
        """Find room for a value; return what is moved for that: (to, from, units)."""
        moves: list[tuple[int, int, int]] = []
        where = self._hole(self.sizes[node])
        if where is None:
            moves = self._compact()
            where = self._hole(self.sizes[node])
            assert where is not None  # the plan fits
        self.at[node] = where
        insort(self._taken, (where, node))
        return moves

    def drop(self, node: int) -> None:
        """Free the room of a value."""
        del self._taken[bisect_left(self._taken, (self.at.pop(node), node))]

    def replace(self, leaving: int, node: int) -> None:
        """Put a value where another one leaves."""
        where = self.at[leaving]
        self.drop(leaving)
        self.at[node] = where
        insort(self._taken, (where, node))

    def _hole(self, size: int) -> int | None:
        end = 0
        for where, node in self._taken:
            if where - end >= size:
                return end
            end = where + self.sizes[node]
        return end if self.size - end >= size else None

    def _compact(self) -> list[tuple[int, int, int]]:
        moves, end, taken = [], 0, []
        for where, node in self._taken:
            if where != end:
                moves.append((end, where, self.sizes[node]))
                self.moved += self.sizes[node]
            self.at[node] = end
            taken.append((end, node))
            end += self.sizes[node]
        self._taken = taken
        return moves


def _moves(
    cdag: Cdag, plan: Plan, memory: _Memory, slow: dict[int, tuple[str, int]], *, in_place: bool
) -> Iterator[str]:
    """Yield a line of C for each move."""
    starts, parents = cdag.parents.starts.tolist(), cdag.parents.targets.tolist()
    sources, targets = (ends.tolist() for ends in cdag.edge_arrays())
    added = [0] * cdag.n
    rooms = rooms_taken(cdag, plan) if in_place else {}
    for number, (kind, node) in enumerate(plan):
        source = sources[node] if kind is Move.ACCUMULATE else -1
        node = targets[node] if kind is Move.ACCUMULATE else node
        operands = parents[starts[node] : starts[node + 1]]
        moved: list[tuple[int, int, int]] = []
        room_of = ""
        if kind is Move.DELETE:
            if node in memory.at:  # not where a result took its room
                memory.drop(node)
            continue
        if kind is not Move.STORE and node not in memory.at:
            if number in rooms:
                memory.replace(rooms[number], node)
                room_of = f" in the room of {_comment(str(cdag.id_of(rooms[number])))}"
            else:
                moved = memory.put(node)
        for to, origin, count in moved:
            yield f"    memmove(fast + {to}, fast + {origin}, {count} * sizeof(value));"
        at, units, remark = memory.at[node], memory.sizes[node], f"  /* {_comment(str(cdag.id_of(node)))}{room_of} */"
        if kind is Move.COMPUTE:
            listed = "".join(f", fast + {memory.at.get(parent, at)}" for parent in operands) or ", NULL"
            yield f"    PERFORM({node}, fast + {at}{listed});{remark}"
        elif kind is Move.ACCUMULATE:
            last = int(added[node] + 1 == len(operands))
            place = operands.index(source)
            yield (f"    ADD({node}, fast + {at}, {place}, fast + {memory.at[source]}, {added[node]}, {last});{remark}")
            added[node] += 1
        else:
            array, place = slow[node]
            near, far = f"fast + {at}", f"{array} + {place}"
            ends = f"{near}, {far}" if kind is Move.LOAD else f"{far}, {near}"
            yield f"    memcpy({ends}, {units} * sizeof(value));{remark}"


def _listing(cdag: Cdag, sizes: list[int], slow: dict[int, tuple[str, int]]) -> Iterator[str]:
    """Yield where inputs and outputs lie."""
    for node, (array, at) in slow.items():
        if array != "spill":
            last = "" if sizes[node] == 1 else f" to {at + sizes[node] - 1}"
            yield f" * {array}[{at}{last}]: {_comment(str(cdag.id_of(node)))}, node {node}"


def _comment(text: str) -> str:
    """Return text that is harmless in a comment."""
    plain = "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text[:200])
    return plain.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\")


def _table(numbers: list[int]) -> str:
    return ",\n    ".join(", ".join(map(str, numbers[at : at + 16])) for at in range(0, len(numbers), 16))


#: What a file has where operands are added one by one.
_ADDING = {
    "remark": """\
 *     accumulate(node, result, place, operand, added) is yours, too: it adds to a node the operand at that place of its
 *     list, after so many others; after none, the result is new. Nodes without operands are computed.
""",
    "declared": "void accumulate(int node, value *result, int place, const value *operand, int added);\n",
    "macro": """\
#define ADD(node, result, place, operand, added, is_last) do { \\
    accumulate(node, result, place, operand, added); \\
    if (is_last) \\
        compare(node, result); \\
} while (0)

""",
    "defined": """\
void accumulate(int node, value *result, int place, const value *operand, int added) {
    for (int i = 0; i < size[node]; i++) { /* whole numbers: the same in any order */
        long sum = added ? (long)result[i] : 0;
        for (int j = 0; j < size[parent[start[node] + place]]; j++)
            sum += (long)(operand[j] * 8) * ((place + i + j) % 7 + 1);
        result[i] = (value)(sum % 1021);
    }
}

""",
}
_DIRECT_SUMS = """\
if (start[node] == start[node + 1])
            compute(node, direct[node], operands);
        for (int k = start[node]; given[node] < 0 && k < start[node + 1]; k++)
            accumulate(node, direct[node], k - start[node], direct[parent[k]], k - start[node]);"""

_FILE = """\
/* A load / store schedule of {title},
 * in a fast memory of {room} values of {unit} of its units of weight each.
 *
 *     plan(in, out, spill) loads from in, stores to out, and keeps in spill what does not fit;
 *     compute(node, result, operands) is yours: it computes a node from its operands in their order.
{remark} *
 * With -DCOMPARE the file is a program: it computes sums, and compares every one with direct evaluation.
 *
{places}
 */
#include <stddef.h>
#include <string.h>

#ifndef VALUE
#define VALUE double
#endif
typedef VALUE value;

enum {{ NODES = {nodes}, IN = {in}, OUT = {out}, SPILL = {spill}, FAST = {room} }};

void compute(int node, value *result, const value *const *operands);
{declared}void plan(const value *from, value *to, value *kept);

static value fast[FAST];
static const value *in;
static value *out, *spill;

#ifdef COMPARE
static void compare(int node, const value *result);
#else
#define compare(node, result) ((void)0)
#endif

#define PERFORM(node, result, ...) do {{ \\
    const value *const operands[] = {{__VA_ARGS__}}; \\
    compute(node, result, operands); \\
    compare(node, result); \\
}} while (0)

{macro}{functions}
void plan(const value *from, value *to, value *kept) {{
    in = from;
    out = to;
    spill = kept;
    (void)in;
    (void)out;
    (void)spill;
{calls}
}}

#ifdef COMPARE
#include <stdio.h>
#include <stdlib.h>

static const int size[NODES] = {{
    {sizes}}};
static const int start[NODES + 1] = {{
    {starts}}};
static const int parent[] = {{
    {parents}}};
static const int order[NODES] = {{
    {order}}};
static const int given[NODES] = {{
    {given}}}; /* where an input lies, -1 elsewhere */
static const int stored[NODES] = {{
    {results}}}; /* where an output lies, -1 elsewhere */
static value *direct[NODES];
static long wrong, computed;

void compute(int node, value *result, const value *const *operands) {{
    static value made[{largest}]; /* the result may lie where an operand is */
    for (int i = 0; i < size[node]; i++) {{
        double sum = 0.0;
        int terms = 1;
        for (int k = start[node]; k < start[node + 1]; k++) {{
            const value *operand = operands[k - start[node]];
            for (int j = 0; j < size[parent[k]]; j++)
                sum += (double)operand[j] * ((k + i + j) % 7 + 1);
            terms += size[parent[k]];
        }}
        made[i] = (value)(sum / terms + 64.0 / (node + i + 2));
    }}
    memcpy(result, made, (size_t)size[node] * sizeof(value));
}}

{defined}static void compare(int node, const value *result) {{
    computed++;
    for (int i = 0; i < size[node]; i++)
        wrong += !(result[i] == direct[node][i]);
}}

int main(void) {{
    static value data[IN], results[OUT], kept[SPILL];
    for (int i = 0; i < IN; i++)
        data[i] = (value)(i % 13 + 1) / 8;
    for (int i = 0; i < NODES; i++) {{
        const value *operands[{most_operands}] = {{NULL}};
        int node = order[i];
        direct[node] = malloc((size_t)size[node] * sizeof(value));
        if (direct[node] == NULL)
            return 2;
        for (int k = start[node]; k < start[node + 1]; k++)
            operands[k - start[node]] = direct[parent[k]];
        if (given[node] >= 0)
            memcpy(direct[node], data + given[node], (size_t)size[node] * sizeof(value));
        else
            {directly}
    }}
    plan(data, results, kept);
    for (int node = 0; node < NODES; node++)
        if (stored[node] >= 0)
            for (int i = 0; i < size[node]; i++)
                wrong += !(results[stored[node] + i] == direct[node][i]);
    printf("%ld computations, %ld values wrong\\n", computed, wrong);
    return wrong != 0;
}}
#endif
"""
