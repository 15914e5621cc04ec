"""What a caller names as workload, platform and mapping: a case or files, made ready to be planned."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shorthaul.core.arguments import public
from shorthaul.core.cases import Case, Source, resolve
from shorthaul.core.check import CheckReport
from shorthaul.core.document import convert, decode_text, load_json, parse_json, read_bytes
from shorthaul.core.errors import InputError, unknown_name
from shorthaul.core.files.columns import beside
from shorthaul.core.machines.files import bundled
from shorthaul.core.search import Search
from shorthaul.dataflow.formats.documents import (
    APPLICATION_KIND,
    application_from,
    is_sdf3,
    known_keys,
    load_application,
    mapping_from,
    of_kind,
)
from shorthaul.dataflow.formats.platforms import load_platform
from shorthaul.dataflow.formats.sdf3 import read_sdf3, sdf3_deadline
from shorthaul.dataflow.formats.sdf3_elements import parse
from shorthaul.dataflow.formats.sdf3_platforms import mapping_of_file, platform_of
from shorthaul.dataflow.graphs.expansion import marked_graph, to_sdf
from shorthaul.dataflow.graphs.union import together
from shorthaul.dataflow.model import Application, CoreType, Decisions, Platform, Problem, SdfGraph, untimed
from shorthaul.dataflow.workloads import generators
from shorthaul.dataflow.workloads.cases import CASES

Workload = Problem | Application
SEVERAL_KIND = "shorthaul-dataflow-applications"


@public
def case(text: str) -> Source[Problem]:
    """Return the workload that ``text`` names, a file or a built-in case (``sobel:width=640,height=480``).

    Parameters
    ----------
    text : str
        The path of a file, or the name of a built-in case with its parameters.

    Returns
    -------
    Source[Problem]
        The problem and where it comes from.

    Raises
    ------
    InputError
        If the file is missing or wrong, or no case has that name.

    Examples
    --------
    >>> len(case("fig7").workload.application.actors)
    5
    """
    return resolve(text, CASES, load_problem)


@public
def cases() -> tuple[Case[Problem], ...]:
    """Return the built-in applications.

    Returns
    -------
    tuple[Case[Problem], ...]
        The cases by name, with their parameters.

    Examples
    --------
    >>> "sobel" in [case.name for case in cases()]
    True
    """
    return CASES


def load_problem(path: Path, data: bytes, *, is_member: bool = False) -> Problem:
    """Return what a file holds: an application, several, or a mapping that names its application and platform.

    A member of several applications may not be several itself.
    """
    text = decode_text(data, file=path)
    if is_sdf3(path, text):
        application = load_application(path, data)
        with naming(path):
            root = parse(text)
            platform, mapping = platform_of(root), mapping_of_file(root, _writers(application))
        return Problem(application, platform, mapping, sdf3_deadline(path, data))
    document = parse_json(text, file=path)
    if isinstance(document, dict) and "applications" in document:
        with naming(path):
            if is_member:
                raise InputError("holds several applications itself", place="applications", cure="list those instead")
            return several_from(document, path)
    if not isinstance(document, dict) or "application" not in document:
        return Problem(load_application(path, data))
    named = beside(path, document["application"], "application")
    return dataclasses.replace(
        load_problem(named, read_bytes(named)),
        platform=load_platform(beside(path, document["platform"], "platform")) if "platform" in document else None,
        mapping=mapping_from(document, file=path),
    )


def several_from(document: Any, path: Path) -> Problem:
    """Return the applications that a document names as one problem; their own platforms and mappings are left out.

    Files have to lie beside ``path``.
    """
    document = of_kind(document, SEVERAL_KIND, None)
    known_keys(document, ("applications", "platform"), "", path)
    items = convert(document["applications"], list[dict[str, Any]], place="applications")
    problems: dict[str, Problem] = {}
    iterations: dict[str, int] = {}
    for number, item in enumerate(items):
        place = f"applications[{number}]"
        known_keys(item, ("application", "name", "iterations"), place, path)
        if "application" not in item:
            raise InputError("is missing", place=f"{place}.application", allowed="a file, or a built-in case")
        named = convert(item["application"], str, place=f"{place}.application")
        problem = _member(path, named, f"{place}.application").workload
        name = convert(item.get("name", problem.application.name), str, place=f"{place}.name")
        if not name or name in problems:
            raise InputError("is no name of its own", place=f"{place}.name", value=name, cure="give each another name")
        problems[name] = problem
        iterations[name] = convert(item.get("iterations", 1), int, place=f"{place}.iterations")
    application = together({name: problem.application for name, problem in problems.items()}, iterations)
    deadlines = [
        problem.deadline * iterations[name] * (application.ticks_per_second // problem.application.ticks_per_second)
        for name, problem in problems.items()
        if problem.deadline is not None
    ]
    platform = document.get("platform")
    if platform is not None:
        file = beside(path, platform, "platform")
        platform = load_platform(Path(platform) if platform in bundled() and not file.is_file() else file)
    return Problem(application, platform, deadline=min(deadlines, default=None))


def _member(path: Path, named: str, place: str) -> Source[Problem]:
    """Return one of several applications; an error for a file that is not there says where it is named."""
    file, cases = beside(path, named, place), [case.name for case in CASES]
    is_there = file.is_file()
    try:
        if is_there or named.partition(":")[0] in cases:
            return resolve(str(file) if is_there else named, CASES, functools.partial(load_problem, is_member=True))
        if "." in named:
            read_bytes(file)  # raises with the nearest file
        raise unknown_name("file or built-in case", named, cases)
    except InputError as error:
        if not is_there:
            error.file, error.place, error.value = None, place, named
        raise


def load_graph(path: Path, data: bytes) -> SdfGraph:
    """Return the multirate graph that a file holds, with the phases of its actors, however many firings it takes."""
    text = decode_text(data, file=path)
    if is_sdf3(path, text):
        return read_sdf3(path, data)
    document = parse_json(text, file=path)
    if isinstance(document, dict) and document.get("kind") == APPLICATION_KIND:
        with naming(path):
            return to_sdf(application_from(document))
    return to_sdf(load_problem(path, data).application)


def graph_case(text: str) -> Source[SdfGraph]:
    """Return the multirate graph that ``text`` names, a file or a built-in case."""
    return resolve(text, GRAPH_CASES, load_graph)


def _graph_case(case: Case[Problem]) -> Case[SdfGraph]:
    return dataclasses.replace(case, build=lambda **values: to_sdf(case.build(**values).application))  # type: ignore[arg-type, return-value]


#: The built-in applications as multirate graphs.
GRAPH_CASES = tuple(map(_graph_case, CASES))


#: Name of the platform for applications with core types of their own, where none is given.
ASSUMED = "4 tiles with two cores of every type of the application's, each at cost 1"


def with_remarks(
    report: CheckReport, application: Application, platform: Platform, replacements: Iterable[Mapping[str, int]]
) -> CheckReport:  # fmt: skip
    """Return the report with remarks on what was assumed, and on readers that get other tokens than the network says.

    The platform is assumed where nobody chose it and the application has none of the paper's core types.
    """
    remarks = [*report.remarks, *untimed(actor.tau for actor in application.actors)]
    if platform.name == ASSUMED:
        remarks.append(f"no platform is given: {ASSUMED}, stand in for it; --platform names yours")
    replaced = {name for xi in replacements for name, is_replaced in xi.items() if is_replaced}
    for name in application.multicasts:
        outputs = [c for c in application.channels if c.src == name]
        if name in replaced and len({c.delay for c in outputs}) > 1:
            late = ", ".join(c.id for c in outputs if c.delay)
            remarks.append(f"a buffer in place of {name} drops the initial tokens of {late}; kind 'copy' keeps both")
    return dataclasses.replace(report, remarks=tuple(remarks))


def default_platform(application: Application) -> Platform:
    """Return the paper's 24 cores; with the application's own core types if it runs on none of the paper's."""
    standard = generators.platform24()
    kinds = list(dict.fromkeys(k for actor in application.actors for k in actor.ticks))
    if set(kinds) & set(standard.core_types):
        return standard
    tiles = []
    for number, tile in enumerate(standard.tiles):
        cores = tuple(
            dataclasses.replace(tile.cores[0], id=f"p{number * 2 * len(kinds) + i + 1}", type=kinds[i // 2])
            for i in range(2 * len(kinds))
        )
        tiles.append(dataclasses.replace(tile, cores=cores))
    return dataclasses.replace(
        standard, name=ASSUMED, core_types={kind: CoreType(1.0) for kind in kinds}, tiles=tuple(tiles)
    )


def ready(workload: Workload, platform: Platform | None) -> Problem:
    """Return the problem as a marked graph with a platform that can run it: given, its own or the default."""
    problem = workload if isinstance(workload, Problem) else Problem(workload)
    machine = platform or problem.platform or default_platform(problem.application)
    _check_runs(problem.application, machine)
    return dataclasses.replace(problem, application=marked_graph(problem.application), platform=machine)


def _check_runs(application: Application, platform: Platform) -> None:
    """Raise :class:`InputError` with all actors that no core can run, by the types that they run on."""
    present = sorted({core.type for core in platform.cores})
    stuck: dict[tuple[str, ...], list[str]] = {}
    for actor in application.actors:
        if not actor.ticks.keys() & present:
            stuck.setdefault(tuple(sorted(actor.ticks)), []).append(actor.id)
    if stuck:
        names = [name for group in stuck.values() for name in group]
        number = next(number for number, actor in enumerate(application.actors) if actor.id == names[0])
        which = "this actor" if len(names) == 1 else f"{len(names)} actors"
        raise InputError(
            f"no core of platform {platform.name!r} can run {which}",
            place=f"actors[{number}] ({names[0]}).tau" if len(names) == 1 else "actors",
            value="; ".join(f"{', '.join(group)} ({', '.join(kinds)})" for kinds, group in stuck.items()),
            allowed=f"execution times on one of its core types: {', '.join(present)}",
            cure="give the actors times on these types, or name a platform that has theirs with --platform",
        )


def machine_of(problem: Problem) -> Platform:
    """Return the platform of a problem made ready."""
    assert problem.platform is not None
    return problem.platform


@contextlib.contextmanager
def naming(file: str | Path | None) -> Iterator[None]:
    """Add ``file`` to an :class:`InputError` raised inside that names none."""
    try:
        yield
    except InputError as error:
        raise (error if file is None else error.in_file(file)) from error.__cause__


def prepared(
    workload: Workload, platform: Platform | None, path: Path | None, search: Search | None, source: Source[Any] | None
) -> tuple[Problem, Application, Platform, Search]:
    """Return what every verb starts from: the problem made ready, its application and platform, and the search."""
    if platform is None and path is not None:
        platform = load_platform(path)
    with naming(None if source is None else source.name):
        problem = ready(workload, platform)
    return problem, problem.application, machine_of(problem), search or Search()


def mapping_of(problem: Problem, mapping: Decisions | None, path: Path | None, point: int) -> Decisions | None:
    """Return the mapping given, on file (of a plan, that point's), or the problem's own, for the firings of its actors.

    Where an actor or a channel was expanded, what is said of it holds for all its firings but those named themselves.
    """
    found = mapping
    if found is None:
        found = problem.mapping if path is None else _mapping_in(path, problem.application, point)
    if found is None:
        return None
    actors = [actor.id for actor in problem.application.actors]
    channels = [channel.id for channel in problem.application.channels]
    return Decisions(_for_firings(found.binding, actors), found.xi, _for_firings(found.channel_decision, channels))


def _mapping_in(path: Path, application: Application, point: int) -> Decisions:
    text = decode_text(read_bytes(path), file=path)
    if not is_sdf3(path, text):
        return mapping_from(load_json(path), point=point, file=path)
    with naming(path):
        found = mapping_of_file(parse(text), _writers(application))
        if found is None:
            raise InputError("has no mapping", place="sdf3", cure="name the file that has it")
    return found


def _writers(application: Application) -> dict[str, str]:
    """Return the actor that writes every channel, whatever its firings."""
    return {c.id.partition("#")[0]: c.src.partition("#")[0] for c in application.channels}


def _for_firings(said: Mapping[str, str], names: Sequence[str]) -> Mapping[str, str]:
    firings: dict[str, list[str]] = {}
    for name in names:
        firings.setdefault(name.rpartition("#")[0], []).append(name)
    general = {name for name in said if name not in names and name in firings}
    spread = {firing: said[name] for name in said if name in general for firing in firings[name]}
    return {**spread, **{name: value for name, value in said.items() if name not in general}}
