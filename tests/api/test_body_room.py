"""Bodies that arrive slowly take a bounded part of the memory, whoever sends how many of them."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

import asyncpg
import httpx
import pytest

from app.api.connection import _Awaited
from app.live.bodies import Bodies
from app.settings import MIB
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.metrics import scrape
from tests.support.problems import problem
from tests.support.raw import until_read
from tests.support.rude import Rude
from tests.support.service import ThreadService
from tests.support.wait import until

ROOM = {"bodies_max_bytes": 4 * MIB, "max_request_bytes": MIB, "max_event_bytes": MIB}
MUCH = 1_000_000
EVENTS = "/v1/topics/t/events"
SMALL = {"events": [{"data": 1}]}
BEGIN = b'{"events":[{"data":"'
END = b'"}]}'


def head(headers: Mapping[str, str], kind: str = "application/json") -> bytes:
    lines = [f"{name}: {value}" for name, value in {"Content-Type": kind, **headers}.items()]
    return "\r\n".join([f"POST {EVENTS} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def bodies(service: ThreadService) -> Bodies:
    found: Bodies = service.app.parts.bodies
    return found


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def service(start_service: StartService) -> ThreadService:
    service = await start_service(**ROOM)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=60) as client:
        assert (await client.put("/v1/topics/t")).status_code == 201
    return service


async def begun(
    service: ThreadService, stack: AsyncExitStack, size: int = MUCH, by: Mapping[str, str] | None = None
) -> Rude:
    """A request whose body came so far, and goes on some time."""
    before = bodies(service).bytes
    rude = await stack.enter_async_context(Rude(service.port))
    await rude.send(head({**(by or {}), "Transfer-Encoding": "chunked"}))
    await rude.send(chunk(BEGIN + b"x" * (size - len(BEGIN))))
    await until(lambda: bodies(service).bytes == before + size)
    return rude


async def refused(service: ThreadService, by: Mapping[str, str] | None = None, size: int = MUCH) -> Rude:
    async with Rude(service.port) as rude:
        await rude.send(head({**(by or {}), "Transfer-Encoding": "chunked"}) + chunk(BEGIN + b"x" * size))
        await rude.first_answer()
        await rude.until_received(b'"code":')
        return rude


async def test_slow_bodies_fill_their_room_and_no_more_and_small_ones_pass(
    service: ThreadService, stack: AsyncExitStack
) -> None:
    slow = [await begun(service, stack) for _ in range(4)]
    client = await stack.enter_async_context(httpx.AsyncClient(base_url=service.base_url, timeout=60))
    rude = await refused(service)
    assert rude.received.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"server_full"' in rude.received
    assert b"retry-after: " in rude.received.lower()
    answer = await client.post(EVENTS, json={"events": [{"data": "x" * MUCH}]})
    assert problem(answer, 503, "server_full")["limit"] == 4 * MIB
    assert (await client.post(EVENTS, json=SMALL)).status_code == 201
    assert (await scrape(client)).value("publish_body_bytes") == 4 * MUCH
    for rude in slow:
        await rude.send(chunk(END) + b"0\r\n\r\n")
        assert await rude.first_answer() == 201
    await until(lambda: bodies(service).bytes == 0)
    assert (await client.post(EVENTS, json={"events": [{"data": "x" * MUCH}]})).status_code == 201


async def test_what_is_only_announced_takes_nothing(service: ThreadService, stack: AsyncExitStack) -> None:
    for _ in range(20):
        rude = await stack.enter_async_context(Rude(service.port))
        await rude.send(head({"Content-Length": str(MUCH)}) + BEGIN)
        await until_read(service.port, rude.writer.get_extra_info("sockname")[1])
    client = await stack.enter_async_context(httpx.AsyncClient(base_url=service.base_url, timeout=60))
    assert (await client.post(EVENTS, json={"events": [{"data": "x" * MUCH}]})).status_code == 201
    assert bodies(service).bytes == 0


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (chunk(END) + b"0\r\n\r\n", 201),
        (b"0\r\n\r\n", 400),
        (chunk(b'"},1]}') + b"0\r\n\r\n", 422),
        (chunk(b"x" * 100_000), 413),
        (b"no chunk\r\n", 400),
        (None, None),
    ],
    ids=["stored", "no JSON", "an event refused", "too large", "no HTTP", "gone"],
)
async def test_room_is_given_back_however_a_request_ends(
    service: ThreadService, stack: AsyncExitStack, rest: bytes | None, status: int | None
) -> None:
    rude = await begun(service, stack)
    if rest is None:
        rude.writer.close()
    else:
        await rude.send(rest)
        assert await rude.first_answer() == status
    await until(lambda: bodies(service).bytes == 0)


async def test_room_is_given_back_by_a_body_that_comes_too_slowly(
    service: ThreadService, stack: AsyncExitStack
) -> None:
    rude = await begun(service, stack)
    connections = tuple(service.server._connections)
    (connection,) = (one for one in connections if one._awaited is _Awaited.BODY)
    assert service.server.loop is not None
    service.server.loop.call_soon_threadsafe(connection._refuse, 408)
    assert await rude.first_answer() == 408
    await until(lambda: bodies(service).bytes == 0)


async def test_one_caller_leaves_room_to_the_others(
    start_guarded: StartService, keys: Keys, stack: AsyncExitStack
) -> None:
    service = await start_guarded(**ROOM)
    admin = bearer(await keys.make("admin", "admin"))
    greedy, modest = [bearer(await keys.make(name, "publish:t")) for name in ("greedy", "modest")]
    client = await stack.enter_async_context(httpx.AsyncClient(base_url=service.base_url, timeout=60))
    assert (await client.put("/v1/topics/t", headers=admin)).status_code == 201
    rude = await begun(service, stack, by=greedy)
    over = await refused(service, greedy, 100_000)
    assert over.received.startswith(b"HTTP/1.1 429 ")
    assert b'"code":"rate_limited"' in over.received
    large = {"events": [{"data": "x" * 100_000}]}
    problem(await client.post(EVENTS, json=large, headers=greedy), 429, "rate_limited")
    assert (await client.post(EVENTS, json=SMALL, headers=greedy)).status_code == 201
    assert (await client.post(EVENTS, json=large, headers=modest)).status_code == 201
    await rude.send(chunk(END) + b"0\r\n\r\n")
    assert await rude.first_answer() == 201
    await until(lambda: bodies(service).bytes == 0)
    assert (await client.post(EVENTS, json=large, headers=greedy)).status_code == 201


async def test_lines_take_room_until_they_are_stored(service: ThreadService, stack: AsyncExitStack) -> None:
    lines = await stack.enter_async_context(Rude(service.port))
    await lines.send(head({"Transfer-Encoding": "chunked"}, "application/x-ndjson"))
    await lines.send(chunk(b'{"data":"' + b"x" * MUCH))
    await until(lambda: bodies(service).bytes > MUCH)
    await lines.send(chunk(b'"}\n'))
    await lines.until_received(b'"events":1')
    await until(lambda: bodies(service).bytes == 0)
    for _ in range(4):
        await begun(service, stack)
    await lines.send(chunk(b'{"data":"' + b"x" * MUCH))
    await lines.until_received(b"0\r\n\r\n")
    last = json.loads([line for line in lines.received.splitlines() if line.startswith(b"{")][-1])
    assert (last["lines"], last["error"]["code"]) == ([2, 2], "server_full")
    await until(lambda: bodies(service).bytes == 4 * MUCH)


async def test_unfinished_lines_that_pause_give_way_where_room_is_scarce(
    start_service: StartService, stack: AsyncExitStack
) -> None:
    service = await start_service(**ROOM, body_seconds=0.5)
    client = await stack.enter_async_context(httpx.AsyncClient(base_url=service.base_url, timeout=60))
    assert (await client.put("/v1/topics/t")).status_code == 201
    paused = []
    for _ in range(3):
        lines = await stack.enter_async_context(Rude(service.port))
        # In one piece: a body that has not begun must not be late.
        begin = head({"Transfer-Encoding": "chunked"}, "application/x-ndjson")
        await lines.send(begin + chunk(b'{"data":1}\n'))
        await lines.until_received(b'"events":1')
        await lines.send(chunk(b'{"data":"' + b"x" * MUCH))
        paused.append(lines)
    told = b'"code":"request_timeout"'
    reading = [asyncio.create_task(lines.until_received(told)) for lines in paused]
    await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
    assert any(told in lines.received for lines in paused)
    await until(lambda: 0 < bodies(service).bytes <= 2 * MIB)
    for task in reading:
        task.cancel()


async def test_a_body_that_comes_at_once_takes_its_room_until_it_is_stored(
    service: ThreadService, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much comes by one read is the system's choice, so that little counts as much here."""
    for module in ("app.api.routing", "app.live.bodies"):
        monkeypatch.setattr(f"{module}.SMALL_BYTES", 1_000)
    body = BEGIN + b"x" * 5_000 + END
    async with Rude(service.port) as rude:
        async with connection.transaction():
            await connection.execute("select gapless.lock_partitions(topic_id, array[0]) from gapless.topic")
            await rude.send(head({"Content-Length": str(len(body))}) + body)
            await until(lambda: bodies(service).bytes == len(body))
        assert await rude.first_answer() == 201
    assert bodies(service).bytes == 0


async def test_lines_give_their_room_back_when_their_client_goes(
    service: ThreadService, stack: AsyncExitStack
) -> None:
    for prefix in (b"", b'{"data":1}\n'):
        async with Rude(service.port) as lines:
            await lines.send(head({"Transfer-Encoding": "chunked"}, "application/x-ndjson"))
            if prefix:
                await lines.send(chunk(prefix))
                await lines.until_received(b'"events":1')
            await lines.send(chunk(b'{"data":"' + b"x" * MUCH))
            await until(lambda: bodies(service).bytes > MUCH)
        await until(lambda: bodies(service).bytes == 0)
