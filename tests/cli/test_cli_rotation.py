"""Commands that run for long go on while the token in their file is replaced and the old one is revoked."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.cli.test_cli_consume import ended, lines
from tests.cli.test_cli_tail import line, said
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.cli import start
from tests.support.clock import SlowClock
from tests.support.http_group import create_group
from tests.support.lines import waiting
from tests.support.service import ThreadService
from tests.support.wait import until


@pytest.fixture
async def guarded(start_guarded: StartService) -> ThreadService:
    return await start_guarded(key_refresh_seconds=0.1, retry_milliseconds=100)


@pytest.fixture
async def admin(guarded: ThreadService, keys: Keys) -> AsyncIterator[httpx.AsyncClient]:
    headers = bearer(await keys.make("ops", "admin"))
    async with httpx.AsyncClient(base_url=guarded.base_url, timeout=30, headers=headers) as client:
        yield client


class TokenFile:
    """Has the token of a key, which is replaced by that of another one as the docs say."""

    def __init__(self, path: Path, url: str, keys: Keys) -> None:
        self.path = path
        self._url = url
        self._keys = keys
        self._key = ""

    async def put(self, key: str) -> None:
        """A new key, into the file."""
        self._key = key
        self._token = await self._keys.make(key, "subscribe:orders", "consume:orders")
        self.path.write_text(f"{self._token}\n")

    async def replace(self, key: str) -> None:
        """Returns once the service refuses the key of before."""
        before, token = self._key, self._token
        await self.put(key)
        await self._revoke(before, token)

    async def revoke(self) -> None:
        await self._revoke(self._key, self._token)

    async def _revoke(self, key: str, token: str) -> None:
        await self._keys.revoke(key)
        async with httpx.AsyncClient(base_url=self._url, timeout=30, headers=bearer(token)) as client:

            async def refused() -> bool:
                return (await client.get("/v1/session")).status_code == 401

            await until(refused)


@pytest.fixture
def token_file(tmp_path: Path, guarded: ThreadService, keys: Keys) -> TokenFile:
    return TokenFile(tmp_path / "token", guarded.base_url, keys)


async def test_a_tail_goes_on_without_a_hole_under_each_new_key_and_ends_with_the_last(
    guarded: ThreadService, admin: httpx.AsyncClient, token_file: TokenFile
) -> None:
    group = await create_group(admin)
    await token_file.put("one")
    options = ["--token-file", str(token_file.path), "tail", "orders", "--from", "earliest"]
    process = await start(options, url=guarded.base_url)
    await group.publish(1)
    assert (await line(process))["offset"] == 1
    for offset, key in ((2, "two"), (3, "three")):
        await token_file.replace(key)
        await group.publish(offset)
        await said(process, "(unauthorized); reconnecting")
        await said(process, "connected again")
        assert (await line(process))["offset"] == offset
    await token_file.revoke()
    code, err = await ended(process)
    assert code == 1
    assert f"(unauthorized)\ngapless: {token_file.path} must hold the token of an active key; " in err


async def test_a_consumer_keeps_its_lease_and_goes_on_under_each_new_key(
    guarded: ThreadService,
    admin: httpx.AsyncClient,
    connection: asyncpg.Connection,
    slow_clock: SlowClock,
    token_file: TokenFile,
    tmp_path: Path,
) -> None:
    group = await create_group(admin)
    await token_file.put("one")
    seen, gate = tmp_path / "seen", tmp_path / "gate"
    command = f"echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {seen}; until [ -e {gate} ]; do sleep 0.05; done"
    options = ["consume", "orders", "billing", "--exec", command, "--lease-seconds", "3"]
    process = await start(["--token-file", str(token_file.path), *options], url=guarded.base_url)
    await group.publish(1)
    await until(lambda: lines(seen))
    await token_file.replace("two")
    held_until = await _lease_end(connection)

    async def extended() -> bool:
        return await _lease_end(connection) > held_until

    await until(extended)
    gate.touch()
    # Of the claim that waits when its key ends.
    await waiting(guarded)
    await token_file.replace("three")
    await group.publish(2)

    async def acked() -> bool:
        return await group.counts("acked", "in_flight") == (2, 0)

    await until(acked)
    process.terminate()
    code, err = await ended(process)
    assert (code, err.splitlines()[-1]) == (0, "2 events acked")
    assert lines(seen) == ["1 1", "2 1"]


@pytest.mark.parametrize(
    ("code", "count", "told"),
    [
        (0, 1, "1 event of partition 0 is not acked, it may be delivered again: "),
        (0, 2, "2 events of partition 0 are not acked, they may be delivered again: "),
        (1, 1, "1 event of partition 0 is not acked, it may be delivered again: "),
    ],
)
async def test_events_that_a_revoked_key_may_not_settle_are_not_called_lost(
    guarded: ThreadService,
    admin: httpx.AsyncClient,
    token_file: TokenFile,
    tmp_path: Path,
    code: int,
    count: int,
    told: str,
) -> None:
    group = await create_group(admin)
    await group.publish(*range(count))
    await token_file.put("one")
    seen, gate = tmp_path / "seen", tmp_path / "gate"
    command = f"echo + >> {seen}; until [ -e {gate} ]; do sleep 0.05; done; exit {code}"
    options = ["--token-file", str(token_file.path), "consume", "orders", "billing", "--exec", command]
    process = await start(options, url=guarded.base_url)
    await until(lambda: lines(seen))
    await token_file.revoke()
    gate.touch()
    ended_with, err = await ended(process)
    assert ended_with == 1
    first, summary = err.splitlines()[:2]
    assert (first.startswith(told), first.endswith("(unauthorized)")) == (True, True), err
    counted = "1 delivery" if count == 1 else "2 deliveries"
    assert summary == f"0 events acked, {counted} not acked"


async def _lease_end(connection: asyncpg.Connection) -> datetime:
    end: datetime = await connection.fetchval("select expires_at from gapless.lease where ended_at is null")
    return end
