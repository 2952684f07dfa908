from datetime import UTC, datetime, timedelta
from itertools import pairwise

import asyncpg

from tests.support.clock import Clock
from tests.support.log import call, create_topic, publish, publish_many, read, refused, value

TICK = timedelta(microseconds=1)
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
FAR_AWAY = datetime(9999, 12, 31, tzinfo=UTC)


async def offset_at(connection: asyncpg.Connection, time: datetime | None, partition: int = 0) -> int:
    return int(await value(connection, "offset_at", topic="t", partition=partition, time=time))


async def times(connection: asyncpg.Connection, offset: int = 1) -> dict[int, datetime]:
    return {event["log_offset"]: event["published_at"] for event in await read(connection, offset=offset)}


async def test_an_empty_log_starts_at_1(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for time in (LONG_AGO, FAR_AWAY):
        assert await offset_at(connection, time) == 1


async def test_one_event_is_found_up_to_its_very_time(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    time = (await times(connection))[1]
    assert [await offset_at(connection, time + tick) for tick in (-TICK, 0 * TICK, TICK)] == [1, 1, 2]


async def test_each_event_is_found_at_its_time_and_the_next_just_after(
    connection: asyncpg.Connection,
) -> None:
    for count in (2, 3, 7, 8, 9):
        await create_topic(connection)
        for number in range(count):
            await publish(connection, str(number))
        known = await times(connection)
        for offset, time in known.items():
            assert await offset_at(connection, time - TICK) in (offset, offset - 1)
            assert await offset_at(connection, time) == offset
            assert await offset_at(connection, time + TICK) == offset + 1
        await call(connection, "delete_topic", topic="t")


async def test_s22_of_events_with_one_time_the_first_is_found(connection: asyncpg.Connection) -> None:
    await create_topic(connection, segment_events=1000)
    for count in (300, 500, 1200):
        await publish_many(connection, count)
    known = await times(connection)
    assert len(set(known.values())) == 3
    for time, expected in zip(sorted(set(known.values())), (1, 301, 801), strict=True):
        assert await offset_at(connection, time) == expected
        found = [event["log_offset"] for event in await read(connection, offset=expected, limit=100)]
        assert found == list(range(expected, expected + 100))
    assert await offset_at(connection, known[2000] + TICK) == 2001


async def test_a_clock_that_steps_back_does_not_mislead_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection)
    for seconds in (0, 60, -3600, 10, 7200, -1, -86400, 90000):
        await clock.move(timedelta(seconds=seconds))
        await publish(connection, "1")
    known = await times(connection)
    assert all(earlier <= later for earlier, later in pairwise(known.values()))
    for time in known.values():
        expected = min(offset for offset, published_at in known.items() if published_at >= time)
        assert await offset_at(connection, time) == expected


async def test_before_everything_it_is_the_earliest_and_after_everything_tip_plus_1(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await publish_many(connection, 10)
    assert (await offset_at(connection, LONG_AGO), await offset_at(connection, FAR_AWAY)) == (1, 11)
    await call(connection, "trim", topic="t", partition=0, before=4)
    assert (await offset_at(connection, LONG_AGO), await offset_at(connection, FAR_AWAY)) == (4, 11)
    assert await connection.fetchval("select gapless.offset_at('t', 0, '-infinity')") == 4
    assert await connection.fetchval("select gapless.offset_at('t', 0, 'infinity')") == 11


async def test_in_a_trimmed_log_it_never_goes_below_the_earliest(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for number in range(9):
        await publish(connection, str(number))
    known = await times(connection)
    await call(connection, "trim", topic="t", partition=0, before=5)
    for offset, time in known.items():
        assert await offset_at(connection, time) == max(offset, 5)
    await call(connection, "trim", topic="t", partition=0, before=10)
    for time in known.values():
        assert await offset_at(connection, time) == 10


async def test_each_partition_has_times_of_its_own(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_topic(connection, partitions=2)
    await publish_many(connection, 3, partition=0)
    await clock.move(timedelta(hours=1))
    later = await clock.now()
    await publish_many(connection, 3, partition=1)
    assert await offset_at(connection, later, partition=0) == 4
    assert await offset_at(connection, later, partition=1) == 1


async def test_a_wrong_argument_is_refused(connection: asyncpg.Connection) -> None:
    with refused("GP001"):
        await offset_at(connection, LONG_AGO)
    await create_topic(connection)
    with refused("GP004", partition=1, partitions=1):
        await offset_at(connection, LONG_AGO, partition=1)
    with refused("GP003", field="time"):
        await offset_at(connection, None)


async def test_a_subscriber_may_ask_for_the_offset_at_a_time(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    await create_topic(connection)
    assert await offset_at(subscriber, LONG_AGO) == 1
