"""Everything in a process that waits for events, put together."""

import asyncio
from collections.abc import Collection

from app.live.arrivals import Arrivals
from app.live.claims import Claims
from app.live.event_cache import Encode, EventCache
from app.live.feed import Feed
from app.live.history import History
from app.live.inspector import Inspector
from app.live.lookup import Lookup
from app.live.protocols import Frames, Groups, LogReader, Sleeper
from app.live.sleeping import Sleeping
from app.live.start import Planner
from app.live.streams import Streams
from app.live.tail import Tail
from app.live.watchlist import Watchlist
from app.metrics import NOBODY, Metrics
from app.model import SubscriptionId, TopicId
from app.settings import Settings


class Hub:
    """`run` must run. The listener tells it what it hears; nothing is lost if it tells it too much."""

    def __init__(
        self,
        store: LogReader,
        groups: Groups,
        sleeper: Sleeper,
        frames: Frames,
        encode: Encode,
        settings: Settings,
        metrics: Metrics = NOBODY,
    ) -> None:
        self._watchlist = Watchlist(
            frames,
            ring_max_events=settings.ring_max_events,
            ring_max_bytes=settings.ring_max_bytes,
            metrics=metrics,
        )
        self._inspector = Inspector(store, self._watchlist)
        sleeping = Sleeping(sleeper, self._watchlist)
        arrivals = Arrivals(self._watchlist, frames, metrics)
        self.feed = Feed(self._watchlist, arrivals, sleeping)
        self.tail = Tail(
            store,
            sleeping,
            self._watchlist,
            self._inspector,
            arrivals,
            poll_seconds=settings.poll_seconds,
        )
        lookup = Lookup(store)
        self.streams = Streams(
            Planner(store, lookup, self._inspector),
            self._watchlist,
            self._inspector,
            History(store, lookup, frames),
            frames,
            settings,
            metrics,
        )
        self.claims = Claims(
            lookup,
            groups,
            self._watchlist,
            self._inspector,
            EventCache(store, encode),
            poll_seconds=settings.poll_seconds,
            patience_seconds=settings.lock_seconds / 2,
            lease_turns=settings.pool_max // 2,
            # Those who find a lock hold their turns for lock_seconds.
            lease_turn_seconds=settings.lock_seconds + settings.acquire_seconds,
        )

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.tail.run())
            group.create_task(self.feed.run())
            group.create_task(self._inspector.run())
            group.create_task(self.streams.run())

    def close(self) -> None:
        """Let everybody go who waits: streams end at an event boundary, long-polls are answered."""
        self.streams.drain()
        self.tail.close()
        self.claims.close()

    def heard(self, topic_id: TopicId, partitions: Collection[int] | None) -> None:
        """A notification: these partitions have news, or (None) something about the topic changed."""
        self._watchlist.heard(topic_id, partitions)
        if partitions is None:
            self._inspector.suspect(topic_id)

    def heard_group(self, subscription_id: SubscriptionId) -> None:
        """A notification: something about the group changed."""
        self.claims.lines.wake(subscription_id)

    def lost(self) -> None:
        """Nobody sends notifications for now."""
        self._watchlist.read_all()
        self.claims.lines.wake_all()

    def regained(self) -> None:
        """Notifications come again; what happened in between was not announced."""
        self._watchlist.read_all()
        # It may be another database now.
        self.replaced()
        self.claims.lines.wake_all()

    def replaced(self) -> None:
        """From now on offsets may name other events, and numbers other topics and groups."""
        self.feed.clear()
        self.claims.forget()
        self._inspector.suspect_all()
