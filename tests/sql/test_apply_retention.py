import asyncio
import json
import math
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from app.db.store import Store
from app.errors import GaplessError
from tests.conftest import Connect
from tests.support.clock import Clock
from tests.support.effort import effort
from tests.support.log import bounds, call, create_topic, held, publish, publish_many, read, refused, value
from tests.support.retention import alter, claim, consume, create_kept, drop, earliest, retain, retain_all
from tests.support.subscriptions import create_group, get_group
from tests.support.wait import shared, until, until_blocked

HOUR = timedelta(hours=1)
ROUNDS = effort(25, 500)


async def losses(connection: asyncpg.Connection) -> list[dict[str, Any]]:
    """What the caps took from groups, as audited."""
    rows = await connection.fetch(
        "select subscription, details from gapless.audit_log where actor = 'retention' order by audit_id"
    )
    return [{"group": row[0], **json.loads(row[1])} for row in rows]


async def test_without_retention_settings_everything_stays(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection)
    await publish_many(connection, 10)
    await clock.move(timedelta(days=10_000))
    assert await retain(connection) == 0
    assert await bounds(connection) == (1, 10)


async def test_what_is_older_goes_where_no_group_needs_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, retention_seconds=3600)
    await publish_many(connection, 10)
    await clock.move(HOUR / 2)
    await publish_many(connection, 10)
    assert await retain_all(connection) == 0
    await clock.move(HOUR / 2)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (11, 20)
    await clock.move(HOUR)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (21, 20)
    assert (await publish(connection, "1"))["offsets"] == [21]
    assert await retain_all(connection) == 0


async def test_every_partition_has_an_age_of_its_own(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_kept(connection, partitions=3, retention_seconds=3600)
    for partition in range(3):
        await publish_many(connection, 5, partition=partition)
        await clock.move(HOUR / 2)
    assert await retain_all(connection) == 2
    assert [await earliest(connection, partition=p) for p in range(3)] == [6, 6, 1]


async def test_what_a_group_needs_stays_until_it_has_done_it(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, retention_seconds=3600)
    await publish_many(connection, 10)
    await create_group(connection, "slow")
    await create_group(connection, "fast")
    await consume(connection, group="fast")
    await clock.move(HOUR)
    assert await retain_all(connection) == 0
    await consume(connection, 4, "slow")
    assert await retain_all(connection) == 1
    assert await earliest(connection) == 5
    lease = (await claim(connection, 3, "slow"))["lease"]
    assert await retain_all(connection) == 0
    await call(connection, "ack", lease=lease)
    assert await retain_all(connection) == 1
    assert await earliest(connection) == 8
    assert await losses(connection) == []


async def test_groups_that_are_gone_hold_nothing(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_kept(connection, retention_seconds=3600)
    await publish_many(connection, 10)
    for group in ("paused", "cancelled", "deleted"):
        await create_group(connection, group)
    await call(connection, "pause", topic="t", group="paused", reason=None)
    await clock.move(HOUR)
    await call(connection, "cancel", topic="t", group="cancelled", reason=None)
    await call(connection, "delete_subscription", topic="t", group="deleted")
    assert await retain_all(connection) == 0
    await call(connection, "cancel", topic="t", group="paused", reason=None)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (11, 10)


async def test_s43_what_all_groups_have_done_goes_at_once(connection: asyncpg.Connection) -> None:
    await create_kept(connection, retention_seconds=0)
    await create_group(connection)
    await publish(connection, "1")
    assert await retain_all(connection) == 0
    await consume(connection)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (2, 1)


async def test_a_queue_keeps_what_is_not_handled(connection: asyncpg.Connection) -> None:
    await create_kept(connection, semantics="queue", retention_seconds=0)
    await publish_many(connection, 10)
    await retain_all(connection)
    assert await earliest(connection) == 1
    await consume(connection, 6, "default")
    await retain_all(connection)
    assert await earliest(connection) == 7


async def test_the_cap_on_age_goes_over_the_heads_of_groups_and_is_noted(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, max_retention_seconds=3600)
    await publish_many(connection, 10)
    for group in ("behind", "there", "stopped"):
        await create_group(connection, group, ordering="none")
    await consume(connection, 10, "there")
    await call(connection, "cancel", topic="t", group="stopped", reason=None)
    lease = (await claim(connection, 4, "behind", lease_seconds=43_200))["lease"]
    await call(connection, "nack", lease=lease, offsets=[2, 3])
    await clock.move(HOUR)
    await publish_many(connection, 10)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (11, 20)
    assert await losses(connection) == [
        {
            "group": "behind",
            "partition": 0,
            "setting": "max_retention_seconds",
            "earliest": 11,
            "waiting": 6,
            "in_flight": 2,
            "retrying": 2,
        }
    ]
    assert (await claim(connection, 100, "behind"))["skipped"] == 8


async def test_a_cap_that_takes_nothing_but_leased_events_is_noted_too(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, max_retention_seconds=3600)
    await publish_many(connection, 10)
    await create_group(connection)
    assert (await claim(connection, lease_seconds=43_200))["lease"] is not None
    await clock.move(HOUR)
    assert await retain_all(connection) == 1
    assert [(loss["waiting"], loss["in_flight"]) for loss in await losses(connection)] == [(0, 10)]


async def test_what_a_cap_takes_from_a_group_within_a_minute_is_noted_together(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, partitions=2, max_retention_seconds=3600)
    await create_group(connection, "behind")
    for partition, count in ((0, 10), (1, 5), (0, 3), (0, 2)):
        await publish_many(connection, count, partition=partition)
        await clock.move(timedelta(seconds=25))
    await clock.move(HOUR - timedelta(seconds=100))
    for _ in range(4):
        await retain_all(connection)
        await clock.move(timedelta(seconds=25))
    noted = [(loss["partition"], loss["earliest"], loss["waiting"]) for loss in await losses(connection)]
    assert noted == [(0, 14, 13), (1, 6, 5), (0, 16, 2)]


async def test_the_cap_on_bytes_keeps_the_newest_events_that_fit(connection: asyncpg.Connection) -> None:
    await create_kept(connection, max_bytes=1000)
    await publish(connection, *(["1" * 100] * 10))
    assert await retain_all(connection) == 0
    await publish(connection, *(["2" * 50] * 3))
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (3, 13)
    await publish(connection, "3" * 5000)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (14, 14)
    assert await retain_all(connection) == 0
    assert await losses(connection) == []


async def test_the_cap_on_bytes_is_exact_however_long_the_log_is(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_topic(connection, segment_events=1500, max_bytes=2**53 - 1)
    sizes: list[int] = []

    def allowed(cap: int) -> int:
        """Where the newest events begin that fit into `cap`."""
        total, first = 0, len(sizes) + 1
        while first > 1 and total + sizes[first - 2] <= cap:
            first -= 1
            total += sizes[first - 1]
        return min(first, len(sizes))

    before = 1
    for number, (count, cap) in enumerate(
        [(10, 60), (2990, 20_000), (1, 15_000), (999, 9_000), (2500, 9_000), (700, 3_000), (0, 5), (0, 1)]
    ):
        await alter(connection, max_bytes=2**53 - 1)
        batch = [1 + (number + place) % 9 for place in range(count)]
        sizes += batch
        if batch:
            await publish(connection, *["7" * size for size in batch])
        await retain_all(connection)
        await alter(connection, max_bytes=cap)
        await retain_all(connection)
        before = max(before, allowed(cap))
        assert await earliest(connection) == before, (number, cap)
        while await drop(connection):
            pass
    await alter(connection, max_bytes=None)
    await publish_many(connection, 5000)
    assert await retain_all(connection) == 0
    await alter(connection, max_bytes=4 * 4000)
    assert await retain_all(connection) == 1
    assert await bounds(connection) == (len(sizes) + 1001, len(sizes) + 5000)


async def test_a_long_log_is_counted_in_several_calls(connection: asyncpg.Connection) -> None:
    await create_kept(connection)
    for _ in range(5):
        await publish(connection, *["1"] * 9000)
    await alter(connection, max_bytes=1234)
    assert [await retain(connection) for _ in range(4)] == [1, 1, 1, 0]
    assert await bounds(connection) == (45_000 - 1234 + 1, 45_000)


async def test_a_transaction_is_never_cut(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_kept(connection, max_bytes=40)
    await publish(connection, "1")
    await publish_many(connection, 500, transaction_ids=["a"] * 500)
    await publish_many(connection, 3, transaction_ids=["b", "b", None])
    await retain_all(connection)
    assert await bounds(connection) == (2, 504)
    await publish(connection, *["1"] * 38)
    await retain_all(connection)
    assert await earliest(connection) == 502


async def test_of_several_settings_the_one_that_takes_most_holds(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, retention_seconds=7200, max_retention_seconds=3600, max_bytes=1000)
    await publish_many(connection, 10)
    await clock.move(HOUR)
    await publish_many(connection, 5)
    await retain_all(connection)
    assert await earliest(connection) == 11
    await publish(connection, "1" * 998)
    await retain_all(connection)
    assert await earliest(connection) == 14


async def test_changed_settings_hold_for_what_is_there(connection: asyncpg.Connection, clock: Clock) -> None:
    await create_kept(connection)
    await publish_many(connection, 10)
    await clock.move(HOUR)
    await alter(connection, retention_seconds=7200)
    assert await retain_all(connection) == 0
    await alter(connection, retention_seconds=1800)
    assert await retain_all(connection) == 1
    await publish_many(connection, 10)
    await alter(connection, retention_seconds=None)
    await clock.move(HOUR)
    assert await retain_all(connection) == 0
    assert await bounds(connection) == (11, 20)


async def test_a_deleted_topic_is_left_alone(connection: asyncpg.Connection) -> None:
    await create_kept(connection, retention_seconds=0, max_bytes=1)
    await publish_many(connection, 10)
    await call(connection, "delete_topic", topic="t")
    assert await retain(connection) == 0


async def test_more_logs_than_one_call_looks_at_are_all_done(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    """By a slow clock, as a call has a second only."""
    await create_kept(connection, partitions=130, retention_seconds=0)
    for partition in range(130):
        await publish(connection, "1", partition=partition)
    done: list[int] = []
    looked_to: int | None = 0
    while looked_to is not None:
        row = (await call(connection, "apply_retention", after=looked_to))[0]
        done.append(row["done"])
        looked_to = row["looked_to"]
    assert done == [5] * 26
    rows = await call(connection, "log_bounds", topic="t")
    assert {(row["earliest"], row["tip"]) for row in rows} == {(2, 1)}


async def test_of_hundreds_of_capped_logs_the_one_over_its_cap_is_trimmed_in_one_round(
    connection: asyncpg.Connection, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.store.STEP_SECONDS", math.inf)
    for topic in ("a", "b"):
        await create_kept(connection, topic, partitions=150, max_bytes=10)
    for topic, partition in (("a", 0), ("a", 149), ("b", 75), ("b", 149)):
        await publish(connection, *["1"] * 30, topic=topic, partition=partition)
        assert await store.maintain("apply_retention") == 1
        assert await earliest(connection, topic, partition) == 21
    assert await store.maintain("apply_retention") == 0


async def test_a_round_that_had_no_time_for_all_logs_goes_on_where_it_stopped(
    connection: asyncpg.Connection, clock: Clock, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.store.STEP_SECONDS", 0.0)
    await create_kept(connection, partitions=250, max_bytes=10)
    await publish(connection, *["1"] * 30, partition=249)
    assert [await store.maintain("apply_retention") for _ in range(4)] == [None, None, 1, None]


async def test_a_round_counts_a_long_log_to_its_end(
    connection: asyncpg.Connection, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.store.STEP_SECONDS", math.inf)
    await create_kept(connection)
    for _ in range(5):
        await publish(connection, *["1"] * 9000)
    await alter(connection, max_bytes=1234)
    await store.maintain("apply_retention")
    assert await earliest(connection) == 45_000 - 1234 + 1


async def test_a_call_counts_200_000_events_and_leaves_the_other_logs_to_the_next(
    connection: asyncpg.Connection,
) -> None:
    topic_id = await create_topic(connection, partitions=2)
    for partition in range(2):
        await publish(connection, "1", partition=partition)
    await connection.execute(
        f"""
        insert into gapless.event_{topic_id}_0_1
          (topic_id, partition_id, log_offset, published_at, size, data)
        select {topic_id}, 0, n, now(), 1, '1' from generate_series(2, 200999) n
        """
    )
    await alter(connection, max_bytes=2**53 - 1)
    first = (await call(connection, "apply_retention"))[0]
    assert (first["done"], first["counting"], first["looked_to"] & 65535) == (0, False, 0)
    second = (await call(connection, "apply_retention", after=first["looked_to"]))[0]
    assert (second["done"], second["counting"], second["looked_to"]) == (0, False, None)


async def test_a_call_looks_at_no_other_log_once_a_second_has_passed(connection: asyncpg.Connection) -> None:
    await create_kept(connection, partitions=10, max_bytes=10)
    await connection.execute(
        """
        create or replace function gapless.retain_log(p_topic_id integer, p_partition integer)
        returns boolean language plpgsql
        as $$ begin perform pg_sleep(0.4); return false; end $$
        """
    )
    answer = (await call(connection, "apply_retention"))[0]
    assert answer["looked_to"] & 65535 <= 2


async def test_logs_with_nothing_to_do_hold_up_nobody_who_waits_for_the_retention_of_their_topic(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection, retention_seconds=0, max_bytes=1000)
    await publish_many(connection, 10)
    await create_group(connection, "behind")
    assert await retain_all(connection) == 0
    runner = await connect("runner")
    await connection.execute("set lock_timeout = '20s'")
    async with held(runner):
        assert await retain(runner) == 0
        await create_group(connection, "new")
        await alter(connection, max_bytes=20_000)


async def test_a_log_that_fails_keeps_none_after_it_from_being_looked_at(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    """By a slow clock, as a call has a second only."""
    broken = await create_kept(connection, "broken", max_bytes=10)
    await create_kept(connection, "sound", max_bytes=10)
    for topic in ("broken", "sound"):
        await publish(connection, *["1"] * 30, topic=topic)
    await connection.execute(
        f"""
        create or replace function gapless.offset_by_size(
          p_topic_id integer, p_partition integer, p_max_bytes bigint
        )
        returns bigint language plpgsql
        as $$ begin return 21 / (p_topic_id - {broken}); end $$
        """
    )
    assert await retain(connection) == 1
    assert await earliest(connection, "sound") > 1


async def test_after_a_call_that_failed_others_than_those_before_the_failure_are_looked_at(
    connection: asyncpg.Connection, clock: Clock, store: Store
) -> None:
    """Always from the first log on, it would meet the one at which it failed each time."""
    broken = await create_kept(connection, "broken", max_bytes=10)
    for number in range(10):
        await create_kept(connection, f"sound-{number}", max_bytes=10)
        await publish(connection, *["1"] * 30, topic=f"sound-{number}")
    await publish(connection, *["1"] * 30, topic="broken")
    await connection.execute(
        f"""
        create or replace function gapless.may_retain(p_topic_id integer, p_partition integer)
        returns boolean language plpgsql
        as $$
        begin
          if p_topic_id = {broken} then
            perform pg_cancel_backend(pg_backend_pid());
            perform pg_sleep(60);
          end if;
          return true;
        end
        $$
        """
    )

    async def retained() -> bool:
        with suppress(GaplessError):
            await store.maintain("apply_retention")
        return await earliest(connection, "sound-9") > 1

    await until(retained)


async def test_an_idle_run_over_a_thousand_topics_is_one_statement_and_quick(
    connection: asyncpg.Connection,
) -> None:
    await connection.execute(
        """
        insert into gapless.topic (name, partitions, segment_events, idempotency_seconds, retention_seconds,
          created_at, updated_at)
        select 't' || n, 4, 1000, 60, 3600, now(), now() from generate_series(1, 1000) n;
        insert into gapless.retention_check
        select t.topic_id, p, now() + interval '1 hour', 0 from gapless.topic t, generate_series(0, 3) p;
        """
    )
    await retain(connection)
    took = []
    for _ in range(5):
        began = time.perf_counter()
        assert await retain(connection) == 0
        took.append(time.perf_counter() - began)
    assert min(took) < shared(0.05)


async def test_a_second_runner_of_apply_retention_gets_null_at_once(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection, retention_seconds=0)
    await publish(connection, "1")
    first, second = await connect("first"), await connect("second")
    async with held(first):
        assert await retain(first) == 1
        await second.execute("set statement_timeout = '20s'")
        assert await retain(second) is None
    assert await retain(second) == 1


async def test_an_old_snapshot_is_refused(connection: asyncpg.Connection) -> None:
    with refused("25001"):
        async with connection.transaction(isolation="repeatable_read"):
            await retain(connection)


async def test_a_log_that_is_being_trimmed_holds_up_no_other(
    connection: asyncpg.Connection, connect: Connect, clock: Clock
) -> None:
    """By a slow clock, as a call has a second only."""
    for topic in ("busy", "free"):
        await create_kept(connection, topic, retention_seconds=0)
        await publish_many(connection, 10, topic=topic)
        await call(connection, "trim", topic=topic, partition=0, before=2)
    trimmer = await connect("trimmer")
    async with held(trimmer):
        await call(trimmer, "trim", topic="busy", partition=0, before=3)
        assert await retain(connection) == 1
        assert await earliest(connection, "free") == 11
    assert await retain_all(connection) == 1
    assert await earliest(connection, "busy") == 11


async def test_a_group_that_is_being_created_keeps_what_it_starts_at(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection, retention_seconds=0)
    await publish_many(connection, 10)
    creator = await connect("creator")
    async with creator.transaction():
        await create_group(creator)
        assert await retain(connection) == 0
    assert await retain(connection) == 0
    assert await bounds(connection) == (1, 10)


async def test_a_group_waits_for_a_run_and_starts_at_what_it_leaves(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection, retention_seconds=0)
    await publish_many(connection, 10)
    runner, creator = await connect("runner"), await connect("creator")
    async with runner.transaction():
        assert await retain(runner) == 1
        creating = asyncio.create_task(create_group(creator))
        await until_blocked(connection, "creator")
    await creating
    assert (await get_group(connection))["status"] == "ACTIVE"
    assert await connection.fetchval("select position from gapless.consumer_offset") == 11


async def test_s44_what_a_group_that_joins_during_a_publish_starts_at_is_kept_for_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    publisher, joiner, cleaner = [await connect(name) for name in ("publisher", "joiner", "cleaner")]
    await create_kept(connection, retention_seconds=0)
    for number in range(ROUNDS):
        group = f"g{number}"
        published, _, _ = await asyncio.gather(
            publish(publisher, str(number)), create_group(joiner, group, start="latest"), retain(cleaner)
        )
        await publish(publisher, '"after"')
        await retain_all(cleaner)
        tip = published["offsets"][0]
        start = await connection.fetchval(
            "select o.position from gapless.consumer_offset o join gapless.subscription s"
            " using (subscription_id) where s.name = $1 order by o.seq limit 1",
            group,
        )
        assert start in (tip, tip + 1)
        row = await claim(connection, 10, group)
        assert (row["items"][0].lower, row["skipped"]) == (start, 0)
        assert [
            event["log_offset"] for event in await call(connection, "read_lease", lease=row["lease"])
        ] == list(range(start, tip + 2))
        await call(connection, "ack", lease=row["lease"])
        await call(connection, "delete_subscription", topic="t", group=group)


async def test_s61_of_eight_cleaners_beside_traffic_one_works_and_none_fails(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    await create_kept(connection, partitions=2, retention_seconds=0, max_bytes=10_000)
    await create_group(connection, "steady")
    await create_group(connection, "dying", heartbeat_seconds=0.1, heartbeat_timeout_seconds=0.1)
    publisher, consumer = await connect("publisher"), await connect("consumer")
    cleaners = [await connect(f"cleaner {number}") for number in range(8)]
    done = asyncio.Event()
    answers: list[tuple[str, int | None]] = []

    async def clean(session: asyncpg.Connection) -> None:
        while not done.is_set():
            for step in ("apply_retention", "drop_segments", "sweep_subscriptions", "drop_deleted_topics"):
                answers.append((step, await value(session, step)))

    async def consume_all() -> None:
        while not done.is_set():
            row = await claim(consumer, 500, "steady")
            if row["lease"] is not None:
                await call(consumer, "ack", lease=row["lease"])

    tasks = [asyncio.create_task(clean(session)) for session in cleaners]
    tasks.append(asyncio.create_task(consume_all()))
    for number in range(effort(40, 400)):
        await publish_many(publisher, 150, partition=number % 2)

    def retention() -> list[int | None]:
        return [answer for step, answer in answers if step == "apply_retention"]

    # Something was done, and somebody came while another was at it.
    await until(lambda: any(retention()) and None in retention())
    done.set()
    await asyncio.gather(*tasks)
    assert max(filter(None, retention())) <= 2


async def test_s62_a_group_at_the_start_of_a_trimmed_log_is_told_where_it_starts(
    connection: asyncpg.Connection, clock: Clock
) -> None:
    await create_kept(connection, max_retention_seconds=3600)
    await publish_many(connection, 500)
    await create_group(connection, "old")
    await clock.move(HOUR)
    await publish_many(connection, 500)
    assert await retain_all(connection) == 1
    await create_group(connection, "new")
    for group in ("old", "new"):
        row = await claim(connection, 10, group)
        assert (row["items"][0].lower, row["skipped"]) == (501, 500 if group == "old" else 0)
    with refused("GP005", earliest=501):
        await create_group(connection, "explicit", start={"at": "offset", "offset": 1})
    with refused("GP005", earliest=501):
        await read(connection, offset=1)
    assert (await read(connection, offset=501, limit=1))[0]["log_offset"] == 501
