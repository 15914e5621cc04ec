"""Networks from ONNX: what goes in, and prices against the independent replay."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.tensor.networks.architectures import ARCHITECTURES, DIMS
from tests.tensor.networks.held_back import HELD_BACK
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net
from tests.tensor.networks.single_operators import SINGLE
from tests.tensor.networks.small_networks import ARRAYS, SMALL, machine, read

import shorthaul as surface
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.machines.files import machine_file
from shorthaul.core.search import Search
from shorthaul.tensor.check.inner_replay import InnerLevel, replay_inner
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.bounds.latency import bound
from shorthaul.tensor.networks.grouping.fusion import fuse
from shorthaul.tensor.networks.inner import largest_regions, region_network
from shorthaul.tensor.networks.machine import Machine, load_machine, machine_of
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import Group, Inner, Loop, NetworkPlan
from shorthaul.tensor.networks.tiling import Tiled, best_tiling
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.verbs.network_search import planned


@pytest.mark.costly
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_public_architectures_go_in(name: str) -> None:
    network = read(ARCHITECTURES[name](), DIMS.get(name))
    unknown = {item.kind for item in network.operators if item.barrier} - {"LSTM"}
    assert not unknown
    assert network.operations() > 5e7


def test_the_held_back_architectures_go_in() -> None:
    barriers = set()
    for make in HELD_BACK.values():
        network = read(make(), {name: 8 for name in ("N", "s") if f'"{name}"' in inspect.getsource(make)})
        barriers |= {item.kind for item in network.operators if item.barrier}
    assert barriers == {"GRU", "NonMaxSuppression", "Tile"}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "giga"),
    [("resnet50", 65.7), ("vgg16", 123.8), ("mobilenet_v2", 0.60), ("bert_base", 70.7), ("vit_b16", 35.1)],
)
def test_products_count_what_is_published(name: str, giga: float) -> None:
    network = read(ARCHITECTURES[name](), DIMS.get(name))
    # All that the model computes, as a classifier of the first token alone needs less.
    found = sum(item.operations for item in (network.whole or network).operators if item.unit == "matrix") / 1e9
    assert found == pytest.approx(giga, rel=0.02)


def prices_agree(network: Network, on: Machine) -> None:
    """Plan a network: the replay finds nothing wrong, the amounts of the search, and a latency not below the bound."""
    for search in (Search(), Search(effort=1e-9)):
        *_, tiled = fuse(network, on, search, float(on.levels[1].capacity_bytes or 0))
        are_priced_as_replayed(network, on, tiled)


def are_priced_as_replayed(network: Network, on: Machine, tiled: list[Tiled]) -> None:
    level, *inner = [(float(level.capacity_bytes or 0), level.double_buffered) for level in on.levels[1:]]
    plan = NetworkPlan(tuple(item.group for item in tiled))
    widths = [spread(operator, on.array) for operator in network.operators]
    replayed = replay_network(network, plan, level[0], double_buffered=level[1], widths=widths)
    assert not replayed.violations
    assert not list(replay_inner(network, plan, replayed.groups, inner))
    for mine, seen in zip(tiled, replayed.groups, strict=True):
        seconds = {"matrix": 0.0, "vector": 0.0}
        for number, operations in seen.filled.items():
            assert operations >= seen.operations[number]
            unit = network.operators[number].unit
            seconds[unit] += operations * on.seconds_per_operation(unit, network.bits(number))
        found = (seen.loads_bytes, seen.stores_bytes, seconds["matrix"], seconds["vector"], seen.ends_bytes)
        assert (mine.loads, mine.stores, mine.matrix_s, mine.vector_s, mine.ends) == pytest.approx(found)
        assert mine.peak <= seen.peak_bytes
    assert sum(item.latency_s for item in tiled) >= bound(network, on).value * (1 - 1e-9)


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
def test_the_search_prices_what_the_replay_finds(name: str) -> None:
    prices_agree(SMALL[name], machine(4000, double=name in {"attention", "strides", "mlp"}))


@pytest.mark.costly
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("array", ARRAYS)
def test_the_search_prices_what_lies_on_an_array(name: str, array: str) -> None:
    prices_agree(SMALL[name], machine(2000, array=array))


@pytest.mark.costly
@pytest.mark.parametrize("name", ODD)
def test_odd_sizes_are_priced_as_replayed(name: str) -> None:
    prices_agree(read(ODD[name]()), machine(1000, double=len(name) % 2 == 0))


@pytest.mark.costly
@pytest.mark.parametrize(
    ("name", "gap"), [pytest.param("llama_7b_block", 0.03, marks=pytest.mark.slow), ("dit_block", 0.06)]
)
def test_least_effort_fuses(name: str, gap: float) -> None:
    network = read(ARCHITECTURES[name]())
    found = surface.tensor.plan(network, machine="edge-45nm", effort=1e-6)
    assert found.gap is not None
    assert found.gap < gap
    assert len(found.plan.groups) < len(network.operators) / 2


@pytest.mark.parametrize("opset", [11, 13])
def test_shapes_computed_as_a_version_says_are_known(opset: int) -> None:
    net = Net("heads", opset=opset)
    x = net.linear(net.input(2, 6, 8), 8, 8)
    axes = {"axes": [0]} if opset < 13 else {}
    more = () if opset < 13 else (net.constant([0]),)
    sizes = [net.op("Unsqueeze", net.op("Gather", net.op("Shape", x), net.constant(k)), *more, **axes) for k in (0, 1)]
    target = net.op("Concat", *sizes, net.constant([2]), net.constant([4]), axis=0)
    network = read(net.model(net.op("Softmax", net.transpose(net.op("Reshape", x, target), 0, 2, 1, 3), axis=-1)))
    assert (network.remarks, network.operators[-1].dims) == ((), (2, 2, 6, 4))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SMALL, *ODD])
def test_more_capacities_are_priced_as_replayed(name: str) -> None:
    network, fitting = SMALL[name] if name in SMALL else read(ODD[name]()), 0
    for capacity, double in itertools.product((300, 700, 1500, 4000, 50000), (False, True)):
        with contextlib.suppress(InfeasibleError):
            prices_agree(network, machine(capacity, double=double))
            fitting += 1
    assert fitting >= 2


@pytest.mark.slow
@pytest.mark.parametrize("on", ["phone-npu", "edge-45nm"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_public_architectures_are_planned(name: str, on: str) -> None:
    prices_agree(read(ARCHITECTURES[name](), DIMS.get(name)), load_machine(on))


@pytest.mark.slow
def test_tensors_stay_near_where_there_is_room() -> None:
    network = SMALL["convolutions"]
    far, roomy = (next(fuse(network, machine(size), Search(), size)) for size in (1500, 200000))
    moved = [sum(item.loads + item.stores for item in groups) for groups in (far, roomy)]
    outside = sum(t.bytes for t in network.tensors if t.role != "made" or t.is_output)
    assert moved[1] == outside < moved[0]


def test_unknown_operators_are_barriers_with_their_names() -> None:
    net = Net("unknown")
    x = net.op("Odd", net.op("Relu", net.input(4, 8)), domain="org.example")
    network = read(net.model(net.op("Exp", x)))
    assert [item.barrier for item in network.operators] == [False, True, False]
    assert any("org.example.Odd is not known (Odd_2)" in remark for remark in network.remarks)
    plan = NetworkPlan(tuple(Group((number,)) for number in range(3)))
    moved = [g.loads_bytes + g.stores_bytes for g in replay_network(network, plan, 1e6, double_buffered=True).groups]
    assert moved == [256, 256, 256]


def test_views_move_nothing() -> None:
    net = Net("views")
    x = net.transpose(net.reshape(net.op("Relu", net.input(2, 6, 8)), 2, 3, 2, 8), 0, 2, 1, 3)
    left, right = net.op("Split", x, axis=3, num_outputs=2, outputs=2)
    network = read(net.model(net.op("Concat", net.op("Exp", left), right, axis=3)))
    assert [item.kind for item in network.operators] == ["Relu", "Exp"]


@pytest.mark.costly
@pytest.mark.parametrize("name", ["convolutions", "split heads"])
def test_inner_tiles_fit_and_are_checked(name: str) -> None:
    """On three levels: what the search says of every operator's region is what the replay finds of it."""
    network = SMALL[name]
    text = """{name: three, levels: [{name: a, bandwidth_bytes_per_s: 1e6}, {name: b, capacity_bytes: 4000,
      bandwidth_bytes_per_s: 1e7}, {name: c, capacity_bytes: 600, bandwidth_bytes_per_s: 1e8}],
      compute: {clock_hz: 1e9, matrix: {operations_per_cycle: {32: 8}}, vector: {operations_per_cycle: {32: 2}}}}"""
    on = machine_of(machine_file(text, "levels", "compute"))
    groups = next(fuse(network, on, Search(), 4000))
    plan = NetworkPlan(tuple(item.group for item in groups))
    replayed = replay_network(network, plan, 4000, double_buffered=True)
    assert not list(replay_inner(network, plan, replayed.groups, [InnerLevel(600.0, True)]))
    for group, seen in zip(plan.groups, replayed.groups, strict=True):
        expected = 0.0
        for number, extents in largest_regions(network, group).items():
            assert extents == seen.extents[number]
            alone = region_network(network, number, extents)
            tiled = best_tiling(alone, (0,), on.inside(1), frozenset(), 600.0)
            assert tiled is not None
            expected += (tiled.loads + tiled.stores) * seen.operations[number] / alone.operations()
        assert sum(seen.inner_bytes[0]) == pytest.approx(expected)
    small = list(replay_inner(network, plan, replayed.groups, [InnerLevel(60.0, True)]))
    assert {violation.rule for violation in small} == {"over-capacity"}
    odd = NetworkPlan((replace(plan.groups[0], inner=(Inner(0, 7),)), *plan.groups[1:]))
    assert "inner-unknown" in {v.rule for v in replay_inner(network, odd, replayed.groups, [InnerLevel(600.0, True)])}


def test_what_breaks_a_plan_is_named() -> None:
    network = SMALL["mlp"]
    groups = [Group((number,)) for number in range(len(network.operators))]

    def rules(*changed: Group, capacity: float = 1e6) -> set[str]:
        replayed = replay_network(network, NetworkPlan(changed), capacity, double_buffered=True)
        return {violation.rule for violation in replayed.violations}

    assert rules(*groups) == set()
    assert rules(*groups[:-1]) == {"operator-missing"}
    assert rules(*groups, groups[0]) >= {"operator-twice"}
    assert rules(*groups[::-1]) >= {"operator-order"}
    assert rules(*groups, capacity=100) == {"over-capacity"}
    softmax = len(groups) - 1
    assert rules(*groups[:-1], Group((softmax,), (Loop(softmax, 1, 2),))) == {"cut-row"}
    assert rules(Group((0,), (Loop(0, 0, 99),)), *groups[1:]) == {"tile-size"}
    assert rules(Group((0, 1), (Loop(0, 2, 2), Loop(1, 0, 2))), *groups[2:]) == {"loop-order"}
    assert rules(Group((0,), (Loop(0, 0, 1),), (99,)), *groups[1:]) == {"not-made-here"}


def test_a_command_plans_and_checks(tmp_path: Path) -> None:
    net = Net("layer")
    x = net.op("Softmax", net.linear(net.input("b", "c", 6), 6, 4), axis=-1)
    (tmp_path / "model.onnx").write_bytes(net.model(x).SerializeToString())
    common = ("--machine", "edge-45nm", "--dim", "b=2", "--dim", "c=3")
    done = shorthaul_json("tensor", "plan", "model.onnx", *common, "-o", "plan.json", "--json", cwd=tmp_path)
    assert set(done["cost"]) == {"latency_s", "traffic_bytes", "peak_bytes", "energy_j"}
    assert done["bound"]["value"] <= done["cost"]["latency_s"]
    again = shorthaul_json("tensor", "check", "model.onnx", "plan.json", *common, "--json", cwd=tmp_path)
    assert again["cost"] == done["cost"]
    for groups in ((), (Group((0,), (Loop(0, 0, 99),)),)):
        broken = surface.tensor.check(tmp_path / "model.onnx", NetworkPlan(groups), machine="edge-45nm", dim="b=2,c=3")
        assert "energy_j" not in broken.cost
    unbound = shorthaul("tensor", "plan", "model.onnx", "--machine", "tpu-v1", cwd=tmp_path)
    assert (unbound.returncode, "--dim b=1" in unbound.stderr) == (2, True)


def test_sweeps_and_journals(tmp_path: Path) -> None:
    net = Net("layer")
    x = net.op("Softmax", net.linear(net.input(64, 60), 60, 48), axis=-1)
    model, on = net.model(x).SerializeToString(), "edge-45nm"
    network, kept = network_from_onnx(model), tmp_path / "points"
    for over, name in (("capacity", "capacity_bytes"), ("bandwidth", "bandwidth_bytes_per_s")):
        found = surface.tensor.sweep(
            network, machine=on, over=over, points=3, journal=kept, workers=1, effort=0.1
        ).extra["points"]
        assert [point["bound"] <= point["latency_s"] for point in found] == [True] * 3
        assert found[0]["latency_s"] >= found[2]["latency_s"]
        again = surface.tensor.sweep(network, machine=on, over=over, points=3, resume=kept, workers=1, effort=0.1)
        assert again.extra["points"] == found
        kept = tmp_path / name
    with pytest.raises(InputError, match="is too small"):
        surface.tensor.sweep(network, machine=on, least=1)
    first = surface.tensor.plan(network, machine=on, effort=1e-6, journal=tmp_path / "plans")
    further = surface.tensor.plan(network, machine=on, effort=0.1, resume=tmp_path / "plans")
    assert len(further.plan.groups) < len(first.plan.groups)
    assert further.cost["latency_s"] <= first.cost["latency_s"]
    last = surface.tensor.plan(network, machine=on, effort=1e-6, resume=tmp_path / "plans")
    assert last.cost["latency_s"] <= further.cost["latency_s"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"machine": "tpu-v9"}, "unknown machine"),
        ({"machine": "wafer-750x994"}, "without the sections that are needed here: levels, compute"),
        ({"machine": "tpu-v1", "dim": "c=3"}, "unknown dimension"),
        ({"machine": "tpu-v1", "dim": "b=0"}, "from 1 to 999999999"),
        ({"machine": "tpu-v1", "dim": "b=1000000000000"}, "from 1 to 999999999"),
        ({"machine": "tpu-v1", "dim": "b"}, "is no size"),
    ],
)
def test_wrong_machines_and_dimensions(words: dict[str, str], said: str, tmp_path: Path) -> None:
    net = Net("relu")
    path = tmp_path / "model.onnx"
    path.write_bytes(net.model(net.op("Relu", net.input("b", 4))).SerializeToString())
    with pytest.raises(InputError, match=said):
        surface.tensor.plan(path, **{"dim": "b=2", **words})  # type: ignore[arg-type]
    for wrong in ({"machine": "tpu-v1"}, {"dim": "b=2"}):
        with pytest.raises(InputError, match="goes with an ONNX model"):
            surface.tensor.bound("example-3", **wrong)  # type: ignore[arg-type]


def test_dimensions_that_are_computed_from_others() -> None:
    net = Net("dims")
    joined = net.op("Concat", net.input("past", 4), net.input("2*new - 1", 4), axis=0)
    data = net.model(net.op("MatMul", net.input("new", "past + 2*new - 1"), net.op("Exp", joined))).SerializeToString()
    assert network_from_onnx(data, {"past": 3, "new": 2}).operators[-1].dims == (2, 4, 6)
    with pytest.raises(InputError, match=r"--dim past=1,new=1"):
        network_from_onnx(data)
    with pytest.raises(InputError, match="has dimensions without a size"):
        network_from_onnx(data, {"past": 3, "new": 0})


def test_operators_that_are_others_in_disguise_have_tiles() -> None:
    moving = ("TensorScatter", "ReverseSequence", "CumProd", "Compress", "Scatter", "Einsum of batches")
    for name in (
        *moving,
        "flexible_attention",
        "CenterCropPad",
        "DFT",
        "STFT",
        "Resize of some axes",
        "Compress of all elements",
        "TensorScatter, circular",
        "Einsum of diagonals",
        "Einsum of all three axes",
        "RoiAlign",
        "largest_of_old_versions",
        "largest_by_an_attribute",
        "pooled_and_put_back",
    ):
        network = network_from_onnx(SINGLE[name]().SerializeToString())
        assert not any(item.barrier for item in network.operators), name


def test_rows_that_no_memory_holds_pass_as_a_whole() -> None:
    """Nothing cuts them: the place of an extreme, sums so far, and the largest few, which would pass again and again."""
    on = machine(3000)
    for kind, inputs, outputs in (("ArgMax", (), 1), ("CumSum", (1,), 1), ("TopK", ([3],), 2)):
        for size, whole in ((1000, True), (20, False)):
            net = Net(kind)
            along = {"axis": 1} if kind == "ArgMax" else {}
            made = net.op(
                kind, net.op("Relu", net.input(2, size)), *map(net.constant, inputs), outputs=outputs, **along
            )
            model = net.model(*([made] if outputs == 1 else made)).SerializeToString()
            network = network_from_onnx(model, most_row_bytes=on.most_row_bytes())
            assert any(item.barrier for item in network.operators) == whole, (kind, size)
            assert not planned(network, on, Search(effort=0.05))[1].violations


def test_elements_that_no_tile_of_one_loop_per_axis_holds_pass_as_a_whole() -> None:
    """A channel and a place of 16 and 16 are two loops along two axes; the 16 x 16 next to them do not fit twice."""
    on = machine(1500)
    for heads, whole in ((16, True), (1, False)):
        net = Net("heads")
        x = net.reshape(net.op("Relu", net.input(32, 16 * heads)), 2, 16, heads, 16)
        model = net.model(net.op("Mul", x, net.weight(2, 16, heads, 1))).SerializeToString()
        network = network_from_onnx(model, most_row_bytes=on.most_row_bytes())
        assert any(item.barrier for item in network.operators) == whole, heads
        assert not planned(network, on, Search(effort=0.05))[1].violations
