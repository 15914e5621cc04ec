"""Networks from ONNX: what goes in, prices against the independent replay, and plans that hunt for a beaten bound."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tests.commands import shorthaul, shorthaul_json
from tests.samples import samples
from tests.tensor.networks.architectures import ARCHITECTURES, DIMS
from tests.tensor.networks.exported import EXPORTED
from tests.tensor.networks.held_back import HELD_BACK
from tests.tensor.networks.odd_networks import ODD
from tests.tensor.networks.onnx_writer import Net

import shorthaul as surface
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.core.machines.files import machine_file
from shorthaul.core.search import Search
from shorthaul.tensor.check.inner_replay import replay_inner
from shorthaul.tensor.check.network_replay import replay_network
from shorthaul.tensor.networks.array import spread
from shorthaul.tensor.networks.bound import along, bound, box_within, demands, least
from shorthaul.tensor.networks.fusion import fuse
from shorthaul.tensor.networks.inner import largest_regions, region_network
from shorthaul.tensor.networks.machine import Machine, load_machine, machine_of
from shorthaul.tensor.networks.model import Index, Network
from shorthaul.tensor.networks.plan import Group, Inner, Loop, NetworkPlan
from shorthaul.tensor.networks.pricing import loops_of
from shorthaul.tensor.networks.tiling import best_tiling
from shorthaul.tensor.networks.translation.network import network_from_onnx
from shorthaul.tensor.verbs.networks import latency_s


def read(model: Any, dims: dict[str, int] | None = None) -> Network:
    return network_from_onnx(model.SerializeToString(), dims)


#: Arrays of matrix units: one that spreads everything, a systolic one.
ARRAYS = (
    "[{size: 3, spreads: [rows, batch]}, {size: 4, spreads: [columns]}, {size: 2, spreads: [reduction, taps]}]",
    "[{size: 16, spreads: [columns]}, {size: 8, spreads: [reduction]}]",
)


def machine(capacity: int, *, double: bool = True, bandwidth: float = 1e9, array: str = "[]") -> Machine:
    text = f"""{{name: test, levels: [{{name: far, bandwidth_bytes_per_s: {bandwidth}}},
      {{name: near, capacity_bytes: {capacity}, bandwidth_bytes_per_s: 1.0, double_buffered: {str(double).lower()}}}],
      compute: {{clock_hz: 1.0e9, matrix: {{operations_per_cycle: {{32: 64}}}}, vector: {{operations_per_cycle: {{32: 8}}}},
      array: {array}}}}}"""
    return machine_of(machine_file(text, "levels", "compute"))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_public_architectures_go_in(name: str) -> None:
    network = read(ARCHITECTURES[name](), DIMS.get(name))
    unknown = {item.kind for item in network.operators if item.barrier} - {"LSTM", "TopK"}
    assert not unknown
    assert network.operations() > 5e7


def test_the_held_back_architectures_go_in() -> None:
    barriers = set()
    for make in HELD_BACK.values():
        network = read(make(), {name: 8 for name in ("N", "s") if f'"{name}"' in inspect.getsource(make)})
        barriers |= {item.kind for item in network.operators if item.barrier}
    assert barriers == {"GRU", "NonMaxSuppression", "Tile"}


@pytest.mark.parametrize(
    ("name", "giga"),
    [("resnet50", 65.7), ("vgg16", 123.8), ("mobilenet_v2", 0.60), ("bert_base", 70.7), ("vit_b16", 35.1)],
)
def test_products_count_what_is_published(name: str, giga: float) -> None:
    network = read(ARCHITECTURES[name](), DIMS.get(name))
    found = sum(item.operations for item in network.operators if item.unit == "matrix") / 1e9
    assert found == pytest.approx(giga, rel=0.02)


def small_networks() -> dict[str, Network]:
    """Return networks with every kind of access, small enough for all their steps."""
    made = {}
    net = Net("convolutions")
    x = net.conv(net.input(1, 4, 13, 11), 4, 8, 3, 2, norm=True, act="Relu")
    y = net.conv(x, 8, 8, 3, g=8, d=2, pad=2)
    x = net.op("Concat", net.add(x, y), net.conv(x, 8, 4, 1), axis=1)
    x = net.op("ConvTranspose", x, net.weight(12, 6, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
    made["convolutions"] = read(net.model(net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2])))
    net = Net("attention")
    x = net.input(1, 5, 6)
    made["attention"] = read(net.model(net.attention(net.layernorm(x, 6), 1, 5, 6, 2)))
    net = Net("split heads")
    x = net.op("MatMul", net.input(5, 12), net.weight(12, 36))
    q, k, v = (
        net.transpose(net.reshape(p, 5, 3, 4), 1, 0, 2) for p in net.op("Split", x, axis=1, num_outputs=3, outputs=3)
    )
    y = net.op("MatMul", net.op("Softmax", net.op("MatMul", q, net.transpose(k, 0, 2, 1)), axis=-1), v)
    made["split heads"] = read(net.model(net.reshape(net.transpose(y, 1, 0, 2), 5, 12)))
    net = Net("strides")
    x = net.op("Relu", net.input(1, 3, 12, 12))
    left = net.conv(x, 3, 5, 1, 2)
    right = net.op("Slice", x, net.constant([1]), net.constant([12]), net.constant([3]), net.constant([2]))
    up = net.op("Resize", left, "", net.constant([1, 1, 2, 2], np.float32), mode="linear")
    made["strides"] = read(net.model(up, net.op("Tanh", right)))
    net = Net("first row")
    x = net.layernorm(net.input(1, 7, 12), 12)
    row = net.op("Gather", x, net.constant(0), axis=1)
    made["first row"] = read(net.model(x, net.op("Tanh", net.op("Gemm", row, net.weight(12, 12), net.weight(12)))))
    net = Net("mlp")
    x = net.linear(net.linear(net.input(9, 10), 10, 14, act="Relu"), 14, 7)
    made["mlp"] = read(net.model(net.op("Softmax", x, axis=-1)))
    return made


SMALL = small_networks()


def prices_agree(network: Network, on: Machine) -> None:
    """Plan a network: the replay finds nothing wrong, the amounts of the search, and a latency not below the bound."""
    level, *inner = [(float(level.capacity_bytes or 0), level.double_buffered) for level in on.levels[1:]]
    tiled = fuse(network, on, Search(), level[0])
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


@pytest.mark.parametrize("name", SMALL)
def test_the_search_prices_what_the_replay_finds(name: str) -> None:
    prices_agree(SMALL[name], machine(4000, double=name in {"attention", "strides", "mlp"}))


@pytest.mark.parametrize("name", SMALL)
def test_the_search_prices_what_lies_on_an_array(name: str) -> None:
    for array in ARRAYS:
        prices_agree(SMALL[name], machine(2000, array=array))


@pytest.mark.parametrize("name", ODD)
def test_odd_sizes_are_priced_as_replayed(name: str) -> None:
    prices_agree(read(ODD[name]()), machine(1000, double=len(name) % 2 == 0))


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


def test_tensors_stay_near_where_there_is_room() -> None:
    network = SMALL["convolutions"]
    far, roomy = (fuse(network, machine(size), Search(), size) for size in (1500, 200000))
    moved = [sum(item.loads + item.stores for item in groups) for groups in (far, roomy)]
    outside = sum(t.bytes for t in network.tensors if t.role != "made" or t.is_output)
    assert moved[1] == outside < moved[0]


def random_plan(network: Network, rng: np.random.Generator) -> NetworkPlan:
    """Return a plan with neighbours fused at random and loops cut at random; it may break rules."""
    groups: list[tuple[int, ...]] = []
    for number in range(len(network.operators)):
        reads = {network.producer.get(access.tensor) for access in network.operators[number].reads}
        if groups and groups[-1][-1] in reads and rng.random() < 0.6 and not network.operators[number].barrier:
            groups[-1] = (*groups[-1], number)
        else:
            groups.append((number,))
    made = []
    for members in groups:
        shape = loops_of(network, members)
        loops = []
        for keys in (shape.sink, shape.inner):
            for at in rng.permutation(len(keys)):
                tile = int(rng.integers(1, shape.sizes[keys[at]] + 1))
                loops.append(Loop(*keys[at], tile))
        kept = tuple(a.tensor for a in network.operators[members[-1]].writes if rng.random() < 0.3)
        made.append(Group(members, tuple(loops), kept))
    return NetworkPlan(tuple(made))


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_no_random_plan_of_odd_sizes_beats_the_bound(name: str) -> None:
    test_no_random_plan_beats_the_bound(name)


@pytest.mark.parametrize("name", SMALL)
def test_no_random_plan_beats_the_bound(name: str) -> None:
    network, rng = SMALL[name] if name in SMALL else read(ODD[name]()), np.random.default_rng(5)
    valid = 0
    for number in range(20):
        plan, array = random_plan(network, rng), ("[]", *ARRAYS)[number % 3]
        peak = max(group.peak_bytes for group in replay_network(network, plan, 1e12, double_buffered=False).groups)
        on = machine(
            max(1, int(np.ceil(peak))), double=True, bandwidth=float(rng.choice([1e6, 1e9, 1e12])), array=array
        )
        widths = [spread(operator, on.array) for operator in network.operators]
        replayed = replay_network(network, plan, peak, double_buffered=False, widths=widths)
        if replayed.violations:
            continue
        valid += 1
        total = 0.0
        for group in replayed.groups:
            seconds = {"matrix": 0.0, "vector": 0.0}
            for member, operations in group.filled.items():
                unit = network.operators[member].unit
                seconds[unit] += operations * on.seconds_per_operation(unit, network.bits(member))
            memory = (group.loads_bytes + group.stores_bytes) / on.levels[0].bandwidth_bytes_per_s
            total += max(*seconds.values(), memory)
        assert total >= bound(network, on).value * (1 - 1e-9)
    assert valid > 3


@pytest.mark.parametrize("name", SMALL)
def test_loads_before_a_group_begins_pass_once_and_fit(name: str) -> None:
    """Random plans: what is loaded early is there, has room, moves only in time, and no plan comes below the bound."""
    network, rng, early = SMALL[name], np.random.default_rng(9), 0.0
    for number, double in itertools.product(samples(40), (True, False)):
        plan = random_plan(network, rng)
        held = replay_network(network, plan, 1e12, double_buffered=False)
        size = int(2 * max(group.peak_bytes for group in held.groups) * rng.uniform(1, 1.5)) + 1
        on = machine(size, double=double, bandwidth=float(rng.choice([1e6, 1e9, 1e12])))
        seen = replay_network(network, plan, size, double_buffered=double)
        if seen.violations:
            continue
        early += sum(group.early_bytes for group in seen.groups)
        rate, apart, before = on.levels[0].bandwidth_bytes_per_s, 0.0, None
        for group, done in zip(plan.groups, seen.groups, strict=True):
            seconds = {"matrix": 0.0, "vector": 0.0}
            for member, operations in done.operations.items():
                unit = network.operators[member].unit
                seconds[unit] += operations * on.seconds_per_operation(unit, network.bits(member))
            moved = (done.loads_bytes + done.stores_bytes) / rate
            worked = max(seconds.values())
            apart += max(moved, worked + done.ends_bytes / rate) if double else moved + worked
            made = set() if before is None else {a.tensor for m in before for a in network.operators[m].writes}
            there = sum(amount for tensor, amount in done.first_bytes.items() if tensor not in made)
            assert 0 <= done.early_bytes <= (0 if before is None else there) <= done.ends_bytes
            assert done.peak_bytes <= size
            before = group.operators
        taken = latency_s(network, on, plan, seen)
        assert bound(network, on).value * (1 - 1e-9) <= taken <= apart * (1 + 1e-9), number
        assert taken >= apart - sum(group.early_bytes for group in seen.groups) / rate - 1e-12
    assert early > 0


def test_the_bound_follows_a_row_through_a_reshape() -> None:
    """Of what lies above a view under another shape, the part is counted that the output needs, no more."""
    net = Net("row of heads")
    x = net.op("Relu", net.op("Exp", net.input(6, 12)))
    rows = net.op("Gather", net.reshape(x, 2, 3, 4, 3), net.constant(1), axis=1)
    network = read(net.model(net.op("Tanh", rows)))
    found = least(network, machine(10**6, bandwidth=1.0))
    assert found.traffic_bytes == (24 + 24) * 4
    assert found.vector_s == pytest.approx(
        sum(item.work for item in network.operators) * 24 * machine(1).seconds_per_operation("vector", 32)
    )


def test_interpolation_asks_for_all_places_and_parts_of_a_split_for_both() -> None:
    """Every place of the convolution is near one of the output, and each half of its channels has a reader."""
    net = Net("head")
    left, right = net.op("Split", net.conv(net.input(1, 4, 7, 7), 4, 6, 3), axis=1, num_outputs=2, outputs=2)
    x = net.op("Add", net.op("Sigmoid", left), right)
    network = read(net.model(net.op("Resize", x, "", "", net.constant([1, 3, 25, 29]), mode="linear")))
    found = demands(network, machine(10**6))
    assert [found[number].operations for number in range(4)] == [item.operations for item in network.operators]


def test_needed_places_are_those_that_an_index_reaches() -> None:
    rng = np.random.default_rng(77)
    for _ in samples(200):
        sizes, size = rng.integers(1, 7, 2), int(rng.integers(1, 12))
        terms = tuple((dim, int(rng.choice([-3, -2, -1, 1, 2, 3, 4]))) for dim in range(2))
        index = Index(terms, int(rng.integers(-5, 9)), int(rng.integers(1, 5)), exact=bool(rng.integers(2)))
        masks = [rng.random(extent) < 0.7 for extent in sizes]
        wanted = np.zeros(size, bool)
        for at in itertools.product(*(np.flatnonzero(mask).tolist() for mask in masks)):
            place = sum(factor * at[dim] for dim, factor in terms) + index.offset
            if not (index.exact and place % index.divisor) and 0 <= place // index.divisor < size:
                wanted[place // index.divisor] = True
        assert (along(index, masks, size) == wanted).all()


def test_a_box_within_points_holds_nothing_else_and_all_of_a_box() -> None:
    rng = np.random.default_rng(78)
    for _ in samples(200):
        points = rng.random(rng.integers(1, 6, rng.integers(1, 4))) < 0.8
        found = box_within(points)
        assert points[np.ix_(*found)].all()
        assert any(map(np.any, found)) == points.any()
        box = np.ix_(*(rng.random(size) < 0.7 for size in points.shape))
        points[...] = False
        points[box] = True
        assert points[np.ix_(*box_within(points))].sum() == points.sum()


def test_no_tiling_of_a_product_beats_its_bound() -> None:
    """All tilings of small products, in all orders: the bytes moved are never below the bound at their peak."""
    for shape in ((6, 5, 7), (3, 3, 24)):
        m, n, k = shape
        net = Net("product")
        network = read(net.model(net.op("MatMul", net.input(m, k), net.weight(k, n))))
        for sizes in itertools.product(*({1, 3, size} for size in (m, n, k))):
            for order in itertools.permutations(range(3)):
                plan = NetworkPlan((Group((0,), tuple(Loop(0, dim, min(sizes[dim], shape[dim])) for dim in order)),))
                seen = replay_network(network, plan, 1e9, double_buffered=False).groups[0]
                floor = bound(network, machine(int(seen.peak_bytes), bandwidth=1.0)).details["traffic_bytes"]
                assert seen.loads_bytes + seen.stores_bytes >= floor


def test_a_large_product_is_near_its_bound(tmp_path: Path) -> None:
    net = Net("product")
    path = tmp_path / "product.onnx"
    path.write_bytes(net.model(net.op("MatMul", net.input(4096, 4096), net.weight(4096, 4096))).SerializeToString())
    text = "{name: m, levels: [{name: far, bandwidth_bytes_per_s: 1e9}, {name: near, capacity_bytes: 4000000, "
    text += "bandwidth_bytes_per_s: 1e9, double_buffered: false}], compute: {clock_hz: 1e12, "
    text += "matrix: {operations_per_cycle: {32: 1e9}}, vector: {operations_per_cycle: {32: 1e9}}}}"
    (tmp_path / "machine.yaml").write_text(text)
    result = surface.tensor.plan(path, machine=str(tmp_path / "machine.yaml"))
    assert result.gap is not None
    assert result.gap < 0.25
    again = surface.tensor.check(path, result, machine=tmp_path / "machine.yaml")
    assert again.cost == result.cost


def test_unknown_operators_are_barriers_with_their_names() -> None:
    net = Net("unknown")
    x = net.op("Odd", net.op("Relu", net.input(4, 8)), domain="org.example")
    network = read(net.model(net.op("Exp", x)))
    assert [item.barrier for item in network.operators] == [False, True, False]
    assert any("org.example.Odd is not known (Odd_2)" in remark for remark in network.remarks)
    plan = NetworkPlan(tuple(Group((number,)) for number in range(3)))
    moved = [g.loads_bytes + g.stores_bytes for g in replay_network(network, plan, 1e6, double_buffered=True).groups]
    assert moved == [256, 256, 256]


def test_models_of_runtimes_go_in() -> None:
    dims = {"grouped_queries": {"s": 3, "p": 5}}
    networks = {name: read(make(), dims.get(name)) for name, make in EXPORTED.items()}
    barriers = {name: {item.kind for item in made.operators if item.barrier} for name, made in networks.items()}
    assert {name: kinds for name, kinds in barriers.items() if kinds} == {
        "grouped_queries": {"com.microsoft.GroupQueryAttention"},
        "choices_at_run_time": {"If", "Loop"},
        "of_unknown_shape": {"org.example.Strange", "Transpose"},
    }
    guessed = {name for name, made in networks.items() if any("taken as" in remark for remark in made.remarks)}
    assert guessed == {"of_unknown_shape"}
    cache = [tensor.shape for tensor in networks["grouped_queries"].tensors if len(tensor.shape) == 4]
    assert cache == [(1, 2, 5, 8)] * 2 + [(1, 2, 8, 8)] * 2


def test_shapes_that_lie_in_a_file_beside_the_model_are_read(tmp_path: Path) -> None:
    net = Net("outside", filled=True)
    model = net.model(net.op("Relu", net.reshape(net.input(4, 6), 8, 3)))
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    convert = onnx.external_data_helper.convert_model_to_external_data
    convert(model, location="weights.bin", size_threshold=0, convert_attribute=False)
    onnx.save(model, tmp_path / "model.onnx")
    data = (tmp_path / "model.onnx").read_bytes()
    network = network_from_onnx(data, file=tmp_path / "model.onnx")
    assert [item.dims for item in network.operators] == [(8, 3)]
    (tmp_path / "weights.bin").unlink()
    network = network_from_onnx(data, file=tmp_path / "model.onnx")
    assert any("is not known" in remark for remark in network.remarks)


def test_a_node_that_makes_no_sense_is_named() -> None:
    net = Net("nonsense")
    with pytest.raises(InputError, match=r"Conv_1|contradict"):
        read(net.model(net.op("Conv", net.input(1, 4, 8, 8))))
    with pytest.raises(InputError, match="is not an ONNX model"):
        network_from_onnx(b"no model")


def test_views_move_nothing() -> None:
    net = Net("views")
    x = net.transpose(net.reshape(net.op("Relu", net.input(2, 6, 8)), 2, 3, 2, 8), 0, 2, 1, 3)
    left, right = net.op("Split", x, axis=3, num_outputs=2, outputs=2)
    network = read(net.model(net.op("Concat", net.op("Exp", left), right, axis=3)))
    assert [item.kind for item in network.operators] == ["Relu", "Exp"]


@pytest.mark.parametrize("name", ["convolutions", "split heads"])
def test_inner_tiles_fit_and_are_checked(name: str) -> None:
    """On three levels: what the search says of every operator's region is what the replay finds of it."""
    network = SMALL[name]
    text = """{name: three, levels: [{name: a, bandwidth_bytes_per_s: 1e6}, {name: b, capacity_bytes: 4000,
      bandwidth_bytes_per_s: 1e7}, {name: c, capacity_bytes: 600, bandwidth_bytes_per_s: 1e8}],
      compute: {clock_hz: 1e9, matrix: {operations_per_cycle: {32: 8}}, vector: {operations_per_cycle: {32: 2}}}}"""
    on = machine_of(machine_file(text, "levels", "compute"))
    groups = fuse(network, on, Search(), 4000)
    plan = NetworkPlan(tuple(item.group for item in groups))
    replayed = replay_network(network, plan, 4000, double_buffered=True)
    assert not list(replay_inner(network, plan, replayed.groups, [(600.0, True)]))
    for group, seen in zip(plan.groups, replayed.groups, strict=True):
        expected = 0.0
        for number, extents in largest_regions(network, group).items():
            assert extents == seen.extents[number]
            alone = region_network(network, number, extents)
            tiled = best_tiling(alone, (0,), on.inside(1), frozenset(), 600.0)
            assert tiled is not None
            expected += (tiled.loads + tiled.stores) * seen.operations[number] / alone.operations()
        assert sum(seen.inner_bytes[0]) == pytest.approx(expected)
    small = list(replay_inner(network, plan, replayed.groups, [(60.0, True)]))
    assert {violation.rule for violation in small} == {"over-capacity"}
    odd = NetworkPlan((replace(plan.groups[0], inner=(Inner(0, 7),)), *plan.groups[1:]))
    assert "inner-unknown" in {v.rule for v in replay_inner(network, odd, replayed.groups, [(600.0, True)])}


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
    unbound = shorthaul("tensor", "plan", "model.onnx", "--machine", "tpu-v1", cwd=tmp_path)
    assert (unbound.returncode, "--dim b=1" in unbound.stderr) == (2, True)


def test_sweeps_and_journals(tmp_path: Path) -> None:
    net = Net("layer")
    x = net.op("Softmax", net.linear(net.input(64, 60), 60, 48), axis=-1)
    model, on = net.model(x).SerializeToString(), "edge-45nm"
    network, kept = network_from_onnx(model), tmp_path / "points"
    for over, name in (("capacity", "capacity_bytes"), ("bandwidth", "bandwidth_bytes_per_s")):
        found = surface.tensor.sweep(network, machine=on, over=over, points=3, journal=kept, workers=1).extra["points"]
        assert [point["bound"] <= point["latency_s"] for point in found] == [True] * 3
        assert found[0]["latency_s"] >= found[2]["latency_s"]
        again = surface.tensor.sweep(network, machine=on, over=over, points=3, resume=kept, workers=1)
        assert again.extra["points"] == found
        kept = tmp_path / name
    with pytest.raises(InputError, match="is too small"):
        surface.tensor.sweep(network, machine=on, least=1)
    first = surface.tensor.plan(network, machine=on, effort=1e-6, journal=tmp_path / "plans")
    further = surface.tensor.plan(network, machine=on, resume=tmp_path / "plans")
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
