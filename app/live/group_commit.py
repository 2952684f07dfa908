"""Concurrent publishes to one topic share a database transaction.

Requests without options wait only while such a transaction of their topic is running, so a lone request
never waits; those that gathered meanwhile go into the next one together. Each gets the part of the answer
that is its own. A request with options is a transaction of its own. Giving up on a request that waits drops
it; once taken, it is published whoever still waits for it.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from app.errors import (
    OF_THE_DATABASE,
    DatabaseUnavailable,
    Draining,
    GaplessError,
    TopicBusy,
    TopicNotFound,
)
from app.live.turns import Turns
from app.metrics import NOBODY, Metrics
from app.model import NewEvent, Published, PublishOptions
from app.settings import Settings

NO_OPTIONS = PublishOptions()

MERGED_FLUSHES = 1
LONE_FLUSHES = 2
MANY_EVENTS = 100
"""Where so many wait, a second merged transaction runs. It may find the log locked by the first, which costs
both more; a database without work while the first one is flushed and answered costs most."""
KEPT_CONNECTIONS = 3
"""For reads, the tail and upkeep; publishes get the others. A small pool cannot spare as many."""

# Every request of a merged call would meet these again; repeating them one by one gains nothing.
_FOR_ALL = (TopicNotFound, TopicBusy, *OF_THE_DATABASE)


class Log(Protocol):
    """Where batches go: the store."""

    async def publish(self, topic: str, events: Sequence[NewEvent], options: PublishOptions) -> Published: ...


Committed = Callable[[Sequence[NewEvent], Published], object]
"""What is called for each batch after its commit."""


class _Request:
    __slots__ = ("answer", "events", "options", "since", "size", "transactions")

    def __init__(self, events: Sequence[NewEvent], options: PublishOptions, size: int) -> None:
        loop = asyncio.get_running_loop()
        self.events = events
        self.options = options
        self.size = size
        self.since = loop.time()
        self.transactions = {event.transaction_id for event in events} - {None}
        self.answer: asyncio.Future[Published] = loop.create_future()

    def accept(self, published: Published) -> None:
        if not self.answer.done():
            self.answer.set_result(published)

    def refuse(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class _Lane:
    """Requests of one topic that wait for a transaction, and how many transactions they may use at once.

    With `many_events` of them waiting, it is one more.
    """

    __slots__ = ("events", "many_events", "most_flushes", "running", "waiting")

    def __init__(self, most_flushes: int, many_events: float = math.inf) -> None:
        self.waiting: deque[_Request] = deque()
        self.events = 0
        self.running = 0
        self.most_flushes = most_flushes
        self.many_events = many_events

    def has_room(self, running: int) -> bool:
        """Whether there may be a transaction beside so many that are running."""
        return running < self.most_flushes + (self.events >= self.many_events)


class _Queue:
    """The requests of one topic that no transaction has taken yet.

    Those with options have a lane of their own, so that neither kind waits long for the other.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.merging = _Lane(MERGED_FLUSHES, MANY_EVENTS)
        self.alone = _Lane(LONE_FLUSHES)
        self.events = 0
        self.bytes = 0

    @property
    def idle(self) -> bool:
        return not (self.merging.running or self.alone.running)

    def add(self, request: _Request) -> _Lane:
        limits = self._settings
        full = (
            self.events + len(request.events) > limits.queue_max_events
            or self.bytes + request.size > limits.queue_max_bytes
        )
        if full and self.events:
            raise TopicBusy("The topic's queue is full; nothing was stored.")
        self.events += len(request.events)
        self.bytes += request.size
        lane = self.merging if request.options is NO_OPTIONS else self.alone
        lane.waiting.append(request)
        lane.events += len(request.events)
        return lane

    def take(self, lane: _Lane) -> list[_Request]:
        """What goes into the lane's next transaction; nothing once the lane is empty."""
        while lane.waiting:
            taken = self._take_merged() if lane is self.merging else [self._pop(lane)]
            wanted = [request for request in taken if not request.answer.done()]
            if wanted:
                return wanted
        return []

    def give_up(self, error: GaplessError, before: float) -> None:
        """Refuse all that have waited since before a moment."""
        for lane in (self.merging, self.alone):
            while lane.waiting and lane.waiting[0].since < before:
                self._pop(lane).refuse(error)

    def _take_merged(self) -> list[_Request]:
        lane = self.merging
        taken = [self._pop(lane)]
        events, size, transactions = len(taken[0].events), taken[0].size, taken[0].transactions
        while lane.waiting:
            request = lane.waiting[0]
            events += len(request.events)
            size += request.size
            if events > self._settings.commit_max_events or size > self._settings.commit_max_bytes:
                break
            if request.transactions:
                # Two requests may use one transaction id; side by side they would become one transaction.
                if not transactions.isdisjoint(request.transactions):
                    break
                transactions = transactions | request.transactions
            taken.append(self._pop(lane))
        return taken

    def _pop(self, lane: _Lane) -> _Request:
        request = lane.waiting.popleft()
        lane.events -= len(request.events)
        self.events -= len(request.events)
        self.bytes -= request.size
        return request


class GroupCommit:
    """A topic costs something only while its requests are waiting or running."""

    def __init__(
        self, log: Log, settings: Settings, metrics: Metrics = NOBODY, committed: Committed | None = None
    ) -> None:
        self._log = log
        self._committed = committed
        self._metrics = metrics
        self._settings = settings
        kept = min(KEPT_CONNECTIONS, max(0, settings.pool_max - 4) // 2)
        self._turns = Turns(settings.pool_max - kept, settings.lock_seconds / 2)
        self._queues: dict[str, _Queue] = {}
        self._flushing: set[asyncio.Task[None]] = set()
        self._draining = False
        self.pending = 0
        """How many calls of `publish` wait for their answer."""

    async def publish(
        self,
        topic: str,
        events: Sequence[NewEvent],
        options: PublishOptions = NO_OPTIONS,
        size: int | None = None,
    ) -> Published:
        """Store a batch; `size` is what it counts for in the queue, in bytes."""
        if self._draining:
            raise Draining("The server is shutting down; nothing was stored.")
        queue = self._queues.get(topic)
        if queue is not None and self._turns.is_suspect(topic):
            raise TopicBusy("The log of this topic is locked by somebody else; nothing was stored.")
        if queue is None:
            queue = self._queues[topic] = _Queue(self._settings)
        if options == NO_OPTIONS:
            options = NO_OPTIONS
        request = _Request(events, options, sum(event.size for event in events) if size is None else size)
        lane = queue.add(request)
        if lane.has_room(lane.running):
            lane.running += 1
            task = asyncio.create_task(self._flush(topic, queue, lane))
            self._flushing.add(task)
            task.add_done_callback(self._flushing.discard)
        began = time.perf_counter()
        self.pending += 1
        try:
            published = await request.answer
        finally:
            self.pending -= 1
        self._metrics.publish_took(time.perf_counter() - began)
        return published

    @property
    def waiting(self) -> tuple[int, int]:
        """How many events, and bytes, no transaction has taken yet."""
        queues = self._queues.values()
        return sum(queue.events for queue in queues), sum(queue.bytes for queue in queues)

    async def close(self) -> None:
        """Refuse what comes and finish what has come."""
        self._draining = True
        while self._flushing:
            await asyncio.wait(self._flushing)

    async def _flush(self, topic: str, queue: _Queue, lane: _Lane) -> None:
        try:
            while lane.has_room(lane.running - 1) and (taken := queue.take(lane)):
                await self._commit(topic, queue, taken)
        finally:
            lane.running -= 1
            if queue.idle:
                del self._queues[topic]

    async def _commit(self, topic: str, queue: _Queue, taken: list[_Request]) -> None:
        try:
            async with self._turns.call(topic):
                await self._publish(topic, taken)
        except GaplessError as error:
            if len(taken) > 1 and not isinstance(error, _FOR_ALL):
                await self._one_by_one(topic, taken)
            else:
                _refuse(taken, error)
            if isinstance(error, TopicBusy):
                self._give_up(queue, error)
        except Exception as error:
            # Nobody knows how far the call came, so it is not repeated.
            _refuse(taken, error)
        except asyncio.CancelledError:
            _refuse(taken, DatabaseUnavailable("The server was stopped.", outcome="unknown"))
            raise

    async def _publish(self, topic: str, taken: list[_Request]) -> None:
        if len(taken) == 1:
            published = await self._log.publish(topic, taken[0].events, taken[0].options)
            if not published.replayed:
                self._metrics.published(topic, len(published.offsets))
            taken[0].accept(published)
            self._note(taken[0].events, published)
            return
        events = [event for request in taken for event in request.events]
        published = await self._log.publish(topic, events, NO_OPTIONS)
        self._metrics.published(topic, len(events))
        end = 0
        for request in taken:
            start, end = end, end + len(request.events)
            request.accept(
                Published(
                    partitions=published.partitions[start:end],
                    offsets=published.offsets[start:end],
                    topic_id=published.topic_id,
                    published_at=published.published_at,
                )
            )
        self._note(events, published)

    def _note(self, events: Sequence[NewEvent], published: Published) -> None:
        if self._committed is not None:
            self._committed(events, published)

    async def _one_by_one(self, topic: str, taken: list[_Request]) -> None:
        """Find out which request of a refused call was at fault; the others still land."""
        for number, request in enumerate(taken):
            if request.answer.done():
                continue
            try:
                await self._publish(topic, [request])
            except _FOR_ALL as error:
                _refuse([request], error)
                _refuse(taken[number + 1 :], _certain(error))
                return
            except Exception as error:
                request.refuse(error)

    def _give_up(self, queue: _Queue, error: TopicBusy) -> None:
        """Who has waited long behind a locked log would only wait for the same lock again."""
        patience = self._settings.lock_seconds / 2
        queue.give_up(error, asyncio.get_running_loop().time() - patience)


def _refuse(requests: list[_Request], error: BaseException) -> None:
    for request in requests:
        request.refuse(_advised(error, request.options) if _is_open(error) else error)


def _is_open(error: BaseException) -> bool:
    return isinstance(error, DatabaseUnavailable) and error.outcome_is_unknown


def _certain(error: GaplessError) -> GaplessError:
    """The same, for a request that was not sent."""
    if _is_open(error):
        return DatabaseUnavailable("The database cannot be reached; nothing was stored.")
    return error


def _advised(error: BaseException, options: PublishOptions) -> DatabaseUnavailable:
    advice = (
        "Repeat the request under the same Idempotency-Key: it is stored once."
        if options.idempotency_key
        else "Read the topic before repeating it, or use an Idempotency-Key, which makes repeating safe."
    )
    return DatabaseUnavailable(f"{error} The events may be stored or not. {advice}", outcome="unknown")
