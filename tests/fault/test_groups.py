"""Three groups over real edits while their members are killed: each event is handled once in each group."""

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import StartProcess
from tests.support import member
from tests.support.edits import edits
from tests.support.effort import effort
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, until

TOPIC = "wikipedia.edits"
PARTITIONS = 4
MEMBERS = 4
GROUPS = ("partition", "key", "none")
"""Each is named after its ordering."""
KILL_SECONDS = 1.0
EDITS = effort(6_000, 40_000)

pytestmark = pytest.mark.timeout(600)


class Group:
    """Its members, one of which is killed and replaced now and then."""

    def __init__(self, port: int, name: str, folder: Path) -> None:
        self.name = name
        self.killed = 0
        self._port = port
        self._folder = folder
        self._started = 0
        self._members = [self._start() for _ in range(MEMBERS)]

    def kill_one(self, dice: random.Random) -> None:
        place = dice.randrange(MEMBERS)
        self._members[place].kill()
        self._members[place].wait()
        self._members[place] = self._start()
        self.killed += 1

    def stop(self) -> None:
        for process in self._members:
            process.kill()
        for process in self._members:
            process.wait()

    def acked(self) -> Counter[tuple[int, int]]:
        """How often members were told that an event is acked."""
        found: Counter[tuple[int, int]] = Counter()
        for path in self._folder.glob(f"{self.name}-*"):
            # A member that is killed may leave half a line.
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    partition, first, last = map(int, line.split())
                    found.update((partition, offset) for offset in range(first, last + 1))
        return found

    def _start(self) -> subprocess.Popen[bytes]:
        self._started += 1
        log = self._folder / f"{self.name}-{self._started}"
        name = f"member-{self._started}"
        arguments = [str(self._port), TOPIC, self.name, name, str(self._started), str(log)]
        return subprocess.Popen([sys.executable, "-I", str(member.__file__), *arguments])


async def test_members_are_killed_every_second_and_each_event_is_handled_once_in_each_group(
    start_process: StartProcess, tmp_path: Path
) -> None:
    service = await start_process()
    content = edits(EDITS)
    total = content.count(b"\n")
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        (await client.put(f"/v1/topics/{TOPIC}", json={"partitions": PARTITIONS})).raise_for_status()
        for ordering in GROUPS:
            body = {"start": "earliest", "ordering": ordering, "backoff_seconds": 0, "max_attempts": 8}
            (await client.put(f"/v1/topics/{TOPIC}/subscriptions/{ordering}", json=body)).raise_for_status()
        with contextlib.ExitStack() as stack:
            groups = [Group(_port(service), name, tmp_path) for name in GROUPS]
            for group in groups:
                stack.callback(group.stop)
            await asyncio.gather(_publish(client, content), _kill_until_done(client, groups))
        for group in groups:
            await _check(client, group, total)
    assert all(group.killed >= 3 for group in groups)


def _port(service: ProcessService) -> int:
    return httpx.URL(service.base_url).port or 0


async def _publish(client: httpx.AsyncClient, content: bytes) -> None:
    lines = content.splitlines()
    for start in range(0, len(lines), 500):
        events = [
            {"key": json.loads(line)["channel"], "type": "edit", "data": json.loads(line)}
            for line in lines[start : start + 500]
        ]
        await _insist(
            client.post,
            f"/v1/topics/{TOPIC}/events",
            json={"events": events},
            headers={"Idempotency-Key": f'"{start}"'},
        )
        await asyncio.sleep(0)


async def _insist(send: Callable[..., Awaitable[httpx.Response]], *what: Any, **options: Any) -> Any:
    """Repeated for as long as the service says that it is busy: its members may take all of the machine."""

    async def answered() -> httpx.Response | None:
        answer = await send(*what, **options)
        return None if answer.status_code == 503 else answer

    answer = await until(answered)
    assert answer is not None
    return answer.raise_for_status().json()


async def _kill_until_done(client: httpx.AsyncClient, groups: list[Group]) -> None:
    dice = random.Random(7)
    give_up = time.monotonic() + 240
    while True:
        await asyncio.sleep(KILL_SECONDS)
        for group in groups:
            group.kill_one(dice)
        found = [await _health(client, group.name) for group in groups]
        if all(health["lag"] == 0 and group.killed >= 3 for health, group in zip(found, groups, strict=True)):
            return
        assert time.monotonic() < give_up, found


async def _health(client: httpx.AsyncClient, group: str) -> dict[str, Any]:
    found: dict[str, Any] = await _insist(client.get, f"/v1/topics/{TOPIC}/subscriptions/{group}")
    return found


async def _check(client: httpx.AsyncClient, group: Group, total: int) -> None:
    health = await _health(client, group.name)
    dead = await _dead_letters(client, group.name)
    assert (health["lag"], health["in_flight"], health["retrying"], health["skipped"]) == (0, 0, 0, 0)
    assert health["acked"] + len(dead) == total
    told = group.acked()
    assert set(told.values()) <= {1}, "an event was acked twice"
    assert not told.keys() & dead
    assert len(told) <= health["acked"]


async def _dead_letters(client: httpx.AsyncClient, group: str) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    after = 0
    while True:
        path = f"/v1/topics/{TOPIC}/subscriptions/{group}/dead-letters"
        page = await _insist(client.get, path, params={"limit": 1000, "after": after})
        letters = page["dead_letters"]
        if not letters:
            return found
        found |= {(letter["partition"], letter["offset"]) for letter in letters}
        after = letters[-1]["id"]
