"""Calls about leases share some connections: who finds them taken is told so, and other groups go on."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.db.groups import GroupStore
from tests.conftest import StartService
from tests.support.groups import Group, insist, publish, token
from tests.support.problems import problem
from tests.support.wait import until

TOPIC = "/v1/topics/t"


class Slow:
    """Reads of some leases have their turn, and then last until they are let go."""

    def __init__(self, groups: GroupStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tokens: set[str] = set()
        self.running = 0
        self._read = groups.read_lease
        monkeypatch.setattr(groups, "read_lease", self._read_lease)

    async def _read_lease(self, topic: str, token: str) -> Any:
        if token in self.tokens:
            self.running += 1
            await until(lambda: token not in self.tokens)
            self.running -= 1
        return await self._read(topic, token)


async def leased(client: httpx.AsyncClient, name: str) -> tuple[Group, str]:
    group = await Group(client, TOPIC, name).create()
    return group, token(await group.claim(max_events=1))


def reads(group: Group, lease: str) -> Callable[[], Any]:
    return lambda: group.raw("GET", f"/leases/{lease}")


async def test_who_gets_no_turn_in_time_is_told_to_come_back_and_publishes_and_claims_go_on(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await start_service(pool_max=3)
    monkeypatch.setattr(service.app.parts.claims._lease_turns, "_wait_seconds", 0.1)
    slow = Slow(service.app.parts.groups, monkeypatch)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=60) as client:
        insist(await client.put(TOPIC))
        await publish(client, TOPIC, 1)
        group, lease = await leased(client, "g")
        slow.tokens.add(lease)
        first = asyncio.ensure_future(reads(group, lease)())
        await until(lambda: slow.running == 1)
        problem(await reads(group, lease)(), 503, "database_unavailable")
        problem(await group.raw("POST", f"/leases/{lease}/ack"), 503, "database_unavailable")
        await publish(client, TOPIC, 2)
        insist(await group.raw("POST", "/claim", json={"member": "m"}))
        slow.tokens.clear()
        assert [event["data"] for event in insist(await first)["events"]] == [1]
        await group.ack(lease)


async def test_a_group_that_keeps_its_turns_leaves_one_to_the_others(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await start_service(pool_max=6)
    slow = Slow(service.app.parts.groups, monkeypatch)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=60) as client:
        insist(await client.put(TOPIC))
        await publish(client, TOPIC, 1)
        greedy, lease = await leased(client, "greedy")
        modest, other = await leased(client, "modest")
        slow.tokens.add(lease)
        many = [asyncio.ensure_future(reads(greedy, lease)()) for _ in range(10)]
        await until(lambda: slow.running == 2)
        assert [event["data"] for event in insist(await reads(modest, other)())["events"]] == [1]
        await modest.ack(other)
        assert slow.running == 2
        slow.tokens.clear()
        for answer in await asyncio.gather(*many):
            insist(answer)
