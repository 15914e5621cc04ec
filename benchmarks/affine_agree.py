"""Programs as users write them: which go in, and whether the emitted C computes what they compute.

    python benchmarks/affine_agree.py [PROGRAM ...] [--folder F] [--effort E] [--memory S ...] [--verbose]

reads each program of benchmarks/programs/ (C and Python), emits its order as C, compiles that with ``-Wall -Wextra
-Werror``, runs program and order on the same random data in one process, and compares every array; the driver of the
emitted C runs under sanitisers, that of races with threads of this file in place of libgomp's. A program starts with a
line as ``// heat: f n:i=8 a:d=0.5 u:d[n,n]``: its name, its function, and the arguments with their types (one letter,
as in ``TYPES``), the values of numbers and the shapes of arrays. Lines behind ``//@@wrap`` are of the program as
written alone, ``f_wrap`` with the arguments of the first line.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from shorthaul.affine import code, program_from_text
from shorthaul.core.errors import InputError

FOLDER = Path(__file__).parent / "programs"
TYPES = {"d": "f8", "f": "f4", "i": "i4", "l": "i8", "u": "u4", "z": "u8", "c": "i1", "b": "u1", "s": "i2", "Z": "c16"}
REALS = {"d": ctypes.c_double, "f": ctypes.c_float}
NUMBERS = {**REALS, "i": ctypes.c_int, "l": ctypes.c_long, "u": ctypes.c_uint, "z": ctypes.c_size_t}
WORDS = {"float": "f", "double": "d", "unsigned": "u", "size_t": "z", "long": "l"}
HEAD = re.compile(r"^(?://|#) (?P<name>\w+): (?P<function>\w+) (?P<arguments>\w+:.*)$", re.MULTILINE)
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-lm")
MEMORY = 20
#: What gcc calls for parallel loops, by threads that its sanitiser knows (it takes those of libgomp for races).
THREADS = """#include <pthread.h>
enum { many = 3 };
struct job { void (*run)(void *); void *data; int me; };
static _Thread_local int me, inside;
static void *start(void *given) {
  struct job *job = given;
  me = job->me, inside = 1;
  job->run(job->data);
  return 0;
}
int omp_get_num_threads(void) { return inside ? many : 1; }
int omp_get_thread_num(void) { return me; }
void GOMP_parallel(void (*run)(void *), void *data, unsigned wanted, unsigned flags) {
  (void)wanted, (void)flags;
  pthread_t threads[many];
  struct job jobs[many];
  for (int at = 0; at < many; at++) {
    jobs[at] = (struct job){run, data, at};
    pthread_create(&threads[at], 0, start, &jobs[at]);
  }
  for (int at = 0; at < many; at++) pthread_join(threads[at], 0);
}
"""
Values = dict[str, Any]


class Program(NamedTuple):
    name: str
    function: str
    text: str  #: what the reader is given
    wrap: str  #: what the program as written has besides
    arguments: list[tuple[str, str, str | None]]  #: name, type, and the shape of an array
    numbers: dict[str, float]
    is_python: bool

    def data(self) -> Values:
        """Return the same random values at every call."""
        random, found = np.random.default_rng(1), dict(self.numbers)
        for name, kind, shape in self.arguments:
            if shape is not None:
                extents = eval(f"({shape},)", {}, dict(self.numbers))
                values = (
                    random.uniform(0.5, 1.5, extents)
                    if kind in "dfZ"
                    else random.integers(-2 if kind in "ils" else 0, 4, extents)
                )
                if kind in "dfZ" and len(extents) == 2 and extents[0] == extents[1]:
                    values += np.eye(extents[0]) * extents[0]  # factorisations need it
                found[name] = values.astype(TYPES[kind])
        return found


def programs(folder: Path) -> Iterator[Program]:
    for path in sorted(folder.iterdir()):
        text = path.read_text()
        heads = list(HEAD.finditer(text)) if path.suffix in {".c", ".py"} else []
        for head, end in zip(heads, [*(item.start() for item in heads[1:]), len(text)], strict=True):
            body, _, wrap = text[head.end() : end].partition("//@@wrap")
            arguments, numbers = [], {}
            for word in head["arguments"].split():
                name, _, kind = word.partition(":")
                if "=" in kind:
                    numbers[name] = eval(kind[2:], {}, dict(numbers))
                arguments.append((name, kind[0], None if "=" in kind else kind[2:-1]))
            yield Program(head["name"], head["function"], body, wrap, arguments, numbers, path.suffix == ".py")


def run_python(program: Program, values: Values) -> dict[str, int]:
    """Run it on the values, add the arrays that it returns to them, and return its integers: sizes may be local."""
    space: Values = {}
    exec(compile(program.text, program.name, "exec"), space)
    integers: dict[str, int] = {}

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if frame.f_code.co_name == program.function:
            integers.update({k: int(v) for k, v in frame.f_locals.items() if isinstance(v, (int, np.integer))})
            if event == "call":  # those left out have defaults
                values.update({k: v for k, v in frame.f_locals.items() if isinstance(v, float)})
            return trace
        return None

    sys.settrace(trace)
    try:
        returned = space[program.function](*[values[name] for name, *_ in program.arguments])
    finally:
        sys.settrace(None)
    tree = ast.parse(program.text)
    (head,) = (item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == program.function)
    if isinstance(head.body[-1], ast.Return) and head.body[-1].value is not None:
        told = head.body[-1].value
        pairs = zip(told.elts, returned, strict=True) if isinstance(told, ast.Tuple) else [(told, returned)]
        values.update({getattr(item, "id", "result"): value for item, value in pairs})
    return integers


def library(text: str, folder: Path, name: str, *flags: str) -> ctypes.CDLL:
    (folder / f"{name}.c").write_text(text)
    command = ["gcc", "-shared", "-fPIC", "-o", folder / f"{name}.so", folder / f"{name}.c", *flags]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return ctypes.CDLL(str(folder / f"{name}.so"))


def address(array: np.ndarray, declared: str, keep: list[Any]) -> Any:
    """Return what C takes for the array: an address, or those of its rows."""
    if "**" not in declared and not re.match(r"[^(\[]*\*[^(\[]*\[", declared):
        return array.ctypes.data_as(ctypes.c_void_p)
    keep.append((ctypes.c_void_p * len(array))(*[row.ctypes.data for row in array]))
    return keep[-1]


def run_c(program: Program, folder: Path, values: Values) -> None:
    name = f"{program.function}_wrap" if program.wrap else program.function
    run = getattr(library(program.text + program.wrap, folder, "written", "-std=gnu11", "-w", "-fwrapv", "-lm"), name)
    run.restype = None
    given = [(values[item], NUMBERS.get(kind), shape) for item, kind, shape in program.arguments]
    run(*[address(value, "", []) if shape is not None else number(value) for value, number, shape in given])


def run_order(program: Program, text: str, folder: Path, values: Values, sizes: dict[str, int], wanted: Values) -> None:
    """Run the emitted function on the values; arrays that only it has, such as results, are made here."""
    run = getattr(library(text, folder, "order", "-DNO_DRIVER", "-O2", *STRICT), f"{program.function}_tiled")
    (parameters,) = re.findall(rf"\w {program.function}_tiled\((.*)\) \{{", text)
    made, given, keep = {}, [], []  # type: ignore[var-annotated]
    for declared in re.split(r",(?![^\[]*\])", parameters):
        name = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[.*", "", declared).replace("restrict", ""))[-1]
        if "[" in declared or "*" in declared:
            if not isinstance(values.get(name), np.ndarray):
                merged = [item for item in name.split("_") if isinstance(values.get(item), np.ndarray)]
                like = np.asarray(wanted.get(name, np.zeros(100_000)), dtype=float)
                made[name] = np.stack([values[item] for item in merged]) if len(merged) > 1 else np.zeros_like(like)
            given.append(address(made.get(name, values.get(name)), declared, keep))
        else:
            kind = next((WORDS[word] for word in WORDS if re.search(rf"\b{word}\b", declared)), "i")
            value = values.get(name, sizes.get(name, wanted.get(name, 0.25)))
            given.append(NUMBERS[kind](value if kind in "df" else int(value)))
    run(*given)
    for name, array in made.items():
        parts = [item for item in name.split("_") if isinstance(values.get(item), np.ndarray)]
        values.update(zip(parts, array, strict=True) if len(parts) > 1 else {name: array})


def sized(program: Program, names: tuple[str, ...], integers: dict[str, int]) -> dict[str, int]:
    """Return the values of a program's parameters: arguments, extents as ``A_0``, or integers of the function."""
    shapes = {name: value.shape for name, value in program.data().items() if isinstance(value, np.ndarray)}
    found = {}
    for name in names:
        extent = re.fullmatch(r"(\w+)_(\d)_?", name)
        if name in program.numbers:
            found[name] = int(program.numbers[name])
        elif extent and extent[1] in shapes:
            found[name] = shapes[extent[1]][int(extent[2])]
        elif name in integers or name.split("_")[-1] in program.numbers:
            found[name] = int(integers.get(name, program.numbers.get(name.split("_")[-1], 0)))
    return found


def judged(program: Program, folder: Path, effort: float, memory: int) -> tuple[str, str]:
    """Return a word on the program with a fast memory of so many words, and more about it."""
    wanted, values, integers = program.data(), program.data(), {}
    try:
        read = program_from_text(program.text, function=program.function)
        if program.is_python:
            integers = run_python(program, wanted)
        sizes = sized(program, read.parameters, integers)
        text = code(read, size={**sizes, "S": memory}, effort=effort).extra["code"]
    except InputError as error:
        return "refused", str(error)
    if not program.is_python:
        run_c(program, folder, wanted)
    try:
        run_order(program, text, folder, values, sizes, wanted)
        flags = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", folder / "driver")
        subprocess.run(["gcc", *flags, folder / "order.c", *STRICT], check=True, capture_output=True, text=True)
        subprocess.run([folder / "driver"], check=True, capture_output=True, text=True, timeout=60)
        if "  PARALLEL\n" in text:
            (folder / "threads.c").write_text(THREADS)
            flags = ("-O1", "-fsanitize=thread", "-c", folder / "order.c", folder / "threads.c")
            subprocess.run(["gcc", "-fopenmp", *flags], check=True, capture_output=True, text=True, cwd=folder)
            both = ("order.o", "threads.o", "-fsanitize=thread", "-lm", "-o", "threads")
            subprocess.run(["gcc", *both], check=True, capture_output=True, text=True, cwd=folder)
            subprocess.run([folder / "threads"], check=True, capture_output=True, text=True, timeout=60)
    except subprocess.CalledProcessError as error:
        return "broken", f"{error.stdout}{error.stderr}"
    arrays = {name for name, value in wanted.items() if isinstance(value, np.ndarray)}
    close = {True: 1e-4, False: 1e-9}
    unlike = [
        name
        for name in sorted(arrays)
        if name not in values
        or not np.allclose(wanted[name], values[name], atol=1e-9, rtol=close[wanted[name].dtype == np.float32])
        or not (program.is_python or np.array_equal(wanted[name], values[name], equal_nan=True))
    ]
    before = program.data()
    if not unlike and all(name in before and np.array_equal(before[name], wanted[name]) for name in arrays):
        return "idle", "no array changes, so nothing is compared"
    return ("WRONG", f"{', '.join(unlike)} at {sizes}") if unlike else ("agrees", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--effort", type=float, default=0.1)
    parser.add_argument("--memory", type=int, nargs="+", default=[MEMORY], metavar="S")
    parser.add_argument("--verbose", action="store_true", help="messages in whole")
    given = parser.parse_args()
    known = {item.name: item for item in programs(given.folder)}
    if unknown := sorted(set(given.programs) - set(known)):
        parser.error(f"unknown program {unknown[0]!r}")
    counts: Counter[str] = Counter()
    for name, memory in product(given.programs or known, given.memory):
        reading, writing = os.pipe()
        if not (child := os.fork()):  # a wrong order may end its process
            with tempfile.TemporaryDirectory() as folder, os.fdopen(writing, "w") as pipe:
                try:
                    pipe.write("\0".join(judged(known[name], Path(folder), given.effort, memory)))
                except Exception as error:  # a defect is one of the answers
                    pipe.write(f"defect\0{type(error).__name__}: {error}")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            word, _, told = pipe.read().partition("\0")
        os.waitpid(child, 0)
        counts[word or "crash"] += 1
        print(f"{name:22}{word or 'crash':10}{told if given.verbose else told.partition(chr(10))[0][:150]}", flush=True)
    print(f"{sum(counts.values())} programs: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    main()
