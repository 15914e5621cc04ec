"""Random affine programs in C, of kinds that the built-in kernels do not cover, and random orders of their instances."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
_FAR = 6  # every subscript is moved by so much, so that none is negative
_ARRAYS = {"A": 2, "B": 2, "C": 2, "D": 1, "E": 1, "F": 3, "s": 0}


def random_program(seed: int) -> str:
    """Return the C text of a random program with parameters N and M."""
    rng = np.random.default_rng(seed)
    kind = int(rng.integers(16))
    if kind >= 10:
        body = (_recurrence, _scans, _sweeps)[kind % 3](rng)
    elif kind < 5:
        body = "\n".join(_nest(rng) for _ in range(int(rng.integers(1, 4))))
    elif kind < 8:
        body = _stencil(rng)
    else:
        body = _stencil(rng) + "\n" + _nest(rng)
    declared = ", ".join(
        f"double {name}" + "".join("[4 * N + 4 * M + 30]" for _ in range(width)) for name, width in _ARRAYS.items()
    )
    return f"void kernel(int N, int M, {declared}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def _pick(rng: np.random.Generator, *options: str) -> str:
    return options[int(rng.integers(len(options)))]


def _header(rng: np.random.Generator, name: str, outer: list[str]) -> str:
    size = _pick(rng, "N", "N", "M")
    low, high = _pick(rng, "0", "0", "1"), _pick(rng, size, size, f"{size} - 1", f"{size} + 1")
    if outer:
        other = outer[int(rng.integers(len(outer)))]
        shape = int(rng.integers(8))
        if shape == 0:
            low = other
        elif shape == 1:
            low = f"{other} + 1"
        elif shape == 2:
            high = other
        elif shape == 3:
            high = f"{other} + 1"
        elif shape == 4:
            low, high = other, f"{other} + {size}"  # skewed
    step = int(rng.integers(12))
    if step == 0:
        return f"for (int {name} = {low}; {name} < {high}; {name} += 2)"
    if step <= 2:
        return f"for (int {name} = {high} - 1; {name} >= {low}; {name}--)"
    return f"for (int {name} = {low}; {name} < {high}; {name}++)"


def _subscript(rng: np.random.Generator, names: list[str]) -> str:
    if not names:
        return str(_FAR)
    first, second = (names[int(rng.integers(len(names)))] for _ in range(2))
    kind = int(rng.integers(14))
    shift = int(rng.integers(-2, 3))
    if kind == 0:
        return f"{first} + {second} + {_FAR}"
    if kind == 1:
        return f"{first} - {second} + N + M + {_FAR}"
    if kind == 2:
        return str(_FAR)
    if kind == 3:
        return f"N + M - {first} + {_FAR}"
    if kind <= 6:
        return f"{first} + {_FAR + shift}"
    return f"{first} + {_FAR}"


def _access(rng: np.random.Generator, array: str, names: list[str]) -> str:
    return array + "".join(f"[{_subscript(rng, names)}]" for _ in range(_ARRAYS[array]))


def _statement(rng: np.random.Generator, names: list[str]) -> str:
    arrays = list(_ARRAYS)
    target = _access(rng, arrays[int(rng.integers(len(arrays)))], names)
    reads = [_access(rng, arrays[int(rng.integers(len(arrays)))], names) for _ in range(int(rng.integers(0, 4)))]
    if rng.integers(2):
        reads.append(target)
    text = f"{target} = {' + '.join(reads) or '0.0'};"
    guard = int(rng.integers(12))
    if names and guard == 0:
        text = f"if (({' + '.join(names)}) % 2 == 0) {text}"
    elif len(names) > 1 and guard == 1:
        text = f"if ({names[0]} {_pick(rng, '<', '<=', '>')} {names[-1]}) {text}"
    elif names and guard == 2:
        text = f"if ({names[-1]} {_pick(rng, '>', '<')} {_pick(rng, '0', '1', 'N / 2')}) {text}"
    return text


def _nest(rng: np.random.Generator) -> str:
    depth = int(rng.integers(1, 4))
    names = ["i", "j", "k"][:depth]
    lines = []
    for at, name in enumerate(names):
        lines.append(f"{_header(rng, name, names[:at])} {{")
        if at + 1 < depth and rng.integers(3) == 0:
            lines.append(_statement(rng, names[: at + 1]))
    lines += [_statement(rng, names) for _ in range(int(rng.integers(1, 3)))]
    for at in range(depth - 1, 0, -1):
        lines.append("}")
        if rng.integers(4) == 0:
            lines.append(_statement(rng, names[:at]))
    return "\n".join([*lines, "}"])


def _stencil(rng: np.random.Generator) -> str:
    """Return time steps over a line or a plane with a random neighbourhood: in place, or from one array to another."""
    width = int(rng.integers(1, 3))
    names = ["i", "j"][:width]
    lines = [_pick(rng, "for (int t = 0; t < M; t++) {", "for (int t = 1; t <= M; t++) {")]
    skew = rng.integers(4) == 0
    loops = []
    for name in names:
        low, high = _pick(rng, "0", "1", "2"), _pick(rng, "N", "N - 1", "N + 1")
        if skew:
            low, high = f"t + {low}", f"t + {high}"
        loops.append(f"for (int {name} = {low}; {name} < {high}; {name}++)")
    shift = " - t + M" if skew else ""

    def place(offset: list[int]) -> str:
        return "".join(f"[{name}{shift} + {_FAR + value}]" for name, value in zip(names, offset, strict=True))

    def reads(array: str) -> str:
        count = int(rng.integers(2, 6))
        found = [array + place([int(value) for value in rng.integers(-2, 3, width)]) for _ in range(count)]
        if rng.integers(4) == 0:
            found.append(("E" if width == 1 else "C") + place([0] * width))
        return " + ".join(found)

    one, other = ("D", "E") if width == 1 else ("A", "B")
    pairs = [(one, one)] if rng.integers(3) == 0 else [(other, one), (one, other)]
    for target, source in pairs:
        lines += [*loops, f"  {target}{place([0] * width)} = {reads(source)};"]
    return "\n".join([*lines, "}"])


def _line(rng: np.random.Generator, name: str, *, last: str = "N") -> str:
    if rng.integers(4) == 0:
        return f"for (int {name} = {last} - 1; {name} >= 0; {name}--)"
    return f"for (int {name} = 0; {name} < {last}; {name}++)"


def _recurrence(rng: np.random.Generator) -> str:
    """Return steps that each reduce a vector to a scalar and change the vector by it, as Levinson and Durbin do."""
    last = _pick(rng, "N", "t", "t", "N - t")
    mirrored = f"{last} - 1 - i + M + {_FAR}"

    def vector(array: str) -> str:
        return f"{array}[{_pick(rng, f'i + M + {_FAR}', mirrored)}]"

    lines = [_pick(rng, "for (int t = 1; t < N; t++) {", "for (int t = 0; t < M; t++) {")]
    start, head = _pick(rng, "0.0", "s", "D[t]"), _pick(rng, "s = s + D[t];", "")
    lines += [f"s = {start};", f"{_line(rng, 'i', last=last)} s += {vector('D')} * {vector('E')};", head]
    change = f"{vector('E')} + s * {_pick(rng, vector('E'), vector('D'), '1.0')}"
    if rng.integers(2):
        lines += [f"{_line(rng, 'i', last=last)} F[0][0][i] = {change};"]
        lines += [f"{_line(rng, 'i', last=last)} E[i + M + {_FAR}] = F[0][0][i];"]
    else:
        lines += [f"{_line(rng, 'i', last=last)} E[i + M + {_FAR}] = E[i + M + {_FAR}] / s;"]
    if rng.integers(2):
        lines.append(f"E[{last} + M + {_FAR}] = s;")
    return "\n".join([*lines, "}"])


def _scans(rng: np.random.Generator) -> str:
    """Return two scans of every row of a matrix that a third loop joins."""
    far, shared = str(_FAR), _pick(rng, "C[i][j]", "C[0][j]", "C[i][j + 1]", "D[j]")
    other = _pick(rng, shared, "C[i][j]", "1.0")
    lines = [_line(rng, "i", last="M") + " {"]
    back = rng.integers(3) > 0
    lines.append(f"for (int j = 1; j < N; j++) A[i][j] = A[i][j - 1] + {shared};")
    if back:
        lines.append(f"for (int j = N - 1; j >= 1; j--) B[i][j] = B[i][j + 1] + {other};")
    else:
        lines.append(f"for (int j = 1; j < N; j++) B[i][j] = B[i][j - 1] + {other};")
    place = _pick(rng, "j", "j", "N - j")
    lines.append(f"for (int j = 1; j < N; j++) F[i][j][{far}] = A[i][j] * B[i][{place}];")
    return "\n".join([*lines, "}"])


def _sweeps(rng: np.random.Generator) -> str:
    """Return two sweeps over a matrix, the second one with what the first one has reduced."""
    inner = _pick(rng, "N", "N", "i + 1")
    lines = [_line(rng, "i", last="M") + " {", "D[i] = 0.0;" if rng.integers(2) else ""]
    lines.append(f"for (int j = 0; j < {inner}; j++) D[i] += A[{_pick(rng, 'i][j', 'j][i', 'i][j')}] * E[j];")
    if rng.integers(2):
        lines += ["}", _line(rng, "i", last="M") + " {"]
    change = _pick(rng, "E[j] = E[j] + A[i][j] * D[i];", "C[i][j] = A[i][j] / D[i];", "A[i][j] = A[i][j] - D[i];")
    lines.append(f"for (int j = 0; j < {inner}; j++) {change}")
    return "\n".join([*lines, "}"])


def random_order(starts: IntArray, operands: IntArray, inputs: int, rng: np.random.Generator, style: str) -> IntArray:
    """Return a topological order of the computed vertices: ``depth`` first, ``breadth`` first, or at ``random``."""
    n = len(starts) - 1
    users: list[list[int]] = [[] for _ in range(n)]
    missing = np.zeros(n, dtype=np.int64)
    for vertex in range(inputs, n):
        for operand in operands[starts[vertex] : starts[vertex + 1]].tolist():
            if operand >= inputs:
                users[operand].append(vertex)
                missing[vertex] += 1
    clock = 0
    ready: list[tuple[float, int]] = []

    def rank(vertex: int) -> float:
        if style == "depth":
            return -clock + float(rng.random())
        if style == "breadth":
            return clock + float(rng.random())
        return float(rng.random())

    for vertex in range(inputs, n):
        if missing[vertex] == 0:
            heapq.heappush(ready, (rank(vertex) if style == "random" else float(vertex), vertex))
    order = []
    while ready:
        _, vertex = heapq.heappop(ready)
        order.append(vertex)
        clock += 1
        for user in users[vertex]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, (rank(user), user))
    return np.array(order, dtype=np.int64)


def thrifty_order(starts: IntArray, operands: IntArray, inputs: int, capacity: int) -> IntArray:
    """Return the order of a player who always computes what needs the fewest loads, the most recent data first.

    The fast memory is simulated with least-recently-used replacement; quadratic, for small graphs.
    """
    n = len(starts) - 1
    reads = [operands[starts[v] : starts[v + 1]].tolist() for v in range(n)]
    users: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for vertex in range(inputs, n):
        for operand in reads[vertex]:
            users[operand].append(vertex)
            missing[vertex] += operand >= inputs
    ready = {vertex for vertex in range(inputs, n) if missing[vertex] == 0}
    left = [len(item) for item in users]
    last: dict[int, int] = {}
    order = []
    for clock in range(n - inputs):
        recent = sorted((at, value) for value, at in last.items() if left[value])[-capacity + 1 :]
        red = {value: at for at, value in recent}
        vertex = min(
            ready,
            key=lambda v: (
                sum(1 for u in reads[v] if u not in red),
                -sum(1 for u in reads[v] if left[u] == 1),
                -max((red.get(u, -1) for u in reads[v]), default=-1),
                v,
            ),
        )
        ready.discard(vertex)
        order.append(vertex)
        for operand in reads[vertex]:
            left[operand] -= 1
            last[operand] = clock
        last = {value: at for value, at in last.items() if left[value]}
        if left[vertex]:
            last[vertex] = clock
        for user in users[vertex]:
            missing[user] -= 1
            if missing[user] == 0:
                ready.add(user)
    return np.array(order, dtype=np.int64)
