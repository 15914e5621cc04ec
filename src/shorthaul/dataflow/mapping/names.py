"""Names of the network as names, comments and texts of C."""

from __future__ import annotations

import re
from collections.abc import Iterable


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return for every name what stands for it after a prefix: letters, digits and ``_``, no two alike in any case.

    >>> identifiers(["a#1", "a-1", "A_1", "b"])
    {'a#1': 'a_1', 'a-1': 'a_1_2', 'A_1': 'A_1_3', 'b': 'b'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        made, number = plain, 1
        while made.lower() in taken:  # files on some systems are the same then
            number += 1
            made = f"{plain}_{number}"
        taken.add(made.lower())
        found[name] = made
    return found


def comment(text: str) -> str:
    """Return ``text`` as it may stand in a comment.

    >>> comment("a*/b")
    'a* /b'
    """
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown.replace("*/", "* /").replace("/*", "/ *")


def literal(text: str) -> str:
    r"""Return ``text`` as a string literal, all but plain letters as octal numbers.

    >>> print(literal('say "ü"'))
    "say \042\303\274\042"
    """
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{plain}"'
