"""CloudEvents 1.0 in JSON: one event (structured mode) or an array of them (batch mode).

Attributes the log knows become its own; every other one becomes a header, an integer or a boolean by its
CloudEvents spelling. `data` stays the JSON value it is, also where `datacontenttype` names something else.
"""

import re
from collections.abc import Mapping

import msgspec

from app.api.drafts import Draft, Limits
from app.api.gate import MAX_DEPTH, storable
from app.api.items import Fields, array_items, check_count, may_be_many, read_items, settle, text_of
from app.api.json_text import escaped
from app.api.refusals import Refusal
from app.errors import ItemProblem
from app.model import NewEvent

SPECVERSION = "1.0"
REQUIRED = frozenset(("specversion", "id", "source", "type"))
# The attribute, and what the log calls it.
TEXTS = {
    "id": "id",
    "source": "source",
    "type": "type",
    "subject": "subject",
    "datacontenttype": "datacontenttype",
    "partitionkey": "key",
    "transactionid": "transaction_id",
}
# More fields than this in one batch are not decoded all at once: each costs many times its bytes in memory.
MAX_FIELDS_AT_ONCE = 200_000

_BATCH = msgspec.json.Decoder(list[Fields])
_ALWAYS_TEXT = {*REQUIRED, *TEXTS, "time"}
_NAME = re.compile(r"[a-z0-9]+")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,9})")
_INT32 = 2**31


def decode_event(document: bytes, limits: Limits, transaction_id: str | None) -> list[NewEvent]:
    return read_items([(0, document.strip(b" \t\r\n"))], fill_cloudevent, limits, transaction_id)


def decode_batch(document: bytes, limits: Limits, transaction_id: str | None) -> list[NewEvent]:
    batch = _quickly(document, limits)
    if batch is None:
        items = array_items(document.strip(b" \t\r\n"), limits, document)
        return read_items(enumerate(items), fill_cloudevent, limits, transaction_id)
    check_count(len(batch), limits)
    events: list[NewEvent] = []
    numbers: list[int] = []
    problems: list[ItemProblem] = []
    for i, fields in enumerate(batch):
        draft = Draft(i, limits, transaction_id)
        fill_cloudevent(fields, draft)
        if event := draft.event():
            events.append(event)
            numbers.append(i)
        problems += draft.problems
    settle(events, numbers, problems)
    return events


def _quickly(document: bytes, limits: Limits) -> list[Fields] | None:
    """The fields of all events at once, unless one of them needs the careful way."""
    if may_be_many(document, limits) or document.count(b":") > MAX_FIELDS_AT_ONCE:
        return None
    if not storable(document, MAX_DEPTH + 2):
        return None
    try:
        return _BATCH.decode(document)
    except msgspec.DecodeError:
        return None


def fill_cloudevent(fields: Fields, draft: Draft) -> None:
    attributes: dict[str, str] = {}
    for name, raw in fields.items():
        if name == "data":
            draft.set_json(str(raw, "utf-8"))
        elif name == "data_base64":
            if (text := text_of(raw, name, draft)) is not None:
                draft.set_base64(text)
        elif (value := _spelling(name, raw, draft)) is not None:
            attributes[name] = value
    fill_attributes(attributes, draft)


def _spelling(name: str, raw: msgspec.Raw, draft: Draft) -> str | None:
    """The CloudEvents string of an attribute's JSON value; null is the same as leaving it out."""
    text = str(raw, "utf-8")
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]
    if text[0] == '"' or text == "null" or name in _ALWAYS_TEXT:
        return text_of(raw, name, draft)
    if text in ("true", "false"):
        return text
    if _INTEGER.fullmatch(text) and -_INT32 <= int(text) < _INT32:
        return str(int(text))
    shown = name[:100]
    detail = f"{shown} must be a string, a boolean or an integer of 32 bits."
    draft.refuse(Refusal.WRONG_TYPE, detail, f"/{escaped(shown)}")
    return None


def fill_attributes(attributes: Mapping[str, str], draft: Draft) -> None:
    """Take attributes by their CloudEvents names, all but the data."""
    for name, text in attributes.items():
        if name in TEXTS:
            draft.set_text(TEXTS[name], text, name)
        elif name == "specversion":
            if text != SPECVERSION:
                detail = f"specversion must be {SPECVERSION}."
                draft.refuse(Refusal.INVALID_ATTRIBUTE, detail, "/specversion")
        elif name == "time":
            draft.set_time(text)
        elif _NAME.fullmatch(name) is None:
            shown = name[:100]
            detail = f"{shown!r} is no attribute name: those consist of a-z and 0-9."
            draft.refuse(Refusal.INVALID_ATTRIBUTE, detail, f"/{escaped(shown)}")
        else:
            draft.add_header(name, text)
    if not attributes.keys() >= REQUIRED:
        for name in sorted(REQUIRED - attributes.keys()):
            if not draft.has_problem(f"/{name}"):
                draft.refuse(Refusal.INVALID_ATTRIBUTE, f"{name} is missing.", f"/{name}")
