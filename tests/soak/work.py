"""Publishers that try each batch until it is acknowledged, and readers that resume until they are stopped."""

import asyncio
import json
import random
import time
from collections import Counter

import httpx

from tests.support.sse import SseError, open_stream
from tests.support.wait import PATIENCE_SECONDS, shared, until

TOPIC = "soak"
PARTITIONS = 4
RETRY_SECONDS = 0.05
ANSWERED_SECONDS = 5.0
MOST_EVENTS = 20
PAUSE_SECONDS = 0.05
REFUSED_SHARE = 0.1

Position = tuple[int, int]


async def create_topic(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, timeout=PATIENCE_SECONDS) as client:
        answer = await client.put(f"/v1/topics/{TOPIC}", json={"partitions": PARTITIONS})
        answer.raise_for_status()


class Publisher:
    """`acknowledged` maps each position to the event that a 201 put there."""

    def __init__(self, base_url: str, number: int, dice: random.Random) -> None:
        self.acknowledged: dict[Position, str] = {}
        self.problems: list[str] = []
        self.retries = 0
        self._base_url = base_url
        self._number = number
        self._dice = dice
        self._going = True

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._going = False

    async def run(self) -> None:
        batch = 0
        async with httpx.AsyncClient(base_url=self._base_url, timeout=10) as client:
            while self._going:
                batch += 1
                if self._dice.random() < REFUSED_SHARE:
                    await self._be_refused(client, batch)
                names = [f"{self._number}-{batch}-{n}" for n in range(self._dice.randint(1, MOST_EVENTS))]
                places = await self._publish(client, f"{self._number}-{batch}", names)
                for name, place in zip(names, places, strict=True):
                    self._note((place["partition"], place["offset"]), name)
                await asyncio.sleep(self._dice.uniform(0, PAUSE_SECONDS))

    def _note(self, position: Position, name: str) -> None:
        if position in self.acknowledged:
            self.problems.append(f"{position} was acknowledged twice, for {name} too")
        self.acknowledged[position] = name

    async def _be_refused(self, client: httpx.AsyncClient, batch: int) -> None:
        """A batch whose last event cannot be stored: none of its names may ever be read."""
        names = [f"{self._number}-{batch}-refused-{n}" for n in range(3)]
        body = {"events": [{"data": {"name": name}} for name in names] + [{"data": "\0"}]}
        try:
            answer = await client.post(f"/v1/topics/{TOPIC}/events", json=body)
        except httpx.TransportError:
            return
        if answer.status_code not in (422, 503):
            self.problems.append(f"{answer.status_code} for a bad batch")

    async def _publish(self, client: httpx.AsyncClient, key: str, names: list[str]) -> list[dict[str, int]]:
        body = {"events": [{"key": name, "data": {"name": name}} for name in names]}
        headers = {"Idempotency-Key": f'"{key}"'}
        while True:
            begun = time.monotonic()
            try:
                answer = await client.post(f"/v1/topics/{TOPIC}/events", json=body, headers=headers)
            except httpx.TransportError as error:
                answer = None
                took = time.monotonic() - begun
                if isinstance(error, httpx.TimeoutException) and took > shared(ANSWERED_SECONDS):
                    self.problems.append(f"no answer to a good batch in time: {error!r}")
            if answer is not None and answer.status_code == 201:
                places: list[dict[str, int]] = answer.json()["events"]
                return places
            if answer is not None and answer.status_code != 503:
                self.problems.append(f"{answer.status_code} for a good batch: {answer.text[:200]}")
            if answer is not None and answer.status_code == 503 and "retry-after" not in answer.headers:
                self.problems.append(f"503 without Retry-After: {answer.text[:200]}")
            self.retries += 1
            await asyncio.sleep(RETRY_SECONDS)


class Reader:
    """Follows the topic from its start over any number of streams; `seen` holds what came, in order."""

    def __init__(self, base_url: str) -> None:
        self.seen: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
        self.problems: list[str] = []
        self.connections = 0
        self.interruptions: Counter[str] = Counter()
        self._url = f"{base_url}/v1/topics/{TOPIC}/stream?from=earliest"
        self._last_id: str | None = None

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except (httpx.TransportError, SseError) as error:
                self.interruptions[f"{type(error).__name__}: {error}"[:200]] += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def caught_up(self, tips: dict[int, int], within_seconds: float) -> None:
        await until(
            lambda: all(len(self.seen[partition]) >= tip for partition, tip in tips.items()), within_seconds
        )

    async def _follow(self) -> None:
        async with open_stream(self._url, last_event_id=self._last_id) as stream:
            self.connections += 1
            async for message in stream.messages():
                if message.event == "message":
                    self._take(json.loads(message.data))
                elif message.event != "drain":
                    self.problems.append(f"event {message.event}: {message.data}")
                self._last_id = message.last_id or self._last_id

    def _take(self, event: dict[str, object]) -> None:
        partition, data = int(str(event["partition"])), event["data"]
        expected = len(self.seen[partition]) + 1
        if event["offset"] != expected:
            self.problems.append(f"partition {partition}: {event['offset']} came where {expected} was due")
        self.seen[partition].append(str(data["name"] if isinstance(data, dict) else data))
