"""From a line to an event: the line's bytes become `data` untouched, named fields become attributes."""

from typing import Any

import msgspec

from app.api.decoder_texts import column, fault_of
from app.cli.failures import UsageFailure

TOO_DEEP = "The JSON text is nested too deeply."


class Refused(Exception):
    """One line that cannot be an event; the others go on."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class WireEvent(msgspec.Struct, omit_defaults=True):
    data: msgspec.Raw
    key: str | None = None
    type: str | None = None
    id: str | None = None
    time: str | None = None


class Field:
    """A dotted path into the line; with `?` at its end the line may lack it."""

    def __init__(self, text: str) -> None:
        self.optional = text.endswith("?")
        self.name = text.removesuffix("?")
        self._path = self.name.split(".")
        if not all(self._path):
            raise UsageFailure(f"{text!r} is not a field name")

    def read(self, line: bytes) -> str | None:
        """Text as it is, a number or boolean as it is spelled."""
        raw = self._find(line)
        if raw is None or raw == b"null":
            if self.optional:
                return None
            raise Refused(
                "missing_field", f"There is no field {self.name!r}; write {self.name}? if it may be absent."
            )
        if raw[:1] == b'"':
            return msgspec.json.decode(raw, type=str)
        if raw[:1] in b"{[":
            raise Refused("invalid_field", f"The field {self.name!r} is neither text, number nor boolean.")
        return raw.decode()

    def _find(self, line: bytes) -> bytes | None:
        members = _members(line)
        if self.name in members:
            return bytes(members[self.name])
        found = line
        for step in self._path:
            members = _members(found)
            if step not in members:
                return None
            found = bytes(members[step])
        return found


class Mapping(msgspec.Struct, frozen=True, kw_only=True):
    """Constants and fields that become the attributes of each event."""

    type: str | None = None
    key: str | None = None
    type_field: Field | None = None
    key_field: Field | None = None
    time_field: Field | None = None
    id_field: Field | None = None
    text: bool = False

    def event(self, line: bytes) -> bytes:
        """The event's JSON. The line is checked first: it must not break out of its place in the request."""
        try:
            data = self._data(line)
            return msgspec.json.encode(
                WireEvent(
                    data=msgspec.Raw(data),
                    key=self.key if self.key_field is None else self.key_field.read(data),
                    type=self.type if self.type_field is None else self.type_field.read(data),
                    id=self.id_field.read(data) if self.id_field else None,
                    time=self.time_field.read(data) if self.time_field else None,
                )
            )
        except UnicodeDecodeError as error:
            detail = f"Not UTF-8 at column {column(line, error.start)}."
            raise Refused("invalid_json", detail) from error
        except RecursionError as error:
            raise Refused("invalid_json", TOO_DEEP) from error

    def _data(self, line: bytes) -> bytes:
        text = line.decode()
        if self.text:
            return msgspec.json.encode(text)
        if (fault := json_fault(line, is_line=True)) is not None:
            raise Refused("invalid_json", fault)
        return line


def json_fault(document: bytes, *, is_line: bool = False) -> str | None:
    """Why it is not JSON, as the service says it; None if it is."""
    try:
        msgspec.json.decode(document, type=msgspec.Raw)
    except RecursionError:
        return TOO_DEEP
    except msgspec.MsgspecError as error:
        return fault_of(document, str(error), is_line=is_line).detail
    return None


def _members(line: bytes) -> dict[str, Any]:
    if line.lstrip()[:1] != b"{":
        return {}
    return msgspec.json.decode(line, type=dict[str, msgspec.Raw])
