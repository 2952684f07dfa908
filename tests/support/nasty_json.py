"""JSON text as an adversary writes it, and the slow, obvious judge of what may be stored."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

from hypothesis import strategies as st

Strategy = st.SearchStrategy[bytes]

_TEXT = (
    "a Z é € 😀 \u2028 \x7f , : [ ] { } [[[[ ]]]] }{ / 1e1000 1e1000, e 0e00 deadbeef0e999 u0000 ud800 0000"
)
_ESCAPES = (
    r"\/ \" \\ \\\\ \n \t \u0041 \u0001 \ud7ff \ue000 \u0000 \\u0000 \\\u0000 \ud83d\ude00 \uD83D \ude00"
)
_FRAGMENTS = [
    *_TEXT.split(" "),
    *_ESCAPES.split(" "),
    " ",
    " 5e999 ",
    "9" * 140,
    r"\uDE00",
    r"\\ud83d",
    r"\uD800\\",
]

space = st.sampled_from([b"", b"", b"", b" ", b"\n", b"\r\n\t", b"  "])
strings = st.lists(st.sampled_from(_FRAGMENTS), max_size=6).map(lambda parts: f'"{"".join(parts)}"'.encode())

_digits = st.sampled_from(
    ["0", "7", "10", "123", "9" * 30, "1" * 31, "8" * 133, "9" * 300, "1" * 400, "1" * 401]
)
_fractions = st.sampled_from(["", "", ".0", ".5", ".10", "." + "3" * 31, "." + "0" * 134, "." + "7" * 399])
_powers = st.one_of(
    st.integers(0, 20),
    st.integers(95, 105),
    st.integers(255, 420),
    st.sampled_from([999, 1000, 131072, 10**30]),
)


@st.composite
def _numbers(draw: Callable[..., Any]) -> bytes:
    text = draw(st.sampled_from(["", "-"])) + draw(_digits) + draw(_fractions)
    if draw(st.booleans()):
        sign = draw(st.sampled_from(["", "+", "-"]))
        zeros = "0" * draw(st.sampled_from([0, 0, 1, 2, 50, 380]))
        text += draw(st.sampled_from("eE")) + sign + zeros + str(draw(_powers))
    return str(text).encode()


numbers = _numbers()
scalars = st.one_of(strings, numbers, st.sampled_from([b"null", b"true", b"false", b'""']))


@st.composite
def _array(draw: Callable[..., Any], element: Strategy) -> bytes:
    parts = draw(st.lists(element, max_size=3))
    return b"[" + b",".join(draw(space) + part + draw(space) for part in parts) + b"]"


@st.composite
def _object(draw: Callable[..., Any], element: Strategy) -> bytes:
    members = draw(st.lists(st.tuples(strings, element), max_size=3))
    return b"{" + b",".join(draw(space) + k + draw(space) + b":" + v + draw(space) for k, v in members) + b"}"


values = st.recursive(scalars, lambda inner: st.one_of(_array(inner), _object(inner)), max_leaves=12)


@st.composite
def _wrapped(draw: Callable[..., Any]) -> bytes:
    """A value some levels down, so that the depth is often right at a limit."""
    text: bytes = draw(values)
    for bracket in draw(st.lists(st.sampled_from("[{"), max_size=12)):
        text = b"[" + text + b"]" if bracket == "[" else b'{"k":' + text + b"}"
    around: bytes = draw(space)
    return around + text + around


documents = _wrapped()


class Objection(Exception):
    """The judge's word for a number."""


def judge(document: bytes, depth: int) -> set[str]:
    """The codes of all that is wrong with JSON text, found by parsing it and looking at every value."""
    found: set[str] = set()

    def number(text: str) -> str:
        if not _number_fits(text):
            found.add("number_out_of_range")
        return ""

    def constant(text: str) -> NoReturn:
        raise Objection(text)

    value = json.loads(
        document,
        parse_int=number,
        parse_float=number,
        parse_constant=constant,
        object_pairs_hook=lambda pairs: ("object", pairs),
    )
    if any(0xD800 <= ord(c) <= 0xDFFF or c == "\0" for text in _texts(value) for c in text):
        found.add("unstorable_character")
    if _depth(value) > depth:
        found.add("too_deep")
    return found


def _number_fits(text: str) -> bool:
    written = sum(character.isdigit() for character in text)
    mantissa, _, exponent = text.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or "0")
    if written > 400 or abs(power) > 1000:
        return False
    if power >= 0:
        fraction = fraction.ljust(power, "0")
        return len(whole + fraction) <= 400
    whole = whole.rjust(1 - power, "0")
    return len(whole + fraction) <= 400


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for k, v in value[1] for text in [k, *_texts(v)]]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else []


def _depth(value: Any) -> int:
    if isinstance(value, tuple):
        return 1 + max((_depth(v) for _, v in value[1]), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
