"""The service may have the wrong time: all times are of the database, and only JWTs are judged by it."""

import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from app.auth.jwt import JwtVerifier
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.groups import Group, insist, publish, token
from tests.support.issuer import Issuer, claims
from tests.support.issuer import token as jwt_token
from tests.support.problems import problem
from tests.support.wait import shared

TOPIC = "/v1/topics/orders"
SESSION_SECONDS = 7200
TICKET_SECONDS = 20
HOUR = timedelta(hours=1)


@pytest.fixture(params=[HOUR, -HOUR], ids=["an hour ahead", "an hour behind"])
def wrong_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> timedelta:
    """Whatever the service asks for the time of day is so wrong; what it measures by goes on as it is."""
    by: timedelta = request.param
    right = time.time

    def wrong() -> float:
        return right() + by.total_seconds()

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + by

    monkeypatch.setattr(time, "time", wrong)
    defaults = JwtVerifier.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "wall", wrong)
    for name, module in list(sys.modules.items()):
        if name.startswith("app.") and getattr(module, "datetime", None) is datetime:
            monkeypatch.setattr(module, "datetime", Wrong)
    return by


class Now:
    """What the database has for the present."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def lasts(self, text: str, seconds: float) -> None:
        """It ends so many seconds after now; what is told in whole seconds may be one less."""
        now = await self._connection.fetchval("select clock_timestamp()")
        off = (datetime.fromisoformat(text) - now).total_seconds() - seconds
        assert -shared(2) < off < 1, off


async def test_s78_times_are_those_of_the_database_whatever_the_clock_of_the_service_says(
    wrong_by: timedelta, start_guarded: StartService, keys: Keys, connection: asyncpg.Connection
) -> None:
    now = Now(connection)
    service = await start_guarded(session_seconds=SESSION_SECONDS, ticket_seconds=TICKET_SECONDS)
    key = await keys.make("admin", "admin", seconds=100)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30, headers=bearer(key)) as http:
        insist(await http.put(TOPIC))
        group = await Group(http, TOPIC).create(max_attempts=2)
        await publish(http, TOPIC, 1, 2)
        (event, _) = insist(await http.get(f"{TOPIC}/events"))["events"]
        await now.lasts(event["published_at"], 0)

        claim = await group.claim(lease_seconds=40)
        await now.lasts(claim["lease"]["expires_at"], 40)
        extended = insist(
            await group.raw("POST", f"/leases/{token(claim)}/extend", json={"lease_seconds": 90})
        )
        await now.lasts(extended["expires_at"], 90)
        await group.reject(token(claim), offsets=[2])
        (letter,) = await group.letters()
        await now.lasts(letter["dead_at"], 0)
        nacked = insist(await group.raw("POST", f"/leases/{token(claim)}/nack", json={"delay": 50}))
        await now.lasts(nacked["results"][0]["due_at"], 50)

        ticket = insist(await http.post("/v1/stream-tickets", json={"topics": ["orders"]}))
        await now.lasts(ticket["expires_at"], TICKET_SECONDS)
        made = insist(await http.post("/v1/keys", json={"name": "k", "scopes": ["admin"]}))
        await now.lasts(made["created_at"], 0)
        await now.lasts(insist(await http.get("/v1/session"))["expires_at"], 100)
        lasting = bearer(made["token"])
        assert insist(await http.get("/v1/session", headers=lasting))["expires_at"] is None
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as browser:
        answer = await browser.post("/v1/session", json={"token": made["token"]})
        await now.lasts(insist(answer)["expires_at"], SESSION_SECONDS)
        cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        await now.lasts(
            insist(await browser.get("/v1/session", headers=cookie))["expires_at"], SESSION_SECONDS
        )


async def test_s78_only_jwts_are_judged_by_the_clock_of_the_service(
    wrong_by: timedelta, start_guarded: StartService
) -> None:
    right = int((datetime.now(UTC)).timestamp())
    believed = right + int(wrong_by.total_seconds())
    async with Issuer() as issuer:
        service = await start_guarded(**issuer.settings)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as http:
            over, good = believed - 60, believed + 300
            problem(
                await http.get("/v1/session", headers=bearer(jwt_token(claims(exp=over)))),
                401,
                "unauthorized",
            )
            said = insist(await http.get("/v1/session", headers=bearer(jwt_token(claims(exp=good)))))
            assert datetime.fromisoformat(said["expires_at"]).timestamp() == good
