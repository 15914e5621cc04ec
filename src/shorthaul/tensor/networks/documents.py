"""Plans of networks as JSON: operators and loops by number, with their names beside."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from shorthaul.core.document import convert, expect_kind, load_json, save_json
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Loop, NetworkPlan

_KIND: Final = "shorthaul/network-plan"
_RESULT: Final = "shorthaul/tensor-result"


class _Loop(Struct, forbid_unknown_fields=True):
    operator: int
    dim: int
    tile: int
    name: str = ""


class _Group(Struct, forbid_unknown_fields=True):
    operators: list[int]
    loops: list[_Loop] = []
    kept: list[int] = []
    names: list[str] = []


def network_plan_document(plan: NetworkPlan, network: Network) -> dict[str, Any]:
    """Return ``plan`` as a JSON object."""
    groups = [
        {
            "operators": list(group.operators),
            "names": [network.operators[number].name for number in group.operators],
            "loops": [
                {
                    "operator": loop.operator,
                    "dim": loop.dim,
                    "tile": loop.tile,
                    "name": network.operators[loop.operator].dim_names[loop.dim],
                }
                for loop in group.loops
            ],
            "kept": list(group.kept),
        }
        for group in plan.groups
    ]
    return {"kind": _KIND, "version": 1, "groups": groups}


def save_network_plan(path: Path, plan: NetworkPlan, network: Network) -> None:
    """Write ``plan`` as JSON; raises :class:`InputError` if the file cannot be written."""
    save_json(path, network_plan_document(plan, network))


def load_network_plan(path: Path, network: Network) -> NetworkPlan:
    """Return the plan in a file, or in a result document; raises :class:`InputError` naming the place."""
    document = load_json(path)
    if isinstance(document, dict) and document.get("kind") == _RESULT:
        document = document.get("plan")
    document = expect_kind(document, _KIND, file=path)
    groups = convert(document.get("groups"), list[_Group], file=path, place="groups")
    for number, group in enumerate(groups):
        for loop in group.loops:
            known = 0 <= loop.operator < len(network.operators)
            if not known or not 0 <= loop.dim < len(network.operators[loop.operator].dims):
                place = f"groups[{number}].loops"
                raise InputError("is no dimension", file=path, place=place, value=[loop.operator, loop.dim])
    made = (
        Group(tuple(g.operators), tuple(Loop(x.operator, x.dim, x.tile) for x in g.loops), tuple(g.kept))
        for g in groups
    )
    return NetworkPlan(tuple(made))
