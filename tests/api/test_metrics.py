"""What Prometheus is told: counts of what this process did, and gauges of the whole database."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from app.db.store import Store
from app.live.maintenance import CLEANING
from app.settings import Settings
from tests.conftest import Connect, StartService
from tests.support.api import Api, api_of, offset
from tests.support.clock import Clock, SlowClock
from tests.support.groups import Group, token
from tests.support.log import held, publish, topic_row
from tests.support.metrics import Scrape, scrape
from tests.support.raw import RawStream
from tests.support.service import ThreadService
from tests.support.wait import shared, until, until_asleep, until_blocked

TOPIC = "/v1/topics/t"


@pytest.fixture
async def service(start_service: StartService) -> ThreadService:
    """Whose gauges are never old."""
    return await start_service(metrics_cache_seconds=0)


@pytest.fixture
async def fresh(service: ThreadService) -> AsyncIterator[Api]:
    async with api_of(service.base_url) as api:
        await api.create()
        yield api


async def test_publishes_are_counted_by_topic_and_repeated_ones_once(fresh: Api) -> None:
    await fresh.create("u")
    await fresh.publish(1, 2, 3)
    await fresh.publish(4, topic="u")
    for _ in range(2):
        await fresh.client.post(
            f"{TOPIC}/events", json={"events": [{"data": 5}]}, headers={"Idempotency-Key": '"k"'}
        )
    refused = await fresh.client.post("/v1/topics/nobody/events", json={"events": [{"data": 1}]})
    assert refused.status_code == 404
    found = await scrape(fresh.client)
    assert found.value("published_messages_total", topic="t") == 4
    assert found.value("published_messages_total", topic="u") == 1
    assert found.labels("published_messages_total", "topic") == {"t", "u"}
    assert found.value("publish_duration_seconds_count") == 4
    assert 0 < found.value("publish_duration_seconds_sum") < shared(10)
    assert found.value("topic_tip_offset", topic="t") == 4
    assert found.value("publish_queue_events") == found.value("publish_queue_bytes") == 0


async def test_many_requests_of_one_transaction_are_all_counted(fresh: Api) -> None:
    await asyncio.gather(*(fresh.publish(number) for number in range(50)))
    assert (await scrape(fresh.client)).value("published_messages_total") == 50


async def test_publishes_behind_a_locked_log_show_as_queued(
    fresh: Api, connect: Connect, connection: asyncpg.Connection
) -> None:
    other = await connect("other")
    async with asyncio.TaskGroup() as publishing, held(other):
        await publish(other, "0")
        publishing.create_task(fresh.publish(1))
        await until_blocked(connection, "gapless")
        for _ in range(3):
            publishing.create_task(fresh.publish("x" * 1_000, "x" * 1_000))

        async def queued() -> Scrape | None:
            found = await scrape(fresh.client)
            return found if found.value("publish_queue_events") == 6 else None

        found = await until(queued)
        assert found is not None
        assert 6_000 < found.value("publish_queue_bytes") < 12_000
        assert found.value("publish_pending_requests") == 4
    found = await scrape(fresh.client)
    for name in ("queue_events", "queue_bytes", "pending_requests"):
        assert found.value(f"publish_{name}") == 0


async def test_topics_beyond_the_limit_share_a_name_and_are_left_out_of_the_gauges(
    start_service: StartService,
) -> None:
    service = await start_service(metrics_max_topics=2, metrics_cache_seconds=0)
    async with api_of(service.base_url) as api:
        for number in range(4):
            await api.create(f"t{number}")
            await api.publish(*range(number + 1), topic=f"t{number}")
        found = await scrape(api.client)
        assert found.labels("published_messages_total", "topic") == {"t0", "t1", ""}
        assert found.value("published_messages_total", topic="") == 3 + 4
        assert found.labels("topic_tip_offset", "topic") == {"t0", "t1"}
        assert (found.value("topics"), found.value("topics_left_out")) == (4, 2)


async def test_what_became_of_deliveries_is_counted_where_it_happened(
    fresh: Api, start_service: StartService
) -> None:
    other = await start_service(metrics_cache_seconds=0)
    group = await Group(fresh.client, TOPIC).create(ordering="none", max_attempts=2, backoff_seconds=0)
    await fresh.publish(*range(20))
    first = await group.claim(max_events=4)
    second = await group.claim(max_events=3, ack=token(first))
    await group.ack(token(second), offsets=[5])
    await group.nack(token(second))
    third = await group.claim(max_events=2)
    await group.nack(token(third), reason="no")
    await group.reject(token(await group.claim(max_events=5)))
    assert await group.release(token(await group.claim(max_events=3))) == 3
    letter = (await group.letters())[0]["id"]
    await group.raw("POST", "/dead-letters/redrive", json={"ids": [letter]})
    found = await scrape(fresh.client)
    outcomes = {name: found.value("deliveries_total", outcome=name) for name in OUTCOMES}
    assert outcomes == {"acked": 5, "failed": 4, "rejected": 5, "released": 3, "expired": 0}
    assert found.value("claimed_messages_total") == 4 + 3 + 2 + 5 + 3
    assert found.value("dead_letters_total", reason="failed") == 2
    assert found.value("dead_letters_total", reason="rejected") == 5
    assert found.value("redrives_total") == 1
    async with httpx.AsyncClient(base_url=other.base_url, timeout=30) as client:
        elsewhere = await scrape(client)
        assert elsewhere.value("deliveries_total") == elsewhere.value("dead_letters_total") == 0
        for name in ("lag_messages", "inflight_messages", "retrying_messages", "dead_letter_messages"):
            assert elsewhere.value(f"group_{name}") == found.value(f"group_{name}"), name
    assert found.value("group_dead_letter_messages", topic="t", group="g") == 6
    assert found.value("group_status", topic="t", group="g", status="ACTIVE") == 1


OUTCOMES = ("acked", "failed", "rejected", "released", "expired")


async def test_a_group_is_behind_by_what_it_did_not_ack_and_as_long_as_nobody_claims_it(
    slow_clock: SlowClock, fresh: Api
) -> None:
    group = await Group(fresh.client, TOPIC).create()

    async def told() -> tuple[float, int]:
        found = await scrape(fresh.client)
        age = found.value("group_oldest_claimable_age_seconds", topic="t", group="g")
        return found.value("group_lag_messages", topic="t", group="g"), int(age)

    assert await told() == (0, 0)
    await fresh.publish(*range(10))
    await slow_clock.move(timedelta(seconds=100))
    await fresh.publish(*range(5))
    assert await told() == (15, 100)
    await group.ack(token(await group.claim(max_events=4)))
    assert await told() == (11, 100)
    lease = token(await group.claim(max_events=6))
    assert await told() == (11, 0), "those of the second publish are the oldest that nobody has"
    await slow_clock.move(timedelta(seconds=7))
    await group.ack(lease)
    assert await told() == (5, 7)
    await group.ack(token(await group.claim(max_events=5)))
    assert await told() == (0, 0)


async def test_an_expired_lease_is_counted_once_by_the_replica_that_found_it(
    clock: Clock, start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned: list[Store] = []

    async def noted(self: Store, step: str) -> int | None:
        done = await maintain(self, step)
        if step == list(CLEANING)[-1]:
            cleaned.append(self)
        return done

    maintain = Store.maintain
    monkeypatch.setattr(Store, "maintain", noted)
    replicas = [await start_service(metrics_cache_seconds=0, cleaning_seconds=3600) for _ in range(2)]
    # Their first rounds, which come at once, are not to find it.
    await until(lambda: len(cleaned) == 2)
    async with api_of(replicas[0].base_url) as one, api_of(replicas[1].base_url) as two:
        await one.create()
        group = await Group(one.client, TOPIC).create(max_attempts=1)
        await one.publish(*range(5))
        await group.claim(max_events=5)
        assert (await scrape(one.client)).value("group_inflight_messages") == 5
        await clock.move(timedelta(hours=1))
        await Group(two.client, TOPIC).claim()
        found = [await scrape(one.client), await scrape(two.client)]
        for name, value in (
            ("leases_expired_total", 1),
            ("deliveries_total", 5),
            ("dead_letters_total", 5),
        ):
            assert [scraped.value(name) for scraped in found] == [0, value], name
        assert found[1].value("dead_letters_total", reason="expired") == 5


async def test_the_upkeep_counts_what_it_expires_and_trims(
    dsn: str, clock: Clock, start_service: StartService
) -> None:
    service = await start_service(metrics_cache_seconds=0, cleaning_seconds=0.05)
    async with api_of(service.base_url) as api:
        await api.create(retention_seconds=60, max_retention_seconds=86400)
        group = await Group(api.client, TOPIC).create(max_attempts=5)
        await api.publish(*range(10))
        await group.ack(token(await group.claim(max_events=4)))
        await group.claim(max_events=1)
        await clock.move(timedelta(hours=1))

        async def done(**wanted: float) -> bool:
            found = await scrape(api.client)
            return all(
                found.value("trimmed_messages_total", forced=forced) == value
                for forced, value in wanted.items()
            )

        await until(lambda: done(false=4, true=0))

        async def expired() -> bool:
            return (await scrape(api.client)).value("leases_expired_total") == 1

        await until(expired)
        await clock.move(timedelta(days=1))
        await until(lambda: done(false=4, true=6))
        found = await scrape(api.client)
        assert (found.value("topic_earliest_offset"), found.value("leases_expired_total")) == (11, 1)


async def test_a_trim_is_counted_by_whether_a_group_needed_it(fresh: Api) -> None:
    group = await Group(fresh.client, TOPIC).create()
    await fresh.publish(*range(10))
    await group.ack(token(await group.claim(max_events=4)))
    await fresh.trim(before=3)
    await fresh.trim(before=8)
    found = await scrape(fresh.client)
    assert found.value("trimmed_messages_total", forced="false") == 4
    assert found.value("trimmed_messages_total", forced="true") == 3


async def test_streams_are_counted_with_what_they_were_sent_and_what_they_missed(fresh: Api) -> None:
    await fresh.publish(*range(10))
    await fresh.trim(before=4)
    async with fresh.stream(from_="earliest") as one, fresh.stream(last_event_id="1") as two:
        assert [offset(await one.next()) for _ in range(7)] == list(range(4, 11))
        assert (await two.next()).event == "gap"
        await fresh.publish("live")
        assert offset(await one.next()) == 11

        async def counted(events: int) -> Scrape | None:
            found = await scrape(fresh.client)
            return found if found.value("sse_events_sent_total") == events else None

        found = await until(lambda: counted(16))
        assert found is not None
        assert found.value("sse_connections") == 2
        assert found.value("sse_gaps_total", reason="trimmed") == 1

    async def gone() -> bool:
        return (await scrape(fresh.client)).value("sse_connections") == 0

    await until(gone)


async def test_a_stream_of_a_group_counts_too(fresh: Api) -> None:
    await Group(fresh.client, TOPIC).create()
    await fresh.publish(1, 2)
    path = f"{TOPIC}/subscriptions/g/stream?member=m"

    async def counted() -> bool:
        found = await scrape(fresh.client)
        return found.value("sse_events_sent_total") == found.value("claimed_messages_total") == 2

    async with fresh.client.stream("GET", path):
        await until(counted)


async def test_a_client_that_takes_nothing_is_counted_when_it_is_cut(start_service: StartService) -> None:
    service = await start_service(send_timeout_seconds=1)
    async with api_of(service.base_url) as api:
        await api.create()
        async with RawStream(service.port, f"{TOPIC}/stream", receive_buffer=4096):
            for _ in range(10):
                await api.publish(*["x" * 50_000] * 20)

            async def cut() -> bool:
                return (await scrape(api.client)).value("sse_slow_closes_total") == 1

            await until(cut)


async def test_requests_are_counted_by_template_method_and_class_of_status(fresh: Api) -> None:
    await fresh.publish(1)
    await fresh.client.get("/v1/topics/unheard-of")
    await fresh.client.get("/there/is/nothing")
    await fresh.client.request("PROPFIND", "/v1/topics/t")
    found = await scrape(fresh.client)

    def count(**labels: str) -> float:
        return found.value("http_request_duration_seconds_count", **labels)

    assert count(route="/v1/topics/{topic}/events", method="POST", status="2xx") == 1
    assert count(route="/v1/topics/{topic}", method="GET", status="4xx") == 1
    assert count(route="", method="GET", status="4xx") == 1
    assert count(method="other", status="4xx") == 1
    assert "unheard-of" not in found.text


async def test_openmetrics_is_answered_to_who_accepts_it(fresh: Api) -> None:
    await fresh.publish(1)
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    answer = await fresh.client.get("/metrics", headers={"Accept": accept})
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}  # type: ignore[no-untyped-call]
    plain = await scrape(fresh.client)
    assert len(families) == len(plain.families)
    assert families["gapless_published_messages"].samples[0].value == 1


async def test_two_services_of_a_process_count_for_themselves(start_service: StartService) -> None:
    one, two = [await start_service() for _ in range(2)]
    async with api_of(one.base_url) as first, api_of(two.base_url) as second:
        await first.create()
        await first.publish(1)
        assert (await scrape(first.client)).value("published_messages_total") == 1
        assert (await scrape(second.client)).value("published_messages_total") == 0


async def test_an_old_transaction_of_somebody_else_shows_and_the_service_stays_ready(
    fresh: Api, connect: Connect, clock: Clock
) -> None:
    async def ready() -> bool:
        return (await fresh.client.get("/readyz")).status_code == 200

    # It may serve before it hears notifications.
    await until(ready)
    other = await connect()
    await other.execute("begin isolation level repeatable read; select 1")
    await clock.move(timedelta(minutes=11))
    assert (await scrape(fresh.client)).value("oldest_xmin_age_seconds") >= 600
    assert await ready()
    await fresh.publish(1)


async def test_scrapes_that_come_together_ask_the_database_once(
    start_service: StartService, connection: asyncpg.Connection
) -> None:
    service = await start_service(metrics_cache_seconds=3600)
    store = service.app.parts.store
    asked = []
    measure = store.measure

    async def counted(*limits: int) -> Any:
        asked.append(limits)
        return await measure(*limits)

    store.measure = counted  # type: ignore[method-assign,assignment]
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await asyncio.gather(*(scrape(client) for _ in range(10)))
        await scrape(client)
    assert asked == [(1000, 4000)]


async def test_a_lost_listener_shows_and_so_does_its_return(
    service: ThreadService, connection: asyncpg.Connection
) -> None:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:

        async def reconnected(times: int) -> bool:
            found = await scrape(client)
            return (
                found.value("listener_connected") == 1 and found.value("listener_reconnects_total") == times
            )

        await until(lambda: reconnected(0))
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'gapless-listener' and datname = current_database()"
        )
        await until(lambda: reconnected(1))


async def test_notifications_of_what_is_to_be_read_anyway_are_counted(
    start_service: StartService, connection: asyncpg.Connection
) -> None:
    service = await start_service(poll_seconds=3600)
    async with api_of(service.base_url) as api:
        await api.create()
        topic_id = (await topic_row(connection))["topic_id"]
        async with api.stream() as stream:
            await stream.position()
            await until_asleep(connection)
            assert (await scrape(api.client)).value("notify_coalesced_total") == 0
            # In one message, so that nothing is read in between.
            await connection.execute("select pg_notify('gapless', $1)", f"{topic_id}:0,0,0")

            async def counted() -> float:
                return (await scrape(api.client)).value("notify_coalesced_total")

            assert await until(counted) == 2


async def test_how_late_the_event_loop_was_is_told(service: ThreadService) -> None:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:

        async def told() -> tuple[float, float]:
            """How often it was later than a second, and all in all."""
            found = await scrape(client)
            name = "event_loop_lag_seconds"
            in_time = found.value(f"{name}_bucket", le="1.0")
            return found.value(f"{name}_count") - in_time, found.value(f"{name}_sum")

        often, seconds = await told()
        assert service.server.loop is not None
        service.server.loop.call_soon_threadsafe(time.sleep, 1.5)

        async def later() -> bool:
            return (await told())[0] > often

        await until(later)
        # It was asked to come a quarter of a second after it was last there.
        assert (await told())[1] - seconds > 1.2


async def test_who_cannot_hear_notifications_tells_of_no_lost_listener(start_service: StartService) -> None:
    service = await start_service(pooled=True)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        found = await scrape(client)
    assert "gapless_pool_max_connections" in found.families
    assert "gapless_listener_connected" not in found.families


async def test_the_pool_shows_waits_and_calls_that_were_given_up(start_service: StartService) -> None:
    service = await start_service(
        pool_max=2,
        acquire_seconds=0.5,
        metrics_cache_seconds=3600,
        maintenance_seconds=3600,
        cleaning_seconds=3600,
    )
    async with api_of(service.base_url) as api:
        await scrape(api.client)
        pool = service.app.parts.store._pool._pool
        assert service.server.loop is not None

        # The pool belongs to the loop of the service.
        blocking = asyncio.run_coroutine_threadsafe(_hold(pool), service.server.loop)
        free = await asyncio.wrap_future(blocking)
        try:
            assert (await api.client.get("/v1/topics")).status_code == 503
            found = await scrape(api.client)
            assert found.value("pool_timeouts_total") >= 1
            assert found.value("pool_idle_connections") == 0
            assert found.value("pool_open_connections") == found.value("pool_max_connections") == 2
            assert found.value("pool_wait_seconds_count") > 0
        finally:
            service.server.loop.call_soon_threadsafe(free.set)


async def _hold(pool: Any) -> asyncio.Event:
    """Take both connections until the event is set."""
    free = asyncio.Event()
    taken = asyncio.Semaphore(0)

    async def hold() -> None:
        async with pool.acquire():
            taken.release()
            await free.wait()

    free.holders = [asyncio.create_task(hold()) for _ in range(2)]  # type: ignore[attr-defined]
    for _ in range(2):
        await taken.acquire()
    return free


async def test_a_query_of_metrics_is_refused(fresh: Api) -> None:
    assert (await fresh.client.get("/metrics?name=x")).status_code == 422


def test_the_settings_of_metrics_have_bounds(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="metrics_max_topics"):
        Settings(metrics_max_topics=0)
