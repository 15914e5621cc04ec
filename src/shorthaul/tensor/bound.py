"""Lower bounds on the latency of every schedule."""

from __future__ import annotations

from shorthaul.core.amounts import Bound
from shorthaul.tensor.model import Problem, Rules


def lower_bound(problem: Problem, rules: Rules) -> Bound:
    """Return the larger of the time all compute takes unpadded and that of moving graph inputs and outputs once."""
    machine = problem.machine
    native = machine.native_width * machine.native_height
    compute = sum(operator.base_cost * problem.tensors[operator.output].size / native for operator in problem.operators)
    loaded = [tensor for tensor in problem.graph_inputs if problem.consumers[tensor]]
    stored = [tensor for tensor in problem.graph_outputs if problem.producer[tensor] is not None]
    traffic = sum(problem.tensors[tensor].size for tensor in [*loaded, *stored]) / machine.bandwidth
    method, value = max([("boundary traffic", traffic), ("compute", compute)], key=lambda pair: pair[1])
    proof = (
        f"Under the rules '{rules.name}' every operator runs at least once, {compute:.12g} of compute without padding; "
        f"every graph input is loaded and every graph output stored, {traffic:.12g} at this bandwidth. No step takes "
        "less than either of its shares."
    )
    return Bound("latency", value, method, proof, {"compute": compute, "boundary_traffic": traffic})
