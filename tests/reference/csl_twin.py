"""A reader and player of the part of CSL that programs for wafers use: text in, words over routers, results out."""

from __future__ import annotations

import operator
import re
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

TOKEN = re.compile(
    r"\s+|//[^\n]*|(?P<text>\"[^\"]*\")|(?P<number>\d+)|(?P<name>@?[A-Za-z_]\w*)|(?P<sign>[<>=!]=|\.\{|[-+*^|&<>=(){}\[\];:,.])"
)
LEVELS = [
    {"==": operator.eq, "<": operator.lt, ">": operator.gt, ">=": operator.ge, "<=": operator.le},
    {"|": operator.or_, "^": operator.xor, "&": operator.and_},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul},
]
TYPES: dict[str, Any] = {"i16": np.int16, "i32": np.int32, "u32": np.uint32, "f32": np.float32}
STEPS = {"SOUTH": (0, 1, "NORTH"), "NORTH": (0, -1, "SOUTH"), "EAST": (1, 0, "WEST"), "WEST": (-1, 0, "EAST")}
Tree = tuple[Any, ...]


class Reader:
    """Recursive descent: :meth:`items` gives the declarations of a file as nested tuples."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            found = TOKEN.match(text, at)
            assert found, f"cannot read {text[at : at + 40]!r}"
            if found.lastgroup:
                self.tokens.append(found.group())
            at = found.end()
        self.at = 0

    def next(self, *wanted: str) -> str:
        token = self.tokens[self.at]
        assert not wanted or token in wanted, f"{token!r} in place of {wanted}"
        self.at += 1
        return token

    def has(self, token: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at] == token
        self.at += found
        return found

    def items(self) -> Iterator[Tree]:
        while self.at < len(self.tokens):
            if self.tokens[self.at] in {"fn", "task"}:
                self.next()
                name, parameters = self.next(), []
                self.next("(")
                while not self.has(")"):
                    parameters.append(self.next())
                    self.next(":")
                    self.kind()
                    self.has(",")
                self.kind()
                yield "function", name, parameters, self.block()
            elif self.tokens[self.at] in {"comptime", "layout"}:
                yield self.next(), self.block()
            else:
                yield self.statement()

    def kind(self) -> Tree:
        return ("value", self.next()) if not self.has("[") else self.array()

    def array(self) -> Tree:
        size = ("value", None) if self.has("*") else self.expression()
        self.next("]")
        kind = self.next()
        if not self.has("{"):
            return "type", size, kind
        return "array", size, kind, self.several("}")

    def block(self) -> list[Tree]:
        self.next("{")
        found = []
        while not self.has("}"):
            found.append(self.statement())
        return found

    def statement(self) -> Tree:
        if self.has("if") or self.has("while"):
            word = self.tokens[self.at - 1]
            self.next("(")
            condition = self.expression()
            self.next(")")
            return word, condition, self.block(), self.block() if self.has("else") else []
        for word in ("param", "const", "var"):
            if self.has(word):
                name = self.next()
                kind = self.kind() if self.has(":") else None
                first = self.expression() if self.has("=") else None
                self.next(";")
                return word, name, kind, first
        found = self.expression()
        if self.has("="):
            found = ("assign", found, self.expression())
        self.next(";")
        return found

    def several(self, end: str) -> list[Tree]:
        found = []
        while not self.has(end):
            found.append(self.expression())
            self.has(",")
        return found

    def expression(self, level: int = 0) -> Tree:
        if level == len(LEVELS):
            return self.postfix()
        found = self.expression(level + 1)
        while self.at < len(self.tokens) and self.tokens[self.at] in LEVELS[level]:
            found = ("binary", LEVELS[level][self.next()], found, self.expression(level + 1))
        return found

    def postfix(self) -> Tree:
        found = self.primary()
        while True:
            if self.has("("):
                found = ("call", found, self.several(")"))
            elif self.has("["):
                found = ("index", found, self.expression())
                self.next("]")
            elif self.has("."):
                found = ("field", found, self.next())
            else:
                return found

    def primary(self) -> Tree:
        token = self.next()
        if token == "-":
            return "binary", operator.sub, ("value", 0), self.postfix()
        if token == "&":
            return "address", self.postfix()
        if token == "(":
            found = self.expression()
            self.next(")")
            return found
        if token == "[":
            return self.array()
        if token == "fn":
            self.next("(")
            self.next(")")
            return "value", self.next()
        if token == ".{":
            named, listed = {}, []
            while not self.has("}"):
                if self.has("."):
                    name = self.next()
                    self.next("=")
                    named[name] = self.expression()
                else:
                    listed.append(self.expression())
                self.has(",")
            return ("struct", named) if named else ("list", listed)
        return (
            ("value", int(token)) if token.isdigit() else ("value", token[1:-1]) if token[0] == '"' else ("name", token)
        )


class Module:
    """A file with its parameters: names and their values, functions that run."""

    def __init__(self, text: str, given: dict[str, Any], builtins: dict[str, Callable[..., Any]]) -> None:
        self.names: dict[str, Any] = {**{f"@{name}": one for name, one in builtins.items()}, **TYPES}
        self.names |= {way: way for way in (*STEPS, "RAMP")} | {kind: kind for kind in ("fabout_dsd", "void", "true")}
        later = []
        for item in Reader(text).items():
            if item[0] == "function":
                self.names[item[1]] = self.function(*item[2:])
            elif item[0] in {"comptime", "layout"}:
                later.append(item[1])
            elif item[0] == "param":
                self.names[item[1]] = given.pop(item[1])
            else:
                self.run([item], self.names)
        assert not given, f"unknown parameters {given}"
        for block in later:
            self.run(block, {})

    def function(self, parameters: list[str], body: list[Tree]) -> Callable[..., None]:
        return lambda *given: self.run(body, dict(zip(parameters, given, strict=True)))

    def run(self, body: list[Tree], local: dict[str, Any]) -> None:
        for statement in body:
            match statement:
                case ("if", condition, then, other):
                    self.run(then if self.value(condition, local) else other, local)
                case ("while", condition, inside, _):
                    while self.value(condition, local):
                        self.run(inside, local)
                case ("var" | "const", name, _, first):
                    found = self.value(first, local)
                    local[name] = found.copy() if isinstance(found, np.ndarray) and first[0] != "address" else found
                case ("assign", ("name", name), value):
                    (local if name in local else self.names)[name] = self.value(value, local)
                    assert name in self.names or name in local
                case ("assign", ("index", array, at), value):
                    place = self.value(at, local)
                    assert place >= 0
                    self.value(array, local)[place] = self.value(value, local)
                case _:
                    self.value(statement, local)

    def value(self, tree: Tree, local: dict[str, Any]) -> Any:
        match tree:
            case ("value", found):
                return found
            case ("name", name):
                return local[name] if name in local else self.names[name]
            case ("binary", work, left, right):
                with np.errstate(over="ignore"):
                    return work(self.value(left, local), self.value(right, local))
            case ("index", array, at):
                place = self.value(at, local)
                assert place >= 0
                return self.value(array, local)[place]
            case ("address", of):
                return self.value(of, local)
            case ("field", of, name):
                return self.value(of, local)[name]
            case ("call", of, given):
                return self.value(of, local)(*(self.value(one, local) for one in given))
            case ("struct", fields):
                return {name: self.value(one, local) for name, one in fields.items()}
            case ("list", entries):
                return [self.value(one, local) for one in entries]
            case ("type", size, kind):
                return self.value(size, local), TYPES[kind]
            case ("array", size, kind, entries):
                found = np.array([self.value(one, local) for one in entries], TYPES[kind])
                assert len(found) == self.value(size, local)
                return found
        raise AssertionError(tree)


class Wafer:
    """Stands for the SDK's runtime: processors with modules, routers with colours; words travel in a random order."""

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.rng, self.routes = rng, dict[tuple[int, int, int], tuple[str, str]]()
        self.modules: dict[tuple[int, int], Module] = {}
        self.tasks: dict[tuple[int, int, int], Callable[..., None]] = {}
        self.exported: dict[tuple[int, int], dict[str, Any]] = {}
        self.under_way: list[Callable[[], None]] = []
        self.done = dict[tuple[int, int], int]()
        self.hops = 0
        self.text = (folder / "pe.csl").read_text()
        Module((folder / "layout.csl").read_text(), {}, {
            "import_module": lambda _name, sides: {**sides, "get_params": lambda x: {"x": x}},
            "set_rectangle": self.rectangle, "set_tile_code": self.tile, "set_color_config": self.route,
            "get_color": self.colour, "export_name": lambda *_: None,
        })  # fmt: skip
        assert set(self.modules) == {(x, y) for x in range(self.sides[0]) for y in range(self.sides[1])}

    def colour(self, number: int) -> int:
        assert 0 <= number < 21
        return number

    def rectangle(self, width: int, height: int) -> None:
        self.sides = width, height

    def route(self, x: int, y: int, colour: int, config: Any) -> None:
        assert (x, y, colour) not in self.routes
        ((come,), (go,)) = config["routes"]["rx"], config["routes"]["tx"]
        self.routes[x, y, colour] = come, go

    def tile(self, x: int, y: int, file: str, given: dict[str, Any]) -> None:
        assert (x, y) not in self.modules
        assert file == "pe.csl"
        assert given["memcpy_params"] == {"x": x}
        here, self.exported[x, y], self.done[x, y] = (x, y), {}, 0
        self.modules[here] = Module(self.text, given, {
            "import_module": lambda _name, _given: {"unblock_cmd_stream": lambda: self.finish(here)},
            "zeros": lambda of: np.zeros(*of), "get_dsd": lambda _kind, fields: fields["fabric_color"],
            "get_color": self.colour, "get_output_queue": lambda queue: queue, "get_data_task_id": lambda colour: colour,
            "mov32": lambda colour, word: self.send(here, colour, word),
            "fmovs": lambda colour, word: self.send(here, colour, word),
            "bind_data_task": lambda task, colour: self.bind(here, colour, task),
            "export_symbol": lambda what, name="compute": self.exported[here].update({name: what}),
        })  # fmt: skip

    def bind(self, here: tuple[int, int], colour: int, task: Callable[..., None]) -> None:
        assert (*here, colour) not in self.tasks
        self.tasks[*here, colour] = task

    def finish(self, here: tuple[int, int]) -> None:
        self.done[here] += 1

    def send(self, here: tuple[int, int], colour: int, word: Any) -> None:
        (x, y), came = here, "RAMP"
        while True:
            come, go = self.routes[x, y, colour]
            assert come == came
            if go == "RAMP":
                break
            dx, dy, came = STEPS[go]
            x, y, self.hops = x + dx, y + dy, self.hops + 1
        self.under_way.append(lambda: self.tasks[x, y, colour](word))

    def launch(self, name: str, *, nonblock: bool) -> None:
        assert not nonblock
        before = dict(self.done)
        self.under_way += [one[name] for one in self.exported.values()]
        while self.under_way:
            self.under_way.pop(int(self.rng.integers(len(self.under_way))))()
        assert self.done == {here: count + 1 for here, count in before.items()}

    def memory(self, name: str, *box: int) -> list[Any]:
        x0, y0, width, height, size = box
        assert (x0, y0, width, height) == (0, 0, *self.sides)
        cells = [self.exported[x, y][name] for y in range(height) for x in range(width)]
        assert all(len(cell) == size for cell in cells)
        return cells

    def memcpy_h2d(self, name: str, given: Any, *box: int, **_how: object) -> None:
        for cell, values in zip(self.memory(name, *box), given.reshape(-1, box[-1]), strict=True):
            assert cell.dtype == given.dtype
            cell[:] = values

    def memcpy_d2h(self, found: Any, name: str, *box: int, **_how: object) -> None:
        found[:] = np.concatenate(self.memory(name, *box))

    def get_id(self, name: str) -> str:
        return name

    def load(self) -> None:
        assert not self.under_way

    run = stop = load


def run_program(folder: Path, rng: np.random.Generator, times: int = 2) -> tuple[np.ndarray, Wafer]:
    """Run ``run.py`` in ``folder`` several times on one wafer; return what it writes, and the wafer."""
    wafer = Wafer(folder, rng)
    module: Any = types.ModuleType("cerebras.sdk.runtime.sdkruntimepybind")
    module.SdkRuntime = lambda _name, **_where: wafer
    module.MemcpyDataType = module.MemcpyOrder = types.SimpleNamespace(MEMCPY_32BIT=0, ROW_MAJOR=0)
    names = ["cerebras", "cerebras.sdk", "cerebras.sdk.runtime", module.__name__]
    kept = sys.argv
    sys.modules.update({name: types.ModuleType(name) for name in names} | {module.__name__: module})
    sys.argv = ["run.py", "--name", "out"]
    try:
        for _ in range(times):
            runpy.run_path(str(folder / "run.py"))
    finally:
        sys.argv = kept
        for name in names:
            del sys.modules[name]
    return np.load(folder / "result.npy"), wafer
