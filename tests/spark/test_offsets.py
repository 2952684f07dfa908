"""Ranges, their splits and what one trigger takes of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark.offsets import OffsetsChanged, Span, StreamOffset, admit, split

sizes = st.lists(st.integers(0, 1000), min_size=1, max_size=8)


def spans_of(counts: list[int]) -> list[Span]:
    return [Span("epoch", "then", partition, 7, 7 + count) for partition, count in enumerate(counts)]


@given(sizes, st.none() | st.integers(1, 40))
def test_splits_cover_every_range_once(counts: list[int], least: int | None) -> None:
    found = split(spans_of(counts), least)
    assert all(len(span) for span in found)
    offsets = [(span.partition, offset) for span in found for offset in range(span.first, span.until)]
    assert offsets == [(p, 7 + n) for p, count in enumerate(counts) for n in range(count)]


@given(sizes, st.integers(1, 40))
def test_there_are_as_many_splits_as_asked_for_if_there_are_as_many_events(
    counts: list[int], least: int
) -> None:
    found = split(spans_of(counts), least)
    assert len(found) >= min(least, sum(counts))
    if len(found) > sum(1 for count in counts if count):
        assert len(found) < least + len(counts)


@given(sizes, st.none() | st.integers(1, 3000))
def test_a_trigger_takes_what_it_may_and_never_more(counts: list[int], limit: int | None) -> None:
    start = {partition: 1 for partition in range(len(counts))}
    end = {partition: 1 + count for partition, count in enumerate(counts)}
    reached = admit(start, end, limit)
    assert all(start[p] <= reached[p] <= end[p] for p in start)
    taken = sum(reached.values()) - sum(start.values())
    assert taken == (sum(counts) if limit is None else min(limit, sum(counts)))
    if limit is not None and limit >= len(counts):
        assert all(reached[p] > 1 for p, count in enumerate(counts) if count)


def test_shares_follow_the_backlog() -> None:
    assert admit({0: 1, 1: 1}, {0: 901, 1: 101}, 100) == {0: 91, 1: 11}


def test_no_partition_starves_under_a_limit_smaller_than_their_number() -> None:
    position = {partition: 1 for partition in range(5)}
    for _ in range(5):
        position = admit(position, dict.fromkeys(position, 1000), 2)
    assert set(position.values()) == {3}


def test_a_position_behind_the_end_stays() -> None:
    assert admit({0: 10}, {0: 5}, None) == {0: 10}


def test_an_offset_survives_a_checkpoint_with_the_same_text() -> None:
    offset = StreamOffset("e", "then", {10: 3, 2: 7}, {10: 1, 2: 7})
    text = json.dumps(offset.members())
    assert json.dumps(StreamOffset.parse(json.loads(text)).members()) == text
    assert list(offset.members()["positions"]) == ["2", "10"]


def test_an_offset_of_another_source_is_refused() -> None:
    for found in ({}, {"positions": {"0": "x"}}, {"epoch": None, "created": "then", "positions": [1]}):
        with pytest.raises(OffsetsChanged, match="was not written by this source"):
            StreamOffset.parse(found)
