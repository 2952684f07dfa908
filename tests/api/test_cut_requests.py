"""Clients that vanish in the middle of a call about leases, or right after it: it counts whole or not at all.

An empty body asks for all there is, so half a body must never be taken for one.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.support.effort import effort
from tests.support.groups import Group, counts, insist, publish, token
from tests.support.log import publish_many
from tests.support.metrics import scrape
from tests.support.raw import connected, connections, reset, until_left, until_read
from tests.support.service import ThreadService
from tests.support.wait import until

EVENTS = 100
TOPIC = "/v1/topics/t"
HALF = {
    "of a body": "Content-Length: 40\r\n\r\n%s",
    "of a body that has not begun": "Content-Length: 40\r\n\r\n",
    "of chunks": "Transfer-Encoding: chunked\r\n\r\nd\r\n%s\r\n",
    "of chunks that have not begun": "Transfer-Encoding: chunked\r\n\r\n",
}
Vanish = Callable[[str], Awaitable[None]]


@pytest.fixture(params=HALF)
def vanish(request: pytest.FixtureRequest, shared_service: ThreadService) -> Vanish:
    """Post half a request to a path, and reset the connection once the server has read that."""
    half: str = HALF[request.param]

    async def post(path: str) -> None:
        start = '{"ids":[1    ' if path.endswith(("redrive", "discard")) else '{"offsets":[1'
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client = connected(shared_service.port)
        port = client.getsockname()[1]
        await asyncio.get_running_loop().sock_sendall(client, (head + half.replace("%s", start)).encode())
        await until_read(shared_service.port, port)
        reset(client)
        await until(lambda: port not in {one.client_port for one in connections(shared_service.port)})

    return post


async def test_s06_half_a_call_about_a_lease_does_nothing(
    http: httpx.AsyncClient, topic: str, vanish: Vanish
) -> None:
    group = await Group(http, topic).create()
    await publish(http, topic, *range(EVENTS))
    lease = token(await group.claim(max_events=EVENTS))
    for verb in ("ack", "nack", "reject", "release"):
        await vanish(f"{group.path}/leases/{lease}/{verb}")
        # It takes its turn after whatever they did.
        insist(await group.raw("POST", f"/leases/{lease}/extend"))
        assert counts(await group.show()) == {"in_flight": EVENTS}, verb
    assert await group.ack(lease) == [(1, EVENTS, "acked")]


async def test_s06_half_a_redrive_gives_no_dead_letter_back(
    http: httpx.AsyncClient, topic: str, vanish: Vanish
) -> None:
    group = await Group(http, topic).create()
    await publish(http, topic, *range(EVENTS))
    await group.reject(token(await group.claim(max_events=EVENTS)))
    for verb in ("redrive", "discard"):
        await vanish(f"{group.path}/dead-letters/{verb}")
        assert counts(await group.show()) == {"dead": EVENTS}, verb
    redriven = insist(await group.raw("POST", "/dead-letters/redrive"))
    assert redriven == {"redriven": EVENTS}


async def test_s06_an_ack_whose_client_left_counts_for_all_events_of_the_lease_or_for_none(
    service: ThreadService, client: httpx.AsyncClient, connection: asyncpg.Connection
) -> None:
    leases = effort(100, 500)
    insist(await client.put(TOPIC))
    group = await Group(client, TOPIC).create(ordering="none", max_in_flight=leases * EVENTS)
    await publish_many(connection, leases * EVENTS)
    tokens = [token(await group.claim(max_events=EVENTS, lease_seconds=3600)) for _ in range(leases)]
    dice = random.Random(6)

    async def ack_and_leave(lease: str) -> None:
        head = (
            f"POST {group.path}/leases/{lease}/ack HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        )
        _, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(head.encode())
        await asyncio.sleep(dice.choice((0, dice.uniform(0, 0.02))))
        writer.transport.abort()

    for first in range(0, leases, 20):
        await asyncio.gather(*map(ack_and_leave, tokens[first : first + 20]))
    await until_left(service.port)

    async def is_settled() -> bool:
        """Whether the table of the group and what was counted on the way agree."""
        acked = (await group.show())["acked"]
        return bool((await scrape(client)).value("deliveries_total", outcome="acked") == acked)

    await until(is_settled)
    acked = (await group.show())["acked"]
    open_leases: list[dict[str, Any]] = insist(await group.raw("GET", "/leases", params={"limit": 1000}))[
        "leases"
    ]
    assert {lease["events"] for lease in open_leases} <= {EVENTS}
    assert acked == (leases - len(open_leases)) * EVENTS
    for lease in tokens:
        await group.raw("POST", f"/leases/{lease}/ack")
    assert counts(await group.show()) == {"acked": leases * EVENTS}
    assert (await scrape(client)).value("deliveries_total", outcome="acked") == leases * EVENTS
