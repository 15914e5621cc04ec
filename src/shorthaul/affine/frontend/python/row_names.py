"""Names for parts of arrays, as ``row = A[i]``: what is done with the name is done with the part."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shorthaul.affine.frontend.python.array_pieces import Replaced, is_new
from shorthaul.affine.frontend.python.pieces import assigned_names, base_of, names_in


def without_row_names(function: ast.FunctionDef, ranks: Mapping[str, int]) -> None:
    r"""Write parts of arrays in place of names that are set once to them, in place.

    >>> tree = ast.parse("def f(A, y):\n for i in range(9):\n  row = A[i]\n  y[i] = row[0] + row[1]")
    >>> without_row_names(tree.body[0], {"A": 2})
    >>> print(ast.unparse(tree.body[0].body[0].body))
    y[i] = A[i][0] + A[i][1]
    """
    arguments = {item.arg for item in function.args.args}
    for node in ast.walk(function):
        items = getattr(node, "body", None)
        if not isinstance(items, list):
            continue
        for at in reversed(range(len(items))):
            item, rest = items[at], items[at + 1 :]
            name = _named(item, ranks)
            if not name or name in arguments:
                continue
            elsewhere = sum(one.id == name for one in names_in(function)) - sum(_count(one, name) for one in rest)
            changed = {each for one in rest for inner in ast.walk(one) for each in assigned_names(inner)}
            plain = {each for one in rest for inner in ast.walk(one) for each in _set(inner)}
            if elsewhere == 1 and not changed & {each.id for each in names_in(item.value)} and name not in plain:
                items[at:] = [Replaced({name: item.value}).visit(one) for one in rest]


def _count(node: ast.AST, name: str) -> int:
    return sum(item.id == name for item in names_in(node))


def _set(node: ast.AST) -> Sequence[str]:
    """Return what a statement sets anew, not in place."""
    return [] if isinstance(node, ast.AugAssign) else assigned_names(node)


def _named(item: ast.stmt, ranks: Mapping[str, int]) -> str:
    """Return the name that a statement gives to a part of an array, which single subscripts choose."""
    if not isinstance(item, ast.Assign) or len(item.targets) != 1 or not isinstance(item.targets[0], ast.Name):
        return ""
    base, subscripts = base_of(item.value)
    is_part = isinstance(base, ast.Name) and 0 < len(subscripts) < ranks.get(base.id, 0)
    is_plain = not any(isinstance(one, ast.Slice) or is_new(one) for one in subscripts)
    return item.targets[0].id if is_part and is_plain else ""
