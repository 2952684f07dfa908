"""CloudEvents in binary mode: attributes from headers, decoded once; the body is the data."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.http import to_binary
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from app.model import NewEvent
from tests.support.contents import decode, problems

REQUIRED = {"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t"}


def event(body: bytes | str, content_type: str | None = "application/json", **headers: str) -> NewEvent:
    (found,) = decode(body, content_type, more={**REQUIRED, **headers})
    return found


def refused(body: bytes | str = b"1", content_type: str | None = "application/json", **headers: Any) -> Any:
    return problems(body, content_type, more={**REQUIRED, **headers})


def test_an_event_with_every_attribute() -> None:
    assert event(
        '{"n": 1.10}',
        ce_subject="u",
        ce_time="2026-11-27T11:00:00+01:00",
        ce_partitionkey="k",
        ce_transactionid="x",
        ce_dataschema="/schema",
        ce_ext="2",
        traceparent="not an attribute",
    ) == NewEvent(
        data='{"n": 1.10}',
        id="1",
        source="/s",
        type="t",
        subject="u",
        time=datetime(2026, 11, 27, 10, tzinfo=UTC),
        key="k",
        transaction_id="x",
        headers='{"dataschema":"/schema","ext":"2"}',
        datacontenttype="application/json",
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/vnd.api+json",
        "text/json",
    ],
)
def test_a_json_body_is_json_data_byte_for_byte(content_type: str) -> None:
    body = ' {"a":9007199254740993, "a":1.10,\n"b":"\\u2028é"}\n'
    found = event(body, content_type)
    assert (found.data, found.data_bytes, found.datacontenttype) == (body, None, content_type)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/xml",
        "application/octet-stream",
        "application/json; charset=utf-16",
        "application/jsonp",
        "application/x-ndjson",
        "not a media type",
    ],
)
def test_s71_any_other_body_is_bytes(content_type: str) -> None:
    body = bytes(range(256))
    assert event(body, content_type) == NewEvent(
        data_bytes=body, datacontenttype=content_type, id="1", source="/s", type="t"
    )


def test_a_body_without_content_type_is_bytes() -> None:
    assert event(b'{"a":1}', None).data_bytes == b'{"a":1}'
    assert event(b"", None).data_bytes == b""
    assert event(b"", "text/plain").data_bytes == b""


def test_s54_json_null_is_data_and_no_json_is_not() -> None:
    assert event("null").data == "null"
    assert refused(b"") == [(0, "missing_data", "/data")]


@pytest.mark.parametrize(
    ("body", "code", "pointer"),
    [
        (b"NaN", "invalid_json", "/data"),
        (b"{", "invalid_json", "/data"),
        (b"1 2", "invalid_json", "/data"),
        (b" ", "invalid_json", "/data"),
        (b"\xef\xbb\xbf1", "invalid_json", "/data"),
        (b'{"a":"\xff"}', "invalid_utf8", "/data/a"),
        (rb'{"a":["\u0000"]}', "unstorable_character", "/data/a/0"),
        (b"1e400", "number_out_of_range", "/data"),
        ('"a"'.encode("utf-16"), "invalid_utf8", "/data"),
    ],
)
def test_json_that_cannot_be_stored_is_refused(body: bytes, code: str, pointer: str) -> None:
    assert refused(body) == [(0, code, pointer)]


def test_s69_json_may_nest_128_levels() -> None:
    assert event("[" * 128 + "]" * 128).data is not None
    assert [found[:2] for found in refused("[" * 129 + "]" * 129)] == [(0, "too_deep")]
    assert [found[:2] for found in refused("[" * 100_000)] == [(0, "too_deep")]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("plain", "plain"),
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
        ("%e2%82%ac", "€"),
        ("%41bc", "Abc"),
        ("100%2541", "100%41"),
        ("a b", "a b"),
        ("a+b", "a+b"),
        ('"a b"', "a b"),
        (r'"say \"hi\" \\"', 'say "hi" \\'),
        ('"%41"', "A"),
    ],
)
def test_headers_are_unquoted_and_percent_decoded_once(header: str, text: str) -> None:
    assert event(b"1", ce_subject=header).subject == text


@pytest.mark.parametrize("header", ["%C0%A0", "%FF", "%ED%A0%80", "%E2%82", "a%80"])
def test_headers_that_decode_to_no_utf8_are_refused(header: str) -> None:
    assert refused(ce_subject=header) == [(0, "invalid_utf8", "/subject")]


@pytest.mark.parametrize("header", ["100%", "%4", "%zz", "é", 'a"b', '"a', '"a" b', r"\"", "a\x7f", "a\tb"])
def test_headers_that_are_not_properly_encoded_are_refused(header: str) -> None:
    assert refused(ce_subject=header.encode().decode("latin-1")) == [(0, "invalid_attribute", "/subject")]


def test_s80_control_characters_do_not_come_in_by_percent_encoding() -> None:
    assert refused(ce_type="a%0D%0Adata:%20x") == [(0, "control_character", "/type")]
    assert refused(ce_partitionkey="b%00") == [(0, "unstorable_character", "/partitionkey")]
    assert refused(ce_ext="%7F") == [(0, "control_character", "/ext")]


@pytest.mark.parametrize("name", ["ce_id", "ce_source", "ce_type"])
def test_a_binary_event_without_a_required_attribute_is_refused(name: str) -> None:
    headers = {given: value for given, value in REQUIRED.items() if given != name}
    assert problems(b"1", more=headers) == [(0, "invalid_attribute", f"/{name[3:]}")]
    assert refused(**{name: ""}) == [(0, "invalid_attribute", f"/{name[3:]}")]


def test_every_problem_of_the_event_is_listed() -> None:
    assert refused(b"NaN", ce_specversion="0.3", ce_time="now", ce_subject="%", **{"ce_bad.name": "x"}) == [
        (0, "invalid_attribute", "/subject"),
        (0, "invalid_attribute", "/specversion"),
        (0, "invalid_time", "/time"),
        (0, "invalid_attribute", "/bad.name"),
        (0, "invalid_json", "/data"),
    ]


def test_what_the_body_and_its_type_say_is_not_said_twice() -> None:
    assert refused(ce_datacontenttype="text/plain") == [(0, "invalid_attribute", "/datacontenttype")]
    assert refused(ce_data="1") == [(0, "invalid_attribute", "/data")]
    # Two spellings of one header name are one header given twice.
    assert refused(CE_ID="2") == [(0, "invalid_attribute", "/id")]


def test_the_body_of_a_binary_event_is_limited() -> None:
    assert refused(b"x" * (1024 * 1024 + 1), "text/plain") == [(0, "event_too_large", "/data")]
    assert event(b"x" * 1024 * 1024, "text/plain").data_bytes is not None


def test_the_requests_transaction_is_the_events() -> None:
    (found,) = decode(b"1", transaction_id="x", more=REQUIRED)
    assert found.transaction_id == "x"
    assert problems(b"1", transaction_id="x", more={**REQUIRED, "ce_transactionid": "y"}) == [
        (0, "transaction_conflict", "")
    ]


attribute_texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=100)


@given(subject=attribute_texts, extension=attribute_texts)
def test_what_the_official_sdk_writes_is_read(subject: str, extension: str) -> None:
    attributes = {
        "specversion": "1.0",
        "id": "1",
        "source": "/s",
        "type": "t",
        "subject": subject,
        "ext": extension,
        "time": datetime(2026, 11, 27, 10, tzinfo=UTC),
        "datacontenttype": "application/octet-stream",
    }
    message = to_binary(CloudEvent(attributes, b"\x00\xff"), JSONFormat())
    headers = {name.replace("-", "_"): value for name, value in message.headers.items()}
    content_type = headers.pop("content_type")
    found = event(message.body, content_type, **headers)
    assert found.subject == subject
    assert found.time == attributes["time"]
    assert found.data_bytes == b"\x00\xff"
    assert json.loads(found.headers or "") == {"ext": extension}
