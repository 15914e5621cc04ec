"""Programs for wafers, read and played by a twin of the language: no compiler is at hand."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.reference.csl_twin import run_program
from tests.reference.spatial_twins import random_forest, random_tree
from tests.samples import samples

import shorthaul.spatial as engine
from shorthaul.core.errors import InputError
from shorthaul.spatial.options import OPERATORS

WAVE = {"method": "convergecast"}


def machine(folder: Path, width: int, height: int, **more: object) -> Path:
    file = folder / "machine.json"
    processor = {"memory_bytes": 4096, **more.pop("processor", {})}
    file.write_text(
        json.dumps({"name": "m", "grid": {"width": width, "height": height}, "processor": processor, **more})
    )
    return file


def unpacked(file: Path) -> Path:
    folder = file.with_suffix("")
    with zipfile.ZipFile(file) as packed:
        packed.extractall(folder)
    return folder


def test_treefix_programs_give_the_sums(tmp_path) -> None:
    rng = np.random.default_rng(7)
    near = 0
    for turn in samples(36):
        tree = random_forest(rng) if turn % 4 == 3 else random_tree(rng, 40)
        width = int(rng.integers(1, 8))
        height = max(1, -(-tree.n // width) // int(rng.integers(1, 4)))
        op = OPERATORS[int(rng.integers(0, 7))]
        kind = ("int64", "uint64", "float64")[int(rng.integers(0, 3 if op in {"sum", "max", "min"} else 2))]
        low, high = (1, 2) if op == "product" else (0 if kind == "uint64" else -9, 10)
        values = rng.integers(low, high + 1, tree.n).astype(kind)
        where = {"machine": machine(tmp_path, width, height), "refine": 0.001 * (turn % 2)}
        direction, csl = ("up", "down")[turn % 2], tmp_path / f"p{turn}.zip"
        run = engine.treefix(tree, values, op=op, direction=direction, csl=csl, **where, **WAVE)
        found, wafer = run_program(unpacked(csl), rng)
        assert found.dtype.kind == values.dtype.kind
        assert found.tolist() == run.plan.arrays["value"].tolist()
        assert wafer.hops == 2 * run.cost["energy_hops"]
        near += wafer.hops == 0
    assert near < 5


def test_message_programs_tell_every_vertex_its_parent(tmp_path) -> None:
    rng = np.random.default_rng(8)
    for turn in samples(30):
        tree = random_forest(rng) if turn % 3 == 2 else random_tree(rng, 30)
        file = machine(tmp_path, int(rng.integers(3, 6)), int(rng.integers(3, 6)))
        csl = tmp_path / f"p{turn}.zip"
        result = engine.plan(tree, machine=file, csl=csl, refine=0.001, baselines=False)
        found, wafer = run_program(unpacked(csl), rng)
        assert found.tolist() == tree.parent.tolist()
        assert wafer.hops == 2 * result.cost["energy_hops"]


def test_from_the_command_line(tmp_path) -> None:
    name = machine(tmp_path, 6, 6).name
    tree = ["yule:n=41,seed=4", "--machine", name, "--refine", "0"]
    arguments = ["--method", "convergecast", "--direction", "down", "--csl", "sums.zip", "-o", "sums.npz"]
    shorthaul_json("spatial", "treefix", *tree, *arguments, cwd=tmp_path)
    sums = np.load(tmp_path / "sums.npz")["value"]
    assert run_program(unpacked(tmp_path / "sums.zip"), np.random.default_rng(0))[0].tolist() == sums.tolist()


def test_messages_of_a_given_layout(tmp_path) -> None:
    file, csl = machine(tmp_path, 6, 6), tmp_path / "messages.zip"
    layout = engine.plan("yule:n=31", machine=file, refine=0).plan
    assert engine.check("yule:n=31", layout, machine=file, csl=csl).check.ok
    assert run_program(unpacked(csl), np.random.default_rng(0))[0].tolist() == layout.parent.tolist()


def test_the_twin_notices_a_wrong_route_and_a_wrong_table(tmp_path) -> None:
    csl, rng = tmp_path / "p.zip", np.random.default_rng(0)
    engine.treefix("yule:n=15", machine=machine(tmp_path, 4, 4), refine=0, csl=csl, **WAVE)
    layout = unpacked(csl) / "layout.csl"
    right = layout.read_text()
    run_program(layout.parent, rng)
    for wrong in (right.replace("EAST", "WEST"), right.replace("{1}, .ends", "{2}, .ends", 1)):
        assert wrong != right
        layout.write_text(wrong)
        with pytest.raises((AssertionError, KeyError)):
            run_program(layout.parent, rng)


def test_refusals(tmp_path) -> None:
    layers = {"grid": {"width": 4, "height": 4, "layers": 2}}
    for more, given, said in (
        (layers, WAVE, "csl: is for a machine of one layer"),
        ({"network": {"topology": "torus"}}, WAVE, "csl: is for a mesh"),
        ({"processor": {"dead": [[1, 1]]}}, WAVE, r"processor \[1, 1\] .* is dead"),
        ({}, {"method": "auto"}, "csl: is for one wave"),
        ({}, {**WAVE, "op": "affine"}, "csl: is for operators on one word"),
        ({}, {**WAVE, "csl": tmp_path / "p.csl"}, "suffix of another format"),
        (None, WAVE, "csl: is for machines"),
    ):
        where = {} if more is None else {"machine": machine(tmp_path, 4, 4, **more)}
        with pytest.raises(InputError, match=said):
            engine.treefix("yule:n=7", **{"csl": tmp_path / "p.zip", "refine": 0, **where, **given})


def test_an_answer_without_a_program_is_an_answer(tmp_path, capsys) -> None:
    file, large = tmp_path / "p.zip", np.full(7, 2**31 - 1)
    assert engine.treefix(
        "yule:n=7", csl=file, refine=0, machine=machine(tmp_path, 4, 4), values=large, **WAVE
    ).check.ok
    assert "csl: writes words of 32 bits" in capsys.readouterr().err
    plan = ["spatial", "plan", "star:n=64", "--machine", str(machine(tmp_path, 8, 8)), "--refine", "0"]
    ended = shorthaul(*plan, "--csl", str(file), "-o", str(tmp_path / "layout.npz"))
    assert (ended.returncode, ended.stdout.startswith("{")) == (2, False)
    assert "63 colours" in ended.stderr
    assert engine.check("star:n=64", tmp_path / "layout.npz", machine=machine(tmp_path, 8, 8)).check.ok
    assert not file.exists()
