"""What is refused: a stable code, the index of the item, never a 500, and nothing stored.

Numbers are in test_numbers.py.
"""

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.support.problems import item_problems, problem
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS

JSON = {"content-type": "application/json"}
MIB = 1024 * 1024


async def post(
    http: httpx.AsyncClient, topic: str, body: bytes, content_type: str = JSON["content-type"]
) -> Any:
    return await http.post(f"{topic}/events", content=body, headers={"content-type": content_type})


async def tip(http: httpx.AsyncClient, topic: str) -> int:
    bounds = (await http.get(topic)).json()["bounds"]
    return int(bounds[0]["tip"])


def batch(*events: str) -> bytes:
    return f'{{"events":[{",".join(events)}]}}'.encode()


GOOD = '{"data":1}'

ITEMS: list[tuple[str, str]] = [
    ("1", "wrong_type"),
    ("null", "wrong_type"),
    ("[]", "wrong_type"),
    ("{}", "missing_data"),
    ('{"key":"k"}', "missing_data"),
    ('{"data":1,"colour":"red"}', "unknown_field"),
    ('{"data":1,"data_base64":"AA=="}', "invalid_attribute"),
    ('{"data":1,"key":7}', "wrong_type"),
    ('{"data":1,"key":""}', "invalid_attribute"),
    ('{"data":1,"key":"a\\u0000"}', "unstorable_character"),
    ('{"data":1,"type":"a\\u0007"}', "control_character"),
    ('{"data":1,"subject":"%s"}' % ("s" * 1025), "too_long"),
    ('{"data":1,"time":"2026-11-01T01:30:00"}', "invalid_time"),
    ('{"data":1,"time":"2026-02-30T00:00:00Z"}', "invalid_time"),
    ('{"data":1,"time":1793491200}', "wrong_type"),
    ('{"data":1,"headers":{"a":null}}', "wrong_type"),
    ('{"data":1,"headers":{"a":1}}', "wrong_type"),
    ('{"data":1,"headers":[]}', "wrong_type"),
    ('{"data_base64":"not base64!"}', "invalid_base64"),
    ('{"data_base64":"AA"}', "invalid_base64"),
    ('{"data_base64":"AB=="}', "invalid_base64"),
    ('{"data":"\\u0000"}', "unstorable_character"),
    ('{"data":{"\\u0000":1}}', "unstorable_character"),
    ('{"data":1,"headers":{"a":"\\u0000"}}', "unstorable_character"),
    ('{"data":"\\ud800"}', "unstorable_character"),
    ('{"data":"\\udc00\\ud800"}', "unstorable_character"),
    ('{"data":%s}' % ("[" * 129 + "]" * 129), "too_deep"),
    ('{"data":%s}' % ("[" * 10_000 + "]" * 10_000), "too_deep"),
    ('{"data":%s}' % ('{"a":' * 10_000 + "1" + "}" * 10_000), "too_deep"),
    ('{"data":1e400}', "number_out_of_range"),
    ('{"data":[-1e400]}', "number_out_of_range"),
    ('{"data":1e131072}', "number_out_of_range"),
    ('{"data":1e-16384}', "number_out_of_range"),
    ('{"data":%s}' % ("9" * 401), "number_out_of_range"),
    ('{"data":%s}' % ("9" * 200_000), "number_out_of_range"),
]


@pytest.mark.parametrize(("item", "code"), ITEMS, ids=[f"{n}-{code}" for n, (_, code) in enumerate(ITEMS)])
async def test_a_bad_item_is_named_by_index_and_nothing_of_its_batch_is_stored(
    http: httpx.AsyncClient, topic: str, item: str, code: str
) -> None:
    assert item_problems(await post(http, topic, batch(GOOD, item, GOOD))) == [(1, code)]
    assert await tip(http, topic) == 0
    stored = await post(http, topic, batch(GOOD))
    assert stored.json()["events"] == [{"partition": 0, "offset": 1}]


BODIES: list[tuple[bytes, int, str]] = [
    (b"", 400, "invalid_json"),
    (b"{", 400, "invalid_json"),
    (b'{"events":[{"data":1}]', 400, "invalid_json"),
    (b'{"events":[{"data":1}]} x', 400, "invalid_json"),
    (b'\xef\xbb\xbf{"events":[{"data":1}]}', 400, "invalid_json"),
    ('{"events":[{"data":1}]}'.encode("utf-16"), 400, "invalid_json"),
    (b"[" * 100_000, 422, "invalid_argument"),
    (b'{"events":[]}', 422, "empty_batch"),
    (b"[]", 422, "invalid_argument"),
    (b"1", 422, "invalid_argument"),
    (b"{}", 422, "invalid_argument"),
    (b'{"events":1}', 422, "invalid_argument"),
    (b'{"events":null}', 422, "invalid_argument"),
    (b'{"events":{"data":1}}', 422, "invalid_argument"),
    (b'{"events":[{"data":1}],"more":1}', 422, "invalid_argument"),
    (b'{"Events":[{"data":1}]}', 422, "invalid_argument"),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES, ids=range(len(BODIES)))
async def test_a_body_that_is_no_batch_is_refused(
    http: httpx.AsyncClient, topic: str, body: bytes, status: int, code: str
) -> None:
    problem(await post(http, topic, body), status, code)
    assert await tip(http, topic) == 0


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "01", ".5", "1.", "+1", "'a'", "{a:1}", "[1,]"]
)
async def test_s66_what_is_almost_json_is_refused(http: httpx.AsyncClient, topic: str, text: str) -> None:
    for data in (text, f'{{"a":[{text}]}}'):
        answer = await post(http, topic, batch(GOOD, f'{{"data":{data}}}'))
        assert answer.status_code in (400, 422), answer.text
        assert "invalid_json" in answer.text
    assert await tip(http, topic) == 0


async def test_s65_a_nul_is_refused_wherever_it_is_and_its_escaped_look_alike_is_not(
    http: httpx.AsyncClient, topic: str
) -> None:
    answer = await post(http, topic, batch(GOOD, '{"data":{"name":"a\\u0000b"}}', GOOD))
    (item,) = problem(answer, 422, "invalid_events")["errors"]
    assert (item["index"], item["code"], item["pointer"]) == (1, "unstorable_character", "/data/name")
    assert (await post(http, topic, batch('{"data":"\\\\u0000"}'))).status_code == 201
    assert (await http.get(f"{topic}/events")).json()["events"][0]["data"] == "\\u0000"


async def test_s67_numbers_up_to_the_limit_are_stored(http: httpx.AsyncClient, topic: str) -> None:
    numbers = ["9" * 400, "-" + "9" * 400, "1e399", "1e-399"]
    answer = await post(http, topic, batch(*(f'{{"data":{text}}}' for text in numbers)))
    assert answer.status_code == 201, answer.text


async def test_s69_nesting_is_refused_beyond_128_levels_and_stored_up_to_them(
    http: httpx.AsyncClient, topic: str
) -> None:
    for levels, status in ((100, 201), (128, 201), (129, 422), (500, 422), (1_000, 422), (100_000, 422)):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            data = opening * levels + ("1" if opening != "[" else "") + closing * levels
            answer = await post(http, topic, batch(f'{{"data":{data}}}'))
            assert answer.status_code == status, (levels, answer.text)


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json"]
)
@pytest.mark.parametrize("body", [b"\xff", b'{"events":[{"data":"\xc3\x28"}]}', b'[{"id":"\xed\xa0\x80"}]'])
async def test_bytes_that_are_not_utf8_are_refused(
    http: httpx.AsyncClient, topic: str, body: bytes, content_type: str
) -> None:
    answer = await post(http, topic, body, content_type)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["code"] in ("invalid_json", "invalid_events", "invalid_argument")
    assert await tip(http, topic) == 0


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"id": "1", "source": "/s", "type": "t"}, "invalid_attribute"),
        ({"specversion": "0.3", "id": "1", "source": "/s", "type": "t", "data": 1}, "invalid_attribute"),
        ({"specversion": "1.0", "source": "/s", "type": "t", "data": 1}, "invalid_attribute"),
        ({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "Data": 1}, "invalid_attribute"),
        ({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "ext": {}, "data": 1}, "wrong_type"),
    ],
)
async def test_a_cloudevent_that_breaks_its_rules_is_refused(
    http: httpx.AsyncClient, topic: str, event: dict[str, Any], code: str
) -> None:
    body = json.dumps(event).encode()
    answer = await post(http, topic, body, "application/cloudevents+json")
    assert (0, code) in item_problems(answer)
    answer = await post(http, topic, b"[" + body + b"]", "application/cloudevents-batch+json")
    assert (0, code) in item_problems(answer)
    assert await tip(http, topic) == 0


async def test_an_event_of_2_mib_is_too_large(http: httpx.AsyncClient, topic: str) -> None:
    large = '{"data":"%s"}' % ("x" * 2 * MIB)
    refused = problem(await post(http, topic, batch(large)), 413, "event_too_large")
    assert [(item["index"], item["code"]) for item in refused["errors"]] == [(0, "event_too_large")]
    fits = '{"data":"%s"}' % ("x" * (MIB - 2))
    assert (await post(http, topic, batch(fits))).status_code == 201


async def test_a_request_over_the_limit_is_refused_before_it_is_read(
    http: httpx.AsyncClient, topic: str
) -> None:
    head = f"POST {topic}/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    answer = await exchange(http, f"{head}content-length: {17 * MIB}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"request_too_large"' in answer


async def test_a_chunked_request_is_cut_off_at_the_limit(http: httpx.AsyncClient, topic: str) -> None:
    head = f"POST {topic}/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    chunk = b"100000\r\n" + b" " * MIB + b"\r\n"
    answer = await exchange(http, f"{head}transfer-encoding: chunked\r\n\r\n".encode() + chunk * 17)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"limit":16777216' in answer


async def exchange(http: httpx.AsyncClient, request: bytes) -> bytes:
    """Send bytes as they are and read until the answer is complete."""
    reader, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port)
    try:
        writer.write(request)
        await writer.drain()
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_SECONDS)
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return head + await asyncio.wait_for(reader.readexactly(length), PATIENCE_SECONDS)
    finally:
        writer.close()


async def test_s81_too_many_events_are_refused_and_the_limit_is_named(
    http: httpx.AsyncClient, topic: str
) -> None:
    refused = problem(await post(http, topic, batch(*[GOOD] * 100_000)), 422, "too_many_items")
    assert refused["limit"] == 10_000
    refused = problem(await post(http, topic, batch(*[GOOD] * 10_001)), 422, "too_many_items")
    assert (await post(http, topic, batch(*[GOOD] * 10_000))).status_code == 201


async def test_s81_too_many_headers_topics_and_parameters_are_refused(
    http: httpx.AsyncClient, topic: str
) -> None:
    many = [(f"x-{n}", "1") for n in range(10_000)]
    problem(await http.get(topic, headers=many), 431, "too_many_headers")
    headers = json.dumps({str(n): "" for n in range(10_000)})
    answer = await post(http, topic, batch(f'{{"data":1,"headers":{headers}}}'))
    assert (0, "too_many_items") in item_problems(answer)
    topics = "&".join(f"topic=t{n}" for n in range(5_000))
    answer = await http.get(f"/v1/stream?{topics}")
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] in ("too_many_items", "invalid_argument")


@pytest.mark.parametrize(
    "query",
    ["partition=1&partition=1", "offset=1&offset=2", "offset=%FF", "offset=%", "&".join(["a=1"] * 2000)],
)
async def test_a_query_that_can_be_read_in_two_ways_is_refused(
    http: httpx.AsyncClient, topic: str, query: str
) -> None:
    problem(await http.get(f"{topic}/events?{query}"), 422, "invalid_argument")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/json; charset=latin-1"])
async def test_small_bodies_must_say_that_they_are_json(
    http: httpx.AsyncClient, topic: str, content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    for method, path, body in (
        ("PUT", "", "{}"),
        ("PATCH", "", '{"description":"x"}'),
        ("POST", "/trim", '{"before":1}'),
    ):
        answer = await http.request(method, topic + path, content=body, headers=headers)
        problem(answer, 415, "unsupported_media_type")


async def test_small_bodies_have_a_small_limit(http: httpx.AsyncClient, topic: str) -> None:
    for method, path in (("PUT", ""), ("PATCH", ""), ("POST", "/trim")):
        body = b'{"description":"' + b"x" * 70_000 + b'"}'
        answer = await http.request(method, topic + path, content=body, headers=JSON)
        assert problem(answer, 413, "request_too_large")["limit"] == 65_536


@pytest.mark.parametrize("text", ["a\nb", "\x00", "\x7f", "x" * 1001])
async def test_a_description_is_one_line_of_text(http: httpx.AsyncClient, topic: str, text: str) -> None:
    refused = problem(await http.patch(topic, json={"description": text}), 422, "invalid_argument")
    assert refused["field"] == "description"


async def test_nothing_refused_here_is_logged_as_an_error(
    http: httpx.AsyncClient, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await post(http, topic, batch('{"data":"\\u0000"}'))
    await post(http, topic, b"{")
    await http.get(f"{topic}/events?offset=tank")
    await http.get("/v1/topics/nowhere")
    logged = capsys.readouterr()
    assert "error" not in (logged.out + logged.err).lower()


async def test_s86_crafted_ranges_and_forms_cost_nothing(
    shared_service: ThreadService, http: httpx.AsyncClient, topic: str
) -> None:
    ranges = "bytes=" + "0-0," * 5_000
    for path in ("/", "/static/page.js", f"{topic}/events"):
        answer = await http.get(path, headers={"Range": ranges})
        assert answer.status_code in (200, 404), path
    form = {"content-type": "multipart/form-data; boundary=" + "a" * 5_000}
    for method, path in (
        ("POST", f"{topic}/events"),
        ("PUT", topic),
        ("PATCH", topic),
        ("POST", f"{topic}/trim"),
    ):
        answer = await http.request(method, path, content=b"--a\r\n", headers=form)
        problem(answer, 415, "unsupported_media_type")


async def test_s86_chunks_with_bad_line_ends_are_refused(http: httpx.AsyncClient, topic: str) -> None:
    head = (
        f"POST {topic}/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "transfer-encoding: chunked\r\n\r\n"
    )
    for body in ("b\n" + '{"data":1}x' + "\r\n0\r\n\r\n", "zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}xx0\r\n\r\n"):
        reader, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port)
        writer.write(head.encode() + body.encode())
        answer = await asyncio.wait_for(reader.read(12), PATIENCE_SECONDS)
        writer.close()
        assert answer == b"HTTP/1.1 400", body
    assert await tip(http, topic) == 0
