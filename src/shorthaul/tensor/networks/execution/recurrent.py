"""RNN, GRU and LSTM as ONNX defines them, of which the reference knows no lengths, limits or other activations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import helper
from onnx.reference.op_run import OpRun

Array = npt.NDArray[Any]
State = tuple[Array, ...]
#: What a place makes of its input and the state before.
Step = Callable[[Array, State], State]
Activation = Callable[[Array], Array]


def _exponential(x: Array, alpha: float) -> Array:
    return np.asarray(np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x))


#: Activations, and what their numbers ``alpha`` and ``beta`` are where none are given.
_ACTIVATIONS: Final[dict[str, tuple[Callable[..., Array], tuple[float, ...]]]] = {
    "affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "elu": (_exponential, (1.0,)),
    "hardsigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
    "leakyrelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), (0.01,)),
    "relu": (lambda x: np.maximum(x, 0), ()),
    "scaledtanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), ()),
    "softplus": (lambda x: np.logaddexp(x, 0), ()),
    "softsign": (lambda x: x / (1 + abs(x)), ()),
    "tanh": (np.tanh, ()),
    "thresholdedrelu": (lambda x, alpha: np.where(x > alpha, x, 0), (1.0,)),
}


class _Recurrent(OpRun):  # type: ignore[misc]
    """What the three have in common: directions, lengths, and activations by name."""

    gates: int
    states = 1
    usual: tuple[str, ...]

    def _run(self, x: Array, w: Array, r: Array, *given: Array | None, **attributes: Any) -> State:
        own = {item.name: helper.get_attribute_value(item) for item in self.onnx_node.attribute} | attributes
        rest: list[Array | None] = [*given, *(None,) * 5]
        bias, lengths, begins, peepholes = rest[0], rest[1], rest[2 : 2 + self.states], rest[2 + self.states]
        by_sample, (count, _, size) = bool(own.get("layout")), r.shape
        x = x.swapaxes(0, 1) if by_sample else x
        lengths = np.full(x.shape[1], len(x)) if lengths is None else lengths.astype(np.int64)
        zeros = np.zeros((count, x.shape[1], size))
        state = [zeros if part is None else part.swapaxes(0, 1) if by_sample else part for part in begins]
        added: Array = np.zeros((count, 2 * self.gates * size)) if bias is None else bias
        by_cell: Array = np.zeros((count, 3 * size)) if peepholes is None else peepholes
        activations, made = self._activations(own, count), []
        for number in range(count):
            weights = (w[number].T, r[number].T, added[number].reshape(2, -1), by_cell[number].reshape(3, -1))
            functions = activations[number * len(self.usual) :][: len(self.usual)]
            turned = number == 1 or _text(own.get("direction", "forward")) == "reverse"
            begin = tuple(part[number] for part in state)
            made.append(_passed(self.step(weights, functions, own), x, begin, lengths, turned=turned))
        places = np.stack([one for one, _ in made], 1)
        last = [np.stack(part) for part in zip(*(end for _, end in made), strict=True)]
        if by_sample:
            places, last = places.transpose(2, 0, 1, 3), [part.swapaxes(0, 1) for part in last]
        return tuple(part.astype(x.dtype) for part in (places, *last)[: len(self.onnx_node.output)])

    def _activations(self, own: dict[str, Any], count: int) -> list[Activation]:
        """Return the activations of all directions: each takes what it needs of the numbers given, in order."""
        names = own.get("activations") or self.usual * count
        keys = ("activation_alpha", "activation_beta")
        numbers: tuple[Iterator[float], ...] = tuple(iter(own.get(key) or ()) for key in keys)
        found: list[Activation] = []
        for name in names:
            function, usual = _ACTIVATIONS[_text(name).lower()]
            found.append(_with(function, [next(one, default) for one, default in zip(numbers, usual, strict=False)]))
        return found

    @abstractmethod
    def step(self, weights: Sequence[Array], functions: Sequence[Activation], own: dict[str, Any]) -> Step:
        """Return what a place computes."""


def _with(function: Callable[..., Array], numbers: Sequence[float]) -> Activation:
    return lambda x: np.asarray(function(x, *numbers))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _limited(x: Array, own: dict[str, Any]) -> Array:
    limit = own.get("clip")
    return x if not limit else np.clip(x, -limit, limit)


def _passed(step: Step, x: Array, state: State, lengths: Array, *, turned: bool) -> tuple[Array, State]:
    """Return the state at every place, 0 behind the end of a sample, and the last one."""
    places, samples = np.arange(len(x))[:, None], np.arange(x.shape[1])
    order = np.where(turned & (places < lengths), lengths - 1 - places, places + 0 * lengths)
    made = np.zeros((len(x), *state[0].shape))
    for place, row in enumerate(order):
        goes_on = (place < lengths)[:, None]
        new = step(x[row, samples], state)
        state = tuple(np.where(goes_on, one, other) for one, other in zip(new, state, strict=True))
        made[row, samples] = np.where(goes_on, state[0], 0)
    return made, state


class RNN(_Recurrent):
    """One gate."""

    gates, usual = 1, ("Tanh",)

    def step(self, weights: Sequence[Array], functions: Sequence[Activation], own: dict[str, Any]) -> Step:
        """Return what a place computes."""
        w, r, bias, _ = weights
        return lambda x, state: (functions[0](_limited(x @ w + state[0] @ r + bias.sum(0), own)),)


class GRU(_Recurrent):
    """Two gates, for what is kept and what is read of the state, and the new state."""

    gates, usual = 3, ("Sigmoid", "Tanh")

    def step(self, weights: Sequence[Array], functions: Sequence[Activation], own: dict[str, Any]) -> Step:
        """Return what a place computes."""
        w, r, (bias, inner), _ = weights
        size = len(r)

        def made(x: Array, state: State) -> State:
            (before,), asked = state, x @ w + bias
            gates = _limited(asked[:, : 2 * size] + before @ r[:, : 2 * size] + inner[: 2 * size], own)
            keep, read = np.split(functions[0](gates), 2, -1)
            if own.get("linear_before_reset"):
                remembered = read * (before @ r[:, 2 * size :] + inner[2 * size :])
            else:
                remembered = (read * before) @ r[:, 2 * size :] + inner[2 * size :]
            new = functions[1](_limited(asked[:, 2 * size :] + remembered, own))
            return ((1 - keep) * new + keep * before,)

        return made


class LSTM(_Recurrent):
    """Gates for what comes in, goes out and is forgotten, and a cell."""

    gates, states, usual = 4, 2, ("Sigmoid", "Tanh", "Tanh")

    def step(self, weights: Sequence[Array], functions: Sequence[Activation], own: dict[str, Any]) -> Step:
        """Return what a place computes."""
        w, r, bias, (into, out, forget) = weights

        def made(x: Array, state: State) -> State:
            before, cell = state
            i, o, f, c = np.split(x @ w + before @ r + bias.sum(0), 4, -1)
            come = functions[0](_limited(i + into * cell, own))
            stay = 1 - come if own.get("input_forget") else functions[0](_limited(f + forget * cell, own))
            cell = stay * cell + come * functions[1](_limited(c, own))
            return functions[0](_limited(o + out * cell, own)) * functions[2](cell), cell

        return made
