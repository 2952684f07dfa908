"""What comes behind a request's head changes nothing that was decided by it, and takes no room of its own."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from app.api import routing
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.raw import until_read
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, until

EVENT = b'{"events":[{"data":1}]}'
EVENTS = "/v1/topics/orders/events"
SOME_MB = 16_000_000


class Wire:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def until_read(self) -> None:
        (_, port), (_, server_port) = (self._writer.get_extra_info(f"{end}name") for end in ("sock", "peer"))
        await until_read(server_port, port)

    async def answer(self) -> tuple[int, bytes]:
        """0 at the end of the connection."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name == b"content-length":
                    length = int(value)
            return int(head[9:12]), await self._reader.readexactly(length)

    async def is_over(self) -> bool:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._reader.read(1) == b""


@asynccontextmanager
async def wired(service: ThreadService) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection(service.settings.host, service.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


def post(*headers: str, path: str = EVENTS) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", "")
    return "\r\n".join(lines).encode()


CHUNKED = "Transfer-Encoding: chunked"
CHUNK = b"%x\r\n%s\r\n0\r\n" % (len(EVENT), EVENT)
UPGRADES = {
    "h2c": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
    "websocket": ("Connection: Upgrade", "Upgrade: websocket"),
}
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def guarded(start_guarded: StartService, keys: Keys) -> tuple[ThreadService, str]:
    service = await start_guarded()
    admin = await keys.make("admin", "admin")
    async with httpx.AsyncClient(base_url=service.base_url, headers=bearer(admin), timeout=30) as client:
        assert (await client.put("/v1/topics/orders")).status_code == 201
    return service, admin


async def test_no_header_comes_by_a_trailer(start_guarded: StartService, keys: Keys) -> None:
    service, admin = await guarded(start_guarded, keys)
    async with wired(service) as wire:
        await wire.send(post(CHUNKED) + CHUNK + f"Authorization: Bearer {admin}\r\n\r\n".encode())
        assert (await wire.answer())[0] == 401
        # Nor is a header made worth less by one, and the connection goes on.
        head = post(CHUNKED, f"Authorization: Bearer {admin}")
        await wire.send(head + CHUNK + b"Authorization: Bearer x\r\n\r\n" + LIVEZ)
        assert [(await wire.answer())[0] for _ in range(2)] == [201, 200]


@pytest.mark.parametrize("endless", ["a:b\r\n" * 20_000, "a" * 100_000], ids=["trailers", "trailer"])
async def test_endless_trailers_are_cut(start_guarded: StartService, keys: Keys, endless: str) -> None:
    service, admin = await guarded(start_guarded, keys)
    for headers, wanted in (([], 401), ([f"Authorization: Bearer {admin}"], 431)):
        async with wired(service) as wire:
            await wire.send(post(CHUNKED, *headers) + b"0\r\n" + b"x: y\r\nz: ")
            await wire.until_read()
            before = resident()
            with_room = 0
            try:
                for _ in range(SOME_MB // len(endless)):
                    await wire.send(endless.encode())
                    with_room = max(with_room, resident() - before)
            except ConnectionError:
                pass
            assert with_room < SOME_MB // 2
            assert (await wire.answer())[0] == wanted
            assert await wire.is_over()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("upgrade", UPGRADES)
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
async def test_a_body_is_a_body_whatever_else_the_client_could_speak(
    start_guarded: StartService, keys: Keys, upgrade: str, apart: bool
) -> None:
    """Java's HTTP client offers h2c with its first request; and no request may hide in a body."""
    service, admin = await guarded(start_guarded, keys)
    token = f"Authorization: Bearer {admin}"
    hidden = b"DELETE /v1/topics/orders HTTP/1.1\r\nHost: localhost\r\n" + token.encode() + b"\r\n\r\n"
    for body, wanted in ((EVENT, 201), (hidden, 400)):
        async with wired(service) as wire:
            head = post(token, *UPGRADES[upgrade], f"Content-Length: {len(body)}")
            await wire.send(head if apart else head + body + LIVEZ)
            if apart:
                await wire.until_read()
                await wire.send(body + LIVEZ)
            status, said = await wire.answer()
            assert status == wanted, said
            assert (await wire.answer()) == (200, b'{"status":"ok"}')
    async with httpx.AsyncClient(base_url=service.base_url, headers=bearer(admin), timeout=30) as client:
        assert (await client.get("/v1/topics/orders")).status_code == 200


async def test_many_wishes_at_once_are_ignored_one_by_one(start_service: StartService) -> None:
    wish = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
    async with wired(await start_service()) as wire:
        await wire.send(wish * 1500)
        assert {(await wire.answer())[0] for _ in range(1500)} == {200}


async def test_what_is_wrong_with_the_next_request_is_no_answer_to_this_one(
    start_guarded: StartService, keys: Keys
) -> None:
    service, admin = await guarded(start_guarded, keys)
    async with wired(service) as wire:
        poll = f"GET {EVENTS}?from=latest&wait=25 HTTP/1.1\r\nHost: localhost\r\n"
        await wire.send(f"{poll}Authorization: Bearer {admin}\r\n\r\n".encode())
        await until(lambda: service.app.parts.tail.waiting)
        await wire.send(b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n")
        await wire.until_read()
        async with httpx.AsyncClient(base_url=service.base_url, headers=bearer(admin), timeout=30) as client:
            assert (await client.post(EVENTS, json={"events": [{"data": 1}]})).status_code == 201
        status, page = await wire.answer()
        assert (status, len(json.loads(page)["events"])) == (200, 1)
        assert (await wire.answer())[0] == 400
        assert await wire.is_over()


@pytest.mark.parametrize(
    ("path", "body"),
    [(EVENTS, EVENT), ("/v1/keys", b'{"name":"another","scopes":["admin"]}')],
    ids=["publish", "create key"],
)
async def test_a_slow_body_does_not_outlive_its_key(
    start_guarded: StartService, keys: Keys, path: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "SLOW_SECONDS", 0.0)
    service, admin = await guarded(start_guarded, keys)
    leaked = await keys.make("leaked", "admin")
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client, wired(service) as wire:
        assert (await client.get("/v1/session", headers=bearer(leaked))).status_code == 200
        head = post(f"Authorization: Bearer {leaked}", f"Content-Length: {len(body)}", path=path)
        await wire.send(head + body[:-1])
        await wire.until_read()
        assert (await client.delete("/v1/keys/leaked", headers=bearer(admin))).status_code == 204
        await wire.send(body[-1:])
        status, said = await wire.answer()
        assert (status, json.loads(said)["code"]) == (401, "unauthorized")


async def test_a_stream_of_lines_ends_with_its_key(start_guarded: StartService, keys: Keys) -> None:
    """Also one that sends nothing any more."""
    service, admin = await guarded(start_guarded, keys)
    token = await keys.make("publisher", "publish:orders")
    line = b'{"data":1}\n'
    head = f"POST {EVENTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n{CHUNKED}\r\n"
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client, wired(service) as wire:
        await wire.send(f"{head}Authorization: Bearer {token}\r\n\r\n{len(line):x}\r\n".encode())
        await wire.send(line + b"\r\n")
        status, _ = await wire.answer()
        assert status == 200
        assert (await client.delete("/v1/keys/publisher", headers=bearer(admin))).status_code == 204
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b'"unauthorized"' in await wire._reader.readuntil(b"0\r\n\r\n")


async def test_a_page_of_another_site_may_change_nothing_where_authentication_is_off(
    start_service: StartService,
) -> None:
    """It could call what takes an empty body: a browser asks before it does nothing of that."""
    service = await start_service(cors_origins=["https://app.example"])
    group = "/v1/topics/orders/subscriptions/billing"
    evil = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        await client.put("/v1/topics/orders")
        await client.put(group)
        for call in ("pause", "cancel", "dead-letters/discard", "dead-letters/redrive"):
            for headers in (evil, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
                assert (await client.post(f"{group}/{call}", headers=headers)).status_code == 403
        assert (await client.get(f"{group}/stream?member=m", headers=evil)).status_code == 403
        assert (await client.get(group)).json()["status"] == "ACTIVE"
        own = {"Origin": service.base_url, "Sec-Fetch-Site": "same-origin"}
        named = {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}
        for headers in ({}, own, named):
            assert (await client.post(f"{group}/pause", headers=headers)).status_code == 200
            assert (await client.post(f"{group}/resume", headers=headers)).status_code == 200


async def test_a_session_opens_no_session(start_guarded: StartService, keys: Keys) -> None:
    """Or there would be no bound to how many a key can have."""
    service, admin = await guarded(start_guarded, keys)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        opened = await client.post("/v1/session", json={"token": admin})
        cookie = opened.headers["set-cookie"].partition(";")[0].partition("=")[2]
        assert (await client.post("/v1/session", json={"token": cookie})).status_code == 401
