"""Programs that cheat are refused: what no processor can know, hold or send."""

# ruff: noqa: ARG005

from __future__ import annotations

import ast
import copy
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shorthaul.spatial
from shorthaul.core.errors import InfeasibleError, InputError
from shorthaul.spatial import Machine, MachineError, Operator

#: A MachineError is an InputError, as is an argument of another type.
REFUSED = (InputError, TypeError, AttributeError)


def row(n: int = 4, **options: object) -> tuple[Machine, object]:
    machine = Machine.on(f"{n}x1", **options)
    return machine, machine.load("value", [5, 1, 4, 2, 7, 3, 9, 8][:n])


class Spy:
    """What NumPy asks about every element."""

    def __gt__(self, other: object) -> bool:
        return bool(other)

    def __radd__(self, other: object) -> object:
        return other


READING: dict[str, Callable[[Machine, object], object]] = {
    "the left neighbour's element": lambda m, v: v[m.all.number - 1],
    "another's element by number": lambda m, v: v[3 - m.all.number],
    "an element by a real number": lambda m, v: v[m.all.number / 1],
    "elements by a truth": lambda m, v: v[v > 3],
    "one element": lambda m, v: v[2],
    "a slice": lambda m, v: v[1:],
    "an array of numbers": lambda m, v: v[np.array([1, 2, 3, 0])],
    "elements of other processors in a sum": lambda m, v: v[m.all.where(v > 3)] + v[m.all.where(v <= 3)],
    "elements of other processors as a condition": lambda m, v: m.all.where(v > 3).where(v[m.all.where(v <= 3)] > 0),
    "a prefix sum": lambda m, v: np.cumsum(v),
    "a prefix sum by a ufunc": lambda m, v: np.add.accumulate(v),
    "a sum by a ufunc": lambda m, v: np.add.reduce(v[m.all]),
    "sums of slices": lambda m, v: np.add.reduceat(v, [0, 2]),
    "a table of all pairs": lambda m, v: np.subtract.outer(v, v),
    "a product of matrices": lambda m, v: v @ v,
    "a sum": lambda m, v: sum(v),
    "a sum of NumPy": lambda m, v: np.sum(v),
    "a largest element": lambda m, v: max(v),
    "a sorted list": lambda m, v: sorted(v),
    "a rolled array": lambda m, v: np.roll(v, 1),
    "an array": lambda m, v: np.asarray(v),
    "an array of values": lambda m, v: np.array([v[m.all], v[m.all]]),
    "a buffer": lambda m, v: memoryview(v),
    "a number": lambda m, v: float(v),
    "a truth": lambda m, v: bool(v > 3),
    "a function of the host with a memory": lambda m, v: np.frompyfunc(lambda x: x, 1, 1)(v),
    "a function of the host by element": lambda m, v: np.vectorize(lambda x: x)(v),
    "a copy": lambda m, v: copy.copy(v),
    "a deep copy": lambda m, v: copy.deepcopy(v[m.all]),
    "a pickle": lambda m, v: pickle.dumps(v),
    "how many are in a selection": lambda m, v: len(m.all.where(v > 3)),
    "who is in a selection": lambda m, v: list(m.all.where(v > 3)),
    "an array of the host in a sum": lambda m, v: v + np.arange(4),
    "an array of the host as a condition": lambda m, v: m.all.where(np.array([True, False, True, False])),
    "a condition of the host": lambda m, v: np.add(v, 1, where=[True, False, True, False]),
    "a result before the end": lambda m, v: (m.collect(v), v + 1),
    "another machine's register": lambda m, v: v + row()[1],
    "a result on another machine": lambda m, v: row()[0].collect(v),
    "what was emitted on another machine": lambda m, v: row()[0].collect(m.emit(v)),
    "by an object that numbers are compared with": lambda m, v: v < Spy(),
    "by an object that is added to numbers": lambda m, v: np.add(v, Spy(), out=v),
    "text": lambda m, v: v == "5",
    "all numbers as one": lambda m, v: m.register(0, width=40)[m.all].word(None),
    "one of more numbers than there are": lambda m, v: m.register(0, width=4)[m.all].word(4),
    "by an operator that calls itself the built-in sum": lambda m, v: v[m.all].combined(
        Operator("sum", lambda a, b: np.cumsum(a), 0, code=0), v[m.all]
    ),
    "another machine's elements by number": lambda m, v: row()[1][m.all.number],
    "an element by what its message took, then on": lambda m, v: (m.send(v % 4 * 0), m.cost(), v + 1),
    "messages by what was counted, then on": lambda m, v: (m.figures(), v + 1),
    "ways by the load of links, then on": lambda m, v: (m.link_loads(), v + 1),
    "who is in a selection, by its places in another": lambda m, v: m.all.where(v > 3).steps_from(m.all),
    "by a register around an array of the host": lambda m, v: type(v)(m.processors, np.zeros(4), "x"),
    "by values around an array of the host": lambda m, v: type(v[m.all])(m.all, np.zeros(4), "x"),
    "by a selection of the host's": lambda m, v: type(m.all)(m.processors, np.array([1]), None, None),
    "by a subclass of registers": lambda m, v: type("Mine", (type(v),), {}),
    "by the state of a register": lambda m, v: v.__getstate__(),
    "by the state of a selection": lambda m, v: m.all.where(v > 3).__getstate__(),
    "by a pickle of a result": lambda m, v: pickle.dumps(m.emit(v)),
    "by a copy of a result": lambda m, v: copy.deepcopy(m.emit(v)),
    "by a function that is put among NumPy's": lambda m, v: _put(np.frompyfunc(_same, 1, 1))(v),
    "by what calls itself a function of NumPy": lambda m, v: v.__array_ufunc__(_put(_same), "__call__", v),
    "by one more result in an array of the host": lambda m, v: np.divmod(v, 2, out=(v, np.zeros(4, int))),
    "an error that tells an element, then on": lambda m, v: _in_spite(lambda: m.send(v + 100), lambda: v + 1),
    "an error that tells a reader's number, then on": lambda m, v: _in_spite(lambda: v[v % 2], lambda: v + 1),
}
WRITING: dict[str, Callable[[Machine, object], object]] = {
    "one element": lambda m, v: v.__setitem__(2, 9),
    "an array of the host": lambda m, v: v.__setitem__(m.all, np.arange(4)),
    "what others hold": lambda m, v: v.__setitem__(m.all.where(v > 3), v[m.all.where(v <= 3)]),
    "what the sender holds": lambda m, v: v.__setitem__(m.send(3 - m.all.number)[0], v[m.all.where(v > 3)]),
    "to the target of a ufunc": lambda m, v: np.add(v, 1, out=v[m.all]),
    "by a ufunc at numbers": lambda m, v: np.add.at(v, [0, 1], 1),
    "a first value that differs": lambda m, v: m.register(np.arange(4)),
    "a register as first value": lambda m, v: m.register(v),
    "what is no number": lambda m, v: m.register(None, object),
    "real numbers as integers": lambda m, v: v.__setitem__(m.all, v[m.all] / 2),
    "half as an integer": lambda m, v: v.__setitem__(m.all, 0.5),
    "what no word holds": lambda m, v: v.__setitem__(m.all, 2**64),
    "a first value that no word holds": lambda m, v: m.register(float("nan")),
    "after the end": lambda m, v: (m.collect(v), v.__setitem__(m.all, 3)),
    "after the end, to a selection made before": lambda m, v: _in_turn(
        m.all.where(v > 3), lambda chosen: (m.collect(v), v.__setitem__(chosen, 3))
    ),
    "more numbers than the target has": lambda m, v: np.add(v[m.all], m.register(0, width=4)[m.all], out=v),
    "what was let go of": lambda m, v: (v.__del__(), v.__setitem__(m.all, 3)),
    "how much memory a register takes": lambda m, v: setattr(m.processors, "share", 0),
    "what was given": lambda m, v: m.given.clear(),
    "how long messages are": lambda m, v: setattr(m, "grid", None),
}
SENDING: dict[str, Callable[[Machine, object], object]] = {
    "off the grid": lambda m, v: m.send(m.all.number + 1),
    "to a negative number": lambda m, v: m.send(m.all.number - 1),
    "to a huge number": lambda m, v: m.send(m.all.number + 2**40),
    "to half a processor": lambda m, v: m.send(m.all.number / 2),
    "to all from nobody": lambda m, v: m.send(np.arange(4)),
    "two to one": lambda m, v: m.send(m.all.number // 2),
    "what others hold": lambda m, v: m.send(3 - m.all.number, v[m.all.where(v > 3)]),
    "an array of the host": lambda m, v: m.send(3 - m.all.number, np.arange(4)),
    "after the end": lambda m, v: (m.collect(v), m.send(3 - m.all.number)),
    "over another machine's links": lambda m, v: row()[0].send(3 - m.all.number, v[m.all]),
    "a wave over another machine's links": lambda m, v: row()[0].flood(v, [m.register(-1)], Operator("sum", np.add, 0)),
    "a wave along what others hold": lambda m, v: m.flood(
        v, [m.load("kids", [1, 2, 3, -1], m.nodes([0] * 4, "tasks"))], Operator("sum", np.add, 0)
    ),
}


def _same(x: object) -> object:
    return x


def _put(function: Callable[..., object]) -> Callable[..., object]:
    """Put a function among those of NumPy under its own name for as long as the test runs."""
    pytest.MonkeyPatch.setattr(PATCH, np, function.__name__, function, raising=False)
    return function


PATCH = pytest.MonkeyPatch()


def _in_spite(cheat: Callable[[], object], after: Callable[[], object]) -> None:
    with pytest.raises(MachineError):
        cheat()
    after()


def _in_turn(made: object, then: Callable[[object], object]) -> None:
    then(made)


@pytest.mark.parametrize("cheat", [*READING.values(), *WRITING.values(), *SENDING.values()],
                         ids=[*READING, *(f"write {name}" for name in WRITING), *(f"send {name}" for name in SENDING)])  # fmt: skip
def test_cheats_are_refused(cheat: Callable[[Machine, object], object]) -> None:
    machine, value = row()
    try:
        with pytest.raises(REFUSED):
            cheat(machine, value)
    finally:
        PATCH.undo()


def test_errors_name_processor_and_register() -> None:
    for cheat in (
        lambda m, v: v[3 - m.all.number],
        lambda m, v: v[m.all.where(v == 1)] + v[m.all.where(v == 4)],
    ):
        with pytest.raises(MachineError, match=r"register 'value': processor \d reads .* processor \d"):
            cheat(*row())
    machine, value = row()
    total = machine.register(0, name="total")
    with pytest.raises(MachineError, match=r"processor 1 writes register 'total' with .* processor 0"):
        total[machine.all.where(value == 1)] = value[machine.all.where(value == 5)]


def test_what_exists_counts_as_memory() -> None:
    # Many registers, values kept in a list of the host, wide registers, values in a list: all are words.
    for hoard in (
        lambda m, v: [m.register(0) for _ in range(40)],
        lambda m, v: [v[m.all] for _ in range(40)],
        lambda m, v: [v + k for k in range(40)],
        lambda m, v: m.register(0, width=40),
        lambda m, v: m.load("table", np.zeros((4, 40))),
        lambda m, v: [m.all.where(v > 0) for _ in range(400)],
        lambda m, v: [m.send(3 - m.all.number, v[m.all]) for _ in range(40)],
        lambda m, v: m.nodes([0, *[1] * 40], "tasks").register(0),
    ):
        machine, value = row(words=32)
        with pytest.raises(InfeasibleError, match="memory of a processor"):
            hoard(machine, value)


def test_numbers_of_the_programs_own_see_no_elements() -> None:
    seen = []

    class Number(int):
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object) -> object:
            seen.extend(inputs)
            return NotImplemented

    machine, value = row()
    wide = machine.register(3, width=4)
    value[machine.all] = value + Number(1)
    value[machine.all] += wide[machine.all].word(True)  # one number, not all of them
    assert machine.collect(value).tolist() == [9, 5, 8, 6]
    assert not seen


def test_what_is_dropped_is_free_again() -> None:
    machine, value = row(words=8)
    for turn in range(100):
        held = machine.register(turn)
        held[machine.all] += value[machine.all]
    assert machine.figures()["words_per_processor"] <= 8


def test_messages_are_priced_by_their_words() -> None:
    machine, _ = row()
    many = machine.register(0, width=20)
    machine.send(3 - machine.all.number, many[machine.all])
    assert machine.cost()["energy_hops"] == 20 * (3 + 1 + 1 + 3)
    machine, _ = row()
    halves = machine.register(0, np.int32)[machine.all]
    machine.send(3 - machine.all.number, halves, halves)
    assert machine.cost()["energy_hops"] == 8  # two numbers of 32 bits are a word
    machine, _ = row(message_words=4)
    with pytest.raises(InfeasibleError, match="words of a message"):
        machine.send(3 - machine.all.number, *[machine.register(0)[machine.all]] * 5)


def test_a_processor_cannot_send_or_receive_without_limit() -> None:
    for host, towards, count_links in itertools.product(
        ([0] * 9 + [1] * 9, [*[0] * 9, *range(1, 10)]), (9, -9), (True, False)
    ):
        machine = Machine.on("10x1", words=500, count_links=count_links)
        nodes = machine.nodes(host, "tasks")
        senders = nodes.all.where((nodes.all.number < 9) if towards > 0 else (nodes.all.number >= 9))
        with pytest.raises(InfeasibleError, match="in one round"):
            machine.send(senders.number + towards)
        with pytest.raises(MachineError, match="has ended"):  # who reads the error knows where messages go
            machine.register(1)


def test_nodes_of_one_processor_share_its_memory_and_nothing_travels_between_them() -> None:
    machine = Machine.on("2x1")
    nodes = machine.nodes([0, 1, 1], "tasks")
    senders = nodes.all.where(nodes.all.number == 1)
    machine.send(senders.number + 1)
    held = machine.load("held", [3, 4])
    assert machine.collect(_copied(nodes, held)).tolist() == [3, 4, 4]
    assert machine.cost()["energy_hops"] == machine.cost()["depth"] == 0
    with pytest.raises(InputError, match="is no processor"):
        machine.nodes([0, 2], "tasks")


def test_nodes_take_memory_whatever_they_are_called() -> None:
    with pytest.raises(InfeasibleError, match="memory of a processor"):
        Machine.on("2x1", words=1).nodes([0, 0], "processors").register(0)


def _copied(nodes, held):
    found = nodes.register(0)
    found[nodes.all] = held[nodes.all.processor]
    return found


OPERATORS: dict[str, Callable[[object, object], object]] = {
    "a prefix sum": lambda a, b: np.cumsum(a) + b,
    "a prefix sum by a ufunc": lambda a, b: np.add.accumulate(a),
    "an array": lambda a, b: np.asarray(a) + b,
    "a list": lambda a, b: [*a],
    "a number": lambda a, b: float(a) + b,
    "a truth": lambda a, b: a if a > b else b,
    "how many there are": lambda a, b: a + len(b),
    "the first element": lambda a, b: a[0] + b,
    "a slice": lambda a, b: a[..., :1],
    "a word where there is one": lambda a, b: a[..., 0],
    "a table of the host": lambda a, b: np.arange(100)[a],
    "an array of the host": lambda a, b: a + np.arange(4),
    "a function of the host by element": lambda a, b: np.frompyfunc(KEPT.append, 1, 1)(a),
    "a target of the host": lambda a, b: np.add(a, b, out=np.zeros(4, np.int64)),
    "a number of the host": lambda a, b: 7,
    "objects": lambda a, b: a.astype(object),
    "words of an element": lambda a, b: np.stack([a, b], axis=-1),
    "elements side by side": lambda a, b: np.concatenate([a, b]),
    "what was kept of another time": lambda a, b: (KEPT.append(a), KEPT[0] + b)[1],
}
KEPT: list[object] = []


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_see_no_element(name: str) -> None:
    KEPT.clear()
    for turn in range(2):
        machine, value = row()
        operator = Operator("mine", OPERATORS[name], 0)
        if turn == 0 and name == "what was kept of another time":
            machine.flood(value, [machine.register(-1)], operator)
            continue
        with pytest.raises(REFUSED):
            value[machine.all].combined(operator, value[machine.all])
        machine, value = row()
        with pytest.raises(REFUSED):
            machine.flood(value, [machine.load("kids", [1, 2, 3, -1])], operator)


def test_operators_are_asked_once_and_what_they_write_is_counted() -> None:
    asked = []

    def mine(a: object, b: object) -> object:
        asked.append((a, b))
        return np.where(a > b, 2 * a - a, b).astype(np.int64) + 0

    machine, value = row()
    target, awaited = machine.load("target", [-1, 0, 0, 1]), machine.load("awaited", [2, 1, 0, 0])
    machine.converge(value, target, awaited, Operator("mine", mine, 0))
    assert len(asked) == 1
    assert value[machine.all].combined(Operator("mine", np.add, 0), value[machine.all]).dtype == np.int64
    assert machine.figures()["constants"] == 2
    assert machine.collect(value).tolist() == [5, 2, 4, 2]


def test_words_of_operators_meet_those_of_the_same_node() -> None:
    machine = Machine.on("2x1")
    pair, one = machine.load("pair", [[1, 2], [3, 4]]), machine.load("one", [5, 6])
    apart = Operator("apart", lambda a, b: a + b[..., 1], (0, 0), words=2)
    pair[machine.all] = pair[machine.all].combined(apart, pair[machine.all])
    paired = Operator("paired", lambda a, b: (np.stack([a, b], axis=-1) - a)[..., 1], 0)
    one[machine.all] = one[machine.all].combined(paired, machine.register(9)[machine.all])
    held, pairs = machine.emit(one), machine.collect(pair)
    assert (pairs.tolist(), machine.collect(held).tolist()) == ([[3, 4], [7, 8]], [4, 3])


def test_an_error_of_an_operator_ends_the_program() -> None:
    machine, value = row()
    with pytest.raises(MachineError, match="negative integer powers"):
        value[machine.all].combined(Operator("tells", lambda a, b: a ** (2 - b), 0), value[machine.all])
    with pytest.raises(MachineError, match="has ended"):
        value + 1


def test_where_nodes_are_is_given_and_stays() -> None:
    host = np.array([1, 3, 2, 0], np.int32)
    machine, value = row()
    tasks = machine.nodes(host, "tasks")
    host[:] = 0
    held = tasks.register(0)
    held[tasks.all] = value[tasks.all.processor]
    assert machine.figures()["given"] == {"value": 1.0, "tasks: processor": 0.5}
    assert machine.collect(held).tolist() == [1, 2, 4, 5]


def test_what_numpy_says_of_elements_is_not_heard() -> None:
    _, value = row()
    with np.errstate(all="raise"):
        value // (value - 5)
        np.log(value - 5)


def test_waves_wait_for_what_comes() -> None:
    add = Operator("mine", np.add, 0)
    for target, awaited, says in (
        ([-1, 0, 1, 2], [1, 1, 0, 0], "another number of messages"),
        ([1, 2, 0, -1], [1, 1, 1, 0], "round a cycle"),
        ([4, -1, -1, -1], [0, 0, 0, 0], "off the grid"),
    ):
        machine, value = row()
        with pytest.raises(MachineError, match=says):
            machine.converge(value, machine.load("target", target), machine.load("awaited", awaited), add)
    for kids, says in (([1, 1, -1, -1], "two messages"), ([7, -1, -1, -1], "off the grid"), ([1, 0, -1, -1], "cycle")):
        machine, value = row()
        with pytest.raises(MachineError, match=says):
            machine.flood(value, [machine.load("kids", kids)], add)


@pytest.mark.parametrize("odd", [2**32, 2**63 + 1, 0.5, np.nan, [1, 2]])
def test_waves_go_to_numbers_of_nodes_only(odd: object) -> None:
    # 2**32 is no node, though its low 32 bits are that of node 0.
    for wave in ("flood", "converge"):
        machine, value = row(2)
        target = machine.load("target", np.array([[-1, -1], odd] if isinstance(odd, list) else [0, odd]))
        given = [[target]] if wave == "flood" else [target, machine.load("awaited", [1, 0])]
        with pytest.raises(MachineError, match=r"off the grid|one integer"):
            getattr(machine, wave)(value, *given, Operator("sum", np.add, 0))


@pytest.mark.parametrize("odd", [None, 3, [1, 2], np.arange(4), "value"])
def test_only_registers_are_collected_and_go_in_waves(odd: object) -> None:
    machine, value = row()
    add = Operator("sum", np.add, 0)
    for refused in (
        lambda: machine.collect(odd), lambda: machine.collect(value[machine.all]), lambda: machine.emit(odd),
        lambda: machine.flood(odd, [value], add), lambda: machine.flood(value, odd, add),
        lambda: machine.flood(value, [], add), lambda: machine.flood(value, value, add),
        lambda: machine.converge(value, odd, value, add), lambda: machine.converge(value, value, odd, add),
    ):  # fmt: skip
        with pytest.raises(MachineError):
            refused()


def test_questions_and_inputs_are_listed() -> None:
    machine, value = row()
    left = machine.all.where(value > 3)
    while left:
        value[left] -= 1
        left = left.where(value[left] > 3)
    figures = machine.figures()
    assert (figures["looks"], figures["constants"]) == (3, 1 + 2 * 2)
    assert figures["given"] == {"value": 1.0}


def test_arrays_of_the_host_are_copied_whatever_they_say() -> None:
    class Shared:
        """An array that calls itself a copy."""

        def __init__(self, array: object) -> None:
            self.array = np.asarray(array, np.int32)

        def __array__(self, dtype: object = None, copy: object = None) -> object:
            return self.array

    x, values, hosts = Shared(range(4)), Shared([5, 1, 4, 2]), Shared(range(4))
    machine = Machine(x, [0] * 4, row()[0].grid)
    value, tasks = machine.load("value", values), machine.nodes(hosts, "tasks")
    for shared in (x, values, hosts):
        shared.array[:] = 0
    machine.send(3 - tasks.all.number)
    assert machine.collect(value).tolist() == [5, 1, 4, 2]
    assert machine.cost()["energy_hops"] == 3 + 1 + 1 + 3


def test_whether_a_selection_is_empty_is_told_by_questions_only() -> None:
    machine, value = row()
    none = machine.all.where(value > 9)
    assert (machine.all | none) is not machine.all
    assert (none | machine.all) is not machine.all
    value[none | machine.all] = value[machine.all | none] + 1
    assert machine.collect(value).tolist() == [6, 2, 5, 3]


def test_machines_on_impossible_grids() -> None:
    from shorthaul.spatial import Grid

    for x, y in (([0, 2], [0, 0]), ([0, 0], [0, 0]), ([0, 1], [0]), ([-1, 0], [0, 0])):
        with pytest.raises(InputError):
            Machine(x, y, Grid(2, 1))
    for values in ([1, 2, 3], [1, [2, 3]]):
        with pytest.raises(InputError, match="one value per node"):
            Machine.on("2x1").load("value", values)


def test_algorithms_use_nothing_but_the_public_machine() -> None:
    # No algorithm touches a private name of the machine's, nor a function that only the machine may call.
    public = {"MachineError", "Nodes", "Register", "Selection", "Values"}
    for path in Path(shorthaul.spatial.__file__).parent.joinpath("algorithms").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith("_") or node.attr.startswith("__"), f"{path.name}: {node.attr}"
            if isinstance(node, ast.ImportFrom) and node.module and "computer" in node.module:
                assert "kernels" not in node.module
                assert not node.module.endswith("contents")
                names = {alias.name for alias in node.names}
                assert not node.module.endswith("registers") or names <= public, f"{path.name}: {names - public}"
