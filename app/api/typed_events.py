"""The quick way for plain events: one pass of a typed decoder, for batches with nothing unusual about them.

None is the answer for everything else, good or bad: the careful way of `items` then decides. What is accepted
here would be accepted there, with the same result. The text must have passed the gate.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from app.api.drafts import Limits, decode_base64, encode_headers, event_bytes
from app.api.items import torn
from app.api.rfc3339 import parse_time
from app.api.text_rules import (
    MAX_BYTES,
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    MAX_TEXT_BYTES,
    MAX_TOKEN_BYTES,
    text_fault,
)
from app.model import NewEvent

# In characters, of which no text has more than bytes.
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_BYTES)]
_Token = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TOKEN_BYTES)]


class _Event(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    data: msgspec.Raw = msgspec.Raw()
    data_base64: str | None = None
    key: _Text | None = None
    type: _Text | None = None
    id: _Text | None = None
    source: _Text | None = None
    subject: _Text | None = None
    time: str | None = None
    datacontenttype: _Token | None = None
    headers: msgspec.Raw = msgspec.Raw()
    transaction_id: _Token | None = None


_ARRAY = msgspec.json.Decoder(list[_Event])
_LINE = msgspec.json.Decoder(_Event)
_HEADERS = msgspec.json.Decoder(dict[str, str] | None)
_SHORT_HEADERS = 16 * 1024


def from_array(
    document: bytes, place: slice, limits: Limits, transaction_id: str | None
) -> list[NewEvent] | None:
    """The events of the array at a place in the document."""
    array = memoryview(document)[place]
    try:
        decoded = _ARRAY.decode(array)
    except msgspec.DecodeError:
        return None
    return _new_events(decoded, array.nbytes, _is_printable(document), limits, transaction_id)


def from_lines(lines: Sequence[bytes], limits: Limits, transaction_id: str | None) -> list[NewEvent] | None:
    try:
        # Line by line: taken together, two halves of an event on two lines could pass for one.
        decoded = [_LINE.decode(line) for line in lines]
    except msgspec.DecodeError:
        return None
    printable = all(map(_is_printable, lines))
    return _new_events(decoded, max(map(len, lines), default=0), printable, limits, transaction_id)


def _is_printable(document: bytes) -> bool:
    """Whether texts of this JSON can only be of printable ASCII, as the decoder refuses what is below."""
    return document.isascii() and b"\\" not in document and b"\x7f" not in document


def _new_events(
    decoded: Sequence[_Event], largest: int, printable: bool, limits: Limits, transaction_id: str | None
) -> list[NewEvent] | None:
    events = []
    for item in decoded:
        event = _new_event(item, transaction_id) if printable or _texts_fit(item) else None
        if event is None:
            return None
        if largest > limits.max_event_bytes < event_bytes(event.data, event.data_bytes, event.headers):
            return None
        events.append(event)
    if transaction_id is None and torn([event.transaction_id for event in events]):
        return None
    return events


def _new_event(item: _Event, request_transaction: str | None) -> NewEvent | None:
    data = data_bytes = time = headers = None
    if item.data:
        data = str(item.data, "utf-8")
    if item.data_base64 is not None and (data_bytes := decode_base64(item.data_base64)) is None:
        return None
    if item.time is not None and (time := parse_time(item.time)) is None:
        return None
    if item.headers and (headers := _quick_headers(item.headers)) is None:
        return None
    transaction_id = item.transaction_id or request_transaction
    if (data is None) == (data_bytes is None) or request_transaction not in (None, transaction_id):
        return None
    return NewEvent(
        data=data,
        data_bytes=data_bytes,
        key=item.key,
        type=item.type,
        id=item.id,
        source=item.source,
        subject=item.subject,
        time=time,
        datacontenttype=item.datacontenttype,
        headers=headers or None,
        transaction_id=transaction_id,
    )


def _texts_fit(item: _Event) -> bool:
    return all(
        text_fault(name, text, most) is None
        for name, most in MAX_BYTES.items()
        if (text := getattr(item, name)) is not None
    )


def _quick_headers(raw: msgspec.Raw) -> str | None:
    """The headers as they are stored, empty if there are none; None if they need a closer look."""
    if memoryview(raw).nbytes > _SHORT_HEADERS:
        return None
    try:
        headers = _HEADERS.decode(raw)
    except msgspec.DecodeError:
        return None
    if headers is None:
        return ""
    for name, value in headers.items():
        if not name or text_fault(name, name, MAX_TOKEN_BYTES) or text_fault(name, value, MAX_HEADER_BYTES):
            return None
    return None if len(headers) > MAX_HEADERS else encode_headers(headers) or ""
