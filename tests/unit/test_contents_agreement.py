"""The quick ways through a request accept only what the careful one would, with the same result."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from app.api.cloudevents import fill_cloudevent
from app.api.drafts import Limits
from app.api.gate import MAX_DEPTH, storable
from app.api.items import array_items, read_items
from app.api.plain_events import decode_lines, fill_plain
from app.api.typed_events import from_array
from app.errors import GaplessError, InvalidEvents
from app.model import NewEvent
from tests.support import nasty_json
from tests.support.contents import CLOUDEVENT, CLOUDEVENT_BATCH, JSON, batch, decode

LIMITS = Limits(max_event_bytes=300, max_batch_events=5)
BINARY = {"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t"}
Outcome = list[NewEvent] | list[dict[str, Any]] | str

_NAMES = "data data data data_base64 key type id source subject time headers datacontenttype transaction_id"
_CLOUDEVENT_NAMES = "specversion partitionkey transactionid ext B-ad"
names = st.sampled_from([*_NAMES.split(), *_CLOUDEVENT_NAMES.split()])
good_texts = st.sampled_from(
    [
        "1.0",
        "a",
        "b",
        "é",
        "",
        "a\n",
        "\x7f",
        "\u2028",
        "k" * 260,
        "é" * 600,
        "YQ==",
        "YQ",
        "2026-11-27T10:00:00Z",
    ]
)
members = st.one_of(
    good_texts.map(json.dumps),
    good_texts.map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.dictionaries(good_texts, st.one_of(good_texts, st.none(), st.integers()), max_size=3).map(json.dumps),
    st.sampled_from(["null", "1", "true", "2147483648", "1.5", "NaN", "", '"\\ud800"', "[", '"a" "b"']),
    nasty_json.values.map(bytes.decode),
)
likely = st.fixed_dictionaries(
    {"specversion": st.just('"1.0"'), "id": st.just('"1"'), "source": st.just('"/s"'), "type": st.just('"t"')}
)


@st.composite
def _objects(draw: Any, first: st.SearchStrategy[dict[str, str]]) -> str:
    fields = [*draw(first).items(), ("data", draw(nasty_json.scalars).decode())]
    fields += draw(st.lists(st.tuples(names, members), max_size=3))
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


broken = st.sampled_from(["1", "[]", "null", "", "{}", '{"data":1', "}", '{"data":1}}', '"'])
plain_items = st.lists(st.one_of(_objects(st.just({})), _objects(st.just({})), broken), max_size=7)
cloud_items = st.lists(st.one_of(_objects(likely), _objects(likely), _objects(likely), broken), max_size=7)
options = st.sampled_from([None, None, None, "a"])


def outcome(call: Any, *arguments: Any) -> Outcome:
    try:
        events: list[NewEvent] = call(*arguments)
    except InvalidEvents as error:
        found: list[dict[str, Any]] = error.extra["errors"]
        return found
    except GaplessError as error:
        return error.code
    return events


def careful_plain(array: bytes, option: str | None) -> list[NewEvent]:
    return read_items(enumerate(array_items(array, LIMITS, array)), fill_plain, LIMITS, option)


def careful_cloudevents(array: bytes, option: str | None) -> list[NewEvent]:
    return read_items(enumerate(array_items(array, LIMITS, array)), fill_cloudevent, LIMITS, option)


def test_ordinary_events_go_the_quick_way() -> None:
    fields = {"type": "t", "id": "1", "source": "/s", "subject": "ü", "key": "ключ 😀", "transaction_id": "a"}
    times = {"time": "2026-11-27T10:00:00.5+01:00", "datacontenttype": "application/json"}
    texts = [
        json.dumps({**fields, **times, "headers": {"a": "é", "b": ""}, "data": {"a": [1, "é", None]}}),
        json.dumps({"key": None, "headers": {}, "data_base64": "AAE="}),
        '{"data":"2f0e9990a"}',
    ]
    quick = from_array(f"[{','.join(texts)}]".encode(), slice(None), LIMITS, None)
    assert quick is not None
    assert quick == decode(batch(*texts))


@given(texts=plain_items, option=options)
@example(texts=['{"data":1,"transaction_id":"a"}'] * 2, option="a")
@example(texts=['{"data":1,"headers":{"a":"b"},"time":"2026-11-27T10:00:00Z"}'], option=None)
def test_the_quick_way_for_plain_events_accepts_what_the_careful_one_does(
    texts: list[str], option: str | None
) -> None:
    array = ("[" + ",".join(texts) + "]").encode()
    careful = outcome(careful_plain, array, option)
    if storable(array, MAX_DEPTH + 2):
        quick = from_array(array, slice(None), LIMITS, option)
        assert quick is None or quick == careful or careful in ("empty_batch", "too_many_items")
    through = outcome(lambda: decode(batch(*texts), limits=LIMITS, transaction_id=option))
    # Of a body that is wrong as a whole, the first thing found is said.
    assert through == careful or (isinstance(through, str) and isinstance(careful, str))


@given(texts=cloud_items, option=options)
def test_the_quick_way_for_a_cloudevents_batch_decides_as_the_careful_one(
    texts: list[str], option: str | None
) -> None:
    array = ("[" + ",".join(texts) + "]").encode()
    careful = outcome(careful_cloudevents, array, option)
    quick = outcome(lambda: decode(array, CLOUDEVENT_BATCH, limits=LIMITS, transaction_id=option))
    assert quick == careful


@given(texts=plain_items.filter(len), option=options)
def test_lines_are_decided_as_items_of_a_batch(texts: list[str], option: str | None) -> None:
    lines = [text.replace("\n", " ").encode() for text in texts]
    numbers = list(range(10, 10 + len(lines)))
    careful = outcome(read_items, zip(numbers, lines, strict=True), fill_plain, LIMITS, option)
    assert outcome(decode_lines, lines, numbers, LIMITS, option) == careful


@given(texts=plain_items.filter(lambda texts: 0 < len(texts) <= 5))
def test_what_is_accepted_is_json_whose_data_is_the_bytes_sent(texts: list[str]) -> None:
    body = batch(*texts)
    found = outcome(lambda: decode(body, limits=LIMITS))
    if found and isinstance(found[0], NewEvent):
        items = json.loads(body, parse_float=str, parse_int=str)["events"]
        for event, sent in zip(found, items, strict=True):
            assert isinstance(event, NewEvent)
            assert (
                event.data is None or json.loads(event.data, parse_float=str, parse_int=str) == sent["data"]
            )
            assert event.data is None or event.data in body
            assert event.key == sent.get("key")


@given(
    body=st.one_of(
        st.binary(max_size=60),
        st.lists(
            st.sampled_from(
                [b'{"events":[', b'{"data":', b"1", b'"', b"\\", b"}", b"]", b",", b"[", b"\xff", b" "]
            ),
            max_size=14,
        ).map(b"".join),
        nasty_json.documents,
    ),
    content_type=st.sampled_from([JSON, CLOUDEVENT, CLOUDEVENT_BATCH, "text/plain"]),
    binary=st.booleans(),
)
def test_any_bytes_are_events_or_an_error_with_a_code(body: bytes, content_type: str, binary: bool) -> None:
    found = outcome(lambda: decode(body, content_type, more=BINARY if binary else {}))
    assert found


@given(st.binary(max_size=40))
def test_any_bytes_in_a_header_are_an_attribute_or_a_problem(value: bytes) -> None:
    more = {**BINARY, "ce_ext": value.decode("latin-1")}
    assert outcome(lambda: decode(b"1", None, more=more))
