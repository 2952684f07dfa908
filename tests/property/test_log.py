"""The log against a list: whatever is published, refused, repeated, trimmed or restarted, both agree."""

import asyncio
import itertools
import os
import signal
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.db.embedded import EmbeddedServer
from app.db.migrate import migrate
from app.db.pool import Pool
from app.db.store import MAINTENANCE, Store
from app.errors import IdempotencyConflict, OffsetMismatch, OffsetTrimmed, TransactionSplit
from app.model import Event, NewEvent, Published, PublishOptions, TopicId
from app.settings import Settings
from tests.support.clock import Clock
from tests.support.databases import FAST
from tests.support.effort import effort
from tests.support.log import stage
from tests.support.wait import PATIENCE_SECONDS

EXAMPLES = effort(12, 400)
STEPS = effort(30, 60)
SEGMENT = 1000
# A log begins so many events before the end of its first segment.
ROOM = 8
ALL = 10_000
MANY_BYTES = 1 << 40

BOUNDED = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
CRASHING = settings(BOUNDED, max_examples=effort(3, 60))

Result = TypeVar("Result")

data = st.sampled_from(
    [
        "1.10",
        "null",
        "-0",
        '{"b":1,"a":2,"b":3}',
        '"\\u2028\\ud83d\\ude00"',
        "[ 1 , 2 ]",
        "12345678901234567890123",
        '"😀"',
    ]
)
keys = st.none() | st.sampled_from(["a", "b", "c", "k0177116386"])
texts = st.none() | st.sampled_from(["t", "a.b", "é 😀"])
events = st.builds(
    NewEvent,
    data=data,
    key=keys,
    type=texts,
    id=texts,
    source=texts,
    subject=texts,
    time=st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    datacontenttype=st.none() | st.just("application/json"),
    headers=st.none() | st.just('{ "h":"1" }'),
)
binary = st.builds(NewEvent, data_bytes=st.binary(max_size=20), key=keys)
batches = st.lists(events | binary, min_size=1, max_size=6)
partitions = st.integers(0, 2)
# Relative to where a log begins; some lie before it, some beyond its tip.
places = st.integers(-2, 40)
# Taken modulo what there is: events without a key go to any partition, so that may differ in a repetition.
picks = st.integers(0, 1000)


class Kept(NamedTuple):
    """A publish under a key, and its answer."""

    batch: list[NewEvent]
    answer: Published


class LogMachine(RuleBasedStateMachine):
    """`logs[p]` lists the events of partition p; offset n is at index n - 1."""

    numbers = itertools.count(1)

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._dsn = dsn
        self._settings = Settings(database_url=dsn, pool_min=0, pool_max=2, acquire_seconds=PATIENCE_SECONDS)
        self._topic = ""
        self._connect()
        self.delete_and_create()

    def _connect(self) -> None:
        self._pool = self._run(self._open())
        self._direct = self._run(asyncpg.connect(self._dsn))
        self._clock = Clock(self._direct)

    def _disconnect(self) -> None:
        self._run(self._pool.close())
        self._run(self._direct.close())

    def teardown(self) -> None:
        self._disconnect()
        self._runner.close()

    @rule(batch=batches)
    def publish(self, batch: list[NewEvent]) -> None:
        self._append(batch, self._publish(batch))

    @rule(batch=batches, partition=partitions, off_by=st.integers(-1, 2))
    def publish_at_an_expected_offset(self, batch: list[NewEvent], partition: int, off_by: int) -> None:
        tip = len(self.logs[partition])
        options = PublishOptions(partition=partition, expected_offset=tip + off_by)
        if off_by:
            with pytest.raises(OffsetMismatch) as refused:
                self._publish(batch, options)
            assert refused.value.extra["tip"] == tip
        else:
            answer = self._publish(batch, options)
            assert set(answer.partitions) == {partition}
            self._append(batch, answer)

    @rule(batch=batches, key=keys)
    def publish_a_transaction(self, batch: list[NewEvent], key: str | None) -> None:
        batch = [_changed(event, key=key, transaction_id="tx") for event in batch]
        answer = self._publish(batch)
        assert len(set(answer.partitions)) == 1
        self._append(batch, answer)

    @rule(event=events)
    def split_a_transaction(self, event: NewEvent) -> None:
        part = _changed(event, transaction_id="tx")
        with pytest.raises(TransactionSplit):
            self._publish([part, event, part])

    @rule(batch=batches)
    def publish_under_a_key(self, batch: list[NewEvent]) -> None:
        key = f"key-{len(self.kept)}"
        answer = self._publish(batch, PublishOptions(idempotency_key=key))
        assert not answer.replayed
        self._append(batch, answer)
        self.kept[key] = Kept(batch, answer)

    @precondition(lambda self: self.kept)
    @rule(pick=picks)
    def repeat_a_publish(self, pick: int) -> None:
        key = sorted(self.kept)[pick % len(self.kept)]
        batch, first = self.kept[key]
        again = self._publish(batch, PublishOptions(idempotency_key=key))
        assert again == msgspec.structs.replace(first, published_at=None, replayed=True)

    @precondition(lambda self: self.kept)
    @rule(pick=picks)
    def use_a_key_for_something_else(self, pick: int) -> None:
        key = sorted(self.kept)[pick % len(self.kept)]
        with pytest.raises(IdempotencyConflict):
            self._publish([*self.kept[key].batch, NewEvent(data="0")], PublishOptions(idempotency_key=key))

    @rule(batch=batches, partition=partitions, commit=st.booleans())
    def publish_at_commit(self, batch: list[NewEvent], partition: int, commit: bool) -> None:
        self._run(self._stage(batch, partition, commit))
        if commit:
            first = len(self.logs[partition]) + 1
            offsets = list(range(first, first + len(batch)))
            stored = Published(
                partitions=[partition] * len(batch), offsets=offsets, topic_id=TopicId(0), published_at=None
            )
            self._append(batch, stored)

    @rule(partition=partitions, place=places, limit=st.integers(1, 8), max_bytes=st.integers(1, 60))
    def read(self, partition: int, place: int, limit: int, max_bytes: int) -> None:
        start = self.begin[partition] + place
        if start < self.earliest[partition]:
            with pytest.raises(OffsetTrimmed) as refused:
                self._read(partition, start, limit, max_bytes)
            assert refused.value.extra["earliest"] == self.earliest[partition]
            return
        page = self._read(partition, start, limit, max_bytes)
        expected = self.logs[partition][start - 1 :][:limit]
        assert [event.offset for event in page] == list(range(start, start + len(page)))
        assert [_content(event) for event in page] == [_content(event) for event in expected[: len(page)]]
        assert bool(page) == bool(expected)
        lengths = [len((event.data or "").encode()) + len(event.data_bytes or b"") for event in expected]
        assert len(page) == len(expected) or sum(lengths[: len(page)]) >= max_bytes

    @rule(partition=partitions, place=places)
    def trim(self, partition: int, place: int) -> None:
        before = max(1, self.begin[partition] + place)
        self.earliest[partition] = max(self.earliest[partition], min(before, len(self.logs[partition]) + 1))
        assert self._run(self._store.trim(self._topic, partition, before)) == self.earliest[partition]

    @rule(seconds=st.integers(-3600, 3600))
    def move_the_clock(self, seconds: int) -> None:
        self._run(self._clock.move(timedelta(seconds=seconds)))

    @rule(partition=partitions, nudge=st.sampled_from([-1, 0, 1]), pick=picks)
    def look_up_a_time(self, partition: int, nudge: int, pick: int) -> None:
        readable = self._all(partition)
        if not readable:
            return
        time = readable[pick % len(readable)].published_at + timedelta(microseconds=nudge)
        expected = next(
            (event.offset for event in readable if event.published_at >= time), len(self.logs[partition]) + 1
        )
        assert self._run(self._store.offset_at(self._topic, partition, time)) == expected

    @rule()
    def restart(self) -> None:
        self._disconnect()
        self._connect()

    @rule()
    def delete_and_create(self) -> None:
        if self._topic:
            self._run(self._store.delete_topic(self._topic))
        else:
            self._topic = f"t{next(self.numbers)}"
        self._run(
            self._store.create_topic(
                self._topic,
                partitions=3,
                description=None,
                segment_events=SEGMENT,
                # More than all moves of the clock come to.
                idempotency_seconds=2_592_000,
            )
        )
        self.logs: list[list[NewEvent]] = [[], [], []]
        self.begin = [SEGMENT - ROOM + 1, SEGMENT - ROOM + 1, 1]
        self.earliest = list(self.begin)
        self.kept: dict[str, Kept] = {}
        self.places: dict[str, int] = {}
        for partition, begin in enumerate(self.begin):
            self._fill(partition, begin - 1)

    def _fill(self, partition: int, count: int) -> None:
        """Events that are trimmed away at once."""
        if count:
            filler = [NewEvent(data="0")] * count
            self._append(filler, self._publish(filler, PublishOptions(partition=partition)))
            assert self._run(self._store.trim(self._topic, partition, count + 1)) == count + 1

    @rule()
    def keep_up(self) -> None:
        for step in MAINTENANCE:
            self._run(self._store.maintain(step))

    @invariant()
    def the_database_holds_what_the_model_holds(self) -> None:
        bounds = self._run(self._store.bounds(self._topic, None))
        assert [(b.earliest, b.tip) for b in bounds] == [
            (self.earliest[p], len(self.logs[p])) for p in range(3)
        ]
        for partition in range(3):
            found = self._all(partition)
            first = self.earliest[partition]
            assert [event.offset for event in found] == list(range(first, first + len(found)))
            assert [_content(e) for e in found] == [_content(e) for e in self.logs[partition][first - 1 :]]
            times = [event.published_at for event in found]
            assert times == sorted(times)

    def _append(self, batch: list[NewEvent], answer: Published) -> None:
        for event, partition, offset in zip(batch, answer.partitions, answer.offsets, strict=True):
            self.logs[partition].append(event)
            assert offset == len(self.logs[partition])

    def _publish(self, batch: list[NewEvent], options: PublishOptions | None = None) -> Published:
        answer = self._run(self._store.publish(self._topic, batch, options or PublishOptions()))
        if options is None or options.partition is None:
            for event, partition in zip(batch, answer.partitions, strict=True):
                if event.key is not None:
                    assert self.places.setdefault(event.key, partition) == partition
        return answer

    def _read(self, partition: int, start: int, limit: int, max_bytes: int) -> list[Event]:
        return self._run(self._store.read_events(self._topic, partition, start, limit, max_bytes))

    def _all(self, partition: int) -> list[Event]:
        return self._read(partition, self.earliest[partition], ALL, MANY_BYTES)

    async def _stage(self, batch: list[NewEvent], partition: int, commit: bool) -> None:
        transaction = self._direct.transaction()
        await transaction.start()
        for event in batch:
            attributes = {name: getattr(event, name) for name in event.__struct_fields__}
            await stage(self._direct, attributes.pop("data"), self._topic, partition=partition, **attributes)
        await (transaction.commit() if commit else transaction.rollback())

    async def _open(self) -> Pool:
        return await Pool.open(self._dsn, self._settings)

    @property
    def _store(self) -> Store:
        return Store(self._pool)

    def _run(self, call: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(call)


def _changed(event: NewEvent, **changes: Any) -> NewEvent:
    return NewEvent(**{name: getattr(event, name) for name in event.__struct_fields__} | changes)


def _content(event: NewEvent | Event) -> tuple[Any, ...]:
    """Everything but what the log itself adds."""
    return tuple(getattr(event, name) for name in NewEvent.__struct_fields__)


class CrashingMachine(LogMachine):
    """Restarts are those of a PostgreSQL that was killed."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        super().__init__(server.dsn)

    @rule()
    def restart(self) -> None:
        assert self._server.pid is not None
        os.kill(self._server.pid, signal.SIGKILL)
        self._direct.terminate()
        self._disconnect()
        self._server.stop()
        self._server.start()
        self._connect()


@pytest.mark.timeout(effort(900, 3600))
async def test_the_log_agrees_with_a_list(dsn: str, clock: Clock) -> None:
    class Machine(LogMachine):
        def __init__(self) -> None:
            super().__init__(dsn)

    # In a thread, as the machine runs an event loop of its own.
    await asyncio.to_thread(run_state_machine_as_test, Machine, settings=BOUNDED)


@pytest.mark.timeout(effort(900, 3600))
async def test_the_log_agrees_with_a_list_whenever_the_server_is_killed(
    tmp_path: Path, postgres_bin: Path | None
) -> None:
    with EmbeddedServer(tmp_path / "data", postgres_bin, FAST) as server:
        await migrate(server.dsn)
        connection = await asyncpg.connect(server.dsn)
        await Clock(connection).install()
        await connection.close()

        class Machine(CrashingMachine):
            def __init__(self) -> None:
                super().__init__(server)

        await asyncio.to_thread(run_state_machine_as_test, Machine, settings=CRASHING)
