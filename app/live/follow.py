"""One stream over several topics: an endless supply of ready frames, in order per partition."""

import asyncio
from functools import partial

from app.live.history import History, Page
from app.live.lane import Lane
from app.live.position import event_id
from app.live.protocols import Frames, Outlet, Told
from app.live.signal import Signal
from app.live.start import LanePlan, Plan
from app.live.watched import Fate
from app.live.watchlist import Watchlist

CHUNK_MAX_BYTES = 128 * 1024
PUSH_MAX_BYTES = 1024 * 1024
"""Of bytes that all who wait share, to a connection that took all before them."""


class Follow:
    """Registers with the tail when it is made, before it reads anything. Close it."""

    def __init__(self, plan: Plan, watchlist: Watchlist, history: History, frames: Frames) -> None:
        self.signal = Signal()
        self._epoch = watchlist.epoch
        self._watchlist = watchlist
        self._history = history
        self._frames = frames
        self._gone = plan.gone
        self._plans = plan.lanes
        # What a ring has ready names its own topic only.
        alone = len(plan.lanes) == 1 and not plan.gone
        self._lanes = [self._lane(lane, alone=alone) for lane in plan.lanes]
        self._open = list(self._lanes)
        self._turn = 0
        self._reading: tuple[Lane, asyncio.Task[Page]] | None = None
        """A page that is read beside everything else: its log may be slow, or locked."""

    def _lane(self, plan: LanePlan, *, alone: bool) -> Lane:
        watched, ring = self._watchlist.follow(plan.topic, plan.tips, self.signal)
        return Lane(watched, ring, plan.seen, self._frames, self._id_line, alone=alone)

    def close(self, now: float) -> None:
        if self._reading is not None:
            _, read = self._reading
            read.cancel()
        for lane in self._lanes:
            lane.watched.remove_follower(self.signal)
            self._watchlist.left(lane.watched, now)

    def opening(self) -> bytes:
        """What is missing from where the client was, then where it is: it can come back to that even if
        no event arrives.

        Only that has an id, as the position is beyond all gaps: with one of them, a client whose
        connection breaks there would never be told of the next.
        """
        gaps = [
            lane.announce(gap)
            for lane, plan in zip(self._lanes, self._plans, strict=True)
            for gap in plan.gaps
        ]
        ends = [self._frames.end(gone.topic) for gone in self._gone]
        return b"".join([*gaps, self._id_line() + self._frames.start(), *ends])

    def told(self) -> Told:
        events, gaps = 0, []
        for lane in self._lanes:
            events += lane.events
            gaps += lane.gaps
            lane.events, lane.gaps = 0, []
        return Told(events, gaps)

    @property
    def topics(self) -> list[str]:
        return [lane.topic for lane in self._lanes]

    @property
    def ended(self) -> bool:
        """Whether every topic was deleted."""
        return not self._open

    async def next(self, outlet: Outlet) -> bytes | None:
        """The next frames; b"" when the signal was set for another reason; None when all is over.

        Frames that need nothing else go to `outlet` meanwhile, as soon as they are there.
        """
        self.signal.clear()
        paged = self._take_page()
        if not paged:
            # One page is held at a time: with one to send, the next is not read yet.
            self._read_on()
        data = paged + self._take()
        if not data and self._open and not self._replaced:
            await self.signal.wait(partial(self._push, outlet))
            self.signal.clear()
            data = self._take_page() + self._take()
        going_on = bool(self._open) and not self._replaced
        return data if data or going_on else None

    def _read_on(self) -> None:
        while self._reading is None and (lane := self._behind()) is not None:
            if (page := lane.read_on(self._history)) is not None:
                read = asyncio.create_task(page)
                read.add_done_callback(self._was_read)
                self._reading = lane, read

    def _was_read(self, read: asyncio.Task[Page]) -> None:
        if not read.cancelled():
            # Nobody may be there any more to whom it could be told.
            read.exception()
        self.signal.set()

    def _take_page(self) -> bytes:
        """Before anything else: what comes later has ids that tell of it."""
        if self._reading is None or not self._reading[1].done():
            return b""
        lane, read = self._reading
        self._reading = None
        return lane.take_page(read)

    def _push(self, outlet: Outlet) -> bool:
        """False when there is something to do that may have to wait."""
        if not outlet.ready:
            return False
        # Loops rather than `any`, which takes three times as long: this runs for each stream and piece.
        for lane in self._open:
            if lane.watched.fate is not Fate.ALIVE:
                return False
        if data := self._take(PUSH_MAX_BYTES):
            outlet.push(data)
        for lane in self._open:  # noqa: SIM110
            if lane.pending:
                return False
        return True

    def _take(self, shared_max_bytes: int = CHUNK_MAX_BYTES) -> bytes:
        if len(self._open) == 1:
            data = self._open[0].take(CHUNK_MAX_BYTES, shared_max_bytes)
        else:
            share = CHUNK_MAX_BYTES // max(1, len(self._open))
            data = b"".join([lane.take(share, share) for lane in self._open])
        for lane in self._open:
            if lane.deleted or lane.watched.fate is not Fate.ALIVE:
                return data + self._take_leave()
        return data

    def _take_leave(self) -> bytes:
        """Of topics that were deleted and have nothing left to deliver."""
        for lane in self._open:
            lane.notice_fate()
        ended = [lane for lane in self._open if lane.deleted]
        self._open = [lane for lane in self._open if not lane.deleted]
        return b"".join([self._frames.end(lane.topic) for lane in ended])

    @property
    def _replaced(self) -> bool:
        return any(lane.replaced for lane in self._open)

    def _behind(self) -> Lane | None:
        """Lanes that read the database take turns."""
        for step in range(len(self._open)):
            lane = self._open[(self._turn + step) % len(self._open)]
            if lane.behind:
                self._turn += step + 1
                return lane
        return None

    def _id_line(self) -> bytes:
        marks = [lane.mark for lane in self._lanes] + [gone.mark for gone in self._gone]
        return self._frames.id_line(event_id(self._epoch, marks))
