"""All open streams of the process: how many there may be, which of them are idle or to end."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import structlog

from app.errors import ServerFull
from app.live.callers import ANYBODY, Caller, Places
from app.live.follow import Follow
from app.live.history import History
from app.live.inspector import Inspector
from app.live.protocols import Frames, Outlet, Told
from app.live.signal import Signal
from app.live.start import Plan, Planner, Start
from app.live.watchlist import Watchlist
from app.metrics import NOBODY, Metrics
from app.settings import Settings

TICK_SECONDS = 0.5

log = structlog.get_logger(__name__)


class Source(Protocol):
    """What a stream sends: an endless supply of frames, waiting until its signal is set."""

    signal: Signal

    @property
    def topics(self) -> list[str]: ...

    @property
    def ended(self) -> bool:
        """Whether there is nothing to come back to."""

    def opening(self) -> bytes: ...

    def told(self) -> Told: ...

    async def next(self, outlet: Outlet) -> bytes | None:
        """b"" when the signal was set for another reason than frames; None when all is over.

        While it waits, frames may go to `outlet`.
        """

    def close(self, now: float) -> None: ...


class Stream:
    """One client's stream, and the outlet of what it follows.

    The task that made it sends what `follow` supplies, and says when; while that task waits, `follow` pushes.

    Everything else is set here by others and seen by that task after its next chunk.
    """

    def __init__(self, follow: Source) -> None:
        self.follow = follow
        self.left = False
        """The client is gone."""
        self.unread = False
        self.draining = False
        self.unauthorized = False
        """Whoever asked for it may not have it any more."""
        self.ping_due = False
        self._loop = asyncio.get_running_loop()
        self._outlet: Outlet | None = None
        self._sending = False
        self._sent_at = self._loop.time()

    def attach(self, outlet: Outlet) -> None:
        """What is pushed goes there; without one, all waits for the task."""
        self._outlet = outlet

    @property
    def ready(self) -> bool:
        return (
            self._outlet is not None
            and not (self.left or self.draining or self.unauthorized or self.ping_due)
            and self._outlet.ready
        )

    def push(self, data: bytes) -> None:
        assert self._outlet is not None  # nosec B101: it is ready
        self._outlet.push(data)
        self._sent_at = self._loop.time()

    def sending(self) -> None:
        self._sending = True

    def sent(self) -> None:
        self._sending = False
        self._sent_at = self._loop.time()
        self.ping_due = False

    def leave(self, *, unread: bool = False) -> None:
        """`unread`: it was sent away, as it took nothing."""
        self.left = True
        self.unread = unread
        self.follow.signal.set()

    def drain(self) -> None:
        self.draining = True
        self.follow.signal.set()

    def lose_permit(self) -> None:
        self.unauthorized = True
        self.follow.signal.set()

    def ping_if_idle(self, since: float) -> None:
        if not self._sending and self._sent_at <= since:
            self.ping_due = True
            self.follow.signal.set()


class Streams:
    """`run` must run for pings."""

    def __init__(
        self,
        planner: Planner,
        watchlist: Watchlist,
        inspector: Inspector,
        history: History,
        frames: Frames,
        settings: Settings,
        metrics: Metrics = NOBODY,
    ) -> None:
        self._planner = planner
        self._metrics = metrics
        self._watchlist = watchlist
        self._inspector = inspector
        self._history = history
        self._frames = frames
        self._max_streams = settings.max_streams
        self._places = Places(settings)
        self._ping_seconds = settings.ping_seconds
        self._open: set[Stream] = set()
        self._planned = 0
        """How many are to be opened; each may cost a thousand questions to the database."""
        self._draining = False

    @property
    def open(self) -> int:
        return len(self._open)

    async def plan(
        self, topics: Sequence[str], start: Start, last_event_id: str | None, caller: Caller = ANYBODY
    ) -> Plan:
        """Raises what `check_room` and the planner raise; registers nothing."""
        self.check_room(caller)
        with self._places.place(caller):
            self._planned += 1
            try:
                return await self._planner.plan(topics, start, last_event_id)
            finally:
                self._planned -= 1

    @contextmanager
    def stream(self, plan: Plan, caller: Caller = ANYBODY) -> Iterator[Stream]:
        """Register a client's stream for as long as its task stays inside, if there is room."""
        with self.supplied(
            lambda: Follow(plan, self._watchlist, self._history, self._frames), caller
        ) as stream:
            for lane in plan.lanes:
                # It may have been deleted after it was looked up and before it was followed.
                self._inspector.suspect(lane.topic.topic_id)
            yield stream

    @contextmanager
    def supplied(self, make_source: Callable[[], Source], caller: Caller = ANYBODY) -> Iterator[Stream]:
        """The same for a stream of something else than topics; closes its source."""
        self.check_room(caller)
        with self._places.place(caller):
            stream = Stream(make_source())
            stream.draining = self._draining
            self._open.add(stream)
            try:
                yield stream
            finally:
                self._open.discard(stream)
                self._count(stream)
                if stream.unread:
                    self._metrics.slow_closed()
                    log.info("stream_unread", topics=stream.follow.topics)
                stream.follow.close(asyncio.get_running_loop().time())

    def drain(self) -> None:
        """Let every stream end at its next event boundary; new ones end right after they began."""
        self._draining = True
        for stream in self._open:
            stream.drain()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = loop.time()
            for stream in self._open:
                stream.ping_if_idle(now - self._ping_seconds + TICK_SECONDS)
                self._count(stream)

    def _count(self, stream: Stream) -> None:
        told = stream.follow.told()
        if told.events:
            self._metrics.sent(told.events)
        for reason in told.gaps:
            self._metrics.gap(reason)

    def check_room(self, caller: Caller = ANYBODY) -> None:
        """Raises ServerFull, or TooManyStreams for this caller."""
        self._places.check(caller)
        if len(self._open) + self._planned >= self._max_streams:
            raise ServerFull(
                f"This server already has {self._max_streams} open streams.", limit=self._max_streams
            )
