"""Decides whether JSON text can be stored and read back by everyone: refuses, never repairs.

Refused are bytes that are not UTF-8, U+0000 and halves of surrogate pairs, numbers of more than `MAX_DIGITS`
digits and nesting deeper than `MAX_DEPTH`. `storable` is the verdict on a whole request, at the speed of
`bytes` methods; `flaws` says of one item what is wrong with it, and where. They agree on whatever is JSON.
Whether it is, the parser decides afterwards; the parser recurses, so nothing too deep may reach it.
"""

import re
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from app.api.json_text import first_deep
from app.api.refusals import Refusal

MAX_DEPTH = 128
MAX_DIGITS = 400


class Flaw(NamedTuple):
    code: Refusal
    detail: str
    position: int


def storable(document: bytes, depth: int = MAX_DEPTH) -> bool:
    """Whether JSON text has no flaw. Of what is not JSON it is only certain that it nests no deeper."""
    if not _is_utf8(document):
        return False
    if b"\\" in document and _AWKWARD_ESCAPE.search(document):
        document = _neutral(document)
        if _UNSTORABLE.search(document):
            return False
    skeleton = _skeleton(document)
    numbers_fit = _numbers_are_short(skeleton) or _first_out_of_range(document) is None
    return numbers_fit and _height_fits(skeleton, depth)


def flaws(document: bytes, depth: int = MAX_DEPTH) -> list[Flaw]:
    """The first flaw of each kind."""
    try:
        document.decode()
    except UnicodeDecodeError as error:
        return [Flaw(Refusal.INVALID_UTF8, "These bytes are not UTF-8.", error.start)]
    neutral = _neutral(document)
    skeleton = _skeleton(neutral)
    found = [_unstorable(neutral), _out_of_range(neutral, skeleton), _too_deep(document, skeleton, depth)]
    return [flaw for flaw in found if flaw is not None]


def _is_utf8(document: bytes) -> bool:
    if document.isascii():
        return True
    try:
        document.decode()
    except UnicodeDecodeError:
        return False
    return True


_AWKWARD_ESCAPE = re.compile(rb'\\(?:["\\]|u0000|u[dD][89a-fA-F])')
_HIGH = rb"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F]"
_UNSTORABLE = re.compile(
    rb"\\u(?:0000|[dD][89abAB][0-9a-fA-F]{2}(?!" + _LOW + rb")|(?<!" + _HIGH + rb"\\u)[dD][c-fC-F])"
)


def _neutral(document: bytes) -> bytes:
    """The text with escaped backslashes and quotes overwritten: each quote left begins or ends a string.

    Replacing pairs from the left reads backslashes as a parser does, as no run of them begins in an escape.
    """
    return document.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _unstorable(neutral: bytes) -> Flaw | None:
    found = _UNSTORABLE.search(neutral)
    if found is None:
        return None
    what = "U+0000" if found[0].endswith(b"u0000") else "half of a surrogate pair"
    detail = f"The text holds {what}, which cannot be stored."
    return Flaw(Refusal.UNSTORABLE_CHARACTER, detail, found.start())


_KINDS = {
    b"0": b"0123456789",
    b"e": b"eE",
    b"-": b"+-",
    b",": b", \t\r\n",
    b"[": b"[{",
    b"]": b"]}",
    b'"': b'"',
}
_KIND = bytes(
    next((kind for kind, members in _KINDS.items() if byte in members), b"x")[0] for byte in range(256)
)
# Letters of no hexadecimal digit: those are left, so that few digits meet an "e" that was not beside them.
_LEFT_OUT = b"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ" + bytes(range(0x80, 0x100))
_SAMPLE = 4096


def _skeleton(neutral: bytes) -> bytes:
    """The kind of each character that matters to numbers and nesting, and of some others."""
    # Few strings are cut out at once, which is cheaper than to look at each of their characters.
    if neutral.count(b'"', 0, _SAMPLE) * 20 < min(len(neutral), _SAMPLE):
        neutral = b" ".join(neutral.split(b'"')[::2])
    return neutral.translate(_KIND, _LEFT_OUT)


# A number can only be too long with a third of the digits in one run, or an exponent of three digits or more.
_LONG_RUN = b"0" * (MAX_DIGITS // 3)
_LONG_EXPONENT = re.compile(rb"0e-?000++(?![^,\]])")
_SMALL_EXPONENT = rb"[eE][-+]?+(?:[0-9]{1,2}|[0-2][0-9]{2}|3[0-5][0-9])"
_SHORT = rb"[0-9]{1,30}+(?:\.[0-9]{1,30}+)?+(?:" + _SMALL_EXPONENT + rb")?(?![0-9.eE])"
_NUMBER = rb"([0-9]++)(?:\.([0-9]++))?+(?:[eE]([-+]?+[0-9]++))?+"
_LONG_NUMBER = re.compile(rb'(?:[^"0-9]++|"[^"]*+"|' + _SHORT + rb")*+" + _NUMBER)


def _numbers_are_short(skeleton: bytes) -> bool:
    return not (_LONG_RUN in skeleton or _LONG_EXPONENT.search(skeleton))


def _first_out_of_range(neutral: bytes) -> int | None:
    position = 0
    while number := _LONG_NUMBER.match(neutral, position):
        whole, fraction, exponent = number.groups(b"")
        digits = exponent.lstrip(b"+-")
        if len(whole) + len(fraction) + len(digits) > MAX_DIGITS:
            return number.start(1)
        if not _fits_written_out(len(whole), len(fraction), digits, exponent.startswith(b"-")):
            return number.start(1)
        position = number.end()
    return None


def _out_of_range(neutral: bytes, skeleton: bytes) -> Flaw | None:
    position = None if _numbers_are_short(skeleton) else _first_out_of_range(neutral)
    if position is None:
        return None
    detail = f"A number has more than {MAX_DIGITS} digits, as written or written out."
    return Flaw(Refusal.NUMBER_OUT_OF_RANGE, detail, position)


@lru_cache
def _fits_written_out(whole: int, fraction: int, exponent: bytes, negative: bool) -> bool:
    shift = exponent.lstrip(b"0") or b"0"
    if len(shift) > 3:
        return False
    if negative:
        return fraction + max(whole, int(shift) + 1) <= MAX_DIGITS
    return whole + max(fraction, int(shift)) <= MAX_DIGITS


_TO_STEP = bytes.maketrans(b"[]", b"\x01\xff")
_ROUNDS = 8


def nests_at_most(document: bytes, depth: int) -> bool:
    return _height_fits(_skeleton(_neutral(document)), depth)


def _height_fits(skeleton: bytes, depth: int) -> bool:
    if len(skeleton) < _SAMPLE and skeleton.count(b"[") <= depth:
        return True
    marks = skeleton.translate(None, b"0e-,x")
    # Quotes side by side have no bracket between them; what is in quotes once they are gone lies in strings.
    marks = marks.replace(b'""', b"")
    if b'"' in marks:
        marks = b"".join(marks.split(b'"')[::2])
    if b"[" * (depth + 1) in marks:
        return False
    rounds = 0
    while marks and rounds < _ROUNDS:
        marks = marks.replace(b"[]", b"")
        rounds += 1
    if not marks:
        return rounds <= depth
    return rounds + max(accumulate(memoryview(marks.translate(_TO_STEP)).cast("b"))) <= depth


def _too_deep(document: bytes, skeleton: bytes, depth: int) -> Flaw | None:
    position = None if _height_fits(skeleton, depth) else first_deep(document, depth)
    if position is None:
        return None
    return Flaw(Refusal.TOO_DEEP, f"The data nests more than {MAX_DEPTH} levels deep.", position)
