"""Text of callers stays text: in frames, headers, statements and log lines.

Case 21 is in tests/browser/test_injection_page.py, 22 in tests/unit/test_evaluation.py.
"""

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from app.db.embedded import EmbeddedServer
from app.live.maintenance import AHEAD, CLEANING
from tests.conftest import Connect, StartProcess, StartService
from tests.support.api import Api, offset
from tests.support.databases import database_name
from tests.support.effort import effort
from tests.support.groups import Group, token
from tests.support.problems import item_problems
from tests.support.rude import Rude
from tests.support.service import PATIENT, ThreadService
from tests.support.wait import quickest, shared

CONTROLS = ["\r", "\n", "\r\n", "\0", "\u0085", "\x1b[2J", "\x7f"]
FORGED = "a{}data: forged{}{}"
LINE_ENDS = "a\rb\nc\r\nd\u2028e\u2029f\u0085g\n\nid: 7\nevent: end\n\n: x\r\r"


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
@pytest.mark.parametrize("field", ["type", "key", "id", "source", "subject"])
async def test_14_s80_no_field_of_a_frame_can_be_forged(
    http: httpx.AsyncClient, topic: str, field: str, control: str
) -> None:
    event = {"data": 1, field: FORGED.format(control, control, control)}
    answer = await http.post(f"{topic}/events", json={"events": [event]})
    ((index, code),) = item_problems(answer)
    assert (index, code in ("control_character", "unstorable_character")) == (0, True)


async def test_14_s80_data_with_every_line_end_is_one_frame_and_comes_back_exactly(
    service: ThreadService, api: Api
) -> None:
    """The parser of the stream is strict: a frame too many, or a field that is none, fails it."""
    await api.create()
    exact = json.dumps({LINE_ENDS: LINE_ENDS}, ensure_ascii=False)
    spread = '{\r"a"\n:\r\n1,\n\n"b": "\u2028"}'
    async with api.stream() as stream:
        await stream.position()
        answer = await api.client.post(
            "/v1/topics/t/events",
            content=f'{{"events":[{{"data":{exact}}},{{"data":{spread}}},{{"data":3}}]}}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 201, answer.text
        messages = await stream.take(3)
    assert [offset(message) for message in messages] == [1, 2, 3]
    assert json.loads(messages[0].data)["data"] == {LINE_ENDS: LINE_ENDS}
    assert f'"data":{exact}' in messages[0].data
    assert json.loads(messages[1].data)["data"] == {"a": 1, "b": "\u2028"}


async def test_14_s80_what_is_no_line_end_of_a_stream_is_text(service: ThreadService, api: Api) -> None:
    await api.create()
    name = "a\u2028b\u2029c"
    async with api.stream() as stream:
        await stream.position()
        event = {"key": name, "type": name, "id": name, "data": 1}
        assert (await api.client.post("/v1/topics/t/events", json={"events": [event]})).status_code == 201
        shown = json.loads((await stream.next()).data)
    assert (shown["key"], shown["type"], shown["id"]) == (name, name, name)


SPLIT = "x\r\nSet-Cookie: a=b"
FIXED_HEADERS = {
    "cache-control",
    "content-length",
    "content-type",
    "cross-origin-resource-policy",
    "date",
    "etag",
    "referrer-policy",
    "server",
    "vary",
    "x-content-type-options",
    "x-request-id",
}


async def test_15_a_stored_header_cannot_split_an_answer_and_none_is_made_of_stored_text(
    http: httpx.AsyncClient, topic: str
) -> None:
    body = {"events": [{"data": 1, "headers": {"x": SPLIT}}]}
    assert item_problems(await http.post(f"{topic}/events", json=body)) == [(0, "control_character")]
    binary = {
        "ce-specversion": "1.0",
        "ce-id": "1",
        "ce-source": "/x",
        "ce-type": "t",
        "content-type": "text/plain",
    }
    for value in (quote(SPLIT), "x%0d%0aSet-Cookie:%20a=b", "%E2%80%A8%0A"):
        answer = await http.post(f"{topic}/events", content=b"x", headers={**binary, "ce-subject": value})
        assert answer.status_code == 422, answer.text
    fine = {"set-cookie": "a=b", "location": "//evil.example", "access-control-allow-origin": "*"}
    event = {"data": 1, "headers": fine, "subject": "set-cookie: a=b", "datacontenttype": "text/html"}
    stored = await http.post(f"{topic}/events", json={"events": [event]})
    assert stored.status_code == 201, stored.text
    for answer in (stored, await http.get(f"{topic}/events?from=earliest"), await http.get(topic)):
        assert {name.lower() for name in answer.headers} <= FIXED_HEADERS | {"x-accel-buffering"}
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("value", [b"a\rb", b"a\x00b", b"a\nb: c", b"\x7f"])
async def test_15_a_request_header_is_never_echoed_raw(shared_service: ThreadService, value: bytes) -> None:
    async with Rude(shared_service.port) as rude:
        head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        await rude.send(head + b"X-Request-Id: " + value + b"\r\n\r\n")
        (status,) = await rude.answers_to_end()
        assert status in (200, 400)
        assert value not in rude.received.partition(b"\r\n\r\n")[0]


HOSTILE = [
    "'; select pg_sleep(5)--",
    "'||pg_sleep(5)||'",
    "1; drop table gapless.topic; --",
    "') union all select 1 --",
    "false) UNION ALL SELECT null,null--",
    "$.a ? (@ == 1); drop table x",
    "%",
    "_",
    "\\",
    "\\'",
    "$1",
    "$$",
    "{}",
    "{0}",
    "%s",
    "%(a)s",
    '"',
    "null",
    "*",
    "*" * 500,
    "a" * 199 + "*",
    "(a+)+$",
    "\u2028",
    "'\u02bc\uff07",
]


# What the service asks of itself: its upkeep, its pulse, and what the driver wants to know of types.
_STEPS = "|".join((AHEAD, *CLEANING))
OF_NOBODY = re.compile(
    rf"pg_type|current_setting\('jit'\)|\Aselect 1\Z| from gapless\.(?:{_STEPS})\(1?\) as done\(done\)\Z"
)


class Calls:
    """Every place where a caller's text goes towards the database."""

    def __init__(self, http: httpx.AsyncClient, lease: str) -> None:
        self._http = http
        self._lease = lease

    def with_text(self, text: str) -> Iterator[tuple[str, str, dict[str, Any] | None, dict[str, str]]]:
        """Method, URL, body and headers."""
        enc = quote(text, safe="")
        topic, group = "/v1/topics/t", "/v1/topics/t/subscriptions/g"
        for path in (f"/v1/topics/{enc}", f"/v1/topics/{enc}/events", f"{topic}/subscriptions/{enc}"):
            yield "GET", path, None, {}
        yield "PUT", f"/v1/topics/{enc}", {}, {}
        yield "PUT", f"{topic}/subscriptions/{enc}", {}, {}
        for name in ("offset", "limit", "from", "partition", "wait"):
            yield "GET", f"{topic}/events?{name}={enc}", None, {}
        for name in ("page_token", "page_size", "order_by", "sort", "filter"):
            yield "GET", f"/v1/topics?{name}={enc}", None, {}
            yield "GET", f"{topic}/subscriptions?{name}={enc}", None, {}
        for name in ("type", "key", "reason", "status", "after", "limit"):
            yield "GET", f"{group}/dead-letters?{name}={enc}", None, {}
        for name in ("topic", "after", "limit"):
            yield "GET", f"/v1/audit?{name}={enc}", None, {}
        yield "GET", f"/v1/audit?topic=t&group={enc}", None, {}
        yield "GET", f"{group}/leases?partition={enc}", None, {}
        yield "GET", f"{group}/dead-letters/{enc}", None, {}
        yield "HEAD", f"/v1/stream?topic={enc}", None, {"Accept": "application/json"}
        yield "HEAD", f"{topic}/stream?last_event_id={enc}", None, {"Accept": "application/json"}
        yield "POST", f"{group}/claim", {"member": text, "max_events": 1, "ack": text, "request_id": text}, {}
        yield "POST", f"{group}/leases/{enc}/ack", {}, {}
        yield "POST", f"{group}/leases/{self._lease}/nack", {"reason": text, "first_offset": 10**9}, {}
        yield "POST", f"{group}/heartbeat", {"member": text}, {}
        yield "POST", f"{group}/pause", {"reason": text}, {}
        yield "POST", f"{group}/resume", {}, {}
        yield "POST", f"{group}/dead-letters/redrive", {"type": text, "key": text, "reason": text}, {}
        yield "POST", f"{group}/dead-letters/discard", {"reason": text, "key": text}, {}
        yield "POST", f"{group}/seek", {"to": text, "dry_run": True}, {}
        yield "PATCH", topic, {"description": text}, {}
        event = {"data": text, "key": text, "type": text, "id": text, "subject": text, "headers": {"h": text}}
        key = {} if not text.isascii() else {"Idempotency-Key": json.dumps(text)}
        yield "POST", f"{topic}/events?transaction_id={enc}", {"events": [event]}, key

    async def make(self, text: str) -> list[tuple[str, int, float]]:
        """Status and seconds of each."""
        found = []
        for method, url, body, headers in self.with_text(text):
            began = time.monotonic()
            answer = await self._http.request(method, url, json=body, headers=headers)
            found.append((f"{method} {url}", answer.status_code, time.monotonic() - began))
        return found


@pytest.fixture
async def calls(
    dsn: str, connect: Connect, start_service: StartService, postgres: EmbeddedServer
) -> AsyncIterator[Calls]:
    """On a database whose statements are all logged."""
    connection = await connect()
    await connection.execute(f"alter database {database_name(dsn)} set log_statement = 'all'")
    service = await start_service()
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as http:
        await http.put("/v1/topics/t")
        group = await Group(http, "/v1/topics/t").create()
        await http.post("/v1/topics/t/events", json={"events": [{"data": 1}]})
        yield Calls(http, token(await group.claim()))


def statements(server: EmbeddedServer, since: int) -> set[str]:
    """Texts that were sent, without parameters; many lines of one statement are one text."""
    with (server.data_dir / "postgres.log").open("rb") as file:
        file.seek(since)
        said = file.read().decode(errors="replace").replace("\n\t", " ")
    found = re.findall(r" LOG:  (?:execute [^:]*|statement): (.*)", said)
    return {re.sub(r"\s+", " ", text) for text in found}


@pytest.mark.timeout(effort(600, 1_800))
async def test_16_s82_text_in_every_field_is_a_value_and_never_a_statement(
    calls: Calls, postgres: EmbeddedServer
) -> None:
    log = postgres.data_dir / "postgres.log"
    before = log.stat().st_size
    for plain in ("t", "plain", "2026-11-27T23:20:00Z", "1", "dHQ", "all"):
        await calls.make(plain)
    known = statements(postgres, before)
    assert len(known) > 10
    after = log.stat().st_size
    dice = random.Random(0)
    texts = [*HOSTILE]
    texts += ["".join(dice.choices(HOSTILE, k=3))[:400] for _ in range(effort(3, 300))]
    for text in texts:
        slow = await _slow(calls, text)
        # What sleeps does so each time, a machine that others use now and then.
        for _ in range(2):
            slow = slow and slow & await _slow(calls, text)
        assert not slow, text
    new = {text for text in statements(postgres, after) - known if not OF_NOBODY.search(text)}
    assert not new, "\n".join(new)


async def _slow(calls: Calls, text: str) -> set[str]:
    """Which calls took long with this text."""
    slow = set()
    for place, status, seconds in await calls.make(text):
        assert status < 500, (place, text)
        if seconds >= shared(1.0):
            slow.add(place)
    return slow


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
async def test_16_a_filter_matches_its_text_literally_and_at_once(
    http: httpx.AsyncClient, topic: str, text: str
) -> None:
    """Only a `*` at the end of a type stands for more."""
    group = await Group(http, topic).create(max_attempts=1)
    kinds = [text, "other", text + "x", "x" + text]
    for kind in kinds:
        event = {"data": 1, "key": kind, "type": kind}
        answer = await http.post(f"{topic}/events", json={"events": [event]})
        assert answer.status_code == 201, answer.text
        await group.reject(token(await group.claim()), reason=kind)
    for name in ("key", "reason", "type"):
        seconds, found = await quickest(partial(group.letters, **{name: text}))
        assert seconds < shared(0.1)
        literal = name != "type" or not text.endswith("*")
        expected = [text] if literal else [kind for kind in kinds if kind.startswith(text[:-1])]
        assert [letter["event"]["key"] for letter in found] == expected, name


async def test_18_a_pattern_of_many_stars_is_answered_at_once(http: httpx.AsyncClient, topic: str) -> None:
    """There is no other pattern than a name with a `*` at its end, and no jsonpath with a `like_regex`:
    nothing to backtrack in.
    """
    group = await Group(http, topic).create()
    for pattern in ("*" * 1_000, "a*" * 500 + "b", "(a|a)*b", "(.*){1,32000}", "x{1,255}{1,255}", "(", "[a-"):
        asked = partial(group.raw, "GET", "/dead-letters", params={"type": pattern})
        seconds, answer = await quickest(asked)
        assert answer.status_code in (200, 422)
        assert seconds < shared(0.2)
        if answer.status_code == 200:
            assert answer.json()["dead_letters"] == []


async def test_19_a_line_of_the_log_is_one_line_and_commands_no_terminal(
    start_process: StartProcess,
) -> None:
    forged = "2026-11-27 ERROR admin logged in"
    service = await start_process(access_log=True, **PATIENT)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as http:
        await http.put("/v1/topics/t")
        await http.put("/v1/topics/t/subscriptions/g", json={"start": "earliest"})
        await http.post("/v1/topics/t/events", json={"events": [{"data": 1, "key": f"k {forged}"}]})
        member = Group(http, "/v1/topics/t")
        lease = token(await member.claim())
        for text in (f"a\n{forged}", f"a\r\n{forged}", f"\x1b[2J\x1b[H{forged}", "a" * 30_000):
            for path in (f"/v1/topics/{quote(text)}", f"/v1/topics/t/subscriptions/{quote(text)}"):
                await http.get(path, headers={"User-Agent": quote(text)[:100]})
            await member.raw("POST", "/claim", json={"member": text[:200], "ack": text[:200]})
            await member.raw("POST", "/pause", json={"reason": text[:200]})
            await member.raw("POST", "/resume", json={})
        await member.raw("POST", f"/leases/{lease}/nack", json={"reason": f"a {forged}"})
    await asyncio.to_thread(service.kill)
    lines = service.output.splitlines()
    assert sum("/v1/topics/" in line for line in lines) > 10, "nothing was logged"
    assert not [line for line in lines if line.startswith(forged)]
    assert "\x1b" not in service.output
    assert max(map(len, lines)) < 2_000
