"""Arrows point down only: cli -> report, bridges -> engines -> graphs -> core. Read from the imports themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import textwrap
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "shorthaul"
ENGINES = ("pebble", "affine", "tensor", "dataflow", "spatial")
ALLOWED = {
    "core": {"core"},
    "graphs": {"graphs", "core"},
    **{engine: {engine, "graphs", "core"} for engine in ENGINES},
    "bridges": {"bridges", *ENGINES, "graphs", "core"},
    "report": {"report", "core"},
    "cli": {"cli", "report", "bridges", *ENGINES, "graphs", "core", ""},
    "": {"", "cli", "report", "bridges", "core", *ENGINES},
}
#: The rooms of every engine, from the ground up; a room is a folder or a file at the door. Rooms of one line may not
#: import one another, and nobody imports a line above.
FLOORS = {
    "pebble": """
        model options plan sram tuning
        check formats workloads
        states structured
        bounds run views
        request
        orders
        local_search
        exact
        strategy
        verbs
    """,
    "affine": """
        model options plan tuning views
        effort
        check formats sizes
        integer_sets
        frontend proofs
        bounds/partition orders workloads
        bounds/lifetime
        bounds c_code replay
        verbs
    """,
    "tensor": """
        model networks/model networks/plan plan tuning
        options
        check cost_model formats run workloads
        bounds networks views
        search
        verbs
    """,
    "dataflow": """
        model options plan tuning
        check graphs workloads
        formats mapping
        bounds caps_hms loading views
        modulo
        exploration
        c_code
        execution
        verbs
    """,
    "spatial": """
        model options tuning
        plan workloads
        check formats layout
        computer views
        algorithms
        bounds
        verbs
    """,
}
CHECKERS_MAY_USE = ("model", "plan", "networks/model", "networks/plan", "formats")
MOST_FILES = 15
MOST_ARROWS = 300
MOST_LINES = 500
MOST_LINES_OF_A_FUNCTION = 80
MOST_PARAMETERS = 12
MODULES = sorted(SOURCE.rglob("*.py"))
FOLDERS = sorted({path.parent for path in MODULES})


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {module_name(path) for path in MODULES}


def is_for_types(node: ast.If) -> bool:
    return "TYPE_CHECKING" in {getattr(node.test, "id", ""), getattr(node.test, "attr", "")}


#: Heads of definitions at the start of a line, whole imports, and whole signatures.
DEFINED = re.compile(r"^( *)(?:(?:async )?(def) |class |@)", re.MULTILINE)
IMPORTED = re.compile(r"^ *(?:from [\w.]+ import (?:\([^)]*\)|[^(\n]+)|import [^\n]+)(?: +#[^\n]*)?$", re.MULTILINE)
SIGNED = re.compile(r"^ *(?:async )?def \w+\(.*?:(?: +#[^\n]*)?$", re.MULTILINE | re.DOTALL)


def may_be_long(text: str) -> bool:
    """Whether so many lines are between the head of a function and the next definition as far to the left."""
    heads = [(text.count("\n", 0, head.start()), len(head[1]), head[2] is not None) for head in DEFINED.finditer(text)]
    heads.append((text.count("\n"), 0, False))
    return any(
        is_function
        and next(line for line, other, _ in heads[at + 1 :] if other <= inside) - first >= MOST_LINES_OF_A_FUNCTION
        for at, (first, inside, is_function) in enumerate(heads)
    )


@cache
def statements(path: Path) -> list[ast.stmt]:
    """Every statement of a module that a test looks at, also inside others.

    Imports and signatures of many parameters are cut out and parsed alone where those show all: whole trees take 3 s.
    """
    text = path.read_text()
    if "TYPE_CHECKING" not in text and ": ...\n" not in text and not may_be_long(text):
        pieces = [
            *map(str.lstrip, IMPORTED.findall(text)),
            *(
                f"{textwrap.dedent(piece)}\n    pass"
                for piece in SIGNED.findall(text)
                if piece.count(",") >= MOST_PARAMETERS
            ),
        ]
        return ast.parse("\n".join(pieces)).body
    found: list[ast.stmt] = []
    ahead: list[ast.AST] = [ast.parse(text)]
    while ahead:
        node = ahead.pop()
        inner = [
            inside
            for field in ("body", "orelse", "finalbody", "handlers", "cases")
            for inside in getattr(node, field, ())
        ]
        found += [inside for inside in inner if isinstance(inside, ast.Import | ast.ImportFrom | ast.FunctionDef)]
        found += [inside for inside in inner if isinstance(inside, ast.If) and is_for_types(inside)]
        ahead += inner
    for node in found:
        if isinstance(node, ast.FunctionDef):
            node.body.clear()
    return found


@cache
def imports(path: Path, *, with_types: bool = False) -> frozenset[str]:
    """Every module of the project that ``path`` imports, at the top or inside functions."""
    skipped: set[ast.AST] = set()
    if not with_types:
        for node in statements(path):
            if isinstance(node, ast.If):
                skipped.update(inner for statement in node.body for inner in ast.walk(statement))
    found: set[str] = set()
    for node in statements(path):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            found.update(
                name if (name := f"{node.module}.{alias.name}") in KNOWN else node.module for alias in node.names
            )
    found = {name.removeprefix("cython.cimports.") for name in found}
    return frozenset(name for name in found if name.split(".")[0] == "shorthaul")


def layer(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED else ""


def test_arrows_point_down() -> None:
    for path in MODULES:
        here = layer(module_name(path))
        wrong = {name for name in imports(path, with_types=True) if layer(name) not in ALLOWED[here]}
        assert not wrong, f"{module_name(path)} must not import {sorted(wrong)}"


def test_no_import_cycles() -> None:
    graph = {module_name(path): imports(path) - {module_name(path)} for path in MODULES}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def room(module: str, engine: str) -> str | None:
    """Return the room of an engine that holds ``module``, with its inner folder where the floors name that."""
    parts = module.split(".")
    if len(parts) < 3 or parts[1] != engine:
        return None
    inner = "/".join(parts[2:4])
    return inner if inner in FLOORS[engine].split() else parts[2]


@pytest.mark.parametrize("engine", ENGINES)
def test_rooms_stand_above_what_they_import(engine: str) -> None:
    floor = {name: at for at, line in enumerate(FLOORS[engine].strip().splitlines()) for name in line.split()}
    rooms = {here: path for path in MODULES if (here := room(module_name(path), engine)) is not None}
    assert set(rooms) == set(floor), "the floors name every room, and no other"
    wrong = []
    for path in MODULES:
        here = room(module_name(path), engine)
        for name in imports(path, with_types=True) if here is not None else ():
            there = room(name, engine)
            if there not in (None, here) and floor[there] >= floor[here]:
                wrong.append(f"{module_name(path)} -> {name}")
    assert not wrong


def test_few_arrows_between_rooms() -> None:
    arrows = set()
    for path in MODULES:
        engine = layer(module_name(path))
        here = module_name(path).split(".")[2:3] or ["__init__"]
        names = imports(path, with_types=True) if engine in ENGINES else ()
        arrows |= {
            (engine, here[0], name.split(".")[2])
            for name in names
            if layer(name) == engine and len(name.split(".")) > 2 and name.split(".")[2] != here[0]
        }
    assert len(arrows) <= MOST_ARROWS


def test_files_and_functions_are_short() -> None:
    for path in MODULES:
        name = module_name(path)
        assert len(path.read_text().splitlines()) <= MOST_LINES, name
        for node in statements(path):
            if isinstance(node, ast.FunctionDef):
                parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                assert len(parameters) <= MOST_PARAMETERS, f"{name}: {node.name}"
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno < MOST_LINES_OF_A_FUNCTION, f"{name}: {node.name}"


def test_rooms_are_small() -> None:
    for folder in FOLDERS:
        files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
        assert len(files) <= MOST_FILES, folder.relative_to(SOURCE)


def test_checkers_share_no_code_with_the_search() -> None:
    checkers = [
        path
        for path in MODULES
        if layer(module_name(path)) in ENGINES and module_name(path).split(".")[2:3] == ["check"]
    ]
    assert {layer(module_name(path)) for path in checkers} == set(ENGINES)
    for path in checkers:
        engine = layer(module_name(path))
        for name in imports(path):
            allowed = layer(name) == "core" or room(name, engine) in ("check", *CHECKERS_MAY_USE)
            assert allowed, f"{module_name(path)} must not import {name}"


def test_kernels_import_only_numpy_and_one_another() -> None:
    plain = {"__future__", "heapq", "math", "typing", "numpy", "numpy.typing"}
    plain |= {
        "cython",
        "cython.dataclasses",
        "cython.cimports.libc.math",
        "cython.cimports.shorthaul.core.compiled.bits",
    }
    for path in (path for path in MODULES if path.stem.endswith("_kernels")):
        inner = statements(path)
        roots = {node.module for node in inner if isinstance(node, ast.ImportFrom)}
        roots |= {alias.name for node in inner if isinstance(node, ast.Import) for alias in node.names}
        declared = {root for root in roots if root is not None and root.endswith(("_kernels", "_constants"))}
        assert roots <= plain | declared, module_name(path)


def test_no_catch_all_modules() -> None:
    assert not {path.stem for path in MODULES} & {"utils", "util", "helpers", "helper", "base", "common", "misc"}


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_shorthaul_is_light() -> None:
    loaded = modules_after("import shorthaul")
    heavy = {"numpy", "scipy", "ortools", "islpy", "sympy", "typer", "rich", "plotly", "jinja2", "msgspec"}
    assert not heavy & loaded
    # only what the lazy names need
    assert {name for name in loaded if name.startswith("shorthaul")} <= {
        "shorthaul",
        "shorthaul.core",
        "shorthaul.core.compiled",
        "shorthaul.core.compiled.required",
        "shorthaul.core.lazy",
        "shorthaul.core.version",
    }


def test_the_command_line_starts_light() -> None:
    loaded = modules_after("import shorthaul.cli.app")
    assert not {"numpy", "scipy", "ortools", "islpy", "sympy", "plotly", "rich"} & loaded
    assert not {name for name in loaded if name.startswith("shorthaul.")} - {
        "shorthaul.cli",
        "shorthaul.cli.app",
        "shorthaul.core",
        "shorthaul.core.compiled",
        "shorthaul.core.compiled.required",
        "shorthaul.core.lazy",
        "shorthaul.core.version",
    }
