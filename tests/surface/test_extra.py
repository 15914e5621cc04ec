"""What results hold beside plan, cost and bound is what the type of the verb says: every entry, and no other."""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import typing
from importlib import import_module
from typing import Any

import msgspec
import pytest

import shorthaul
from shorthaul.core.result import Result
from shorthaul.core.verbs import Verb
from tests.surface.test_keywords import VERBS
from tests.surface.test_wrong_calls import KEYWORDS, SMALL, plan_of

#: Further keywords under which a verb says more.
MORE: dict[str, list[dict[str, object]]] = {
    "affine bound": [{"size": "M=4,N=4,S=8"}],
    "affine check": [{"size": "M=2,N=2"}],
    "affine sweep": [{"balance": 4.0, "unit": "bytes"}],
    "dataflow bound": [{"mapping": None}],
    "spatial plan": [{"create": True}],
    "spatial sweep": [{"treefix": False}],
    "spatial treefix": [{"count_links": True}],
    "tensor sweep": [{"over": "bandwidth", "points": 2}],
}
VERBS_WITH_RESULTS = [(engine, name, made) for engine, name, made in VERBS if name != "cdag"]


def is_union(kind: Any) -> bool:
    """Return whether the type is a union."""
    return type(kind).__name__ == "UnionType" or typing.get_origin(kind) is typing.Union


def plain(kind: Any) -> Any:
    """Return the type with dictionaries for several TypedDicts in one union, which msgspec does not take."""
    if typing.is_typeddict(kind):
        fields = typing.get_type_hints(kind, include_extras=True)
        return typing.TypedDict(
            kind.__name__, {name: plain(inner) for name, inner in fields.items()}, total=kind.__total__
        )  # type: ignore[operator]
    inner = tuple(plain(one) for one in typing.get_args(kind))
    if is_union(kind):
        return dict if sum(map(typing.is_typeddict, inner)) > 1 else functools.reduce(operator.or_, inner)
    origin = typing.get_origin(kind)
    return typing.NotRequired[inner[0]] if origin is typing.NotRequired else list[inner[0]] if origin is list else kind  # type: ignore[valid-type]


def converts(value: Any, kind: Any) -> bool:
    """Return whether the value is of the type, one after the other of a union: msgspec takes one TypedDict in one."""
    for one in typing.get_args(kind) if is_union(kind) else (kind,):
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert(value, plain(one))
            return True
    return False


def unknown(value: Any, kind: Any, place: str = "extra") -> list[str]:
    """Return the entries that the type does not name."""
    if typing.get_origin(kind) is typing.NotRequired or is_union(kind):
        inner = [one for one in typing.get_args(kind) if typing.is_typeddict(one) or typing.get_args(one)]
        return min((unknown(value, one, place) for one in inner), key=len, default=[]) if value is not None else []
    if typing.get_origin(kind) is list:
        return [wrong for item in value for wrong in unknown(item, typing.get_args(kind)[0], f"{place}[]")]
    if not typing.is_typeddict(kind):
        return []
    fields = typing.get_type_hints(kind)
    return [f"{place}.{name}" for name in value if name not in fields] + [
        wrong for name in value if name in fields for wrong in unknown(value[name], fields[name], f"{place}.{name}")
    ]


@pytest.mark.parametrize(
    ("engine", "name", "made"), VERBS_WITH_RESULTS, ids=[f"{engine} {name}" for engine, name, _ in VERBS_WITH_RESULTS]
)
def test_extra_is_of_its_type(engine: str, name: str, made: Verb) -> None:
    annotation = str(made.signature().return_annotation)
    named = annotation.removeprefix("Result[").removesuffix("]").split(", ")[1:]
    function, plan = getattr(getattr(shorthaul, engine), name), plan_of(engine)
    own = {"plan": plan} if any(item.name == "plan" for item in made.explicit) else {}
    if engine == "dataflow" and name == "bound":
        point = plan.plan.front[0]
        own = {"mapping": shorthaul.dataflow.Decisions(point.binding, point.xi, point.channel_decision)}
    words = KEYWORDS.get(f"{engine} {name}", {})
    for more in ({}, *MORE.get(f"{engine} {name}", [])):
        result = function(SMALL[engine], **{**own, **words, **more})
        assert isinstance(result, Result)
        extra = json.loads(json.dumps(result.extra))
        if not named:
            assert extra == {}
            continue
        kind = getattr(import_module(f"shorthaul.{engine}.plan"), named[0])
        for entry, hint in typing.get_type_hints(kind, include_extras=True).items():
            if typing.get_origin(hint) is not typing.NotRequired:
                assert converts(extra[entry], hint), entry
            elif entry in extra:
                assert converts(extra[entry], *typing.get_args(hint)), entry
        assert not unknown(extra, kind)
