"""What clients of replicas do while these are restarted, and what they saw: publishers, streams, members."""

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx

from tests.support.api import Place
from tests.support.sse import open_stream

RETRY_SECONDS = 0.1
"""Sooner than Retry-After says, so that a test has more of what it is about."""
BATCH = 5


class Clients:
    """`publish` ends when `stopping` is set and all is answered, the others when they are cancelled."""

    def __init__(self, url: str, topic: str, group: str) -> None:
        self.url = url
        self.topic = topic
        self.group = group
        self.stopping = asyncio.Event()
        self.statuses: Counter[tuple[str, int]] = Counter()
        """What was answered."""
        self.outcomes: Counter[str] = Counter()
        """The codes of refusals, and what broke without an answer."""
        self.published: dict[str, Place] = {}
        self.followed: list[list[tuple[Place, str]]] = []
        self.reconnects = 0
        self.acked: Counter[Place] = Counter()

    async def publish(self, name: str) -> None:
        path = f"/v1/topics/{self.topic}/events"
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as client:
            for number in itertools.count():
                if self.stopping.is_set():
                    return
                values = [f"{name}:{number}:{place}" for place in range(BATCH)]
                body = {"events": [{"key": name, "data": value} for value in values]}
                headers = {"Idempotency-Key": f'"{name}-{number}"'}
                answer = await self._insist("publish", partial(client.post, path, json=body, headers=headers))
                for value, stored in zip(values, answer["events"], strict=True):
                    self.published[value] = Place(self.topic, stored["partition"], stored["offset"])

    async def follow(self) -> None:
        """Read from the start, and come back with the last id as a browser does."""
        seen: list[tuple[Place, str]] = []
        self.followed.append(seen)
        last_id: str | None = None
        while True:
            try:
                async with open_stream(
                    f"{self.url}/v1/topics/{self.topic}/stream?from=earliest", last_event_id=last_id
                ) as stream:
                    self.statuses["stream", 200] += 1
                    async for message in stream.messages():
                        # What answers while a replica is away says no id, and leaves the one that was.
                        last_id = message.last_id or last_id
                        if message.event == "message":
                            event = json.loads(message.data)
                            place = Place(self.topic, event["partition"], event["offset"])
                            seen.append((place, event["data"]))
                        else:
                            self.outcomes[f"stream {message.event}"] += 1
                    last_id = stream.last_id or last_id
            except httpx.TransportError as error:
                self.outcomes[f"stream {type(error).__name__}"] += 1
            self.reconnects += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def consume(self, member: str) -> None:
        """Claim and ack, each call repeated until it is known what became of it."""
        path = f"/v1/topics/{self.topic}/subscriptions/{self.group}"
        async with httpx.AsyncClient(base_url=self.url, timeout=60) as client:
            for number in itertools.count():
                ask = {"member": member, "max_events": 20, "wait": 1, "request_id": f"{member}-{number}"}
                claimed = await self._insist("claim", partial(client.post, f"{path}/claim", json=ask))
                if not (lease := claimed["lease"]):
                    continue
                settle = f"{path}/leases/{lease['token']}/ack"
                await self._insist("ack", partial(client.post, settle, json={}))
                self.acked.update(
                    Place(self.topic, lease["partition"], event["offset"]) for event in claimed["events"]
                )

    async def _insist(self, what: str, send: Callable[[], Awaitable[httpx.Response]]) -> dict[str, Any]:
        while True:
            try:
                answer = await send()
            except httpx.TransportError as error:
                self.outcomes[f"{what} {type(error).__name__}"] += 1
                await asyncio.sleep(RETRY_SECONDS)
                continue
            self.statuses[what, answer.status_code] += 1
            if answer.is_success:
                body: dict[str, Any] = answer.json()
                return body
            assert answer.status_code == 503, f"{what}: {answer.status_code} {answer.text}"
            assert int(answer.headers["retry-after"]) >= 1
            self.outcomes[f"{what} {answer.json()['code']}"] += 1
            await asyncio.sleep(RETRY_SECONDS)
