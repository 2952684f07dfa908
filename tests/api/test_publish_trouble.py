"""Publishing while clients leave, logs are locked and connections break."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import asyncpg
import httpx

from tests.conftest import Connect, StartService
from tests.support.access import Keys, bearer
from tests.support.api import Api, api_of
from tests.support.databases import Databases
from tests.support.effort import effort
from tests.support.problems import problem
from tests.support.raw import until_left
from tests.support.service import ThreadService
from tests.support.unhindered import insist_on_unhindered
from tests.support.wait import shared, until, until_blocked, until_within
from tests.support.wire import behind_a_wire

HELD_UP_SECONDS = 1.5
"""Whoever waited for the locked log would wait longer: `lock_seconds`, which are 2."""
LOST_ANSWERS = effort(20, 200)
IN_TRANSACTION = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'gapless' and state like 'idle in transaction%'"""
SLOW_INSERTS = """
create function public.slow() returns trigger language plpgsql as $$
  begin
    perform pg_sleep(0.002);
    return new;
  end
$$;
create trigger slow before insert on gapless.event for each row execute function public.slow()"""
LOCKED = """
select count(*) from pg_locks l join pg_stat_activity a using (pid)
where a.datname = current_database() and a.application_name = 'gapless'
  and l.locktype = 'advisory' and l.mode = 'ExclusiveLock'"""


@asynccontextmanager
async def locked(connection: asyncpg.Connection, topic: str) -> AsyncIterator[None]:
    """Hold the log of a topic as a long business transaction would."""
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("select from gapless.publish($1, array['0'::json])", topic)
    try:
        yield
    finally:
        await transaction.rollback()


async def publish_unlocked(api: Api) -> None:
    before = time.monotonic()
    await api.publish("event", topic="cold")
    assert time.monotonic() - before < shared(HELD_UP_SECONDS)


async def send_and_leave(service: ThreadService, topic: str, data: Any, seconds: float) -> None:
    """A client that closes its socket some time after the request, whatever comes."""
    body = json.dumps({"events": [{"data": one} for one in data]}).encode()
    head = f"POST /v1/topics/{topic}/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    _, writer = await asyncio.open_connection("127.0.0.1", service.port)
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    await asyncio.sleep(seconds)
    writer.transport.abort()


async def stored(api: Api, topic: str = "t") -> list[Any]:
    found: list[Any] = []
    offset = 1
    while events := (await api.read(topic, offset=offset, limit=1000))["events"]:
        assert [event["offset"] for event in events] == list(range(offset, offset + len(events)))
        found += [event["data"] for event in events]
        offset += len(events)
    return found


async def test_s06_a_batch_whose_client_left_is_stored_whole_or_not_at_all(
    service: ThreadService, api: Api
) -> None:
    await api.create()
    for first in range(0, 500, 50):
        await asyncio.gather(
            *(send_and_leave(service, "t", [[n, i] for i in range(3)], 0) for n in range(first, first + 50))
        )
    await api.publish("last")
    found = [data for data in await stored(api) if data != "last"]
    assert [i for _, i in found] == [0, 1, 2] * (len(found) // 3)
    assert len({n for n, _ in found}) * 3 == len(found)


async def test_s35_clients_that_leave_early_leak_no_connection(start_service: StartService) -> None:
    """They publish to so many topics that these compete for the connections."""
    service = await start_service(pool_min=0, pool_max=3)
    topics = [f"t{number}" for number in range(20)]
    dice = random.Random(35)
    async with api_of(service.base_url) as api:
        await api.create("t", *topics)
        for first in range(0, 5_000, 100):
            await asyncio.gather(
                *(
                    send_and_leave(service, topics[n % len(topics)], [n], dice.uniform(0.001, 0.02))
                    for n in range(first, first + 100)
                )
            )
        pool = service.app.parts.store._pool._pool
        await until_left(service.port)
        await until(lambda: pool.get_idle_size() == pool.get_size())
        started = time.monotonic()
        await api.publish("last")
        assert time.monotonic() - started < shared(0.1)
    started = time.monotonic()
    await service.stop()
    assert time.monotonic() - started < shared(5)


async def test_s36_a_locked_log_is_busy_soon_and_holds_up_no_other_topic(
    start_service: StartService, connect: Connect
) -> None:
    service = await start_service(pool_max=4, lock_seconds=2)
    connection = await connect()
    async with api_of(service.base_url) as api:
        await api.create("hot")
        await api.create("cold")
        url = "/v1/topics/hot/events"
        body = {"events": [{"data": 1}]}
        keyed = [{"Idempotency-Key": str(n)} if n % 2 else {} for n in range(50)]

        async def all_are_refused() -> None:
            async with locked(connection, "hot"):
                started = time.monotonic()
                answers = await asyncio.gather(*(api.client.post(url, json=body, headers=h) for h in keyed))
                assert time.monotonic() - started < shared(4)
            for answer in answers:
                problem(answer, 503, "topic_busy")

        await insist_on_unhindered(partial(publish_unlocked, api), all_are_refused)
        assert await api.publish("free", topic="hot") == [1]


async def test_many_locked_logs_leave_connections_to_the_other_topics(
    start_service: StartService, connect: Connect
) -> None:
    service = await start_service(pool_max=10, lock_seconds=2)
    hot = [f"hot{number}" for number in range(8)]
    async with api_of(service.base_url) as api, AsyncExitStack() as locks:
        await api.create(*hot, "cold")
        for topic in hot:
            await locks.enter_async_context(locked(await connect(), topic))

        async def all_are_busy() -> None:
            urls = [f"/v1/topics/{topic}/events" for topic in hot]
            body = {"events": [{"data": 1}]}
            for answer in await asyncio.gather(*(api.client.post(url, json=body) for url in urls)):
                problem(answer, 503, "topic_busy")

        await all_are_busy()
        await insist_on_unhindered(partial(publish_unlocked, api), all_are_busy)
        await locks.aclose()
        for topic in hot:
            assert await api.publish("free", topic=topic) == [1]


async def test_s37_clients_that_leave_while_the_log_is_locked_leave_nothing_behind(
    service: ThreadService, api: Api, connect: Connect
) -> None:
    """By another session or by their own publish, whose inserts take a while; some stay for their answer."""
    await api.create()
    holder, observer = await connect(), await connect()
    await observer.execute(SLOW_INSERTS)
    dice = random.Random(37)
    stayed: dict[int, asyncio.Task[list[int]]] = {}
    for first in range(0, 1_000, 50):
        async with asyncio.TaskGroup() as group, locked(holder, "t"):
            for n in range(first, first + 50):
                group.create_task(send_and_leave(service, "t", [n], dice.uniform(0, 0.1)))
            for n in range(-first - 5, -first):
                stayed[n] = group.create_task(api.publish(n))
            await asyncio.sleep(dice.uniform(0, 0.04))
    await until_left(service.port)
    await api.publish("last")
    await until_within(lambda: _is_zero(observer, IN_TRANSACTION), 1)
    await until_within(lambda: _is_zero(observer, LOCKED), 1)
    found = await stored(api)
    assert found[-1] == "last"
    assert len(found) == len(set(map(str, found)))
    assert all(found[offset - 1] == n for n, task in stayed.items() for offset in task.result())


async def _is_zero(connection: asyncpg.Connection, query: str) -> bool:
    return bool(await connection.fetchval(query) == 0)


async def test_one_bad_request_among_many_does_not_fail_its_companions(
    service: ThreadService, client: httpx.AsyncClient, connect: Connect
) -> None:
    """Only the database knows the partitions of keys, so it alone can tell that the bad one is split."""
    await client.put("/v1/topics/t", json={"partitions": 256})
    holder = await connect()
    split = {"events": [{"key": f"k{n}", "transaction_id": "x", "data": n} for n in range(9)]}
    async with asyncio.TaskGroup() as group, locked_partitions(holder, "t"):
        bodies = [split if n == 10 else {"events": [{"data": n}]} for n in range(20)]
        tasks = [group.create_task(client.post("/v1/topics/t/events", json=body)) for body in bodies]
        await until(lambda: service.app.parts.commits.pending == 20)
    problem(tasks[10].result(), 422, "transaction_split")
    assert [task.result().status_code for task in tasks].count(201) == 19


async def test_s39_a_waiting_reader_sees_every_offset_in_turn(api: Api) -> None:
    await api.create()
    dice = random.Random(39)

    async def publish(writer: int) -> None:
        for n in range(20):
            await api.publish(*[[writer, n, i] for i in range(dice.randint(1, 3))])

    async def read() -> list[Any]:
        found: list[Any] = []
        while not found or found[-1] != "end":
            page = await api.read(offset=len(found) + 1, limit=1000, wait=5)
            assert [event["offset"] for event in page["events"]] == list(
                range(len(found) + 1, page["next_offset"])
            )
            found += [event["data"] for event in page["events"]]
        return found

    async with asyncio.TaskGroup() as group:
        reader = group.create_task(read())
        await asyncio.gather(*(publish(writer) for writer in range(16)))
        await api.publish("end")
    found = reader.result()[:-1]
    for writer in range(16):
        own = [(n, i) for owner, n, i in found if owner == writer]
        assert own == sorted(own)
        assert {n for n, _ in own} == set(range(20))


async def test_s40_batches_over_many_partitions_in_any_order_never_deadlock(
    service: ThreadService, client: httpx.AsyncClient, connect: Connect
) -> None:
    await client.put("/v1/topics/t", json={"partitions": 64})
    dice = random.Random(40)
    keys = [f"k{n}" for n in range(100)]
    bodies = [{"events": [{"key": k, "data": 1} for k in dice.sample(keys, 50)]} for _ in range(200)]
    answers = await asyncio.gather(
        *(
            client.post("/v1/topics/t/events", json=body, headers={"Idempotency-Key": str(n)})
            for n, body in enumerate(bodies)
        )
    )
    assert {answer.status_code for answer in answers} == {201}
    bounds = (await client.get("/v1/topics/t")).json()["bounds"]
    assert sum(partition["tip"] for partition in bounds) == 200 * 50
    await service.stop()
    assert await deadlocks(await connect()) == 0, "a victim is tried again, so its caller sees nothing of it"


async def deadlocks(observer: asyncpg.Connection) -> int:
    """All that the database has had: sessions tell what they counted as they end, at the latest."""
    await until(
        lambda: observer.fetchval(
            "select count(*) = 1 from pg_stat_activity"
            " where datname = current_database() and backend_type = 'client backend'"
        )
    )
    return int(
        await observer.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
    )


@asynccontextmanager
async def locked_partitions(connection: asyncpg.Connection, topic: str) -> AsyncIterator[None]:
    async with connection.transaction():
        await connection.execute(
            "select gapless.lock_partitions(topic_id, array(select generate_series(0, 255)))"
            " from gapless.topic where name = $1",
            topic,
        )
        yield


async def test_s72_one_key_over_two_replicas_at_once_is_stored_once(start_service: StartService) -> None:
    replicas = [await start_service() for _ in range(2)]
    headers = {"Idempotency-Key": "k"}
    async with api_of(replicas[0].base_url) as one, api_of(replicas[1].base_url) as other:
        await one.create()
        body = {"events": [{"data": n} for n in range(3)]}
        clients = [one.client, other.client]
        answers = await asyncio.gather(
            *(clients[n % 2].post("/v1/topics/t/events", json=body, headers=headers) for n in range(50))
        )
        assert {answer.status_code for answer in answers} == {201}
        assert sum(answer.json()["replayed"] for answer in answers) == 49
        assert {json.dumps(answer.json()["events"]) for answer in answers} == {
            json.dumps([{"partition": 0, "offset": n + 1} for n in range(3)])
        }
        await one.create("another")
        elsewhere = await one.client.post("/v1/topics/another/events", json=body, headers=headers)
        assert elsewhere.json()["replayed"] is False


async def test_s72_a_key_belongs_to_the_topic_whoever_sends_it(
    start_guarded: StartService, keys: Keys
) -> None:
    """So a publisher whose API key was replaced can go on; tenants have topics of their own."""
    service = await start_guarded()
    admin = await keys.make("admin", "admin")
    old, new = [await keys.make(name, "publish:a.*") for name in ("old", "new")]
    tenant = await keys.make("tenant", "publish:b.*")
    async with api_of(service.base_url) as api:
        for topic in ("a.orders", "b.orders"):
            made = await api.client.put(f"/v1/topics/{topic}", headers=bearer(admin))
            assert made.status_code == 201, made.text

        async def publish(token: str, data: Any, topic: str = "a.orders") -> httpx.Response:
            return await api.client.post(
                f"/v1/topics/{topic}/events",
                json={"events": [{"data": data}]},
                headers={**bearer(token), "Idempotency-Key": "k"},
            )

        first, replayed = await publish(old, 1), await publish(new, 1)
        assert (first.status_code, replayed.status_code) == (201, 201)
        assert "idempotency-replayed" not in first.headers
        assert replayed.headers["idempotency-replayed"] == "true"
        assert replayed.json() == {**first.json(), "replayed": True}
        problem(await publish(new, 2), 422, "idempotency_conflict")
        problem(await publish(old, 2), 422, "idempotency_conflict")
        elsewhere = await publish(tenant, 2, topic="b.orders")
        assert elsewhere.status_code == 201, elsewhere.text
        assert elsewhere.json()["replayed"] is False
        for topic in ("a.orders", "b.orders"):
            (bounds,) = (await api.client.get(f"/v1/topics/{topic}", headers=bearer(admin))).json()["bounds"]
            assert bounds["tip"] == 1


async def test_s73_an_answer_lost_after_the_commit_is_told_and_a_key_makes_repeating_safe(
    start_service: StartService, databases: Databases, dsn: str
) -> None:
    """On another instance too, which has not seen the first try."""
    other = await start_service()
    async with (
        behind_a_wire(start_service, databases, dsn) as (api, proxy),
        api_of(other.base_url) as another,
    ):
        for n in range(LOST_ANSWERS):
            headers = {"Idempotency-Key": f"k{n}"}
            body = {"events": [{"data": f"lost {n}"}]}
            proxy.cut_answer_to(b"lost", after=1)
            lost = await api.client.post("/v1/topics/t/events", json=body, headers=headers)
            refused = problem(lost, 503, "database_unavailable")
            assert refused["outcome"] == "unknown"
            assert "same Idempotency-Key" in refused["detail"]
            for instance in (another, api):
                again = await instance.client.post("/v1/topics/t/events", json=body, headers=headers)
                assert again.status_code == 201, again.text
                assert again.json()["replayed"] is True
                assert again.json()["events"] == [{"partition": 0, "offset": n + 1}]
        assert await stored(another) == [f"lost {n}" for n in range(LOST_ANSWERS)]


async def test_s73_without_a_key_a_lost_answer_is_never_repeated_by_the_server(
    start_service: StartService, databases: Databases, dsn: str
) -> None:
    async with behind_a_wire(start_service, databases, dsn) as (api, proxy):
        for n in range(10):
            proxy.cut_answer_to(b"lost", after=1)
            body = {"events": [{"data": f"lost {n}"}]}
            lost = await api.client.post("/v1/topics/t/events", json=body)
            refused = problem(lost, 503, "database_unavailable")
            assert refused["outcome"] == "unknown"
            assert "Read the topic" in refused["detail"]
        assert await stored(api) == [f"lost {n}" for n in range(10)]


async def test_a_full_queue_answers_busy_and_recovers(start_service: StartService, connect: Connect) -> None:
    service = await start_service(queue_max_events=5)
    connection, observer = await connect(), await connect()
    async with api_of(service.base_url) as api:
        await api.create()
        body = {"events": [{"data": 1}]}
        commits = service.app.parts.commits
        async with asyncio.TaskGroup() as group, locked(connection, "t"):
            # The first alone, or those that come with it would go into its transaction.
            tasks = [group.create_task(api.client.post("/v1/topics/t/events", json=body))]
            await until_blocked(observer, "gapless")
            assert (commits.pending, commits.waiting) == (1, (0, 0))
            tasks += [group.create_task(api.client.post("/v1/topics/t/events", json=body)) for _ in range(19)]
            await until(lambda: sum(task.done() for task in tasks) == 14)
        answers = [task.result() for task in tasks]
        for answer in answers:
            if answer.status_code != 201:
                problem(answer, 503, "topic_busy")
        assert [answer.status_code for answer in answers].count(201) == 6
        assert await api.publish("again") == [7]


async def test_events_that_were_accepted_are_stored_when_the_server_stops(
    start_service: StartService, connect: Connect
) -> None:
    service = await start_service(drain_seconds=30)
    connection = await connect()
    async with api_of(service.base_url) as api:
        await api.create()
        async with asyncio.TaskGroup() as group, locked(connection, "t"):
            tasks = [group.create_task(api.publish(n)) for n in range(20)]
            await until(lambda: service.app.parts.commits.pending == 20)
            service.begin_stop()
        assert sorted(task.result()[0] for task in tasks) == list(range(1, 21))
    assert await connection.fetchval("select tip from gapless.log_bounds('t')") == 20
