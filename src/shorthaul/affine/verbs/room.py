"""The least fast memory in which a program runs at all, found from its statements."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from shorthaul.affine.integer_sets.points import at_sizes
from shorthaul.affine.model import Program, Statement
from shorthaul.core.errors import Demand, InfeasibleError


def lack_of_room(program: Program, sizes: Mapping[str, int], capacity: int) -> InfeasibleError | None:
    """Return the error for the instance that needs most, None where each fits into ``capacity`` with its operands.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> print(lack_of_room(kernel("matvec"), {"M": 9, "N": 9}, 3))
    infeasible at S1[0, 0] (line 8: y[i] += A[i][j] * x[j]): fast memory: 4 needed, the limit is 3
      its operands: 3
      its result: 1
      do:      use S, or every --level, of at least 4 words
    """
    most, found = capacity - 1, None
    for statement in program.statements:
        if len(statement.reads) > most:
            count, where = _most_operands(statement, sizes, most)
            if where is not None:
                most, found = count, (statement, where)
    if found is None:
        return None
    statement, where = found
    point = where.lexmin().sample_point()
    values = [point.get_coordinate_val(isl.dim_type.set, at).to_python() for at in range(len(statement.iterators))]
    label = f"{statement.name}[{', '.join(map(str, values))}]"
    return InfeasibleError(
        "fast memory",
        demand=most + 1,
        limit=capacity,
        place=f"{label} (line {statement.place.line}: {statement.text})",
        contributors=[Demand("its operands", most), Demand("its result", 1)],
        cure=f"use S, or every --level, of at least {most + 1} words",
    )


def _most_operands(statement: Statement, sizes: Mapping[str, int], above: int) -> tuple[int, isl.Set | None]:
    """Return the most elements that an instance reads, more than ``above``, and the instances that read as many."""
    best: tuple[int, isl.Set | None] = (above, None)
    every = [(item.array, at_sizes(item.relation, sizes)) for item in statement.reads]

    def choose(where: isl.Set, chosen: list[int], at: int) -> None:
        """Go on with the reads from ``at`` for the instances ``where``, which read the elements of ``chosen``."""
        nonlocal best
        if len(chosen) + len(every) - at <= best[0] or where.is_empty():
            return
        if at == len(every):
            best = len(chosen), where
            return
        array, read = every[at]
        again = where.subtract(read.domain())
        for other in chosen:
            if every[other][0] == array:
                again = again.union(where.intersect(read.intersect(every[other][1]).domain()))
        choose(where.subtract(again).coalesce(), [*chosen, at], at + 1)
        choose(again.coalesce(), chosen, at + 1)

    choose(at_sizes(statement.domain, sizes), [], 0)
    return best
