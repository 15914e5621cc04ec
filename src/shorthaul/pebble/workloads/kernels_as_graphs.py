"""CDAGs of kernels. Inputs come first, then values layer by layer, each in the order of its definition.

``weights`` is ``equal`` (every value weighs ``word``) or ``double-accumulator`` (computed values weigh two words).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shorthaul.core.errors import InputError
from shorthaul.pebble.model import Cdag, build

IntArray = npt.NDArray[np.int64]
Links = list[tuple[IntArray, IntArray]]

#: Generated graphs above this many edges are refused: the parameters are a mistake, or need another tool.
MOST_EDGES = 2**26


def _sized(inputs: int, n: int, weights: str, word: int) -> IntArray:
    sizes = np.full(n, word, dtype=np.int64)
    if weights == "double-accumulator":
        sizes[inputs:] *= 2
    return sizes


def _built(sizes: IntArray, links: Links, name: str) -> Cdag:
    sources = np.concatenate([np.ravel(source) for source, _ in links])
    targets = np.concatenate([np.ravel(target) for _, target in links])
    return build(sizes, sources, targets, name=name)


def _limit(edges: int, place: str) -> None:
    if edges > MOST_EDGES:
        raise InputError("is too large to generate", place=place, value=f"{edges} edges", allowed=f"up to {MOST_EDGES}")


def dwt(*, n: int, d: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return DWT(n, d): samples, then per level averages and coefficients alternating (Definition 3.1).

    Nodes are numbered layer by layer, S_1 (n samples), S_2 (n nodes), S_3 (n / 2), ...; in every layer after the first
    the first, third, ... node is an average and the second, fourth, ... a coefficient, an output. Raises
    :class:`InputError` if 2^d does not divide n.

    >>> cdag = dwt(n=8, d=3, word=1)
    >>> cdag.n, len(cdag.outputs())
    (22, 8)
    """
    if n % 2**d:
        raise InputError("must be a multiple of 2^d", place="dwt:n", value=n, allowed=f"multiples of {2**d}")
    below = np.arange(n, dtype=np.int64)  # what the next level reads: samples, then averages
    links: Links = []
    offset = n
    for _ in range(d):
        layer = offset + np.arange(len(below), dtype=np.int64)
        pairs = below.reshape(-1, 2)
        for node in (layer[0::2], layer[1::2]):
            links.append((pairs, np.repeat(node, 2)))
        offset += len(layer)
        below = layer[0::2]
    return _built(_sized(n, offset, weights, word), links, name)


def mvm(*, m: int, n: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return MVM(m, n): per column x_j and its m matrix entries, then all products, then the sums column by column.

    The numbering is the one of Definition 4.1: input j (m + 1) is x_j, input j (m + 1) + 1 + i is a_ij, product
    (m + 1) n + j m + i is a_ij x_j, sum i of column j > 0 follows in the same order.

    >>> mvm(m=2, n=2, word=1).n
    12
    """
    _limit(4 * m * n, "mvm")
    rows, columns = np.meshgrid(np.arange(m), np.arange(n), indexing="ij")
    inputs = n * (m + 1)
    products = inputs + columns * m + rows
    links: Links = [(columns * (m + 1) + 1 + rows, products), (columns * (m + 1), products)]
    sums = _accumulated(products, inputs + m * n, links)
    return _built(_sized(inputs, sums, weights, word), links, name)


def _accumulated(products: IntArray, offset: int, links: Links) -> int:
    """Link the sums of each row of ``products`` (shape (rows, terms)), column by column; return the next free index."""
    rows, terms = products.shape
    carried = products[:, 0]
    for term in range(1, terms):
        sums = offset + np.arange(rows, dtype=np.int64)
        links += [(carried, sums), (products[:, term], sums)]
        carried = sums
        offset += rows
    return offset


def matmul(*, m: int, n: int, k: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return the product of A (m x k) and B (k x n): A by rows, B by rows, products by term, then sums by term.

    >>> matmul(m=2, n=2, k=3, word=1).n
    32
    """
    _limit(4 * m * n * k, "matmul")
    row, column, term = np.meshgrid(np.arange(m), np.arange(n), np.arange(k), indexing="ij")
    inputs = m * k + k * n
    products = inputs + term * m * n + row * n + column
    links: Links = [(row * k + term, products), (m * k + term * n + column, products)]
    end = _accumulated(products.reshape(m * n, k), inputs + m * n * k, links)
    return _built(_sized(inputs, end, weights, word), links, name)


def fft(*, n: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return the butterfly network on n points (a power of two): n inputs, then log2 n layers of n nodes.

    >>> fft(n=8, word=1).n
    32
    """
    if n & (n - 1):
        raise InputError("must be a power of two", place="fft:n", value=n, allowed="2, 4, 8, ...")
    points = np.arange(n, dtype=np.int64)
    links: Links = []
    levels = n.bit_length() - 1
    for level in range(levels):
        below, above = points + level * n, points + (level + 1) * n
        links += [(below, above), (below[points ^ (1 << level)], above)]
    return _built(_sized(n, n * (levels + 1), weights, word), links, name)


def kary(*, k: int, depth: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return the complete tree of ``depth`` levels above k^depth inputs, inputs first, the root last.

    >>> kary(k=3, depth=2, word=1).n
    13
    """
    if k**depth > MOST_EDGES:
        _limit(k**depth, "kary")
    layer = np.arange(k**depth, dtype=np.int64)
    links: Links = []
    offset = len(layer)
    while len(layer) > 1 or not links:
        above = offset + np.arange(len(layer) // k, dtype=np.int64)
        links.append((layer, np.repeat(above, k)))
        offset += len(above)
        layer = above
        if len(links) == depth:
            break
    return _built(_sized(k**depth, offset, weights, word), links, name)


def random_tree(*, n: int, k: int, most: int, seed: int, name: str = "") -> Cdag:
    """Return a random tree of n nodes (the root last), at most k parents each, weights uniform in 1..most."""
    generator = np.random.default_rng(seed)
    free = np.full(n, k, dtype=np.int64).tolist()  # places for parents left, by distance from the root
    open_nodes = [0]
    child = [0] * n
    draws = generator.random(n).tolist()
    for node in range(1, n):
        position = int(draws[node] * len(open_nodes))
        chosen = open_nodes[position]
        child[node] = chosen
        free[chosen] -= 1
        if free[chosen] == 0:
            open_nodes[position] = open_nodes[-1]
            open_nodes.pop()
        open_nodes.append(node)
    sources = n - 1 - np.arange(1, n, dtype=np.int64)
    targets = n - 1 - np.array(child[1:], dtype=np.int64)
    return build(generator.integers(1, most + 1, n), sources, targets, name=name)


def stencil(*, n: int, t: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return t steps of a three-point stencil on n cells; the ends read two cells.

    >>> stencil(n=4, t=2, word=1).edges
    20
    """
    _limit(3 * n * t, "stencil")
    cells = np.arange(n, dtype=np.int64)
    links: Links = []
    for step in range(t):
        below, above = cells + step * n, cells + (step + 1) * n
        links += [(below[:-1], above[1:]), (below, above), (below[1:], above[:-1])]
    return _built(_sized(n, n * (t + 1), weights, word), links, name)


def pyramid(*, n: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return the pyramid of n levels above n + 1 inputs; every node reads two neighbours of the level below.

    >>> pyramid(n=10, word=1).n
    66
    """
    below = np.arange(n + 1, dtype=np.int64)
    links: Links = []
    offset = n + 1
    for size in range(n, 0, -1):
        above = offset + np.arange(size, dtype=np.int64)
        links += [(below[:-1], above), (below[1:], above)]
        offset += size
        below = above
    return _built(_sized(n + 1, offset, weights, word), links, name)


def conv(*, h: int, w: int, c: int, f: int, k: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return a convolution without padding: c channels of h x w cells, f filters of c x k x k, one sum per output.

    Nodes: cells by channel and row, filter entries by filter, then products and sums as in :func:`matmul`.

    >>> conv(h=3, w=3, c=1, f=1, k=2, word=1).outputs().size
    4
    """
    if k > min(h, w):
        raise InputError("must not exceed h and w", place="conv:k", value=k, allowed=f"1 to {min(h, w)}")
    rows, columns = h - k + 1, w - k + 1
    terms = c * k * k
    _limit(4 * f * rows * columns * terms, "conv")
    output, term = np.meshgrid(np.arange(f * rows * columns), np.arange(terms), indexing="ij")
    which, row, column = output // (rows * columns), output // columns % rows, output % columns
    channel, dy, dx = term // (k * k), term // k % k, term % k
    inputs = c * h * w + f * terms
    products = inputs + term * (f * rows * columns) + output
    cells = (channel * h + row + dy) * w + column + dx
    links: Links = [(cells, products), (c * h * w + which * terms + term, products)]
    end = _accumulated(products, inputs + products.size, links)
    return _built(_sized(inputs, end, weights, word), links, name)


def attention(*, n: int, d: int, weights: str = "equal", word: int = 16, name: str = "") -> Cdag:
    """Return one attention head on n tokens of d numbers: Q, K, V, scores, their exponentials, row sums, and O.

    Scores and outputs are sums accumulated one product at a time; each exponential is divided by its row's sum.

    >>> attention(n=2, d=2, word=1).outputs().size
    4
    """
    _limit(8 * n * n * d, "attention")
    inputs = 3 * n * d
    links: Links = []

    def summed(left: IntArray, right: IntArray, offset: int) -> tuple[IntArray, int]:
        rows, terms = left.shape
        products = (offset + np.arange(rows * terms, dtype=np.int64)).reshape(terms, rows).T
        links.extend([(left, products), (right, products)])
        end = _accumulated(products, offset + rows * terms, links)
        return (np.arange(end - rows, end, dtype=np.int64) if terms > 1 else products[:, 0]), end

    query, key, term = np.meshgrid(np.arange(n), np.arange(n), np.arange(d), indexing="ij")
    scores, offset = summed((query * d + term).reshape(n * n, d), (n * d + key * d + term).reshape(n * n, d), inputs)
    exponentials = offset + np.arange(n * n, dtype=np.int64)
    links.append((scores, exponentials))
    offset = _accumulated(exponentials.reshape(n, n), offset + n * n, links)
    totals = np.arange(offset - n, offset, dtype=np.int64) if n > 1 else exponentials
    shares = offset + np.arange(n * n, dtype=np.int64)
    links.append((exponentials, shares))
    if n > 1:
        links.append((np.repeat(totals, n), shares))
    row, column, term = np.meshgrid(np.arange(n), np.arange(d), np.arange(n), indexing="ij")
    _, end = summed(
        shares[row * n + term].reshape(n * d, n), (2 * n * d + term * d + column).reshape(n * d, n), offset + n * n
    )
    return _built(_sized(inputs, end, weights, word), links, name)


def random_cdag(*, n: int, degree: int, window: int, most: int, seed: int, name: str = "") -> Cdag:
    """Return a random CDAG: node v reads up to ``degree`` nodes among the ``window`` before it.

    About one node in five, and the first, is an input. Nodes that nothing reads are outputs; weights are uniform in
    1..most.
    """
    _limit(n * degree, "random")
    generator = np.random.default_rng(seed)
    computed = generator.random(n) < 0.8
    computed[0], computed[1] = False, True
    counts = np.where(computed, generator.integers(1, degree + 1, n), 0)
    targets = np.repeat(np.arange(n, dtype=np.int64), counts)
    back = 1 + (generator.random(len(targets)) * np.minimum(targets, window)).astype(np.int64)
    sources = targets - back
    unused = np.setdiff1d(np.flatnonzero(~computed), sources)
    # An input that nothing reads is read by the next computed node, so that no node is isolated.
    follower = np.flatnonzero(computed)[np.searchsorted(np.flatnonzero(computed), unused).clip(max=computed.sum() - 1)]
    reads = unused < follower
    sources = np.concatenate([sources, unused[reads], np.full((~reads).sum(), 0, dtype=np.int64)])
    targets = np.concatenate([targets, follower[reads], unused[~reads]])
    return build(generator.integers(1, most + 1, n), sources, targets, name=name)
