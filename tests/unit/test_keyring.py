"""The keyring: few loads, no stale answer that another prevents, the last one while there is none."""

import asyncio
import math

import pytest

from app.auth import keyring as module
from app.auth.keyring import Keyring
from app.auth.scopes import Scope
from app.auth.tokens import hash_token
from app.errors import DatabaseUnavailable, Unauthorized
from app.model import ActiveKey
from tests.support.ticking import Ticking
from tests.support.wait import until


class Database:
    """Answers with its rows as they are when a load is let through."""

    def __init__(self) -> None:
        self.rows: list[ActiveKey] = []
        self.away = False
        self.loads = 0
        self.gate = asyncio.Event()
        self.gate.set()

    def add(self, token: str, *scopes: str, seconds_left: float | None = None) -> None:
        self.rows.append(
            ActiveKey(len(self.rows) + 1, hash_token(token), f"key:{token}", list(scopes), seconds_left)
        )

    async def active_keys(self) -> list[ActiveKey]:
        self.loads += 1
        rows = list(self.rows)
        await self.gate.wait()
        if self.away:
            raise DatabaseUnavailable("away")
        return rows


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def time() -> Ticking:
    return Ticking()


@pytest.fixture
def keyring(database: Database, time: Ticking) -> Keyring:
    return Keyring(database, now=time.now, pause=time.pause)


async def is_known(keyring: Keyring, token: str) -> bool:
    try:
        await keyring.find(hash_token(token))
    except Unauthorized:
        return False
    return True


async def test_a_known_token_costs_no_load(keyring: Keyring, database: Database, time: Ticking) -> None:
    database.add("a", "publish:t", "nonsense", seconds_left=60)
    database.add("b", "admin")
    await keyring.refresh()
    for _ in range(100):
        found = await keyring.find(hash_token("a"))
    assert (found.name, found.scopes, found.key_id) == ("key:a", (Scope("publish", "t"),), 1)
    assert found.ends_at == time.now() + 60
    assert (await keyring.find(hash_token("b"))).ends_at == math.inf
    assert database.loads == 1


async def test_a_key_made_elsewhere_is_found_at_once(keyring: Keyring, database: Database) -> None:
    await keyring.refresh()
    database.add("new", "publish")
    assert await is_known(keyring, "new")
    assert database.loads == 2


async def test_a_thousand_random_tokens_cost_at_most_a_load_in_a_second(
    keyring: Keyring, database: Database, time: Ticking
) -> None:
    await keyring.refresh()
    began = time.now()
    for number in range(1000):
        assert not await is_known(keyring, f"random {number}")
    assert database.loads - 1 <= time.now() - began + 1
    assert database.loads == 1001


async def test_unknown_tokens_at_the_same_time_share_a_load(keyring: Keyring, database: Database) -> None:
    await keyring.refresh()
    found = await asyncio.gather(*(is_known(keyring, f"random {number}") for number in range(100)))
    assert not any(found)
    assert database.loads == 2


async def test_a_new_key_is_found_in_the_middle_of_a_flood(
    keyring: Keyring, database: Database, time: Ticking
) -> None:
    await keyring.refresh()
    assert not await is_known(keyring, "random")
    database.add("new", "publish")
    assert await is_known(keyring, "new")
    assert time.pauses == [0.0, module.BETWEEN_SECONDS]


async def test_a_flood_does_not_pile_up(
    keyring: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 3)
    await keyring.refresh()
    database.gate.clear()
    waiting = [asyncio.create_task(is_known(keyring, f"random {number}")) for number in range(10)]
    await until(lambda: sum(task.done() for task in waiting) == 7)
    database.gate.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [outcome for outcome in outcomes if outcome is not False] == [
        outcome for outcome in outcomes if isinstance(outcome, DatabaseUnavailable)
    ]
    assert outcomes.count(False) == 3, "the others may come back: nobody looked"
    assert database.loads == 2


async def test_a_token_that_was_refused_is_not_asked_for_again(
    keyring: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_REFUSED", 2)
    await keyring.refresh()
    for _ in range(100):
        assert not await is_known(keyring, "random")
    assert database.loads == 2
    for other in ("x", "y"):
        await is_known(keyring, other)
    assert not await is_known(keyring, "random")
    assert database.loads == 5, "what is remembered has a bound"


async def test_a_load_under_way_does_not_answer_for_a_token_that_came_later(
    keyring: Keyring, database: Database
) -> None:
    await keyring.refresh()
    database.gate.clear()
    first = asyncio.create_task(is_known(keyring, "random"))
    await until(lambda: database.loads == 2)
    database.add("new", "publish")
    second = asyncio.create_task(is_known(keyring, "new"))
    database.gate.set()
    assert (await first, await second) == (False, True)
    assert database.loads == 3


async def test_a_refresh_sees_what_was_changed_before_it(keyring: Keyring, database: Database) -> None:
    database.add("old", "publish")
    await keyring.refresh()
    database.gate.clear()
    periodic = asyncio.create_task(keyring.refresh())
    await until(lambda: database.loads == 2)
    database.rows.clear()
    after_revocation = [asyncio.create_task(keyring.refresh()) for _ in range(10)]
    database.gate.set()
    await asyncio.gather(periodic, *after_revocation)
    assert not keyring.holds(1)
    assert not await is_known(keyring, "old")
    # The one of the revocation for all ten, and one for the token that is unknown now.
    assert database.loads == 4


async def test_one_caller_who_leaves_does_not_take_the_load_from_the_others(
    keyring: Keyring, database: Database
) -> None:
    await keyring.refresh()
    database.add("new", "publish")
    database.gate.clear()
    leaving, staying = (asyncio.create_task(is_known(keyring, "new")) for _ in range(2))
    await until(lambda: database.loads == 2)
    leaving.cancel()
    await asyncio.wait([leaving])
    database.gate.set()
    assert await staying
    assert database.loads == 2


async def test_a_refresh_that_was_cancelled_counts_as_none(keyring: Keyring, database: Database) -> None:
    database.gate.clear()
    leaving = asyncio.create_task(keyring.refresh())
    await until(lambda: database.loads == 1)
    database.add("new", "publish")
    staying = asyncio.create_task(keyring.refresh())
    await asyncio.sleep(0)
    leaving.cancel()
    database.gate.set()
    await staying
    assert keyring.holds(1)


async def test_a_key_ends_at_its_time_without_a_load(
    keyring: Keyring, database: Database, time: Ticking
) -> None:
    database.add("a", "publish", seconds_left=10)
    await keyring.refresh()
    time.time += 9.9
    assert await is_known(keyring, "a")
    time.time += 0.1
    assert not await is_known(keyring, "a")
    assert database.loads == 1


async def test_time_counts_from_the_question_not_from_the_answer(
    keyring: Keyring, database: Database, time: Ticking
) -> None:
    database.add("a", "publish", seconds_left=10)
    database.gate.clear()
    loading = asyncio.create_task(keyring.refresh())
    await until(lambda: database.loads == 1)
    time.time += 5
    database.gate.set()
    await loading
    assert (await keyring.find(hash_token("a"))).ends_at == time.now() + 5


async def test_while_the_database_is_away_the_last_load_stays_in_use(
    keyring: Keyring, database: Database
) -> None:
    database.add("a", "publish")
    await keyring.refresh()
    database.away = True
    with pytest.raises(DatabaseUnavailable):
        await keyring.refresh()
    assert await is_known(keyring, "a")
    with pytest.raises(DatabaseUnavailable):
        await keyring.find(hash_token("unknown, and nobody can tell"))
    database.away = False
    database.add("b", "publish")
    assert await is_known(keyring, "b")


async def test_before_the_first_load_nobody_can_tell(
    keyring: Keyring, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.away = True
    with pytest.raises(DatabaseUnavailable):
        await keyring.find(hash_token("a"))
    monkeypatch.setattr(module, "MAX_WAITING", 0)
    with pytest.raises(DatabaseUnavailable):
        await keyring.find(hash_token("a"))


async def test_callers_at_the_same_time_learn_of_one_failure(keyring: Keyring, database: Database) -> None:
    database.away = True
    database.gate.clear()
    first = asyncio.create_task(keyring.refresh())
    await until(lambda: database.loads == 1)
    others = [asyncio.create_task(keyring.refresh()) for _ in range(10)]
    await asyncio.sleep(0)
    database.gate.set()
    outcomes = await asyncio.gather(first, *others, return_exceptions=True)
    assert all(isinstance(outcome, DatabaseUnavailable) for outcome in outcomes)
    assert database.loads == 2
