"""How many axes arguments have of which no subscript says it: what products of arrays tell, and how they are called."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from shorthaul.affine.frontend.python.array_pieces import in_place, is_new
from shorthaul.affine.frontend.python.pieces import base_of, called_name, shape_of


def told_axes(function: ast.FunctionDef, ranks: Mapping[str, int], numbers: Collection[str]) -> dict[str, int]:
    r"""Return axes of arguments that are factors of products, beside those known (``ranks``, 0 for ``numbers``).

    A factor has as many as the other one and the result leave. Where no product tells more, a name with a capital is a
    matrix, and one without beside a matrix a vector.

    >>> told_axes(ast.parse("def f(A, B, x):\n y = A @ (B @ x)\n return y").body[0], {}, ())
    {'A': 2, 'B': 2, 'x': 1}
    """
    arguments = [item.arg for item in function.args.args]
    known = {**dict.fromkeys(numbers, 0), **ranks}
    while True:
        before = dict(known)
        for statement in (item for item in ast.walk(function) if isinstance(item, ast.Assign | ast.AugAssign)):
            _follow(statement, known, arguments)
        if known == before and not _called_so(function, known, arguments):
            shapes = filter(None, map(shape_of, (item for item in ast.walk(function) if isinstance(item, ast.expr))))
            known |= {name: 1 for name, axis in shapes if not axis and name in arguments and name not in known}
            return {name: known[name] for name in arguments if known.get(name) and name not in ranks}


def _follow(statement: ast.Assign | ast.AugAssign, known: dict[str, int], arguments: Collection[str]) -> None:
    """Note what one statement tells."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    axes = _axes(target, known)
    if isinstance(target, ast.Name) and axes is None:
        found = _axes(statement.value, known)
        if found is not None and (target.id not in arguments or (found and isinstance(statement, ast.AugAssign))):
            known[target.id] = found  # an argument is updated in place where an array is added to it
    for item in in_place(statement.value):
        for one, other in _factors(item):
            beside = _axes(other, known)
            if isinstance(one, ast.Name) and one.id in arguments and one.id not in known and axes and beside:
                known |= {one.id: axes + 2 - beside} if 1 <= axes + 2 - beside <= 2 else {}


def _called_so(function: ast.FunctionDef, known: dict[str, int], arguments: Collection[str]) -> bool:
    """Note the axes of one name in a product by its first letter; False if there is nothing to be noted."""
    free = {name for name in arguments if name not in known}
    pairs = [pair for item in ast.walk(function) if isinstance(item, ast.expr) for pair in _factors(item)]
    for one, _ in pairs:
        if isinstance(one, ast.Name) and one.id in free and one.id[0].isupper():
            known[one.id] = 2
            return True
    for one, other in pairs:
        if isinstance(one, ast.Name) and one.id in free and _axes(other, known) == 2:
            known[one.id] = 1
            return True
    return False


def _factors(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield both factors of a product of arrays, each with the other one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield from ((node.left, node.right), (node.right, node.left))
    elif isinstance(node, ast.Call) and called_name(node) in {"dot", "matmul"} and len(node.args) == 2:
        yield from ((node.args[0], node.args[1]), (node.args[1], node.args[0]))


def _axes(node: ast.expr, known: Mapping[str, int]) -> int | None:
    """Return how many axes an expression has, None if that is not known."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Constant):
        return 0
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return _axes(node.value, known)
    if isinstance(node, ast.Subscript):
        base, subscripts = base_of(node)
        whole = _axes(base, known)
        fewer = sum(not is_new(item) and not isinstance(item, ast.Slice) for item in subscripts)
        return None if whole is None else whole - fewer + sum(map(is_new, subscripts))
    for one, other in _factors(node):
        axes = _axes(one, known), _axes(other, known)
        return axes[0] + axes[1] - 2 if axes[0] and axes[1] else None
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        parts = [_axes(item, known) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr)]
        return None if None in parts else max(item for item in parts if item is not None)
    return None
