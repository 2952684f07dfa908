"""An admin ends the sessions of somebody whose JWT is not to be believed any more."""

import json
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.issuer import Issuer, claims, jwk, jwks
from tests.support.issuer import token as jwt_token
from tests.support.problems import problem
from tests.support.sse import open_stream
from tests.support.wait import until


class World(NamedTuple):
    """Two replicas, and an admin at the first."""

    issuer: Issuer
    admin: httpx.AsyncClient
    here: httpx.AsyncClient
    there: httpx.AsyncClient


@pytest.fixture
async def world(start_guarded: StartService, keys: Keys) -> AsyncIterator[World]:
    async with Issuer() as issuer:
        settings = {**issuer.settings, "key_refresh_seconds": 0.1, "jwt_refresh_seconds": 0.1}
        here, there = [(await start_guarded(**settings)).base_url for _ in range(2)]
        headers = bearer(await keys.make("root", "admin"))
        async with (
            httpx.AsyncClient(base_url=here, timeout=30, headers=headers) as admin,
            httpx.AsyncClient(base_url=here, timeout=30) as at_first,
            httpx.AsyncClient(base_url=there, timeout=30) as at_second,
        ):
            await admin.put("/v1/topics/orders")
            yield World(issuer, admin, at_first, at_second)


async def log_in(client: httpx.AsyncClient, token: str) -> dict[str, str]:
    answer = await client.post("/v1/session", json={"token": token})
    assert answer.status_code == 201, answer.text
    # A jar would keep it for the next browser.
    client.cookies.clear()
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


async def revoke(world: World, name: str) -> int:
    answer = await world.admin.post("/v1/sessions/revoke", json={"name": name})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["sessions"])


async def test_all_sessions_of_a_subject_end_with_their_streams_at_every_replica_and_no_others(
    world: World,
) -> None:
    alice, bob = jwt_token(), jwt_token(claims(sub="bob"))
    sessions = [await log_in(client, alice) for client in (world.here, world.there)]
    other = await log_in(world.here, bob)
    url = f"{world.here.base_url}/v1/topics/orders/stream"
    async with open_stream(url, headers=sessions[0]) as stream:
        assert await revoke(world, "jwt:alice") == 2
        last = [message async for message in stream.messages()][-1]
    assert json.loads(last.data)["code"] == "unauthorized"
    for session in sessions:
        problem(await world.here.get("/v1/topics", headers=session), 401, "unauthorized")

        async def ended(session: dict[str, str] = session) -> bool:
            return (await world.there.get("/v1/topics", headers=session)).status_code == 401

        await until(ended)
    assert (await world.here.get("/v1/topics", headers=other)).status_code == 200
    assert (await world.here.get("/v1/topics", headers=bearer(alice))).status_code == 200
    assert await revoke(world, "jwt:alice") == 0
    [entry] = [
        entry
        for entry in (await world.admin.get("/v1/audit")).json()["entries"]
        if entry["action"] == "revoke_sessions"
    ]
    assert entry["actor"] == "key:root"
    assert entry["details"] == {"name": "jwt:alice", "sessions": 2}


async def test_a_key_that_the_issuer_took_back_ends_jwts_but_not_the_sessions_that_they_opened(
    world: World,
) -> None:
    """Which is what the call is for."""
    alice = jwt_token()
    session = await log_in(world.here, alice)
    world.issuer.document = jwks(jwk("k2"))

    async def refused() -> bool:
        return (await world.here.get("/v1/topics", headers=bearer(alice))).status_code == 401

    await until(refused)
    assert (await world.here.get("/v1/topics", headers=session)).status_code == 200
    assert await revoke(world, "jwt:alice") == 1
    problem(await world.here.get("/v1/topics", headers=session), 401, "unauthorized")


@pytest.mark.parametrize(
    "name", [None, 1, "", "alice", "jwt:", "ticket:jwt:alice", "jwt:a\0", "jwt:" + "a" * 250]
)
async def test_who_can_have_no_session_is_refused(http: httpx.AsyncClient, name: Any) -> None:
    refused = problem(await http.post("/v1/sessions/revoke", json={"name": name}), 422, "invalid_argument")
    assert refused["field"] == "name"


async def test_an_admin_of_topics_ends_no_sessions(world: World, keys: Keys) -> None:
    by = bearer(await keys.make("some", "admin:*"))
    answer = await world.here.post("/v1/sessions/revoke", json={"name": "jwt:a"}, headers=by)
    problem(answer, 403, "forbidden")
