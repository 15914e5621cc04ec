"""Plans of networks as JSON: operators and loops by number, with their names beside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from shorthaul.core.document import convert, expect_kind, load_json, save_json
from shorthaul.core.errors import InputError
from shorthaul.core.result import Rows
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Inner, Loop, NetworkPlan

_KIND: Final = "shorthaul/network-plan"
_RESULT: Final = "shorthaul/tensor-result"


class _Loop(Struct, forbid_unknown_fields=True):
    operator: int
    dim: int
    tile: int
    name: str = ""


class _Inner(Struct, forbid_unknown_fields=True):
    operator: int
    level: int
    loops: list[_Loop] = []


class _Group(Struct, forbid_unknown_fields=True):
    operators: list[int]
    loops: list[_Loop] = []
    kept: list[int] = []
    names: list[str] = []
    inner: list[_Inner] = []


def network_plan_document(plan: NetworkPlan, network: Network) -> dict[str, Any]:
    """Return ``plan`` as a JSON object."""
    groups = [
        {
            "operators": list(group.operators),
            "names": [network.operators[number].name for number in group.operators],
            "loops": _loops(group.loops, network),
            "kept": list(group.kept),
            "inner": [
                {"operator": item.operator, "level": item.level, "loops": _loops(item.loops, network)}
                for item in group.inner
            ],
        }
        for group in plan.groups
    ]
    return {"kind": _KIND, "version": 1, "groups": groups}


def _loops(loops: Sequence[Loop], network: Network) -> list[dict[str, Any]]:
    return [
        {
            "operator": loop.operator,
            "dim": loop.dim,
            "tile": loop.tile,
            "name": network.operators[loop.operator].dim_names[loop.dim],
        }
        for loop in loops
    ]


def network_plan_table(plan: NetworkPlan, network: Network) -> Rows:
    """Return the columns, and a row per group: its operators, loops with their tiles, and tensors kept, by number."""

    def row(number: int, group: Group) -> list[object]:
        loops = [f"{item['operator']}.{item['name']}={item['tile']}" for item in _loops(group.loops, network)]
        names = [network.operators[operator].name for operator in group.operators]
        return [number, *(" ".join(map(str, items)) for items in (group.operators, names, loops, group.kept))]

    return ("group", "operators", "names", "loops", "kept"), map(row, count(), plan.groups)


def save_network_plan(path: Path, plan: NetworkPlan, network: Network) -> None:
    """Write ``plan`` as JSON; raises :class:`InputError` if the file cannot be written."""
    save_json(path, network_plan_document(plan, network))


def load_network_plan(path: Path, network: Network) -> NetworkPlan:
    """Return the plan in a file, or in a result document; raises :class:`InputError` naming the place."""
    document = load_json(path)
    if isinstance(document, dict) and document.get("kind") == _RESULT:
        document = document.get("plan")
    try:
        return network_plan_of(document, network)
    except InputError as error:
        raise error.in_file(path) from None


def network_plan_of(document: object, network: Network) -> NetworkPlan:
    """Return the plan in a JSON object; raises :class:`InputError` naming the place."""
    groups = convert(expect_kind(document, _KIND).get("groups"), list[_Group], place="groups")
    for number, group in enumerate(groups):
        for loop in (*group.loops, *(loop for item in group.inner for loop in item.loops)):
            known = 0 <= loop.operator < len(network.operators)
            if not known or not 0 <= loop.dim < len(network.operators[loop.operator].dims):
                place = f"groups[{number}].loops"
                raise InputError("is no dimension", place=place, value=[loop.operator, loop.dim])
    return NetworkPlan(tuple(_group(group) for group in groups))


def _group(group: _Group) -> Group:
    inner = tuple(Inner(item.operator, item.level, _made(item.loops)) for item in group.inner)
    return Group(tuple(group.operators), _made(group.loops), tuple(group.kept), inner)


def _made(loops: Sequence[_Loop]) -> tuple[Loop, ...]:
    return tuple(Loop(loop.operator, loop.dim, loop.tile) for loop in loops)
