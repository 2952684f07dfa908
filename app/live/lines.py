"""The lines of the groups that somebody here waits for, and what wakes them.

That is news in the topic's logs (through the tail), notifications about the group, whatever this process does
to it, a retry or an expiring lease that is due, and a poll as the net under all of them.
"""

import asyncio

from app.live.inspector import Inspector
from app.live.line import Line, Place
from app.live.lookup import Lookup
from app.live.watched import Fate, Sink, Watched
from app.live.watchlist import Watchlist
from app.model import Claimed, SubscriptionId

BUSY_SECONDS = 0.02
SHORTEST_PAUSE_SECONDS = 0.01
LINGER_SECONDS = 2.0
"""A line that nobody stands in stays watched this long, as members often come back at once."""
MAX_ASKING = 16
"""So many of a line ask at once for what came to several partitions."""
POLLS_PER_SECOND = 50
"""Of all lines together."""


class WaitedGroup:
    """A group that somebody here waits for: its line, and the topic that wakes it."""

    def __init__(self, subscription_id: SubscriptionId, closed: bool) -> None:
        self.subscription_id = subscription_id
        self.line = Line()
        self.line.closed = closed
        self.watched: Watched | None = None
        self.watching = asyncio.Lock()
        self.left_at = 0.0

    @property
    def is_woken(self) -> bool:
        return self.watched is not None and self.watched.fate is Fate.ALIVE


class Lines:
    """`sink` gets the events of the topics that are watched for them."""

    def __init__(
        self, lookup: Lookup, watchlist: Watchlist, inspector: Inspector, sink: Sink, *, poll_seconds: float
    ) -> None:
        self.groups: dict[SubscriptionId, WaitedGroup] = {}
        """Those that have a line now."""
        self._lookup = lookup
        self._watchlist = watchlist
        self._inspector = inspector
        self._sink = sink
        self._poll_seconds = poll_seconds
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many stand in lines."""
        return sum(len(group.line) for group in self.groups.values())

    def group(self, subscription_id: SubscriptionId) -> WaitedGroup:
        """Its line is made where there is none."""
        group = self.groups.get(subscription_id)
        if group is None:
            group = self.groups[subscription_id] = WaitedGroup(subscription_id, self._closed)
        return group

    def wake(self, subscription_id: SubscriptionId) -> None:
        """Something about the group changed: whoever waits for it looks again."""
        if (group := self.groups.get(subscription_id)) is not None:
            group.line.change()

    def wake_all(self) -> None:
        for group in self.groups.values():
            group.line.change()

    def join(self, subscription_id: SubscriptionId, place: Place) -> Line:
        """Stand in the line of a group for longer than one claim."""
        line = self.group(subscription_id).line
        line.join(place)
        return line

    def leave(self, subscription_id: SubscriptionId, place: Place) -> None:
        group = self.group(subscription_id)
        group.line.leave(place)
        self.left(group)

    def left(self, group: WaitedGroup) -> None:
        """Forget a line some time after the last one left it."""
        loop = asyncio.get_running_loop()
        group.left_at = loop.time()
        loop.call_later(LINGER_SECONDS, self._forget_unused, group)

    async def watch(self, topic: str, group: WaitedGroup) -> None:
        """Have the line woken by news; what came before it is has to be asked for after this."""
        async with group.watching:
            if group.is_woken:
                return
            found = await self._lookup.state(topic)
            watched = self._watchlist.watch(found.topic)
            self._inspector.suspect(found.topic.topic_id)
            group.watched = watched
            group.line.most_asking = min(watched.topic.partitions, MAX_ASKING)
            watched.add_line(group.line, found.tips, self._sink)

    def look_again(self, line: Line, claimed: Claimed) -> None:
        """Have the line woken in time though there may be no news."""
        poll = max(self._poll_seconds, len(self.groups) / POLLS_PER_SECOND)
        if claimed.busy:
            line.look_again(BUSY_SECONDS)
        elif claimed.due_seconds is None or claimed.due_seconds > poll:
            line.look_again(poll)
        else:
            line.look_again(max(SHORTEST_PAUSE_SECONDS, claimed.due_seconds), due=True)

    def close(self) -> None:
        """Answer whoever waits."""
        self._closed = True
        for group in self.groups.values():
            group.line.close()

    def _forget_unused(self, group: WaitedGroup) -> None:
        now = asyncio.get_running_loop().time()
        if len(group.line) or now < group.left_at + LINGER_SECONDS / 2:
            return
        if self.groups.get(group.subscription_id) is group:
            del self.groups[group.subscription_id]
        if group.watched is not None:
            group.watched.remove_line(group.line)
            self._watchlist.left(group.watched, now)
            group.watched = None
