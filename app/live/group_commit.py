"""Concurrent publishes to one topic share a database transaction.

Requests without options wait only while such a transaction of their topic is running, so a lone request
never waits; those that gathered meanwhile go into the next one together. Each gets the part of the answer
that is its own. A request with options is a transaction of its own. Giving up on a request that waits drops
it; once taken, it is published whoever still waits for it.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from app.errors import (
    LOCKED,
    OF_THE_DATABASE,
    DatabaseUnavailable,
    Draining,
    GaplessError,
    TopicBusy,
    TopicNotFound,
)
from app.live.publish_queue import Flight, PublishQueue, Request
from app.live.turns import Turns
from app.metrics import NOBODY, Metrics
from app.model import NO_OPTIONS, NewEvent, Published, PublishOptions
from app.settings import Settings

KEPT_CONNECTIONS = 3
"""For reads, the tail and upkeep; publishes get the others. A small pool cannot spare as many."""

# Every request of a merged call would meet these again; repeating them one by one gains nothing.
_FOR_ALL = (TopicNotFound, TopicBusy, *OF_THE_DATABASE)


class Log(Protocol):
    """Where batches go: the store."""

    async def publish(self, topic: str, events: Sequence[NewEvent], options: PublishOptions) -> Published: ...


Committed = Callable[[Sequence[NewEvent], Published], object]
"""What is called for each batch after its commit."""


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
        self._queues: dict[str, PublishQueue] = {}
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
            raise TopicBusy(LOCKED)
        if queue is None:
            queue = self._queues[topic] = PublishQueue(self._settings)
        if options == NO_OPTIONS:
            options = NO_OPTIONS
        request = Request(events, options, sum(event.size for event in events) if size is None else size)
        flight = queue.add(request)
        if flight.has_room(flight.running):
            flight.running += 1
            task = asyncio.create_task(self._flush(topic, queue, flight))
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

    async def _flush(self, topic: str, queue: PublishQueue, flight: Flight) -> None:
        try:
            while flight.has_room(flight.running - 1) and (taken := queue.take(flight)):
                try:
                    await self._commit(topic, queue, taken)
                finally:
                    queue.land(flight, taken)
                if flight is queue.merging:
                    # Requests that arrived beside the answer are queued one round of the loop later: they
                    # share the next transaction, in place of the one after it.
                    await asyncio.sleep(0)
        finally:
            flight.running -= 1
            if queue.idle:
                del self._queues[topic]

    async def _commit(self, topic: str, queue: PublishQueue, taken: list[Request]) -> None:
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

    async def _publish(self, topic: str, taken: list[Request]) -> None:
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

    async def _one_by_one(self, topic: str, taken: list[Request]) -> None:
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

    def _give_up(self, queue: PublishQueue, error: TopicBusy) -> None:
        """Who has waited long behind a locked log would only wait for the same lock again."""
        patience = self._settings.lock_seconds / 2
        queue.give_up(error, asyncio.get_running_loop().time() - patience)


def _refuse(requests: list[Request], error: BaseException) -> None:
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
