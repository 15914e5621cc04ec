"""YAML of machine files: a few lines whose aliases stand for one another must not become gigabytes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import yaml  # type: ignore[import-untyped]

from shorthaul.core.errors import InputError

#: Values that all aliases of a text may stand for together.
_MOST_REPEATED: Final = 1_000_000


def decode_yaml(text: str, may_repeat: Callable[[Any], bool] = lambda _: False) -> Any:
    """Return what YAML text says; raises :class:`InputError`.

    A key that is given twice is a fault, unless the document ``may_repeat`` keys: then the last one counts.

    >>> decode_yaml("{a: &a [1, 2], b: *a}")
    {'a': [1, 2], 'b': [1, 2]}
    """
    try:
        if "*" in text:
            with suppress(yaml.YAMLError):  # said in other words by what decodes it
                _expect_few_repeated(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        fault = _key_given_twice(node)
        try:
            value = None if node is None else loader.construct_document(node)
        except (TypeError, LookupError, AttributeError):  # PyYAML's own
            raise ValueError("a text is not what the tag before it says, as in !!bool x") from None
        if fault is not None and not may_repeat(value):
            raise fault
        return value
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = " ".join(str(error).split())
        is_template = "{%" in text or "{{" in text
        cure = "it looks like a template: fill it in before" if is_template else ""
        raise InputError(f"is not YAML: {problem}", allowed="a machine file, see docs/machines.md", cure=cure) from None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loads plain values; a mapping with a tag, as accelforge has them, is one with the tag as ``!``."""


def _tagged(loader: Any, tag: str, node: Any) -> dict[Any, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, f"unknown tag !{tag}", node.start_mark)
    return {"!": tag, **loader.construct_mapping(node, deep=True)}


_Loader.add_multi_constructor("!", _tagged)


def _key_given_twice(top: Any) -> yaml.YAMLError | None:
    """Return an error at a key that its mapping already has: the loader takes the last one."""
    ahead, seen = [top], set()
    while ahead:
        node = ahead.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if not isinstance(node, yaml.MappingNode):
            ahead += node.value
            continue
        keys = set()
        for key, value in node.value:
            ahead += [key, value]
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in keys:
                text = f"the key {key.value!r} is given twice"
                return yaml.constructor.ConstructorError(None, None, text, key.start_mark)
            keys.add((key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key))
    return None


def _expect_few_repeated(text: str) -> None:
    """Raise ValueError where aliases, those of merged keys too, stand for too much together."""
    sizes: dict[str, int] = {}
    within: list[tuple[str | None, int]] = [(None, 0)]
    repeated = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            within.append((event.anchor, 1))
            continue
        if isinstance(event, yaml.AliasEvent):
            anchor, size = None, sizes.get(event.anchor, 1)
            repeated += size
            if repeated > _MOST_REPEATED:
                raise ValueError(f"its aliases stand for more than {_MOST_REPEATED} values")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = within.pop()
        else:
            anchor, size = getattr(event, "anchor", None), 1
        if anchor is not None:
            sizes[anchor] = size
        within[-1] = within[-1][0], within[-1][1] + size
