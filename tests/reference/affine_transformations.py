"""Rewritings of C kernels that do not change the computation, or make copies of it."""

from __future__ import annotations

import re
from collections.abc import Callable

_ACCESS = re.compile(r"\b([A-Za-z_]\w*)((?:\[[^\[\]]*\])+)")
_LOCAL = re.compile(r"(?<![(\w])(?:double|float|int)\s+((?:[A-Za-z_]\w*[^;(){}]*));")


def _accesses(text: str, change: Callable[[list[str]], list[str]]) -> str:
    def changed(found: re.Match[str]) -> str:
        return found[1] + "".join(f"[{item}]" for item in change(re.findall(r"\[([^\[\]]*)\]", found[2])))

    return _ACCESS.sub(changed, text)


def _separated(text: str) -> list[str]:
    return [item.strip() for item in re.split(r",(?![^\[]*\])", text)]


def _parts(text: str) -> tuple[str, list[str], str]:
    """Return the function's name, its parameters and its body between the pragmas."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.search(r"void\s+(\w+)\s*\((.*?)\)\s*\{(.*?)#pragma scop(.*?)#pragma endscop", text, re.DOTALL)
    assert found is not None
    return found[1], _separated(found[2]), found[3] + found[4]


def _joined(name: str, parameters: list[str], body: str) -> str:
    return f"void {name}({', '.join(parameters)})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def in_copies(text: str, count: str = "COPIES") -> str:
    """Return the kernel in a loop of ``count`` iterations, every array and scalar of its own in each."""
    name, parameters, body = _parts(text)
    words: set[str] = set()
    made = ["int COPIES"]
    for item in parameters:
        kind, word, extents = re.fullmatch(r"(.*?)\s*(\w+)((?:\[[^\]]*\])*)", item).groups()  # type: ignore[union-attr]
        if extents or kind != "int":
            words.add(word)
            extents = f"[COPIES]{extents}"
        made.append(f"{kind} {word}{extents}")
    assigned: list[str] = []

    def local(found: re.Match[str]) -> str:
        kept = []
        for item in _separated(found[1]):
            declared, _, value = (part.strip() for part in item.partition("="))
            word = re.match(r"\w+", declared)[0]  # type: ignore[index]
            words.add(word)
            made.append(f"double {word}[COPIES]{declared[len(word) :]}")
            kept += [f"{word} = {value};"] if value else []
        assigned.extend(kept)
        return " ".join(kept)

    body = _LOCAL.sub(local, body)
    for word in words:
        body = re.sub(rf"\b{word}\b", f"{word}[copy]", body)
    return _joined(name, made, f"for (int copy = 0; copy < {count}; copy++) {{ {body} }}")


def once(text: str) -> str:
    """Return the kernel in a loop of one iteration."""
    return in_copies(text, "1")


def transposed(text: str) -> str:
    """Return the kernel with the subscripts of every array in the opposite order."""
    return _accesses(text, lambda items: items[::-1])


def moved(text: str) -> str:
    """Return the kernel with every element one place further on, in arrays that are larger."""
    name, parameters, body = _parts(text)
    larger = [_accesses(item, lambda items: [f"{one} + 2" for one in items]) for item in parameters]
    return _joined(name, larger, _accesses(body, lambda items: [f"{one} + 1" for one in items]))


def renamed(text: str) -> str:
    """Return the kernel with other names of arrays."""
    return re.sub(r"\b([A-Za-z]\w*)(?=\[)", r"other_\1", text)


def beside_another(text: str) -> str:
    """Return the kernel behind a loop that has nothing to do with it."""
    name, parameters, body = _parts(text)
    return _joined(name, [*parameters, "double apart[9]"], f"for (int q = 0; q < 9; q++) apart[q] = q; {body}")


def with_copied_results(text: str) -> str:
    """Return the kernel in which every plain assignment to an array goes through a copy."""
    name, parameters, body = _parts(text)
    at = 0

    def through(found: re.Match[str]) -> str:
        nonlocal at
        at += 1
        made.append(f"double {found[1]}_{at}{extents.get(found[1], '')}")
        return f"{{ {found[1]}_{at}{found[2]} = {found[3]}; {found[1]}{found[2]} = {found[1]}_{at}{found[2]}; }}"

    extents = {match[1]: match[2] for item in parameters for match in [_ACCESS.search(item)] if match}
    made = list(parameters)
    names = "|".join(extents)
    body = re.sub(rf"\b({names})((?:\[[^\[\]]*\])+) = ([^;=]*(?:[<>=]=[^;=]*)*);", through, body)
    return _joined(name, made, body)


SAME = {item.__name__: item for item in (once, transposed, moved, renamed, beside_another, with_copied_results)}
