"""Which kind of content a publish request carries, by its headers: refused if not known, never guessed."""

import re
from collections.abc import Sequence
from enum import Enum

from app.errors import UnsupportedMediaType

RawHeaders = Sequence[tuple[bytes, bytes]]


class Content(Enum):
    EVENTS = "application/json"
    CLOUDEVENT = "application/cloudevents+json"
    CLOUDEVENT_BATCH = "application/cloudevents-batch+json"
    CLOUDEVENT_BINARY = "ce-specversion"
    NDJSON = "application/x-ndjson"


ACCEPTED = [content.value for content in Content if content is not Content.CLOUDEVENT_BINARY]
CLOUDEVENTS = "application/cloudevents"

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # nosec B105
_MEDIA_TYPE = re.compile(rf"[ \t]*({_TOKEN}/{_TOKEN})[ \t]*((?:;.*)?)")
_WEIGHT = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_PARAMETER = re.compile(rf';[ \t]*(?:({_TOKEN})=(?:({_TOKEN})|"((?:[^"\\]|\\.)*+)"))?[ \t]*')


COMPRESSED = "Compressed requests are not taken."
_DECISIVE = (b"content-type", b"content-encoding", b"ce-specversion", b"transfer-encoding")
_UNCODED = {b"content-encoding": b"identity", b"transfer-encoding": b"chunked"}
"""The server itself undoes chunks."""
_MOST_COMMON = [(b"content-type", b"application/json")]


def content_of(headers: RawHeaders) -> Content:
    """Structured and batch mode are known by their type; binary mode by the header, whatever the type is."""
    if [header for header in headers if header[0] in _DECISIVE] == _MOST_COMMON:
        return Content.EVENTS
    values = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-type"]
    if is_compressed(headers):
        raise UnsupportedMediaType(COMPRESSED, accepted=ACCEPTED)
    media_type = _parse(values[0]) if len(values) == 1 else None
    name = media_type[0] if media_type else ""
    binary = any(name.lower() == b"ce-specversion" for name, _ in headers)
    if binary and not name.startswith(CLOUDEVENTS):
        return Content.CLOUDEVENT_BINARY
    if name not in ACCEPTED:
        raise UnsupportedMediaType(_refusal(values), accepted=ACCEPTED)
    if media_type and media_type[1].get("charset", "utf-8") != "utf-8":
        raise UnsupportedMediaType("JSON is taken in UTF-8 only.", accepted=ACCEPTED)
    return Content(name)


def is_compressed(headers: RawHeaders) -> bool:
    """Whether a body is anything but what its type says, by a coding of its own or of its transfer."""
    for name, value in headers:
        uncoded = _UNCODED.get(name.lower())
        if uncoded is not None and {one.strip().lower() for one in value.split(b",")} - {b"", uncoded}:
            return True
    return False


def _refusal(values: Sequence[str]) -> str:
    """Curl and forms send a type that nobody asked them for."""
    given = f"The Content-Type is {values[0][:100]!r}. " if len(values) == 1 else ""
    return f"{given}Send one of {', '.join(ACCEPTED)}; with ce-* headers, any type."


def weight_of(media_type: str, accept: Sequence[str]) -> float:
    """How much the lines of an Accept header ask for a type by its name, from 0, not at all, to 1."""
    weights = [0.0]
    for one in ",".join(accept).split(","):
        named = _parse(one)
        if named is not None and named[0] == media_type:
            weight = named[1].get("q", "1")
            weights.append(float(weight) if _WEIGHT.fullmatch(weight) else 0.0)
    return max(weights)


def is_json(content_type: str) -> bool:
    """Whether a body of this type is JSON in UTF-8."""
    media_type = _parse(content_type)
    if media_type is None or media_type[1].get("charset", "utf-8") != "utf-8":
        return False
    subtype = media_type[0].partition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def _parse(value: str) -> tuple[str, dict[str, str]] | None:
    """Type and parameters, in lower case; of a parameter given twice, the first."""
    found = _MEDIA_TYPE.fullmatch(value)
    if found is None:
        return None
    parameters: dict[str, str] = {}
    position = 0
    while position < len(found[2]):
        parameter = _PARAMETER.match(found[2], position)
        if parameter is None:
            return None
        name, token, quoted = parameter.groups("")
        parameters.setdefault(name.lower(), (token or re.sub(r"\\(.)", r"\1", quoted)).lower())
        position = parameter.end()
    return found[1].lower(), parameters
