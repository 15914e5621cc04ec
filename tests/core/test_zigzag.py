"""Accelerators of zigzag as machine files: levels, what registers and sharing do to energies, and what is wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

import shorthaul as surface
from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import load_machine_file, machine_file


def port(width: int, *ends: str, way: str = "read_write") -> dict[str, Any]:
    return {"name": "p", "type": way, "bandwidth_min": 8, "bandwidth_max": width, "allocation": list(ends)}


def memory(kib: float, operands: list[str], *ports: dict[str, Any], served: list[str], pj: float) -> dict[str, Any]:
    size = int(kib * 8192)
    given = {"size": size, "r_cost": pj, "w_cost": 2 * pj, "area": 0, "latency": 1, "operands": operands}
    return {**given, "ports": list(ports), "served_dimensions": served}


ARRAY = {"unit_energy": 0.5, "unit_area": 1, "dimensions": ["D1", "D2"], "sizes": [16, 8]}
#: An array of 16 output by 8 input channels: weights in registers of a byte, inputs and sums in one memory.
SMALL = {
    "name": "small",
    "memories": {
        "registers": memory(1 / 1024, ["I2"], port(8), served=[], pj=0.01),
        "buffer": memory(64, ["I1", "O"], port(64, "I1, tl"), port(128, "O, tl", "O, fl"), served=["D1", "D2"], pj=8.0),
        "far": memory(10**6, ["I1", "I2", "O"], port(32), served=["D1", "D2"], pj=400.0),
    },
    "operational_array": ARRAY,
}


def test_memories_next_to_the_outermost_are_one_level() -> None:
    found = machine_file(msgspec.yaml.encode(SMALL).decode(), "levels", "compute")
    far, near = found.levels or ()
    assert (far.name, far.capacity_bytes, far.bandwidth_bytes_per_s) == ("far", None, 4e9)
    assert (far.read_pj_per_byte, far.write_pj_per_byte) == (100.0, 200.0)
    # A register holds a weight, and the next one meanwhile.
    assert near.capacity_bytes == 64 * 1024 + 2 * 16 * 8
    assert [(memory.name, memory.serves) for memory in near.memories] == [
        ("buffer", ["inputs", "outputs"]),
        ("registers", ["weights"]),
    ]
    assert near.memories[1].read_pj_per_byte == pytest.approx(0.01)
    # Inputs pass 8 bytes at a time, sums 16, weights 1.
    assert near.read_pj_per_byte == pytest.approx((8 / 8 + 8 / 16 + 0.01) / 3)
    assert found.compute is not None
    assert found.compute.matrix.operations_per_cycle == {8: 2 * 16 * 8}
    # A weight for each multiplication; an input for 16 output channels; two bytes of a sum for 8 input channels, twice.
    each = 0.5 + 0.01 + (8 / 8) / 16 + 3 * (8 / 16) * 2 / 8
    assert found.compute.matrix.pj_per_operation == {8: pytest.approx(each / 2)}


def test_registers_say_what_lies_along_the_array() -> None:
    assert spreads(SMALL) == [(16, ["columns"]), (8, ["reduction"])]
    larger = copy.deepcopy(SMALL)
    larger["operational_array"] = {**ARRAY, "dimensions": ["D1", "D2", "D3"], "sizes": [4, 8, 2]}
    for name in ("buffer", "far"):
        larger["memories"][name]["served_dimensions"] = ["D1", "D2", "D3"]  # type: ignore[index]
    larger["memories"]["registers"]["served_dimensions"] = ["D1"]  # type: ignore[index]
    assert spreads(larger) == [(4, ["rows"]), (8, ["columns"]), (2, ["reduction"])]


def spreads(accelerator: dict[str, Any]) -> list[tuple[int, list[str]]]:
    found = machine_file(msgspec.yaml.encode(accelerator).decode(), "compute").compute
    assert found is not None
    return [(side.size, list(side.spreads)) for side in found.array]


def test_three_levels_where_every_operand_has_them() -> None:
    deeper = copy.deepcopy(SMALL)
    inner = {"local": memory(0.25, ["I1", "O"], port(8), served=[], pj=0.1)}
    deeper["memories"] = {"registers": SMALL["memories"]["registers"], **inner, **SMALL["memories"]}  # type: ignore[index, dict-item]
    deeper["memories"]["buffer"] = memory(64, ["I1", "I2", "O"], port(64), served=["D1", "D2"], pj=8.0)  # type: ignore[index]
    levels = machine_file(msgspec.yaml.encode(deeper).decode(), "levels").levels or ()
    assert [level.name for level in levels] == ["far", "buffer", "local + registers"]
    assert levels[2].capacity_bytes == 128 * (256 + 2)


def test_memories_further_inside_serve_some_operands() -> None:
    """Sums of 16 bits, two for each of 16 output channels along 8 input channels, that only they pass."""
    deeper = copy.deepcopy(SMALL)
    sums = {"sums": memory(4 / 1024, ["O"], port(16), served=["D2"], pj=0.2)}
    deeper["memories"] = {**sums, **SMALL["memories"]}  # type: ignore[dict-item]
    *_, inner = machine_file(msgspec.yaml.encode(deeper).decode(), "levels").levels or ()
    (one,) = inner.memories
    assert (inner.name, one.serves, one.capacity_bytes) == ("sums", ["outputs"], 16 * 2)
    assert (one.read_pj_per_byte, one.write_pj_per_byte) == (pytest.approx(0.1), pytest.approx(0.2))


def test_copies_along_a_shared_side_hold_the_same() -> None:
    """Inputs that every output channel needs are written 16 times, and take the room of one copy."""
    deeper = copy.deepcopy(SMALL)
    mine = {"inputs": memory(1, ["I1"], port(8), served=[], pj=0.2)}
    deeper["memories"] = {**mine, **SMALL["memories"]}  # type: ignore[dict-item]
    *_, inner = machine_file(msgspec.yaml.encode(deeper).decode(), "levels").levels or ()
    assert inner.memories[0].capacity_bytes == 8 * 1024
    assert inner.memories[0].write_pj_per_byte == pytest.approx(16 * 0.4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memories": {"one": SMALL["memories"]["far"]}}, "length >= 2"),  # type: ignore[index]
        ({"memories": {"near": SMALL["memories"]["registers"], "far": SMALL["memories"]["far"]}}, "no place for .* I1"),  # type: ignore[index]
        ({"operational_array": {**ARRAY, "sizes": [16]}}, "sizes that do not fit"),
        ({"operational_array": {**ARRAY, "is_imc": True}}, "computes in memory"),
        ({"operational_array": {"sizes": [16]}}, "missing required field .dimensions."),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        machine_file(msgspec.yaml.encode({**SMALL, **change}).decode())


def test_it_is_converted_and_taken(tmp_path: Path) -> None:
    source, target = tmp_path / "zigzag.yaml", tmp_path / "machine.yaml"
    source.write_bytes(msgspec.yaml.encode(SMALL))
    assert "zigzag" in surface.convert(source, target)
    both = [load_machine_file(path, "levels", "compute") for path in (source, target)]
    assert both[0] == both[1]
    source.write_bytes(msgspec.yaml.encode({**SMALL, "operational_array": {}}))
    with pytest.raises(InputError, match=r"zigzag\.yaml: operational_array: .*missing"):
        surface.convert(source, tmp_path / "none.yaml")
    source.write_text("name: no accelerator")
    with pytest.raises(InputError, match="no machine of another tool"):
        surface.convert(source, tmp_path / "none.yaml")
    assert not (tmp_path / "none.yaml").exists()
