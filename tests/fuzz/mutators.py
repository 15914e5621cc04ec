"""Mutations of files that keep most of their structure: bytes, tokens of text, JSON values, arrays, ONNX models."""

from __future__ import annotations

import copy
import functools
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

Mutator = Callable[[bytes, Random], bytes]

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, -1e308, 1e-320, "", "x", "\u0000", "../x", "/dev/zero",
    "a" * 300, [], {}, [[]], [None], {"": 0}, {"kind": []}, [[[[[[[[1]]]]]]]],
)  # fmt: skip
TOKENS = (
    "0", "-1", "1", "99999999999999999999", "1e999", "nan", "-", "(", ")", "[", "]", "{", "}", ",", ";", ":", '"', "'", "\\",
    "/*", "//", "%", "#", "<", ">", "&", "&amp;", "\n", "\t", "\u00e9", "\u2028", "->", "=", "i", "N", "for", "int", "1/0", "**",
)  # fmt: skip


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """Flip, cut, insert or repeat some bytes."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at, kind = random.randrange(len(result) + 1), random.randrange(5)
        if kind == 0 and at < len(result):
            result[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            del result[at:]
        elif kind == 2:
            del result[at : at + random.randrange(1, 9)]
        elif kind == 3:
            result[at:at] = random.randbytes(random.randrange(1, 9))
        else:
            result[at:at] = result[at : at + random.randrange(1, 65)]
    return bytes(result)


def mutate_text(data: bytes, random: Random) -> bytes:
    """Replace, delete, repeat or swap tokens and lines."""
    parts = re.findall(r"\w+|\s+|[^\w\s]", data.decode("utf-8", "replace"))
    for _ in range(random.choice((1, 1, 2, 5))):
        if not parts:
            break
        at, other, kind = random.randrange(len(parts)), random.randrange(len(parts)), random.randrange(5)
        if kind == 0:
            parts[at] = random.choice(TOKENS)
        elif kind == 1:
            parts[at] = parts[other]
        elif kind == 2:
            del parts[at : at + random.choice((1, 1, 3, 20))]
        elif kind == 3:
            parts[at:at] = parts[other : other + random.choice((1, 5, 50))]
        else:
            parts[at], parts[other] = parts[other], parts[at]
    return "".join(parts).encode("utf-8", "surrogatepass")


def mutate_json(data: bytes, random: Random) -> bytes:
    """Change values, keys and lengths at random places of a document; now and then its text."""
    if random.random() < 0.1:
        return mutate_text(data, random)
    root = {"root": json.loads(data)}
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        _mutate_at(root, random)
    text = json.dumps(root.get("root"), ensure_ascii=random.random() < 0.5)
    return text.replace('"\\u0000"', '"\\ud800"').encode("utf-8", "surrogatepass")


def _mutate_at(root: Any, random: Random) -> None:
    holder, key = root, "root"
    while isinstance(holder[key], dict | list) and holder[key] and random.random() < 0.85:
        holder = holder[key]
        key = random.choice(list(holder)) if isinstance(holder, dict) else random.randrange(len(holder))
    value, kind = holder[key], random.randrange(7)
    if kind == 0 and holder is not root:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    elif kind == 1 and isinstance(holder, dict) and holder is not root:
        holder[f"{key}x"] = holder.pop(key)
    elif kind == 2 and isinstance(value, int | float):
        holder[key] = random.choice((-value, value + 1, value * 2, value - 1, float(value), str(value)))
    elif kind == 3 and isinstance(holder, list):
        holder[key] = copy.deepcopy(random.choice(holder))
    elif kind == 4 and isinstance(value, list):
        random.shuffle(value)
    else:
        holder[key] = copy.deepcopy(random.choice(VALUES))


@functools.lru_cache(32)
def _members(data: bytes) -> Mapping[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def mutate_archive(data: bytes, random: Random) -> bytes:
    """Change type, shape and values of arrays of an ``.npz`` file, or drop and rename them; now and then its bytes."""
    if random.random() < 0.3:
        return mutate_bytes(data, random)
    members = dict(_members(data))
    name = random.choice(list(members))
    kind = random.randrange(8)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[f"x{name}"] = members.pop(name)
    elif kind == 2:
        members[name] = members[random.choice(list(members))]
    else:
        members[name] = _mutated_array(members[name], random)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return target.getvalue()


def mutate_array(data: bytes, random: Random) -> bytes:
    """Change type, shape and values of an ``.npy`` file; now and then its bytes."""
    if random.random() < 0.4:
        return mutate_bytes(data, random)
    return _mutated_array(data, random)


def _mutated_array(data: bytes, random: Random) -> bytes:
    target = io.BytesIO()
    np.save(target, _mutate_array(np.load(io.BytesIO(data)), random))
    return target.getvalue()


def _mutate_array(array: Any, random: Random) -> Any:
    kind = random.randrange(8)
    if kind == 0:
        kinds = ("int8", "uint64", "float32", "float64", "complex64", "bool", "U3", "S2", "M8[s]", ">i4")
        with np.errstate(all="ignore"):
            try:
                return array.astype(random.choice(kinds))
            except (ValueError, TypeError):
                return np.zeros(3)
    if kind == 1:
        return array.reshape(-1)[: random.randrange(array.size + 1)]
    if kind == 2:
        return array[None] if random.random() < 0.5 else array.reshape(-1)
    if kind == 3:
        return np.concatenate([array.reshape(-1)] * 2)
    if kind == 4 or not array.size or array.dtype.kind not in "iuf":
        return np.zeros(random.choice(((), (0,), (1,), (2, 2))), array.dtype)
    changed = array.copy().reshape(-1)
    worst = (np.nan, np.inf, -1.0, 1e300) if array.dtype.kind == "f" else (-1, 0, 1, 2**30, len(changed), -(2**31))
    with np.errstate(all="ignore"):
        changed[random.randrange(len(changed))] = np.array(random.choice(worst)).astype(array.dtype)
    return changed.reshape(array.shape)


def mutate_model(data: bytes, random: Random) -> bytes:
    """Change nodes, shapes and values of an ONNX model; now and then its bytes."""
    if random.random() < 0.3:
        return mutate_bytes(data, random)
    import onnx

    model = onnx.load_model_from_string(data)
    graph, kind = model.graph, random.randrange(9)
    node = random.choice(graph.node)
    if kind == 0:
        del node.input[:]
    elif kind == 1:
        del node.output[:]
    elif kind == 2:
        node.op_type = random.choice(("MatMul", "Gemm", "Conv", "Relu", "Add", "Reshape", "Softmax", "", "x"))
    elif kind == 3 and node.input:
        node.input[random.randrange(len(node.input))] = random.choice(("", "missing", graph.input[0].name))
    elif kind == 4:
        graph.node.append(node)
    elif kind == 5:
        graph.node.remove(node)
    elif kind == 6:  # a function with the name of an operator, which may call itself
        function = model.functions.add()
        function.name = node.op_type
        function.node.append(random.choice(graph.node))
    else:
        shape = random.choice([*graph.input, *graph.output]).type.tensor_type.shape
        if shape.dim:
            random.choice(shape.dim).dim_value = random.choice((-1, 0, 1, 2**40, 2**62))
    return model.SerializeToString()
