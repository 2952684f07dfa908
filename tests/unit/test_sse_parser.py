"""The tests' EventSource reads as a browser does and complains where a browser would be silent."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sse import Message, Parser, SseError

STREAM = (
    "\ufeffretry: 1500\n\n: ping\n\nid: v1.a:0:1\ndata: {\ndata: }\n\r"
    "data\r\r\nevent: end\r\nid\r\ndata:  ü\r\n\r\n"
).encode()
MESSAGES = [
    Message("message", "{\n}", "v1.a:0:1", "v1.a:0:1"),
    Message("message", "", None, "v1.a:0:1"),
    Message("end", " ü", "", ""),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_a_stream_may_be_split_anywhere(cuts: list[int]) -> None:
    parser = Parser()
    edges = [0, *sorted(cuts), len(STREAM)]
    found = [message for start, end in pairwise(edges) for message in parser.feed(STREAM[start:end])]
    assert found == MESSAGES
    assert parser.retry == 1500
    assert parser.comments == ["ping"]
    assert not parser.unfinished


@pytest.mark.parametrize(
    "frame",
    [
        b"dta: 1\n\n",
        b"event: end\n\n",
        b"id: 1\n\n",
        b"event: start\ndata: {}\n\n",
        b"id: a\0b\ndata: 1\n\n",
        b"id: 1\nid: 2\ndata: 1\n\n",
        b"retry: soon\n\n",
        b"data: \xff\n\n",
    ],
)
def test_what_a_browser_would_drop_is_an_error(frame: bytes) -> None:
    with pytest.raises(SseError):
        Parser().feed(frame)


def test_where_a_stream_starts_moves_the_position_once() -> None:
    parser = Parser()
    start = b"id: 2\nevent: start\ndata: {}\n\n"
    assert parser.feed(b"id: 1\ndata: {}\n\n" + start) == [Message("message", "{}", "1", "1")]
    assert (parser.begun, parser.last_id) == (True, "2")
    with pytest.raises(SseError):
        parser.feed(start)


@pytest.mark.parametrize("rest", [b"data: 1", b"data: 1\n", b"data: 1\n\nid: 2\n"])
def test_an_unfinished_frame_is_noticed(rest: bytes) -> None:
    parser = Parser()
    parser.feed(rest)
    assert parser.unfinished
