"""A stream's connection and its task, which keep what comes either way."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from app.live.start import Plan
from app.live.streams import Stream
from tests.live.conftest import Live
from tests.support.sse import Message, Parser
from tests.support.wait import until, until_asleep


class Client:
    def __init__(self, stream: Stream) -> None:
        self.ready = True
        self.broken = False
        self.pushed = 0
        self.largest_push = 0
        self.woken = 0
        """How often the task went on."""
        self.idle = 0
        """How often there was something else to do than to send frames, such as a ping."""
        self.messages: list[Message] = []
        self._stream = stream
        self._parser = Parser()
        stream.attach(self)
        self._take(stream.follow.opening())
        self.task = asyncio.create_task(self._run())

    @property
    def places(self) -> list[tuple[int, int]]:
        """Partition and offset of each event, as they came."""
        events = [json.loads(m.data) for m in self.messages if m.event == "message"]
        return [(event["partition"], event["offset"]) for event in events]

    @property
    def offsets(self) -> list[int]:
        return [offset for _, offset in self.places]

    def push(self, data: bytes) -> None:
        if self.broken:
            raise ConnectionError("broken")
        assert self.ready
        self.pushed += 1
        self.largest_push = max(self.largest_push, len(data))
        self._take(data)

    async def _run(self) -> None:
        stream = self._stream
        while not (stream.draining or stream.unauthorized):
            data = await stream.follow.next(stream)
            self.woken += 1
            if data is None:
                break
            self.idle += not data
            self._take(data)

    def _take(self, data: bytes) -> None:
        self.messages += self._parser.feed(data)


@contextmanager
def client_of(live: Live, plan: Plan) -> Iterator[Client]:
    with live.hub.streams.stream(plan) as stream:
        client = Client(stream)
        try:
            yield client
        finally:
            client.task.cancel()


async def heard_everything(live: Live, connection: asyncpg.Connection) -> None:
    """What was sent before has arrived: answers come after notifications on the same connection."""
    await connection.execute("select 1")
    await live.listener.sleep_keys([])
    await live.listener.sleep([])


async def quiet(live: Live, connection: asyncpg.Connection, logs: int = 1) -> None:
    """The tail sleeps on so many logs, and its last look at them is over."""
    await until_asleep(connection, logs)
    # The answer that it has the locks came before.
    await heard_everything(live, connection)
    await until(lambda: live.idle)
