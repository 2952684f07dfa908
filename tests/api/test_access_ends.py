"""What goes on for long ends when its caller may not have it any more, though another replica was told."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import httpx
import pytest

from app.api.access import GuardedAccess
from app.auth.jwt import MAX_TIME
from app.errors import DatabaseUnavailable
from app.live.permits import TICK_SECONDS
from app.settings import Settings
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.clock import Clock
from tests.support.issuer import Issuer, claims
from tests.support.issuer import token as jwt_token
from tests.support.problems import problem
from tests.support.service import ThreadService
from tests.support.sse import Message, SseClient, open_stream
from tests.support.wait import shared, until

REFRESH_SECONDS = 0.5
END_SECONDS = REFRESH_SECONDS + TICK_SECONDS
"""Until the other replica knows, and looks at what goes on there."""
SLACK_SECONDS = 2.0
"""For a machine that others use too."""

End = Callable[[], Awaitable[Any]]


class World:
    """Two replicas: things are ended at `there` and go on `here`."""

    def __init__(
        self,
        service: ThreadService,
        here: httpx.AsyncClient,
        there: httpx.AsyncClient,
        keys: Keys,
        clock: Clock,
    ) -> None:
        self._service = service
        self.here = here
        self.there = there
        self.keys = keys
        self.clock = clock

    @property
    def going_on(self) -> int:
        """What waits or streams at `here`."""
        access = self._service.app.parts.access
        assert isinstance(access, GuardedAccess)
        return len(access.permits._held)

    async def caller(self, how: str) -> tuple[dict[str, str], End]:
        """Credentials at `here`, and what ends them."""
        scopes = ("subscribe:orders", "consume:orders", "publish:orders")
        if how == "expiry":
            token = await self.keys.make("caller", *scopes, seconds=3600)
            return bearer(token), lambda: self.clock.move(timedelta(seconds=3601))
        token = await self.keys.make("caller", *scopes)
        if how == "revocation":
            return bearer(token), lambda: self.there.delete("/v1/keys/caller")
        answer = await self.there.post("/v1/session", json={"token": token})
        session = {
            "Cookie": answer.headers["set-cookie"].partition(";")[0],
            "X-CSRF-Token": answer.json()["csrf_token"],
        }
        if how == "log-out":
            async with httpx.AsyncClient(base_url=self.there.base_url, timeout=30) as browser:
                assert (await browser.get("/v1/session", headers=session)).status_code == 200
            return session, lambda: self._log_out(session)
        assert how == "revocation of the key of a session"
        return session, lambda: self.there.delete("/v1/keys/caller")

    async def _log_out(self, session: dict[str, str]) -> None:
        async with httpx.AsyncClient(base_url=self.there.base_url, timeout=30) as browser:
            assert (await browser.delete("/v1/session", headers=session)).status_code == 204

    async def publish(self) -> None:
        answer = await self.there.post("/v1/topics/orders/events", json={"events": [{"data": 1}]})
        assert answer.status_code == 201


@pytest.fixture
async def world(clock: Clock, start_guarded: StartService, keys: Keys) -> AsyncIterator[World]:
    settings = {"key_refresh_seconds": REFRESH_SECONDS}
    replicas = [await start_guarded(**settings) for _ in range(2)]
    admin = bearer(await keys.make("admin", "admin"))
    async with AsyncExitStack() as running:
        here = httpx.AsyncClient(base_url=replicas[0].base_url, timeout=30)
        there = httpx.AsyncClient(base_url=replicas[1].base_url, timeout=30, headers=admin)
        for client in (here, there):
            await running.enter_async_context(client)
        await there.put("/v1/topics/orders")
        await there.put("/v1/topics/orders/subscriptions/billing", json={"start": "latest"})
        yield World(replicas[0], here, there, keys, clock)


async def test_13_the_shipped_times_end_a_stream_within_a_ping_and_as_soon_as_is_told() -> None:
    shipped = Settings(database_url="postgresql://nowhere")
    ends = shipped.key_refresh_seconds + TICK_SECONDS
    assert ends <= shipped.ping_seconds
    assert ends <= 6, "README.md and docs/DASHBOARDS.md say so"


WAYS = ["expiry", "revocation", "log-out", "revocation of the key of a session"]
GROUP = "/v1/topics/orders/subscriptions/billing"
CLAIM = f"{GROUP}/claim"
STREAMS = ("/v1/topics/orders/stream", "/v1/stream?topic=orders", f"{GROUP}/stream?member=m")


async def last_message(stream: SseClient) -> Message:
    messages = [message async for message in stream.messages()]
    return messages[-1]


@pytest.mark.parametrize("how", WAYS)
async def test_13_all_that_goes_on_ends_soon(world: World, how: str) -> None:
    headers, end = await world.caller(how)

    async def follow(path: str) -> str:
        async with open_stream(f"{world.here.base_url}{path}", headers=headers) as stream:
            last = await last_message(stream)
        assert last.event == "drain"
        return str(json.loads(last.data)["code"])

    async def call(method: str, path: str, body: Any = None) -> str:
        answer = await world.here.request(method, path, json=body, headers=headers)
        return str(problem(answer, 401, "unauthorized")["code"])

    going_on = [asyncio.create_task(follow(path)) for path in STREAMS]
    going_on.append(asyncio.create_task(call("GET", "/v1/topics/orders/events?wait=25")))
    going_on.append(asyncio.create_task(call("POST", CLAIM, {"member": "m", "wait": 25})))
    await until(lambda: world.going_on == len(going_on))
    began = time.monotonic()
    await end()
    assert await asyncio.gather(*going_on) == ["unauthorized"] * len(going_on)
    assert time.monotonic() - began < shared(END_SECONDS + SLACK_SECONDS)
    for path in STREAMS:
        await call("GET", path)


@pytest.mark.parametrize("how", ["expiry", "revocation"])
async def test_s21_a_busy_stream_ends_too_and_brings_nothing_after(world: World, how: str) -> None:
    headers, end = await world.caller(how)
    published: list[float] = []

    async def keep_publishing() -> None:
        while True:
            await world.publish()
            published.append(time.monotonic())
            await asyncio.sleep(0.1)

    publishing = asyncio.create_task(keep_publishing())
    try:
        async with open_stream(f"{world.here.base_url}/v1/topics/orders/stream", headers=headers) as stream:
            await stream.take(3)
            await end()
            ended_at = time.monotonic()
            messages = [message async for message in stream.messages()]
        closed_at = time.monotonic()
        await until(lambda: published[-1] > closed_at)
    finally:
        publishing.cancel()
    assert messages[-1].event == "drain"
    assert json.loads(messages[-1].data)["code"] == "unauthorized"
    events = [message.received_at for message in messages if message.event == "message"]
    assert max(events, default=ended_at) < ended_at + shared(END_SECONDS + SLACK_SECONDS)
    problem(await world.here.get("/v1/topics/orders/stream", headers=headers), 401, "unauthorized")


async def test_s21_a_stream_ends_when_its_jwt_expires(
    clock: Clock, start_guarded: StartService, keys: Keys
) -> None:
    """By the wall clock, which `exp` is of; the tolerance for clocks that differ is none for streams."""
    admin = bearer(await keys.make("admin", "admin"))
    async with Issuer() as issuer:
        service = await start_guarded(**issuer.settings)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
            await client.put("/v1/topics/orders", headers=admin)
            # The keys of the issuer are read now, and not in the time that the other token has.
            problem(await client.get("/v1/topics/x", headers=bearer(jwt_token())), 404, "topic_not_found")
            expires = int(time.time()) + 5
            headers = bearer(jwt_token(claims(exp=expires)))
            url = f"{service.base_url}/v1/topics/orders/stream"
            async with open_stream(url, headers=headers) as stream:
                last = await last_message(stream)
            assert 0 <= time.time() - expires < shared(END_SECONDS + SLACK_SECONDS)
            assert json.loads(last.data)["code"] == "unauthorized"
            problem(await client.get("/v1/topics/orders/stream", headers=headers), 401, "unauthorized")


async def test_a_jwt_that_outlasts_everybody_tells_when_it_ends(start_guarded: StartService) -> None:
    async with Issuer() as issuer:
        service = await start_guarded(**issuer.settings)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
            headers = bearer(jwt_token(claims(exp=MAX_TIME - 1)))
            answer = await client.get("/v1/session", headers=headers)
            assert answer.status_code == 200, answer.text
            assert answer.json()["expires_at"][:4] in ("9998", "9999")


async def test_s21_a_stream_by_ticket_ends_with_who_asked_for_it(world: World) -> None:
    headers, end = await world.caller("revocation")
    answer = await world.there.post("/v1/stream-tickets", json={"topics": ["orders"]}, headers=headers)
    url = f"{world.here.base_url}/v1/topics/orders/stream?ticket={answer.json()['ticket']}"
    async with open_stream(url) as stream:
        reading = asyncio.create_task(last_message(stream))
        began = time.monotonic()
        await end()
        last = await reading
        assert time.monotonic() - began < shared(END_SECONDS + SLACK_SECONDS)
    assert json.loads(last.data)["code"] == "unauthorized"


async def test_s21_a_stream_of_another_caller_goes_on(world: World) -> None:
    other = bearer(await world.keys.make("other", "subscribe:orders"))
    headers, end = await world.caller("revocation")
    url = f"{world.here.base_url}/v1/topics/orders/stream"
    async with open_stream(url, headers=other) as kept, open_stream(url, headers=headers) as stream:
        await end()
        await last_message(stream)
        await world.publish()
        assert (await kept.next()).event == "message"


async def test_a_claim_that_is_refused_while_it_waits_holds_nothing(world: World) -> None:
    headers, end = await world.caller("revocation")
    waiting = asyncio.create_task(world.here.post(CLAIM, json={"member": "m", "wait": 25}, headers=headers))
    await until(lambda: world.going_on == 1)
    await end()
    problem(await waiting, 401, "unauthorized")
    await world.publish()
    leases = await world.there.get("/v1/topics/orders/subscriptions/billing/leases")
    assert leases.json()["leases"] == []
    taken = await world.there.post(CLAIM, json={"member": "other", "wait": 25})
    assert len(taken.json()["events"]) == 1


async def test_the_leases_of_a_group_stream_that_ends_are_free_at_once(world: World) -> None:
    headers, end = await world.caller("revocation")
    await world.publish()
    async with open_stream(f"{world.here.base_url}{STREAMS[2]}", headers=headers) as stream:
        assert (await stream.next()).event == "lease"
        await end()
        await last_message(stream)
    taken = await world.there.post(CLAIM, json={"member": "other", "wait": 25})
    assert len(taken.json()["events"]) == 1


async def test_lines_that_are_still_being_sent_are_not_stored_any_more(world: World) -> None:
    headers, end = await world.caller("revocation")
    ended = asyncio.Event()

    async def lines() -> AsyncIterator[bytes]:
        yield b'{"data": 1}\n'
        await ended.wait()
        yield b'{"data": 2}\n'

    async def tip() -> int:
        topic = await world.there.get("/v1/topics/orders")
        return int(topic.json()["bounds"][0]["tip"])

    sending = asyncio.create_task(
        world.here.post(
            "/v1/topics/orders/events",
            content=lines(),
            headers={**headers, "Content-Type": "application/x-ndjson"},
        )
    )

    async def first_is_stored() -> bool:
        return await tip() == 1

    await until(first_is_stored)
    await end()

    async def refused() -> bool:
        return (await world.here.get("/v1/topics", headers=headers)).status_code == 401

    await until(refused)
    ended.set()
    answer = await sending
    last = json.loads(answer.text.splitlines()[-1])
    assert last["error"]["code"] == "unauthorized"
    assert await tip() == 1


async def test_keys_stay_known_while_the_database_is_away(
    start_guarded: StartService, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyring that cannot be read again is no reason to end streams."""
    service = await start_guarded(key_refresh_seconds=0.1, ping_seconds=1)
    admin = bearer(await keys.make("admin", "admin"))
    async with httpx.AsyncClient(base_url=service.base_url, headers=admin, timeout=30) as client:
        await client.put("/v1/topics/orders")
        async with open_stream(f"{service.base_url}/v1/topics/orders/stream", headers=admin) as stream:
            store = service.app.parts.keys
            tried = 0

            async def fails() -> list[Any]:
                nonlocal tried
                tried += 1
                raise DatabaseUnavailable("The database cannot be reached.")

            monkeypatch.setattr(store, "active_keys", fails)
            await until(lambda: tried > 5)
            await client.post("/v1/topics/orders/events", json={"events": [{"data": 1}]})
            assert (await stream.next()).event == "message"
