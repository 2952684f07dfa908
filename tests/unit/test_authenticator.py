"""The authenticator: which way a token goes, and what a ticket is good for."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
import structlog

from app.auth.authenticator import Authenticator
from app.auth.identity import Identity
from app.auth.scopes import Scope
from app.auth.tokens import hash_token, new_session_token, new_ticket, new_token
from app.errors import DatabaseUnavailable, Unauthorized
from app.model import ActiveKey, Ticket
from app.settings import Settings
from tests.support.issuer import Issuer, token
from tests.support.ticking import Ticking

UNKNOWN = new_token()


class Credentials:
    def __init__(self) -> None:
        self.rows: list[ActiveKey] = []
        self.tickets: dict[bytes, Ticket] = {}
        self.away = False
        self.loads = 0

    async def active_keys(self) -> list[ActiveKey]:
        self.loads += 1
        if self.away:
            raise DatabaseUnavailable("away")
        return list(self.rows)

    async def redeem_ticket(self, ticket_hash: bytes) -> Ticket | None:
        return self.tickets.pop(ticket_hash, None)

    def add(self, text: str, *scopes: str) -> None:
        self.rows.append(ActiveKey(len(self.rows) + 1, hash_token(text), "key:k", list(scopes), None))

    def ticket(self, topics: Sequence[str], group: str | None = None, **more: Any) -> str:
        text = new_ticket()
        found = {"key_id": None, "name": "jwt:alice", "seconds_left": None, **more}
        self.tickets[hash_token(text)] = Ticket(topics=list(topics), subscription=group, **found)
        return text


@pytest.fixture
def credentials() -> Credentials:
    return Credentials()


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def authenticator(credentials: Credentials, ticking: Ticking) -> Authenticator:
    settings = Settings(authentication="on")
    return Authenticator(credentials, settings, now=ticking.now, pause=ticking.pause)


async def test_keys_and_sessions_are_looked_up_and_other_words_are_not(
    authenticator: Authenticator, credentials: Credentials
) -> None:
    key, session = new_token(), new_session_token()
    credentials.add(key, "publish")
    credentials.add(session, "metrics")
    assert (await authenticator.identify(key)).scopes == (Scope("publish", "*"),)
    assert (await authenticator.identify(session)).scopes == (Scope("metrics"),)
    for text in ("", "x", "gpls_short", new_ticket(), "a.b.c", key + "x", key.upper(), "é" * 48, key * 1000):
        with pytest.raises(Unauthorized):
            await authenticator.identify(text)
    assert credentials.loads == 1


async def test_a_key_in_use_is_recognised_until_it_ends_and_nothing_else_is(
    authenticator: Authenticator, credentials: Credentials, ticking: Ticking
) -> None:
    key, timed = new_token(), new_token()
    credentials.add(key, "publish")
    credentials.rows.append(ActiveKey(2, hash_token(timed), "key:t", ["publish"], 5.0))
    assert authenticator.recognise(key) is None, "nothing is known before the first load"
    await authenticator.refresh()
    for token_of in (key, timed):
        assert authenticator.recognise(token_of) is await authenticator.identify(token_of)
    for text in ("", "x", UNKNOWN, new_ticket(), key + " ", key[:-1], "é" * 48):
        assert authenticator.recognise(text) is None
    ticking.time += 5
    assert authenticator.recognise(key) is not None
    assert authenticator.recognise(timed) is None
    credentials.rows.clear()
    await authenticator.refresh()
    assert authenticator.recognise(key) is None
    assert credentials.loads == 2


async def test_one_refusal_looks_like_another(authenticator: Authenticator, credentials: Credentials) -> None:
    details = set()
    for text in ("", "nonsense", UNKNOWN, new_ticket()):
        with pytest.raises(Unauthorized) as caught:
            await authenticator.identify(text)
        details.add((caught.value.detail, caught.value.given))
    assert len(details) == 1


async def test_other_words_are_jwts_where_an_issuer_is_set(
    credentials: Credentials, ticking: Ticking
) -> None:
    async with Issuer() as issuer:
        authenticator = Authenticator(credentials, Settings(**issuer.settings), now=ticking.now)
        found = await authenticator.identify(token())
        assert found.name == "jwt:alice"
        assert authenticator.is_valid(found)
        with pytest.raises(Unauthorized):
            await authenticator.identify(token(kid="other"))
        ticking.time += 301
        assert not authenticator.is_valid(found)
        assert credentials.loads == 0


async def test_an_identity_ends_with_its_time_or_its_key(
    authenticator: Authenticator, credentials: Credentials, ticking: Ticking
) -> None:
    credentials.add(new_token(), "publish")
    await authenticator.refresh()
    of_key = Identity("key:k", (), math.inf, 1)
    timed = Identity("jwt:x", (), ticking.now() + 5)
    assert authenticator.is_valid(of_key)
    assert authenticator.is_valid(timed)
    ticking.time += 5
    credentials.rows.clear()
    assert not authenticator.is_valid(timed)
    assert authenticator.is_valid(of_key), "nobody has told this process yet"
    await authenticator.refresh()
    assert not authenticator.is_valid(of_key)


async def test_keys_are_read_again_and_again_whatever_goes_wrong(
    credentials: Credentials, ticking: Ticking
) -> None:
    pauses: list[float] = []
    done = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        credentials.away = len(pauses) in (2, 3, 4)
        if len(pauses) == 7:
            done.set()
            await asyncio.Event().wait()

    settings = Settings(authentication="on", key_refresh_seconds=5)
    authenticator = Authenticator(credentials, settings, now=ticking.now, pause=pause)
    with structlog.testing.capture_logs() as logged:
        running = asyncio.create_task(authenticator.run())
        await done.wait()
        running.cancel()
        await asyncio.wait([running])
    assert credentials.loads == 7
    assert all(4.5 <= seconds <= 5 for seconds in pauses)
    assert [entry["event"] for entry in logged] == ["keys_not_read", "keys_read_again"]


@pytest.mark.parametrize(("told", "lines"), [(False, 3), (True, 0)])
async def test_keys_that_cannot_be_read_for_long_are_told_of_every_half_minute(
    credentials: Credentials, ticking: Ticking, monkeypatch: pytest.MonkeyPatch, told: bool, lines: int
) -> None:
    """But for what the pool has told of the database itself."""
    end = ticking.now() + 70
    done = asyncio.Event()

    async def pause(seconds: float) -> None:
        await ticking.pause(seconds)
        if ticking.now() >= end:
            done.set()
            await asyncio.Event().wait()

    credentials.away = True
    monkeypatch.setattr(DatabaseUnavailable, "told", told)
    settings = Settings(authentication="on", key_refresh_seconds=5)
    authenticator = Authenticator(credentials, settings, now=ticking.now, pause=pause)
    with structlog.testing.capture_logs() as logged:
        running = asyncio.create_task(authenticator.run())
        await done.wait()
        running.cancel()
        await asyncio.wait([running])
    assert [entry["event"] for entry in logged] == lines * ["keys_not_read"]


async def test_a_ticket_opens_some_of_its_topics_once(
    authenticator: Authenticator, credentials: Credentials, ticking: Ticking
) -> None:
    for asked in (["a"], ["b", "a"], ["a", "a"]):
        text = credentials.ticket(["a", "b"], seconds_left=60.0)
        found = await authenticator.redeem(text, asked, None)
        assert (found.name, found.ends_at) == ("ticket:jwt:alice", ticking.now() + 60)
        assert found.allows("subscribe", "a")
        assert not found.allows("subscribe", "c")
        assert not found.allows("publish", "a")
        assert not found.sees("c")
        with pytest.raises(Unauthorized):
            await authenticator.redeem(text, asked, None)


async def test_a_ticket_of_a_group_opens_that_group(
    authenticator: Authenticator, credentials: Credentials
) -> None:
    found = await authenticator.redeem(credentials.ticket(["a"], "g"), ["a"], "g")
    assert found.allows("consume", "a", "g")
    assert not found.allows("consume", "a", "h")
    assert not found.allows("subscribe", "a")
    assert found.ends_at == math.inf


@pytest.mark.parametrize(
    ("topics", "group", "asked", "asked_group"),
    [
        (["a"], None, ["b"], None),
        (["a"], None, ["a", "b"], None),
        (["a"], None, [], None),
        (["a"], None, ["a"], "g"),
        (["a"], "g", ["a"], None),
        (["a"], "g", ["a"], "h"),
        (["a"], "g", ["b"], "g"),
    ],
)
async def test_a_ticket_for_something_else_is_used_up_all_the_same(
    authenticator: Authenticator,
    credentials: Credentials,
    topics: list[str],
    group: str | None,
    asked: list[str],
    asked_group: str | None,
) -> None:
    text = credentials.ticket(topics, group)
    for wanted in ((asked, asked_group), (topics, group)):
        with pytest.raises(Unauthorized):
            await authenticator.redeem(text, *wanted)


async def test_of_many_tickets_at_once_two_are_looked_up_at_a_time(
    authenticator: Authenticator, credentials: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    redeem = credentials.redeem_ticket

    async def counted(ticket_hash: bytes) -> Ticket | None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return await redeem(ticket_hash)

    monkeypatch.setattr(credentials, "redeem_ticket", counted)
    texts = [credentials.ticket(["a"]), *(new_ticket() for _ in range(50)), credentials.ticket(["a"])]
    redeeming = [authenticator.redeem(text, ["a"], None) for text in texts]
    found = await asyncio.gather(*redeeming, return_exceptions=True)
    assert [isinstance(one, Identity) for one in found] == [True, *[False] * 50, True]
    assert most == 2


async def test_who_waits_too_long_for_a_ticket_to_be_looked_up_is_told_to_come_back(
    authenticator: Authenticator, credentials: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    going = asyncio.Event()
    redeem = credentials.redeem_ticket

    async def slow(ticket_hash: bytes) -> Ticket | None:
        await going.wait()
        return await redeem(ticket_hash)

    monkeypatch.setattr(credentials, "redeem_ticket", slow)
    monkeypatch.setattr("app.auth.authenticator.REDEEM_SECONDS", 0.05)
    texts = [credentials.ticket(["a"]) for _ in range(4)]
    redeeming = [asyncio.create_task(authenticator.redeem(text, ["a"], None)) for text in texts]
    for late in redeeming[2:]:
        with pytest.raises(DatabaseUnavailable):
            await late
    going.set()
    assert [(await one).name for one in redeeming[:2]] == ["ticket:jwt:alice"] * 2
    assert (await authenticator.redeem(texts[2], ["a"], None)).allows("subscribe", "a")


async def test_what_is_no_ticket_is_not_looked_for(
    authenticator: Authenticator, credentials: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: bytes) -> None:
        raise AssertionError

    monkeypatch.setattr(credentials, "redeem_ticket", never)
    for text in ("", "nonsense", UNKNOWN, "gplt_", "gplt_" + "a" * 100_000):
        with pytest.raises(Unauthorized):
            await authenticator.redeem(text, ["a"], None)


async def test_a_ticket_of_a_key_that_is_news_here_works_and_one_of_no_key_does_not(
    authenticator: Authenticator, credentials: Credentials
) -> None:
    await authenticator.refresh()
    credentials.add(new_token(), "subscribe")
    found = await authenticator.redeem(credentials.ticket(["a"], key_id=1), ["a"], None)
    assert found.key_id == 1
    with pytest.raises(Unauthorized):
        await authenticator.redeem(credentials.ticket(["a"], key_id=2), ["a"], None)
