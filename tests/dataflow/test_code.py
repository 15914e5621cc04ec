"""Points as C: no order of a core deadlocks, the files compile without a warning, and all tokens are those of the actors in turn."""

from __future__ import annotations

import dataclasses
import math
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.commands import shorthaul
from tests.dataflow.small import small_problem

from shorthaul import dataflow
from shorthaul.core.errors import InputError
from shorthaul.dataflow.c_code.files import c_files
from shorthaul.dataflow.mapping.binding import mapped_point
from shorthaul.dataflow.mapping.names import comment, identifiers, literal
from shorthaul.dataflow.mapping.steps import accesses, steps_of_cores
from shorthaul.dataflow.model import Actor, Application, Channel, Platform, Problem, phases
from shorthaul.dataflow.plan import Point

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
WARNINGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread")


def compiled(folder: Path, *flags: str) -> Path:
    program = folder / "network"
    command = [str(COMPILER), *WARNINGS, *flags, *map(str, sorted(folder.glob("*.c"))), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def sanitized(folder: Path, sanitizer: str) -> Path:
    """Compile for a sanitizer, or, where this machine has none, without."""
    probe = folder / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    command = [str(COMPILER), f"-fsanitize={sanitizer}", str(probe), "-o", str(folder / "probe")]
    works = subprocess.run(command, capture_output=True, check=False).returncode == 0
    probe.unlink()
    if not works or subprocess.run([str(folder / "probe")], capture_output=True, check=False).returncode:
        return compiled(folder)
    return compiled(folder, f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all")


def written(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def scheduled(problem: Problem, **options: object) -> Point:
    return dataflow.schedule(problem.application, problem.mapping, platform=problem.platform, **options).plan.front[0]


def played(application: Application, platform: Platform, point: Point, iterations: int) -> bool:
    """Let every core take its steps in order, waiting for tokens and places; True if all come to their end."""
    net = mapped_point(application, platform, point)
    found = accesses(net)
    written = {buffer.id: buffer.delay for buffer in net.network.buffers}
    taken = {(buffer.id, reader): 0 for buffer in net.network.buffers for reader in range(len(buffer.readers))}

    def parts(step):
        if step.access is not None:
            return [step.access]
        reads, writes = found[step.actor]
        return [access for access in (*reads, *writes) if not access.is_copy]

    def ready(access):
        name = access.buffer.id
        if access.reader >= 0:
            return taken[name, access.reader] < written[name]
        least = min(taken[name, reader] for reader in range(len(access.buffer.readers)))
        return written[name] - least < point.capacities[name]

    queues = {}
    for core, steps in steps_of_cores(net, point, found).items():
        latest = max(step.age for step in steps)
        queues[core] = [step for n in range(iterations + latest) for step in steps if 0 <= n - step.age < iterations][
            ::-1
        ]
    moved = True
    while moved:
        moved = False
        for queue in queues.values():
            while queue and all(map(ready, parts(queue[-1]))):
                for access in parts(queue.pop()):
                    if access.reader >= 0:
                        taken[access.buffer.id, access.reader] += 1
                    else:
                        written[access.buffer.id] += 1
                moved = True
    return not any(queues.values())


def timeless(problem: Problem, draw: random.Random) -> Problem:
    """The same with actors that take no time now and then."""
    actors = tuple(
        dataclasses.replace(a, tau={kind: draw.choice((0, time)) for kind, time in a.tau.items()})
        for a in problem.application.actors
    )
    return dataclasses.replace(problem, application=dataclasses.replace(problem.application, actors=actors))


@pytest.mark.costly
@pytest.mark.parametrize("start", ["compact", "earliest"])
def test_cores_never_wait_for_ever(start: str) -> None:
    played_through = 0
    for seed in range(60):
        problem = small_problem(seed, most_actors=8)
        if seed % 2:
            problem = timeless(problem, random.Random(seed))
        try:
            point = scheduled(problem, start=start, decoder="caps")
        except InputError:  # a deadlock of the draw
            continue
        assert played(problem.application, problem.platform, point, 7), seed
        played_through += 1
    assert played_through > 40


def test_too_few_places_stop_the_cores() -> None:
    """The replay above can fail."""
    problem = small_problem(3, most_actors=8)
    point = scheduled(problem)
    tight = {name: max(1, count - 1) for name, count in point.capacities.items()}
    assert tight != point.capacities
    assert not played(problem.application, problem.platform, dataclasses.replace(point, capacities=tight), 7)


def test_names_of_every_kind() -> None:
    names = ["a#1", "a-1", "A_1", "if", "ä", "", "x*/y"]
    made = identifiers(names)
    assert len({name.lower() for name in made.values()}) == len(names)
    assert all((name.replace("_", "a").isalnum() and name.isascii()) or not name for name in made.values())
    assert comment("x*/ /*y\n") == "x* / / *y?"
    assert literal('"\\\n') == '"\\042\\134\\012"'


@needs_compiler
def test_sobel_under_a_thread_sanitizer(tmp_path: Path) -> None:
    plan, folder = tmp_path / "front.json", tmp_path / "c"
    small = "sobel:width=12,height=9"
    found = dataflow.plan(small, generations=2, population=10, polish_effort=0).plan
    dataflow.save_plan(plan, found)
    done = shorthaul("dataflow", "code", small, str(plan), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    checked = subprocess.run(
        [str(sanitized(folder, "thread")), "check", "40"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert " 0 wrong" in checked.stdout
    mine = (
        (folder / "actors.c").read_text().replace('#include "actors.h"', '#include <unistd.h>\n\n#include "actors.h"')
    )
    mine = mine.replace("mixed(1, firing)", "mixed((unsigned)getpid(), firing)")
    (folder / "actors.c").write_text(mine)
    done = shorthaul("dataflow", "code", small, str(plan), "-o", str(folder))
    assert "kept" in done.stderr
    assert "lacks" not in done.stderr
    assert (folder / "actors.c").read_text() == mine
    (folder / "actors.c").write_text(mine.replace("fire_gray", "fire_grey"))
    done = shorthaul("dataflow", "code", small, str(plan), "-o", str(folder))
    assert "it lacks fire_gray: write them" in done.stderr
    (folder / "actors.c").write_text(mine)
    done = shorthaul("dataflow", "code", small, str(plan), "-o", str(plan))
    assert done.returncode == 2
    assert "front.json: is no folder" in done.stderr
    checked = subprocess.run([str(compiled(folder)), "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 1  # what gray writes differs between processes


def odd_network() -> Application:
    """Names that C does not know, a buffer read twice by one actor, initial tokens, an actor to itself, empty tokens."""
    actors = ("src*/", "if", "m", "ü#1")
    ends = (
        ("src*/", "m", 3, 2), ("m", "if", 3, 0), ("m", "if", 3, 1), ("m", "ü#1", 3, 0),
        ("if", "ü#1", 5, 0), ("ü#1", "ü#1", 0, 2), ("ü#1", "src*/", 1, 3),
    )  # fmt: skip
    return Application(
        'odd "net" */',
        tuple(Actor(name, {"t1": 2, "t2": 4, "t3": 7}, "multicast" if name == "m" else "actor") for name in actors),
        tuple(Channel(f"c {i}", a, b, size, delay) for i, (a, b, size, delay) in enumerate(ends)),
    )


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("strategy", ["mrb-always", "reference"])
def test_odd_networks_under_sanitizers(strategy: str, tmp_path: Path) -> None:
    application = odd_network()
    found = dataflow.plan(application, strategy=strategy, generations=5, population=10, polish_effort=0)
    extra = dataflow.code(application, found).extra
    program = sanitized(
        written(extra["files"], tmp_path), "thread" if strategy == "mrb-always" else "address,undefined"
    )
    checked = subprocess.run([str(program), "check", "33"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    measured = subprocess.run([str(program), "run", "5"], capture_output=True, text=True, check=False)
    assert measured.returncode == 0
    assert f"{len(set(found.plan.front[0].binding.values()))} cores" in measured.stdout
    wrong = subprocess.run([str(program), "check", "0"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2


@needs_compiler
@pytest.mark.slow
def test_random_networks_compute_the_same(tmp_path: Path) -> None:
    for seed in range(40):
        problem = small_problem(1000 + seed, most_actors=9)
        try:
            point = scheduled(problem)
        except InputError:
            continue
        folder = tmp_path / str(seed)
        folder.mkdir()
        net = mapped_point(problem.application, problem.platform, point)
        program = sanitized(written(c_files(problem.application, problem.application, net, point), folder), "thread")
        checked = subprocess.run([str(program), "check", "50"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, (seed, checked.stdout + checked.stderr)


def random_rates(seed: int) -> Application:
    """A live network in which actors fire one to four times an iteration, some with phases, one initially empty."""
    draw = random.Random(seed)
    fires = [draw.randint(1, 4) for _ in range(draw.randint(2, 4))]
    ends = [(i, i + 1) for i in range(len(fires) - 1)]
    ends += [(draw.randrange(len(fires)), draw.randrange(len(fires))) for _ in range(draw.randint(0, 3))]
    channels = []
    for number, (i, j) in enumerate(ends):
        amount = math.lcm(fires[i], fires[j]) * draw.randint(1, 2)
        rates: list[int | tuple[int, ...]] = []
        for rate, fired in ((amount // fires[i], fires[i]), (amount // fires[j], fires[j])):
            uneven = draw.randint(0, rate)
            rates.append((uneven, 2 * rate - uneven) if fired % 2 == 0 and draw.random() < 0.5 else rate)
        delay = draw.choice((0, 1, 3, 7)) if i < j else amount + draw.randint(0, 3)
        channels.append(Channel(f"c{number}", f"a{i}", f"a{j}", 4, delay, 1, *rates))
    return Application(
        f"rates {seed}", tuple(Actor(f"a{i}", {"t1": i + 1}) for i in range(len(fires))), tuple(channels)
    )


def counting(application: Application) -> str:
    """Return functions that number the tokens of every channel, and end the program where one is read out of order."""
    lines = ['#include "actors.h"', "#include <stdlib.h>"]
    for c in application.channels:
        for end, rate in (("w", phases(c.produce)), ("r", phases(c.consume))):
            before = [sum(rate[:at]) for at in range(len(rate))]
            lines.append(f"static const int {end}_{c.id}[] = {{{', '.join(map(str, rate))}}};")
            lines.append(
                f"static long at_{end}_{c.id}(long f) {{ static const int b[] = {{{', '.join(map(str, before))}}};"
            )
            lines.append(f"  return f / {len(rate)} * {sum(rate)} + b[f % {len(rate)}]; }}")
        if c.delay:
            lines.append(f"void initial_{c.id}(long token, void *place) {{ *(int *)place = (int)token; }}")
    for actor in application.actors:
        into = [c for c in application.channels if c.dst == actor.id]
        out = [c for c in application.channels if c.src == actor.id]
        named = ["long firing", *(f"const void *from_{c.id}" for c in into), *(f"void *to_{c.id}" for c in out)]
        lines.append(f"void fire_{actor.id}({', '.join(named)}) {{\n  (void)firing;")
        for c in into:
            lines.append(f"  for (int i = 0; i < r_{c.id}[firing % {len(phases(c.consume))}]; i++)")
            lines.append(f"    if (((const int *)from_{c.id})[i] != (int)at_r_{c.id}(firing) + i) abort();")
        for c in out:
            lines.append(f"  for (int i = 0; i < w_{c.id}[firing % {len(phases(c.produce))}]; i++)")
            lines.append(f"    ((int *)to_{c.id})[i] = (int)at_w_{c.id}(firing) + {c.delay} + i;")
        lines.append("}")
    return "\n".join([*lines, ""])


@needs_compiler
@pytest.mark.parametrize("seed", [17, pytest.param(range(100), marks=pytest.mark.slow)])
def test_one_function_serves_all_firings_of_an_actor(seed: int | range, tmp_path: Path) -> None:
    for number in [seed] if isinstance(seed, int) else seed:
        application = random_rates(number)
        found = dataflow.plan(application, generations=2, population=10, polish_effort=0)
        folder = tmp_path / str(number)
        folder.mkdir()
        written(dataflow.code(application, found).extra["files"], folder)
        kept = (folder / "actors.c").read_text()
        (folder / "actors.c").write_text(counting(application))
        program = sanitized(folder, "address,undefined" if number % 2 else "thread")
        checked = subprocess.run([str(program), "check", "9"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, (number, checked.stdout + checked.stderr)
        (folder / "actors.c").write_text(kept)
        library = [
            str(COMPILER),
            *WARNINGS,
            "-shared",
            "-fPIC",
            str(folder / "actors.c"),
            "-o",
            str(folder / "actors.so"),
        ]
        subprocess.run(library, check=True)
        assert dataflow.run(application, found, functions=folder / "actors.so", point=0, iterations=3).check.ok


def test_points_that_cannot_become_c() -> None:
    application = odd_network()
    found = dataflow.plan(application, generations=2, population=10, polish_effort=0).plan
    with pytest.raises(InputError, match="no such point"):
        dataflow.code(application, found, point=len(found.front))
    point = found.front[0]
    broken = dataclasses.replace(point, starts={**point.starts, "if": point.starts["if"] + 1})
    with pytest.raises(InputError, match="breaks the rules"):
        dataflow.code(application, [broken])
