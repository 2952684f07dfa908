"""Publishers of batches that are tried until they are acknowledged, and of some that are tried once; readers
that resume until they are stopped."""

import asyncio
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx

from tests.support.sse import SseError, open_stream
from tests.support.wait import PATIENCE_SECONDS, shared, until

TOPIC = "soak"
PATH = f"/v1/topics/{TOPIC}/events"
PARTITIONS = 4
RETRY_SECONDS = 0.05
ANSWERED_SECONDS = 5.0
MOST_EVENTS = 20
PAUSE_SECONDS = 0.05
REFUSED_SHARE = 0.2
ONCE_SHARE = 0.5

Position = tuple[int, int]


async def create_topic(base_url: str) -> None:
    async with httpx.AsyncClient(base_url=base_url, timeout=PATIENCE_SECONDS) as client:
        answer = await client.put(f"/v1/topics/{TOPIC}", json={"partitions": PARTITIONS})
        answer.raise_for_status()


async def tips(base_url: str) -> dict[int, int]:
    """The newest offset of each partition."""
    async with httpx.AsyncClient(base_url=base_url, timeout=PATIENCE_SECONDS) as client:
        answer = await client.get(f"/v1/topics/{TOPIC}")
    return {bound["partition"]: bound["tip"] for bound in answer.raise_for_status().json()["bounds"]}


class Publisher:
    """`acknowledged` maps each position to the event that a 201 put there."""

    def __init__(self, base_url: str, number: int, dice: random.Random) -> None:
        self.acknowledged: dict[Position, str] = {}
        self.doubtful: list[list[str]] = []
        """Batches without a key whose answer was lost, or says that nobody knows whether they are stored."""
        self.turned_away = 0
        """How many batches without a key must not be there: refused with 503, or never sent."""
        self.problems: list[str] = []
        self.retries = 0
        self._base_url = base_url
        self._number = number
        self._dice = dice
        self._batches = itertools.count(1)
        self._going = True

    def stop(self) -> None:
        """End after the batch that is under way."""
        self._going = False

    async def run(self) -> None:
        async with httpx.AsyncClient(base_url=self._base_url, timeout=10) as client:
            while self._going:
                if self._dice.random() < REFUSED_SHARE:
                    await self._be_refused(client)
                await self._publish_until_acknowledged(client)
                await asyncio.sleep(self._dice.uniform(0, PAUSE_SECONDS))

    async def publish_once(self, client: httpx.AsyncClient) -> None:
        """Without a key, and without repeating it: only if nobody knows better may it be there or not."""
        names = self._names("once", self._dice.randint(1, MOST_EVENTS))
        try:
            answer = await client.post(PATH, json=_body(names))
        except httpx.ConnectError:
            self.turned_away += 1
        except httpx.TransportError:
            self.doubtful.append(names)
        else:
            if self._took(answer, names):
                return
            if answer.status_code == 503 and answer.json().get("outcome") != "unknown":
                self.turned_away += 1
            else:
                self.doubtful.append(names)

    async def _be_refused(self, client: httpx.AsyncClient) -> None:
        """What cannot be stored, as the service or only the database knows: nobody may ever read it."""
        body = _body(self._names("refused", 3))
        newest = next(reversed(self.acknowledged), None)
        query: dict[str, int] = {}
        if newest is None or self._dice.random() < 0.5:
            body["events"].append({"data": "\0"})
            expected = "invalid_events"
        else:
            query = {"partition": newest[0], "expected_offset": newest[1] - 1}
            expected = "offset_mismatch"
        try:
            answer = await client.post(PATH, json=body, params=query)
        except httpx.TransportError:
            return
        if answer.status_code != 503 and answer.json().get("code") != expected:
            self.problems.append(f"{answer.status_code} and not {expected}: {answer.text[:200]}")

    async def _publish_until_acknowledged(self, client: httpx.AsyncClient) -> None:
        names = self._names("kept", self._dice.randint(1, MOST_EVENTS))
        headers = {"Idempotency-Key": f'"{names[0]}"'}
        while True:
            if self._dice.random() < ONCE_SHARE:
                await self.publish_once(client)
            begun = time.monotonic()
            try:
                answer = await client.post(PATH, json=_body(names), headers=headers)
            except httpx.TransportError as error:
                took = time.monotonic() - begun
                if isinstance(error, httpx.TimeoutException) and took > shared(ANSWERED_SECONDS):
                    self.problems.append(f"no answer to a good batch in time: {error!r}")
            else:
                if self._took(answer, names):
                    return
            self.retries += 1
            await asyncio.sleep(RETRY_SECONDS)

    def _names(self, what: str, count: int) -> list[str]:
        batch = next(self._batches)
        return [f"{self._number}-{batch}-{what}-{n}" for n in range(count)]

    def _took(self, answer: httpx.Response, names: Sequence[str]) -> bool:
        """Whether a good batch was acknowledged."""
        if answer.status_code == 201:
            for name, place in zip(names, answer.json()["events"], strict=True):
                self._note((place["partition"], place["offset"]), name)
            return True
        if answer.status_code != 503:
            self.problems.append(f"{answer.status_code} for a good batch: {answer.text[:200]}")
        elif "retry-after" not in answer.headers:
            self.problems.append(f"503 without Retry-After: {answer.text[:200]}")
        return False

    def _note(self, position: Position, name: str) -> None:
        if position in self.acknowledged:
            self.problems.append(f"{position} was acknowledged twice, for {name} too")
        self.acknowledged[position] = name


def _body(names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    return {"events": [{"key": name, "data": {"name": name}} for name in names]}


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
