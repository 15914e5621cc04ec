"""Every public function and class refuses what it cannot use, with an error that says what is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shorthaul
from shorthaul import affine, dataflow, pebble, spatial, tensor
from shorthaul.core.errors import InfeasibleError, InputError
from tests.surface.wrong_calls import Odd

ENGINES = (shorthaul, affine, dataflow, pebble, spatial, tensor)
#: What engines make and users read; errors; and the constants.
MADE = {
    "Cost", "InfeasibleError", "InputError", "NoPlanError", "Result", "ShorthaulError", "Status", "ConcreteCdag", "DataFlow",
    "affine.Plan", "Program", "Statement", "UpperBound", "PeriodicSchedule", "Point", "dataflow.Plan", "StoragePlan",
    "StoragePoint", "Cdag", "Move", "pebble.Plan", "Layout", "MachineError", "Nodes", "Register", "Selection", "Values", "Tree",
    "Network", "NetworkPlan", "OperatorType", "Rules", "MultiReaderBuffer", "cases",
}  # fmt: skip
ODD: tuple[object, ...] = (
    5,
    -1,
    True,
    1.5,
    "x",
    "",
    b"x",
    None,
    [],
    {},
    [None],
    {"a": Odd()},
    float("nan"),
    Odd(),
    object,
    2**80,
)
ACTOR, CHANNEL = dataflow.Actor("a", {"t1": 1}), dataflow.Channel("c", "a", "a", 4, delay=1)
CORE = dataflow.Core("p", "t1", 9)
TILE = dataflow.Tile("t", (CORE,), 9, 9.0)
APPLICATION = dataflow.Application("app", (ACTOR,), (CHANNEL,))
PROGRAM = affine.case("matvec").workload
CDAG = pebble.from_pairs([1, 1], [(0, 1)])
PROBLEM = tensor.case("example-3").workload
#: Arguments with which a public name works.
RIGHT: dict[str, dict[str, object]] = {
    "Bound": {"of": "x", "value": 1.0, "method": "m", "proof": "p"},
    "CheckReport": {"violations": ()},
    "Violation": {"rule": "r", "place": "p", "message": "m"},
    "Search": {"effort": 1.0, "time_limit": 9.0, "seed": 1, "workers": 1, "memory_limit": None},
    "convert": {"source": "a.dot", "target": "b.json", "capacity": 9.0, "bandwidth": 1.0, "native": "8x8", "network": False},
    "report": {"results": [], "path": "page.html"},
    "card": {"points": PROGRAM.context, "context": None},
    "affine.case": {"text": "matvec", "function": None},
    "concrete_cdag": {"program": PROGRAM, "sizes": {"M": 2, "N": 2}},
    "flow_dependences": {"program": PROGRAM},
    "affine.load_plan": {"path": "missing.json", "program": PROGRAM},
    "affine.save_plan": {"path": "p.json", "plan": None, "program": PROGRAM},
    "program_from_text": {"text": "", "function": None, "file": None},
    "upper_bound": {"program": PROGRAM, "flow": None, "small": (), "search": None},
    "Actor": {"id": "a", "tau": {"t1": 1}, "kind": "actor"},
    "Application": {"name": "app", "actors": (ACTOR,), "channels": (CHANNEL,), "time_unit": "us"},
    "Channel": {"id": "c", "src": "a", "dst": "b", "token_bytes": 4, "delay": 0, "capacity": 1, "produce": 1, "consume": 1},
    "Core": {"id": "p", "type": "t1", "local_bytes": 9},
    "CoreType": {"cost": 1.0},
    "Decisions": {"binding": {"a": "p"}, "xi": {}, "channel_decision": {}},
    "Platform": {"name": "p", "core_types": {"t1": dataflow.CoreType(1.0)}, "tiles": (TILE,), "noc_bytes_per_s": 9.0},
    "dataflow.Problem": {"application": APPLICATION, "platform": None, "mapping": None},
    "SdfActor": {"id": "a", "times": {"t1": 1}},
    "SdfChannel": {
        "id": "c", "source": "a", "production": 1, "target": "b", "consumption": 1, "tokens": 0, "token_bytes": 1
    },
    "SdfGraph": {"name": "g", "actors": (dataflow.SdfActor("a", {"t1": 1}),), "channels": ()},
    "Tile": {"id": "t", "cores": (CORE,), "tile_memory_bytes": 9, "crossbar_bytes_per_s": 9.0},
    "dataflow.case": {"text": "sobel"},
    "load_application": {"path": Path("missing.json"), "data": b"{}"},
    "load_platform": {"path": "missing.json"},
    "load_points": {"path": "missing.json"},
    "marked_graph": {"application": APPLICATION},
    "together": {"applications": {"one": APPLICATION}},
    "multicamera": {"cameras": 2, "width": 80, "height": 60},
    "platform24": {"tiles": 1, "per_type": 1, "local_bytes": 9, "tile_bytes": 9},
    "dataflow.save_plan": {"path": "p.json", "plan": dataflow.Plan()},
    "sobel": {"width": 80, "height": 60},
    "sobel4": {"width": 80, "height": 60},
    "substitute_mrbs": {"application": APPLICATION, "xi": {}},
    "write_sdf3": {"application": APPLICATION},
    "build": {"weights": [1, 1], "sources": [0], "targets": [1], "given": None, "compute": None, "ids": None, "name": ""},
    "pebble.case": {"text": "dwt"},
    "from_dependencies": {"tasks": {"a": ["b"]}, "weights": None, "compute": None, "name": ""},
    "from_pairs": {"weights": [1, 1], "edges": [(0, 1)], "name": ""},
    "load_cdag": {"path": "missing.json", "data": None},
    "pebble.load_plan": {"path": "missing.json", "cdag": CDAG},
    "plan_of": {"moves": [(1, 1)]},
    "pebble.save_plan": {"path": "p.json", "plan": pebble.plan_of([(1, 0)]), "cdag": CDAG},
    "Grid": {"width": 2, "height": 2},
    "spatial.Machine": {"x": [0, 1], "y": [0, 0], "grid": spatial.Grid(2, 1), "words": 9, "message_words": 2},
    "spatial.Operator": {"name": "sum", "combine": max, "identity": 0, "commutative": True, "words": 1},
    "spatial.case": {"text": "path:n=8", "forest": False, "search": None},
    "newick_from_tree": {"tree": spatial.tree_from_parents([-1, 0])},
    "tree_from_newick": {"data": "(a,b);", "forest": False, "search": None},
    "tree_from_parents": {"parent": [-1, 0], "forest": False, "labels": None},
    "tree_from_sklearn": {"estimator": 5},
    "Granularity": {"w": 1, "h": 1, "k": 1},
    "tensor.Machine": {"capacity": 9.0, "bandwidth": 1.0, "native_width": 1, "native_height": 1},
    "tensor.Operator": {"kind": tensor.OperatorType.POINTWISE, "inputs": (0,), "output": 1, "base_cost": 1.0},
    "tensor.Plan": {"subgraphs": ()},
    "tensor.Problem": {"tensors": PROBLEM.tensors, "operators": PROBLEM.operators, "machine": PROBLEM.machine},
    "Subgraph": {"operators": (0,), "granularity": tensor.Granularity(1, 1, 1), "retained": ()},
    "Tensor": {"width": 1, "height": 1},
    "tensor.case": {"text": "example-3"},
    "tensor.load_plan": {"path": "missing.json", "problem": PROBLEM},
    "load_problem": {"path": "missing.json", "data": None},
    "tensor.save_plan": {"path": "p.json", "plan": tensor.Plan(())},
    "save_problem": {"path": "p.json", "problem": PROBLEM},
}  # fmt: skip


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield what has no frame of a verb: with its engine where another has the name too."""
    for engine in ENGINES:
        for name in engine.__all__:
            item, full = getattr(engine, name), f"{engine.__name__.removeprefix('shorthaul.')}.{name}"
            if callable(item) and not hasattr(item, "__verb__") and not {name, full} & MADE:
                yield (full if full in RIGHT else name), item


NAMES = list(public_names())
WRONG_SHAPES = (TypeError, AttributeError, ValueError, LookupError, ArithmeticError, AssertionError)


@pytest.mark.parametrize(("name", "item"), NAMES, ids=[name for name, _ in NAMES])
def test_odd_arguments(name: str, item: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    right: dict[str, object] = {} if name.endswith("Options") else RIGHT[name]
    tried = right or dict.fromkeys(inspect.signature(item).parameters)
    wrong, refused = [], 0
    for argument in tried:
        for value in ODD:
            try:
                item(**{**right, argument: value})
            except (InputError, InfeasibleError):
                refused += 1
            except WRONG_SHAPES as error:
                wrong.append(f"{argument}={value!r}: {type(error).__name__} {error}"[:200])
    assert not wrong, "\n".join(wrong)
    assert refused >= len(tried)
    with pytest.raises((InputError, TypeError), match=r"budgett|unknown"):
        item(**right, budgett=1)
