"""The ring serves shared bytes, never skips, and never holds more than it may."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.sse import SseFrames
from app.live.ring import ENTRY_OVERHEAD_BYTES, Ring
from tests.support.nouns import topic

EPOCH = "5f0c1f1e2a3b"
UNLIMITED = 1 << 60


def ring_of(seen: Sequence[int], max_events: int = 1_000) -> Ring:
    return Ring(topic(7, partitions=len(seen)), EPOCH, seen, SseFrames(), max_events=max_events)


def filled(ring: Ring, partitions: Sequence[int]) -> Ring:
    """One event more in each of these partitions, in this order."""
    for partition in partitions:
        offset = ring.seen[partition] + 1
        ring.append(partition, offset, b"data: %d-%d\n\n" % (partition, offset))
    ring.evict(UNLIMITED)
    return ring


def test_frames_carry_the_position_after_them() -> None:
    ring = filled(ring_of([4, 0]), [0, 1])
    assert ring.chunk(0, [4, 0], UNLIMITED).data == (
        b"id: v1.5f0c1f1e2a3b.t:7:0:5\ndata: 0-5\n\nid: v1.5f0c1f1e2a3b.t:7:0:5:1:1\ndata: 1-1\n\n"
    )


def test_readers_at_the_same_place_share_bytes() -> None:
    ring = filled(ring_of([0]), [0, 0, 0])
    assert ring.chunk(0, [0], UNLIMITED).data is ring.chunk(0, [0], UNLIMITED).data


def test_one_event_is_handed_out_without_a_copy() -> None:
    ring = filled(ring_of([0]), [0])
    assert ring.chunk(0, [0], UNLIMITED).data is ring.entries(0, UNLIMITED)[0].frame


def test_a_chunk_ends_at_its_size_but_has_one_event_at_least() -> None:
    ring = filled(ring_of([0]), [0, 0, 0])
    one = len(ring.entries(0, UNLIMITED)[0].frame) + ENTRY_OVERHEAD_BYTES
    assert [ring.chunk(0, [0], size).index for size in (1, one, 2 * one - 1, 2 * one, UNLIMITED)] == [
        1,
        1,
        1,
        2,
        3,
    ]


def test_old_entries_go_when_there_are_too_many() -> None:
    ring = filled(ring_of([0], max_events=3), [0] * 5)
    assert (ring.start, ring.end) == (2, 5)
    assert ring.index_after([1]) is None
    assert ring.index_after([2]) == 2


def test_old_entries_go_when_they_are_too_large_and_the_newest_stays() -> None:
    ring = filled(ring_of([0]), [0] * 5)
    half = ring.size // 2
    ring.evict(half)
    assert 0 < ring.size <= half
    ring.evict(1)
    assert (ring.start, ring.end) == (4, 5)


def test_sizes_stay_right_after_evictions() -> None:
    ring = filled(ring_of([0], max_events=3), [0] * 50)
    assert ring.size == sum(len(e.frame) + ENTRY_OVERHEAD_BYTES for e in ring.entries(ring.start, UNLIMITED))


@given(
    st.lists(st.integers(0, 2), max_size=60),
    st.tuples(st.integers(0, 25), st.integers(0, 25), st.integers(0, 25)),
    st.integers(1, 60),
)
def test_whoever_finds_a_place_misses_nothing_from_there(
    partitions: list[int], seen: tuple[int, int, int], max_events: int
) -> None:
    ring = filled(ring_of([0, 0, 0], max_events), partitions)
    index = ring.index_after(seen)
    if index is None:
        held = (
            [(e.partition, e.offset) for e in ring.entries(ring.start, UNLIMITED)]
            if ring.end > ring.start
            else []
        )
        assert any(offset < ring.seen[p] and (p, offset + 1) not in held for p, offset in enumerate(seen)), (
            "the ring holds all that is needed"
        )
        return
    rest = ring.entries(index, UNLIMITED) if index < ring.end else []
    got = {(e.partition, e.offset) for e in rest if e.offset > seen[e.partition]}
    wanted = {(p, n) for p, offset in enumerate(seen) for n in range(offset + 1, ring.seen[p] + 1)}
    assert got == wanted


@pytest.mark.parametrize("partitions", [[0], [0, 1, 0, 1, 1], [1] * 10])
def test_positions_after_chunks_are_those_of_their_last_frames(partitions: list[int]) -> None:
    ring = filled(ring_of([0, 0]), partitions)
    index = 0
    seen: Sequence[int] = (0, 0)
    while index < ring.end:
        chunk = ring.chunk(index, seen, 1)
        assert chunk.index == index + 1
        index, seen = chunk.index, chunk.seen
    assert list(seen) == ring.seen
