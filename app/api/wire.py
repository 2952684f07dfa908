"""Events and pages as bytes. `data` and `headers` are copied as they were stored, never parsed again."""

from binascii import b2a_base64
from collections.abc import Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring as quote

from app.model import Event, Published

NDJSON = "application/x-ndjson"


def encode_event(event: Event) -> bytes:
    """One JSON object. A raw CR or LF can only be in `data`, as white space between its tokens."""
    topic, partition, offset = event.topic, event.partition, event.offset
    event_id = f'"{partition}-{offset}"' if event.id is None else quote(event.id)
    source = f'"/v1/topics/{topic}"' if event.source is None else quote(event.source)
    return (
        f'{{"topic":"{topic}","partition":{partition},"offset":{offset},"id":{event_id},"source":{source}'
        f"{_optional(event)}{_data(event)}}}"
    ).encode()


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


def _optional(event: Event) -> str:
    text = ""
    if event.type is not None:
        text = f',"type":{quote(event.type)}'
    if event.subject is not None:
        text += f',"subject":{quote(event.subject)}'
    if event.time is not None:
        text += f',"time":"{format_time(event.time)}"'
    text += f',"published_at":"{event.published_at.astimezone(UTC).isoformat(timespec="microseconds")[:-6]}Z"'
    if event.key is not None:
        text += f',"key":{quote(event.key)}'
    if event.headers is not None:
        text += f',"headers":{event.headers}'
    if event.datacontenttype is not None:
        text += f',"datacontenttype":{quote(event.datacontenttype)}'
    if event.transaction_id is not None:
        text += f',"transaction_id":{quote(event.transaction_id)}'
    return text


def _data(event: Event) -> str:
    if event.data is not None:
        return f',"data":{event.data}'
    return f',"data_base64":"{b2a_base64(event.data_bytes or b"", newline=False).decode("ascii")}"'
