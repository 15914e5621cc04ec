"""How many axes arguments have of which no subscript says it: what products of arrays tell, and how they are called."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from shorthaul.affine.frontend.python.array_pieces import MODULES, SUMS, in_place, is_array_operation, is_new, is_outer
from shorthaul.affine.frontend.python.pieces import base_of, called_name, fail, names_in, number_of, shape_of


def told_axes(function: ast.FunctionDef, ranks: Mapping[str, int], numbers: Collection[str]) -> dict[str, int]:
    r"""Return axes of arguments that are factors of products, beside those known (``ranks``, 0 for ``numbers``).

    A factor has as many as the other one and the result leave. Where no product tells more, a name with a capital is a
    matrix, and one without beside a matrix a vector; so is what is added to a product.

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
            return {name: known[name] for name in arguments if known.get(name, 0) > ranks.get(name, 0)}


def least_axes(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield names of arrays with the axes that they have at least: by subscripts, lengths, products and sums.

    >>> (
    ...     [*least_axes(ast.parse("A[i] @ x", mode="eval").body)],
    ...     [*least_axes(ast.parse("A.sum(axis=1)", mode="eval").body)],
    ... )
    ([('A', 2)], [('A', 2)])
    """
    if isinstance(node, ast.Subscript):
        base, subscripts = base_of(node)
        if isinstance(base, ast.Name):
            yield base.id, sum(not is_new(item) for item in subscripts)
    if isinstance(node, ast.expr) and (shape := shape_of(node)) is not None and shape[1]:
        yield shape[0], shape[1] + 1
    if is_outer(node):
        yield from ((item.id, 1) for item in node.args if isinstance(item, ast.Name))  # type: ignore[attr-defined]
    rests = [(one, 1) for one, _ in _factors(node)] if isinstance(node, ast.expr) else []
    if isinstance(node, ast.Call) and (summed := _summed(node)) is not None:
        axis = 0 if summed[1] is None else number_of(summed[1]) or 0
        rests.append((summed[0], axis + 1 if axis >= 0 else -axis))
    for whole, count in rests:
        found = [(base.id, given) for base, given in map(base_of, in_place(whole)) if isinstance(base, ast.Name)]
        if any(is_new(item) or isinstance(item, ast.Slice) for _, given in found for item in given):
            found = [(base.id, given) for base, given in [base_of(whole)] if isinstance(base, ast.Name)]
        capitals = [item for item in found if item[0][0].isupper()]
        for name, given in capitals or found:
            if (given or count > 1) and not any(map(is_new, given)):
                yield name, count + sum(not isinstance(item, ast.Slice) for item in given)


def refuse_unclear_rows(function: ast.FunctionDef, ranks: Mapping[str, int]) -> None:
    """Raise where ``A[i]`` of an argument with a capital may be a row as well as an element: nothing tells which.

    Elements of others, sums in place, comparisons, and functions of numbers tell that it is an element.
    """
    parts = [item for item in ast.walk(function) if isinstance(item, ast.expr)]
    told = {ast.unparse(item.value) for item in parts if isinstance(item, ast.Subscript) and _is_sliced(item)}
    statements = [item for item in ast.walk(function) if isinstance(item, ast.Assign | ast.AugAssign)]
    told |= {shape[0] for item in statements if (shape := shape_of(item.value)) is not None and shape[1] is None}
    for item in parts:
        if isinstance(item, ast.Compare) or (isinstance(item, ast.Call) and _is_of_numbers(item)):
            inside = [one for one in ast.walk(item) if isinstance(one, ast.Subscript) and shape_of(one) is None]
            told |= {ast.unparse(base_of(one)[0]) for one in inside}
    free = {item.arg for item in function.args.args if item.arg[0].isupper() and ranks.get(item.arg) == 1}
    unknown = {item.arg for item in function.args.args if item.annotation is None} - ranks.keys()
    rows: dict[str, ast.stmt] = {}
    while told & free or not rows:
        free -= told
        rows = {"": function}
        for statement in statements:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            read = {one.id for one in names_in(statement.value)} & free
            if isinstance(statement.value, ast.Name) and statement.value.id in unknown:  # may be a row, too
                read |= {one.id for one in names_in(target)} & free
            for base, subscripts in map(base_of, getattr(target, "elts", [target])):
                name = base.id if isinstance(base, ast.Name) else ""
                single = [one for one in subscripts if not isinstance(one, ast.Slice)]
                if name in free or len(single) < ranks.get(name, 0):
                    rows |= dict.fromkeys(read, statement)
                elif subscripts or isinstance(statement, ast.AugAssign):
                    told |= read
    for name in sorted(free & rows.keys()):
        cure = f"name its extents, n, m = {name}.shape for a matrix, (n,) = {name}.shape for a vector"
        fail(rows[name], f"nothing tells whether {name} is a matrix, whose rows are meant, or a vector", cure)


def refuse_unclear_stacks(function: ast.FunctionDef, ranks: Mapping[str, int]) -> None:
    """Raise where ``A[0] @ x`` of arguments may be a number as well as an array, and nothing tells which.

    Of names with a capital; subscripts and extents tell how many axes A has, or that the product's value is a number.
    """
    arguments = {item.arg for item in function.args.args}
    told: dict[str, int] = {}
    parts = [item for item in ast.walk(function) if isinstance(item, ast.expr)]
    inside = {id(item.value) for item in parts if isinstance(item, ast.Subscript)}
    for item in parts:
        base, subscripts = base_of(item)
        if isinstance(base, ast.Name) and id(item) not in inside and subscripts:
            told[base.id] = max(told.get(base.id, 0), len(subscripts))
        if (shape := shape_of(item)) is not None:
            told[shape[0]] = max(told.get(shape[0], 0), 9 if shape[1] is None else shape[1] + 1)
    asked = [
        item for item in parts if isinstance(item, ast.Compare) or (isinstance(item, ast.Call) and _is_of_numbers(item))
    ]
    numbers = {one.id for item in asked for one in names_in(item)}
    statements = [item for item in ast.walk(function) if isinstance(item, ast.Assign | ast.AugAssign)]
    count = -1
    while count < len(numbers):
        count = len(numbers)
        for statement in statements:
            base, subscripts = base_of(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)
            name = base.id if isinstance(base, ast.Name) else ""
            single = sum(not isinstance(item, ast.Slice) for item in subscripts)
            if name in numbers if not subscripts else single == ranks.get(name):
                numbers |= {one.id for one in names_in(statement.value)}
    for statement in statements:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        if not isinstance(target, ast.Name) or target.id in numbers | arguments or ranks.get(target.id):
            continue
        for item in (
            one for part in ast.walk(statement.value) if isinstance(part, ast.expr) for one, _ in _factors(part)
        ):
            base, subscripts = base_of(item)
            name = base.id if isinstance(base, ast.Name) else ""
            if subscripts and name in arguments and name[0].isupper() and told.get(name, 0) < ranks.get(name, 0):
                cure = f"name its extents, as in n, m, k = {name}.shape"
                fail(item, f"nothing tells whether {name} has {ranks[name]} axes or more", cure)


def _is_sliced(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Slice)


def _is_of_numbers(node: ast.Call) -> bool:
    """True for functions of Python that take numbers alone."""
    of_math = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "math"
    return of_math or (isinstance(node.func, ast.Name) and node.func.id in {"min", "max", "float", "int"})


def _follow(statement: ast.Assign | ast.AugAssign, known: dict[str, int], arguments: Collection[str]) -> None:
    """Note what one statement tells."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    axes = _axes(target, known)
    if isinstance(target, ast.Name) and axes is None:
        found = _axes(statement.value, known)
        if found is not None and (target.id not in arguments or (found and isinstance(statement, ast.AugAssign))):
            known[target.id] = found  # an argument is updated in place where an array is added to it
    base, subscripts = base_of(target)
    if axes == 0 and subscripts and isinstance(base, ast.Name) and base.id in arguments:  # rows are assigned to a row
        known[base.id] += _axes(statement.value, known) or 0
    for item in in_place(statement.value):
        for one, other in _factors(item):
            beside = _axes(other, known)
            if isinstance(one, ast.Name) and one.id in arguments and one.id not in known and axes and beside:
                known |= {one.id: axes + 2 - beside} if 1 <= axes + 2 - beside <= 2 else {}


def _called_so(function: ast.FunctionDef, known: dict[str, int], arguments: Collection[str]) -> bool:
    """Note the axes of one name in or beside a product by its first letter; False if there is nothing to be noted."""
    free = {name for name in arguments if name not in known}
    pairs = [pair for item in ast.walk(function) if isinstance(item, ast.expr) for pair in _factors(item)]
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call)]
    along = [summed[0] for item in calls if (summed := _summed(item)) is not None and summed[1] is not None]
    for one in (*(one for one, _ in pairs), *along):
        if isinstance(one, ast.Name) and one.id in free and one.id[0].isupper():
            known[one.id] = 2
            return True
    for one, other in pairs:
        if isinstance(one, ast.Name) and one.id in free and _axes(other, known):
            known[one.id] = 1
            return True
    for item in ast.walk(function):
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add | ast.Sub):
            for one, other in ((item.left, item.right), (item.right, item.left)):
                axes = _axes(other, known) if isinstance(one, ast.Name) and one.id in free else None
                if axes and any(True for part in in_place(other) for _ in _factors(part)):
                    known[one.id] = axes if one.id[0].isupper() else 1  # type: ignore[attr-defined]
                    return True
    return False


def _summed(node: ast.Call) -> tuple[ast.expr, ast.expr | None] | None:
    """Return what a call sums along axes, and the axis."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in SUMS:
        return None
    of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in MODULES
    given = [*([] if of_module else [node.func.value]), *node.args]
    axes = [*given[1:], *(item.value for item in node.keywords if item.arg == "axis")]
    return (given[0], axes[0] if axes else None) if given else None


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
    if is_outer(node):
        return 2
    for one, other in _factors(node):
        axes = _axes(one, known), _axes(other, known)
        return axes[0] + axes[1] - 2 if axes[0] and axes[1] else None
    is_in_place = isinstance(node, ast.Call) and not is_array_operation(node) and shape_of(node) is None
    if isinstance(node, ast.BinOp | ast.UnaryOp) or is_in_place:
        given = getattr(node, "args", None) or ast.iter_child_nodes(node)
        parts = [_axes(item, known) for item in given if isinstance(item, ast.expr)]
        return None if None in parts else max(item for item in parts if item is not None)
    return None
