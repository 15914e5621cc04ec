"""Experts as onnxruntime has them: each token goes through the few that it is sent to."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]


def tanh_gelu(x: Array) -> Array:
    """Return x, less the more negative it is, by a hyperbolic tangent."""
    return np.asarray(x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


_ACTIVATIONS: Final = {
    "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": tanh_gelu,
}


def experts(
    x: Array, scores: Array, weights: list[Array | None], biases: list[Array | None], attributes: dict[str, Any]
) -> Array:
    """Return the mean of what the best ``k`` experts of each token make of it, as the shares of their scores say.

    ``weights`` and ``biases`` are those of the layer in, the layer out, and perhaps of a factor of what is inside, by
    expert, output and input.
    """
    rows = x.reshape(-1, x.shape[-1])
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = shares / shares.sum(-1, keepdims=True)
    chosen = np.argsort(-scores, axis=-1, kind="stable")[:, : int(attributes.get("k", 1))]
    parts = np.take_along_axis(shares, chosen, -1)
    if attributes.get("normalize_routing_weights", 0):
        parts = parts / parts.sum(-1, keepdims=True)
    made = np.zeros((len(rows), weights[1].shape[1] if weights[1] is not None else 0))
    for expert in np.unique(chosen):
        tokens, slots = np.nonzero(chosen == expert)

        def layer(number: int, values: Array, expert: int = expert) -> Array:
            weight, bias = weights[number], biases[number]
            assert weight is not None
            return np.asarray(values @ weight[expert].T + (0 if bias is None else bias[expert]))

        inside = _inside(layer(0, rows[tokens]), attributes)
        if weights[2] is not None:
            inside = inside * layer(2, rows[tokens])
        made[tokens] += parts[tokens, slots, None] * layer(1, inside)
    return made.reshape(x.shape)


def _inside(values: Array, attributes: dict[str, Any]) -> Array:
    kind = attributes.get("activation_type", "relu")
    if kind != "swiglu":
        return np.asarray(_ACTIVATIONS[kind](values))
    fusion, limit = attributes.get("swiglu_fusion", 0), attributes.get("swiglu_limit")
    gate, linear = np.split(values, 2, -1) if fusion == 2 else (values[..., 0::2], values[..., 1::2])
    if limit is not None:
        gate, linear = np.minimum(gate, limit), np.clip(linear, -limit, limit)
    share = 1 / (1 + np.exp(-attributes.get("activation_alpha", 1.0) * gate))
    return np.asarray(gate * share * (linear + attributes.get("activation_beta", 0.0)))


class MoE(OpRun):  # type: ignore[misc]
    """Experts whose weights are numbers."""

    op_domain = "com.microsoft"

    def _run(self, x: Array, scores: Array, *given: Array | None, **attributes: Any) -> tuple[Array, ...]:
        found = [*given, *[None] * 6]
        return (experts(x, scores, found[0:6:2], found[1:6:2], self._all(attributes)),)

    def _all(self, attributes: dict[str, Any]) -> dict[str, Any]:
        own = {item.name: item for item in self.onnx_node.attribute}
        return {name: getattr(self, name) for name in own if hasattr(self, name)} | attributes


class QMoE(MoE):
    """Experts whose weights are integers of few bits, with a scale, perhaps a zero, by output or block of inputs."""

    def _run(self, x: Array, scores: Array, *given: Array | None, **attributes: Any) -> tuple[Array, ...]:
        found, slots = [*given, *[None] * 12], self._all(attributes)
        bits = int(slots.get("expert_weight_bits", 4))
        weights = [_numbers(found[3 * at], found[3 * at + 1], found[9 + at], bits) for at in range(3)]
        return (experts(x, scores, weights, found[2:9:3], slots),)


def _numbers(packed: Array | None, scales: Array | None, zeros: Array | None, bits: int) -> Array | None:
    """Return the numbers that packed integers stand for; zeros are packed as they are, along their last axis."""
    if packed is None or scales is None:
        return None
    values, by_block = unpacked(packed, bits), scales.reshape(*scales.shape[:2], -1)
    times = values.shape[2] // by_block.shape[2]
    if zeros is None:
        values = values - 2 ** (bits - 1)
    else:
        alike = unpacked(zeros, bits)
        values = values - np.repeat(alike[..., None] if zeros.ndim == 2 else alike[..., : by_block.shape[2]], times, -1)
    return np.asarray(values * np.repeat(by_block, times, -1))


def unpacked(packed: Array, bits: int) -> Array:
    """Return integers of few bits, of which each of those given holds several along the last axis."""
    several = packed.astype(np.int64)[..., None] >> (np.arange(8 // bits) * bits) & (2**bits - 1)
    return np.asarray(several.reshape(*packed.shape[:-1], -1))
