"""A short hand for ONNX models: one method per layer, weights without elements unless they are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A model while it is written. Every method returns the name of the tensor that it makes."""

    def __init__(self, name: str, *, opset: int = 18, filled: bool = False, kind: int = TensorProto.FLOAT) -> None:
        self.name, self.opset, self.filled, self.kind = name, opset, filled, kind
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.weights: list[Any] = []
        self.random = np.random.default_rng(0)
        self.count = 0

    def input(self, *shape: int | str, name: str = "", kind: int | None = None) -> str:
        name = name or f"input{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, self.kind if kind is None else kind, shape))
        return name

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        if self.filled:
            dtype = helper.tensor_dtype_to_np_dtype(self.kind)
            scale = 1 / math.sqrt(max(1, math.prod(shape[1:]) if len(shape) > 2 else shape[0]))
            self.weights.append(
                numpy_helper.from_array((self.random.standard_normal(shape) * scale).astype(dtype), name)
            )
        else:
            tensor = TensorProto(name=name, data_type=self.kind)
            tensor.dims.extend(shape)
            self.weights.append(tensor)
        return name

    def constant(self, value: Any, kind: type = np.int64) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def op(self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        self.count += 1
        names = [f"{kind.lower()}{self.count}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, f"{kind}_{self.count}", domain=domain, **attributes)
        )
        return names[0] if outputs == 1 else names

    def number(self, value: float) -> str:
        return self.constant(value, helper.tensor_dtype_to_np_dtype(self.kind))

    def conv(self, x: str, c: int, m: int, k: int | Sequence[int] = 3, s: int = 1, *, g: int = 1, d: int = 1,
             pad: int | None = None, bias: bool = False, act: str = "", norm: bool = False, rank: int = 2) -> str:  # fmt: skip
        ks = [k] * rank if isinstance(k, int) else list(k)
        pads = [(size - 1) * d // 2 if pad is None else pad for size in ks]
        extra = [self.weight(m)] if bias else []
        y = self.op("Conv", x, self.weight(m, c // g, *ks), *extra, kernel_shape=ks, strides=[s] * rank, group=g,
                    dilations=[d] * rank, pads=[*pads, *pads])  # fmt: skip
        if norm:
            y = self.op("BatchNormalization", y, *(self.weight(m) for _ in range(4)))
        return self.act(y, act)

    def act(self, x: str, kind: str) -> str:
        if kind == "SiLU":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if kind == "GeluErf":
            inner = self.op("Add", self.op("Erf", self.op("Div", x, self.number(math.sqrt(2)))), self.number(1))
            return self.op("Mul", self.op("Mul", x, inner), self.number(0.5))
        return self.op(kind, x) if kind else x

    def linear(self, x: str, c: int, m: int, *, bias: bool = True, act: str = "") -> str:
        y = self.op("MatMul", x, self.weight(c, m))
        return self.act(self.op("Add", y, self.weight(m)) if bias else y, act)

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(shape))

    def transpose(self, x: str, *order: int) -> str:
        return self.op("Transpose", x, perm=order)

    def layernorm(self, x: str, c: int) -> str:
        return self.op("LayerNormalization", x, self.weight(c), self.weight(c), axis=-1)

    def rmsnorm(self, x: str, c: int) -> str:
        mean = self.op("ReduceMean", self.op("Pow", x, self.number(2)), self.constant([-1]), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.number(1e-5)))
        return self.op("Mul", self.op("Div", x, root), self.weight(c))

    def heads(self, x: str, b: int, s: int, h: int, d: int) -> str:
        return self.transpose(self.reshape(x, b, s, h, d), 0, 2, 1, 3)

    def attend(self, q: str, k: str, v: str, d: int, mask: str = "") -> str:
        """Attention over tensors (batch, heads, places, d)."""
        scores = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = self.op("Div", scores, self.number(math.sqrt(d)))
        scores = self.op("Add", scores, mask) if mask else scores
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def attention(self, x: str, b: int, s: int, c: int, h: int, *, source: str = "", t: int = 0, cs: int = 0,
                  mask: str = "") -> str:  # fmt: skip
        source, t, cs = source or x, t or s, cs or c
        q = self.heads(self.linear(x, c, c), b, s, h, c // h)
        k = self.heads(self.linear(source, cs, c), b, t, h, c // h)
        v = self.heads(self.linear(source, cs, c), b, t, h, c // h)
        y = self.transpose(self.attend(q, k, v, c // h, mask), 0, 2, 1, 3)
        return self.linear(self.reshape(y, b, s, c), c, c)

    def add(self, x: str, y: str) -> str:
        return self.op("Add", x, y)

    def block(self, x: str, b: int, s: int, c: int, h: int, f: int, *, act: str = "GeluErf", first: bool = True,
              mask: str = "") -> str:  # fmt: skip
        """A transformer block, normalised first or last."""
        if first:
            x = self.add(x, self.attention(self.layernorm(x, c), b, s, c, h, mask=mask))
            return self.add(x, self.linear(self.linear(self.layernorm(x, c), c, f, act=act), f, c))
        x = self.layernorm(self.add(x, self.attention(x, b, s, c, h, mask=mask)), c)
        return self.layernorm(self.add(x, self.linear(self.linear(x, c, f, act=act), f, c)), c)

    def model(self, *outputs: str) -> Any:
        infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.weights)
        others = sorted({"com.microsoft", *(node.domain for node in self.nodes)} - {""})
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in others)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 10
        return onnx.shape_inference.infer_shapes(model) if self.filled else model
