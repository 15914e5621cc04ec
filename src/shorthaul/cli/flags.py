"""Command-line flags made from option dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from shorthaul.cli.endings import answering_by, process_start, watch_answer
from shorthaul.core.errors import AS_FLAGS, InputError
from shorthaul.core.files.outputs import promise_output
from shorthaul.core.options import flag_name, option
from shorthaul.core.search import (
    PlanSearchOptions,
    Search,
    SearchOptions,
    SweepSearchOptions,
    TaskPlanSearchOptions,
    TaskSearchOptions,
)
from shorthaul.core.searching.progress import Progress


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Output options for verbs that produce no plan."""

    result: Path | None = option(None, "Write the result document (JSON) here.")
    json: bool = option(False, "Print the result document on standard output, everything else on standard error.")

    def __post_init__(self) -> None:
        # A search of minutes must not end in a file that cannot be written.
        if self.result is not None:
            promise_output(self.result, (".json",))


@dataclasses.dataclass(frozen=True, slots=True)
class Output(Answer):
    """Output options for verbs that produce a plan, in one of ``forms``."""

    output: Path | None = option(
        None, "Write the plan here: JSON, arrays for a name in .npz, a table for one in .csv.", flags=("--output", "-o")
    )
    forms: ClassVar[tuple[str, ...]] = (".json", ".npz", ".csv")

    def __post_init__(self) -> None:
        super(Output, self).__post_init__()
        if self.output is not None:
            promise_output(self.output, self.forms)


class DocumentOutput(Output):
    """Output options for plans that are no arrays."""

    __slots__ = ()
    forms = (".json", ".csv")


class ModelOutput(Output):
    """Output options for plans that may become an ONNX model."""

    __slots__ = ()
    forms = (".json", ".npz", ".csv", ".onnx")


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """How a list is printed."""

    json: bool = option(False, "Print one JSON object.")


class _Command(SearchOptions):
    """A search whose clock starts with the process, and that shows its progress."""

    __slots__ = ()

    def search(self) -> Search:
        """Return the search."""
        search = self.make(Progress(), process_start())
        watch_answer(search)
        return search


@dataclasses.dataclass(frozen=True, slots=True)
class SearchFlags(_Command):
    """A search in one process."""


@dataclasses.dataclass(frozen=True, slots=True)
class TaskSearchFlags(_Command, TaskSearchOptions):
    """A search in tasks."""


@dataclasses.dataclass(frozen=True, slots=True)
class PlanSearchFlags(_Command, PlanSearchOptions):
    """A search in one process for a plan, which a journal keeps."""


@dataclasses.dataclass(frozen=True, slots=True)
class TaskPlanSearchFlags(_Command, TaskPlanSearchOptions):
    """A search in tasks for a plan or a bound, which a journal keeps."""


@dataclasses.dataclass(frozen=True, slots=True)
class SweepSearchFlags(_Command, SweepSearchOptions):
    """A sweep in tasks, whose points a journal keeps."""


def expanded_flags(function: Callable[..., None]) -> Callable[..., None]:
    """Return ``function`` with every parameter that is an option dataclass replaced by one flag per field."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Any]] = {}
    required: list[inspect.Parameter] = []
    optional: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            groups[parameter.name] = hint
            optional += _flags(hint)
        else:
            plain = parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
            (required if parameter.default is inspect.Parameter.empty else optional).append(plain)

    def expanded(**given: Any) -> None:
        arguments = {name: given.pop(name) for name in list(given) if name in hints and name not in groups}
        fields = [field for group in groups.values() for field in dataclasses.fields(group)]
        flags = {name: _typed(field) for field in fields for name in (field.name, flag_name(field))}
        token = AS_FLAGS.set(True)
        try:
            for name, group in groups.items():
                values = {field.name: _joined(field, given.pop(field.name)) for field in dataclasses.fields(group)}
                arguments[name] = group(**values)
                for field in dataclasses.fields(group):
                    if (forms := field.metadata.get("written")) and values[field.name] is not None:
                        promise_output(values[field.name], forms)
            limits = [group.time_limit for group in arguments.values() if isinstance(group, _Command)]
            with answering_by(limits[0] if limits else None):
                function(**arguments)
        except InputError as error:
            if error.file is None:
                error.place = flags.get(error.place, error.place)
            raise
        finally:
            AS_FLAGS.reset(token)

    describe(expanded, function, [*required, *optional])
    return expanded


def _flags(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group)
    parameters = []
    for field in dataclasses.fields(group):
        given = field.metadata.get("flags", ())
        names = given or (
            (flag_name(field), f"--no-{flag_name(field)[2:]}") if field.default is True else (flag_name(field),)
        )
        if field.default is True and not given:
            names = ("/".join(names),)
        choices = field.metadata.get("choices", ())
        text = field.metadata.get("help", "") + (f" One of: {', '.join(choices)}." if choices else "")
        has_default = field.default is not dataclasses.MISSING
        default = field.default if has_default else inspect.Parameter.empty
        form = field.metadata.get("form")
        adds_up = form is not None and form.annotation.startswith(("Mapping", "Sequence")) and field.default is None
        shown = has_default and field.default not in {None, False}
        number = next((kind for kind in (int, float) if hints[field.name] in {kind, kind | None}), None)
        metavar = "<str>" if adds_up else "<path>" if _synonyms(field) else f"<{number.__name__}>" if number else None
        read = None if number is None else _reader(number)
        info = typer.Option(*names, help=text, show_default=shown, metavar=metavar, parser=read)
        parameters.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[list[str] | None if adds_up or _synonyms(field) else hints[field.name], info],
            )
        )
    return parameters


def _reader(kind: type[float]) -> Callable[[object], object]:
    """Return what reads a number, and leaves a text that is none: the option says what is allowed."""

    def number(given: object) -> object:
        try:
            return kind(given)  # type: ignore[arg-type]
        except ValueError:
            return given

    return number


def _synonyms(field: dataclasses.Field[Any]) -> list[str]:
    """Return the long flags of a field that has several, which mean the same."""
    names = [flag for flag in field.metadata.get("flags", ()) if flag.startswith("--")]
    return names if len(names) > 1 else []


def _typed(field: dataclasses.Field[Any]) -> str:
    """Return the flag of a field; of several that mean the same, the one in the command, which click does not tell."""
    words = {word.partition("=")[0] for word in sys.argv}
    return next((name for name in _synonyms(field) if name in words), flag_name(field))


def _joined(field: dataclasses.Field[Any], value: Any) -> Any:
    """Return what a flag that was given several times adds up to; one with synonyms is given once."""
    if not isinstance(value, list):
        return value
    names = _synonyms(field)
    if not names:
        return ",".join(value)
    if len(value) > 1:
        problem, shown = "cannot be combined: they mean the same", ", ".join(map(str, value))
        raise InputError(problem, place=" and ".join(names), value=shown, cure="give one of them, once")
    return value[0] if value else None


def describe(wrapper: Callable[..., None], function: Callable[..., None], parameters: list[inspect.Parameter]) -> None:
    """Make ``wrapper`` look like ``function`` with these parameters, as Typer reads them."""
    wrapper.__name__ = function.__name__
    wrapper.__doc__ = function.__doc__
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
