"""What the machine itself may look at, and no program: the elements, and who holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shorthaul.spatial.computer.elements import size_of
from shorthaul.spatial.computer.machine_kernels import first_wrong
from shorthaul.spatial.computer.memory import MachineError, Memory, made
from shorthaul.spatial.computer.registers import Nodes, Register, Selection, Values

Index = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.intp]
Array = npt.NDArray[Any]


def contents(held: Values | Register) -> Array:
    """Return all elements."""
    return held._data


def bytes_each(held: Values | Register) -> int:
    """Return the bytes of one element."""
    return size_of(held._data)


def nodes_of(values: Values) -> Selection:
    """Return the nodes that hold the values."""
    return values._nodes


def numbers_of(nodes: Selection) -> Numbers:
    """Return the numbers of the nodes."""
    return nodes._index


def space_of(held: Register | Selection) -> Nodes:
    """Return the nodes that a register or a selection is about; raises :class:`MachineError` for anything else."""
    if not isinstance(held, Register | Selection):
        raise MachineError("is no register", value=type(held).__name__, cure="give what register or load returned")
    return held._space


def hosts_of(space: Nodes) -> Index:
    """Return the processor of every node."""
    return space._host


def expect_memory(space: Nodes, memory: Memory) -> None:
    """Raise :class:`MachineError` if the nodes are another machine's."""
    if space._memory is not memory:
        raise MachineError("are another machine's", place=space.name, cure="let one machine run the whole program")


def memory_of(space: Nodes) -> Memory:
    """Return the memory of the processors that host the nodes."""
    return space._memory


def share_of(space: Nodes) -> int:
    """Return the most nodes of a processor."""
    return space._share


def addresses(to: Values) -> Numbers:
    """Return the numbers of nodes that messages of one round go to; raises :class:`MachineError` for others."""
    given, space = to._data, to._nodes._space
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise MachineError("is no number of a node", place="send", value=given.dtype)
    numbers = given.astype(np.intp)
    wrong = first_wrong(numbers, *space._fresh())
    if wrong >= 0:
        sender, number = int(to._nodes._index[wrong]), int(given[wrong])
        if not 0 <= number < space.count:
            raise space._memory.refused(
                f"{space.place(sender)} sends a message off the grid", place="send", value=number,
                allowed=f"0 to {space.count - 1}",
            )  # fmt: skip
        problem = f"two messages go to {space.place(number)}"
        raise space._memory.refused(problem, place="send", cure="send them in rounds of their own")
    return numbers


def received(values: Values, receivers: Selection) -> Values:
    """Return the values as those who got them hold them."""
    return made(Values)._of(receivers, values._data, values._name)


def nodes_on(memory: Memory, host: Index, name: str) -> Nodes:
    """Return nodes that these processors host."""
    return made(Nodes)._of(memory, host, name)


def register_of(space: Nodes, data: Array, name: str) -> Register:
    """Return a register that holds these elements."""
    return made(Register)._of(space, data, name)


def selected(space: Nodes, index: Numbers) -> Selection:
    """Return the nodes of these numbers."""
    return made(Selection)._of(space, index)
