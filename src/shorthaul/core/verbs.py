"""The frame of every public verb: its keywords with their types, its workload in any form, its plan for the result."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar, cast

from shorthaul.core.amounts import Bound
from shorthaul.core.cases import Source, Workloads
from shorthaul.core.check import CheckReport
from shorthaul.core.document import convert, decode_text, digest, json_text, parse_json
from shorthaul.core.errors import AS_FLAGS, InfeasibleError, InputError, NoPlanError, is_of_memory, unknown_name
from shorthaul.core.files.outputs import expect_writable
from shorthaul.core.options import chosen, fixed
from shorthaul.core.provenance import provenance
from shorthaul.core.result import PlanFile, Result, Rows, Status
from shorthaul.core.search import Search, SearchOptions
from shorthaul.core.searching.memory import limited
from shorthaul.core.searching.tasks import on_its_cluster

T = TypeVar("T")
PlanT = TypeVar("PlanT")
OptionsT = TypeVar("OptionsT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class _Text(str):
    """An annotation that ``help`` shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class Plans(Generic[PlanT, T]):
    """The plans of an engine: their type, and how they are read, shown as JSON, written and listed, given the workload.

    A list has the names of its columns and its rows.
    """

    model: type[PlanT]
    load: Callable[[Path, T], PlanT]
    document: Callable[[PlanT, T], Any]
    save: Callable[[Path, PlanT, T], None]
    table: Callable[[PlanT, T], Rows]
    proves: ClassVar[bool] = False

    def read(self, given: object, workload: T, name: str = "plan") -> PlanT:
        """Return the plan that the argument ``name`` is, holds or names (a file); raises :class:`InputError`."""
        plan = given.plan if isinstance(given, Result) else given
        if isinstance(plan, self.model):
            return plan
        if isinstance(plan, str | os.PathLike):
            path = os.fspath(plan)
            return self.load(Path(path if isinstance(path, str) else os.fsdecode(path)), workload)
        allowed = (
            f"a {getattr(self.model, '__name__', self.model)}, a result that holds one, or the path of a file with one"
        )
        raise InputError("is not a plan", place=name, value=given, allowed=allowed)

    def packed(self, plan: Any, workload: T) -> bytes:
        """Return what a search keeps, the plan or more, as the bytes of a file."""
        with tempfile.TemporaryDirectory(prefix="shorthaul-") as folder:
            path = Path(folder) / "plan.npz"
            self.save(path, plan, workload)
            return path.read_bytes()

    def answered(self, kept: Any, workload: T, options: Any) -> PlanT | None:  # noqa: ARG002 -- engines may need them
        """Return the plan in what a search kept, None if none in it is what the options ask for."""
        return cast("PlanT", kept)

    def unpacked(self, data: bytes, workload: T) -> Any:
        """Return what :meth:`packed` packed; raises :class:`InputError` if it is of another form."""
        with tempfile.TemporaryDirectory(prefix="shorthaul-") as folder:
            path = Path(folder) / "plan.npz"
            path.write_bytes(data)
            return self.load(path, workload)


@dataclass(frozen=True, slots=True)
class KeptObjects:
    """What a search keeps that is no plan: bounds, or else what the verb makes its plan of, as JSON of this type."""

    type: Any
    proves: bool = False

    def packed(self, kept: Any, workload: object) -> bytes:  # noqa: ARG002 -- as plans are
        """Return what a search keeps as the bytes of a file."""
        return json_text(kept, indent=None).encode()

    def answered(self, kept: object, workload: object, options: object) -> None:
        """Return nothing: the verb itself answers with what is kept."""

    def unpacked(self, data: bytes, workload: object) -> Any:  # noqa: ARG002 -- as plans are
        """Return what :meth:`packed` packed; raises :class:`InputError` if it is of another form."""
        return convert(parse_json(decode_text(data)), self.type, file=None, place="record")


#: What a search for a bound keeps: the bound with its certificate.
BOUNDS: Final = KeptObjects(dict[str, Any], proves=True)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword of a verb: its name, its type as annotations write it, its default and what it means."""

    name: str
    annotation: str
    default: object
    help: str


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """What a verb takes: ``options``, ``reading`` (of its workload) and ``searching`` are option dataclasses.

    Fields that are parameters of the function itself (``plan``, ``platform``) take an object, or a path for the field.
    """

    function: Callable[..., Any]
    options: type[Any]
    reading: type[Any] | None
    searching: type[SearchOptions] | None
    explicit: tuple[inspect.Parameter, ...]

    def groups(self) -> Sequence[type[Any]]:
        """Return the option dataclasses."""
        return [group for group in dict.fromkeys((self.options, self.reading, self.searching)) if group is not None]

    def fields(self) -> dict[str, dataclasses.Field[Any]]:
        """Return the field of every keyword that is an option."""
        explicit = {parameter.name for parameter in self.explicit}
        fields = [field for group in self.groups() for field in dataclasses.fields(group)]
        return {field.name: field for field in fields if field.name not in explicit}

    @functools.cache  # noqa: B019 -- verbs stay as long as the module
    def aliases(self) -> dict[str, str]:
        """Return the other names of options, made from their flags, and the option that each means."""
        flags = {flag: field.name for field in dataclasses.fields(self.options) for flag in field.metadata["flags"]}
        names = {flag.removeprefix("--").replace("-", "_"): name for flag, name in flags.items()}
        return {alias: name for alias, name in names.items() if alias != name}

    def keywords(self) -> list[Keyword]:
        """Return the keywords in order: those of the verb, of reading, of the search."""
        own = [
            Keyword(name, annotation(field), field.default, field.metadata["help"])
            for name, field in self.fields().items()
        ]
        kinds = {item.name: str(item.annotation) for item in self.explicit} | {
            word.name: word.annotation for word in own
        }
        own += [Keyword(alias, kinds[name], None, f"The same as {name}.") for alias, name in self.aliases().items()]
        search = Keyword("search", "Search | None", None, "A search to run in, in place of its keywords.")
        whole = f"All options of the verb at once, as a {self.options.__name__}; keywords replace its fields."
        return [*own, search, Keyword("options", f"{self.options.__name__} | None", None, whole)]

    @functools.cache  # noqa: B019 -- verbs stay as long as the module
    def signature(self) -> inspect.Signature:
        """Return the signature with every keyword by name."""
        keywords = [
            inspect.Parameter(
                word.name, inspect.Parameter.KEYWORD_ONLY, default=word.default, annotation=_Text(word.annotation)
            )
            for word in self.keywords()
        ]
        returned = _Text(self.function.__annotations__["return"])
        return inspect.Signature([*self.explicit, *keywords], return_annotation=returned)

    def bind(self, positional: tuple[object, ...], keywords: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments by name; raises :class:`InputError` for too many, too few, twice or unknown ones."""
        known = self.signature().parameters
        for name in keywords:
            if name not in known:
                raise unknown_name("keyword", name, known, place=f"{self.function.__name__}()")
        aliases = self.aliases()
        for name in keywords:
            if name in aliases and aliases[name] in keywords:
                raise InputError(f"means the same as {aliases[name]}", place=name, cure="give one of the two")
        try:
            named = {aliases.get(name, name): value for name, value in keywords.items()}
            return self.signature().bind(*positional, **named).arguments
        except TypeError as error:
            usage = ", ".join(parameter.name for parameter in self.explicit)
            allowed = f"{self.function.__name__}({usage}), options by keyword"
            raise InputError(str(error), place=f"{self.function.__name__}()", allowed=allowed) from None

    def search(self, given: dict[str, Any]) -> Search:
        """Take the keywords of the search out of ``given`` and return it; raises :class:`InputError`."""
        search = given.pop("search", None)
        if search is not None and not isinstance(search, Search):
            raise InputError("is not a search", place="search", value=search, allowed="a shorthaul.Search")
        kind = self.searching
        names = [field.name for field in dataclasses.fields(kind)] if kind is not None else []
        fields = {name: given.pop(name) for name in names if name in given}
        if search is not None and fields:
            cure = "give the keywords, or a search that has them"
            raise InputError("cannot be combined with search", place=", ".join(fields), cure=cure)
        if search is not None:
            return search
        return Search() if kind is None else chosen(None, kind, fields).make()

    def chosen(self, given: dict[str, Any]) -> tuple[Any, Any]:
        """Take the options of the verb, and of reading, out of ``given`` and return both."""
        names = {field.name for field in dataclasses.fields(self.options)}
        explicit = {parameter.name for parameter in self.explicit}
        fields = {name: given.pop(name) for name in list(given) if name in names - explicit}
        for name in names & explicit:
            if isinstance(given.get(name), str | os.PathLike):
                fields[name] = given.pop(name)
        options = chosen(given.pop("options", None), self.options, fields)
        for field in dataclasses.fields(options):
            if (forms := field.metadata.get("written")) and (path := getattr(options, field.name)) is not None:
                expect_writable(path, forms)  # before the search, not when its answer is there
        if self.reading is None or self.reading is self.options:
            return options, options
        fields = {f.name: given.pop(f.name) for f in dataclasses.fields(self.reading) if f.name in given}
        return options, chosen(None, self.reading, fields)


def verb(
    options: type[Any],
    workloads: Workloads[T],
    plans: Plans[Any, T] | None = None,
    *,
    reading: type[Any] | None = None,
    searching: type[SearchOptions] | None = SearchOptions,
    replay: Callable[..., CheckReport | None] | None = None,
    keeps: KeptObjects | None = None,
    points: Any = None,
    **described: str,
) -> Callable[[FunctionT], FunctionT]:
    """Make a function a public verb: keywords with types, checked, and listed in its docstring.

    The function's own parameters are its workload, what else the verb works on, and ``**keywords``. It is called with
    the workload as a :class:`Source`, the plan read, and ``options`` and ``search`` as keywords: see :func:`asked`.
    ``replay`` checks what a journal holds (None: it cannot), called with the workload, that, ``options`` and what else
    the verb works on: a plan, or what ``keeps`` says. ``points`` is the type of a task's answer in the journal of a
    sweep; ``described`` says what the function's own parameters are.
    """

    def decorate(function: FunctionT) -> FunctionT:
        explicit = tuple(
            parameter.replace(annotation=_Text(parameter.annotation))
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        )
        made, form = Verb(function, options, reading, searching, explicit), keeps or plans
        first, may_lack = explicit[0].name, str(explicit[0].annotation).endswith("| None")
        needs_plan = any(item.name == "plan" and item.default is item.empty for item in explicit)

        @functools.wraps(function)
        def call(*positional: object, **keywords: object) -> Any:
            try:
                return answer(*positional, **keywords)
            except InputError as error:
                if not AS_FLAGS.get():
                    error.name_keywords(made.signature().parameters)
                raise

        def answer(*positional: object, **keywords: object) -> Any:
            given = made.bind(positional, keywords)
            search = made.search(given)
            picked, reading_options = made.chosen(given)
            given_workload = given.pop(first)
            source = None
            if given_workload is not None or not may_lack:
                source = workloads.source(given_workload, reading_options, picked)
            workload: Any = None if source is None else source.workload
            named = given.pop("plan", getattr(picked, "plan", None))
            if plans is not None and (named is not None or needs_plan):
                given["plan"] = plans.read(named, workload)
            run = functools.partial(function, source, options=picked, search=search, **given)
            with limited(search.memory_limit), on_its_cluster(search), _told_whence(function, source, picked, search):
                if points is not None:
                    from shorthaul.core.searching.points import journaled_points

                    asked = _asked(function, source, [picked, reading_options], given)
                    with journaled_points(search, asked, points):
                        result = run()
                elif replay is None or form is None or source is None:
                    result = run()
                else:
                    asked = _asked(function, source, [picked, reading_options], given)
                    verify = functools.partial(replay, workload, options=picked, **given)
                    result = _keeping(run, source, search, asked, form, verify, picked)
            search.has_part = True
            if plans is None or not isinstance(result, Result) or result.plan is None:
                return result
            return dataclasses.replace(result, plan_file=PlanFile(plans.document, plans.save, plans.table, workload))

        call.__signature__ = made.signature()  # type: ignore[attr-defined]
        call.__verb__ = made  # type: ignore[attr-defined]
        call.__doc__ = _docstring(made, {first: f"The workload: {workloads.accepted}.", "plan": _PLAN, **described})
        return cast("FunctionT", call)

    return decorate


@contextlib.contextmanager
def _told_whence(
    function: Callable[..., Any], source: Source[Any] | None, options: Any, search: Search
) -> Iterator[None]:
    """Let an error that says that there is no plan say of what."""
    try:
        yield
    except InfeasibleError as error:
        command = f"{_engine(function)} {function.__name__}"
        error.provenance = provenance(command, options=options, source=source, search=search)
        raise


def _engine(function: Callable[..., Any]) -> str:
    return function.__module__.split(".")[1]


def higher(found: Bound, search: Search, method: str, *, is_certified: bool) -> Bound:
    """Return the bound, or the best one with a certificate that the search has kept, if that is higher."""
    if is_certified:
        kept = {"of": found.of, "value": found.value, "certificate": found.details["certificate"]}
        search.keep(-found.value, kept, proves=True)
    kept = search.best(proves=True)
    if kept is None or kept["of"] != found.of or (kept["value"], not is_certified) <= (found.value, False):
        return found
    proof = "By its certificate, which check --bound verifies."
    return Bound(kept["of"], kept["value"], method, proof, {"certificate": kept["certificate"]})


def _keeping(
    run: Callable[[], Any],
    source: Source[T],
    search: Search,
    asked: Mapping[str, Any],
    form: Plans[Any, T] | KeptObjects,
    replay: Callable[[Any], CheckReport | None],
    options: Any,
) -> Any:
    """Run a verb that searches for a plan or a bound: with its journal, and with what is kept where it ends without."""
    search.begin(proves=form.proves)
    workload = source.workload
    from shorthaul.core.searching.journal import journaled

    try:
        pack, unpack = (lambda kept: form.packed(kept, workload)), (lambda data: form.unpacked(data, workload))
        with journaled(search, asked, pack, unpack, replay):
            return run()
    except Exception as error:
        best = search.best(proves=form.proves) if isinstance(error, NoPlanError) or is_of_memory(error) else None
        plan = None if best is None else form.answered(best, workload, options)
        if best is None or (plan is None and isinstance(error, NoPlanError)):
            raise
        reason = error if isinstance(error, NoPlanError) else NoPlanError("no plan found before the search ended")
    if plan is None:  # the verb answers with what is kept, now that the room in which it searched is free
        search.stop()
        search.resumed = best
        return run()
    assert search.kept is not None
    search.kept = search.kept[0], best  # without what the search needed to make it
    report = replay(plan)
    if report is None or not report.ok:
        raise reason
    proof = "Costs are not negative; the search ended before a better bound was derived."
    engine = str(asked["command"]).partition(" ")[0]
    return Result(
        f"shorthaul/{engine}-result",
        Status.FEASIBLE,
        cost=report.cost,
        bound=None if report.cost is None else Bound(next(iter(report.cost)), 0, "none", proof),
        check=report,
        plan=plan,
        provenance=provenance(str(asked["command"]), options=options, source=source, search=search),
    )


def _asked(
    function: Callable[..., Any], source: Source[Any] | None, options: Sequence[Any], given: Mapping[str, object]
) -> dict[str, Any]:
    """Return what a verb is asked, as a journal names it."""
    others = {name: digest(repr(value)) for name, value in given.items() if value is not None}
    chosen_ = {name: value for group in options for name, value in fixed(group).items()}
    return {
        "command": f"{_engine(function)} {function.__name__}",
        "input": "" if source is None else _identity(source),
        "options": {**chosen_, **others},
    }


def _identity(source: Source[Any]) -> str:
    """Return what tells the input of a verb from others."""
    if isinstance(source.workload, list):  # several, as a sweep has them
        return digest(" ".join(_identity(item) for item in source.workload))
    return source.digest or digest(repr(source.workload))


def asked(
    workload: object, workloads: Workloads[T], kind: type[OptionsT], keywords: Mapping[str, object]
) -> tuple[T, OptionsT, Search, Source[T]]:
    """Return the workload, options, search and source that a verb was called with, as :func:`verb` hands them on."""
    options, search = keywords["options"], keywords["search"]
    assert isinstance(workload, Source)
    assert isinstance(options, kind)
    assert isinstance(search, Search)
    assert isinstance(workload.workload, workloads.model)
    return workload.workload, options, search, workload


def expect(value: object, kind: type[T], name: str) -> T | None:
    """Return the argument ``name`` if it is of its kind, or None; raises :class:`InputError`."""
    if value is None or isinstance(value, kind):
        return value
    raise InputError(
        "is of another type", place=name, value=value, allowed=f"a {kind.__name__}, or a path where the verb takes one"
    )


_PLAN = "The plan, a result that holds one, or the path of a file with one."


def annotation(field: dataclasses.Field[Any]) -> str:
    """Return the type of a keyword, as annotations write it."""
    types = str(field.type).split(" | ")
    choices, form = field.metadata.get("choices", ()), field.metadata.get("form")
    quoted = ", ".join(f'"{choice}"' for choice in choices)
    written = {"Path": "str | PathLike[str]", "str": f"Literal[{quoted}]" if choices else "str"}
    names = [written.get(name, name) for name in types]
    if form is not None:
        names.insert(1, form.annotation)
    return " | ".join(names)


def _docstring(made: Verb, described: Mapping[str, str]) -> str:
    """Return the function's docstring with a section of its parameters before what it returns."""
    text, returns, rest = inspect.cleandoc(made.function.__doc__ or "").partition("\n\nReturns\n-------\n")
    entries = [(item.name, str(item.annotation), described.get(item.name, "")) for item in made.explicit]
    for word in made.keywords():
        default = "" if word.default is None or word.default is False else f", default {word.default!r}"
        entries.append((word.name, word.annotation + default, word.help))
    filled = textwrap.TextWrapper(100, initial_indent="    ", subsequent_indent="    ").fill
    listed = "\n".join(f"{name} : {kind}\n{filled(meaning)}" for name, kind, meaning in entries)
    return f"{text}\n\nParameters\n----------\n{listed}{returns}{rest}\n"
