"""What the JSON decoder says against a text, in words that stay when the decoder's own change."""

import re
from string import ascii_lowercase
from typing import NamedTuple

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_NO_BYTE_ORDER_MARK = "The text begins with a byte order mark; send UTF-8 without it."
_TOO_EARLY = "The JSON text ends too early."
_TOO_EARLY_IN_LINE = "The line ends before the JSON text does."
_MALFORMED = re.compile(r"JSON is malformed: (.*) \(byte ([0-9]+)\)")
_LETTERS = ascii_lowercase.encode()
_NAME = "a name in double quotes must stand there"
_ESCAPE = "JSON has no such escape"
_HALF = "half of a surrogate pair stands for no character"
_MORE = "trailing characters"
_REASONS = {
    "invalid character": "this character cannot stand there",
    "expected '\"'": _NAME,
    "object keys must be strings": _NAME,
    "expected ':'": "':' must stand there",
    "expected ',' or ']'": "',' or ']' must stand there",
    "expected ',' or '}'": "',' or '}' must stand there",
    "trailing comma in array": "a value must follow the ','",
    "trailing comma in object": "a name in double quotes must follow the ','",
    _MORE: "the JSON text is over, but more follows",
    "invalid number": "JSON writes no number so",
    "invalid escape character in string": _ESCAPE,
    "invalid escaped character": _ESCAPE,
    "invalid character in unicode escape": _ESCAPE,
    "unexpected end of hex escape": _HALF,
    "invalid utf-16 surrogate pair": _HALF,
    "unexpected end of escaped utf-16 surrogate pair": _HALF,
}

_LONGEST_ESCAPE = len(rb"\ud83d\ude00")
_CUT_ESCAPE = re.compile(
    rb"\\u(?:[0-9a-fA-F]{0,3}(?=[^0-9a-fA-F])|(?P<half>[dD][89abAB][0-9a-fA-F]{2})(?=[^\\]|\\[^u]))"
)


class SyntaxFault(NamedTuple):
    detail: str
    position: int | None
    """The byte where it shows."""


def fault_of(document: bytes, said: str, of: str = "", *, is_line: bool = False) -> SyntaxFault:
    """Why a text is not JSON, from what the decoder `said`; `of` tells what it is, if not the whole body.

    `is_line`: it is one line of many, and its number is told elsewhere.
    """
    if not document or document.isspace():
        return SyntaxFault("The JSON text is empty.", None)
    if document.startswith(BYTE_ORDER_MARK):
        return SyntaxFault(_NO_BYTE_ORDER_MARK, None)
    found = _MALFORMED.fullmatch(said)
    if found is not None:
        # Of what follows the text the decoder has read the first byte already.
        position = int(found[2]) - (found[1] == _MORE)
        reason = _REASONS.get(found[1], found[1])
    elif "truncated" not in said:
        return SyntaxFault(f"{said}.", None)
    elif (word := _word_at_the_end(document)) is not None:
        position, reason = word, _REASONS["invalid character"]
    elif (escape := _escape_at_the_end(document)) is not None:
        position, reason = escape.end(), _ESCAPE if escape["half"] is None else _HALF
    else:
        return SyntaxFault(_TOO_EARLY_IN_LINE if is_line else _TOO_EARLY, None)
    place = f"column {column(document, position)}"
    if not is_line:
        line = document.count(b"\n", 0, position) + 1
        place = f"line {line}, {place}"
    return SyntaxFault(f"Not JSON at {place}{of}: {reason}.", position)


def _word_at_the_end(document: bytes) -> int | None:
    """Where one stands that is none of JSON's: the decoder waits for the rest of the one it takes it for."""
    text = document.rstrip(b" \t\r\n]}")
    start = len(text.rstrip(_LETTERS))
    quotes = document.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')
    return None if quotes % 2 or len(text) in (start, len(document)) else start


def _escape_at_the_end(document: bytes) -> re.Match[bytes] | None:
    """One that is wrong, while the decoder misses only the bytes that the longest would still have."""
    return _CUT_ESCAPE.search(document.replace(b"\\\\", b"__"), max(0, len(document) - _LONGEST_ESCAPE))


def column(document: bytes, position: int) -> int:
    """As editors count."""
    start = document.rfind(b"\n", 0, position) + 1
    return len(document[start:position].decode(errors="replace")) + 1
