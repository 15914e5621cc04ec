"""A plan executed on a model's numbers, and compared with what others compute of the model."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnx.numpy_helper

from shorthaul.core.document import read_bytes
from shorthaul.core.errors import InputError
from shorthaul.core.search import Search
from shorthaul.tensor.networks.execution.arrays import (
    AS_WRITTEN,
    REFERENCE,
    Array,
    as_taken_apart,
    constants_of,
    fill,
    inputs_of,
    outputs_as_given,
    outputs_of,
)
from shorthaul.tensor.networks.execution.machine import Execution, Moved
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.networks.translation.agreement import put_in_order
from shorthaul.tensor.networks.translation.constants import fill_sparse
from shorthaul.tensor.networks.translation.graph import Graph
from shorthaul.tensor.networks.translation.network import translated
from shorthaul.tensor.networks.translation.subgraphs import inlined

#: How far an output may be from what others compute in double precision, relative to its largest number.
TOLERANCE: Final = 1e-6
#: The same of what they compute in the model's own types.
TOLERANCE_AS_WRITTEN: Final = 1e-3
#: The same where numbers are quantised, and the last digit may say to which of two steps.
TOLERANCE_OF_STEPS: Final = 5e-2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was moved by group, the outputs, how far each is from what ``compared_with`` made, relatively.

    Where nobody else can compute the outputs, ``compared_with`` is None, and ``remark`` says why. ``not_finite`` counts
    the numbers of the outputs that are NaN, or the same infinity, in both. ``error_as_given`` is the largest difference
    from what onnxruntime makes of the file as it is, in the model's own types; None where it cannot.
    """

    moved: tuple[Moved, ...]
    outputs: dict[str, Array]
    errors: dict[str, float]
    compared_with: str | None
    random_weights: int
    remark: str = ""
    not_finite: int = 0
    error_as_given: float | None = None

    @property
    def tolerance(self) -> float:
        """How far an output may be from the one it is compared with."""
        return TOLERANCE_AS_WRITTEN if (self.compared_with or "").endswith(AS_WRITTEN) else TOLERANCE


def execute(network: Network, plan: NetworkPlan, inputs: str | None, search: Search) -> Outcome:
    """Execute ``plan`` on the weights of the model that ``network`` was made of, all in double precision.

    Weights that are missing, and inputs without a file, are random by the seed of ``search``. Raises
    :class:`InputError` where the plan needs what is not there, and for operators that nobody knows how to execute.
    """
    origin = network.origin
    if origin is None:
        raise InputError("was not made of a model", place="network", cure="give the ONNX model")
    file = origin.model if isinstance(origin.model, Path) else None
    data = read_bytes(origin.model) if isinstance(origin.model, Path) else origin.model
    translation = translated(data, origin.dims, file=file, most_row_bytes=origin.most_row_bytes)
    model = onnx.load_model_from_string(data)
    fill_sparse(onnx, model)
    missing = fill(model, None if file is None else file.parent, search.seed)
    as_given = model.SerializeToString() if missing else data if file is None else str(file)
    put_in_order(model.graph)
    _refuse_guessed(translation.graph)
    given = inputs_of(translation.graph, model, inputs, search.seed)
    constants = constants_of(translation.graph, model)
    execution = Execution(translation, constants, given)
    # What is not finite is counted below; a warning of NumPy would name a line of code.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        outputs = execution.run(plan, search)
    moved = tuple(execution.moved)
    own = outputs_as_given(model, as_given, given)  # before functions are put in place
    try:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            expected, who = outputs_of(_with_integers(model, translation.graph), given)
    except InputError as error:
        return Outcome(moved, outputs, {}, None, missing, f"the outputs are not verified: {error}")
    errors = {name: _error(outputs[name], expected[name]) for name in outputs}
    rounds = any("Quantize" in node.kind or "QLinear" in node.kind for node in translation.graph.nodes)
    told = ""
    if who.endswith(AS_WRITTEN) and rounds and TOLERANCE_AS_WRITTEN < max(errors.values()) < TOLERANCE_OF_STEPS:
        worst = max(errors.values())
        told = f"{who} differs by {worst:.2g} of an output, as its last digits say to which step to round"
        with contextlib.suppress(InputError), np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            expected, who = outputs_of(as_taken_apart(translation.graph, model, constants), given)
            errors = {name: _error(outputs[name], expected[name]) for name in outputs}
    error_as_given = None
    if own is not None:
        beside = {name: _error(outputs[name], own[0][name]) for name in outputs}
        error_as_given = max(beside.values(), default=0.0)
        is_near = error_as_given <= TOLERANCE_AS_WRITTEN
        if is_near and who.startswith(REFERENCE) and max(errors.values(), default=0.0) > TOLERANCE:
            told = f"{who} differs by {max(errors.values()):.2g} of an output, {own[1]} does not"
            (expected, who), errors = own, beside
        elif not is_near and _is_another(model, own, given):
            (expected, who), errors = own, beside
        elif not is_near:
            told = f"{told}; " * bool(told) + f"{own[1]} differs by {error_as_given:.2g} of an output"
    remark, not_finite = _not_finite(outputs, expected)
    remark = "; ".join(filter(None, (told, remark, _of_itself(execution, who))))
    return Outcome(moved, outputs, errors, who, missing, remark, not_finite, error_as_given)


def _refuse_guessed(graph: Graph) -> None:
    """Raise :class:`InputError` for outputs that are constants here alone, as a shape was guessed."""
    for name in graph.outputs:
        if name in graph.guessed and name in graph.values:
            cure = "plan and check it; 'run' needs shapes that do not depend on numbers"
            raise InputError("follows from a shape that is not known", place=f"output {name}", cure=cure)


def _is_another(model: Any, own: tuple[dict[str, Array], str], given: dict[str, Array]) -> bool:
    """Return whether a model with its functions put in place makes other numbers, in the same types, than as it is."""
    if not model.functions:
        return False
    made = outputs_as_given(whole := inlined(onnx, model), whole.SerializeToString(), given)
    return made is not None and any(
        _error(made[0][name], value) > TOLERANCE_AS_WRITTEN for name, value in own[0].items()
    )


def _with_integers(model: Any, graph: Graph) -> Any:
    """Return a model in which integers made of real constants are what they are in the model's own types.

    Which bucket a distance lies in, say, may depend on the last digit of a logarithm.
    """
    numbers = {
        name: graph.values[name]
        for node in graph.folded
        if any(graph.values[source].dtype.kind == "f" for source in node.inputs if source in graph.values)
        for name in node.outputs
        if name and graph.values[name].dtype.kind in "iub"
    }
    made = [node for node in model.graph.node if node.output and all(name in numbers for name in node.output)]
    if not made:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in made:
        copy.graph.node.remove(node)
        copy.graph.initializer.extend(onnx.numpy_helper.from_array(numbers[name], name) for name in node.output)
    return copy


def _of_itself(execution: Execution, who: str) -> str:
    """Return a remark on operators that were executed here by who made the outputs that ours are compared with."""
    found = {(other, kind) for other, kind in execution.others if who.startswith(other)}
    kinds = ", ".join(sorted(kind for _, kind in found))
    return (
        f"{kinds}: executed by {min(found)[0]} here too, so that the comparison says nothing of them" if found else ""
    )


def _not_finite(outputs: dict[str, Array], expected: dict[str, Array]) -> tuple[str, int]:
    """Return a remark on the numbers that are NaN, or the same infinity, in both, and how many there are."""
    told, count = [], 0
    for name, found in outputs.items():
        one, other = found.astype(np.float64), expected[name].astype(np.float64)
        if one.shape != other.shape:
            continue
        nan = int((np.isnan(one) & np.isnan(other)).sum())
        infinite = int((np.isinf(one) & (one == other)).sum())
        if nan or infinite:
            told.append(f"{nan} NaN and {infinite} infinite of {one.size} in output {name!r}")
        count += nan + infinite
    remark = f"numbers that are not finite in both answers prove little: {'; '.join(told)}" if told else ""
    return remark, count


def _error(found: Array, expected: Array) -> float:
    """Return the largest difference, relative to the largest number expected; infinity for NaN beside a number."""
    if found.shape != expected.shape:
        return float("inf")
    if not found.size:
        return 0.0
    one, other = found.astype(np.float64), expected.astype(np.float64)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    finite = np.abs(other[np.isfinite(other)])
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(one - other))
    worst = float(difference.max()) / max(float(finite.max()) if finite.size else 0.0, 1e-300)
    return worst if np.isfinite(worst) else float("inf")
