"""An exploration as a journal keeps it: the state of the explorer, and the points that polishing has found."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from shorthaul.core.document import parse_json
from shorthaul.core.errors import InputError
from shorthaul.core.files.arrays import Column, read_archive
from shorthaul.dataflow.exploration.nsga2 import Individuals, State
from shorthaul.dataflow.formats.documents import points_from
from shorthaul.dataflow.mapping.arrays import Instance
from shorthaul.dataflow.plan import Plan, Point

_KIND: Final = "shorthaul/dataflow-state"
#: What each column of individuals is in a file.
_FORMS: Final = {
    "compact": Column(),
    "xi": Column(shape=(None, None)),
    "decision": Column(shape=(None, None)),
    "binding": Column(shape=(None, None)),
    "objectives": Column("f", (None, 3), finite=False),
}


@dataclass(frozen=True, slots=True)
class Explored:
    """Where the explorer stands, and the points of polishing; none before that began."""

    state: State
    points: tuple[Point, ...] = ()


def pack(explored: Explored) -> bytes:
    """Return an exploration as the bytes of a NumPy archive."""
    state = explored.state
    arrays = {
        f"{group}_{field.name}": getattr(getattr(state, group), field.name)
        for group in ("population", "archive")
        for field in fields(Individuals)
    }
    arrays |= {"rank": state.rank, "crowd": state.crowd, "reference": state.reference, "trace": np.array(state.trace)}
    header = {
        "kind": _KIND,
        "generation": state.generation,
        "random": state.random.bit_generator.state,
        "front": Plan(explored.points).document()["front"],
    }
    data = io.BytesIO()
    np.savez_compressed(data, header=np.array(json.dumps(header)), **arrays)
    return data.getvalue()


def unpack(data: bytes) -> Explored:
    """Return the exploration that :func:`pack` packed, of whatever network; raises :class:`InputError` for none."""
    groups = [(group, field.name) for group in ("population", "archive") for field in fields(Individuals)]
    columns = {f"{group}_{name}": _FORMS[name] for group, name in groups}
    columns |= {"rank": Column(), "crowd": Column("f", finite=False)}
    columns |= {"reference": Column("f", (3,)), "trace": Column("f")}
    arrays = read_archive(data, {"header": Column("U", ()), **columns})
    try:
        header = parse_json(str(arrays["header"]))
        if header["kind"] != _KIND:
            raise KeyError("kind")
        random = np.random.default_rng()
        random.bit_generator.state = header["random"]
        generation = int(header["generation"])
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError("is not the state of an exploration") from error
    population, archive = (
        Individuals(**{name: arrays[f"{of}_{name}"] for of, name in groups if of == group})
        for group in ("population", "archive")
    )
    trace = [float(value) for value in arrays["trace"]]
    rank, crowd, reference = arrays["rank"], arrays["crowd"], arrays["reference"]
    points = points_from(header, file="journal") if header.get("front") else ()
    return Explored(State(generation, population, rank, crowd, archive, reference, trace, random), points)


def expect_fit(state: State, instance: Instance) -> State:
    """Return a state from a file if it is one of this network; else :class:`InputError`.

    Kernels use its numbers as indices.
    """
    actors, cores = len(instance.tau), len(instance.core_tile)
    for group, found in (("population", state.population), ("archive", state.archive)):
        n = len(found.binding)
        columns = {
            "compact": Column("i", (n,), least=0, most=1),
            "xi": Column("i", (n, len(instance.feeding)), least=0, most=1),
            "decision": Column("i", (n, len(instance.src)), least=0, most=4),
            "binding": Column("i", (n, actors), least=0, most=cores - 1),
            "objectives": Column("f", (n, 3), finite=False),
        }
        for name, column in columns.items():
            kind = np.int64 if name == "binding" else np.float64 if name == "objectives" else np.int8
            checked = column.checked(getattr(found, name), f"{group}.{name}")
            setattr(found, name, np.ascontiguousarray(checked, kind))
        able = instance.tau[np.arange(actors), instance.core_type[found.binding]] >= 0
        if not able.all():
            raise InputError("binds an actor to a core that cannot run it", place=group)
    n = len(state.population.binding)
    for name, column, kind in (
        ("rank", Column("iu", (n,), least=0, most=n), np.int64),
        ("crowd", Column("f", (n,), finite=False), np.float64),
        ("reference", Column("f", (3,)), np.float64),
    ):
        setattr(state, name, np.ascontiguousarray(column.checked(getattr(state, name), name), kind))
    if not state.trace or state.generation != len(state.trace) - 1:
        raise InputError("holds another number of generations", place="trace", value=len(state.trace))
    return state
