"""The stream parser of `gapless tail` against a second one, split anywhere."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.cli.sse import Frame, FrameParser
from tests.support.sse import Parser

frames = st.lists(
    st.tuples(
        st.sampled_from(["", "gap", "end"]),
        st.lists(
            st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=8),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from([None, "", "1", "v1.abcdefgh.a:0:1"]),
        st.sampled_from(["\n", "\r\n", "\r"]),
    ),
    max_size=8,
)


def encoded(sent: list[tuple[str, list[str], str | None, str]]) -> bytes:
    text = ": hello\n\n"
    for event, data, last_id, end in sent:
        lines = [f"event: {event}"] if event else []
        lines += [f"id: {last_id}"] if last_id is not None else []
        lines += [f"data: {line}" for line in data]
        text += end.join([*lines, "", ""])
    return text.encode()


@given(sent=frames, cuts=st.lists(st.integers(0, 500)))
def test_frames_are_read_as_a_browser_reads_them_wherever_the_chunks_end(
    sent: list[tuple[str, list[str], str | None, str]], cuts: list[int]
) -> None:
    content = encoded(sent) + b":"
    bounds = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    parser = FrameParser()
    found: list[Frame] = []
    for low, high in itertools.pairwise(bounds):
        found += parser.feed(content[low:high])
    expected = Parser().feed(content)
    assert [(frame.event or "message", frame.data, frame.last_event_id) for frame in found] == [
        (message.event, message.data.encode(), message.last_id) for message in expected
    ]


def test_a_carriage_return_at_the_end_of_a_chunk_waits_for_its_line_feed() -> None:
    parser = FrameParser()
    assert list(parser.feed(b"data: a\r")) == []
    assert list(parser.feed(b"\n\r")) == []
    assert list(parser.feed(b"\ndata")) == [Frame("", b"a", "")]


def test_a_frame_that_only_moves_the_id_is_told() -> None:
    parser = FrameParser("7")
    assert list(parser.feed(b"id: 8\n\nid: 8\n\n")) == [Frame("", None, "8")]


def test_ids_with_nul_and_retries_that_are_no_number_are_ignored() -> None:
    parser = FrameParser("7")
    assert list(parser.feed(b"id: a\0b\nretry: soon\ndata: x\n\n")) == [Frame("", b"x", "7")]
    assert parser.retry_seconds is None
    list(parser.feed(b"retry: 1500\n"))
    assert parser.retry_seconds == 1.5
