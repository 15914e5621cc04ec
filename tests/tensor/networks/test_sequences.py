"""Lists of tensors and choices in loops: what is taken is known, so nothing of them is left in a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest

from shorthaul import tensor
from shorthaul.core.errors import InputError
from shorthaul.tensor.networks.translation.network import network_from_onnx

_MACHINE = "cortex-m7"
_BODIES = {
    "rows of a split": """
        s = SplitToSequence <axis = 1, keepdims = 0> (x)
        at = Constant <value = int64 {-1}> ()
        a = SequenceAt(s, at)
        y = Relu(a)""",
    "parts of several sizes": """
        sizes = Constant <value = int64[2] {1, 3}> ()
        s = SplitToSequence <axis = 0> (x, sizes)
        at = Constant <value = int64 {1}> ()
        a = SequenceAt(s, at)
        y = Relu(a)""",
    "parts of two, the last one less": """
        size = Constant <value = int64 {3}> ()
        s = SplitToSequence <axis = 0> (x, size)
        at = Constant <value = int64 {1}> ()
        a = SequenceAt(s, at)
        y = Relu(a)""",
    "stacked": """
        a = Relu(x)
        b = Neg(x)
        s = SequenceConstruct(a, b)
        y = ConcatFromSequence <axis = 1, new_axis = 1> (s)""",
    "built up": """
        a = Relu(x)
        b = Neg(x)
        none = SequenceEmpty()
        one = SequenceInsert(none, a)
        first = Constant <value = int64 {0}> ()
        two = SequenceInsert(one, b, first)
        three = SequenceInsert(two, x)
        s = SequenceErase(three, first)
        y = ConcatFromSequence <axis = 0> (s)""",
    "built up by a loop that a constant outside lets go on": """
        go = Constant <value = bool {1}> ()
        count = Constant <value = int64 {3}> ()
        none = SequenceEmpty()
        a = Relu(x)
        s = Loop <body = step (int64 i, bool goes, seq(float) before) => (bool on, seq(float) after) {
            on = Identity(go)
            row = Gather(a, i)
            after = SequenceInsert(before, row)
        }> (count, go, none)
        y = ConcatFromSequence <axis = 0> (s)""",
}


def model(body: str, opset: int) -> onnx.ModelProto:
    text = f'<ir_version: 7, opset_import: ["" : {opset}]> g (float[4,6] x) => (float y) {{ {body} }}'
    found = onnx.parser.parse_model(text)
    found.graph.output[0].type.tensor_type.ClearField("shape")
    return found


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("name", _BODIES)
def test_what_is_taken_out_of_a_list(name: str, opset: int) -> None:
    found = tensor.run(model(_BODIES[name], opset), machine=_MACHINE)
    assert found.check.ok
    assert not [remark for remark in found.check.remarks if "not known" in remark]
    assert found.extra["run"]["largest_error"] == 0.0


def test_a_place_that_is_not_known_leaves_the_list() -> None:
    body = """s = SplitToSequence <axis = 0> (x)
        at = Cast <to = 7> (where)
        a = SequenceAt(s, at)
        y = Relu(a)"""
    given = model(body, 13)
    given.graph.input.append(onnx.helper.make_tensor_value_info("where", onnx.TensorProto.INT32, []))
    remarks = tensor.plan(given, machine=_MACHINE).check.remarks
    assert any("SequenceAt is not known" in remark for remark in remarks)


_CHOICES = """
    count = Constant <value = int64 {3}> ()
    two = Constant <value = int64 {2}> ()
    last, all = Loop <body = step (int64 at, bool goes, float[4,6] x_in) => (bool goes_on, float[4,6] made, float[4,6] seen) {
        left = Mod(at, two)
        odd = Cast <to = 9> (left)
        made = If <
            then_branch = odd_one () => (float[4,6] w) { v = Tanh(x_in) w = Add(v, x) },
            else_branch = even_one () => (float[4,6] w) { v = Relu(x_in) w = Mul(v, x_in) }
        > (odd)
        seen = Neg(made)
        goes_on = Identity(goes)
    }> (count, , x)
    y = Add(last, all)"""


def test_a_choice_by_the_step_of_a_loop_is_taken() -> None:
    """Its branches have tensors of the same names in every step, and read those of the step and of around."""
    found = tensor.run(model(_CHOICES, 13), machine=_MACHINE, effort=0.05)
    assert found.check.ok
    assert not found.check.remarks
    assert found.extra["run"]["largest_error"] < 1e-12


def test_a_loop_that_its_numbers_end_is_no_constant() -> None:
    """All that is given to it is, but its steps read a tensor from around."""
    body = """count = Constant <value = int64 {5}> ()
        zero = Constant <value = float[4,6] {%s}> ()
        most = Constant <value = float {1.0}> ()
        h = Tanh(x)
        l = Loop <body = step (int64 at, bool goes, float[4,6] before) => (bool on, float[4,6] after) {
            after = Add(before, h) n = ReduceL2 <keepdims = 0> (before) on = Less(n, most)
        }> (count, , zero)
        y = Neg(l)"""
    found = tensor.run(model(body % ",".join("0" * 24), 18), machine=_MACHINE)
    assert "Loop is not known" in found.check.remarks[0]
    assert found.extra["run"]["largest_error"] < 1e-6


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize(("places", "says"), [([1, 13], ""), ([[0, 1], [2, 3]], ""), ([1, 24], "do not fit")])
def test_sparse_tensors(places: list[Any], says: str, *, is_constant: bool) -> None:
    given = model("y = Add(x, few)", 13)
    values = onnx.numpy_helper.from_array(np.array([2, 3], np.float32), "few")
    sparse = onnx.helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(np.array(places), "at"), [4, 6])
    if is_constant:
        given.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["few"], sparse_value=sparse))
    else:
        given.graph.sparse_initializer.append(sparse)
    if says:
        with pytest.raises(InputError, match=says):
            tensor.run(given, machine=_MACHINE)
    else:
        assert tensor.run(given, machine=_MACHINE).extra["run"]["largest_error"] == 0.0


def test_names_of_sparse_tensors_are_text() -> None:
    given = model("y = Relu(x)", 13)
    tensors = (onnx.numpy_helper.from_array(np.array([2]), name) for name in ("few", "at"))
    given.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(*tensors, [24]))
    with pytest.raises(InputError, match="UTF-8"):
        network_from_onnx(given.SerializeToString().replace(b"few", b"f\xffw"))


def test_attributes_left_out_of_what_is_taken_apart() -> None:
    """The grid is made of nodes of which one has the number that ``align_corners`` is where it is not given."""
    text = """<ir_version: 9, opset_import: ["" : 20]> g (float[2,2,3] x) => (float[2,3,3,2] y) {
        size = Constant <value = int64[4] {2, 1, 3, 3}> () a = AffineGrid(x, size) y = Relu(a) }"""
    found = tensor.run(onnx.parser.parse_model(text), machine=_MACHINE).extra["run"]
    assert found["compared_with"] is not None
    assert found["largest_error"] < 1e-6


@pytest.mark.parametrize(
    ("body", "most"),
    [
        ("y = NonZero(x)", (2, 24)),
        ("t = Cast <to = 9> (x) p = Flatten <axis = 0> (t) q = Squeeze(p) y = Compress(x, q)", (24,)),
        ("y = Unique(x)", (24,)),
        ("b = Unsqueeze(x, zero) c = Unsqueeze(x, zero) y = NonMaxSuppression(b, c, four)", (16, 3)),
    ],
)
def test_as_many_places_as_there_may_be(body: str, most: tuple[int, ...]) -> None:
    """What the numbers decide is taken as large as it may be, and so is what is made of it, at once."""
    constants = "zero = Constant <value = int64[1] {0}> () four = Constant <value = int64[1] {4}> ()"
    found = network_from_onnx(model(f"{constants} {body} z = Identity(y)", 18).SerializeToString())
    assert found.outputs[0].shape == most
    assert sum("taken as" in remark for remark in found.remarks) == 1


def test_elements_of_a_table_of_one_row() -> None:
    """Constants are computed by the reference of onnx, which fails there; places may be fewer than the table has."""
    body = """t = Constant <value = float[2,5] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}> ()
        p = Constant <value = int64[1,6] {0, -1, 2, 1, 1, 4}> ()
        e = GatherElements <axis = 1> (t, p)
        y = Add(x, e)"""
    found = tensor.run(model(body, 13), machine=_MACHINE)
    assert found.extra["run"]["largest_error"] == 0.0


@pytest.mark.parametrize(
    ("mode", "shape", "pads"),
    [
        ("reflect", "1,1,40", "0,0,31,0,0,39"),
        ("reflect", "2,9,7", "0,3,2,0,1,4"),
        ("wrap", "2,9,7", "0,3,0,0,1,4"),
    ],
)
def test_a_margin_of_parts_of_rows(mode: str, shape: str, pads: str) -> None:
    """It is a view: of rows longer than a memory the other way round, of any rows those at the other end."""
    text = f"""<ir_version: 9, opset_import: ["" : 19]> g (float[{shape}] x) => (float y, float z) {{
        p = Constant <value = int64[6] {{{pads}}}> ()
        a = Relu(x) b = Pad <mode = "{mode}"> (a, p) y = AveragePool <kernel_shape = [3]> (b) z = Neg(b) }}"""
    given = onnx.parser.parse_model(text)
    for output in given.graph.output:
        output.type.tensor_type.ClearField("shape")
    network = network_from_onnx(given.SerializeToString(), most_row_bytes=40 if mode == "reflect" else 1e9)
    assert [item.kind for item in network.operators] == ["Relu", "AveragePool", "Neg"]
    assert tensor.run(network, machine=_MACHINE).extra["run"]["largest_error"] < 1e-15


def test_places_of_several_kib_are_known() -> None:
    """Every second place, by a constant of 8 KB, is a view."""
    text = '<ir_version: 7, opset_import: ["" : 13]> g (float[2000] x) => (float[1000] y) { a = Gather(x, at) y = Relu(a) }'
    given = onnx.parser.parse_model(text)
    given.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(0, 2000, 2), "at"))
    assert [item.kind for item in network_from_onnx(given.SerializeToString()).operators] == ["Relu"]


def test_integers_made_of_real_constants() -> None:
    """They are those of the model's own types: 7 in single precision, 6 in double, as 0.7 is less then."""
    body = """a = Constant <value = float {0.7}> ()
        b = Constant <value = float {10.0}> ()
        c = Mul(a, b)
        k = Cast <to = 7> (c)
        f = Cast <to = 1> (k)
        y = Add(x, f)"""
    assert tensor.run(model(body, 13), machine=_MACHINE).extra["run"]["largest_error"] == 0.0
