"""Which content a request has by its headers."""

import pytest

from app.api.media_types import ACCEPTED, Content, content_of, is_json, weight_of
from app.errors import UnsupportedMediaType
from tests.support.contents import headers


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("application/json", Content.EVENTS),
        ("Application/JSON", Content.EVENTS),
        ("application/json; charset=utf-8", Content.EVENTS),
        ('application/json;charset="UTF-8";x=y', Content.EVENTS),
        (" application/json ;charset=utf-8 ; ", Content.EVENTS),
        ("application/cloudevents+json", Content.CLOUDEVENT),
        ("application/cloudevents+json; charset=UTF-8", Content.CLOUDEVENT),
        ("application/cloudevents-batch+json", Content.CLOUDEVENT_BATCH),
        ("application/x-ndjson", Content.NDJSON),
    ],
)
def test_content_is_known_by_its_type(content_type: str, content: Content) -> None:
    assert content_of(headers(content_type)) is content


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "application/x-ndjson", "junk", None]
)
def test_binary_mode_is_known_by_its_header_whatever_the_type(content_type: str | None) -> None:
    assert content_of(headers(content_type, ce_specversion="1.0")) is Content.CLOUDEVENT_BINARY
    assert content_of([*headers(content_type), (b"ce-specversion", b"0.3")]) is Content.CLOUDEVENT_BINARY


def test_a_cloudevents_type_wins_over_the_headers_of_binary_mode() -> None:
    assert content_of(headers("application/cloudevents+json", ce_specversion="1.0")) is Content.CLOUDEVENT
    batch = headers("application/cloudevents-batch+json", ce_specversion="1.0")
    assert content_of(batch) is Content.CLOUDEVENT_BATCH
    with pytest.raises(UnsupportedMediaType):
        content_of(headers("application/cloudevents+xml", ce_specversion="1.0"))


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/jsonp",
        "application/json; charset=utf-16",
        "application/json; charset=latin-1",
        'application/json; charset="utf-16"',
        "application/json; charset=utf-8, text/plain",
        "application/json charset=utf-8",
        "application/json; charset",
        'application/json; charset="utf-8',
        "application/cloudevents",
        "application/cloudevents+avro",
        "application/cloudevents-batch",
        "application/cloudevents+json; charset=utf-16",
        "application/x-ndjson; charset=utf-16",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "*/*",
        "json",
    ],
)
def test_s71_other_types_and_charsets_are_refused(content_type: str | None) -> None:
    with pytest.raises(UnsupportedMediaType) as refused:
        content_of(headers(content_type))
    assert refused.value.extra == {"accepted": ACCEPTED}


def test_two_content_types_are_none() -> None:
    with pytest.raises(UnsupportedMediaType):
        content_of([*headers("application/json"), *headers("application/json")])


def test_compressed_requests_are_refused() -> None:
    with pytest.raises(UnsupportedMediaType):
        content_of(headers("application/json", content_encoding="gzip"))
    for coding in ("identity", "identity ", "Identity,identity", "identity,", ""):
        assert content_of(headers("application/json", content_encoding=coding)) is Content.EVENTS


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", True),
        ("text/json", True),
        ("application/problem+json; charset=utf-8", True),
        ("application/json; charset=utf-16", False),
        ("application/json-seq", False),
        ("text/plain", False),
        ("json", False),
    ],
)
def test_json_is_known_by_its_subtype_or_suffix(content_type: str, expected: bool) -> None:
    assert is_json(content_type) is expected


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"gzip", b"deflate,chunked"])
def test_a_body_coded_on_its_way_is_refused_and_one_in_chunks_is_not(coding: bytes) -> None:
    for content_type in ("application/json", "application/octet-stream"):
        with pytest.raises(UnsupportedMediaType, match="Compressed"):
            content_of([*headers(content_type, ce_specversion="1.0"), (b"transfer-encoding", coding)])
    assert content_of([*headers("application/json"), (b"transfer-encoding", b"Chunked")]) is Content.EVENTS


@pytest.mark.parametrize(
    ("accept", "weight"),
    [
        ("", 0),
        ("*/*", 0),
        ("application/*", 0),
        ("application/x-ndjson", 1),
        ("Application/X-NDJSON", 1),
        ("application/x-ndjson;q=0", 0),
        ("application/x-ndjson; q=0.000", 0),
        ("application/x-ndjson ;Q=0.25", 0.25),
        ("text/html, application/x-ndjson;v=1;q=0.5;x=y", 0.5),
        ("application/x-ndjson;q=0.1,application/x-ndjson;q=0.7", 0.7),
        ("application/x-ndjsons", 0),
        ("application/x-ndjson;q=nan", 0),
        ("application/x-ndjson;q=2", 0),
        ("application/x-ndjson;q=-1", 0),
        ("application/x-ndjson;q", 0),
        (",,;,", 0),
    ],
)
def test_a_type_weighs_what_accept_says_of_its_name(accept: str, weight: float) -> None:
    assert weight_of("application/x-ndjson", [accept]) == weight
    assert weight_of("application/x-ndjson", ["text/plain", accept]) == weight
