"""What the verbs take as problem and as plan."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from shorthaul.core.cases import Source, Workloads, comes_from
from shorthaul.core.result import Result
from shorthaul.core.verbs import Plans
from shorthaul.tensor.formats.documents import (
    carried_document,
    load_plan,
    load_problem,
    problem_from_document,
    save_plan,
)
from shorthaul.tensor.formats.onnx_model import AcceleratorOptions, problem_from_onnx
from shorthaul.tensor.model import Problem
from shorthaul.tensor.plan import Plan
from shorthaul.tensor.workloads.cases import CASES


class OnnxModel(Protocol):
    """An ``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes:  # noqa: N802 -- the name that ONNX gave it
        """Return the model as the bytes of a file."""
        ...


Workload: TypeAlias = Problem | Source[Problem] | str | PathLike[str] | Mapping[str, object] | OnnxModel
PlanLike: TypeAlias = Plan | Result[Plan] | str | PathLike[str]


def _load(path: Path, data: bytes, _options: object) -> Problem:
    if path.suffix.lower() == ".onnx":
        return problem_from_onnx(data, AcceleratorOptions().machine(), file=path)
    return load_problem(path, data)


def _convert(workload: Any, _options: object) -> Problem | None:
    if comes_from(workload, "onnx") and hasattr(workload, "SerializeToString"):
        return problem_from_onnx(workload.SerializeToString(), AcceleratorOptions().machine())
    return problem_from_document(workload) if isinstance(workload, Mapping) else None


PROBLEMS = Workloads(
    Problem,
    CASES,
    _load,
    "a Problem, a built-in case, the path of a contest's JSON file or an ONNX model, such JSON as text or dict, or an "
    "onnx.ModelProto (ONNX on the default machine of 'shorthaul convert')",
    _convert,
)
PLANS: Plans[Plan, Problem] = Plans(
    Plan,
    load_plan,
    lambda plan, problem: carried_document(plan),  # noqa: ARG005
    lambda path, plan, problem: save_plan(path, plan),  # noqa: ARG005
)
