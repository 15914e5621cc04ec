"""The keywords of every verb: written down with their types, shown by ``help``, the same as on the command line."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import shorthaul
from shorthaul.cli.app import command as command_of
from shorthaul.core.verbs import Verb

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("write_keywords", ROOT / "scripts" / "write_keywords.py")
assert spec is not None
assert spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
ENGINES: tuple[str, ...] = script.ENGINES
VERBS = [(engine, name, made) for engine in ENGINES for name, made in script.verbs(engine).items()]
EXPECTED = {
    "affine": {"bound", "cdag", "check", "code", "plan", "sweep"},
    "dataflow": {"bound", "buffers", "check", "code", "plan", "run", "schedule", "sweep", "throughput"},
    "pebble": {"bound", "check", "code", "memory", "plan", "run", "sweep"},
    "spatial": {"bound", "check", "lca", "plan", "sweep", "treefix"},
    "tensor": {"bound", "check", "plan", "run", "sweep"},
}


def test_the_modules_of_keywords_are_in_step() -> None:
    for path, text in script.modules().items():
        assert path.read_text() == text, "run 'make keywords'"
    assert {engine: set(script.verbs(engine)) for engine in ENGINES} == EXPECTED


@pytest.mark.parametrize(("engine", "name", "made"), VERBS, ids=[f"{engine} {name}" for engine, name, _ in VERBS])
def test_help_shows_every_keyword(engine: str, name: str, made: Verb) -> None:
    function = getattr(getattr(shorthaul, engine), name)
    parameters = inspect.signature(function).parameters
    document = inspect.getdoc(function) or ""
    assert "Parameters\n----------" in document
    assert getattr(getattr(shorthaul, engine), made.options.__name__) is made.options
    for word in made.keywords():
        assert word.name in parameters
        assert f"\n{word.name} : " in document
        assert word.help
    typed = importlib.import_module(f"shorthaul.{engine}.verbs.keywords")
    keywords = getattr(typed, f"{name.capitalize()}Keywords").__annotations__
    assert keywords == {word.name: keywords[word.name] for word in made.keywords()}


#: Flags and arguments of the command line that say where answers go, or what the Python surface takes in another form.
OF_THE_COMMAND = {
    "c_file",
    "target",
    "folder",
    "output",
    "result",
    "json",
    "help",
    "workload",
    "tree",
    "plan_file",
    "layout",
}
#: What a C file needs to become a CDAG: on the command line only.
OF_FILES = {"size", "function", "dim", "work"}


@pytest.mark.parametrize(("engine", "name", "made"), VERBS, ids=[f"{engine} {name}" for engine, name, _ in VERBS])
def test_keywords_are_the_flags(engine: str, name: str, made: Verb) -> None:
    command: Any = command_of(engine).commands[name]
    words = {word.name for word in made.keywords()} - {"search", "options", *made.aliases()}
    own = {parameter.name for parameter in made.explicit} - {"workload", "operator", "plan"}
    flags = {parameter.name for parameter in command.params} - (OF_THE_COMMAND - words - own)
    if engine == "pebble":
        flags -= OF_FILES
    assert words | own == flags - {"plan"}


PUBLIC = [
    (module, name)
    for module in ("shorthaul", *(f"shorthaul.{engine}" for engine in ENGINES))
    for name in importlib.import_module(module).__all__
]


def test_no_public_function_takes_or_returns_anything() -> None:
    for module, name in PUBLIC:
        value = getattr(importlib.import_module(module), name)
        if not inspect.isfunction(value):
            continue
        signature = inspect.signature(value)
        annotations = [str(p.annotation) for p in signature.parameters.values()] + [str(signature.return_annotation)]
        assert not [text for text in annotations if re.search(r"\bAny\b", text) or "_empty" in text], name
        assert not [p for p in signature.parameters.values() if p.kind is inspect.Parameter.VAR_KEYWORD], name


FUNCTIONS = [pair for pair in PUBLIC if inspect.isfunction(getattr(importlib.import_module(pair[0]), pair[1]))]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[".".join(pair) for pair in FUNCTIONS])
def test_public_functions_have_the_sections_of_numpy(module: str, name: str) -> None:
    """What goes in, what comes out, what is raised, and an example that the tests run."""
    function = getattr(importlib.import_module(module), name)
    document = inspect.getdoc(function) or ""
    titles = re.findall(r"^(\w+)\n-{4,}$", document, re.MULTILINE)
    assert titles == [title for title in ("Parameters", "Returns", "Raises", "Examples") if title in titles]
    assert ":class:" not in document.partition("\nParameters\n")[0]
    signature = inspect.signature(function)
    wanted = {"Examples"} | ({"Parameters"} if signature.parameters else set())
    wanted |= {"Returns"} if str(signature.return_annotation) != "None" else set()
    wanted |= {"Raises"} if "raise " in inspect.getsource(function) or hasattr(function, "__verb__") else set()
    assert wanted <= set(titles)
    section = document.partition("\nParameters\n")[2].partition("\n\n")[0]
    for parameter in signature.parameters:
        assert re.search(rf"^\w*(, )?{parameter}\b.* : \S", section, re.MULTILINE), parameter
    assert "\n>>> " in document
