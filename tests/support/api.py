"""The HTTP API as the tests of streams use it: short calls that insist on success."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx

from tests.support.sse import Message, SseClient, open_stream
from tests.support.wait import PATIENCE_SECONDS


class Place(NamedTuple):
    topic: str
    partition: int
    offset: int


class Api:
    def __init__(self, base_url: str, client: httpx.AsyncClient) -> None:
        self.base_url = base_url
        self.client = client

    async def create(self, *topics: str, **settings: Any) -> None:
        """These topics, or `t`."""
        for topic in topics or ("t",):
            _insist(await self.client.put(f"/v1/topics/{topic}", json=settings))

    async def publish(self, *data: Any, topic: str = "t", **query: Any) -> list[int]:
        """The offsets of one batch."""
        body = {"events": [{"data": one} for one in data]}
        answer = await self.client.post(f"/v1/topics/{topic}/events", json=body, params=query)
        return [event["offset"] for event in _insist(answer)["events"]]

    async def trim(self, before: int, topic: str = "t", partition: int = 0) -> None:
        body = {"partition": partition, "before": before}
        _insist(await self.client.post(f"/v1/topics/{topic}/trim", json=body))

    async def delete(self, topic: str = "t") -> None:
        answer = await self.client.delete(f"/v1/topics/{topic}")
        assert answer.status_code == 204, answer.text

    async def read(self, topic: str = "t", **query: Any) -> dict[str, Any]:
        return _insist(await self.client.get(f"/v1/topics/{topic}/events", params=query))

    def url(self, topics: str | Sequence[str] = "t", **query: Any) -> str:
        """Of the stream of one topic, or of several."""
        asked = [(name.removesuffix("_"), value) for name, value in query.items()]
        if isinstance(topics, str):
            return f"{self.base_url}/v1/topics/{topics}/stream?{urlencode(asked)}"
        asked += [("topic", topic) for topic in topics]
        return f"{self.base_url}/v1/stream?{urlencode(asked)}"

    def stream(
        self, topics: str | Sequence[str] = "t", *, last_event_id: str | None = None, **query: Any
    ) -> AbstractAsyncContextManager[SseClient]:
        """`from_` is the query parameter of that name."""
        return open_stream(self.url(topics, **query), last_event_id=last_event_id)

    async def refused(
        self, topics: str | Sequence[str] = "t", *, last_event_id: str | None = None, **query: Any
    ) -> tuple[int, dict[str, Any]]:
        """The status and the problem of a stream that does not begin."""
        headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
        async with self.client.stream("GET", self.url(topics, **query), headers=headers) as answer:
            assert answer.status_code != 200, "the stream began"
            return answer.status_code, json.loads(await answer.aread())


@asynccontextmanager
async def api_of(base_url: str) -> AsyncIterator[Api]:
    timeout = httpx.Timeout(PATIENCE_SECONDS, pool=None)
    async with httpx.AsyncClient(base_url=base_url, timeout=timeout) as client:
        yield Api(base_url, client)


def place(message: Message) -> Place:
    event = json.loads(message.data)
    return Place(event["topic"], event["partition"], event["offset"])


def offset(message: Message) -> int:
    assert message.event == "message", message
    return place(message).offset


def insist_on_order(places: Sequence[Place]) -> None:
    """Every partition from its first event on, without a hole, a repeat or a step back."""
    tips: dict[tuple[str, int], int] = {}
    for topic, partition, number in places:
        expected = tips.get((topic, partition), 0) + 1
        assert number == expected, f"{topic}:{partition} brought {number}, not {expected}"
        tips[topic, partition] = number


def _insist(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, f"{answer.status_code}: {answer.text}"
    body: dict[str, Any] = answer.json()
    return body
