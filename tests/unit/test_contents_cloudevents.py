"""CloudEvents in structured and batch mode, against examples written after the specification."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.http import to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from app.errors import EmptyBatch, InvalidArgument, InvalidJson, TooManyItems
from app.model import NewEvent
from tests.support.contents import CLOUDEVENT, CLOUDEVENT_BATCH, decode, problems

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def text(**attributes: Any) -> str:
    return json.dumps({**REQUIRED, "data": 1, **attributes})


def single(body: str | bytes) -> NewEvent:
    (event,) = decode(body, CLOUDEVENT)
    return event


def refused(**attributes: Any) -> list[tuple[int, str, str]]:
    return problems(text(**attributes), CLOUDEVENT)


def test_a_structured_event_with_an_xml_payload() -> None:
    event = single(
        """{
            "specversion" : "1.0",
            "type" : "com.example.someevent",
            "source" : "/mycontext",
            "subject": null,
            "id" : "C234-1234-1234",
            "time" : "2018-04-05T17:31:00Z",
            "comexampleextension1" : "value",
            "comexampleothervalue" : 5,
            "datacontenttype" : "application/xml",
            "data" : "<much wow=\\"xml\\"/>"
        }"""
    )
    assert event == NewEvent(
        id="C234-1234-1234",
        source="/mycontext",
        type="com.example.someevent",
        time=datetime(2018, 4, 5, 17, 31, tzinfo=UTC),
        datacontenttype="application/xml",
        headers='{"comexampleextension1":"value","comexampleothervalue":"5"}',
        data='"<much wow=\\"xml\\"/>"',
    )


def test_a_structured_event_with_a_binary_payload() -> None:
    event = single(
        """{
            "specversion": "1.0", "type": "com.example.someevent", "source": "/mycontext",
            "id": "D234-1234-1234", "dataschema": "http://schemas.example/x",
            "datacontenttype": "application/vnd.apache.thrift.binary", "data_base64": "AAECA//+/Q=="
        }"""
    )
    assert event.data is None
    assert event.data_bytes == bytes([0, 1, 2, 3, 255, 254, 253])
    assert event.headers == '{"dataschema":"http://schemas.example/x"}'


def test_data_is_the_json_value_byte_for_byte() -> None:
    data = '{ "b":1.10, "a": 12345678901234567890123,\n"a":"\\u2028" }'
    body = '{"specversion":"1.0","id":"1","source":"/s","type":"t","data": ' + data + " }"
    assert single(body).data == data
    assert decode(f"[{body},{body}]", CLOUDEVENT_BATCH)[1].data == data


def test_key_and_transaction_have_attributes_of_their_own() -> None:
    event = single(text(partitionkey="k", transactionid="x"))
    assert (event.key, event.transaction_id, event.headers) == ("k", "x", None)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("", ""),
        ("é", "é"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-2147483648, "-2147483648"),
        (2147483647, "2147483647"),
    ],
)
def test_extensions_become_headers_in_their_cloudevents_spelling(value: Any, header: str) -> None:
    assert json.loads(single(text(ext=value)).headers or "") == {"ext": header}


@pytest.mark.parametrize("value", [1.5, 2147483648, -2147483649, 1e3, [], {}, ["a"]])
def test_extensions_of_other_types_are_refused(value: Any) -> None:
    assert refused(ext=value) == [(0, "wrong_type", "/ext")]


def test_null_is_the_same_as_leaving_an_attribute_out() -> None:
    names = ("subject", "time", "datacontenttype", "dataschema", "partitionkey", "data_base64", "ext")
    assert single(text(**dict.fromkeys(names))) == NewEvent(id="1", source="/s", type="t", data="1")


def test_s54_null_is_data_and_no_data_is_refused() -> None:
    assert single(text(data=None)).data == "null"
    assert problems(json.dumps(REQUIRED), CLOUDEVENT) == [(0, "missing_data", "/data")]


@pytest.mark.parametrize("name", ["id", "source", "type", "specversion"])
def test_an_event_without_a_required_attribute_is_refused(name: str) -> None:
    assert refused(**{name: None}) == [(0, "invalid_attribute", f"/{name}")]
    assert refused(**{name: ""}) == [(0, "invalid_attribute", f"/{name}")]
    assert refused(**{name: 1}) == [(0, "wrong_type", f"/{name}")]


@pytest.mark.parametrize("version", ["0.3", "1", "1.1", "1.0 ", "2.0"])
def test_other_versions_of_cloudevents_are_refused(version: str) -> None:
    assert refused(specversion=version) == [(0, "invalid_attribute", "/specversion")]


@pytest.mark.parametrize("name", ["Ext", "my-ext", "my_ext", "é", "", "a b", "a.b", "transaction_id"])
def test_names_of_attributes_are_lower_case_letters_and_digits(name: str) -> None:
    assert refused(**{name: "x"}) == [(0, "invalid_attribute", f"/{name}")]


def test_names_of_attributes_may_be_longer_than_advised() -> None:
    assert single(text(**{"a" * 21: "x"})).headers is not None
    assert refused(**{"a" * 256: "x"}) == [(0, "too_long", "")]


@pytest.mark.parametrize("name", ["partitionkey", "transactionid", "subject", "datacontenttype"])
def test_attributes_that_are_texts_are_not_empty(name: str) -> None:
    assert refused(**{name: ""}) == [(0, "invalid_attribute", f"/{name}")]


@pytest.mark.parametrize("value", [1, True, []])
def test_attributes_that_are_texts_take_nothing_else(value: Any) -> None:
    for name in ("partitionkey", "transactionid", "subject", "datacontenttype", "time", "data_base64"):
        assert (0, "wrong_type", f"/{name}") in refused(**{name: value})


def test_s80_control_characters_are_refused() -> None:
    assert refused(type="a\r\nb") == [(0, "control_character", "/type")]
    assert refused(partitionkey="a\nb") == [(0, "control_character", "/partitionkey")]
    assert refused(ext="a\tb") == [(0, "control_character", "/ext")]
    assert refused(ext="a\0b") == [(0, "unstorable_character", "/ext")]


def test_s79_a_time_needs_a_zone() -> None:
    assert refused(time="2018-04-05T17:31:00") == [(0, "invalid_time", "/time")]


def test_data_and_data_base64_exclude_each_other() -> None:
    assert refused(data_base64="YQ==") == [(0, "invalid_attribute", "/data_base64")]
    assert problems(json.dumps({**REQUIRED, "data_base64": "YQ"}), CLOUDEVENT) == [
        (0, "invalid_base64", "/data_base64")
    ]


@pytest.mark.parametrize("body", ["", "{", "nul", '{"specversion":"1.0"', '{"a":1} x', "\ufeff{}"])
def test_one_event_that_is_no_json_is_reported_as_the_first_item(body: str) -> None:
    assert problems(body, CLOUDEVENT)[0][:2] == (0, "invalid_json")


@pytest.mark.parametrize("body", ["[]", "1", "null", '"a"'])
def test_one_event_must_be_an_object(body: str) -> None:
    assert problems(body, CLOUDEVENT) == [(0, "wrong_type", "")]


def test_white_space_around_an_event_is_nothing() -> None:
    assert single(f"\r\n {text()} \n") == single(text())
    assert decode(f" [ {text()} , {text()} ] \n", CLOUDEVENT_BATCH) == [single(text())] * 2


def test_a_batch_is_an_array_of_events() -> None:
    events = decode(f"[{text(id='a')},{text(id='b')}]", CLOUDEVENT_BATCH)
    assert [event.id for event in events] == ["a", "b"]


def test_every_problem_of_a_batch_is_listed_by_index() -> None:
    body = ",".join(
        [text(id=""), text(), text(ext=1.5, time="x"), text(subject="\n"), json.dumps({"data": 1})]
    )
    expected = [
        (0, "invalid_attribute", "/id"),
        (2, "wrong_type", "/ext"),
        (2, "invalid_time", "/time"),
        (3, "control_character", "/subject"),
        (4, "invalid_attribute", "/id"),
        (4, "invalid_attribute", "/source"),
        (4, "invalid_attribute", "/specversion"),
        (4, "invalid_attribute", "/type"),
    ]
    assert problems(f"[{body}]", CLOUDEVENT_BATCH) == expected
    with_flaws = problems(f'[{body},{{"data":"\\u0000"}},1,{{"data":NaN}}]', CLOUDEVENT_BATCH)
    assert with_flaws == [
        *expected,
        (5, "unstorable_character", "/data"),
        (6, "wrong_type", ""),
        (7, "invalid_json", "/data"),
    ]


def test_s69_a_batch_may_nest_128_levels_in_its_data() -> None:
    def nested(levels: int) -> str:
        return (
            '{"specversion":"1.0","id":"1","source":"/s","type":"t","data":'
            + "[" * levels
            + "]" * levels
            + "}"
        )

    assert len(decode(f"[{nested(128)}]", CLOUDEVENT_BATCH)) == 1
    assert single(nested(128)).data == "[" * 128 + "]" * 128
    for body, content_type in ((f"[{nested(129)}]", CLOUDEVENT_BATCH), (nested(100_000), CLOUDEVENT)):
        assert [found[:2] for found in problems(body, content_type)] == [(0, "too_deep")]


def test_a_batch_that_is_none_is_refused() -> None:
    with pytest.raises(EmptyBatch):
        decode("[]", CLOUDEVENT_BATCH)
    with pytest.raises(TooManyItems):
        decode("[" + ",".join([text()] * 10_001) + "]", CLOUDEVENT_BATCH)
    with pytest.raises(TooManyItems):
        decode("[" + "{}," * 1_000_000 + "{}]", CLOUDEVENT_BATCH)
    with pytest.raises(InvalidArgument):
        decode(text(), CLOUDEVENT_BATCH)
    with pytest.raises(InvalidJson):
        decode("[", CLOUDEVENT_BATCH)


def test_transactions_of_a_batch_stay_together() -> None:
    ids = ["a", "b", "a"]
    body = "[" + ",".join(text(transactionid=name) for name in ids) + "]"
    assert problems(body, CLOUDEVENT_BATCH) == [(2, "transaction_split", "")]
    assert problems(body, CLOUDEVENT_BATCH, transaction_id="a") == [(1, "transaction_conflict", "")]


@pytest.mark.parametrize("data", [{"a": [1, "é"]}, "text", None, [1], b"\x00\xff"])
def test_what_the_official_sdk_writes_is_read(data: Any) -> None:
    kind = "application/octet-stream" if isinstance(data, bytes) else "application/json"
    attributes = {
        **REQUIRED,
        "subject": "s",
        "time": datetime(2026, 11, 27, 10, tzinfo=UTC),
        "datacontenttype": kind,
        "partitionkey": "k",
        "ext": "é",
    }
    message = to_structured(CloudEvent(attributes, data), JSONFormat())
    if data is None:
        assert problems(message.body, CLOUDEVENT) == [(0, "missing_data", "/data")]
        return
    event = single(message.body)
    assert event.time == attributes["time"]
    assert (event.id, event.source, event.type, event.subject, event.key) == ("1", "/s", "t", "s", "k")
    assert event.headers == '{"ext":"é"}'
    assert event.data_bytes == data if isinstance(data, bytes) else json.loads(event.data or "") == data
