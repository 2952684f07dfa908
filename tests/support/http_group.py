"""A topic and a group over HTTP, for tests of what works with them."""

from typing import Any

import httpx


class Group:
    def __init__(self, client: httpx.AsyncClient, topic: str, name: str) -> None:
        self.client = client
        self.topic = topic
        self.name = name
        self.path = f"/v1/topics/{topic}/subscriptions/{name}"

    async def post(self, verb: str, body: Any = None) -> Any:
        answer = await self.client.post(f"{self.path}/{verb}", json={} if body is None else body)
        assert answer.is_success, answer.text
        return answer.json()

    async def health(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(self.path)).raise_for_status().json()
        return found

    async def counts(self, *names: str) -> tuple[int, ...]:
        found = await self.health()
        return tuple(found[name] for name in names)

    async def publish(self, *data: Any, **attributes: Any) -> None:
        events = [{"data": value, **attributes} for value in data]
        path = f"/v1/topics/{self.topic}/events"
        (await self.client.post(path, json={"events": events})).raise_for_status()


async def create_group(
    client: httpx.AsyncClient,
    topic: str = "orders",
    name: str = "billing",
    partitions: int = 1,
    **settings: Any,
) -> Group:
    """A group that gets the topic from its beginning."""
    (await client.put(f"/v1/topics/{topic}", json={"partitions": partitions})).raise_for_status()
    group = Group(client, topic, name)
    answer = await client.put(group.path, json={"start": "earliest", **settings})
    assert answer.is_success, answer.text
    return group
