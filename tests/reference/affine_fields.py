"""Random systems of fields in C: some values at every place of a line or plane, computed from one another's neighbours."""

from __future__ import annotations

import numpy as np


def field_program(seed: int) -> tuple[int, str]:
    """Return the number of dimensions and the C text of a program with parameters N and T."""
    rng = np.random.default_rng(seed)
    dimensions, count = int(rng.integers(1, 3)), int(rng.integers(1, 5))
    names, loops = "uvwp"[:count], "ij"[:dimensions]
    second = rng.integers(3) == 2  # of second order in time
    sweep = "".join(f"for (int {loop} = 2; {loop} < N - 2; {loop}++) " for loop in loops)
    body = ""
    for name in names:
        terms = " + ".join(_term(rng, names, loops) for _ in range(int(rng.integers(1, 4))))
        own = name + "".join(f"[{loop}]" for loop in loops)
        if second and name == names[0]:
            before = own.replace(name, f"{name}b")
            body += f"{sweep}{before} = {terms} - {before};\n{sweep}{own} = {before} + {own};\n"
        else:
            body += f"{sweep}{own} = {own} + {terms};\n"
    arrays = [*names, *([f"{names[0]}b"] if second else [])]
    declared = ", ".join(f"double {name}" + "[N]" * dimensions for name in arrays)
    loop = f"for (int t = 0; t < T; t++) {{\n{body}}}"
    return dimensions, f"void f(int N, int T, {declared}) {{\n#pragma scop\n{loop}\n#pragma endscop\n}}"


def _term(rng: np.random.Generator, names: str, loops: str) -> str:
    """Return a neighbour of some field, mostly with the opposite one."""
    name = names[int(rng.integers(len(names)))]
    far = 3 if len(loops) == 1 else 2
    shift = [0] * len(loops)
    shift[int(rng.integers(len(loops)))] = int(rng.integers(1 - far, far))
    if rng.random() < 0.2:
        shift = rng.integers(-1, 2, len(loops)).tolist()
    terms = [shift, [-value for value in shift]] if rng.random() < 0.8 else [shift]
    return " + ".join(
        name + "".join(f"[{loop}{by:+d}]" for loop, by in zip(loops, item, strict=True)) for item in terms
    )
