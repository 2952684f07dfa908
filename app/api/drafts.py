"""An event in the making: takes its attributes one by one and notes everything that is wrong with them."""

import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec

from app.api.json_text import escaped
from app.api.refusals import Refusal
from app.api.rfc3339 import parse_time
from app.api.text_rules import MAX_BYTES, MAX_HEADER_BYTES, MAX_HEADERS, MAX_TOKEN_BYTES, text_fault
from app.errors import ItemProblem
from app.model import NewEvent

MAX_PROBLEMS = 10
"""Of one item: no request may make the answer grow without bound."""


class Limits(NamedTuple):
    """What one request may hold. An event's bytes are those of its data and its headers."""

    max_event_bytes: int
    max_batch_events: int


class Draft:
    def __init__(self, index: int, limits: Limits, transaction_id: str | None) -> None:
        self.problems: list[ItemProblem] = []
        self._index = index
        self._limits = limits
        self._request_transaction = transaction_id
        self._texts: dict[str, str] = {}
        self._headers: dict[str, str] = {}
        self._time: datetime | None = None
        self._data: str | None = None
        self._data_bytes: bytes | None = None

    def refuse(self, code: Refusal, detail: str, pointer: str = "") -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(ItemProblem(self._index, code, detail, pointer))

    def has_problem(self, pointer: str) -> bool:
        return any(problem["pointer"] == pointer for problem in self.problems)

    def set_text(self, attribute: str, text: str, field: str) -> None:
        """`field` is what the sender calls the attribute."""
        if not text:
            self.refuse(Refusal.INVALID_ATTRIBUTE, f"{field} is empty; leave it out instead.", f"/{field}")
        elif fault := text_fault(field, text, MAX_BYTES[attribute]):
            self.refuse(*fault, f"/{field}")
        self._texts[attribute] = text

    def set_time(self, text: str) -> None:
        self._time = parse_time(text)
        if self._time is None:
            detail = "time must be RFC 3339 with a zone, such as 2026-11-27T10:00:00Z, of years 0001 to 9999."
            self.refuse(Refusal.INVALID_TIME, detail, "/time")

    def add_header(self, name: str, value: str, parent: str = "") -> None:
        """`parent` is the pointer of the object that the header was found in."""
        if not name:
            self.refuse(Refusal.INVALID_ATTRIBUTE, "The name of a header is empty.", parent)
        elif fault := text_fault("The name of a header", name, MAX_TOKEN_BYTES):
            self.refuse(*fault, parent)
        elif fault := text_fault(name, value, MAX_HEADER_BYTES):
            self.refuse(*fault, f"{parent}/{escaped(name)}")
        self._headers[name] = value

    def set_json(self, data: str) -> None:
        self._data = data

    def set_bytes(self, data: bytes) -> None:
        self._data_bytes = data

    def set_base64(self, text: str) -> None:
        data = decode_base64(text)
        if data is None:
            detail = "data_base64 must be padded base64 of the standard alphabet, without white space."
            self.refuse(Refusal.INVALID_BASE64, detail, "/data_base64")
        self._data_bytes = data or b""

    def event(self) -> NewEvent | None:
        """The event; None if anything is wrong with it."""
        transaction_id = self._texts.pop("transaction_id", self._request_transaction)
        if self._request_transaction not in (None, transaction_id):
            detail = "The event names another transaction than the request does."
            self.refuse(Refusal.TRANSACTION_CONFLICT, detail)
        headers = encode_headers(self._headers)
        self._check_size(headers)
        if self._data is None and self._data_bytes is None:
            self.refuse(Refusal.MISSING_DATA, "The event has no data; null is data: write it out.", "/data")
        if self.problems:
            return None
        return NewEvent(
            data=self._data,
            data_bytes=self._data_bytes,
            time=self._time,
            headers=headers,
            transaction_id=transaction_id,
            **self._texts,
        )

    def _check_size(self, headers: str | None) -> None:
        if self._data is not None and self._data_bytes is not None:
            detail = "data and data_base64 exclude each other."
            self.refuse(Refusal.INVALID_ATTRIBUTE, detail, "/data_base64")
        if len(self._headers) > MAX_HEADERS:
            self.refuse(Refusal.TOO_MANY_ITEMS, f"The event has more than {MAX_HEADERS} headers.", "/headers")
        allowed = self._limits.max_event_bytes
        size = event_bytes(self._data, self._data_bytes, headers)
        if size > allowed:
            detail = f"The event's data and headers have {size} bytes; {allowed} are allowed."
            self.refuse(Refusal.EVENT_TOO_LARGE, detail, "/data")


def event_bytes(data: str | None, data_bytes: bytes | None, headers: str | None) -> int:
    size = len(data_bytes) if data_bytes is not None else 0
    for text in (data, headers):
        if text is not None:
            size += len(text) if text.isascii() else len(text.encode())
    return size


def encode_headers(headers: Mapping[str, str] | None) -> str | None:
    return msgspec.json.encode(headers).decode() if headers else None


def decode_base64(text: str) -> bytes | None:
    """The bytes, or None unless `text` is exactly what encoding them gives."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
    return data if binascii.b2a_base64(data, newline=False) == text.encode() else None
