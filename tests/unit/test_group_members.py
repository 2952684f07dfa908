"""Members of a group, on a stream or in a claim that waits: what they ask after which change, and as whom."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import cast

import msgspec
import pytest

from app.errors import DatabaseUnavailable, LeaseLost, SubscriptionNotFound, TopicBusy
from app.live import held_leases
from app.live.callers import ANYBODY, Caller
from app.live.claims import Claims, Delivery
from app.live.directory import read_token
from app.live.event_cache import EventCache
from app.live.group_follow import GroupFollow, GroupFrames
from app.live.held_leases import HeldLeases
from app.live.inspector import Inspector
from app.live.line import Line, Place
from app.live.lookup import Lookup
from app.live.protocols import Frames, Groups, LogReader
from app.live.rates import ClaimRate, Rates
from app.live.watchlist import Watchlist
from app.model import (
    Beat,
    Bounds,
    Claimed,
    ClaimOptions,
    Event,
    Lease,
    Offset,
    Run,
    Subscription,
    SubscriptionId,
    Topic,
    TopicId,
)
from app.settings import Settings
from tests.support.nouns import claimed, topic
from tests.support.ticking import Ticking
from tests.support.wait import PATIENCE_SECONDS, until

GROUP = SubscriptionId(1)
PARTITIONS = 2
NOW = datetime(2026, 11, 28, tzinfo=UTC)


class NoOutlet:
    ready = False

    def push(self, data: bytes) -> None:
        raise AssertionError("the frames of a member are never pushed")


NO_OUTLET = NoOutlet()
TOPIC = topic(partitions=PARTITIONS)
ANY_RATE = Rates(Settings()).claims_of(ANYBODY)


def subscription(ordering: str, number: int = GROUP, timeout: float | None = None) -> Subscription:
    return Subscription(
        subscription_id=SubscriptionId(number),
        topic_id=TOPIC.topic_id,
        name="g",
        status="ACTIVE",
        reason=None,
        start='{"at":"earliest"}',
        ordering=ordering,
        on_dead_letter="continue",
        delivery="at_least_once",
        lease_seconds=30,
        max_attempts=5,
        backoff_seconds=1,
        max_backoff_seconds=1,
        max_in_flight=None,
        heartbeat_seconds=10,
        heartbeat_timeout_seconds=timeout,
        created_at=NOW,
        updated_at=NOW,
        status_at=NOW,
    )


class Database:
    """Gives a lease of two events for each partition in `ready`, and remembers what it was asked."""

    def __init__(self, ordering: str = "none") -> None:
        self.ordering = ordering
        self.number = 1
        self.heartbeat_timeout_seconds: float | None = None
        self.lease_seconds = 30.0
        self.ready: list[int] = []
        self.lost: set[str] = set()
        self.locked: set[int] = set()
        self.asked: list[Sequence[int] | None] = []
        self.extended: list[str] = []
        self.looked: list[set[str]] = []
        self.released: list[str] = []
        self.beats = 0
        self.given = 0

    async def epoch(self) -> str:
        return "epoch"

    async def get_topic(self, name: str) -> Topic:
        return TOPIC

    async def deleted_topics(self, topics: Sequence[Topic]) -> list[TopicId]:
        return []

    async def bounds(self, topic: str, partition: int | None) -> list[Bounds]:
        return [Bounds(number, Offset(1), Offset(0)) for number in range(PARTITIONS)]

    async def read_tail(self, *_: object) -> list[tuple[TopicId, Event]]:
        return []

    async def get_subscription(self, topic: str, group: str) -> Subscription:
        return subscription(self.ordering, self.number, self.heartbeat_timeout_seconds)

    async def claim(
        self,
        topic: str,
        group: str,
        claims: Sequence[ClaimOptions],
        partitions: Sequence[int] | None,
    ) -> list[Claimed]:
        return [self._claim(partitions) for _ in claims]

    def _claim(self, partitions: Sequence[int] | None) -> Claimed:
        self.asked.append(partitions)
        wanted = range(PARTITIONS) if partitions is None else partitions
        found = next((partition for partition in self.ready if partition in wanted), None)
        lease = None
        if found is not None:
            self.ready.remove(found)
            self.given += 1
            token = f"v1.{self.number}.{found}.{self.given}.{'0' * 32}"
            runs = [Run(self.given * 2, self.given * 2 + 1)]
            lease = Lease(
                token=token,
                partition=found,
                runs=runs,
                attempt=1,
                expires_at=NOW,
                seconds_left=self.lease_seconds,
            )
        return claimed(lease, self.number)

    async def read_lease(self, topic: str, lease: str) -> list[Event]:
        return []

    async def extend(self, lease: str, lease_seconds: float | None) -> datetime:
        self.extended.append(lease)
        self._wait_for_lock(lease)
        if lease in self.lost:
            raise LeaseLost("it is over")
        return NOW

    async def ended_leases(self, leases: Collection[str]) -> set[str]:
        self.looked.append(set(leases))
        return self.lost & set(leases)

    async def release(self, lease: str) -> int:
        self.released.append(lease)
        self._wait_for_lock(lease)
        return 1

    def _wait_for_lock(self, lease: str) -> None:
        if read_token(lease).partition in self.locked:
            raise TopicBusy("locked")

    async def heartbeat(self, topic: str, group: str, member: str) -> Beat:
        self.beats += 1
        return Beat("ACTIVE", 0, NOW)


class Text:
    """Each frame as a word."""

    def lease(self, lease: Lease) -> bytes:
        return f"{lease.token} ".encode()

    def item(self, item: bytes) -> bytes:
        return b""

    def skipped(self, claimed: Claimed) -> bytes:
        return b"skipped "

    def end(self, topic: str, group: str, code: str) -> bytes:
        return f"end:{code}".encode()


async def steps(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Member:
    def __init__(
        self, database: Database, claims: Claims, rate: ClaimRate = ANY_RATE, *, ping_seconds: float = 3600
    ) -> None:
        self.follow = GroupFollow(
            claims,
            cast(Groups, database),
            cast(GroupFrames, Text()),
            TOPIC,
            subscription(database.ordering, timeout=database.heartbeat_timeout_seconds),
            ClaimOptions(member="m", max_events=2, max_bytes=1000),
            rate,
            ping_seconds=ping_seconds,
        )

    async def get(self) -> str:
        """The next frames."""
        self._tell_time()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (frames := await self.follow.next(NO_OUTLET)):
                pass
        assert frames is not None
        return frames.decode().strip()

    async def idle(self) -> None:
        """Go on until there is nothing to do but to wait."""
        self._tell_time()
        while True:
            going = asyncio.ensure_future(self.follow.next(NO_OUTLET))
            await steps()
            if not going.done():
                going.cancel()
                await asyncio.wait((going,))
                return
            assert going.result() == b""

    def _tell_time(self) -> None:
        """Have it look at the clock, which may have been moved."""
        self.follow._held._signal.set()


async def leased(database: Database, claims: Claims, *partitions: int) -> tuple[Member, list[str]]:
    """A member, and the leases that it was given of these partitions."""
    database.ready = [*partitions]
    member = Member(database, claims)
    return member, [await member.get() for _ in partitions]


def claims_of(database: Database) -> Claims:
    watchlist = Watchlist(cast(Frames, None), ring_max_events=1, ring_max_bytes=1)
    store = cast(LogReader, database)
    return Claims(
        Lookup(store),
        cast(Groups, database),
        watchlist,
        Inspector(store, watchlist),
        EventCache(store, lambda event: b""),
        poll_seconds=3600,
        patience_seconds=3600,
        lease_turns=1,
        lease_turn_seconds=3600,
    )


def line_of(claims: Claims) -> Line:
    place = Place(0)
    line = claims.lines.join(GROUP, place)
    line.leave(place)
    return line


@pytest.fixture
def database() -> Database:
    return Database()


@pytest.fixture
def claims(database: Database) -> Claims:
    return claims_of(database)


@pytest.fixture(autouse=True)
def _looks_come_by_moving_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_LOOK_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(held_leases, name, 3.0)


Clock = Callable[[float], None]


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Moves the clock by which members beat and look."""
    moved = 0.0

    def move(seconds: float) -> None:
        nonlocal moved
        moved += seconds

    monkeypatch.setattr(HeldLeases, "_now", staticmethod(lambda: asyncio.get_running_loop().time() + moved))
    return move


async def test_an_ack_here_costs_one_question_and_only_of_its_owner(
    database: Database, claims: Claims
) -> None:
    database.ready = [0, 1]
    owner, other = Member(database, claims), Member(database, claims)
    token, _ = await owner.get(), await other.get()
    for member in (owner, other):
        await member.idle()
    database.asked.clear()
    claims.settled(token)
    for member in (owner, other):
        await member.idle()
    assert database.extended == []
    assert len([asked for asked in database.asked if asked is None or len(asked) == PARTITIONS]) == 1
    database.ready = [0]
    claims.settled(token)
    assert (await owner.get()).startswith("v1.1.0.3.")


async def test_a_member_beyond_the_rate_of_its_caller_waits_and_holds_up_nobody(
    database: Database, claims: Claims
) -> None:
    ticking = Ticking()
    rates = Rates(Settings(claims_per_second=100, burst_seconds=0.02), ticking.now)
    member = Member(database, claims, rates.claims_of(Caller("a", True, None)))
    for _ in range(2):
        database.ready = [0]
        claims.lines.wake(GROUP)
        claims.settled(await member.get())
    database.asked.clear()
    database.ready = [0, 1]
    claims.lines.wake(GROUP)
    await member.idle()
    assert database.asked == []
    assert (await Member(database, claims).get()).startswith("v1.1.0.3.")
    await member.idle()
    ticking.time += 0.011
    assert (await member.get()).startswith("v1.1.1.4.")


async def test_questions_that_find_nothing_count_against_no_rate(database: Database, claims: Claims) -> None:
    rates = Rates(Settings(claims_per_second=1, burst_seconds=1), Ticking().now)
    member = Member(database, claims, rates.claims_of(Caller("a", True, None)))
    for _ in range(3):
        claims.lines.wake(GROUP)
        await member.idle()
    assert len(database.asked) == 3
    database.ready = [0]
    claims.lines.wake(GROUP)
    assert await member.get()


@pytest.mark.parametrize("ordering", ["none", "key", "partition"])
async def test_single_acks_are_looked_into_when_they_may_have_ended_the_lease(ordering: str) -> None:
    database = Database(ordering)
    claims = claims_of(database)
    member, [first, second] = await leased(database, claims, 0, 1)
    claims.settled(first, 1)
    await member.idle()
    assert database.looked == []
    database.lost = {first}
    claims.settled(first, 1)
    await member.idle()
    assert database.looked == [{first, second}]
    database.ready = [0]
    claims.settled(second, 1)
    assert (await member.get()).startswith("v1.1.0.3.")
    assert database.looked == [{first, second}]


async def test_what_others_change_is_looked_into_once_in_a_while(
    database: Database, claims: Claims, move: Clock
) -> None:
    member, tokens = await leased(database, claims, 0, 1)
    for _ in range(5):
        claims.lines.wake(GROUP)
        await member.idle()
    assert database.looked == [set(tokens)]
    database.lost = {tokens[1]}
    database.ready = [1]
    move(held_leases.LOOK_SECONDS)
    assert (await member.get()).startswith("v1.1.1.3.")
    assert database.looked == [set(tokens)] * 2


async def test_looks_come_less_and_less_often_until_one_finds_something(
    database: Database, claims: Claims, move: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("FIRST_LOOK_SECONDS", 1.0), ("LOOK_SECONDS", 4.0)):
        monkeypatch.setattr(held_leases, name, seconds)
    member, [token] = await leased(database, claims, 0)
    await member.idle()

    async def looks(seconds: int) -> list[int]:
        """After which of so many seconds it looked."""
        found = []
        for second in range(1, seconds + 1):
            before = len(database.looked)
            move(1)
            await member.idle()
            if len(database.looked) > before:
                found.append(second)
        return found

    assert await looks(3) == [1, 3]
    database.lost = {token}
    assert await looks(4) == [4]
    database.ready = [0]
    line_of(claims).wake()
    await member.get()
    assert await looks(3) == [1, 3]


async def test_a_poll_and_news_look_at_no_lease(database: Database, claims: Claims) -> None:
    member, _ = await leased(database, claims, 0)
    line = line_of(claims)
    await member.idle()
    database.asked.clear()
    news = line.news
    line.look_again(0)
    await steps()
    assert line.news == news + 1
    await member.idle()
    assert (database.asked, database.looked) == ([[1]], [])
    line.look_again(0, due=True)
    await steps()
    assert line.news == news + 2
    await member.idle()
    assert len(database.looked) == 1


async def test_a_stream_outlives_a_partition_that_is_locked_for_a_while(
    database: Database, claims: Claims, move: Clock
) -> None:
    member, tokens = await leased(database, claims, 0, 1)
    await member.idle()
    database.locked = {0}
    move(3600)
    await member.idle()
    assert database.extended == tokens
    move(held_leases.LOOK_SECONDS)
    await member.idle()
    assert database.extended == [*tokens, tokens[0]]
    database.locked = set()
    move(held_leases.LOOK_SECONDS)
    await member.idle()
    assert database.extended == [*tokens, tokens[0], tokens[0]]
    move(held_leases.LOOK_SECONDS)
    await member.idle()
    assert database.extended == [*tokens, tokens[0], tokens[0]]


async def test_others_that_end_put_off_no_second_look_at_a_locked_partition(
    database: Database, claims: Claims, move: Clock
) -> None:
    member, [locked, other] = await leased(database, claims, 0, 1)
    await member.idle()
    database.locked = {0}
    move(3600)
    await member.idle()
    database.extended.clear()
    for _ in range(2):
        move(held_leases.LOOK_SECONDS / 2)
        claims.settled(other, 10)
        await member.idle()
    assert database.extended.count(locked) == 1


async def test_a_partition_that_is_locked_is_extended_after_the_others(
    database: Database, claims: Claims, move: Clock
) -> None:
    member, [locked, fine] = await leased(database, claims, 0, 1)
    await member.idle()
    database.locked = {0}
    move(3600)
    await member.idle()
    assert database.extended == [locked, fine]
    database.extended.clear()
    move(3600)
    await member.idle()
    assert database.extended == [fine, locked]


async def test_a_stream_beats_often_enough_for_the_timeout_of_its_group(
    database: Database, claims: Claims, move: Clock
) -> None:
    database.heartbeat_timeout_seconds = 6
    member, [token] = await leased(database, claims, 0)
    await member.idle()
    move(2)
    await member.idle()
    assert database.extended == [token]


async def test_a_stream_whose_leases_are_all_locked_beats_all_the_same(
    database: Database, claims: Claims, move: Clock
) -> None:
    member, _ = await leased(database, claims, 0)
    await member.idle()
    database.locked = {0}
    before = database.beats
    move(3600)
    await member.idle()
    assert (len(database.extended), database.beats) == (1, before + 1)


async def test_what_a_locked_partition_keeps_from_being_given_back_is_given_back_after_it(
    database: Database, claims: Claims
) -> None:
    member, [token] = await leased(database, claims, 0)
    database.locked = {0}
    member.follow.close(0)
    await until(lambda: len(database.released) == 2)
    database.locked = set()
    await claims.releases.settle()
    assert len(database.released) > 2
    assert set(database.released) == {token}


async def test_a_service_that_stops_does_not_wait_for_locked_partitions(
    database: Database, claims: Claims
) -> None:
    member, [token] = await leased(database, claims, 0)
    database.locked = {0}
    claims.close()
    member.follow.close(0)
    await claims.releases.settle()
    assert database.released == [token]


async def test_a_stream_that_extends_or_sends_holds_nobody_up(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, _ = await leased(database, claims, 0)
    await member.idle()
    line = line_of(claims)
    with line.place(line.news) as behind:
        # The first one in the line is sending to its client.
        line.wake()
        assert line.may_ask(behind)
        line.nothing(behind, line.news, for_all=True)
        stuck = asyncio.Event()

        async def extend(lease: str, lease_seconds: float | None) -> datetime:
            await stuck.wait()
            return NOW

        monkeypatch.setattr(database, "extend", extend)
        claims.lines.wake(GROUP)
        looking = asyncio.create_task(member.follow.next(NO_OUTLET))
        await steps()
        assert line.may_ask(behind)
        stuck.set()
        await looking


async def test_a_stream_whose_leases_cannot_be_kept_fails(
    database: Database, claims: Claims, move: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, _ = await leased(database, claims, 0)
    await member.idle()

    async def away(*_: object) -> datetime:
        raise DatabaseUnavailable("it is away")

    monkeypatch.setattr(database, "ended_leases", away)
    claims.lines.wake(GROUP)
    await member.idle()
    monkeypatch.setattr(database, "extend", away)
    move(3600)
    with pytest.raises(DatabaseUnavailable):
        await member.get()


async def test_a_stream_keeps_its_leases_while_the_database_is_away_for_less_than_one_lasts(
    database: Database, claims: Claims, move: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    member, [token] = await leased(database, claims, 0)
    await member.idle()

    async def away(*_: object) -> datetime:
        raise DatabaseUnavailable("it is away")

    with monkeypatch.context() as silent:
        silent.setattr(database, "extend", away)
        silent.setattr(database, "heartbeat", away)
        move(15)
        await member.idle()
    assert database.extended == []
    move(5)
    await member.idle()
    assert database.extended == [token]


async def test_a_lease_that_is_shorter_than_the_settings_say_is_kept(
    database: Database, claims: Claims, move: Clock
) -> None:
    """Another replica has changed them, and where nobody listens nobody is told."""
    database.lease_seconds = 2
    member, [token] = await leased(database, claims, 0)
    await member.idle()
    assert database.extended == []
    move(0.7)
    await member.idle()
    assert database.extended == [token]


async def test_a_beat_that_read_the_settings_before_they_changed_puts_nothing_off(
    database: Database, claims: Claims, move: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = Member(database, claims)
    await member.idle()
    read, may_answer = database.get_subscription, asyncio.Event()
    with monkeypatch.context() as slow:

        async def held(topic: str, group: str) -> Subscription:
            slow.undo()
            await may_answer.wait()
            return await read(topic, group)

        slow.setattr(database, "get_subscription", held)
        move(10)
        await member.idle()
    database.lease_seconds, database.ready = 2, [0]
    line_of(claims).wake()
    token = await member.get()
    may_answer.set()
    await member.idle()
    assert database.extended == [token]
    move(0.7)
    await member.idle()
    assert database.extended == [token, token]


async def test_members_share_the_question_what_their_group_is_set_to_now(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [Member(database, claims) for _ in range(5)]
    for member in members:
        await member.idle()
    read = database.get_subscription
    asked = 0

    async def count(topic: str, group: str) -> Subscription:
        nonlocal asked
        asked += 1
        return await read(topic, group)

    monkeypatch.setattr(database, "get_subscription", count)
    claims.lines.wake(GROUP)
    for member in members:
        await member.idle()
    assert asked == 1


async def test_members_that_look_at_the_same_time_share_a_question(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = asyncio.Event()
    asked: list[set[str]] = []

    async def ended_leases(leases: Collection[str]) -> set[str]:
        asked.append(set(leases))
        await answered.wait()
        return {"b", "c"} & set(leases)

    monkeypatch.setattr(database, "ended_leases", ended_leases)
    looks = []
    for token in "abc":
        looks.append(asyncio.create_task(claims.ended.among([token])))
        await steps()
    looks[1].cancel()
    answered.set()
    assert (await looks[0], await looks[2] & {"a", "c"}) == (set(), {"c"})
    assert asked == [{"a"}, {"b", "c"}]


async def test_a_stream_ends_when_its_name_belongs_to_another_group(
    database: Database, claims: Claims
) -> None:
    member = Member(database, claims)
    await member.idle()
    database.number = 2
    database.ready = [0]
    claims.lines.wake(GROUP)
    assert await member.get() == "end:subscription_not_found"
    assert await member.follow.next(NO_OUTLET) is None
    await claims.releases.settle()
    assert [token.split(".")[1] for token in database.released] == ["2"]


async def test_a_beat_notices_that_the_name_belongs_to_another_group(
    database: Database, claims: Claims, move: Clock
) -> None:
    member = Member(database, claims)
    await member.idle()
    asked = len(database.asked)
    database.number = 2
    move(3600)
    assert await member.get() == "end:subscription_not_found"
    assert len(database.asked) == asked


async def test_waiting_claims_go_on_with_the_group_that_has_the_name_now(
    database: Database, claims: Claims
) -> None:
    options = ClaimOptions(member="m", max_events=2, max_bytes=1000)
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS

    async def wait() -> Delivery:
        return await claims.wait("t", "g", options, await claims.claim("t", "g", options), deadline)

    waits = [asyncio.create_task(wait()) for _ in range(3)]
    await steps()
    database.number = 2
    claims.lines.wake(GROUP)
    await steps()
    assert claims.lines.waiting == 3
    database.ready = [0, 1]
    claims.lines.wake(SubscriptionId(2))
    await steps()
    assert [one.result().claimed.subscription_id for one in waits if one.done()] == [2, 2]
    claims.close()
    assert (await waits[2]).claimed.lease is None


async def test_a_wait_takes_what_the_group_gives_that_has_the_name_now(
    database: Database, claims: Claims
) -> None:
    options = ClaimOptions(member="m", max_events=2, max_bytes=1000)
    before = await claims.claim("t", "g", options)
    database.number, database.ready = 2, [0]
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    found = await claims.wait("t", "g", options, before, deadline)
    assert found.claimed.lease is not None
    assert database.released == []
    assert claims.lines.waiting == 0


async def test_a_wait_asks_though_the_line_that_its_claim_saw_is_forgotten(
    database: Database, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.live.lines.LINGER_SECONDS", 0)
    member = Member(database, claims)
    await member.idle()
    line_of(claims).wake()
    await member.idle()
    answered = asyncio.Event()

    async def claim(*_: object, **__: object) -> list[Claimed]:
        await answered.wait()
        return [claimed(None)]

    options = ClaimOptions(member="m", max_events=2, max_bytes=1000)
    with monkeypatch.context() as slow:
        slow.setattr(database, "claim", claim)
        asking = asyncio.create_task(claims.claim("t", "g", options))
        await steps()
        before = line_of(claims)
        member.follow.close(0)
        await until(lambda: line_of(claims) is not before)
        answered.set()
        found = await asking
    database.ready = [0]
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    assert (await claims.wait("t", "g", options, found, deadline)).claimed.lease is not None


async def test_a_claim_tries_last_what_was_leased_just_now(database: Database, claims: Claims) -> None:
    database.ready = [0]
    token = await Member(database, claims).get()
    options = ClaimOptions(member="m", max_events=2, max_bytes=1000)
    await claims.claim("t", "g", options)
    assert database.asked[-1] == [1, 0]
    await claims.claim("t", "g", msgspec.structs.replace(options, ack=token))
    assert database.asked[-1] is None
    await claims.claim("t", "g", msgspec.structs.replace(options, ack="nonsense"))


async def test_a_change_by_name_fails_nobody(database: Database, claims: Claims) -> None:
    line = line_of(claims)
    await claims.changed("t", "g")
    assert line.news == 1

    async def gone(topic: str, group: str) -> Subscription:
        raise SubscriptionNotFound("it is gone")

    anew = claims_of(database)
    database.get_subscription = gone  # type: ignore[method-assign]
    await anew.changed("t", "g")


async def test_who_leaves_releases_its_leases_and_is_told_nothing_more(
    database: Database, claims: Claims
) -> None:
    member, [token] = await leased(database, claims, 0)
    member.follow.close(0)
    claims.settled(token)
    await claims.releases.settle()
    assert database.released == [token]
    assert claims.lines.waiting == 0
