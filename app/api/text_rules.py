"""Which texts the attributes of an event may hold, and how long each may be."""

import re
from typing import NamedTuple

from app.api.refusals import Refusal

MAX_TEXT_BYTES = 1024
"""Of `key`, `id`, `source`, `subject` and `type`."""
MAX_TOKEN_BYTES = 255
"""Of `transaction_id`, `datacontenttype` and names of headers."""
MAX_HEADER_BYTES = 8192
MAX_HEADERS = 100

MAX_BYTES = {
    "key": MAX_TEXT_BYTES,
    "id": MAX_TEXT_BYTES,
    "source": MAX_TEXT_BYTES,
    "subject": MAX_TEXT_BYTES,
    "type": MAX_TEXT_BYTES,
    "datacontenttype": MAX_TOKEN_BYTES,
    "transaction_id": MAX_TOKEN_BYTES,
}

_NONCHARACTERS = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_FORBIDDEN = re.compile(f"[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_NONCHARACTERS}]")


class Fault(NamedTuple):
    code: Refusal
    detail: str


def text_fault(name: str, text: str, most_bytes: int) -> Fault | None:
    """Why an attribute cannot have this text; whether it may be empty is for the caller to say."""
    if len(text) <= most_bytes and text.isascii() and text.isprintable():
        return None
    if len(text) > most_bytes or (not text.isascii() and len(text.encode()) > most_bytes):
        return Fault(Refusal.TOO_LONG, f"{name} is longer than {most_bytes} bytes.")
    # Nothing that is forbidden is printable.
    found = None if text.isprintable() else _FORBIDDEN.search(text)
    if found is None:
        return None
    if found[0] == "\0":
        return Fault(Refusal.UNSTORABLE_CHARACTER, f"{name} holds U+0000, which cannot be stored.")
    what = f"U+{ord(found[0]):04X}, a control character or noncharacter"
    return Fault(Refusal.CONTROL_CHARACTER, f"{name} holds {what}.")
