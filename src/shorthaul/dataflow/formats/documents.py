"""Documents of the engine: applications, mappings and plans (JSON); applications also as SDF3 XML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from shorthaul.core.arguments import public
from shorthaul.core.document import convert, decode_text, load_json, parse_json, save_json, suffix_of
from shorthaul.core.errors import ABSENT, InputError, unknown_name
from shorthaul.dataflow.formats.sdf3 import read_sdf3, sdf3_text
from shorthaul.dataflow.graphs.expansion import check_iteration, from_sdf, to_sdf
from shorthaul.dataflow.model import Actor, Application, Channel, Decisions
from shorthaul.dataflow.plan import Plan, Point

APPLICATION_KIND = "shorthaul-dataflow-application"
PLAN_KIND = "shorthaul/dataflow-plan"
RESULT_KIND = "shorthaul/dataflow-result"
#: What any document may hold beside.
FREE_KEYS = ("kind", "format", "version", "note", "expected", "size_unit")


@public
def load_application(path: Path, data: bytes) -> Application:
    """Return the application in ``data`` (JSON, or SDF3 XML), all of whose actors can fire.

    Parameters
    ----------
    path : Path
        The name that messages give the file.
    data : bytes
        Its content.

    Returns
    -------
    Application
        The network, all of whose actors can fire.

    Raises
    ------
    InputError
        If the content is wrong: file, place, value and cure.

    Examples
    --------
    >>> load_application(Path("app.json"), b"{}")
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: app.json: kind: is of another kind
      allowed: 'shorthaul-dataflow-application'
    """
    text = decode_text(data, file=path)
    try:
        if is_sdf3(path, text):
            application = from_sdf(read_sdf3(path, data))
        else:
            application = application_from(parse_json(text, file=path), file=path)
        check_iteration(application)
    except InputError as error:
        raise error.in_file(path) from None
    return application


def is_sdf3(path: Path, text: str) -> bool:
    """True if a file is to be read as XML: by its name, or by how it begins."""
    return suffix_of(path) == ".xml" or text.lstrip().startswith("<")


def application_from(document: Any, *, file: str | Path | None = None) -> Application:
    """Return the application that a JSON document describes."""
    document = of_kind(document, APPLICATION_KIND, file)
    known_keys(document, ("name", "time_unit", "actors", "channels"), "", file)
    for name, kind in (("actors", Actor), ("channels", Channel)):
        for number, item in enumerate(_list(document, name, file)):
            if isinstance(item, dict):
                known_keys(item, [field.name for field in fields(kind)], f"{name}[{number}]", file)
    try:
        return Application(
            name=convert(document.get("name", "application"), str, file=file, place="name"),
            actors=convert(document.get("actors"), tuple[Actor, ...], file=file, place="actors"),
            channels=convert(document.get("channels"), tuple[Channel, ...], file=file, place="channels"),
            time_unit=_time_unit(document.get("time_unit", "us"), file),
        )
    except InputError as error:
        raise (error if file is None else error.in_file(file)) from None


def _time_unit(value: Any, file: str | Path | None) -> Any:
    if not isinstance(value, str) or value not in {"s", "ms", "us", "ns"}:
        raise InputError("is not a time unit", file=file, place="time_unit", value=value, allowed="s, ms, us, ns")
    return value


def application_document(application: Application) -> dict[str, Any]:
    """Return the application as JSON, as :func:`application_from` reads it; rates of 1 and no capacity are left out."""
    channels = []
    for channel in application.channels:
        item = asdict(channel)
        for rate in ("produce", "consume"):
            if item[rate] == 1:
                del item[rate]
        if item["capacity"] is None:
            del item["capacity"]
        channels.append(item)
    return {
        "kind": APPLICATION_KIND,
        "version": 1,
        "name": application.name,
        "time_unit": application.time_unit,
        "actors": [{"id": a.id, "kind": a.kind, "tau": dict(a.tau)} for a in application.actors],
        "channels": channels,
    }


@public
def write_sdf3(application: Application) -> str:
    """Return the application as SDF3 XML text, token sizes in bits; which actors are multicasts is lost.

    Parameters
    ----------
    application : Application
        The network.

    Returns
    -------
    str
        The text of the file.

    Examples
    --------
    >>> from shorthaul.dataflow.workloads.generators import figure7
    >>> write_sdf3(figure7().application).splitlines()[0]
    '<?xml version="1.0" encoding="UTF-8"?>'
    """
    return sdf3_text(to_sdf(application))


def mapping_from(document: Any, *, point: int = 0, file: str | Path | None = None) -> Decisions:
    """Return the mapping of a mapping document, of a point, or of point number ``point`` of a plan or result."""
    document = _one_point(document, point, file)
    if "binding" not in document:
        raise InputError("holds no mapping", file=file, place="binding", value=ABSENT, allowed="actor: core, ...")
    return Decisions(
        convert(document["binding"], dict[str, str], file=file, place="binding"),
        convert(document.get("xi", {}), dict[str, int], file=file, place="xi"),
        convert(document.get("channel_decision", {}), dict[str, str], file=file, place="channel_decision"),
    )


def _one_point(document: Any, point: int, file: str | Path | None) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise InputError("is not a JSON object", file=file, value=document)
    if "binding" in document:
        return document
    front = _front(document, file)
    if point >= len(front):
        raise InputError("has no such point", file=file, place="--point", value=point, allowed=f"0 to {len(front) - 1}")
    chosen = front[point]
    if not isinstance(chosen, dict):
        raise InputError("is not a point", file=file, place=f"front[{point}]", value=chosen)
    return chosen


def _front(document: Any, file: str | Path | None) -> Sequence[Any]:
    if isinstance(document, dict) and isinstance(document.get("plan"), dict):
        document = document["plan"]
    if isinstance(document, dict) and "starts" in document:
        return [document]
    front = document.get("front") if isinstance(document, dict) else None
    if not isinstance(front, list) or not front:
        raise InputError(
            "holds no plan", file=file, place="front", allowed="a plan with a front, a point, or a result document"
        )
    return front


@public
def load_points(path: Path) -> tuple[Point, ...]:
    """Return the points of a plan, of a single point, or of a result document.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple[Point, ...]
        The points.

    Raises
    ------
    InputError
        If the file is missing or wrong: file, place, value and cure.

    Examples
    --------
    >>> load_points(Path("no.json"))
    Traceback (most recent call last):
    shorthaul.core.errors.InputError: no.json: no such file
      do:      name a file that is there, or '-' and pipe it in
    """
    return points_from(load_json(path), file=path)


def points_from(document: Any, *, file: str | Path | None = None) -> tuple[Point, ...]:
    """Return the points that a JSON document describes; raises :class:`InputError` naming file and place."""
    return tuple(_point(item, f"front[{number}]", file) for number, item in enumerate(_front(document, file)))


def _point(item: Any, place: str, file: str | Path | None) -> Point:
    if not isinstance(item, dict):
        raise InputError("is not a point", file=file, place=place, value=item)
    for name in ("period", "starts", "binding", "capacities"):
        if name not in item:
            raise InputError("is missing", file=file, place=f"{place}.{name}")
    text, number = dict[str, str], dict[str, int]

    def get(name: str, into: Any, default: Any) -> Any:
        return convert(item.get(name, default), into, file=file, place=f"{place}.{name}")

    decision = get("channel_decision", text, {})
    routes = None if item.get("routes") is None else get("routes", dict[str, tuple[str, ...]], {})
    return Point(
        period=get("period", int, 0),
        footprint_bytes=get("footprint_bytes", int, 0),
        core_cost=get("core_cost", float, 0.0),
        binding=get("binding", text, {}),
        xi=get("xi", number, {}),
        channel_decision=decision,
        channel_binding=get("channel_binding", text, {}),
        capacities=get("capacities", number, {}),
        starts=get("starts", number, {}),
        routes=routes,
        latency=None if item.get("latency") is None else get("latency", int, 0),
    )


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return the plan as a document of its own."""
    return {"kind": PLAN_KIND, "version": 1, **plan.document()}


@public
def save_plan(path: Path, plan: Plan) -> None:
    """Write the plan as JSON, whole or not at all.

    Parameters
    ----------
    path : Path
        The file to write.
    plan : Plan
        The plan.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> save_plan(Path("nowhere/plan.json"), Plan())
    Traceback (most recent call last):
    shorthaul.core.errors.UnwritableError: nowhere/plan.json: its folder does not exist
      do:      make nowhere first
    """
    save_json(path, plan_document(plan), indent=None)


def of_kind(document: Any, kind: str, file: str | Path | None) -> Mapping[str, Any]:
    """Return a document if it is of this kind; raises :class:`InputError`."""
    if not isinstance(document, dict):
        raise InputError("is not a JSON object", file=file, value=document, allowed=f"an object of kind {kind!r}")
    found = document.get("kind", document.get("format", ABSENT))
    if found != kind:
        raise InputError("is of another kind", file=file, place="kind", value=found, allowed=repr(kind))
    if document.get("version", 1) != 1:
        raise InputError("is of an unknown version", file=file, place="version", value=document["version"], allowed="1")
    return document


def _list(document: Mapping[str, Any], name: str, file: str | Path | None) -> Sequence[Any]:
    found = document.get(name, ABSENT)
    if not isinstance(found, list):
        problem = "is missing" if found is ABSENT else "is not a list"
        raise InputError(problem, file=file, place=name, value=found)
    return found


def known_keys(document: Mapping[str, Any], known: Iterable[str], place: str, file: str | Path | None) -> None:
    """Raise :class:`InputError` for a key of a document that is not known."""
    names = [*known]
    for key in document:
        if key not in names and key not in FREE_KEYS:
            error = unknown_name("key", key, names, place=place, cure="remove it, or spell it right")
            raise error if file is None else error.in_file(file)
