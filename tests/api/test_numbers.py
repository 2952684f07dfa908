"""Every number that a caller may send, by the document of the API, is a number or refused by name."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest
import structlog

from tests.support.groups import Group, insist, publish, token
from tests.support.operations import DOCUMENT, OPERATIONS, Operation
from tests.support.problems import problem
from tests.support.service import ThreadService

ALWAYS = ("-1", str(2**63), "true", "[]", "9" * 5_000)
TEXTS = (*ALWAYS, "tank", "", " 1", "1 ", "+1", "\uff10")
VALUES = (*ALWAYS, '"tank"', '"1"', '{"a":1}')
"""In bodies."""
BROKEN = ("1.5", "1.0", "1e3")
"""Numbers that are no integers, or not written as one."""


class Place(NamedTuple):
    operation: Operation
    where: str
    name: tuple[str, ...]
    types: frozenset[str]

    def __str__(self) -> str:
        return f"{self.operation.method} {self.operation.path} {self.where} {'.'.join(self.name)}"

    @property
    def values(self) -> list[str]:
        """What is no number there."""
        values = list(VALUES if self.where == "body" else TEXTS)
        if "number" not in self.types:
            values += BROKEN
        if self.where != "body" or "null" not in self.types:
            values.append("null")
        if self.where == "path":
            # Without it the path is another one.
            values.remove("")
        return values

    def request(self, value: str, names: dict[str, str]) -> tuple[str, bytes, dict[str, str]]:
        """The URL, the body and its headers."""
        content, headers = self.operation.body()
        if self.where == "body":
            content = _with(json.loads(content), self.name, value).encode()
            return self.operation.url(**names), content, headers
        if self.where == "path":
            return self.operation.url(**names, **{self.name[0]: quote(value, safe="")}), content, headers
        url = self.operation.url(**names)
        return f"{url}{'&' if '?' in url else '?'}{self.name[0]}={quote(value)}", content, headers


def _with(example: Any, name: tuple[str, ...], value: str) -> str:
    """The example as JSON with that text in that place; a list gets it as its only item."""
    first, *rest = name
    if rest == ["[]"]:
        text = f"[{value}]"
    elif rest:
        text = _with({}, tuple(rest), value)
    else:
        text = value
    members = {**{key: json.dumps(said) for key, said in example.items()}, first: text}
    return f"{{{','.join(f'{json.dumps(key)}:{said}' for key, said in members.items())}}}"


def _numbers(schema: dict[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where numbers are, and of which type; `null` where there may be none."""
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for way in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(way, ()):
            yield from _numbers(one, at)
    kinds = schema.get("type", ())
    for kind in {"integer", "number", "null"} & set([kinds] if isinstance(kinds, str) else kinds):
        yield at, kind
    for name, member in schema.get("properties", {}).items():
        yield from _numbers(member, (*at, name))
    if "items" in schema:
        yield from _numbers(schema["items"], (*at, "[]"))
    if isinstance(others := schema.get("additionalProperties"), dict):
        yield from _numbers(others, (*at, "0"))


def _places() -> Iterator[Place]:
    for operation in OPERATIONS:
        schemas: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
            (parameter["in"], (parameter["name"],), parameter["schema"])
            for parameter in operation.said.get("parameters", ())
        ]
        contents = operation.said.get("requestBody", {}).get("content", {}).values()
        schemas += [("body", (), content["schema"]) for content in contents]
        for where, at, schema in schemas:
            found = list(_numbers(schema, at))
            for name in dict.fromkeys(name for name, _ in found):
                types = frozenset(kind for other, kind in found if other == name)
                if types != {"null"}:
                    yield Place(operation, where, name, types)


PLACES = list(_places())


class World(NamedTuple):
    """A topic, and a group of it with a lease and a dead letter."""

    http: httpx.AsyncClient
    group: Group
    names: dict[str, str]

    async def state(self) -> list[Any]:
        topic, group = self.group.topic, self.group.path
        audit = f"/v1/audit?topic={topic.rpartition('/')[2]}&limit=1000"
        of_group = (group, f"{group}/leases", f"{group}/dead-letters", f"{topic}/subscriptions")
        paths = ("/v1/topics?page_size=1000", topic, f"{topic}/events", *of_group, "/v1/keys", audit)
        return [insist(await self.http.get(path)) for path in paths]


@pytest.fixture(scope="module")
async def world(shared_service: ThreadService) -> AsyncIterator[World]:
    async with httpx.AsyncClient(base_url=shared_service.base_url, timeout=30) as http:
        topic = "/v1/topics/numbers"
        insist(await http.put(topic))
        group = await Group(http, topic).create(lease_seconds=600)
        await publish(http, topic, 1, 2)
        lease = token(await group.claim())
        await group.reject(lease, offsets=[1])
        yield World(http, group, {"topic": "numbers", "group": group.name, "token": lease})


@pytest.fixture(scope="module")
async def before(world: World) -> list[Any]:
    return await world.state()


def test_the_document_has_numbers_in_all_kinds_of_places() -> None:
    assert {place.where for place in PLACES} == {"path", "query", "body"}
    assert len(PLACES) > 60


@pytest.mark.parametrize("place", PLACES, ids=str)
async def test_s15_what_is_no_number_is_refused_by_name_and_changes_nothing(
    world: World, before: list[Any], place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with structlog.testing.capture_logs() as logged:
        for value in place.values:
            url, content, headers = place.request(value, world.names)
            answer = await world.http.request(place.operation.method, url, content=content, headers=headers)
            if place.where == "body" and len(value) > 1_000 and answer.status_code == 400:
                problem(answer, 400, "invalid_json")
                continue
            assert problem(answer, 422, "invalid_argument")["field"].split("/")[0] == place.name[0], value
    assert await world.state() == before
    assert [line for line in logged if line["log_level"] in ("error", "critical")] == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
