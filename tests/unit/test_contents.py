"""Plain events: what each of their attributes may be."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from app.model import NewEvent
from tests.support.contents import batch, decode, item, problems

GOOD = item(key="k")


def only(text: str) -> NewEvent:
    (event,) = decode(batch(text))
    return event


def test_an_event_with_every_field() -> None:
    event = only(
        '{"key":"k","type":"t","id":"i","source":"/s","subject":"u","time":"2026-11-27T11:00:00+01:00",'
        '"headers":{"b":"2","a":"é"},"datacontenttype":"application/json","transaction_id":"x",'
        '"data":{"n": 1.10}}'
    )
    assert event == NewEvent(
        data='{"n": 1.10}',
        key="k",
        type="t",
        id="i",
        source="/s",
        subject="u",
        time=datetime(2026, 11, 27, 10, tzinfo=UTC),
        headers='{"b":"2","a":"é"}',
        datacontenttype="application/json",
        transaction_id="x",
    )


def test_null_is_the_same_as_leaving_a_field_out_but_for_data() -> None:
    names = ("key", "type", "id", "source", "subject", "time", "headers", "datacontenttype", "transaction_id")
    event = only(item(**dict.fromkeys(names), data_base64=None))
    assert event == NewEvent(data="1")


@pytest.mark.parametrize(
    "name", ["type", "key", "id", "source", "subject", "datacontenttype", "transaction_id"]
)
@pytest.mark.parametrize(
    "text", ["a\r\ndata: x\r\n\r\n", "a\nb", "\x01", "a\x7f", "a\x85b", "\ufffe", "😀\U0001ffff"]
)
def test_s80_control_characters_in_attributes_are_refused(name: str, text: str) -> None:
    assert problems(batch(GOOD, item(**{name: text}))) == [(1, "control_character", f"/{name}")]


def test_s80_control_characters_in_headers_are_refused() -> None:
    bad = [item(headers={"a": "x\r\ny"}), item(headers={"a\n": "x"}), item(headers={"a": "x\0"})]
    assert problems(batch(*bad)) == [
        (0, "control_character", "/headers/a"),
        (1, "control_character", "/headers"),
        (2, "unstorable_character", "/headers/a"),
    ]


@pytest.mark.parametrize("text", ["é", "a b", "😀" * 40, "👩‍👩‍👧", "\u2028", "\u00a0", "a" * 1024, "é" * 512])
def test_keys_are_any_other_text(text: str) -> None:
    assert only(item(key=text)).key == text


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        *((name, 1024) for name in ("key", "id", "source", "subject", "type")),
        *((name, 255) for name in ("datacontenttype", "transaction_id")),
    ],
)
def test_attributes_are_measured_in_bytes(name: str, longest: int) -> None:
    assert getattr(only(item(**{name: "a" * longest})), name) == "a" * longest
    assert getattr(only(item(**{name: "é" * (longest // 2)})), name) == "é" * (longest // 2)
    assert problems(batch(item(**{name: "a" * (longest + 1)}))) == [(0, "too_long", f"/{name}")]
    assert problems(batch(item(**{name: "é" * (longest // 2 + 1)}))) == [(0, "too_long", f"/{name}")]


def test_headers_are_measured_and_counted() -> None:
    assert only(item(headers={"n" * 255: "v" * 8192})).headers is not None
    assert only(item(headers={f"h{i}": "" for i in range(100)})).headers is not None
    assert only(item(headers={})).headers is None
    refused = [
        item(headers={"n" * 256: "v"}),
        item(headers={"n": "v" * 8193}),
        item(headers={"": "v"}),
        item(headers={f"h{i}": "" for i in range(101)}),
    ]
    assert problems(batch(*refused)) == [
        (0, "too_long", "/headers"),
        (1, "too_long", "/headers/n"),
        (2, "invalid_attribute", "/headers"),
        (3, "too_many_items", "/headers"),
    ]


@pytest.mark.parametrize(
    "name", ["key", "type", "id", "source", "subject", "datacontenttype", "transaction_id"]
)
def test_an_empty_attribute_is_refused_rather_than_taken_for_none(name: str) -> None:
    assert problems(batch(item(**{name: ""}))) == [(0, "invalid_attribute", f"/{name}")]


@pytest.mark.parametrize(
    "name", ["key", "type", "id", "source", "subject", "time", "transaction_id", "data_base64"]
)
@pytest.mark.parametrize("value", [1, 1.5, True, [], {}])
def test_s15_an_attribute_of_another_type_is_refused(name: str, value: Any) -> None:
    text = json.dumps({"data_base64": value} if name == "data_base64" else {"data": 1, name: value})
    refused = problems(batch(GOOD, text))
    assert (1, "wrong_type", f"/{name}") in refused


@pytest.mark.parametrize("headers", [1, "a", [], [["a", "b"]], True])
def test_headers_that_are_no_object_are_refused(headers: Any) -> None:
    assert problems(batch(item(headers=headers))) == [(0, "wrong_type", "/headers")]


@pytest.mark.parametrize("value", [1, 1.5, True, None, [], {}])
def test_a_header_that_is_no_string_is_refused(value: Any) -> None:
    assert problems(batch(item(headers={"a": "b", "c": value}))) == [(0, "wrong_type", "/headers/c")]


@pytest.mark.parametrize(
    "name", ["Data", "partition", "offset", "topic", "published_at", "x/y~z", "", "specversion"]
)
def test_an_unknown_field_is_refused(name: str) -> None:
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    assert problems(batch(item(**{name: 1}))) == [(0, "unknown_field", pointer)]


@pytest.mark.parametrize(
    "text", ["2026-11-01T01:30:00", "2026-02-30T00:00:00Z", "infinity", "", "10000-01-01T00:00:00Z"]
)
def test_s79_a_time_that_means_no_instant_is_refused(text: str) -> None:
    assert problems(batch(item(time=text))) == [(0, "invalid_time", "/time")]


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_s79_a_time_beyond_the_calendar_in_utc_is_refused(text: str) -> None:
    assert problems(batch(item(time=text))) == [(0, "invalid_time", "/time")]
