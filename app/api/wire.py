"""Events and pages as bytes. `data` and `headers` are copied as they were stored, never parsed again."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Raw, Struct
from msgspec.json import Encoder

from app.model import Event, Published

NDJSON = "application/x-ndjson"

_encode = Encoder().encode


class _Item(Struct, omit_defaults=True, frozen=True, gc=False):
    """An event as it is written: members that are None are left out."""

    topic: str
    partition: int
    offset: int
    id: str
    source: str
    published_at: datetime | str
    type: str | None = None
    subject: str | None = None
    time: str | None = None
    key: str | None = None
    headers: Raw | None = None
    datacontenttype: str | None = None
    transaction_id: str | None = None
    data: Raw | None = None
    data_base64: bytes | None = None


def encode_event(event: Event) -> bytes:
    """One JSON object. A raw CR or LF can only be in `data`, as white space between its tokens."""
    topic, partition, offset = event.topic, event.partition, event.offset
    time, headers, data = event.time, event.headers, event.data
    published_at = event.published_at
    if published_at.tzinfo is not UTC:
        published_at = published_at.astimezone(UTC)
    return _encode(
        _Item(
            topic,
            partition,
            offset,
            f"{partition}-{offset}" if event.id is None else event.id,
            f"/v1/topics/{topic}" if event.source is None else event.source,
            # The encoder leaves a fraction of 0 out; with six digits always, texts compare as their times do.
            published_at if published_at.microsecond else f"{published_at:%Y-%m-%dT%H:%M:%S.%fZ}",
            event.type,
            event.subject,
            None if time is None else format_time(time),
            event.key,
            None if headers is None else Raw(headers),
            event.datacontenttype,
            event.transaction_id,
            None if data is None else Raw(data),
            event.data_bytes,
        )
    )


def event_line(event: Event) -> bytes:
    """The same on one line: line breaks between the tokens of `data` become spaces."""
    line = encode_event(event)
    if b"\n" in line or b"\r" in line:
        line = line.replace(b"\n", b" ").replace(b"\r", b" ")
    return line


def encode_page(
    topic: str, partition: int, events: Sequence[Event], next_offset: int, tip: int, earliest: int
) -> bytes:
    return b'{"topic":"%b","partition":%d,"events":[%b],"next_offset":%d,"tip":%d,"earliest":%d}' % (
        topic.encode(),
        partition,
        b",".join([encode_event(event) for event in events]),
        next_offset,
        tip,
        earliest,
    )


def encode_lines(events: Sequence[Event]) -> bytes:
    return b"".join([event_line(event) + b"\n" for event in events])


def encode_published(topic: str, published: Published) -> bytes:
    places = ",".join(
        [
            f'{{"partition":{partition},"offset":{offset}}}'
            for partition, offset in zip(published.partitions, published.offsets, strict=True)
        ]
    )
    replayed = "true" if published.replayed else "false"
    return f'{{"topic":"{topic}","events":[{places}],"replayed":{replayed}}}'.encode()


def format_time(time: datetime) -> str:
    """RFC 3339 in UTC, with as many digits of the second as matter."""
    text = time.astimezone(UTC).isoformat()[:-6]
    return f"{text.rstrip('0')}Z" if time.microsecond else f"{text}Z"
