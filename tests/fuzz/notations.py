"""Mutations of text in any notation: numbers, nesting, keys, lengths, encodings, line ends; two files spliced."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
WORD = re.compile(r"[A-Za-z_]\w*")
#: What is kept of a text that was changed.
LONGEST = 1_000_000
NUMBERS = (
    "0", "-0", "-1", "00012", "+1", "1.", ".5", "1e5", "1e400", "-1e400", "1e-400", "NaN", "-Infinity", "Infinity", "nan", "inf",
    "0x10", "1_000", "1,5", "true", "null", '"1"', "1/0", "1-2", "2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e308", "4.9e-324", "0.1e1", "\uff11", "\u0663", "9" * 400,
    "9" * 5000, "0." + "3" * 3000, "1" + "0" * 25,
)  # fmt: skip
NESTS = (("[", "]"), ("{", "}"), ("(", ")"), ('{"a":', "}"), ("<a>", "</a>"), ("((", "))"), ("-(", ")"), ("{ ", " }"))
ODD = (
    "\u0000",
    "\ufeff",
    "\u202e",
    "\ud800",
    "\udfff",
    "\U0001f4a9",
    "\x1b[31m",
    "\x7f",
    "\u2028",
    "e\u0301",
    "\u00ad",
    "\r",
)


def change_numbers(text: str, random: Random) -> str:
    """Put odd numbers in place of some."""
    places = list(NUMBER.finditer(text))
    for match in sorted(random.sample(places, min(len(places), random.choice((1, 1, 2, 9)))), key=lambda m: -m.start()):
        text = text[: match.start()] + random.choice(NUMBERS) + text[match.end() :]
    return text


def nest(text: str, random: Random) -> str:
    """Wrap a piece into brackets, few or very many."""
    first, last = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
    left, right = random.choice(NESTS)
    times = random.choice((1, 2, 50, 1000, 20_000))
    return text[:first] + left * times + text[first:last] + right * (times - random.choice((0, 0, 0, 1))) + text[last:]


def _needed(piece: str) -> int:
    """Return how often a piece fits into what is kept of a text, so that no copies are made to be cut off."""
    return LONGEST // max(len(piece), 1) + 1


def repeat_part(text: str, random: Random) -> str:
    """Give a key, a line or a piece again, here or at the end of its list."""
    pairs = list(re.finditer(r'"[^"]*"\s*:\s*(?:"[^"]*"|[-\w.]+|\[[^][]*\])', text))
    if pairs and random.random() < 0.5:
        match = random.choice(pairs)
        return text[: match.end()] + ", " + match[0] + text[match.end() :]
    lines = text.splitlines(keepends=True) or [""]
    at = random.randrange(len(lines))
    times = min(random.choice((1, 1, 300, 2000)), _needed(lines[at]))
    return "".join([*lines[: at + 1], *[lines[at]] * times, *lines[at + 1 :]])


def lengthen(text: str, random: Random) -> str:
    """Make a word, a number or white space very long."""
    words = list(WORD.finditer(text)) or [re.match("", text)]
    match = random.choice(words)
    assert match is not None
    piece = random.choice((match[0] or "a", " ", "\n", "\u00e9", "_", "'"))
    times = min(random.choice((300, 5000, 200_000)), _needed(piece))
    return text[: match.end()] + piece * times + text[match.end() :]


def exchange_words(text: str, random: Random) -> str:
    """Put one word, or one number, in place of another everywhere, so that names meet that should differ."""
    words = sorted({match[0] for match in (*WORD.finditer(text), *NUMBER.finditer(text))})
    if not words:
        return text
    old, new = random.choice(words), random.choice([*words, *ODD, ""])
    new = new[: LONGEST // max(text.count(old), 1)]
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text, count=random.choice((0, 1)))


def put_odd(text: str, random: Random) -> str:
    """Put odd characters somewhere."""
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(ODD) * random.choice((1, 1, 40)) + text[at:]


def change_strings(text: str, random: Random) -> str:
    """Write characters of strings as JSON escapes, whole or halved."""
    at = random.randrange(len(text) + 1)
    escape = random.choice(
        ("\\u0000", "\\ud800", "\\udc00\\ud800", "\\ud83d\\ude00", "\\u202e", "\\x41", "\\", '\\"', "\\/", "\\u12")
    )
    inside = [match.end() - 1 for match in re.finditer(r'"[^"]*"', text)]
    at = random.choice(inside) if inside else at
    return text[:at] + escape + text[at:]


def cut(text: str, random: Random) -> str:
    """End the text early, begin it late, or leave a piece out."""
    first, last = sorted((random.randrange(len(text) + 1), random.randrange(len(text) + 1)))
    return random.choice((text[:first], text[last:], text[:first] + text[last:]))


def change_quotes(text: str, random: Random) -> str:
    """Take quotes, commas or brackets for others, once or everywhere."""
    old, new = random.choice(
        (
            ('"', "'"),
            ('"', ""),
            (",", ";"),
            (",", ""),
            (":", "="),
            ("[", "("),
            ("{", "["),
            ("\n", ""),
            (" ", "\t"),
            ("\n", "\r\n"),
            ("\n", "\r"),
            ("-", "\u2212"),
        )
    )
    return text.replace(old, new, random.choice((1, -1)))


CHANGES: tuple[Callable[[str, Random], str], ...] = (
    change_numbers, change_numbers, nest, repeat_part, lengthen, exchange_words, exchange_words, put_odd, change_strings, cut, change_quotes,
)  # fmt: skip


def encode(text: str, random: Random) -> bytes:
    """Return the text in UTF-8, now and then in another encoding, with other line ends or a mark at its beginning."""
    if random.random() < 0.85:
        return text.encode("utf-8", "surrogatepass")
    way = random.randrange(7)
    if way < 4:
        return text.encode(
            ("utf-16", "utf-32-be", "utf-7", "utf-8-sig")[way], "surrogatepass" if way != 2 else "replace"
        )
    if way == 4:
        return text.encode("latin-1", "replace")
    data = text.replace("\n", "\r\n").encode("utf-8", "surrogatepass")
    return data if way == 5 else b"\xef\xbb\xbf\xef\xbb\xbf" + data.replace(b"a", b"\xc0\xaf")


def mutate_notation(data: bytes, random: Random, longest: int = LONGEST) -> bytes:
    """Change a text by one to four of these, and its encoding; keep ``longest`` characters."""
    text = data.decode("utf-8", "replace")
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        text = random.choice(CHANGES)(text, random)[:longest]
    return encode(text, random)


def splice(first: bytes, second: bytes, random: Random) -> bytes:
    """Return the beginning of one file and the end of another."""
    return first[: random.randrange(len(first) + 1)] + second[random.randrange(len(second) + 1) :]
