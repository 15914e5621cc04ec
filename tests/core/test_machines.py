"""Machine files: the bundled ones, and every fault of a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json

from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import bundled, load_machine_file, machine_file
from shorthaul.core.machines.memories import levels_of
from shorthaul.core.machines.schema import LevelSection, MachineFile
from shorthaul.core.machines.yaml_text import decode_yaml
from shorthaul.core.machines.zigzag import is_zigzag, machine_of_zigzag


def test_the_bundled_machines_have_sources_and_what_an_engine_needs() -> None:
    files = [load_machine_file(name) for name in bundled()]
    assert len(files) >= 10
    for file in files:
        assert len(file.source) > 40
        assert (file.levels and file.compute) or (file.grid and file.processor) or file.many_core


def test_everything_wrong_is_told_at_once() -> None:
    text = "{levels: [{name: DRAM, bandwith_bytes_per_s: 1e9}, {name: 3, bandwidth_bytes_per_s: -1}], compute: {}}"
    with pytest.raises(InputError) as caught:
        machine_file(text, "levels", "compute")
    told = str(caught.value)
    for part in (
        "name is missing",
        "levels[0].bandwidth_bytes_per_s is missing",
        "did you mean 'bandwidth_bytes_per_s'?",
        "levels[1].name expected 'str'",
        "levels[1].bandwidth_bytes_per_s expected 'float' > 0",
        "compute.clock_hz is missing",
        "compute.matrix is missing",
        "compute.vector is missing",
    ):
        assert part in told


def test_numbers_with_exponents_are_numbers() -> None:
    text = "{name: m, compute: {clock_hz: 1e9, matrix: {operations_per_cycle: {8: 2E3}}, "
    text += "vector: {operations_per_cycle: {'16': 1.5e+1}}}}"
    compute = machine_file(text).compute
    assert compute is not None
    assert (compute.clock_hz, compute.matrix.operations_per_cycle) == (1e9, {8: 2000.0})
    assert compute.vector.operations_per_cycle == {16: 15.0}


def test_whole_numbers_may_have_points_and_exponents() -> None:
    text = "{name: m, levels: [{name: a, bandwidth_bytes_per_s: 1}, {name: b, bandwidth_bytes_per_s: 1, capacity_bytes: %s}]}"
    for written in ("2.0e3", "2e3", "2000.0"):
        levels = machine_file(text % written).levels
        assert levels is not None
        assert levels[1].capacity_bytes == 2000
    with pytest.raises(InputError, match=r"levels\[1\].capacity_bytes: expected"):
        machine_file(text % "2000.5")


def test_levels_that_contradict_are_refused() -> None:
    def level(name: str, capacity: int) -> LevelSection:
        return LevelSection(name, 1.0, capacity_bytes=capacity)

    outermost = LevelSection("DRAM", 1.0)
    for inner, problem in (
        ([level("L1", 2), level("L1", 1)], "is the name of two levels"),
        ([level("L1", 0)], "holds nothing"),
        ([level("L2", 1), level("L1", 2)], "exceeds that of the level around"),
    ):
        with pytest.raises(InputError, match=problem):
            levels_of(MachineFile("m", levels=[outermost, *inner]))


def test_the_command_lists_shows_and_checks(tmp_path: Path) -> None:
    listed = shorthaul_json("machines", "--json")
    assert {entry["machine"] for entry in listed["machines"]} == set(bundled())
    shown = shorthaul("machines", "tpu-v1").stdout
    assert shown.startswith("name: TPU v1")
    assert shorthaul("machines", "-", stdin=shown).stdout == shown
    wrong = shorthaul("machines", "tpu-v2")
    assert wrong.returncode == 2
    assert "did you mean 'tpu-v1'" in wrong.stderr
    own = tmp_path / "own.yaml"
    sizes = (("near", 64), ("nearer", 128))
    inner = ", ".join(f"{{name: {n}, bandwidth_bytes_per_s: 1, capacity_bytes: {size}}}" for n, size in sizes)
    own.write_text(f"{{name: own, levels: [{{name: far, bandwidth_bytes_per_s: 1}}, {inner}]}}")
    wrong = shorthaul("machines", str(own))
    assert wrong.returncode == 2
    assert "own.yaml: levels[2].capacity_bytes: exceeds that of the level around" in wrong.stderr
    assert "up to 64" in wrong.stderr


#: Each line stands for nine of the line before, written out or merged into one object.
DOUBLED = "&a [0]\n", "[{}]\n"
MERGED = "&a {x: 1}\n", "{{<<: [{}]}}\n"


def test_a_key_that_is_wrong_has_its_place() -> None:
    with pytest.raises(InputError, match=r"matrix\.operations_per_cycle has a key that is wrong: expected 'int'"):
        machine_file("{name: a, levels: [], compute: {clock_hz: 1.0, matrix: {operations_per_cycle: {word: 4}}}}")
    port = {"type": "read_write", "bandwidth_max": 64}
    near = {"size": 8192, "operands": ["I1", "I2", "O"], "ports": [port], "served_dimensions": ["D1"]}
    memories = {"near": near, "far": {**near, "size": "large"}}
    with pytest.raises(InputError, match=r"memories\.far\.size: expected 'float'[^$]*found: +'large'"):
        machine_of_zigzag({"memories": memories, "operational_array": {"dimensions": ["D1"], "sizes": [4]}})


@pytest.mark.parametrize(("first", "following"), [DOUBLED, MERGED])
def test_aliases_of_aliases_are_refused_before_they_are_written_out(first: str, following: str) -> None:
    lines = [f"a: {first}"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} {following.format(', '.join([f'*{before}'] * 9))}")
    with pytest.raises(InputError, match="stand for more than"):
        machine_file("".join(lines))
    few = "{name: &n few, grid: {width: &w 2, height: *w}, source: *n}"
    found = machine_file(few, "grid")
    assert found.grid is not None
    assert (found.grid.width, found.grid.height, found.source) == (2, 2, "few")


@pytest.mark.parametrize("text", ["a: !!timestamp 0", "a: !!bool x", "a: !!int ''", "? !!timestamp 0\n: 1"])
def test_a_text_that_is_not_of_its_tag_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="what the tag before it says"):
        decode_yaml(text)


def test_a_key_given_twice_is_refused() -> None:
    assert decode_yaml("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n")["d"] == {"b": 3, "c": 2}
    for text in ("name: one\nname: two\n", "levels: [{name: DRAM, name: SRAM}]"):
        with pytest.raises(InputError, match="the key 'name' is given twice"):
            decode_yaml(text)
    zigzag = "memories: {dram: {size: 1, size: 2}}\noperational_array: {}\n"
    assert decode_yaml(zigzag, is_zigzag)["memories"] == {"dram": {"size": 2}}
