"""The frame around every verb: its flags, and the end of every error in a message and an exit status."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from shorthaul.cli.endings import end_by_defect, end_by_signal, end_without_answer
from shorthaul.cli.flags import describe, expanded_flags
from shorthaul.core.errors import DefectError, InfeasibleError, ShorthaulError, is_of_memory


def group(summary: str) -> typer.Typer:
    """Return the commands of an engine. Help is plain text: it is there at once, and can be searched."""
    return typer.Typer(help=summary, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def single() -> typer.Typer:
    """Return what holds one verb that spans the engines."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


def verb(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as the verb ``name`` of ``app``.

    A parameter annotated with an option dataclass becomes one flag per field. Errors that a user can cause end in
    their message and exit status, never in a traceback.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name, help=inspect.getdoc(function))(_trapped(expanded_flags(function), name))
        return function

    return register


def silence_output() -> None:
    """Discard all further standard output, also at the end of the program."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def unwritable_text(error: OSError) -> str:
    """Return the message of an error of the system that no verb expects: standard output, as a rule."""
    where = "standard output" if error.filename is None else str(error.filename)
    return (
        f"{where}: cannot be written: {error.strerror or error}\n  do:      write to another place, with -o or --result"
    )


def _trapped(function: Callable[..., None], name: str) -> Callable[..., None]:
    def trapped(**given: Any) -> None:
        try:
            try:
                from shorthaul.core.searching.memory import limited

                with limited(given.get("memory_limit"), end_without_answer):
                    function(**given)
            finally:
                sys.stdout.flush()  # errors of writing are handled below, not in a traceback at the end
        except ShorthaulError as error:
            print(error, file=sys.stderr)
            if isinstance(error, InfeasibleError) and (given.get("json") or given.get("result")):
                from shorthaul.cli.output import tell_infeasible

                tell_infeasible(error, name, given)
            raise typer.Exit(error.exit_status) from None
        except KeyboardInterrupt as ended:  # Click would answer it, and the next, with status 1
            end_by_signal(ended)
        except (DefectError, EOFError) as error:
            end_by_defect(error)
        except BrokenPipeError:  # the reader of a pipe went away
            silence_output()
            raise typer.Exit(0) from None
        except OSError as error:
            if is_of_memory(error):
                end_without_answer()
            silence_output()
            print(unwritable_text(error), file=sys.stderr)
            raise typer.Exit(2) from None
        except MemoryError:
            end_without_answer()

    describe(trapped, function, list(inspect.signature(function).parameters.values()))
    return trapped
