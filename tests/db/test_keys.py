"""Who is known to a replica, on a real database: what others make and revoke, and when time runs out."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from app.auth.authenticator import Authenticator
from app.auth.identity import Identity
from app.auth.scopes import Scope
from app.auth.tokens import hash_token, new_session_token, new_ticket, new_token
from app.db.embedded import EmbeddedServer
from app.db.groups import GroupStore
from app.db.keys import KeyStore
from app.db.migrate import migrate
from app.db.pool import Pool
from app.db.store import Store
from app.errors import DatabaseUnavailable, KeyConflict, KeyNotFound, Unauthorized
from app.settings import Settings
from tests.support.clock import Clock, SlowClock
from tests.support.ticking import Ticking
from tests.support.wait import PATIENCE_SECONDS, until


@pytest.fixture
def keys(pool: Pool) -> KeyStore:
    return KeyStore(pool)


@pytest.fixture
def clock(slow_clock: SlowClock) -> Clock:
    return slow_clock


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def authenticator(keys: KeyStore, ticking: Ticking) -> Authenticator:
    """A replica that hears of others only by asking the database."""
    return Authenticator(keys, Settings(authentication="on"), now=ticking.now, pause=ticking.pause)


async def create(keys: KeyStore, name: str, *scopes: str, seconds: float | None = None) -> str:
    token = new_token()
    await keys.create_key(name, hash_token(token), scopes or ["admin"], seconds, actor="key:root")
    return token


async def is_known(authenticator: Authenticator, token: str) -> bool:
    try:
        await authenticator.identify(token)
    except Unauthorized:
        return False
    return True


async def test_a_key_is_created_listed_and_revoked(keys: KeyStore) -> None:
    await create(keys, "b", "publish:orders.*", seconds=3600)
    await create(keys, "a")
    with pytest.raises(KeyConflict):
        await create(keys, "a")
    first, second = await keys.list_keys()
    assert (first.name, first.scopes, first.expires_at) == ("a", ["admin"], None)
    assert first.created_by == second.created_by == "key:root"
    assert second.expires_at is not None
    assert timedelta(minutes=59) < second.expires_at - second.created_at <= timedelta(hours=1)
    assert [key.name for key in await keys.list_keys("a", 1)] == ["b"]
    assert await keys.revoke_key("a", actor="key:root") == 0
    with pytest.raises(KeyNotFound):
        await keys.revoke_key("a")


async def test_a_key_made_by_another_replica_works_at_once(
    keys: KeyStore, authenticator: Authenticator
) -> None:
    await authenticator.refresh()
    token = await create(keys, "new", "publish:a")
    found = await authenticator.identify(token)
    assert (found.name, found.scopes) == ("key:new", (Scope("publish", "a"),))
    assert authenticator.is_valid(found)


async def test_a_key_that_ends_after_the_year_9999_is_known_and_ends_as_late_as_can_be_told(
    keys: KeyStore, authenticator: Authenticator, connection: asyncpg.Connection
) -> None:
    token = new_token()
    await connection.execute(
        "select 1 from gapless.create_key('late', $1, array['admin'], '33000-01-01')", hash_token(token)
    )
    found = await authenticator.identify(token)
    assert found.expires_at is not None
    assert found.expires_at.year == 9999


async def test_a_thousand_random_tokens_cost_one_load_in_a_second(
    keys: KeyStore, authenticator: Authenticator, ticking: Ticking, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    load = keys.active_keys
    monkeypatch.setattr(keys, "active_keys", lambda: loads.append(ticking.now()) or load())  # type: ignore[func-returns-value]
    token = await create(keys, "good")
    await authenticator.refresh()
    asked = (is_known(authenticator, new_token()) for _ in range(1000))
    # Most are told to come back, as nobody looked for them.
    assert True not in await asyncio.gather(*asked, return_exceptions=True)
    assert len(loads) == 2
    for _ in range(20):
        assert not await is_known(authenticator, new_token())
    waits = [late - early for early, late in pairwise(loads[1:])]
    assert min(waits) >= 1
    assert await is_known(authenticator, token)


async def test_a_revocation_elsewhere_is_known_after_the_next_load(
    keys: KeyStore, authenticator: Authenticator
) -> None:
    token = await create(keys, "k")
    found = await authenticator.identify(token)
    await keys.revoke_key("k")
    assert await is_known(authenticator, token)
    await authenticator.refresh()
    assert not await is_known(authenticator, token)
    assert not authenticator.is_valid(found)


async def test_a_revocation_elsewhere_is_known_by_itself_within_the_time_of_the_settings(
    keys: KeyStore,
) -> None:
    settings = Settings(authentication="on", key_refresh_seconds=0.05)
    authenticator = Authenticator(keys, settings)
    found = await authenticator.identify(await create(keys, "k"))
    running = asyncio.create_task(authenticator.run())
    await keys.revoke_key("k")
    await until(lambda: not authenticator.is_valid(found))
    running.cancel()
    await asyncio.wait([running])


async def test_a_key_expires_by_the_clock_of_the_database(
    keys: KeyStore, authenticator: Authenticator, clock: Clock, ticking: Ticking
) -> None:
    token = await create(keys, "k", seconds=60)
    found = await authenticator.identify(token)
    assert 55 < found.ends_at - ticking.now() <= 60
    await clock.move(timedelta(seconds=59))
    await authenticator.refresh()
    soon = await authenticator.identify(token)
    assert 0 < soon.ends_at - ticking.now() <= 1
    await clock.move(timedelta(seconds=1))
    await authenticator.refresh()
    assert not await is_known(authenticator, token)
    assert not authenticator.is_valid(soon)


async def test_between_two_loads_a_key_expires_by_itself(
    keys: KeyStore, authenticator: Authenticator, ticking: Ticking
) -> None:
    token = await create(keys, "k", seconds=60)
    found = await authenticator.identify(token)
    ticking.time += 60
    assert not authenticator.is_valid(found)
    assert not await is_known(authenticator, token)


async def test_a_name_that_is_used_again_is_another_key(keys: KeyStore, authenticator: Authenticator) -> None:
    old = await create(keys, "k", "admin")
    before = await authenticator.identify(old)
    await keys.revoke_key("k")
    new = await create(keys, "k", "publish:a")
    assert (await authenticator.identify(new)).scopes == (Scope("publish", "a"),)
    assert not authenticator.is_valid(before)
    assert not await is_known(authenticator, old)


async def test_a_session_stands_for_its_key_and_ends_with_it_or_before(
    keys: KeyStore, authenticator: Authenticator
) -> None:
    found = await authenticator.identify(await create(keys, "k", "publish:a"))
    tokens = [new_session_token() for _ in range(2)]
    for token in tokens:
        scopes = [str(scope) for scope in found.scopes]
        await keys.create_session(found.key_id, hash_token(token), found.name, scopes, 60)
    sessions = [await authenticator.identify(token) for token in tokens]
    assert [(one.name, one.scopes) for one in sessions] == [("key:k", found.scopes)] * 2
    assert len({found.key_id, *(one.key_id for one in sessions)}) == 3
    assert [await keys.end_session(hash_token(tokens[0])) for _ in range(2)] == [True, False]
    await authenticator.refresh()
    assert [authenticator.is_valid(one) for one in (found, *sessions)] == [True, False, True]
    assert await keys.revoke_key("k") == 1
    await authenticator.refresh()
    assert [authenticator.is_valid(one) for one in (found, *sessions)] == [False] * 3
    with pytest.raises(KeyNotFound):
        await keys.create_session(found.key_id, hash_token(new_session_token()), found.name, ["admin"], 60)


async def test_a_ticket_works_once_for_its_topics_and_ends_with_who_asked_for_it(
    keys: KeyStore, authenticator: Authenticator, ticking: Ticking
) -> None:
    found = await authenticator.identify(await create(keys, "k", "subscribe", seconds=3600))
    tickets = [new_ticket() for _ in range(3)]
    for ticket in tickets:
        await keys.create_ticket(hash_token(ticket), found.key_id, found.name, ["a", "b"], None, 300, 600)
    opened = await authenticator.redeem(tickets[0], ["a"], None)
    assert (opened.name, opened.key_id) == ("ticket:key:k", found.key_id)
    assert 540 < opened.ends_at - ticking.now() <= 600
    for ticket, topics in ((tickets[0], ["a"]), (tickets[1], ["c"]), (tickets[1], ["a"])):
        with pytest.raises(Unauthorized):
            await authenticator.redeem(ticket, topics, None)
    await keys.revoke_key("k")
    with pytest.raises(Unauthorized):
        await authenticator.redeem(tickets[2], ["a"], None)


async def test_of_many_who_redeem_a_ticket_at_once_one_gets_it(
    keys: KeyStore, authenticator: Authenticator
) -> None:
    await authenticator.refresh()
    ticket = new_ticket()
    await keys.create_ticket(hash_token(ticket), None, "jwt:alice", ["a"], "g", 300, None)
    outcomes = await asyncio.gather(
        *(authenticator.redeem(ticket, ["a"], "g") for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(outcome, Identity) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Unauthorized) for outcome in outcomes) == 19


async def test_expired_tickets_and_sessions_are_swept(keys: KeyStore, store: Store, clock: Clock) -> None:
    await keys.create_ticket(hash_token(new_ticket()), None, "jwt:alice", ["a"], None, 30, None)
    await keys.create_session(None, hash_token(new_session_token()), "jwt:alice", ["admin"], 60)
    assert await store.maintain("expire_keys") == 0
    await clock.move(timedelta(minutes=2))
    assert await store.maintain("expire_keys") == 2


async def test_who_changed_a_topic_or_a_group_is_noted(store: Store, pool: Pool) -> None:
    groups = GroupStore(pool)
    settings = {"partitions": 1, "description": None, "segment_events": 1000, "idempotency_seconds": 60}
    await store.create_topic("t", **settings, actor="key:a")  # type: ignore[arg-type]
    await store.alter_topic("t", {"max_bytes": 1000}, actor="key:b")
    await groups.create_subscription("t", "g", None, {}, actor="key:c")
    await groups.alter_subscription("t", "g", {"max_attempts": 3}, actor="key:d")
    await groups.pause("t", "g", "because", actor="key:e")
    await groups.resume("t", "g", actor="key:f")
    await groups.seek("t", "g", {"at": "earliest"}, None, dry_run=False, actor="key:g")
    await groups.cancel("t", "g", None, actor="key:h")
    await groups.delete_subscription("t", "g", actor="key:i")
    await store.delete_topic("t", actor="key:j")
    entries = await store.list_audit(None, None, 0, 100)
    assert [entry.actor for entry in entries] == [f"key:{letter}" for letter in "abcdefghij"]


async def test_lists_of_topics_and_groups_hold_what_the_patterns_match(store: Store, pool: Pool) -> None:
    groups = GroupStore(pool)
    settings = {"partitions": 1, "description": None, "segment_events": 1000, "idempotency_seconds": 60}
    for name in ("a", "orders.eu", "orders.us"):
        await store.create_topic(name, **settings)  # type: ignore[arg-type]
        await groups.create_subscription("a", name, None, {})
    for patterns, expected in (
        (None, ["a", "orders.eu", "orders.us"]),
        (["orders.*"], ["orders.eu", "orders.us"]),
        ([], []),
    ):
        assert [topic.name for topic in await store.list_topics("", 10, patterns)] == expected
        assert [group.name for group in await groups.list_subscriptions("a", "", 10, patterns)] == expected


@pytest.fixture
async def own_server(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "own", postgres_bin, {"fsync": "off"}) as server:
        yield server


async def test_while_the_database_is_away_who_was_known_is_known_still(
    own_server: EmbeddedServer, ticking: Ticking
) -> None:
    await migrate(own_server.dsn)
    settings = Settings(database_url=own_server.dsn, authentication="on", acquire_seconds=PATIENCE_SECONDS)
    pool = await Pool.open(own_server.dsn, settings)
    keys = KeyStore(pool)
    known, late = (Authenticator(keys, settings, now=ticking.now, pause=ticking.pause) for _ in range(2))
    token = await create(keys, "k")
    found = await known.identify(token)
    own_server.stop()
    with pytest.raises(DatabaseUnavailable):
        await known.refresh()
    assert await is_known(known, token)
    assert known.is_valid(found)
    with pytest.raises(DatabaseUnavailable):
        await known.identify(new_token())
    with pytest.raises(DatabaseUnavailable):
        await late.identify(token)
    with pytest.raises(DatabaseUnavailable):
        await late.redeem(new_ticket(), ["a"], None)
    own_server.start()
    await late.refresh()
    assert await is_known(late, token)
    await pool.close()
