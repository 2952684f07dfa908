"""The requests of a topic that no transaction has taken yet, and which of them may go into the next one."""

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from app.errors import GaplessError, TopicBusy
from app.model import NO_OPTIONS, NewEvent, Published, PublishOptions
from app.settings import Settings

MERGED_FLUSHES = 1
LONE_FLUSHES = 2
MANY_EVENTS = 100
"""Where so many wait, a second merged transaction runs. It may find the log locked by the first, which costs
both more; a database without work while the first one is flushed and answered costs most."""
MERGED_SHARE = 1 / 4
"""Of the events that wait or are being stored, the most for one transaction, but never less than twice
`MANY_EVENTS`. With all requests in one, the service and the database would wait for each other by turns."""


class Request:
    __slots__ = ("answer", "events", "options", "since", "size", "transactions")

    def __init__(self, events: Sequence[NewEvent], options: PublishOptions, size: int) -> None:
        loop = asyncio.get_running_loop()
        self.events = events
        self.options = options
        self.size = size
        self.since = loop.time()
        self.transactions = {event.transaction_id for event in events if event.transaction_id is not None}
        self.answer: asyncio.Future[Published] = loop.create_future()

    def accept(self, published: Published) -> None:
        if not self.answer.done():
            self.answer.set_result(published)

    def refuse(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Flight:
    """Requests of one topic that wait for a transaction, and how many transactions they may use at once.

    With `many_events` of them waiting, they may use one more.
    """

    __slots__ = ("events", "flying", "many_events", "most_flushes", "running", "waiting")

    def __init__(self, most_flushes: int, many_events: float = math.inf) -> None:
        self.waiting: deque[Request] = deque()
        self.events = 0
        """Of those that wait."""
        self.flying = 0
        """Events of those that a transaction has taken."""
        self.running = 0
        self.most_flushes = most_flushes
        self.many_events = many_events

    def has_room(self, running: int) -> bool:
        """Whether there may be a transaction beside so many that are running."""
        return running < self.most_flushes + (self.events >= self.many_events)


class PublishQueue:
    """Requests with options have a flight of their own, so that neither kind waits long for the other."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.merging = Flight(MERGED_FLUSHES, MANY_EVENTS)
        self.alone = Flight(LONE_FLUSHES)
        self.events = 0
        self.bytes = 0

    @property
    def idle(self) -> bool:
        return not (self.merging.running or self.alone.running)

    def add(self, request: Request) -> Flight:
        limits = self._settings
        full = (
            self.events + len(request.events) > limits.queue_max_events
            or self.bytes + request.size > limits.queue_max_bytes
        )
        if full and self.events:
            raise TopicBusy("The topic's queue is full; nothing was stored.")
        self.events += len(request.events)
        self.bytes += request.size
        flight = self.merging if request.options is NO_OPTIONS else self.alone
        flight.waiting.append(request)
        flight.events += len(request.events)
        return flight

    def take(self, flight: Flight) -> list[Request]:
        """What goes into the flight's next transaction, which has to `land`; nothing if nothing waits."""
        while flight.waiting:
            taken = self._take_merged() if flight is self.merging else [self._pop(flight)]
            wanted = [request for request in taken if not request.answer.done()]
            if wanted:
                flight.flying += _count(wanted)
                return wanted
        return []

    def land(self, flight: Flight, taken: Sequence[Request]) -> None:
        """Their transaction is over."""
        flight.flying -= _count(taken)

    def give_up(self, error: GaplessError, before: float) -> None:
        """Refuse all that have waited since before a moment."""
        for flight in (self.merging, self.alone):
            while flight.waiting and flight.waiting[0].since < before:
                self._pop(flight).refuse(error)

    def _take_merged(self) -> list[Request]:
        flight, settings = self.merging, self._settings
        share = MERGED_SHARE * (flight.events + flight.flying)
        most_events = min(settings.commit_max_events, max(2 * MANY_EVENTS, share))
        taken = [self._pop(flight)]
        events, size, transactions = len(taken[0].events), taken[0].size, taken[0].transactions
        while flight.waiting:
            request = flight.waiting[0]
            events += len(request.events)
            size += request.size
            if events > most_events or size > settings.commit_max_bytes:
                break
            if request.transactions:
                # Two requests may use one transaction id; side by side they would become one transaction.
                if not transactions.isdisjoint(request.transactions):
                    break
                transactions = transactions | request.transactions
            taken.append(self._pop(flight))
        return taken

    def _pop(self, flight: Flight) -> Request:
        request = flight.waiting.popleft()
        flight.events -= len(request.events)
        self.events -= len(request.events)
        self.bytes -= request.size
        return request


def _count(requests: Sequence[Request]) -> int:
    return sum(len(request.events) for request in requests)
