"""Where a stream begins: what the client asked for, held against what the logs hold."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from datetime import datetime
from enum import Enum
from typing import Literal, NamedTuple

from app.errors import BadEventId, DatabaseUnavailable, OffsetAhead, TooManyItems, TopicNotFound
from app.live.lookup import Lookup, TopicState
from app.live.position import (
    MAX_ID_BYTES,
    Gap,
    Resume,
    TopicMark,
    TopicPosition,
    longest_id_bytes,
    parse_event_id,
)
from app.live.protocols import EpochSource, LogReader
from app.live.slots import Slots
from app.model import Topic

MAX_PARTITIONS = 1024
"""Of all topics of a stream together, as every event id lists each of them."""
CONCURRENT_SEARCHES = 4
"""By time, of all streams that begin: each partition is a question of its own to the database."""
CONCURRENT_SEARCHES_PER_TOPIC = 2
MOST_PLANS = 4


class Edge(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"


Start = Edge | datetime


class LanePlan(NamedTuple):
    """One topic of a stream: the offsets that its reader has consumed, and what it must be told first."""

    topic: Topic
    tips: Sequence[int]
    seen: Sequence[int]
    gaps: Sequence[Gap]


class Gone(NamedTuple):
    """A topic that the client was reading and that was deleted meanwhile, and where the client was.

    Ids go on naming it: it is no stranger when the client comes back, nor when another one has its name.
    """

    topic: str
    mark: TopicMark


class Plan(NamedTuple):
    lanes: Sequence[LanePlan]
    gone: Sequence[Gone]


class Planner:
    def __init__(self, store: LogReader, lookup: Lookup, epochs: EpochSource) -> None:
        self._store = store
        self._lookup = lookup
        self._epochs = epochs
        self._searches = Slots(CONCURRENT_SEARCHES, CONCURRENT_SEARCHES_PER_TOPIC)

    async def plan(self, topics: Sequence[str], start: Start, last_event_id: str | None) -> Plan:
        """Registers nothing. Raises TopicNotFound, BadEventId, OffsetAhead, TooManyItems.

        All of it is of one epoch, the known one when this returns: who has tips of another would follow
        logs from where they never were.
        """
        resume = parse_event_id(last_event_id) if last_event_id else Resume(None, {})
        if resume is None:
            start, resume = Edge.EARLIEST, Resume(None, {})
        is_sure = False
        for _ in range(MOST_PLANS):
            before = await self._epochs.epoch()
            try:
                epoch = self._epochs.epoch_now if is_sure else self._epochs.epoch
                plan = await self._plan(topics, start, resume, epoch)
            except OffsetAhead:
                if is_sure:
                    raise
                # Known epochs may be a little old, and a database that was put back has lower tips.
                is_sure = True
                continue
            if self._epochs.known == before:
                return plan
        raise DatabaseUnavailable("The database was replaced by another one, again and again.")

    async def _plan(
        self,
        topics: Sequence[str],
        start: Start,
        resume: Resume | int,
        epoch: Callable[[], Awaitable[str]],
    ) -> Plan:
        states, gone = await self._states(topics, resume.topics if isinstance(resume, Resume) else ())
        if isinstance(resume, int):
            resume = _from_number(resume, states)
        for topic in resume.topics:
            if topic not in topics:
                raise BadEventId(f"The event id names topic {topic!r}, which is not part of this stream.")
        same_epoch = resume.epoch in (None, await epoch())
        left = [_gone(topic, resume.topics[topic], same_epoch=same_epoch) for topic in gone]
        _check_size([state.topic for state in states], left)
        lanes = []
        for state in states:
            position = resume.topics.get(state.topic.name)
            if position is None:
                lanes.append(LanePlan(state.topic, state.tips, await self._first(state, start), ()))
            elif _is_another(state.topic, position, same_epoch=same_epoch):
                lanes.append(_begun_anew(state, position))
            else:
                lanes.append(_resumed(state, position, same_epoch=same_epoch))
        return Plan(lanes, left)

    async def _states(
        self, topics: Sequence[str], named: Container[str]
    ) -> tuple[list[TopicState], list[str]]:
        """A topic that is gone is no error if the client read it before, and others are left."""
        found = await asyncio.gather(*map(self._lookup.state, topics), return_exceptions=True)
        states = [state for state in found if isinstance(state, TopicState)]
        gone = []
        for topic, error in zip(topics, found, strict=True):
            if isinstance(error, TopicNotFound) and topic in named and states:
                gone.append(topic)
            elif isinstance(error, BaseException):
                raise error
        return states, gone

    async def _first(self, state: TopicState, start: Start) -> list[int]:
        if start is Edge.LATEST:
            return state.tips
        if start is Edge.EARLIEST:
            return [bounds.earliest - 1 for bounds in state.bounds]
        offsets = []
        for bounds in state.bounds:
            async with self._searches.slot(state.topic.topic_id):
                offset = await self._store.offset_at(state.topic.name, bounds.partition, start)
            offsets.append(offset - 1)
        return offsets


def _check_size(topics: Sequence[Topic], gone: Sequence[Gone]) -> None:
    """Every id that the stream will ever send must be accepted when the client comes back with it."""
    if sum(topic.partitions for topic in topics) > MAX_PARTITIONS:
        raise TooManyItems(f"A stream may follow at most {MAX_PARTITIONS} partitions.", limit=MAX_PARTITIONS)
    longest = longest_id_bytes(topics) + sum(len(b"," + one.mark.text) for one in gone)
    if longest > MAX_ID_BYTES:
        raise TooManyItems(
            f"The ids of this stream could take {longest} bytes, more than {MAX_ID_BYTES}; "
            "follow fewer topics on one stream.",
            limit=MAX_ID_BYTES,
        )


def _from_number(offset: int, states: Sequence[TopicState]) -> Resume:
    if offset == 0:
        return Resume(None, {state.topic.name: TopicPosition(None, {}) for state in states})
    if len(states) > 1 or states[0].topic.partitions > 1:
        raise BadEventId("A bare offset tells no position in a stream of several partitions.")
    return Resume(None, {states[0].topic.name: TopicPosition(None, {0: offset})})


def _gone(topic: str, position: TopicPosition, *, same_epoch: bool) -> Gone:
    """Its number stays known in another epoch, its offsets would be taken for some of that one."""
    assert position.topic_id is not None  # nosec B101: a bare offset is only of a topic that was found
    offsets = position.offsets if same_epoch else {}
    seen = [offsets.get(partition, 0) for partition in range(max(offsets, default=-1) + 1)]
    return Gone(topic, TopicMark(topic, position.topic_id, seen))


def _is_another(topic: Topic, position: TopicPosition, *, same_epoch: bool) -> bool:
    """Whether the client read a topic that had this one's name before it."""
    if position.topic_id not in (None, topic.topic_id):
        return True
    beyond = [partition for partition in position.offsets if partition >= topic.partitions]
    if beyond and same_epoch:
        raise BadEventId(f"Topic {topic.name!r} has no partition {beyond[0]}.")
    # In a database that was put back the same number may have been given to another topic.
    return bool(beyond)


def _begun_anew(state: TopicState, position: TopicPosition) -> LanePlan:
    """The client has nothing of this topic yet, whatever it read of the one before."""
    known = [bounds for bounds in state.bounds if bounds.partition in position.offsets]
    gaps = [
        Gap("topic", state.topic.name, partition, position.offsets.get(partition, 0) + 1, earliest)
        for partition, earliest, _ in known or state.bounds[:1]
    ]
    return LanePlan(state.topic, state.tips, [bounds.earliest - 1 for bounds in state.bounds], gaps)


def _resumed(state: TopicState, position: TopicPosition, *, same_epoch: bool) -> LanePlan:
    """A topic that the client read before, whose unlisted partitions it had nothing of."""
    seen, gaps = [], []
    for partition, earliest, tip in state.bounds:
        offset = position.offsets.get(partition, 0)
        if offset > tip and same_epoch:
            raise OffsetAhead(
                f"Partition {partition} of topic {state.topic.name!r} ends at offset {tip}.",
                topic=state.topic.name,
                partition=partition,
                tip=tip,
            )
        if (offset and not same_epoch) or offset + 1 < earliest:
            reason: Literal["trimmed", "epoch"] = "trimmed" if same_epoch else "epoch"
            gaps.append(Gap(reason, state.topic.name, partition, offset + 1, earliest))
        seen.append(max(min(offset, tip), earliest - 1))
    return LanePlan(state.topic, state.tips, seen, gaps)
