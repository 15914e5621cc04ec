"""Functions of the user's on all cores at once: every token is that of the actors in turn, and what is wrong is named."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.dataflow.small import small_problem

from shorthaul import dataflow
from shorthaul.core.errors import InputError, NoPlanError
from shorthaul.dataflow.loading import default_platform
from shorthaul.dataflow.mapping.firings import firings
from shorthaul.dataflow.mapping.names import identifiers
from shorthaul.dataflow.model import Actor, Application, Channel, Decisions

COMPILER = shutil.which("gcc") or shutil.which("cc")
SOBEL = """
import numpy as np
def initial(channel, token): return np.zeros((9, 12))
def fire_src(firing): return np.random.default_rng(firing).random((9, 12))
def fire_gray(firing, image): return 2 * image
def fire_gx(firing, image): return np.diff(image, axis=0)
def fire_gy(firing, image): return np.diff(image, axis=1)
def fire_mag(firing, x, y): return x.sum(), y.sum(), firing
def fire_sink(firing, edges): return edges
"""


def multirate() -> Application:
    """a hands 2 tokens to b, which takes 3 of them and of its own last state; b feeds c, which is slower."""
    actors = tuple(Actor(name, {"t1": 3 + place, "t3": 9}) for place, name in enumerate("abc"))
    ends = (("x", "a", "b", 4, 2, 3), ("s", "b", "b", 1, 1, 1), ("y", "b", "c", 0, 1, 2), ("z", "c", "a", 9, 3, 1))
    return Application("mr", actors, tuple(Channel(n, s, t, 8, d, 1, p, c) for n, s, t, d, p, c in ends))


def spread(application: Application, draw: random.Random) -> dataflow.Plan:
    """Each actor of the marked graph on a core drawn from few."""
    marked = dataflow.marked_graph(application)
    cores = [core.id for core in default_platform(marked).cores if core.type in {"t1", "t3"}][:3]
    mapping = Decisions({actor.id: draw.choice(cores) for actor in marked.actors})
    return dataflow.schedule(application, mapping, decoder="caps").plan


def mixing(application: Application, log: list | None = None) -> dict:
    """Functions that tell apart who wrote what from what."""
    out = {a.id: [(c.produce, c.id) for c in application.channels if c.src == a.id] for a in application.actors}
    names = identifiers(actor.id for actor in application.actors)

    def function(actor: str):
        def fire(firing, *tokens):
            key = hash((firing, *map(str, tokens))) % 10**9
            made = [key if rate == 1 else [(key, k) for k in range(rate)] for rate, _ in out[actor]]
            return made[0] if len(made) == 1 else tuple(made) if made else key

        return fire

    return {
        "initial": lambda channel, token: (channel, token),
        **{f"fire_{names[a.id]}": function(a.id) for a in application.actors if a.kind != "multicast"},
    }


def in_text_book_order(application: Application, functions: dict, iterations: int) -> dict[str, list]:
    """Fire whoever has its tokens, on plain lists of tokens: the meaning of a multirate graph."""
    tokens = {c.id: [functions["initial"](c.id, k) for k in range(c.delay)] for c in application.channels}
    read = {c.id: 0 for c in application.channels}
    repeats = {firing.actor: firing.per_iteration for firing in firings(application)[0].values()}
    fired = dict.fromkeys(repeats, 0)
    moved = True
    while moved:
        moved = False
        for actor, count in repeats.items():
            into = [c for c in application.channels if c.dst == actor]
            out = [c for c in application.channels if c.src == actor]
            if fired[actor] == count * iterations or any(len(tokens[c.id]) < read[c.id] + c.consume for c in into):
                continue
            taken = [tokens[c.id][read[c.id] : read[c.id] + c.consume] for c in into]
            made = functions[f"fire_{actor}"](
                fired[actor], *(t[0] if c.consume == 1 else t for c, t in zip(into, taken, strict=True))
            )
            for c, item in zip(out, made if len(out) > 1 else (made,), strict=True):
                tokens[c.id] += [item] if c.produce == 1 else item
            for c in into:
                read[c.id] += c.consume
            fired[actor] += 1
            moved = True
    assert all(fired[actor] == count * iterations for actor, count in repeats.items())
    return tokens


def test_a_multirate_actor_is_one_function(tmp_path: Path) -> None:
    application = multirate()
    functions = mixing(application)
    wanted = in_text_book_order(application, functions, 5)
    kept = tmp_path / "tokens"

    def fire_c(firing: int, tokens: list) -> object:
        with kept.open("a") as file:
            file.write(f"{firing} {tokens}\n")
        return functions["fire_c"](firing, tokens)

    plan = spread(application, random.Random(1))
    row = dataflow.run(application, plan, functions={**functions, "fire_c": fire_c}, iterations=5).extra["run"][0]
    assert row["identical"]
    lines = [f"{k} {wanted['y'][2 * k : 2 * k + 2]}" for k in range(len(wanted["y"]) // 2)]
    assert sorted(kept.read_text().splitlines()) == sorted(2 * lines)  # on the cores, and in turn


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(4))
def test_random_networks_compute_the_same(seed: int) -> None:
    problem = small_problem(seed, most_actors=7)
    try:
        plan = dataflow.schedule(problem.application, problem.mapping, platform=problem.platform).plan
    except InputError:  # a deadlock of the draw
        return
    given = {"platform": problem.platform, "iterations": 9}
    found = dataflow.run(problem.application, plan, functions=mixing(problem.application), **given)
    assert found.check.ok
    assert found.extra["run"][0]["identical"]
    assert all(found.extra["run"][0]["fullest"][name] <= n for name, n in plan.front[0].capacities.items())


def test_what_differs_from_run_to_run_is_found() -> None:
    application = multirate()
    plan = spread(application, random.Random(2))
    functions = mixing(application)
    found = dataflow.run(application, plan, functions={**functions, "fire_b": lambda *_: (object().__hash__(), [])})
    assert not found.check.ok


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"fire_a": None, "fire_b": None}, r"lacks functions\n  found:   'fire_a, fire_b'\n.*fire_a\(firing, z\); fire_b\(firing, x, s\)"),
        ({"fire_a": lambda: 1}, "takes other arguments"),
        ({"fire_a": lambda *_: [1]}, r"fire_a, firing \d+, channel x: returned another number of tokens\n  found:   1"),
        ({"fire_a": lambda *_: 7}, "channel x: returned no list of tokens"),
        ({"fire_b": lambda *_: (1, 2, 3)}, r"fire_b, firing \d+: returned something else .*\n  found:   'a tuple of 3'"),
        ({"fire_b": lambda *_: (None, 2)}, "channel s: returned None"),
        ({"fire_b": lambda *_: 1 / 0}, r"fire_b, firing \d+: the function failed: ZeroDivisionError"),
        ({"fire_c": lambda *_: [print, lambda: 1, 2]}, "channel z.*cannot be sent"),
        ({"fire_c": lambda *_: __import__("os")._exit(7)}, "ended before it was done\n  found:   'exit status 7'"),
        ({"initial": lambda *_: lambda: 1}, "initial token 0: a token cannot be sent"),
        ({"initial": lambda _channel, _token: {}[1]}, "initial, channel x: the function failed: KeyError"),
    ],
)  # fmt: skip
def test_wrong_functions(changed: dict, says: str) -> None:
    application = multirate()
    plan = spread(application, random.Random(3))
    with pytest.raises(InputError) as error:
        dataflow.run(application, plan, functions={**mixing(application), **changed})
    assert error.match(says) or says in str(error.value)


def test_a_function_that_never_ends() -> None:
    application = multirate()
    functions = {**mixing(application), "fire_b": lambda *_: __import__("time").sleep(100)}
    with pytest.raises(NoPlanError):
        dataflow.run(application, spread(application, random.Random(3)), functions=functions, time_limit=0.5)


def test_on_the_command_line(tmp_path: Path) -> None:
    dataflow.save_plan(tmp_path / "plan.json", dataflow.plan("sobel", generations=2, polish_effort=0, front=2).plan)
    (tmp_path / "mine.py").write_text(SOBEL)
    command = ("dataflow", "run", "sobel", "--plan", "plan.json", "--functions", "mine.py", "--point", "1")
    document = shorthaul_json(*command, "--iterations", "6", cwd=tmp_path)
    assert [row["identical"] for row in document["run"]] == [True]
    assert document["run"][0]["in_turn_s"] > 0
    (tmp_path / "mine.py").write_text(SOBEL.replace("random.default_rng(firing)", "random.default_rng()"))
    done = shorthaul(*command, cwd=tmp_path)
    assert done.returncode == 1
    assert "differs from that of the actors in turn" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SOBEL.replace("fire_gray", "fire_grey"), r"mine.py: functions: lacks functions"),
        (SOBEL + "\n1 +", "line 11: cannot be imported: SyntaxError"),
        (SOBEL.replace("2 * image", "image.nothing"), "mine.py: fire_gray, firing 0, line 5: the function failed"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    given = {"generations": 1, "functions": tmp_path / "mine.py"}
    with pytest.raises(InputError, match=says):
        dataflow.run("sobel", **given, point=0)
    with pytest.raises(InputError, match="no such file"):
        dataflow.run("sobel", functions=tmp_path / "none.py")
    with pytest.raises(InputError, match="point: has no such point"):
        dataflow.run("sobel", generations=1, functions=mixing(dataflow.sobel()), point=99)


def test_tokens_of_a_class_in_the_file(tmp_path: Path) -> None:
    images = SOBEL.replace("import numpy", "from __future__ import annotations\nimport dataclasses\nimport numpy")
    (tmp_path / "mine.py").write_text(
        images.replace("return x.sum(), y.sum(), firing", "return Edges(x.sum(), y.sum())")
        + "@dataclasses.dataclass\nclass Edges:\n    x: float\n    y: float\n"
    )
    given = {"generations": 1, "functions": tmp_path / "mine.py", "point": 0, "iterations": 3}
    assert dataflow.run("sobel", **given).extra["run"][0]["identical"]
    (tmp_path / "mine.py").write_text(SOBEL.replace("return edges", "return (edge for edge in edges)"))
    with pytest.raises(InputError, match="what sink returns: a token cannot be sent"):
        dataflow.run("sobel", **given)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_the_emitted_c_as_a_library(tmp_path: Path) -> None:
    application = "sobel:width=12,height=9"
    plan = dataflow.plan(application, generations=2, polish_effort=0, front=2).plan
    for name, text in dataflow.code(application, plan).extra["files"].items():
        (tmp_path / name).write_text(text)
    assert subprocess.run(["make", "-C", tmp_path, "actors.so"], capture_output=True, check=False).returncode == 0
    found = dataflow.run(application, plan, functions=tmp_path / "actors.so", point=0)
    assert found.extra["run"][0]["identical"]
    with pytest.raises(InputError, match=r"actors\.so: functions: lacks functions\n  found:   'fire_a"):
        dataflow.run(multirate(), spread(multirate(), random.Random(3)), functions=tmp_path / "actors.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(InputError, match="is no shared library"):
        dataflow.run(application, plan, functions=tmp_path / "text.so")
