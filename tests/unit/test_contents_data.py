"""The data of plain events: kept byte for byte, or refused with its place."""

import base64
import json

import pytest

from app.model import NewEvent
from tests.support.contents import batch, decode, item, problems

GOOD = item(key="k")


def only(text: str) -> NewEvent:
    (event,) = decode(batch(text))
    return event


@pytest.mark.parametrize("data", ["null", '""', "[]", "0", "false", "{}"])
def test_s54_null_and_other_small_values_are_data(data: str) -> None:
    assert only(f'{{"data":{data}}}').data == data


@pytest.mark.parametrize("text", ["{}", '{"key":"k"}', '{"data_base64":null}'])
def test_s54_missing_data_is_refused(text: str) -> None:
    assert problems(batch(GOOD, text)) == [(1, "missing_data", "/data")]


def test_s54_a_header_cannot_be_null() -> None:
    assert problems(batch(item(headers={"a": None}))) == [(0, "wrong_type", "/headers/a")]


@pytest.mark.parametrize(
    "data",
    [
        '{"a":9007199254740993,"b":12345678901234567890123,"c":1.10,"d":-0}',
        '{"b": 1,\t"a" : [ 2 ],\n "a":3}',
        '"\\u2028\u2028\\ud83d\\ude00😀\\/\\u0041"',
        "1E+2",
        "[1.0,1.50e-7]",
    ],
)
def test_s68_data_keeps_its_bytes(data: str) -> None:
    assert only(f'{{ "data" : {data} }}').data == data
    assert only(f'{{"key":"\u2028","data":{data}}}').data == data


NUL_PLACES = [
    (r'{"data":{"name":"a\u0000b"}}', "/data/name"),
    (r'{"data":[{"a\u0000":1}]}', "/data/0"),
    (r'{"data":1,"headers":{"h":"\u0000"}}', "/headers/h"),
    (r'{"data":1,"headers":{"\u0000":"h"}}', "/headers"),
    (r'{"data":1,"key":"\u0000"}', "/key"),
    (r'{"data":1,"type":"\ud800"}', "/type"),
    (r'{"data":"\ud800"}', "/data"),
]


@pytest.mark.parametrize(("text", "pointer"), NUL_PLACES)
def test_s65_a_nul_in_the_second_of_three_is_named_and_nothing_is_taken(text: str, pointer: str) -> None:
    assert problems(batch(GOOD, text, GOOD)) == [(1, "unstorable_character", pointer)]


def test_s65_the_text_that_only_looks_like_a_nul_is_kept() -> None:
    assert only(r'{"data":"\\u0000","key":"\\u0000"}') == NewEvent(data=r'"\\u0000"', key=r"\u0000")


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "01", ".5", "1.", "'a'", "{a:1}", "[1,]", ""]
)
def test_s66_what_is_almost_json_is_refused_where_it_is(text: str) -> None:
    refused = problems(batch(GOOD, f'{{"data":{text}}}', GOOD))
    assert [(index, code) for index, code, _ in refused] == [(1, "invalid_json")]
    nested = problems(batch(GOOD, f'{{"data":{{"a":[{text or ","}]}}}}', GOOD))
    assert [(index, code) for index, code, _ in nested] == [(1, "invalid_json")]


def test_s66_s67_numbers_out_of_range_are_refused_where_they_are() -> None:
    texts = [f'{{"data":[{{"n":{number}}}]}}' for number in ("1e400", "1e131072", "1e-16384", "9" * 200_000)]
    assert problems(batch(*texts)) == [(i, "number_out_of_range", "/data/0/n") for i in range(4)]


def test_s69_data_may_nest_128_levels_whatever_is_around_it() -> None:
    assert only('{"data":' + "[" * 128 + "]" * 128 + "}").data == "[" * 128 + "]" * 128
    refused = problems(batch(GOOD, '{"data":' + "[" * 129 + "]" * 129 + "}"))
    assert [(index, code) for index, code, _ in refused] == [(1, "too_deep")]


def test_s69_every_deep_item_is_listed_and_the_others_are_looked_at() -> None:
    deep = '{"data":' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}"
    refused = problems(batch(deep, GOOD, deep, '{"data":NaN}'))
    assert [(index, code) for index, code, _ in refused] == [
        (0, "too_deep"),
        (2, "too_deep"),
        (3, "invalid_json"),
    ]


def test_s71_every_byte_value_comes_through_base64() -> None:
    content = bytes(range(256)) * 3
    text = base64.b64encode(content).decode()
    assert only(json.dumps({"data_base64": text})) == NewEvent(data_bytes=content)
    assert only('{"data_base64":""}') == NewEvent(data_bytes=b"")


@pytest.mark.parametrize(
    "text",
    [
        "not base64!",
        "YQ",
        "YQ=",
        "YQ===",
        "YR==",
        "Y Q==",
        "YQ==\n",
        "YQ==YQ==",
        "=YQ=",
        "-_==",
        "YWJj=",
        "é",
        "=",
    ],
)
def test_s71_what_is_not_exactly_base64_is_refused(text: str) -> None:
    assert problems(batch(GOOD, json.dumps({"data_base64": text}))) == [(1, "invalid_base64", "/data_base64")]


def test_data_and_data_base64_exclude_each_other() -> None:
    assert problems(batch(item(data_base64="YQ=="))) == [(0, "invalid_attribute", "/data_base64")]


def test_s80_line_ends_in_data_are_data() -> None:
    data = '"a\\r\\n\\r\\u2028\u2028"'
    assert only(f'{{"data":{data}}}').data == data
    assert only('{"data":[\r\n1,\r2]}').data == "[\r\n1,\r2]"


def test_broken_utf8_is_named_by_index_and_place() -> None:
    body = batch(GOOD, '{"data":["a","?"]}', GOOD, '{"data":1,"key":"?"}').encode().replace(b"?", b"\xff")
    assert problems(body) == [(1, "invalid_utf8", "/data/1"), (3, "invalid_utf8", "/key")]


def test_of_a_field_given_twice_the_last_counts_and_data_keeps_its_own() -> None:
    event = only('{"key":"a","data":{"a":1,"a":2},"key":"b"}')
    assert event == NewEvent(key="b", data='{"a":1,"a":2}')
