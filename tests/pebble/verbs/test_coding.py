"""Plans for other tools: C that computes what direct evaluation computes, and orders with marks that are right."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul
from tests.samples import samples

from shorthaul.core.errors import InputError
from shorthaul.core.figure import Bars
from shorthaul.pebble import code, plan
from shorthaul.pebble.formats import scratchpad as c_code
from shorthaul.pebble.formats.dot import read_dot
from shorthaul.pebble.formats.orders import order_dot, steps_of
from shorthaul.pebble.model import Cdag, Terms, build
from shorthaul.pebble.orders import belady
from shorthaul.pebble.plan import Move
from shorthaul.pebble.workloads import kernels_as_graphs

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def compiled(text: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Compile a file without a driver and with one; run the one with it."""
    source, program = folder / "plan.c", folder / "plan"
    source.write_text(text)
    for more in (("-c", "-o", str(folder / "plan.o")), ("-DCOMPARE", "-o", str(program))):
        done = subprocess.run(
            [str(COMPILER), *STRICT, *flags, str(source), *more], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[:1000]
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


def sample(seed: int) -> tuple[Cdag, dict[str, object]]:
    """A random graph with sizes, costs and constants, in a tight memory, with or without recomputation and offloading."""
    rng = np.random.default_rng(seed)
    plain = kernels_as_graphs.random_cdag(n=24, degree=3, window=9, most=int(rng.choice([1, 6])), seed=seed)
    given = plain.given & (rng.random(plain.n) < 0.8)
    compute = rng.integers(0, 3, plain.n)
    cdag = build(plain.weights, *plain.edge_arrays(), given=given, compute=compute, name="a */ \\ ??/ graph")
    recompute = bool(rng.integers(2))
    prices = {"load_price": math.inf, "store_price": math.inf} if seed % 5 == 4 else {}
    in_place = bool(rng.integers(2))
    least = int(Terms(in_place=in_place).needs(cdag).max())
    room = least + int(rng.integers(3)) if not prices else int(cdag.weights.sum())
    return cdag, {"budget": room, "recompute": recompute, "in_place": in_place, "effort": 0.05, **prices}


@needs_compiler
@pytest.mark.parametrize("seed", samples(8))
def test_c_computes_what_direct_evaluation_computes(seed: int, tmp_path: Path) -> None:
    cdag, options = sample(seed)
    result = code(cdag, **options)
    assert result.plan is not None
    assert (
        f"FAST = {min(int(options['budget']), int(cdag.weights.sum())) // math.gcd(*cdag.weights.tolist())} "
        in (result.extra["code"])
    )
    done = compiled(result.extra["code"], tmp_path, "-g", "-fsanitize=address,undefined")
    computed = int(np.count_nonzero(result.plan.kinds == Move.COMPUTE))
    assert (done.stdout, done.returncode) == (f"{computed} computations, 0 values wrong\n", 0)


@needs_compiler
@pytest.mark.parametrize("seed", samples(4))
def test_c_adds_operands_one_by_one(seed: int, tmp_path: Path) -> None:
    cdag, options = sample(seed)
    room = Terms(partial=True).needs(cdag).max() + seed % 2
    if seed % 5 == 4:
        options |= {"budget": int(cdag.weights.sum())}
    else:
        options |= {"budget": int(room)}
    result = code(cdag, **{**options, "partial": True, "recompute": False, "in_place": False})
    assert result.plan is not None
    assert (result.plan.kinds == Move.ACCUMULATE).sum() == cdag.edges
    done = compiled(result.extra["code"], tmp_path, "-g", "-fsanitize=address,undefined")
    computed = cdag.n if seed % 5 == 4 else int((~cdag.given).sum())
    assert (done.stdout, done.returncode) == (f"{computed} computations, 0 values wrong\n", 0)
    adding = [line for line in result.extra["code"].splitlines() if "    ADD(" in line]
    wrong = result.extra["code"].replace(adding[-1], adding[0])
    assert compiled(wrong, tmp_path).returncode == 1


@needs_compiler
def test_the_program_sees_a_wrong_copy(tmp_path: Path) -> None:
    text = code(kernels_as_graphs.fft(n=8, word=1), budget=5, effort=0.1).extra["code"]
    loads = [line for line in text.splitlines() if "memcpy(fast" in line and "spill" in line]
    assert loads
    done = compiled(text.replace(loads[0], ""), tmp_path)
    assert done.returncode == 1
    assert " 0 values wrong" not in done.stdout


def test_long_plans_are_no_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_code, "MOST_MOVES", 10)
    with pytest.raises(InputError, match="too long for a C file"):
        code("dwt:n=8,d=3,word=1", budget=4)
    assert code("dwt:n=8,d=3,word=1", budget=4, format="csv").extra["code"]
    with pytest.raises(InputError, match="are too large for a C file"):
        code(build([2**40, 2**40 + 1], [0], [1]))


@pytest.mark.costly
@pytest.mark.parametrize("seed", samples(20))
def test_marks_tell_the_plan(seed: int) -> None:
    """The steps alone say which moves there are, and how each value comes back."""
    cdag, options = sample(seed)
    text = code(cdag, format="json", **options).extra["code"]
    plan = code(cdag, **options).plan
    assert plan is not None
    document = json.loads(text)
    assert (document["kind"], document["budget"]) == ("shorthaul/pebble-order", options["budget"])
    moves = []
    before: dict[int, str] = {}
    for step in document["steps"]:
        node = step["node"]
        assert step["size"] == cdag.weights[node]
        assert (
            before.get(node) in {"load": {None, "offload"}, "compute": {None}, "recompute": {"recompute"}}[step["do"]]
        )
        before[node] = step["then"]
        moves.append((step["move"], Move.LOAD if step["do"] == "load" else Move.COMPUTE, node))
        moves += [(step["stored"], Move.STORE, node)] if step["stored"] is not None else []
        moves += [(step["until"], Move.DELETE, node)] if step["until"] is not None else []
    assert [move[1:] for move in sorted(moves)] == list(plan)
    assert set(before.values()) <= {"drop", "keep"}


@needs_compiler
def test_orders_in_place_say_whose_room_a_result_takes(tmp_path: Path) -> None:
    """What is held never exceeds the budget only where results lie in the room that is named; C is told the same."""
    cdag = kernels_as_graphs.fft(n=8, word=2)
    how = {"budget": 18, "in_place": True, "effort": 0.05}
    made = plan(cdag, **how)
    texts = {kind: code(cdag, made, format=kind, **how).extra["code"] for kind in ("json", "csv", "c")}
    steps = json.loads(texts["json"])["steps"]
    rooms = {step["node"]: step["room_of"] for step in steps if step["room_of"] is not None}
    assert rooms
    entering = {step["move"]: step for step in steps}
    leaving = {step["until"]: step for step in steps}
    held = 0
    for move in range(len(made.plan)):
        room_of = entering.get(move, {}).get("room_of")
        if room_of is not None:
            assert leaving[move + 1]["node"] == room_of
            assert room_of in cdag.parents.neighbours(entering[move]["node"])
        held += entering[move]["size"] if move in entering and room_of is None else 0
        if move in leaving and entering.get(move - 1, {}).get("room_of") is None:
            held -= leaving[move]["size"]
        assert held <= 18
    rows = csv.DictReader(io.StringIO(texts["csv"]))
    assert {int(row["node"]): int(row["room_of"]) for row in rows if row["room_of"]} == rooms
    assert all(f"/* {node} in the room of {other} */" in texts["c"] for node, other in rooms.items())
    dot = order_dot(cdag, made.plan, in_place=True)
    assert all(
        f'room_of="{other}"' in line
        for node, other in rooms.items()
        for line in dot.splitlines()
        if line.startswith(f'  "{node}" [')
    )
    assert compiled(texts["c"], tmp_path).returncode == 0
    assert "room of" not in code(cdag, budget=20, effort=0.1).extra["code"]


def test_marks_as_csv_and_dot() -> None:
    cdag, options = sample(1)
    result = code(cdag, format="csv", **options)
    assert result.plan is not None
    rows = list(csv.DictReader(io.StringIO(result.extra["code"])))
    assert [row["then"] for row in rows] == [step.then for step in steps_of(cdag, result.plan)]
    named = build(cdag.weights, *cdag.edge_arrays(), given=cdag.given, compute=cdag.compute, ids=[
        f'node "{v}"' for v in range(cdag.n)
    ])  # fmt: skip
    text = order_dot(named, belady.replay_order(named, named.least_budget(), named.order))
    again = read_dot(text)
    assert again.ids == named.ids
    assert again.weights.tolist() == named.weights.tolist()
    assert again.compute.tolist() == named.compute.tolist()
    assert again.given.tolist() == named.given.tolist()
    assert 'mark="offload"' in text


def test_the_command_writes_plans_of_others(tmp_path: Path) -> None:
    graph = "fft:n=4,word=1"
    shorthaul("pebble", "plan", graph, "--budget", "4", "-o", "plan.json", cwd=tmp_path)
    shorthaul("pebble", "code", graph, "--plan", "plan.json", "--budget", "4", "-o", "plan.c", cwd=tmp_path)
    shorthaul("pebble", "code", graph, "--plan", "plan.json", "--budget", "4", "-o", "order.CSV", cwd=tmp_path)
    assert (tmp_path / "order.CSV").read_text().startswith("move,node,")
    printed = shorthaul("pebble", "code", graph, "--plan", "plan.json", "--budget", "4", cwd=tmp_path)
    assert tmp_path.joinpath("plan.c").read_text() == printed.stdout
    moves = json.loads(tmp_path.joinpath("plan.json").read_text())
    moves["moves"] = moves["moves"][1:]
    tmp_path.joinpath("plan.json").write_text(json.dumps(moves))
    done = shorthaul("pebble", "code", graph, "--plan", "plan.json", "-o", "bad.c", cwd=tmp_path)
    assert done.returncode == 1
    assert not tmp_path.joinpath("bad.c").exists()
    assert "violation" in done.stdout + done.stderr


def test_numbers_and_texts_that_look_alike_stay_apart() -> None:
    cdag = build([1, 2, 1], [0, 1], [2, 2], ids=[7, "7", "x"])
    rows = list(csv.DictReader(io.StringIO(code(cdag, budget=4, format="csv").extra["code"])))
    assert {row["node"]: row["size"] for row in rows} == {"7": "1", '"7"': "2", '"x"': "1"}
    again = read_dot(code(cdag, budget=4, format="dot").extra["code"])
    assert (again.n, again.edges, sorted(again.weights.tolist())) == (3, 2, [1, 1, 2])
    figures = plan(cdag, budget=4).figures
    assert {bar.lane for figure in figures if isinstance(figure, Bars) for bar in figure.bars} == {"7", '"7"', '"x"'}
