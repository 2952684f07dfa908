"""Event ids carry a whole position and nothing that a stream cannot have sent."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.params import MAX_QUERY_BYTES
from app.errors import BadEventId
from app.live.position import (
    MAX_ID_BYTES,
    Resume,
    TopicMark,
    event_id,
    longest_id_bytes,
    parse_event_id,
)
from app.model import Topic, TopicId
from tests.support.nouns import topic

EPOCH = "5f0c1f1e2a3b"

names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,199}", fullmatch=True)
numbers = st.integers(1, 2**31 - 1)
vectors = st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=8)


@given(st.dictionaries(names, st.tuples(numbers, vectors), min_size=1, max_size=5))
def test_an_id_reads_back_as_the_position_it_was_made_of(positions: dict[str, tuple[int, list[int]]]) -> None:
    marks = [TopicMark(topic, TopicId(number), seen) for topic, (number, seen) in positions.items()]
    resume = parse_event_id(event_id(EPOCH, marks).decode())
    assert isinstance(resume, Resume)
    assert resume.epoch == EPOCH
    found = {
        topic: (position.topic_id, [position.offsets.get(p, 0) for p in range(len(positions[topic][1]))])
        for topic, position in resume.topics.items()
    }
    assert found == positions


@given(st.dictionaries(names, st.tuples(numbers, st.integers(1, 256)), min_size=1, max_size=8))
def test_no_id_grows_longer_than_foretold(topics: dict[str, tuple[int, int]]) -> None:
    followed = [topic(number, name, partitions) for name, (number, partitions) in topics.items()]
    marks = [TopicMark(t.name, t.topic_id, [2**63 - 1] * t.partitions) for t in followed]
    assert len(event_id("abcdefgh01234567", marks)) <= longest_id_bytes(followed)


def test_the_longest_id_that_is_accepted_fits_into_a_query_with_its_topics() -> None:
    for length in (1, 50, 200):
        topics: list[Topic] = []
        while longest_id_bytes(topics) <= MAX_ID_BYTES:
            topics.append(topic(2**31 - 1, f"{len(topics):0{length}}"[:length]))
        marks = [TopicMark(t.name, t.topic_id, [2**63 - 1]) for t in topics[:-1]]
        query = [("topic", topic.name) for topic in topics[:-1]]
        text = urlencode([*query, ("last_event_id", event_id(EPOCH, marks).decode())])
        assert len(text) + len("&from=2026-11-27T23%3A20%3A00.123456789%2B00%3A00") <= MAX_QUERY_BYTES


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 1000)), max_size=20))
def test_a_mark_moved_step_by_step_equals_one_made_anew(moves: list[tuple[int, int]]) -> None:
    seen = [0, 0, 7, 0]
    mark = TopicMark("orders", TopicId(3), seen)
    for partition, offset in moves:
        seen[partition] = offset
        mark.move(partition, offset)
        assert mark.text == TopicMark("orders", TopicId(3), seen).text


def test_partitions_at_zero_are_left_out_but_the_topic_is_named() -> None:
    marks = [TopicMark("orders", TopicId(3), [0, 12, 7]), TopicMark("empty", TopicId(10), [0, 0])]
    assert event_id(EPOCH, marks) == b"v1.5f0c1f1e2a3b.orders:3:1:12:2:7,empty:10"


def test_earliest_and_bare_offsets_are_understood() -> None:
    assert parse_event_id("earliest") is None
    assert parse_event_id("0") == 0
    assert parse_event_id("17") == 17
    assert parse_event_id("99999999999999999999") == 99_999_999_999_999_999_999


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "abc",
        "1e3",
        "0x10",
        "5, 6",
        "007",
        "+5",
        " 5",
        "5\n",
        "\u0663",
        "9" * 31,
        "latest",
        "Earliest",
        "v1",
        "v1.",
        f"v1.{EPOCH}",
        f"v1.{EPOCH}.",
        f"v1.{EPOCH}.a",
        f"v1.{EPOCH}.a:",
        f"v1.{EPOCH}.a:0",
        f"v1.{EPOCH}.a:01",
        f"v1.{EPOCH}.a:{'9' * 11}",
        f"v1.{EPOCH}.a:0:1",
        f"v1.{EPOCH}.a:1:0",
        f"v1.{EPOCH}.a:1:0:",
        f"v1.{EPOCH}.a:1:0:0",
        f"v1.{EPOCH}.a:1:0:1,",
        f"v1.{EPOCH}.a:1:0:1:",
        f"v1.{EPOCH}.a:1:0:1:1",
        f"v1.{EPOCH}.a:1::0:1",
        f"v1.{EPOCH}.a:1:0:1,,b:2:0:1",
        f"v1.{EPOCH}.a:1:0:1 ",
        f"v1.{EPOCH}.a:1:0:1\n",
        f"v1.{EPOCH}.a:1:0:-1",
        f"v1.{EPOCH}.a:1:0:01",
        f"v1.{EPOCH}.a:1:0:1e3",
        f"v1.{EPOCH}.a:1:00:1",
        f"v1.{EPOCH}.a:1:1000:1",
        f"v1.{EPOCH}.a:1:0:{'9' * 31}",
        f"v1.{EPOCH}.A:1:0:1",
        f"v1.{EPOCH}._a:1:0:1",
        f"v1.{EPOCH}.a:1:0:1:0:1",
        f"v1.{EPOCH}.a:1:0:1:0:2",
        f"v1.{EPOCH}.a:1:0:1,a:1:1:1",
        f"v1.{EPOCH}.a:1:0:1,a:2:1:1",
        f"v2.{EPOCH}.a:1:0:1",
        "v1.SHOUTING.a:1:0:1",
        "v1.short.a:1:0:1",
        f"v1.{EPOCH}." + ",".join(f"topic-{n}:1:0:1" for n in range(10_000)),
    ],
)
def test_what_no_stream_has_sent_is_refused(text: str) -> None:
    with pytest.raises(BadEventId):
        parse_event_id(text)
