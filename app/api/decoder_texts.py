"""What the JSON decoder says against a text, in words that stay when the decoder's own change."""

import re
from string import ascii_lowercase
from typing import NamedTuple

_MALFORMED = re.compile(r"JSON is malformed: (.*) \(byte ([0-9]+)\)")
_LETTERS = ascii_lowercase.encode()
_NAME = "a name in double quotes must stand there"
_ESCAPE = "JSON has no such escape"
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
    "unexpected end of hex escape": _ESCAPE,
    "invalid utf-16 surrogate pair": _ESCAPE,
    "unexpected end of escaped utf-16 surrogate pair": _ESCAPE,
}


class SyntaxFault(NamedTuple):
    detail: str
    position: int | None
    """The byte where it shows."""


def fault_of(document: bytes, said: str, of: str = "") -> SyntaxFault:
    """Why a text is not JSON, from what the decoder `said`; `of` tells what it is, if not the whole body."""
    if not document or document.isspace():
        return SyntaxFault("The JSON text is empty.", None)
    found = _MALFORMED.fullmatch(said)
    if found is not None:
        # Of what follows the text the decoder has read the first byte already.
        position = int(found[2]) - (found[1] == _MORE)
        reason = _REASONS.get(found[1], found[1])
    elif "truncated" not in said:
        return SyntaxFault(f"{said}.", None)
    elif (word := _word_at_the_end(document)) is not None:
        position, reason = word, _REASONS["invalid character"]
    else:
        return SyntaxFault("The JSON text ends too early.", None)
    return SyntaxFault(f"Not JSON at {_place(document, position)}{of}: {reason}.", position)


def _word_at_the_end(document: bytes) -> int | None:
    """Where one stands that is none of JSON's: the decoder waits for the rest of the one it takes it for."""
    text = document.rstrip(b" \t\r\n]}")
    start = len(text.rstrip(_LETTERS))
    quotes = document.replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"')
    return None if quotes % 2 or len(text) in (start, len(document)) else start


def _place(document: bytes, position: int) -> str:
    """As editors count."""
    lines = document.count(b"\n", 0, position)
    start = document.rfind(b"\n", 0, position) + 1
    column = len(document[start:position].decode(errors="replace"))
    return f"line {lines + 1}, column {column + 1}"
