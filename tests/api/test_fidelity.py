"""`data` comes back byte for byte, whichever way it is read."""

import base64
import json

import asyncpg
import httpx
import pytest

from tests.support.groups import Group, counts
from tests.support.log import publish
from tests.support.sse import open_stream

LINES = {"Accept": "application/x-ndjson"}

TEXTS = [
    "null",
    "true",
    '""',
    "[]",
    "{}",
    "0",
    "-0",
    "1.10",
    "1E+2",
    "12345678901234567890",
    '{"a":9007199254740993,"b":12345678901234567890123,"c":1.10,"d":-0}',
    '{"b":1,"a":2,"a":3}',
    '{ "a" : [ 1 , 2 ] }',
    '"\u2028\u2029"',
    '"😀 é \\u00e9 \\ud83d\\ude00 \\/ \\u0041"',
    '"\\\\u0000"',
    '"\x7f"',
    "1" * 400,
    "[" * 128 + "]" * 128,
]
PRETTY = '{\r\n  "a": [\n\t1,\r2\n  ]\n}'


def data_of(text: str) -> str:
    """What stands between `"data":` and the end of the event."""
    return text.partition('"data":')[2].removesuffix("}")


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_s68_data_keeps_its_bytes(http: httpx.AsyncClient, topic: str, text: str) -> None:
    body = f'{{"events":[{{"data":{text}}}]}}'.encode()
    answer = await http.post(f"{topic}/events", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 201, answer.text
    page = await http.get(f"{topic}/events")
    inside = page.content.decode().partition('"events":[')[2].partition('],"next_offset"')[0]
    assert data_of(inside) == text
    lines = await http.get(f"{topic}/events", headers=LINES)
    assert data_of(lines.content.decode().removesuffix("\n")) == text
    async with open_stream(f"{http.base_url}{topic}/stream?from=earliest") as stream:
        message = await stream.next()
        assert data_of(message.data) == text


@pytest.mark.parametrize("line", TEXTS, ids=range(len(TEXTS)))
async def test_data_published_as_a_line_keeps_its_bytes(
    http: httpx.AsyncClient, topic: str, line: str
) -> None:
    headers = {"content-type": "application/x-ndjson"}
    answer = await http.post(f"{topic}/events", content=f'{{"data":{line}}}'.encode(), headers=headers)
    assert answer.status_code == 200, answer.text
    lines = await http.get(f"{topic}/events", headers=LINES)
    assert data_of(lines.content.decode().removesuffix("\n")) == line


async def test_line_breaks_between_tokens_stay_in_pages_and_become_spaces_in_lines(
    http: httpx.AsyncClient, topic: str
) -> None:
    body = f'{{"events":[{{"data":{PRETTY}}},{{"data":2}}]}}'.encode()
    await http.post(f"{topic}/events", content=body, headers={"content-type": "application/json"})
    page = (await http.get(f"{topic}/events")).content.decode()
    assert f'"data":{PRETTY}}}' in page
    lines = (await http.get(f"{topic}/events", headers=LINES)).content.decode().splitlines()
    assert len(lines) == 2
    assert data_of(lines[0]) == PRETTY.replace("\r", " ").replace("\n", " ")
    async with open_stream(f"{http.base_url}{topic}/stream?from=earliest") as stream:
        assert data_of((await stream.next()).data) == PRETTY.replace("\r", " ")


async def test_s69_events_too_deep_for_http_that_sql_published_are_read_and_their_group_goes_on(
    client: httpx.AsyncClient, connection: asyncpg.Connection
) -> None:
    topic, deep = "/v1/topics/t", "[" * 5_000 + "]" * 5_000
    await client.put(topic)
    group = await Group(client, topic).create()
    await publish(connection, deep, "2")
    page = (await client.get(f"{topic}/events")).text
    first, second = page.partition('"events":[')[2].partition('],"next_offset"')[0].split(',{"topic"')
    assert (data_of(first), data_of(second)) == (deep, "2")
    lines = (await client.get(f"{topic}/events", headers=LINES)).text.splitlines()
    assert [data_of(line) for line in lines] == [deep, "2"]
    async with open_stream(f"{client.base_url}{topic}/stream?from=earliest") as stream:
        assert [data_of(message.data) for message in await stream.take(2)] == [deep, "2"]

    async def claim() -> tuple[str, str]:
        """The token and the text; few parsers of JSON would read it."""
        text = (await group.raw("POST", "/claim", json={"member": "m"})).text
        return text.partition('"token":"')[2].partition('"')[0], text

    lease, claimed = await claim()
    assert f'"data":{deep}}}' in claimed
    await group.reject(lease, offsets=[1], reason="too deep")
    await group.ack(lease, offsets=[2])
    for path in ("/dead-letters", "/dead-letters/1"):
        assert f'"data":{deep}}}' in (await group.raw("GET", path)).text
    await group.post("dead-letters/redrive")
    lease, claimed = await claim()
    assert f'"data":{deep}}}' in claimed
    await group.ack(lease)
    assert counts(await group.show()) == {"acked": 2}


async def test_s71_bytes_come_back_from_base64(http: httpx.AsyncClient, topic: str) -> None:
    every = base64.b64encode(bytes(range(256))).decode()
    for text in (every, "", "AA=="):
        body = {"events": [{"data_base64": text}]}
        answer = await http.post(f"{topic}/events", json=body)
        assert answer.status_code == 201, answer.text
    page = await http.get(f"{topic}/events")
    lines = await http.get(f"{topic}/events", headers=LINES)
    async with open_stream(f"{http.base_url}{topic}/stream?from=earliest") as stream:
        sent = [json.loads(message.data) for message in await stream.take(3)]
    for events in (page.json()["events"], [json.loads(line) for line in lines.text.splitlines()], sent):
        assert [event["data_base64"] for event in events] == [every, "", "AA=="]
        assert all("data" not in event for event in events)


async def test_s54_null_and_other_small_values_are_data(http: httpx.AsyncClient, topic: str) -> None:
    values: list[object] = [None, "", [], 0, False, {}]
    await http.post(f"{topic}/events", json={"events": [{"data": value} for value in values]})
    found = (await http.get(f"{topic}/events")).json()["events"]
    assert [event["data"] for event in found] == values


async def test_attributes_keep_their_text(http: httpx.AsyncClient, topic: str) -> None:
    strange = 'é "quoted" \\ / \u2028 😀 <&>'
    sent = {
        "key": strange,
        "type": strange,
        "id": strange,
        "subject": strange,
        "source": strange,
        "headers": {strange: strange},
        "data": 1,
    }
    answer = await http.post(f"{topic}/events", json={"events": [sent]})
    assert answer.status_code == 201, answer.text
    lines = await http.get(f"{topic}/events", headers=LINES)
    page = await http.get(f"{topic}/events")
    for event in (page.json()["events"][0], json.loads(lines.content)):
        assert {name: event[name] for name in sent} == sent
