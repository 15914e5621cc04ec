"""The rules a schedule is judged by, one at a time, on figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shorthaul.core.errors import InputError
from shorthaul.tensor.check import steps
from shorthaul.tensor.check.replay import replay
from shorthaul.tensor.model import CONTEST, SPEC
from shorthaul.tensor.plan import Granularity, Plan, Subgraph
from shorthaul.tensor.workloads.cases import GraphBuilder, example_1, example_3, example_4, example_5

BANDWIDTH = 10


def sub(operators, size, retained=(), traversal=None):
    return Subgraph(tuple(operators), Granularity(*size), tuple(retained), traversal)


def seen(problem, *subgraphs, rules=SPEC):
    found = replay(problem, Plan(subgraphs), rules)
    assert found.violations == ()
    return found.subgraphs


def broken(problem, *subgraphs, rules=SPEC):
    return [violation.rule for violation in replay(problem, Plan(subgraphs), rules).violations]


def chain(*kinds, size=128, capacity=1e9):
    """Operators in a row, 'm' with a right input of its own, each of base cost 1000."""
    graph = GraphBuilder()
    x = graph.tensor(size, size)
    for kind in kinds:
        x = graph.matmul(x, graph.tensor(size, size), 1000) if kind == "m" else graph.pointwise((x,), 1000)
    return graph.problem(capacity, BANDWIDTH)


TILE = 128 * 128


class TestOutputs:
    def test_a_tensor_consumed_inside_and_by_nobody_else_is_ephemeral(self):
        (one,) = seen(example_1(), sub([0, 1], (128, 128, 1)))
        assert (one.outputs, one.loads, one.stores) == ((2,), TILE, TILE)

    def test_a_retained_tensor_is_an_output_and_is_not_stored(self):
        first, _ = seen(example_3(), sub([0], (128, 128, 1), [1]), sub([1, 2], (128, 128, 1)))
        assert (first.outputs, first.stores) == ((1,), 0)

    def test_a_tensor_wanted_later_is_stored_under_spec_and_refused_under_contest(self):
        plan = sub([0, 1], (128, 128, 1)), sub([2], (128, 128, 1))
        first, _ = seen(example_3(), *plan)
        assert (first.outputs, first.stores) == ((1, 2), 2 * TILE)
        assert broken(example_3(), *plan, rules=CONTEST) == ["ephemeral-shared", "input-missing"]

    def test_the_contest_refuses_it_even_if_it_was_stored_before(self):
        plan = sub([0], (128, 128, 1)), sub([0, 1], (128, 128, 1)), sub([2], (128, 128, 1))
        assert broken(example_3(), *plan, rules=CONTEST) == ["ephemeral-shared"]

    @pytest.mark.parametrize("rules", [SPEC, CONTEST])
    def test_a_later_subgraph_that_makes_it_again_does_not_want_it(self, rules):
        plan = sub([0, 1], (128, 128, 1)), sub([0, 2], (128, 128, 1))
        first, second = seen(example_3(), *plan, rules=rules)
        assert (first.outputs, second.outputs) == ((2,), (3,))

    @pytest.mark.parametrize("rules", [SPEC, CONTEST])
    def test_nobody_looks_further_than_the_next_subgraph_that_makes_it(self, rules):
        graph = GraphBuilder()
        shared = graph.pointwise((graph.tensor(128, 128),), 1)
        for _ in range(3):
            graph.pointwise((shared,), 1)
        problem = graph.problem(1e9, BANDWIDTH)
        plan = sub([0, 1], (128, 128, 1)), sub([0], (128, 128, 1)), sub([2], (128, 128, 1)), sub([3], (128, 128, 1))
        first, second, *_ = seen(problem, *plan, rules=rules)
        assert (first.outputs, second.outputs) == ((2,), (1,))

    def test_all_outputs_have_one_shape(self):
        graph = GraphBuilder()
        narrow = graph.matmul(graph.tensor(128, 128), graph.tensor(128, 64), 1)
        graph.matmul(narrow, graph.tensor(64, 128), 1)
        problem = graph.problem(1e9, BANDWIDTH)
        assert broken(problem, sub([0, 1], (64, 64, 64), [2])) == ["output-shapes"]


class TestGrid:
    def test_edge_tiles_are_clipped(self):
        (one,) = seen(chain("p", size=100), sub([0], (64, 64, 1)))
        assert (one.grid.rows, one.grid.columns, one.grid.tiles) == (2, 2, 4)
        assert one.trace.stores.tolist() == [64 * 64, 64 * 36, 36 * 64, 36 * 36]

    def test_tiles_are_numbered_row_by_row_and_run_in_the_order_given(self):
        (one,) = seen(chain("p"), sub([0], (64, 64, 1), traversal=(3, 0, 2, 1)))
        assert one.trace.tile.tolist() == [3, 0, 2, 1]

    def test_the_last_reduction_step_is_clipped(self):
        (one,) = seen(chain("m", size=128), sub([0], (128, 128, 48)))
        assert one.trace.loads.tolist() == [2 * 128 * 48, 2 * 128 * 48, 2 * 128 * 32]
        assert one.trace.compute.tolist() == pytest.approx([375, 375, 250])

    def test_with_several_sinks_the_longest_decides_and_the_others_idle(self):
        graph = GraphBuilder()
        long = graph.matmul(graph.tensor(128, 128), graph.tensor(128, 128), 1000)
        short = graph.matmul(graph.tensor(128, 64), graph.tensor(64, 128), 600)
        graph.pointwise((long, short), 10)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1, 2], (128, 128, 32)))
        assert one.grid.steps_per_tile == 4
        assert one.trace.compute.tolist() == [550, 550, 250, 260]
        assert one.trace.loads.tolist() == [4 * 4096, 4 * 4096, 2 * 4096, 2 * 4096]


class TestDemand:
    def test_a_matmul_above_a_matmul_is_held_at_full_width(self):
        (one,) = seen(example_5(), sub([0, 1], (128, 128, 32)))
        assert one.trace.working_set.tolist() == [TILE + 4096 + 4096 + TILE] * 4

    def test_a_matmul_on_the_right_of_a_matmul(self):
        graph = GraphBuilder()
        right = graph.matmul(graph.tensor(128, 128), graph.tensor(128, 128), 1000)
        graph.matmul(graph.tensor(128, 128), right, 1000)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 32)))
        # rows k of the left factor's product: k rows of its left input, all of its right one
        assert one.trace.loads.tolist() == [4096 + TILE + 4096, 8192, 8192, 8192]
        assert one.trace.compute.tolist() == [250 + 250] * 4

    def test_pointwise_above_a_sink_passes_its_slice_and_runs_in_every_step(self):
        (one,) = seen(chain("p", "m"), sub([0, 1], (128, 128, 32)))
        assert one.trace.loads.tolist() == [8192] * 4
        assert one.trace.compute.tolist() == [250 + 250] * 4

    def test_pointwise_on_the_output_side_runs_and_loads_in_the_last_step(self):
        graph = GraphBuilder()
        product = graph.matmul(graph.tensor(128, 128), graph.tensor(128, 128), 1000)
        graph.pointwise((product, graph.tensor(128, 128)), 70)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 64)))
        assert one.trace.loads.tolist() == [2 * 8192, 2 * 8192 + TILE]
        assert one.trace.compute.tolist() == [500, 570]
        assert one.trace.working_set.tolist() == [2 * 8192 + TILE, 2 * 8192 + 2 * TILE]

    def test_a_slice_wider_than_the_tile(self):
        (one,) = seen(chain("m", "m"), sub([0, 1], (32, 128, 128), traversal=(0, 1, 2, 3)))
        assert one.trace.loads.tolist() == [2 * TILE + 4096, 4096, 4096, 4096]


class TestCompute:
    def test_a_tile_below_native_pays_a_full_native_tile(self):
        (one,) = seen(chain("p"), sub([0], (64, 64, 1)))
        assert one.trace.compute.tolist() == [1000] * 4

    def test_a_tile_above_native_pays_several(self):
        (one,) = seen(chain("p", size=512), sub([0], (256, 256, 1)))
        assert one.trace.compute.tolist() == [4000] * 4

    def test_a_sink_pays_its_part_of_the_reduction_on_whole_native_tiles(self):
        (one,) = seen(chain("m"), sub([0], (64, 64, 32)))
        assert one.trace.compute.tolist() == [250] * 16

    def test_columns_asked_as_left_input_are_charged_unpadded_rows_are_not(self):
        (one,) = seen(example_5(), sub([0, 1], (128, 64, 32)))
        # Op0: 64 rows (a full native 128) x 32 columns: a quarter of 2000, beside a quarter of Op1's reduction
        assert one.trace.compute.tolist() == [500 + 500] * 8

    def test_even_when_k_is_the_whole_reduction(self):
        problem = chain("m", "m", size=64)
        (one,) = seen(problem, sub([0, 1], (64, 64, 64)))
        assert one.trace.compute.tolist() == [1000 * 64 / 128 + 1000]

    def test_each_matmul_replaces_the_marking_for_its_own_inputs(self):
        # ((p(x) @ a) @ b): p's slice is asked as left input of the inner MatMul, full width, height of the tile
        (one,) = seen(chain("p", "m", "m"), sub([0, 1, 2], (64, 64, 32)))
        assert one.trace.compute[0] == 1000 + 1000 * 32 / 128 + 1000 * 32 / 128
        narrow = chain("p", "m", "m", size=64)
        (one,) = seen(narrow, sub([0, 1, 2], (64, 64, 32)))
        assert one.trace.compute[0] == 1000 * 64 / 128 + 1000 * 32 / 128 + 1000 / 2

    def test_pointwise_passes_the_marking_on(self):
        (one,) = seen(chain("p", "p", "m"), sub([0, 1, 2], (128, 128, 32)))
        assert one.trace.compute.tolist() == [250 * 3] * 4

    def test_demanded_twice_in_a_step_is_computed_once_at_the_dearest_charge(self):
        graph = GraphBuilder()
        middle = graph.pointwise((graph.tensor(64, 64),), 1000)
        product = graph.matmul(middle, middle, 1)
        graph.pointwise((product, middle), 1)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1, 2], (64, 64, 64)))
        # as left input (64 columns unpadded), as right input (64 rows), and on the output side at full price
        assert one.trace.compute.tolist() == [1000 + 1 + 1]

    def test_other_slices_of_one_operator_are_computed_each(self):
        graph = GraphBuilder()
        middle = graph.pointwise((graph.tensor(128, 128),), 1000)
        graph.matmul(middle, middle, 0)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 32)))
        assert one.trace.compute.tolist() == [250 + 250] * 4

    def test_a_matmul_as_sink_and_above_another_with_equal_reductions_is_computed_once(self):
        graph = GraphBuilder()
        first = graph.matmul(graph.tensor(64, 64), graph.tensor(64, 64), 1000)
        graph.matmul(first, graph.tensor(64, 64), 10)
        problem = graph.problem(1e9, BANDWIDTH)
        (one,) = seen(problem, sub([0, 1], (64, 64, 64), [2]))
        assert one.trace.compute.tolist() == [1000 + 10]
        (one,) = seen(problem, sub([0, 1], (64, 64, 32), [2]))
        # half the reduction of the whole tile as a sink, and 32 columns in full for the other
        assert one.trace.compute.tolist() == [500 + 250 + 5] * 2


class TestLoads:
    def test_a_slice_of_the_step_before_is_free(self):
        (one,) = seen(example_4(), sub([0], (64, 64, 128), traversal=(0, 1, 3, 2)))
        assert one.trace.loads.tolist() == [16384, 8192, 8192, 8192]

    def test_only_the_step_immediately_before_counts(self):
        (one,) = seen(example_4(), sub([0], (64, 64, 128), traversal=(0, 3, 1, 2)))
        assert one.trace.loads.tolist() == [16384, 16384, 8192, 16384]

    def test_no_order_flushes_between_tiles_under_spec_alone(self):
        assert seen(example_4(), sub([0], (64, 64, 128)))[0].loads == 4 * 16384
        assert seen(example_4(), sub([0], (64, 64, 128)), rules=CONTEST)[0].loads == 16384 + 8192 + 16384 + 8192

    def test_the_flush_is_between_tiles_not_between_reduction_steps(self):
        (one,) = seen(example_5(), sub([0, 1], (128, 64, 32)))
        assert one.trace.loads.tolist() == [8192 + 8192, 8192, 8192, 8192] * 2

    def test_whole_and_part_are_distinct_within_a_step_and_free_after_the_whole(self):
        graph = GraphBuilder()
        a = graph.tensor(128, 128)
        graph.matmul(graph.matmul(graph.tensor(128, 128), a, 10), a, 10)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 64)))
        # the outer MatMul wants 64 rows of a, the inner one 64 columns, and all of the other tensor
        assert one.trace.loads.tolist() == [8192 + 8192 + TILE, 8192 + 8192]
        graph = GraphBuilder()
        a = graph.tensor(128, 128)
        graph.matmul(graph.matmul(a, graph.tensor(128, 128), 10), a, 10)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 64)))
        # now all of a for the inner MatMul and 64 rows of it for the outer one; the second half is there already
        assert one.trace.loads.tolist() == [TILE + 8192 + 8192, 8192]
        assert one.trace.working_set.tolist() == [TILE + 8192 + 8192 + TILE] * 2

    def test_partial_overlap_saves_nothing(self):
        graph = GraphBuilder()
        a = graph.tensor(128, 128)
        graph.matmul(a, a, 10)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0], (128, 128, 64)))
        assert one.trace.loads.tolist() == [2 * 8192, 2 * 8192]

    def test_two_operators_that_use_one_slice_count_it_once(self):
        graph = GraphBuilder()
        a = graph.tensor(128, 128)
        left, right = graph.pointwise((a,), 1), graph.pointwise((a,), 1)
        graph.pointwise((left, right), 1)
        (one,) = seen(graph.problem(1e9, BANDWIDTH), sub([0, 1, 2], (128, 128, 1)))
        assert one.loads == TILE

    def test_resident_tensors_are_not_loaded(self):
        _, second = seen(example_3(), sub([0], (128, 128, 1), [1]), sub([1, 2], (128, 128, 1)))
        assert second.loads == 0


class TestStores:
    def test_an_output_nobody_reads_is_stored_all_the_same(self):
        plan = sub([0], (128, 128, 1)), sub([0, 1], (128, 128, 1)), sub([0, 2], (128, 128, 1))
        first, *_ = seen(example_3(), *plan)
        assert first.stores == TILE

    def test_a_graph_output_cannot_be_retained(self):
        assert broken(example_1(), sub([0, 1], (128, 128, 1), [2])) == ["output-retained"]

    def test_a_retained_tensor_that_is_dropped_is_gone(self):
        plan = sub([0], (128, 128, 1), [1]), sub([1], (128, 128, 1)), sub([2], (128, 128, 1))
        assert broken(example_3(), *plan) == ["input-missing"]


def test_latency_is_the_longer_of_compute_and_memory_step_by_step():
    problem = chain("m", "p")
    (one,) = seen(problem, sub([0, 1], (128, 128, 64)))
    assert one.trace.latency.tolist() == pytest.approx([1638.4, 3276.8])
    fast = replace(problem, machine=replace(problem.machine, bandwidth=40))
    (one,) = seen(fast, sub([0, 1], (128, 128, 64)))
    assert one.trace.latency.tolist() == pytest.approx([500, 1500])
    assert one.latency == pytest.approx(2000)


class TestWorkingSet:
    def peaks(self, problem, *subgraphs, rules=SPEC):
        return [subgraph.peak for subgraph in seen(problem, *subgraphs, rules=rules)]

    def roomy(self):
        problem = example_3()
        return replace(problem, machine=replace(problem.machine, capacity=1e9))

    def test_slices_tiles_and_whole_tensors(self):
        plan = sub([0], (64, 64, 1), [1]), sub([1], (64, 64, 1), [2]), sub([0, 2], (64, 64, 1))
        # 0: slice of 0, all of 1. 1: all of 1 from before, all of 2. 2: all of 2 from before, slice of 0, tile of 3.
        assert self.peaks(self.roomy(), *plan) == [4096 + TILE, 2 * TILE, TILE + 2 * 4096]

    def test_a_resident_tensor_counts_even_if_unused(self):
        plan = sub([0], (128, 128, 1), [1]), sub([0, 1], (64, 64, 1)), sub([0, 2], (128, 128, 1))
        assert self.peaks(self.roomy(), *plan)[1] == TILE + 2 * 4096

    def test_named_again_counts_once_produced_again_twice(self):
        again = sub([0], (128, 128, 1), [1]), sub([1], (128, 128, 1), [1, 2]), sub([2], (128, 128, 1))
        assert self.peaks(self.roomy(), *again)[1] == 2 * TILE
        anew = sub([0], (128, 128, 1), [1]), sub([0, 1], (64, 64, 1), [1, 2]), sub([2], (128, 128, 1))
        assert self.peaks(self.roomy(), *anew)[1] == 4096 + 3 * TILE

    def test_a_loaded_input_being_retained_counts_its_full_size_in_place_of_its_slices(self):
        plan = sub([0], (64, 64, 1), [0]), sub([0, 1, 2], (64, 64, 1))
        first, second = seen(self.roomy(), *plan)
        assert (first.peak, first.loads) == (TILE + 4096, TILE)
        assert (second.peak, second.loads) == (TILE + 4096, 0)

    def test_loads_of_a_retained_input_come_again_with_every_tile(self):
        graph = GraphBuilder()
        a, b = graph.tensor(128, 128), graph.tensor(128, 128)
        graph.matmul(a, b, 1)
        graph.matmul(a, graph.tensor(128, 128), 1)
        problem = graph.problem(1e9, BANDWIDTH)
        first, second = seen(problem, sub([0], (64, 64, 128), [0]), sub([1], (64, 64, 128)))
        assert first.loads == 4 * (8192 + 8192)
        assert second.loads == 4 * 8192

    def test_the_whole_tile_of_every_step_counts_for_outputs(self):
        (one,) = seen(chain("m"), sub([0], (128, 128, 32)))
        assert one.trace.working_set.tolist() == [8192 + TILE] * 4

    def test_over_capacity_names_step_required_and_available(self):
        problem = chain("p", size=100, capacity=4000)
        (violation,) = replay(problem, Plan((sub([0], (64, 36, 1), traversal=(5, 0, 1, 2, 3, 4)),)), SPEC).violations
        assert (violation.rule, violation.place) == ("over-capacity", "subgraph 0, step 1")
        assert (violation.required, violation.available) == (2 * 64 * 36, 4000)
        assert "in 2 of 6 steps, first in step 1" in violation.message


class TestRetention:
    def test_inputs_may_be_kept_under_spec_only(self):
        plan = sub([0], (128, 128, 1), [0]), sub([0, 1, 2], (128, 128, 1))
        assert broken(example_3(), *plan) == []
        assert broken(example_3(), *plan, rules=CONTEST) == ["not-retainable"]

    def test_naming_again_keeps_a_tensor_under_spec_only(self):
        plan = sub([0], (128, 128, 1), [1]), sub([1], (128, 128, 1), [1, 2]), sub([2], (128, 128, 1))
        assert broken(example_3(), *plan) == []
        assert broken(example_3(), *plan, rules=CONTEST) == ["not-retainable"]

    def test_producing_again_keeps_it_under_both(self):
        plan = sub([0], (128, 128, 1), [1]), sub([0, 1], (64, 64, 1), [1, 2]), sub([2], (64, 64, 1))
        roomy = replace(example_3(), machine=replace(example_3().machine, capacity=1e9))
        assert broken(roomy, *plan) == broken(roomy, *plan, rules=CONTEST) == []

    def test_what_a_subgraph_never_sees_cannot_be_kept(self):
        plan = sub([0], (128, 128, 1), [2]), sub([1], (128, 128, 1)), sub([2], (128, 128, 1))
        assert broken(example_3(), *plan) == ["not-retainable"]

    def test_naming_a_tensor_twice_is_remarked_on(self):
        plan = Plan((sub([0], (128, 128, 1), [1, 1]), sub([1, 2], (128, 128, 1))))
        found = replay(example_3(), plan, SPEC)
        assert found.violations == ()
        assert found.remarks == ("subgraph 0: a tensor is named twice in tensors_to_retain",)


class TestLegality:
    def test_every_operator_at_least_once(self):
        assert broken(example_1(), sub([0], (128, 128, 1))) == ["operator-missing"]
        assert broken(example_1()) == ["operator-missing"] * 2

    def test_no_empty_subgraph(self):
        assert broken(example_1(), sub([], (1, 1, 1)), sub([0, 1], (128, 128, 1))) == ["empty-subgraph"]

    def test_no_operator_twice_in_one(self):
        assert broken(example_1(), sub([0, 1, 1], (128, 128, 1))) == ["operator-twice"]

    def test_listed_in_an_executable_order(self):
        assert broken(example_1(), sub([1, 0], (128, 128, 1))) == ["operator-order"]

    def test_connected_through_tensors_produced_inside(self):
        graph = GraphBuilder()
        a = graph.tensor(128, 128)
        graph.pointwise((a,), 1)
        graph.pointwise((a,), 1)
        assert broken(graph.problem(1e9, BANDWIDTH), sub([0, 1], (128, 128, 1))) == ["disconnected"]

    def test_inputs_are_in_slow_memory_or_resident(self):
        assert broken(example_1(), sub([1], (128, 128, 1)), sub([0], (128, 128, 1))) == ["input-missing"]

    def test_k_fits_every_matmul(self):
        graph = GraphBuilder()
        first = graph.matmul(graph.tensor(128, 32), graph.tensor(32, 128), 1)
        graph.matmul(first, graph.tensor(128, 128), 1)
        problem = graph.problem(1e9, BANDWIDTH)
        assert broken(problem, sub([0, 1], (128, 128, 32))) == []
        assert broken(problem, sub([0, 1], (128, 128, 33))) == ["granularity-over-reduction"]

    @pytest.mark.parametrize("size", [(0, 128, 1), (128, 0, 1), (128, 128, 0), (-1, 128, 1)])
    def test_granularities_start_at_1(self, size):
        found = replay(example_1(), Plan((sub([0, 1], size),)), SPEC)
        assert [violation.rule for violation in found.violations] == ["granularity-too-small"]
        assert found.cost is None

    @pytest.mark.parametrize("size", [(129, 128, 1), (128, 129, 1), (128, 128, 129)])
    def test_the_contest_stops_at_the_native_tile(self, size):
        problem = chain("p", size=256)
        assert broken(problem, sub([0], size)) == []
        assert broken(problem, sub([0], size), rules=CONTEST) == ["granularity-over-native"]

    def test_k_stops_at_the_native_width(self):
        problem = replace(chain("m"), machine=replace(chain("m").machine, native_width=64, native_height=128))
        assert broken(problem, sub([0], (64, 128, 64)), rules=CONTEST) == []
        assert broken(problem, sub([0], (64, 128, 65)), rules=CONTEST) == ["granularity-over-native"]

    @pytest.mark.parametrize("order", [(0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), (0, 1, 2, -1), (0, 1, 2, 3, 4), ()])
    def test_a_traversal_order_is_a_permutation(self, order):
        assert broken(chain("p"), sub([0], (64, 64, 1), traversal=order)) == ["traversal-order"]

    def test_every_violation_is_found(self):
        plan = sub([1, 0, 0], (0, 128, 1), [2]), sub([], (1, 1, 1))
        expected = ["operator-twice", "operator-order", "granularity-too-small", "output-retained", "empty-subgraph"]
        assert broken(example_1(), *plan) == expected


def test_claims_are_remarked_on_not_refused():
    claimed = replace(sub([0, 1], (128, 128, 1)), latency=1.0)
    found = replay(example_1(), Plan((claimed,)), SPEC)
    assert found.violations == ()
    assert found.remarks == ("subgraph 0: the plan claims latency 1, the replay finds 3276.8",)


def test_too_many_steps_are_refused():
    problem = chain("p", size=2**20, capacity=1e9)
    with pytest.raises(InputError, match="too many steps"):
        replay(problem, Plan((sub([0], (1, 1, 1)),)), SPEC)


def test_the_limit_counts_the_steps_that_are_replayed():
    """Slices of a square that meet its tiles are looked at step by step: four more in every tile."""
    graph = GraphBuilder()
    size = 16_000
    x = graph.tensor(size, size)
    graph.matmul(x, x, 1)
    problem = graph.problem(1e9, BANDWIDTH)
    with pytest.raises(InputError, match=f"{7 * size * size} steps that may differ"):
        replay(problem, Plan((sub([0], (1, 1, 2_000)),)), SPEC)
    for w, h, k in ((3, 2, 5), (4, 4, 2), (5, 7, 1), (40, 40, 40)):
        small = GraphBuilder()
        x = small.tensor(40, 40)
        small.matmul(x, x, 1)
        made = small.problem(1e9, BANDWIDTH)
        walked = steps.walk(made, frozenset({0}), (1,))
        tiles = steps.grid(made, walked, (1,), Granularity(w, h, k))
        around = steps.Surroundings((1,), frozenset(), frozenset(), flushes=False)
        traces = steps.replay_steps(made, frozenset({0}), walked, tiles, None, around)
        replayed = sum(len(trace.count) for trace in traces)
        assert replayed <= steps.steps_replayed(made, walked, tiles) <= replayed + 4 * tiles.tiles


def test_long_replays_are_the_sum_of_their_chunks():
    problem = chain("m", size=256)
    (one,) = seen(problem, sub([0], (4, 4, 8), traversal=tuple(range(4096))))
    assert one.grid.steps == 131_072
    assert one.loads == 4096 * 32 * 2 * 32
    assert one.latency == pytest.approx(sum(one.trace.latency.tolist()))
    assert len(one.trace.tile) == one.grid.steps
