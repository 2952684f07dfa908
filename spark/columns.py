"""Builds the Arrow columns of events that neither transport brings ready-made."""

from collections.abc import Mapping, Sequence
from json import JSONDecodeError, JSONDecoder
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark.schema import arrow_schema
from spark.transport import GaplessError


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


# Numbers stay text: they are not needed, and Python refuses to read very long ones.
_scan = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).raw_decode
_decode = JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_json).decode
_BLANK = " \t\n\r"


def skip_blank(text: str, at: int) -> int:
    while text[at] in _BLANK:
        at += 1
    return at


def insist_on_json(text: str) -> None:
    """ValueError unless it is one JSON value and nothing else, which all others here trust."""
    _decode(text)


def members(text: str, at: int = 0) -> tuple[dict[str, tuple[int, int, Any]], int]:
    """The members of the JSON object that starts at `at`, and where it ends.

    Of each member: where its value starts and ends in the text, and the value, with numbers as text.
    """
    found: dict[str, tuple[int, int, Any]] = {}
    at = skip_blank(text, at)
    if text[at] != "{":
        raise JSONDecodeError("an object is expected", text, at)
    at = skip_blank(text, at + 1)
    while text[at] != "}":
        name, at = _scan(text, at)
        start = skip_blank(text, skip_blank(text, at) + 1)
        value, end = _scan(text, start)
        found[name] = (start, end, value)
        at = skip_blank(text, end)
        if text[at] == ",":
            at = skip_blank(text, at + 1)
    return found, at + 1


def find_member(text: str, name: str) -> int:
    """Where the value of that member of the object starts; what follows it is not looked at."""
    at = skip_blank(text, skip_blank(text, 0) + 1)
    while True:
        found, at = _scan(text, at)
        start = skip_blank(text, skip_blank(text, at) + 1)
        if found == name:
            return start
        _, at = _scan(text, start)
        at = skip_blank(text, skip_blank(text, at) + 1)


def header_maps(texts: pa.Array) -> pa.Array:
    """Maps from JSON texts; a value that is no string is its JSON text, null is null."""
    kind = arrow_schema(("headers",)).field(0).type
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), kind)
    # A topic has few distinct ones as a rule.
    encoded = texts.dictionary_encode()
    maps = pa.array([_header_map(text) for text in encoded.dictionary.to_pylist()], kind)
    return maps.take(encoded.indices)


def batch_of(columns: Sequence[str], arrays: Mapping[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=arrow_schema(tuple(columns)))


def repeated(value: Any, count: int, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def timestamps(texts: Sequence[str | None]) -> pa.Array:
    return pc.cast(pa.array(texts, pa.string()), pa.timestamp("us", "UTC"))


def _header_map(text: str) -> list[tuple[str, str | None]] | None:
    if text == "null":
        return None
    try:
        found, _ = members(text)
        pairs = [
            (name, value if isinstance(value, str) and text[start] == '"' else _other(text[start:end]))
            for name, (start, end, value) in found.items()
        ]
        # SQL takes half a surrogate pair; a text of Arrow cannot hold it.
        "".join(name + (value or "") for name, value in pairs).encode()
    except (JSONDecodeError, IndexError, UnicodeEncodeError):
        raise GaplessError(
            f"headers that are no object of texts: {text[:100]!r}; leave the column out by the option columns"
        ) from None
    return pairs


def _other(text: str) -> str | None:
    return None if text == "null" else text
