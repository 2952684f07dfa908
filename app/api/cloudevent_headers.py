"""CloudEvents 1.0 in binary mode: attributes in `ce-*` headers, the data is the body as it is."""

import re
from urllib.parse import unquote_to_bytes

from app.api.cloudevents import fill_attributes
from app.api.drafts import Draft, Limits
from app.api.gate import flaws
from app.api.items import settle, syntax_fault
from app.api.json_text import pointer_at
from app.api.media_types import RawHeaders, is_json
from app.api.refusals import Refusal
from app.model import NewEvent

PREFIX = "ce-"
# What the body and the content type say must not be said a second time.
_ELSEWHERE = ("data", "datacontenttype")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*+)"')
_PLAIN = re.compile(rb"[\x20-\x21\x23-\x7e]*+")
_VISIBLE = re.compile(rb"[\x20-\x7e]*+")
_STRAY_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def decode_binary(
    headers: RawHeaders, body: bytes, limits: Limits, transaction_id: str | None
) -> list[NewEvent]:
    draft = Draft(0, limits, transaction_id)
    fill_attributes(_attributes(headers, draft), draft)
    content_type = _content_type(headers, draft)
    if content_type is not None and is_json(content_type):
        _fill_json(body, draft)
    else:
        draft.set_bytes(body)
    event = draft.event()
    events = [event] if event else []
    settle(events, [0], draft.problems)
    return events


def _attributes(headers: RawHeaders, draft: Draft) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for raw_name, value in headers:
        name = raw_name.decode("latin-1").lower()
        if not name.startswith(PREFIX):
            continue
        attribute = name.removeprefix(PREFIX)
        if attribute in attributes:
            draft.refuse(Refusal.INVALID_ATTRIBUTE, f"{name} is given twice.", f"/{attribute}")
        elif attribute in _ELSEWHERE:
            detail = f"{name} is not allowed in binary mode: the body and its Content-Type carry that."
            draft.refuse(Refusal.INVALID_ATTRIBUTE, detail, f"/{attribute}")
        elif (text := _text(attribute, value, draft)) is not None:
            attributes[attribute] = text
    return attributes


def _text(attribute: str, value: bytes, draft: Draft) -> str | None:
    """The text of a header: out of its double quotes, if it has any, then percent-decoded once."""
    quoted = _QUOTED.fullmatch(value)
    inner = re.sub(rb"\\(.)", rb"\1", quoted[1]) if quoted else value
    if not (_VISIBLE if quoted else _PLAIN).fullmatch(inner) or _STRAY_PERCENT.search(inner):
        detail = f"ce-{attribute} must be printable ASCII, with everything else percent-encoded."
        draft.refuse(Refusal.INVALID_ATTRIBUTE, detail, f"/{attribute}")
        return None
    try:
        return unquote_to_bytes(inner).decode()
    except UnicodeDecodeError:
        detail = f"What ce-{attribute} percent-encodes is not UTF-8."
        draft.refuse(Refusal.INVALID_UTF8, detail, f"/{attribute}")
        return None


def _content_type(headers: RawHeaders, draft: Draft) -> str | None:
    values = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-type"]
    if len(values) > 1:
        draft.refuse(Refusal.INVALID_ATTRIBUTE, "Content-Type is given twice.", "/datacontenttype")
    if not values or not values[0]:
        return None
    draft.set_text("datacontenttype", values[0], "datacontenttype")
    return values[0]


def _fill_json(body: bytes, draft: Draft) -> None:
    if not body:
        return
    found = flaws(body)
    for flaw in found:
        draft.refuse(flaw.code, flaw.detail, "/data" + pointer_at(body, flaw.position))
    fault = None if found else syntax_fault(body)
    if fault is not None:
        draft.refuse(Refusal.INVALID_JSON, fault.detail, "/data")
    if found or fault:
        draft.set_bytes(body)
    else:
        draft.set_json(body.decode())
