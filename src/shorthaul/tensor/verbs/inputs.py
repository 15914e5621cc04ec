"""What the verbs take as problem and as plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from shorthaul.core.cases import Case, Source, Workloads, comes_from
from shorthaul.core.document import suffix_of
from shorthaul.core.errors import InputError
from shorthaul.core.result import Result, Rows
from shorthaul.core.verbs import Plans
from shorthaul.tensor.formats.documents import (
    carried_document,
    load_plan,
    load_problem,
    plan_table,
    problem_from_document,
    save_plan,
)
from shorthaul.tensor.model import Problem
from shorthaul.tensor.networks.model import Network
from shorthaul.tensor.networks.plan import NetworkPlan
from shorthaul.tensor.options import AcceleratorOptions, MachineOptions
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.workloads.cases import CASES

#: Options of networks alone.
_OF_NETWORKS = frozenset({"machine", "dim", "inputs", "objective"})


class OnnxModel(Protocol):
    """An ``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes:  # noqa: N802 -- the name that ONNX gave it
        """Return the model as the bytes of a file."""
        ...


Workload: TypeAlias = (
    Problem | Network | Source[Problem | Network] | str | PathLike[str] | Mapping[str, object] | OnnxModel
)
PlanLike: TypeAlias = Plan | NetworkPlan | Result[Plan] | str | PathLike[str]


def _load(path: Path, data: bytes, options: object) -> Problem | Network:
    return _of_onnx(data, options, path) if suffix_of(path) == ".onnx" else load_problem(path, data)


def _convert(workload: Any, options: object) -> Problem | Network | None:
    if comes_from(workload, "onnx") and hasattr(workload, "SerializeToString"):
        return _of_onnx(workload.SerializeToString(), options)
    return problem_from_document(workload) if isinstance(workload, Mapping) else None


def _of_onnx(data: bytes, options: object, file: Path | None = None) -> Problem | Network:
    """Return the network of a model where the options name a machine, else the problem of the contest."""
    if isinstance(options, MachineOptions) and options.machine is not None:
        from shorthaul.tensor.networks.machine import load_machine
        from shorthaul.tensor.networks.translation.network import network_from_onnx

        most_row_bytes = load_machine(options.machine).most_row_bytes()
        return network_from_onnx(data, options.sizes(), file=file, most_row_bytes=most_row_bytes)
    from shorthaul.tensor.networks.problems import problem_from_onnx

    return problem_from_onnx(data, AcceleratorOptions().machine(), file=file)


def _load_plan(path: Path, problem: Problem | Network) -> Plan | NetworkPlan:
    if isinstance(problem, Network):
        from shorthaul.tensor.networks.documents import load_network_plan

        return load_network_plan(path, problem)
    return load_plan(path, problem)


def _plan_document(plan: Plan | NetworkPlan, problem: Problem | Network) -> Any:
    if isinstance(plan, NetworkPlan):
        from shorthaul.tensor.networks.documents import network_plan_document

        assert isinstance(problem, Network)
        return network_plan_document(plan, problem)
    return carried_document(plan)


def _save_plan(path: Path, plan: Plan | NetworkPlan, problem: Problem | Network) -> None:
    if isinstance(plan, NetworkPlan):
        assert isinstance(problem, Network)
        if path.suffix.lower() == ".onnx":
            from shorthaul.tensor.networks.execution.onnx_functions import save_functions

            save_functions(path, plan, problem)
        else:
            from shorthaul.tensor.networks.documents import save_network_plan

            save_network_plan(path, plan, problem)
    else:
        save_plan(path, plan)


def _plan_table(plan: Plan | NetworkPlan, problem: Problem | Network) -> Rows:
    if isinstance(plan, NetworkPlan):
        from shorthaul.tensor.networks.documents import network_plan_table

        assert isinstance(problem, Network)
        return network_plan_table(plan, problem)
    return plan_table(plan)


PROBLEMS: Workloads[Problem | Network] = Workloads(
    cast("type[Problem | Network]", Problem | Network),
    cast("Sequence[Case[Problem | Network]]", CASES),
    _load,
    "a Problem, a built-in case, the path of a contest's JSON file or an ONNX model, such JSON as text or dict, or an "
    "onnx.ModelProto (ONNX without a machine on the default one of 'shorthaul convert', in the contest's game)",
    _convert,
)
PLANS: Plans[Plan | NetworkPlan, Problem | Network] = Plans(
    cast("type[Plan | NetworkPlan]", Plan | NetworkPlan), _load_plan, _plan_document, _save_plan, _plan_table
)


def refuse_without(options: MachineOptions) -> None:
    """Raise :class:`InputError` for options of networks, where the workload is a problem of the contest."""
    for item in fields(options):
        value = getattr(options, item.name)
        if item.name in _OF_NETWORKS and value != item.default:
            raise InputError("goes with an ONNX model", place=f"--{item.name}", value=value, allowed="a file *.onnx")


def of_the_contest(problem: Problem | Network) -> Problem:
    """Return ``problem``; raises :class:`InputError` for a network, which this verb does not take."""
    if isinstance(problem, Network):
        raise InputError(
            "does not take networks", place="workload", value=problem.name, allowed="problems of the contest"
        )
    return problem
