"""Batches of plain events: their shape and size, and how what is wrong is reported."""

import base64
import json
from collections.abc import Sequence

import pytest

from app.api.drafts import MAX_PROBLEMS, Limits
from app.api.items import MAX_FIELDS
from app.api.refusals import MEANINGS, Refusal
from app.errors import EmptyBatch, GaplessError, InvalidArgument, InvalidEvents, InvalidJson, TooManyItems
from app.model import NewEvent
from tests.support.contents import batch, decode, item, problems

GOOD = item(key="k")


@pytest.mark.parametrize("text", ["1", '"a"', "null", "[]", "true", '[{"data":1}]'])
def test_an_item_that_is_no_object_is_refused(text: str) -> None:
    assert problems(batch(GOOD, text)) == [(1, "wrong_type", "")]


def test_every_problem_of_a_batch_is_listed_by_index() -> None:
    refused = problems(
        batch(
            item(key="a\n", type="", time="now", more=1),
            GOOD,
            '{"data":NaN}',
            r'{"data":["\u0000",1e999]}',
            '{"headers":{"a":1}}',
        )
    )
    assert refused == [
        (0, "control_character", "/key"),
        (0, "invalid_attribute", "/type"),
        (0, "invalid_time", "/time"),
        (0, "unknown_field", "/more"),
        (2, "invalid_json", "/data"),
        (3, "unstorable_character", "/data/0"),
        (3, "number_out_of_range", "/data/1"),
        (4, "wrong_type", "/headers/a"),
        (4, "missing_data", "/data"),
    ]


def test_one_item_cannot_fill_the_answer_with_problems() -> None:
    assert len(problems(batch(item(**{f"x{i}": 1 for i in range(50)})))) == MAX_PROBLEMS
    many = item(**{f"x{i}": 1 for i in range(MAX_FIELDS)})
    assert problems(batch(GOOD, many)) == [(1, "too_many_items", "")]
    long = item(**{"x" * 10_000: 1})
    with pytest.raises(InvalidEvents) as refused:
        decode(batch(long))
    assert len(json.dumps(refused.value.extra)) < 1_000


def test_bytes_of_data_and_headers_are_limited() -> None:
    limits = Limits(max_event_bytes=100, max_batch_events=10)
    fits = '{"data":"' + "a" * 98 + '"}'
    assert len(decode(batch(fits, fits), limits=limits)) == 2
    refused = [
        '{"data":"' + "a" * 99 + '"}',
        '{"data":"' + "é" * 50 + '"}',
        item(headers={"h": "v" * 100}),
        json.dumps({"data_base64": base64.b64encode(b"x" * 101).decode()}),
    ]
    assert problems(batch(*refused, fits), limits=limits) == [
        (i, "event_too_large", "/data") for i in range(4)
    ]


def test_a_two_megabyte_event_is_refused() -> None:
    assert problems(batch(GOOD, item(data="x" * 2_000_000))) == [(1, "event_too_large", "/data")]


def test_an_empty_batch_is_refused() -> None:
    for body in ('{"events":[]}', ' {"events" : [ ] } \n'):
        with pytest.raises(EmptyBatch):
            decode(body)


@pytest.mark.parametrize("element", ['{"data":1}', "1", "[]", '""', "{}"])
def test_s81_too_many_items_are_refused_before_they_are_looked_at(element: str) -> None:
    with pytest.raises(TooManyItems) as refused:
        decode(batch(*[element] * 100_000))
    assert refused.value.extra == {"limit": 10_000}
    assert "10000" in refused.value.detail


def test_a_full_batch_is_taken() -> None:
    assert len(decode(batch(*['{"data":1}'] * 10_000))) == 10_000
    with pytest.raises(TooManyItems):
        decode(batch(*['{"data":1}'] * 10_001))


SHAPES: list[tuple[str, type[GaplessError]]] = [
    ("", InvalidJson),
    ("{", InvalidJson),
    ("nonsense", InvalidJson),
    ('{"events":[{"data":1}]', InvalidJson),
    ('{"events":[{"data":1}}', InvalidJson),
    ('{"events":[{"data":1]}', InvalidJson),
    ('{"events":[{"data":1}]} x', InvalidJson),
    ('{"events":[{"data":1}],}', InvalidJson),
    ('{events:[{"data":1}]}', InvalidJson),
    ('\ufeff{"events":[{"data":1}]}', InvalidJson),
    ('{"events":nul}', InvalidJson),
    ("[]", InvalidArgument),
    ("1", InvalidArgument),
    ("{}", InvalidArgument),
    ('{"events":1}', InvalidArgument),
    ('{"events":null}', InvalidArgument),
    ('{"events":{"data":1}}', InvalidArgument),
    ('{"Events":[{"data":1}]}', InvalidArgument),
    ('{"events":[{"data":1}],"more":1}', InvalidArgument),
    ('{"more":1,"events":[{"data":1}]}', InvalidArgument),
    ('{"events":[{"data":1}],"events":[{"data":1}]}', InvalidArgument),
    ('{"events":' + "[" * 100_000, InvalidArgument),
]


@pytest.mark.parametrize(("body", "error"), SHAPES, ids=range(len(SHAPES)))
def test_a_body_that_is_no_batch_is_refused(body: str, error: type[GaplessError]) -> None:
    with pytest.raises(GaplessError) as refused:
        decode(body)
    assert type(refused.value) is error


@pytest.mark.parametrize("items", [(GOOD, ""), ("", GOOD), (GOOD, "", GOOD), ("", ""), ("[1,", "")])
def test_a_comma_without_an_item_is_no_json_and_no_fault_of_an_item(items: Sequence[str]) -> None:
    with pytest.raises(InvalidJson, match=r"^Not JSON at line 1, column \d+: "):
        decode(batch(*items))


def test_the_name_of_the_array_may_be_written_with_escapes() -> None:
    assert decode('{"\\u0065vents":[{"data":1}]}') == [NewEvent(data="1")]


def test_a_transaction_stays_together() -> None:
    ids = ["a", "a", None, "b", "b"]
    events = decode(batch(*(item(transaction_id=name) for name in ids)))
    assert [event.transaction_id for event in events] == ids


def test_a_transaction_torn_apart_is_refused_where_it_comes_back() -> None:
    ids = ["a", "b", "a", "a", None, "b", "a"]
    refused = problems(batch(*(item(transaction_id=name) for name in ids)))
    assert refused == [
        (2, "transaction_split", ""),
        (5, "transaction_split", ""),
        (6, "transaction_split", ""),
    ]


def test_the_requests_transaction_is_every_events() -> None:
    events = decode(batch(item(), item(transaction_id="x"), item()), transaction_id="x")
    assert [event.transaction_id for event in events] == ["x", "x", "x"]
    refused = problems(batch(item(), item(transaction_id="y"), item(key="\n")), transaction_id="x")
    assert refused == [(1, "transaction_conflict", ""), (2, "control_character", "/key")]


def test_every_code_of_a_refused_event_is_explained() -> None:
    assert set(MEANINGS) == set(Refusal)
