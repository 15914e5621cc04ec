"""Sets and maps as printed proofs show them: coordinates bear the names of the loops."""

from __future__ import annotations

import islpy as isl

from shorthaul.affine.model import Program

_SET, _IN, _OUT = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out


def set_text(points: isl.UnionSet | isl.Set | isl.UnionMap | isl.Map, program: Program) -> str:
    """Return a set or a map as text: instances with the names of their loops, array elements with a0, a1, ...

    Parameters are not listed again, as every proof names them once.

    >>> from shorthaul.affine.workloads.cases import kernel
    >>> set_text(isl.UnionSet("[N] -> { S0[x, y] : x < N }"), kernel("matmul"))
    '{ S0[i, j] : i < N }'
    """
    pieces: list[isl.Set | isl.Map] = []
    if isinstance(points, isl.UnionSet):
        points.foreach_set(pieces.append)
    elif isinstance(points, isl.UnionMap):
        points.foreach_map(pieces.append)
    else:
        pieces.append(points)
    shown = (
        _with_names(item, program) if isinstance(item, isl.Set) else _map_with_names(item, program) for item in pieces
    )
    texts = sorted(_body(str(item.coalesce())) for item in shown if not item.is_empty())
    return "{ " + "; ".join(texts) + " }" if texts else "{ }"


def _body(text: str) -> str:
    return text[text.index("{") + 1 : text.rindex("}")].strip()


def _names(name: str | None, width: int, program: Program) -> list[str]:
    statement = program.by_name.get(name or "")
    if statement is not None and len(statement.iterators) == width:
        return list(statement.iterators)
    return [f"a{at}" for at in range(width)]


def _with_names(points: isl.Set, program: Program) -> isl.Set:
    name = points.get_tuple_name() if points.has_tuple_name() else None
    for at, text in enumerate(_names(name, points.dim(_SET), program)):
        points = points.set_dim_name(_SET, at, text)
    return points


def _map_with_names(relation: isl.Map, program: Program) -> isl.Map:
    for side in (_IN, _OUT):
        name = relation.get_tuple_name(side) if relation.has_tuple_name(side) else None
        for at, text in enumerate(_names(name, relation.dim(side), program)):
            relation = relation.set_dim_name(side, at, text)
    return relation
