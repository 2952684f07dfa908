"""From a publish request to its events: the one way in for every content type that comes as a whole.

Streams of lines come through `ndjson`.
"""

from app.api import cloudevents, plain_events
from app.api.cloudevent_headers import decode_binary
from app.api.drafts import Limits
from app.api.media_types import Content, RawHeaders
from app.api.text_rules import MAX_BYTES, text_fault
from app.errors import InvalidArgument
from app.model import NewEvent


def decode_events(
    content: Content, headers: RawHeaders, body: bytes, limits: Limits, transaction_id: str | None
) -> list[NewEvent]:
    """All events, at least one; otherwise raises with everything that is wrong.

    `transaction_id` is the request's own, which every event then belongs to.
    """
    match content:
        case Content.EVENTS:
            return plain_events.decode_events(body, limits, transaction_id)
        case Content.CLOUDEVENT:
            return cloudevents.decode_event(body, limits, transaction_id)
        case Content.CLOUDEVENT_BATCH:
            return cloudevents.decode_batch(body, limits, transaction_id)
        case Content.CLOUDEVENT_BINARY:
            return decode_binary(headers, body, limits, transaction_id)
        case Content.NDJSON:
            raise ValueError("lines come through app.api.ndjson")


def check_transaction_id(text: str) -> str:
    """The option of the request, held to the rule of the events' own field."""
    if not text:
        raise InvalidArgument("transaction_id is empty.", field="transaction_id")
    if fault := text_fault("transaction_id", text, MAX_BYTES["transaction_id"]):
        raise InvalidArgument(fault.detail, field="transaction_id")
    return text
