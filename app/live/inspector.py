"""Notices what no event tells: topics that were deleted, databases that went back in time.

Runs beside the tail, so that a look at one topic delays nobody's events. Whether a log went back only
the log itself tells, and it may be locked or broken: then that is asked again later, at growing
intervals, and the other topics are looked at meanwhile.
"""

import asyncio
from functools import partial
from math import inf

import structlog

from app.backoff import Backoff
from app.errors import GaplessError, TopicNotFound, is_told
from app.live.apart import raise_if_of_the_database
from app.live.protocols import LogReader
from app.live.signal import Signal
from app.live.watched import Fate, Watched
from app.live.watchlist import Watchlist
from app.model import TopicId
from app.outage import Outage

ROUND_SECONDS = 15.0
EPOCH_SECONDS = 30.0
TIPS_SECONDS = 5.0
"""More than a statement waits for a lock where it has a lock_timeout."""
LONGEST_PAUSE_SECONDS = 15.0
SAME_TOPIC_SECONDS = 0.25
"""A notification without partitions may mean many events too, so it is not followed up each time."""

log = structlog.get_logger(__name__)


class _Doubt:
    """Whether the logs of a topic went back is not known, and not to be asked before `at`."""

    def __init__(self, now: float) -> None:
        self.at = now
        self._backoff = Backoff(LONGEST_PAUSE_SECONDS)

    def put_off(self, now: float) -> None:
        self.at = now + self._backoff.next()


class Inspector:
    """`run` must run; the rest may be called from the same loop."""

    def __init__(self, store: LogReader, watchlist: Watchlist) -> None:
        self._store = store
        self._watchlist = watchlist
        self._changed = Signal()
        self._suspects: dict[TopicId, float] = {}
        self._looked_at: dict[TopicId, float] = {}
        self._doubts: dict[TopicId, _Doubt] = {}
        self._untold = Outage(partial(log.warning, "tips_not_read"))
        self._all_suspect = False
        self._epoch_at = 0.0
        self._epoch_asked_at = float("-inf")
        self._asking_epoch = asyncio.Lock()
        self._round_at = 0.0

    def suspect(self, topic_id: TopicId) -> None:
        """Something about this topic changed."""
        if self._watchlist.by_id(topic_id) is None:
            return
        at = max(self._now(), self._looked_at.get(topic_id, 0.0) + SAME_TOPIC_SECONDS)
        if at < self._suspects.get(topic_id, inf):
            self._suspects[topic_id] = at
            self._changed.set()

    def suspect_all(self) -> None:
        """The database was away and may have come back as another one."""
        self._all_suspect = True
        self._changed.set()

    @property
    def known(self) -> str:
        return self._watchlist.epoch

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
            ids = [watched.topic.topic_id for watched in self._watchlist]
            self._doubts = {topic_id: self._doubts.get(topic_id) or _Doubt(now) for topic_id in ids}
            self._suspects |= dict.fromkeys(ids, now)
        if now >= self._round_at:
            self._round_at = now + ROUND_SECONDS
            self._suspects |= {watched.topic.topic_id: now for watched in self._watchlist}
        await self._check([topic_id for topic_id, at in self._suspects.items() if at <= now])
        await self._settle_doubts(now)
        self._looked_at = {t: at for t, at in self._looked_at.items() if at > now - SAME_TOPIC_SECONDS}

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

    async def _check(self, suspects: list[TopicId]) -> None:
        """All in one statement, as an idle service sends no more of them the more topics it has."""
        for topic_id in suspects:
            del self._suspects[topic_id]
        found = [watched.topic for watched in map(self._watchlist.by_id, suspects) if watched is not None]
        if not found:
            return
        self._looked_at |= dict.fromkeys([topic.topic_id for topic in found], self._now())
        for topic_id in await self._store.deleted_topics(found):
            watched = self._watchlist.by_id(topic_id)
            if watched is not None:
                self._watchlist.close(watched, Fate.DELETED)

    async def _settle_doubts(self, now: float) -> None:
        """After everything that no log is needed for, and only until the first that cannot be read."""
        for topic_id, doubt in list(self._doubts.items()):
            watched = self._watchlist.by_id(topic_id)
            if watched is None:
                del self._doubts[topic_id]
            elif doubt.at <= now:
                try:
                    await self._check_tips(watched)
                except (GaplessError, TimeoutError) as error:
                    await raise_if_of_the_database(error, self._store)
                    doubt.put_off(self._now())
                    # The others before it the next time.
                    self._doubts[topic_id] = self._doubts.pop(topic_id)
                    self._untold.failed(repr(error), topic=watched.topic.name, detail=repr(error))
                    break
                del self._doubts[topic_id]
        if not self._doubts:
            self._untold.worked()
        for topic_id, doubt in self._doubts.items():
            if doubt.at <= now:
                self._changed.set()
            else:
                self._suspects[topic_id] = min(doubt.at, self._suspects.get(topic_id, inf))

    async def _check_tips(self, watched: Watched) -> None:
        read = [cursor.tip for cursor in watched.cursors] if watched.ring else []
        try:
            async with asyncio.timeout(TIPS_SECONDS):
                bounds = await self._store.bounds(watched.topic.name, None)
        except TopicNotFound:
            self._watchlist.close(watched, Fate.DELETED)
            return
        if any(now.tip < tip for now, tip in zip(bounds, read, strict=False)):
            log.warning("log_went_back", topic=watched.topic.name)
            self._watchlist.close(watched, Fate.REPLACED)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
