"""Architectures of accelforge as machine files: levels by what memories keep, the array by fan-outs, what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import shorthaul as surface
from shorthaul.core.errors import InputError
from shorthaul.core.machines.files import load_machine_file, machine_file

#: Four cores of 16 x 8 multipliers; inputs and sums in a memory of each core, weights in registers.
CORES = """
variables: {KiB: 1024 * 8, clock: 5e8}
arch:
  nodes:
  - !Memory
    name: far
    size: inf
    actions:
    - {name: read, energy: 8e-12, throughput: 8 * 2e9, latency: 0}
    - {name: write, energy: 16e-12, throughput: 8 * 2e9, latency: 0}
    tensors: {keep: ~Intermediates, may_keep: All}
  - !Memory
    name: buffer
    size: 256 * KiB
    total_latency: max(read_latency, write_latency)
    actions:
    - {name: read, energy: 1e-12, latency: 1 / (8 * 32e9)}
    - {name: write, energy: 1e-12, latency: 1 / (8 * 16e9)}
    tensors: {keep: ~far.tensors, may_keep: All}
  - !Memory
    name: local
    spatial: [{name: core, fanout: 4, may_reuse: Nothing}]
    size: 4 * KiB
    actions: [{name: read, energy: 1e-13, bits_per_action: 2, latency: 0}, {name: write, energy: 1e-13, latency: 0}]
    tensors: {keep: input | output}
  - !Network
    name: ring
  - !Compute
    name: scalar
    actions: [{name: compute, energy: 0, throughput: 4 * clock}]
    enabled: len(All) == 2
  - !Container
    name: units
    spatial: [{name: inputs, fanout: 16, reuse: input}, {name: outputs, fanout: 8, may_reuse: output, reuse: output}]
  - !Memory
    name: register
    size: weight.bits_per_value if weight else 0
    actions: [{name: read, energy: 0, latency: 0}, {name: write, energy: 0, latency: 0}]
    tensors: {keep: weight}
  - !Compute
    name: multiplier
    total_latency: compute_actions / clock
    actions: [{name: compute, energy: 0.5e-12}]
    enabled: len(All) == 3
"""


def test_levels_array_and_energies() -> None:
    found = machine_file(CORES, "levels", "compute")
    far, buffer, near = found.levels or ()
    assert (far.name, far.capacity_bytes, far.bandwidth_bytes_per_s) == ("far", None, 2e9)
    assert (far.read_pj_per_byte, far.write_pj_per_byte) == (pytest.approx(64), pytest.approx(128))
    assert (buffer.name, buffer.capacity_bytes) == ("buffer", 256 * 1024)
    assert buffer.bandwidth_bytes_per_s == pytest.approx(32e9)
    assert (near.name, near.capacity_bytes) == ("local + register", 4 * 4096 + 2 * 4 * 16 * 8)
    assert [memory.serves for memory in near.memories] == [["inputs", "outputs"], ["weights"]]
    assert found.compute is not None
    assert found.compute.clock_hz == pytest.approx(5e8)
    assert found.compute.matrix.operations_per_cycle == {8: 2 * 4 * 16 * 8}
    assert found.compute.vector.operations_per_cycle == {8: pytest.approx(4 * 4)}
    # An input (1 byte of 0.4 pJ) for 16 units; 2 bytes of a sum, read at 0.4 and written at 0.8 pJ, for 8; twice a half.
    each = 0.5 + 0.4 / 16 + 2 * (0.4 + 0.8) / 8
    assert found.compute.matrix.pj_per_operation == {8: pytest.approx(each / 2)}
    spread = [(side.size, set(side.spreads)) for side in found.compute.array]
    assert spread == [(4, {"rows", "columns", "batch", "reduction", "taps"}), (16, {"columns"}), (8, {"reduction"})]


def test_memories_of_one_operand_each_are_one_level() -> None:
    text = CORES.replace("tensors: {keep: ~far.tensors, may_keep: All}", "tensors: {keep: weight}")
    levels = machine_file(text, "levels").levels or ()
    assert [level.name for level in levels] == ["far", "local + buffer", "register"]
    assert [memory.serves for memory in levels[2].memories] == [["weights"]]


def test_components_without_figures() -> None:
    free = CORES.replace("actions: [{name: read, energy: 0, latency: 0}, {name: write, energy: 0, latency: 0}]", "{}")
    bare, dummy = free.replace("    {}\n", ""), free.replace("{}", "component_class: Dummy")
    assert machine_file(dummy, "levels", "compute") == machine_file(CORES, "levels", "compute")
    with pytest.raises(InputError, match=r"arch\.nodes\.register: does not say how long a read takes"):
        machine_file(bare)


def test_scales_and_bits_of_all_actions() -> None:
    read = "{name: read, energy: 8e-12, throughput: 8 * 2e9, latency: 0}"
    scaled = CORES.replace(read, read.replace("latency: 0", "energy_scale: 4")).replace(
        "name: far\n", "name: far\n    energy_scale: 2\n    bits_per_action: 4\n    n_parallel_instances: 3\n"
    )
    far = (machine_file(scaled, "levels").levels or ())[0]
    assert far.bandwidth_bytes_per_s == pytest.approx(4 * 3 * 2e9)
    assert (far.read_pj_per_byte, far.write_pj_per_byte) == (pytest.approx(64 * 8 / 4), pytest.approx(128 * 2 / 4))
    slow = CORES.replace("max(read_latency, write_latency)", "read_latency\n    latency_scale: 2")
    assert (machine_file(slow, "levels").levels or ())[1].bandwidth_bytes_per_s == pytest.approx(16e9)


def test_it_plans(tmp_path: Path) -> None:
    source, target = tmp_path / "cores.yaml", tmp_path / "machine.yaml"
    source.write_text(CORES)
    assert "accelforge" in surface.convert(source, target)
    both = [load_machine_file(path, "levels", "compute") for path in (source, target)]
    assert both[0] == both[1]
    source.write_text(CORES.replace("energy: 8e-12", "energy: 8"))  # joules per bit
    with pytest.raises(InputError, match=r"cores\.yaml: levels\[0\]\.read_pj_per_byte: expected"):
        surface.convert(source, tmp_path / "none.yaml")
    assert not (tmp_path / "none.yaml").exists()
    source.write_text(CORES)
    found = surface.affine.bound("gemm", size="NI=64,NJ=64,NK=64", machine=source, effort=0.02)
    assert found.bound is not None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: local", "name: buffer", "is there twice"),
        ("!Container", "!Fork", r"arch\.nodes\[5\]: is of no kind"),
        ("size: 256 * KiB", "size: 256 * MiB", r"arch\.nodes\.buffer\.size: cannot be worked out"),
        ("size: 256 * KiB", "size: 9**9**9**9", "cannot be worked out"),
        ("size: 256 * KiB", "size: __import__('os').getcwd()", "cannot be worked out"),
        ("size: 256 * KiB", "size: -1", "is no amount"),
        ("size: 256 * KiB", "siez: 1", r"arch\.nodes\.buffer: has no size"),
        ("fanout: 16", "fanout: 1.5", r"units\.spatial\[0\]\.fanout: is no fan-out"),
        ("reuse: input}", "reuse: 3}", "names no operands"),
        ("total_latency: compute_actions / clock", "size: 1", "does not say how long a compute takes"),
        ("keep: weight", "keep: Nothing", r"(?s)."),
        ("enabled: len(All) == 2", "enabled: True", "other units than a machine file"),
        ("tensors: {keep: input | output}", "tensors: {keep: input | sums}", "cannot be worked out"),
        ("{name: read, energy: 8e-12, throughput: 8 * 2e9, latency: 0}", "{energy: 1}", "missing required field"),
        ("variables: {KiB", "{% set x = 1 %}\nvariables: {KiB", "fill it in before"),
        ("nodes:\n", "nodes: [!Memory 3]\n  other:\n", "unknown tag"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, said: str) -> None:
    assert old in CORES
    if new == "keep: Nothing":  # the last memory of weights is the buffer then
        levels = machine_file(CORES.replace(old, new), "levels").levels or ()
        assert [memory.serves for memory in levels[-1].memories] == [["inputs", "outputs"]]
        return
    with pytest.raises(InputError, match=said):
        machine_file(CORES.replace(old, new))
