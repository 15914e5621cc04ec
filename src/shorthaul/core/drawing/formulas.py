"""Formulas: MathML of a document, made safe for a page."""

from __future__ import annotations

from xml.etree import ElementTree as ET

#: Elements of MathML that formulas are made of; a document may come from anybody, so attributes are left out too.
_MATH = frozenset(
    ("mrow", "mi", "mn", "mo", "mtext", "mfrac", "msqrt", "mroot", "msup", "msub", "msubsup", "munder", "mover",
     "mtable", "mtr", "mtd")
)  # fmt: skip


#: Characters that SymPy writes by names that XML does not know; a dot tells the product N·M from the name NM.
_NAMED = {"&InvisibleTimes;": "\u22c5", "&ExponentialE;": "e"}


def _sign(text: str) -> ET.Element:
    sign = ET.Element("mo")
    sign.text = text
    return sign


def typeset(formula: str) -> str:
    """Return MathML as a page or notebook shows it; raises :class:`ValueError` if anything else stands in it."""
    try:
        for name, character in _NAMED.items():
            formula = formula.replace(name, character)
        root = ET.fromstring(f"<math>{formula}</math>")
    except ET.ParseError as error:
        raise ValueError(f"a formula is no MathML: {error}") from None
    for fenced in list(root.iter("mfenced")):  # of SymPy before 1.14; browsers draw it without its fences
        parts = [part for item in fenced for part in (_sign(","), item)]
        fenced.tag, fenced[:] = "mrow", [_sign("("), *parts[1:], _sign(")")]
    for element in root.iter():
        if element is not root and element.tag not in _MATH:
            raise ValueError(f"<{element.tag}> in a formula")
        element.attrib.clear()
    root.set("display", "block")
    return ET.tostring(root, encoding="unicode")
