"""Notices what no event tells: topics that were deleted, databases that went back in time.

Runs beside the tail, so that a look at one topic delays nobody's events.
"""

import asyncio
from functools import partial

import structlog

from app.backoff import Backoff
from app.errors import TopicNotFound, is_told
from app.live.protocols import LogReader
from app.live.signal import Signal
from app.live.watched import Fate, Watched
from app.live.watchlist import Watchlist
from app.model import TopicId
from app.outage import Outage

ROUND_SECONDS = 15.0
ROUND_MAX_TOPICS = 20
EPOCH_SECONDS = 30.0
SAME_TOPIC_SECONDS = 0.25
"""A notification without partitions may mean many events too, so it is not followed up each time."""

log = structlog.get_logger(__name__)


class Inspector:
    """`run` must run; the rest may be called from the same loop."""

    def __init__(self, store: LogReader, watchlist: Watchlist) -> None:
        self._store = store
        self._watchlist = watchlist
        self._changed = Signal()
        self._suspects: dict[TopicId, float] = {}
        self._looked_at: dict[TopicId, float] = {}
        self._all_suspect = False
        self._epoch_at = 0.0
        self._epoch_asked_at = float("-inf")
        self._asking_epoch = asyncio.Lock()
        self._round_at = 0.0
        self._next_topic = 0

    def suspect(self, topic_id: TopicId) -> None:
        """Something about this topic changed."""
        if topic_id in self._suspects or self._watchlist.by_id(topic_id) is None:
            return
        now = self._now()
        self._suspects[topic_id] = max(now, self._looked_at.get(topic_id, 0.0) + SAME_TOPIC_SECONDS)
        self._changed.set()

    def suspect_all(self) -> None:
        """The database was away and may have come back as another one."""
        self._all_suspect = True
        self._changed.set()

    async def epoch(self) -> str:
        """The epoch of the logs, as it was not long ago. Raises DatabaseUnavailable."""
        if not self._watchlist.epoch or (not self._watchlist and self._now() >= self._epoch_at):
            await self._check_epoch()
        return self._watchlist.epoch

    async def epoch_now(self) -> str:
        """The epoch as the database tells it after this call. Raises DatabaseUnavailable."""
        await self._check_epoch()
        return self._watchlist.epoch

    async def run(self) -> None:
        backoff = Backoff()
        outage = Outage(partial(log.warning, "inspection_failed"))
        while True:
            await self._changed.wait_until(self._next_look())
            self._changed.clear()
            try:
                await self._look()
            except Exception as error:
                if not is_told(error):
                    outage.failed(repr(error))
                self._all_suspect = True
                await asyncio.sleep(backoff.next())
            else:
                backoff.reset()
                outage.worked()

    def _next_look(self) -> float:
        now = self._now()
        if not self._watchlist:
            return now + 3600
        return min([self._round_at, self._epoch_at, *self._suspects.values()])

    async def _look(self) -> None:
        now = self._now()
        if self._all_suspect or (self._watchlist and now >= self._epoch_at):
            await self._check_epoch()
        if self._all_suspect:
            self._all_suspect = False
            for watched in self._watchlist:
                await self._check(watched, tips_too=True)
        if now >= self._round_at:
            self._round_at = now + ROUND_SECONDS
            self._suspects |= {watched.topic.topic_id: now for watched in self._this_round()}
        for topic_id, at in list(self._suspects.items()):
            if at <= now:
                del self._suspects[topic_id]
                suspect = self._watchlist.by_id(topic_id)
                if suspect is not None:
                    await self._check(suspect)
        self._looked_at = {t: at for t, at in self._looked_at.items() if at > now - SAME_TOPIC_SECONDS}

    def _this_round(self) -> list[Watched]:
        topics = list(self._watchlist)
        first = self._next_topic % max(1, len(topics))
        self._next_topic = first + ROUND_MAX_TOPICS
        return (topics[first:] + topics[:first])[:ROUND_MAX_TOPICS]

    async def _check_epoch(self) -> None:
        """Calls that wait for the same answer share it, but only one that was asked for after them."""
        called_at = self._now()
        async with self._asking_epoch:
            if self._epoch_asked_at > called_at:
                return
            asked_at = self._now()
            epoch = await self._store.epoch()
            self._epoch_asked_at = asked_at
            self._adopt(epoch)

    def _adopt(self, epoch: str) -> None:
        self._epoch_at = self._now() + EPOCH_SECONDS
        before, self._watchlist.epoch = self._watchlist.epoch, epoch
        if before and before != epoch:
            log.warning("epoch_changed", before=before, now=epoch)
            for watched in self._watchlist:
                self._watchlist.close(watched, Fate.REPLACED)

    async def _check(self, watched: Watched, *, tips_too: bool = False) -> None:
        name = watched.topic.name
        self._looked_at[watched.topic.topic_id] = self._now()
        read = [cursor.tip for cursor in watched.cursors] if watched.ring else []
        try:
            topic = await self._store.get_topic(name)
            bounds = await self._store.bounds(name, None) if tips_too else []
        except TopicNotFound:
            self._watchlist.close(watched, Fate.DELETED)
            return
        if topic.topic_id != watched.topic.topic_id:
            self._watchlist.close(watched, Fate.DELETED)
        elif any(now.tip < tip for now, tip in zip(bounds, read, strict=False)):
            log.warning("log_went_back", topic=name)
            self._watchlist.close(watched, Fate.REPLACED)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
