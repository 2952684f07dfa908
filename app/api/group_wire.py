"""Claims and dead letters as bytes, around events that are copied as they are."""

from collections.abc import Sequence
from json.encoder import encode_basestring as quote
from typing import Any

import msgspec

from app.api.wire import encode_event, format_time
from app.live.claims import Delivery
from app.model import DeadLetter, Lease


def lease_members(lease: Lease) -> dict[str, Any]:
    runs = lease.runs
    members: dict[str, Any] = {
        "token": lease.token,
        "partition": lease.partition,
        "first_offset": runs[0].first,
        "last_offset": runs[-1].last,
    }
    if len(runs) > 1:
        members["offsets"] = [offset for run in runs for offset in range(run.first, run.last + 1)]
    return {**members, "attempt": lease.attempt, "expires_at": format_time(lease.expires_at)}


def encode_claim(delivery: Delivery, acked: Sequence[tuple[str, str]]) -> bytes:
    """`acked` are leases and what became of their acks."""
    claimed = delivery.claimed
    due = claimed.due_seconds
    return b'{"status":"%b","acked":%b,"lease":%b,"events":[%b],"skipped":%d,"lost":%d,"retry_after":%b}' % (
        claimed.status.encode(),
        msgspec.json.encode([{"lease": lease, "status": status} for lease, status in acked]),
        b"null" if claimed.lease is None else msgspec.json.encode(lease_members(claimed.lease)),
        b",".join(delivery.items),
        claimed.skipped,
        claimed.lost,
        b"null" if due is None or claimed.lease is not None else b"%.3f" % max(0.0, due),
    )


def encode_dead_letter(letter: DeadLetter) -> bytes:
    event = letter.event
    attributes = ""
    if event is not None and event.type is not None:
        attributes = f',"type":{quote(event.type)}'
    if event is not None and event.key is not None:
        attributes += f',"key":{quote(event.key)}'
    head = (
        f'{{"id":{letter.dead_letter_id},"partition":{letter.partition},"offset":{letter.offset}'
        f',"first_offset":{letter.transaction.first},"last_offset":{letter.transaction.last}'
        f',"status":"{letter.status}","attempts":{letter.attempts},"reason":{quote(letter.reason)}'
        f',"errors":{letter.errors},"dead_at":"{format_time(letter.dead_at)}"'
        f',"updated_at":"{format_time(letter.updated_at)}"{attributes},"event":'
    )
    return head.encode() + (b"null" if event is None else encode_event(event)) + b"}"
