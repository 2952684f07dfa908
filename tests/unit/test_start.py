"""What a stream that begins costs the database before it is known to be allowed."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from app.errors import TooManyItems
from app.live.lookup import Lookup
from app.live.start import CONCURRENT_SEARCHES, Planner
from app.model import Bounds, Event, Offset, TailPosition, Topic, TopicId
from tests.support.nouns import topic

TIME = datetime(2015, 9, 12, tzinfo=UTC)


class Store:
    """Topics of as many partitions as their names say, and the searches by time that it was asked for."""

    known = "epoch"

    def __init__(self) -> None:
        self.searches = 0
        self.running = 0
        self.most_running = 0

    async def get_topic(self, name: str) -> Topic:
        number, partitions = map(int, name.split("-"))
        return topic(number, name, partitions)

    async def bounds(self, topic: str, partition: int | None) -> list[Bounds]:
        _, partitions = map(int, topic.split("-"))
        return [Bounds(number, Offset(1), Offset(9)) for number in range(partitions)]

    async def offset_at(self, topic: str, partition: int, time: datetime) -> int:
        self.searches += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return 5

    async def read_events(self, *_: object) -> list[Event]:
        raise NotImplementedError

    async def read_tail(self, positions: Sequence[TailPosition], *_: object) -> list[tuple[TopicId, Event]]:
        raise NotImplementedError

    async def deleted_topics(self, topics: Sequence[Topic]) -> list[TopicId]:
        raise NotImplementedError

    async def epoch(self) -> str:
        return self.known

    async def epoch_now(self) -> str:
        return self.known


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def planner(store: Store) -> Planner:
    return Planner(store, Lookup(store), store)


async def test_a_stream_that_is_too_large_is_refused_before_anything_is_searched(
    store: Store, planner: Planner
) -> None:
    with pytest.raises(TooManyItems):
        await planner.plan([f"{number}-256" for number in range(5)], TIME, None)
    assert store.searches == 0


async def test_streams_that_begin_at_a_time_share_a_few_searches(store: Store, planner: Planner) -> None:
    plans = await asyncio.gather(*(planner.plan([f"{number}-8"], TIME, None) for number in range(50)))
    assert {tuple(plan.lanes[0].seen) for plan in plans} == {(4,) * 8}
    assert store.searches == 50 * 8
    assert store.most_running == CONCURRENT_SEARCHES
