"""Elements of SDF3 files: read with the place in every message."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Collection, Container

from shorthaul.core.errors import ABSENT, InputError, nearest_name

#: The types of graphs that are read; the second is cyclo-static: rates and times are lists, an entry per phase.
TYPES = ("sdf", "csdf")


def parse(text: str) -> ET.Element:
    """Return the root of an SDF3 file, tags without namespaces; raises :class:`InputError` for anything else."""
    if "<!ENTITY" in text:
        raise InputError("declares entities, which SDF3 files have no use for", cure="remove the DOCTYPE")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        line, column = error.position
        raise InputError(
            f"is not XML: {error.msg.partition(':')[0]}", place=f"line {line} column {column}",
            allowed="an SDF3 file, whole, with every element closed", cure="correct this line, or write the file anew",
        ) from None  # fmt: skip
    for element in root.iter():  # namespaces carry no meaning here
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "sdf3":
        raise InputError(
            "is not an SDF3 file", place="root element", value=root.tag, allowed="sdf3",
            cure="give a file that SDF3 wrote, or an application document (JSON)",
        )  # fmt: skip
    kind = root.get("type", "sdf")
    if kind not in TYPES:
        raise InputError(
            "is an SDF3 graph of another type", place="sdf3", value=kind, allowed=", ".join(TYPES),
            cure="give the graph of one scenario: rates and times that repeat from the start",
        )  # fmt: skip
    return root


def only(parent: ET.Element, tag: str, place: str) -> ET.Element:
    """Return the one element of this tag; raises :class:`InputError` if there is none, or several."""
    found = parent.findall(tag)
    if not found:
        other = f"; the type of a file is one of {', '.join(TYPES)}" if parent.tag == "applicationGraph" else ""
        raise InputError(
            f"has no element {tag}", place=place, value=", ".join(child.tag for child in parent) or ABSENT,
            allowed=f"one <{tag}>", cure=f"add it{other}",
        )  # fmt: skip
    if len(found) > 1:
        raise InputError(
            f"holds several elements {tag}", place=place, value=", ".join(child.get("name", "?") for child in found),
            allowed="one", cure="keep one per file",
        )  # fmt: skip
    return found[0]


def new(name: str, known: Container[str], place: str) -> str:
    """Return a name; raises :class:`InputError`, at ``place`` and the name, if it is known already."""
    if name in known:
        raise InputError(
            "is given twice", place=f"{place} {name}", value=name, allowed="one of each name",
            cure="rename or remove one of the two",
        )  # fmt: skip
    return name


def required(element: ET.Element, attribute: str) -> str:
    """Return an attribute; raises :class:`InputError` if it is missing or empty."""
    value = element.get(attribute)
    if not value:
        named = " ".join(f'{key}="{other}"' for key, other in element.attrib.items())
        raise InputError(
            f"lacks the attribute {attribute!r}", place=f"<{element.tag} {named}>".replace(" >", ">"),
            cure=f'write <{element.tag} {attribute}="..."',
        )  # fmt: skip
    return value


def integer(text: str, place: str, *, least: int, most: int) -> int:
    """Return a whole number within a range; raises :class:`InputError`."""
    allowed = f"integers from {least} to {most}"
    if re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) is None:
        raise InputError(
            "is not an integer", place=place, value=text, allowed=allowed, cure="write one whole number, in digits"
        )
    digits = text.strip().lstrip("+-").lstrip("0") or "0"
    sign = -1 if text.strip().startswith("-") else 1
    if len(digits) > len(str(most)) or not least <= sign * int(digits) <= most:
        raise InputError(
            "is out of range", place=place, value=text.strip(), allowed=allowed, cure="write a number in that range"
        )
    return sign * int(digits)


def known(name: str, names: Collection[str], place: str) -> None:
    """Raise :class:`InputError` if a name is none of these."""
    if name not in names:
        raise InputError(
            "names something that does not exist", place=place, value=name, nearest=nearest_name(name, names),
            allowed=", ".join([*names][:12]) or "nothing: there is none", cure="spell it as where it is declared",
        )  # fmt: skip
