"""Positions of a stream and the event ids that carry them.

An id is the whole position, `v1.<epoch>.<topic>:<topic_id>:<partition>:<offset>:…,<topic>:…`: the
last offset consumed of every partition, so that resuming needs nothing but the id. The number of a
topic tells it from others that had its name before. Partitions at offset 0 are left out, but a
topic is always named: one that is named starts its unlisted partitions at 0, one that is not starts
wherever the request says. Topic names hold none of `:`, `,`, which keeps ids unambiguous.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.errors import BadEventId
from app.model import GapReason, Topic, TopicId

MAX_ID_BYTES = 32_768
"""Percent-encoded, and beside the topics that it names, such an id still fits into a query."""

_VECTOR = re.compile(r"v1\.([a-z0-9]{8,16})\.(.+)", re.ASCII)
_ENTRY = re.compile(r"([a-z0-9][a-z0-9._-]{0,199}):([1-9][0-9]{0,9})((?::[0-9]+:[0-9]+)*)", re.ASCII)
_PAIR = re.compile(r":(0|[1-9][0-9]{0,2}):([1-9][0-9]{0,29})(?=:|\Z)", re.ASCII)
_LONGEST_EPOCH = 16
_LONGEST_OFFSET = 19
_NUMBER = re.compile(r"0|[1-9][0-9]{0,29}", re.ASCII)


class TopicPosition(NamedTuple):
    """The offsets that a client consumed of one topic; without a number, of whichever has the name."""

    topic_id: TopicId | None
    offsets: Mapping[int, int]


class Resume(NamedTuple):
    """Where a client says it stopped, in logs of this epoch.

    A position without an epoch was written by hand and means the logs as they are.
    """

    epoch: str | None
    topics: Mapping[str, TopicPosition]


class Gap(NamedTuple):
    """What a stream cannot deliver: one partition from `requested` to before `earliest`.

    With the reasons `epoch` and `topic` the log is another one now, so offsets seen before mean
    nothing in it; after `topic` it is delivered from its earliest event.
    """

    reason: GapReason
    topic: str
    partition: int
    requested: int
    earliest: int


class TopicMark:
    """The part of an event id that tells one topic's position, kept as text and moved step by step."""

    __slots__ = ("_name", "_pieces", "_text")

    def __init__(self, topic: str, topic_id: TopicId, seen: Sequence[int]) -> None:
        self._name = b"%b:%d" % (topic.encode(), topic_id)
        self._pieces = [self._piece(partition, offset) for partition, offset in enumerate(seen)]
        self._text: bytes | None = None

    @staticmethod
    def _piece(partition: int, offset: int) -> bytes:
        return b":%d:%d" % (partition, offset) if offset else b""

    def move(self, partition: int, offset: int) -> None:
        self._pieces[partition] = self._piece(partition, offset)
        self._text = None

    @property
    def text(self) -> bytes:
        if self._text is None:
            self._text = self._name + b"".join(self._pieces)
        return self._text


def event_id(epoch: str, marks: Iterable[TopicMark]) -> bytes:
    return b"v1.%b.%b" % (epoch.encode(), b",".join([mark.text for mark in marks]))


def longest_id_bytes(topics: Iterable[Topic]) -> int:
    """How long the ids of a stream of these topics can become."""
    size = len("v1.") + _LONGEST_EPOCH
    for topic in topics:
        size += len(f".{topic.name}:{topic.topic_id}")
        size += sum(len(f":{partition}:") + _LONGEST_OFFSET for partition in range(topic.partitions))
    return size


def parse_event_id(text: str) -> Resume | int | None:
    """A whole position, a bare offset, or None for `earliest`.

    Strict: what no stream can have sent is refused, as a repaired position would skip or repeat
    events in silence.
    """
    if text == "earliest":
        return None
    if _NUMBER.fullmatch(text):
        return int(text)
    if len(text) > MAX_ID_BYTES or not (match := _VECTOR.fullmatch(text)):
        raise BadEventId(f"The event id {text[:100]!r} is not one that a stream has sent.")
    topics: dict[str, TopicPosition] = {}
    for entry in match[2].split(","):
        topic, position = _parse_entry(entry)
        if topic in topics:
            raise BadEventId(f"The event id names topic {topic!r} twice.")
        topics[topic] = position
    return Resume(match[1], topics)


def _parse_entry(entry: str) -> tuple[str, TopicPosition]:
    parts = _ENTRY.fullmatch(entry)
    pairs = _PAIR.findall(parts[3]) if parts else []
    if not parts or 2 * len(pairs) != parts[3].count(":"):
        raise BadEventId(
            f"The entry {entry[:100]!r} of the event id is not topic:topic_id:partition:offset, "
            "with as many partitions and offsets as were read."
        )
    offsets = {int(partition): int(offset) for partition, offset in pairs}
    if len(offsets) < len(pairs):
        raise BadEventId(f"The event id names a partition of topic {parts[1]!r} twice.")
    return parts[1], TopicPosition(TopicId(int(parts[2])), offsets)
