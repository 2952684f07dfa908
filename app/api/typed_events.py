"""The quick way for plain events: one pass of a typed decoder, for batches with nothing unusual about them.

None is the answer for everything else, good or bad: the careful way of `items` then decides. What is accepted
here would be accepted there, with the same result. The text must have passed the gate.
"""

from collections.abc import Sequence

import msgspec

from app.api.drafts import Limits, decode_base64, encode_headers, event_bytes
from app.api.items import torn
from app.api.rfc3339 import parse_time
from app.api.text_rules import MAX_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TOKEN_BYTES, text_fault
from app.model import NewEvent


class _Event(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    data: msgspec.Raw = msgspec.Raw()
    data_base64: str | None = None
    key: str | None = None
    type: str | None = None
    id: str | None = None
    source: str | None = None
    subject: str | None = None
    time: str | None = None
    datacontenttype: str | None = None
    headers: msgspec.Raw = msgspec.Raw()
    transaction_id: str | None = None


_ARRAY = msgspec.json.Decoder(list[_Event])
_LINE = msgspec.json.Decoder(_Event)
_HEADERS = msgspec.json.Decoder(dict[str, str] | None)
# Below this, a text in ASCII needs no closer look, whichever attribute it is.
_SHORT = min(MAX_BYTES.values())
_SHORT_HEADERS = 16 * 1024


def from_array(array: memoryview, limits: Limits, transaction_id: str | None) -> list[NewEvent] | None:
    try:
        decoded = _ARRAY.decode(array)
    except msgspec.DecodeError:
        return None
    return _new_events(decoded, array.nbytes, limits, transaction_id)


def from_lines(lines: Sequence[bytes], limits: Limits, transaction_id: str | None) -> list[NewEvent] | None:
    try:
        # Line by line: taken together, two halves of an event on two lines could pass for one.
        decoded = [_LINE.decode(line) for line in lines]
    except msgspec.DecodeError:
        return None
    return _new_events(decoded, max(map(len, lines), default=0), limits, transaction_id)


def _new_events(
    decoded: Sequence[_Event], largest: int, limits: Limits, transaction_id: str | None
) -> list[NewEvent] | None:
    events = []
    for item in decoded:
        event = _new_event(item, transaction_id)
        if event is None:
            return None
        if largest > limits.max_event_bytes < event_bytes(event.data, event.data_bytes, event.headers):
            return None
        events.append(event)
    if transaction_id is None and torn([event.transaction_id for event in events]):
        return None
    return events


def _new_event(item: _Event, request_transaction: str | None) -> NewEvent | None:
    data = str(item.data, "utf-8") if item.data else None
    data_bytes = None if item.data_base64 is None else decode_base64(item.data_base64)
    time = None if item.time is None else parse_time(item.time)
    headers = _quick_headers(item.headers) if item.headers else ""
    transaction_id = item.transaction_id or request_transaction
    if (
        (data is None) == (data_bytes is None)
        or (data_bytes is None and item.data_base64 is not None)
        or (time is None and item.time is not None)
        or headers is None
        or request_transaction not in (None, transaction_id)
        or not _texts_fit(item)
    ):
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
    texts = (
        item.key,
        item.type,
        item.id,
        item.source,
        item.subject,
        item.datacontenttype,
        item.transaction_id,
    )
    for text in texts:
        # In ASCII, what can be printed is without control characters.
        if text is not None and not (0 < len(text) <= _SHORT and text.isascii() and text.isprintable()):
            return all(
                text and text_fault(name, text, most) is None
                for name, most in MAX_BYTES.items()
                if (text := getattr(item, name)) is not None
            )
    return True


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
