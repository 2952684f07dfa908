"""A consumer group as its members and its operators call it over HTTP."""

from typing import Any

import httpx

SUBSCRIPTIONS = "subscriptions"


class Group:
    """One group of a topic; calls insist on success, `raw` gives the answer whatever it is."""

    def __init__(self, http: httpx.AsyncClient, topic: str, name: str = "g") -> None:
        self.http = http
        self.topic = topic
        self.name = name

    @property
    def path(self) -> str:
        return f"{self.topic}/{SUBSCRIPTIONS}/{self.name}"

    async def create(self, **settings: Any) -> "Group":
        """From the earliest event on, unless told otherwise."""
        insist(await self.http.put(self.path, json={"start": "earliest", **settings}))
        return self

    async def raw(self, method: str, path: str = "", **options: Any) -> httpx.Response:
        return await self.http.request(method, self.path + path, **options)

    async def claim(self, member: str = "m", **wanted: Any) -> dict[str, Any]:
        return insist(await self.raw("POST", "/claim", json={"member": member, **wanted}))

    async def settle(self, verb: str, token: str, **body: Any) -> list[tuple[int, int, str]]:
        """Ack, nack or reject; each result as first offset, last offset, status."""
        answer = insist(await self.raw("POST", f"/leases/{token}/{verb}", json=body))
        return [(one["first_offset"], one["last_offset"], one["status"]) for one in answer["results"]]

    async def ack(self, token: str, **body: Any) -> list[tuple[int, int, str]]:
        return await self.settle("ack", token, **body)

    async def nack(self, token: str, **body: Any) -> list[tuple[int, int, str]]:
        return await self.settle("nack", token, **body)

    async def reject(self, token: str, **body: Any) -> list[tuple[int, int, str]]:
        return await self.settle("reject", token, **body)

    async def release(self, token: str) -> int:
        return int(insist(await self.raw("POST", f"/leases/{token}/release"))["released"])

    async def post(self, verb: str, **body: Any) -> dict[str, Any]:
        return insist(await self.raw("POST", f"/{verb}", json=body))

    async def show(self) -> dict[str, Any]:
        return insist(await self.raw("GET"))

    async def letters(self, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = insist(await self.raw("GET", "/dead-letters", params=query))[
            "dead_letters"
        ]
        return found


def insist(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, f"{answer.status_code}: {answer.text}"
    body: dict[str, Any] = answer.json()
    return body


def offsets(claim: dict[str, Any]) -> list[int]:
    return [event["offset"] for event in claim["events"]]


def data(claim: dict[str, Any]) -> list[Any]:
    return [event["data"] for event in claim["events"]]


def token(claim: dict[str, Any]) -> str:
    assert claim["lease"] is not None, claim
    return str(claim["lease"]["token"])


async def publish(http: httpx.AsyncClient, topic: str, *data: Any, **query: Any) -> list[int]:
    """The offsets of one batch."""
    body = {"events": [{"data": one} for one in data]}
    answer = await http.post(f"{topic}/events", json=body, params=query)
    return [event["offset"] for event in insist(answer)["events"]]


async def publish_keyed(http: httpx.AsyncClient, topic: str, *events: tuple[str, Any]) -> None:
    body = {"events": [{"key": key, "data": one} for key, one in events]}
    insist(await http.post(f"{topic}/events", json=body))


def counts(shown: dict[str, Any]) -> dict[str, int]:
    names = ("waiting", "in_flight", "retrying", "dead", "discarded", "acked", "skipped")
    return {name: shown[name] for name in names if shown[name]}
