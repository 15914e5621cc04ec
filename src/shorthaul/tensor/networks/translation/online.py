"""Softmax in its online form: rows that one product adds up over may be cut, as its sums can be scaled anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shorthaul.tensor.networks.model import Access, Operator, Tensor


def with_running_rows(operators: Sequence[Operator], tensors: Sequence[Tensor]) -> tuple[Operator, ...]:
    """Return the operators, where a softmax that one product alone reads, and adds up over its rows, may be cut there.

    A tile of a row is normalised by itself; sums of products of tiles are then weighed by the sums of exponentials
    (Milakov, Gimelshein 2018; Rabe, Staats 2021).
    """
    readers: dict[int, list[Operator]] = {}
    for item in operators:
        for access in item.reads:
            readers.setdefault(access.tensor, []).append(item)
    return tuple(_with_running_row(item, tensors, readers) for item in operators)


def _with_running_row(item: Operator, tensors: Sequence[Tensor], readers: dict[int, list[Operator]]) -> Operator:
    if item.kind != "Softmax" or item.barrier or len(item.whole) != 1:
        return item
    made = item.writes[0].tensor
    read_by = readers.get(made, [])
    if len(read_by) != 1 or tensors[made].is_output or read_by[0].kind != "MatMul" or len(read_by[0].reads) != 2:
        return item
    product = read_by[0]
    access = next(access for access in product.reads if access.tensor == made)
    (row,) = item.whole
    own, theirs = _plain(item.writes[0]), _plain(access)
    if own is None or theirs is None or access.shape != tensors[made].shape or row not in own:
        return item
    along = theirs[own.index(row)]
    if any((a < 0) != (b < 0) for a, b in zip(own, theirs, strict=True)):
        return item
    if product.reduced != (along,) or product.dims[along] != item.dims[row]:
        return item
    return replace(item, whole=frozenset(), running=item.whole)


def _plain(access: Access) -> list[int] | None:
    """Return the dimension along every axis, -1 for one place; None where an axis is more, or two are alike."""
    if access.steps or any(index.terms[1:] or index.offset or index.divisor != 1 for index in access.axes):
        return None
    if any(factor != 1 for index in access.axes for _, factor in index.terms):
        return None
    dims = [index.terms[0][0] if index.terms else -1 for index in access.axes]
    used = [dim for dim in dims if dim >= 0]
    return dims if len(set(used)) == len(used) else None
