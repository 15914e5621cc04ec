"""Matrix-vector products: tiles of rows and columns with accumulators and vector words kept (section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shorthaul.core.amounts import Bound
from shorthaul.core.errors import InputError
from shorthaul.pebble.model import BoolArray, Cdag, IntArray, require_budget
from shorthaul.pebble.plan import Move, Plan, join


@dataclass(frozen=True, slots=True, eq=False)
class Mvm:
    """The nodes of MVM(m, n): ``vector`` (n,), ``matrix``, ``products`` and ``sums`` (m, n).

    ``sums[i, j]`` is the accumulator of row i after column j; ``sums[i, 0]`` is the first product itself.
    """

    vector: IntArray
    matrix: IntArray
    products: IntArray
    sums: IntArray

    @property
    def m(self) -> int:
        """The number of rows."""
        return int(self.products.shape[0])

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.products.shape[1])


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the product is cut up.

    ``order`` is ``rows`` (blocks of ``height`` rows one after another, all columns each) or ``columns`` (blocks of
    ``width`` columns one after another, all rows each). ``kept`` is what stays in fast memory from one block to the
    next: a number of vector words (``rows``) or of accumulators (``columns``). ``entries`` takes one matrix entry at a
    time and keeps nothing; it fits wherever a schedule exists.
    """

    order: str
    height: int
    width: int
    kept: int
    traffic: int
    peak: int


def recognise(cdag: Cdag) -> Mvm | None:
    """Return the nodes of ``cdag`` by their role if it is an MVM graph (Definition 4.1) with two columns or more.

    All nodes of a role weigh the same, and products as much as sums.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> recognise(mvm(m=3, n=4, word=1)).sums.shape
    (3, 4)
    """
    is_input, degrees = cdag.is_input(), cdag.parents.degrees()
    if not bool((degrees[~is_input] == 2).all()):
        return None
    operands = cdag.parents.targets.reshape(-1, 2)
    computed = np.flatnonzero(~is_input)
    from_inputs = is_input[operands].all(axis=1)
    products = computed[from_inputs]
    readers = cdag.children.degrees()
    rows = cdag.outputs().tolist()
    m = len(rows)
    if m < 2 or len(products) % m or len(computed) != 2 * len(products) - m:
        return None
    both = operands[from_inputs]
    shared = readers[both] == m  # a vector word is read by every row, a matrix entry once
    if not bool((shared.sum(axis=1) == 1).all()) or not bool((readers[both[~shared]] == 1).all()):
        return None
    word_of = np.full(cdag.n, -1)
    word_of[products] = both[shared]
    chains = _chains(operands, np.cumsum(~is_input) - 1, np.array(rows), word_of)
    if chains is None or chains.products.shape[1] < 2:
        return None
    words = word_of[chains.products]
    is_swapped = (words != words[0]).any(axis=1)  # the first sum is of either product first
    order = [1, 0, *range(2, words.shape[1])]
    if not bool((words[is_swapped][:, order] == words[0]).all()):
        return None
    of_columns = np.where(is_swapped[:, None], chains.products[:, order], chains.products)
    entry_of = np.zeros(cdag.n, dtype=np.int64)
    entry_of[products] = both[~shared]
    if any(np.ptp(cdag.weights[role]) for role in (both[shared], both[~shared], computed)):
        return None
    return Mvm(
        vector=words[0],
        matrix=entry_of[of_columns],
        products=of_columns,
        sums=np.hstack([of_columns[:, :1], chains.sums[:, 1:]]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Chains:
    """The products of each row and the sums that take them in, both (m, n); the first sum is the first product."""

    products: IntArray
    sums: IntArray


def _chains(operands: IntArray, place: IntArray, roots: IntArray, word_of: IntArray) -> _Chains | None:
    """Return the chains that end in ``roots``, None if they are none of one length.

    ``operands[place[node]]`` are the two parents of a node that is computed; products have a word in ``word_of``.
    """
    products, sums = [], []
    node = roots
    while bool((word_of[node] < 0).all()):
        first, second = operands[place[node]].T
        swapped = (word_of[first] < 0) & (word_of[second] >= 0)
        product, rest = np.where(swapped, second, first), np.where(swapped, first, second)
        if bool((word_of[product] < 0).any()):
            return None
        products.append(product)
        sums.append(node)
        node = rest
    if bool((word_of[node] < 0).any()):
        return None
    return _Chains(*(np.column_stack([node, *steps[::-1]]) for steps in (products, sums)))


def require_mvm(cdag: Cdag) -> Mvm:
    """Return the nodes by their role; raises :class:`InputError` if ``cdag`` is no MVM graph."""
    mvm = recognise(cdag)
    if mvm is None:
        raise InputError(
            "this method plans matrix-vector products only",
            place="--method mvm-tiling",
            value=cdag.name,
            allowed="graphs as in Definition 4.1 with at least two rows and two columns",
            cure="use --method auto",
        )
    return mvm


def tilings(cdag: Cdag, mvm: Mvm, budget: int | None = None) -> Iterator[Tiling]:
    """Yield every tiling worth looking at, with its traffic and the fast memory it needs.

    With a ``budget``, of those that differ in what is kept only the ones that can be the best within it.
    Rows first: blocks of ``height`` accumulators, the vector read again for each block but for ``kept`` words.
    Columns first: blocks of ``width`` vector words, accumulators moved out and in between blocks but for ``kept``;
    rows are taken up and down in turn, so that the last accumulator of a block is the first of the next.
    """
    m, n = mvm.m, mvm.n
    word, entry, acc = (int(cdag.weights[role.flat[0]]) for role in (mvm.vector, mvm.matrix, mvm.sums))
    least = cdag.algorithmic_bound()
    step = max(2 * acc, entry + acc)  # a product and a new sum, or a matrix entry and a product
    moved = m * n * (word + entry) + m * (2 * n - 1) * acc
    yield Tiling("entries", 1, 1, 0, moved, max(word + entry + acc, 3 * acc))
    for height in range(1, m + 1):
        blocks = math.ceil(m / height)
        for kept in (0,) if blocks == 1 else _kept(n, word, None if budget is None else budget - height * acc - step):
            streamed = 0 if kept == n else word
            yield Tiling(
                "rows",
                height,
                n,
                kept,
                least + (blocks - 1) * (n - kept) * word,
                height * acc + kept * word + streamed + step,
            )
    for width in range(1, n + 1):
        blocks = math.ceil(n / width)
        for kept in (m,) if blocks == 1 else _kept(m, acc, None if budget is None else budget - width * word - step):
            working = 0 if kept == m else acc
            yield Tiling(
                "columns",
                m,
                width,
                kept,
                least + 2 * (blocks - 1) * max(0, m - kept - 1) * acc,
                kept * acc + working + width * word + step,
            )


def _kept(most: int, weight: int, room: int | None) -> Iterable[int]:
    """Return how many of ``most`` values may be kept, one more in use: all, or the best in a room."""
    if room is None:
        return range(most + 1)
    return {0, min(max(room // weight - 1, 0), most - 1), most}


def best_tiling(cdag: Cdag, mvm: Mvm, budget: int) -> Tiling:
    """Return the tiling of least traffic within ``budget``, which some schedule must fit."""
    fitting = [tiling for tiling in tilings(cdag, mvm, budget) if tiling.peak <= budget]
    return min(fitting, key=lambda tiling: (tiling.traffic, tiling.peak))


def least_memory(cdag: Cdag) -> int:
    """Return the smallest budget at which a tiling moves inputs and outputs only.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> least_memory(mvm(m=96, n=120, word=1)), least_memory(mvm(m=96, n=120, word=1, weights="double-accumulator"))
    (99, 126)
    """
    mvm, goal = require_mvm(cdag), cdag.algorithmic_bound()
    return min(tiling.peak for tiling in tilings(cdag, mvm) if tiling.traffic == goal)


def memory_bound(cdag: Cdag, mvm: Mvm) -> Bound:
    """Return a lower bound on the budget at which any schedule moves inputs and outputs only.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> cdag = mvm(m=96, n=120, word=1)
    >>> memory_bound(cdag, recognise(cdag)).value
    99
    """
    word, acc = (int(cdag.weights[role.flat[0]]) for role in (mvm.vector, mvm.sums))
    others = mvm.m - 1
    value = 3 * acc + min(others * acc + word, 2 * others * acc, (mvm.n - 1) * word + min(word, acc))
    return Bound(
        of="budget",
        value=max(value, cdag.least_budget()),
        method="first finished row",
        proof=(
            "Nothing is moved twice, so when the first row is finished every vector word has been loaded for the last "
            "time. At that moment the row holds its last product, the sum before it and the result. Every other row "
            "either still needs all vector words, or holds a value and still needs the last word, or holds its last "
            "product and one more value."
        ),
    )


def plan(cdag: Cdag, budget: int, mvm: Mvm | None = None) -> Plan:
    """Return the schedule of the best tiling within ``budget``; ``mvm`` are the nodes by their role, if known.

    Raises :class:`InputError` if ``cdag`` is no MVM graph, :class:`InfeasibleError` if some node cannot be computed.

    >>> from shorthaul.pebble.workloads.kernels_as_graphs import mvm
    >>> cdag = mvm(m=4, n=6, word=1)
    >>> plan(cdag, 5).traffic(cdag.weights)
    40
    """
    require_budget(cdag, budget)
    mvm = mvm or require_mvm(cdag)
    tiling = best_tiling(cdag, mvm, budget)
    return tiled(mvm, tiling)


def tiled(mvm: Mvm, tiling: Tiling) -> Plan:
    """Return the schedule of one tiling."""
    return join({"rows": _by_rows, "columns": _by_columns, "entries": _by_entries}[tiling.order](mvm, tiling))


#: The moves of one product: its entry comes and goes; after the first column, a sum replaces the product and the sum
#: before it.
_STEP: Final = (Move.LOAD, Move.COMPUTE, Move.DELETE, Move.COMPUTE, Move.DELETE, Move.DELETE)
_KEEP: Final = (Move.STORE, Move.DELETE)


def _chosen(kinds: Sequence[Move], nodes: IntArray, made: BoolArray) -> Plan:
    """Return the moves that are made, row by row: ``kinds`` (k,) of ``nodes`` and ``made`` (any rows, k)."""
    return Plan(np.broadcast_to(np.array(kinds, dtype=np.uint8), nodes.shape)[made], nodes[made])


def _all(kind: Move, nodes: IntArray) -> Plan:
    return Plan(np.full(len(nodes), kind, dtype=np.uint8), nodes)


def _steps(mvm: Mvm, rows: IntArray, columns: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the nodes of ``_STEP`` and whether each move is made, for rows and columns that are broadcast."""
    entries, products, sums = mvm.matrix[rows, columns], mvm.products[rows, columns], mvm.sums[rows, columns]
    nodes = np.stack([entries, products, entries, sums, products, mvm.sums[rows, columns - 1]], axis=-1)
    made = (np.arange(len(_STEP)) < 3) | (columns > 0)[..., None]
    return nodes, np.broadcast_to(made, nodes.shape)


def _by_rows(mvm: Mvm, tiling: Tiling) -> Iterator[Plan]:
    columns = np.arange(mvm.n)
    words = mvm.vector[:, None]
    for top in range(0, mvm.m, tiling.height):
        rows = np.arange(top, min(top + tiling.height, mvm.m))
        is_last = rows[-1] == mvm.m - 1
        nodes, made = (part.reshape(mvm.n, -1) for part in _steps(mvm, rows, columns[:, None]))
        moved = (columns >= tiling.kept)[:, None]
        yield _chosen(
            (Move.LOAD, *_STEP * len(rows), Move.DELETE),
            np.hstack([words, nodes, words]),
            np.hstack([moved | (top == 0), made, moved | is_last]),
        )
        results = np.repeat(mvm.sums[rows, -1], 2).reshape(-1, 2)
        yield _chosen(_KEEP, results, np.ones(results.shape, dtype=bool))


def _by_columns(mvm: Mvm, tiling: Tiling) -> Iterator[Plan]:
    moved = np.arange(tiling.kept, mvm.m)
    waiting = -1  # the row whose accumulator stays from the block before
    for turn, left in enumerate(range(0, mvm.n, tiling.width)):
        columns = np.arange(left, min(left + tiling.width, mvm.n))
        rows = np.concatenate([np.arange(tiling.kept), moved if turn % 2 == 0 else moved[::-1]])
        words, before, results = mvm.vector[columns], mvm.sums[rows, left - 1], mvm.sums[rows, columns[-1]]
        comes = (left > 0) & (rows >= tiling.kept) & (rows != waiting)
        goes = (columns[-1] == mvm.n - 1) | ((rows >= tiling.kept) & (rows != rows[-1]))
        nodes, made = (part.reshape(mvm.m, -1) for part in _steps(mvm, rows[:, None], columns))
        yield _all(Move.LOAD, words)
        yield _chosen(
            (Move.LOAD, *_STEP * len(columns), *_KEEP),
            np.column_stack([before, nodes, results, results]),
            np.column_stack([comes, made, goes, goes]),
        )
        yield _all(Move.DELETE, words)
        waiting = int(rows[-1])


def _by_entries(mvm: Mvm, _: Tiling) -> Iterator[Plan]:
    product = (Move.LOAD, Move.LOAD, Move.COMPUTE, Move.DELETE, Move.DELETE)
    kinds = (*product, Move.LOAD, Move.COMPUTE, Move.DELETE, Move.DELETE, *_KEEP)
    summed = np.isin(np.arange(len(kinds)), (5, 6, 7, 8))
    made = ~summed | (np.arange(mvm.n) > 0)[:, None]
    for entries, products, sums in zip(mvm.matrix, mvm.products, mvm.sums, strict=True):
        before = np.roll(sums, 1)
        columns = (mvm.vector, entries, products, mvm.vector, entries, before, sums, before, products, sums, sums)
        yield _chosen(kinds, np.column_stack(columns), made)
