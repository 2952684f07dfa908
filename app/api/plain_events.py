"""Events as `application/json` and NDJSON have them: objects of `key`, `type`, `data`, `headers`, …"""

import re
from collections.abc import Sequence

import msgspec

from app.api.drafts import Draft, Limits
from app.api.gate import MAX_DEPTH, storable
from app.api.items import Fields, array_items, check_count, malformed, may_be_many, read_items, text_of
from app.api.json_text import escaped, member, parts
from app.api.refusals import Refusal
from app.api.text_rules import MAX_BYTES, MAX_HEADERS
from app.api.typed_events import from_array, from_lines
from app.model import NewEvent

SHAPE = 'The body must be {"events": […]} and nothing more.'

_HEAD = re.compile(rb'\s*+\{\s*+"events"\s*+:\s*+(?=\[)')
_TAIL = re.compile(rb"\]\s*+\}\s*+\Z")
_TAIL_REACH = 16
_TEXT_FIELDS = {*MAX_BYTES, "time", "data_base64"}
_OBJECT = msgspec.json.Decoder(Fields | None)


def decode_events(document: bytes, limits: Limits, transaction_id: str | None) -> list[NewEvent]:
    """The events of a JSON document; raises with everything that is wrong with them."""
    events = _quickly(document, limits, transaction_id)
    if events is None:
        items = array_items(_events_array(document), limits, document)
        return read_items(enumerate(items), fill_plain, limits, transaction_id)
    check_count(len(events), limits)
    return events


def decode_lines(
    lines: Sequence[bytes], numbers: Sequence[int], limits: Limits, transaction_id: str | None
) -> list[NewEvent]:
    """The events of NDJSON lines; what is wrong is listed under the lines' numbers."""
    if storable(b"\n".join(lines), MAX_DEPTH + 1):
        events = from_lines(lines, limits, transaction_id)
        if events is not None:
            return events
    return read_items(zip(numbers, lines, strict=True), fill_plain, limits, transaction_id)


def _quickly(document: bytes, limits: Limits, transaction_id: str | None) -> list[NewEvent] | None:
    head = _HEAD.match(document)
    tail = _TAIL.search(document, len(document) - _TAIL_REACH)
    if head is None or tail is None or may_be_many(document, limits) or not storable(document, MAX_DEPTH + 3):
        return None
    return from_array(document, slice(head.end(), tail.start() + 1), limits, transaction_id)


def _events_array(document: bytes) -> bytes:
    """The text of the array; duplicates of it are refused like any other further member."""
    text = document.strip(b" \t\r\n")
    members = parts(text, 0, 1)
    if not (text.startswith(b"{") and text.endswith(b"}")) or members is None or members[1] != len(text):
        raise malformed(document, SHAPE)
    found = [member(part) for part in members[0]]
    if len(found) != 1 or found[0] is None or found[0][0] != "events":
        raise malformed(document, SHAPE)
    return found[0][1]


def fill_plain(fields: Fields, draft: Draft) -> None:
    for name, raw in fields.items():
        if name == "data":
            draft.set_json(str(raw, "utf-8"))
        elif name == "headers":
            _fill_headers(raw, draft)
        elif name not in _TEXT_FIELDS:
            shown = name[:100]
            draft.refuse(Refusal.UNKNOWN_FIELD, f"There is no field {shown!r}.", f"/{escaped(shown)}")
        elif (text := text_of(raw, name, draft)) is not None:
            _fill_text(name, text, draft)


def _fill_text(name: str, text: str, draft: Draft) -> None:
    if name == "time":
        draft.set_time(text)
    elif name == "data_base64":
        draft.set_base64(text)
    else:
        draft.set_text(name, text, name)


def _fill_headers(raw: msgspec.Raw, draft: Draft) -> None:
    members = parts(bytes(raw), 0, MAX_HEADERS)
    if members is not None and len(members[0]) > MAX_HEADERS:
        draft.refuse(Refusal.TOO_MANY_ITEMS, f"The event has more than {MAX_HEADERS} headers.", "/headers")
        return
    try:
        headers = _OBJECT.decode(raw) or {}
    except msgspec.ValidationError:
        draft.refuse(Refusal.WRONG_TYPE, "headers must be an object of strings.", "/headers")
        return
    for name, value in headers.items():
        text = text_of(value, name, draft, "/headers")
        if text is not None:
            draft.add_header(name, text, "/headers")
