"""Claims of one group that come at the same time share a database transaction.

A claim waits only while such a transaction of its group is running or all turns are taken; those that
gathered meanwhile go into the next one together. Claims with a request id, which may be made again, and
those for partitions of their own go alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from app.errors import (
    OF_THE_DATABASE,
    DatabaseUnavailable,
    GaplessError,
    SubscriptionInactive,
    SubscriptionNotFound,
    TopicBusy,
    TopicNotFound,
)
from app.live.protocols import Groups
from app.live.turns import Turns
from app.model import Claimed, ClaimOptions

MAX_CLAIMS = 32
"""In one transaction: its locks last until its end."""
TURNS = 3
"""Measured with five groups on two cores: with more at once each of them takes longer than it would have
waited, and so do the publishes beside them."""

# Every claim of a merged call would meet these again.
_FOR_ALL = (TopicNotFound, SubscriptionNotFound, SubscriptionInactive, TopicBusy, *OF_THE_DATABASE)


class _Request:
    __slots__ = ("answer", "options")

    def __init__(self, options: ClaimOptions) -> None:
        self.options = options
        self.answer: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()


class ClaimBatches:
    """`order` says in which order a group's partitions are best tried, if it matters.

    Whoever is cancelled before its transaction has begun is left out; the lease of somebody who is gone when
    it is given goes to `abandoned`.
    """

    def __init__(
        self,
        groups: Groups,
        order: Callable[[str, str], list[int] | None],
        abandoned: Callable[[str], None],
        *,
        patience_seconds: float,
    ) -> None:
        self._groups = groups
        self._order = order
        self._abandoned = abandoned
        self._turns = Turns(TURNS, patience_seconds)
        self._waiting: dict[tuple[str, str], deque[_Request]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def claim(self, topic: str, group: str, options: ClaimOptions) -> Claimed:
        if options.partitions is not None or options.request_id is not None:
            async with self._turn(topic, group):
                partitions = options.partitions
                if partitions is None:
                    partitions = self._order(topic, group)
                claimed = await self._groups.claim(topic, group, [options], partitions)
                return claimed[0]
        request = _Request(options)
        waiting = self._waiting.get((topic, group))
        if waiting is None:
            waiting = self._waiting[topic, group] = deque()
            task = asyncio.create_task(self._run(topic, group, waiting))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        waiting.append(request)
        return await request.answer

    async def _run(self, topic: str, group: str, waiting: deque[_Request]) -> None:
        try:
            while waiting:
                await self._claim_next(topic, group, waiting)
        finally:
            del self._waiting[topic, group]

    async def _claim_next(self, topic: str, group: str, waiting: deque[_Request]) -> None:
        taken: list[_Request] = []
        try:
            async with self._turn(topic, group):
                # Only now: whoever comes while all turns are taken still goes along.
                while waiting and len(taken) < MAX_CLAIMS:
                    if not (request := waiting.popleft()).answer.done():
                        taken.append(request)
                if taken:
                    await self._claim(topic, group, taken)
        except TopicBusy as error:
            _refuse([*taken, *waiting], error)
            waiting.clear()
        except Exception as error:
            _refuse(taken, error)
        except asyncio.CancelledError:
            _refuse([*taken, *waiting], DatabaseUnavailable("The server was stopped.", outcome="unknown"))
            raise

    def _turn(self, topic: str, group: str) -> AbstractAsyncContextManager[None]:
        return self._turns.call(f"{topic}/{group}")

    async def _claim(self, topic: str, group: str, taken: Sequence[_Request]) -> None:
        try:
            found = await self._groups.claim(
                topic, group, [request.options for request in taken], self._order(topic, group)
            )
        except _FOR_ALL:
            raise
        except GaplessError as error:
            if len(taken) == 1:
                _refuse(taken, error)
                return
            # One of them was at fault.
            for request in taken:
                await self._claim(topic, group, [request])
            return
        for request, claimed in zip(taken, found, strict=True):
            if not request.answer.done():
                request.answer.set_result(claimed)
            elif claimed.lease is not None:
                self._abandoned(claimed.lease.token)


def _refuse(requests: Sequence[_Request], error: Exception) -> None:
    for request in requests:
        if not request.answer.done():
            request.answer.set_exception(error)
