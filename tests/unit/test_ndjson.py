"""A stream of lines becomes chunks that depend on the lines alone and never tear a transaction."""

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.drafts import Limits
from app.api.ndjson import Chunk, ChunkSize, NdjsonChunks
from app.api.plain_events import decode_lines
from app.model import NewEvent
from tests.support.contents import item

LIMITS = Limits(max_event_bytes=1000, max_batch_events=20)
SIZE = ChunkSize(events=4, bytes=100_000, most_bytes=400_000)


def chunks(
    text: bytes | str, limits: Limits = LIMITS, size: ChunkSize = SIZE, transaction_id: str | None = None
) -> list[Chunk]:
    return list(cut([text.encode() if isinstance(text, str) else text], limits, size, transaction_id))


def cut(
    pieces: list[bytes], limits: Limits = LIMITS, size: ChunkSize = SIZE, transaction_id: str | None = None
) -> Iterator[Chunk]:
    stream = NdjsonChunks(limits, size, transaction_id)
    for piece in pieces:
        yield from stream.feed(piece)
    yield from stream.finish()


def lines(*texts: str) -> str:
    return "".join(text + "\n" for text in texts)


def of(transaction_id: str | None) -> str:
    return item(transaction_id=transaction_id)


def spans(found: list[Chunk]) -> list[tuple[int, int]]:
    return [(chunk.first, chunk.last) for chunk in found]


def refusals(chunk: Chunk) -> list[tuple[int, str]]:
    assert bool(chunk.problems) != bool(chunk.events)
    return [(found["index"], found["code"]) for found in chunk.problems]


def test_lines_come_in_chunks_and_count_from_one() -> None:
    found = chunks(lines(*[item(key=str(n)) for n in range(1, 11)]))
    assert spans(found) == [(1, 4), (5, 8), (9, 10)]
    keys = [event.key for chunk in found for event in chunk.events]
    assert keys == [str(n) for n in range(1, 11)]


def test_a_chunk_is_also_full_by_its_bytes() -> None:
    size = ChunkSize(events=100, bytes=60, most_bytes=1000)
    line = item(key="k" * 10)
    assert len(line) == 32
    assert spans(chunks(lines(*[line] * 5), size=size)) == [(1, 2), (3, 4), (5, 5)]


def test_blank_lines_count_and_are_nothing_else() -> None:
    found = chunks(f"\n\r\n{item()}\r\n  \n\t{item()}\n\n{item()}")
    assert spans(found) == [(3, 7)]
    assert len(found[0].events) == 3
    assert chunks("\n\n \r\n") == []
    assert chunks("") == []


def test_the_last_line_needs_no_end() -> None:
    assert [len(chunk.events) for chunk in chunks(item() + "\n" + item())] == [2]


def test_the_text_of_a_chunk_is_what_was_sent() -> None:
    found = chunks('{"data": 1 }\r\n\n{"data":2}\n')
    assert found[0].text == b'{"data": 1 }\n{"data":2}'


def test_what_is_wrong_is_listed_by_line_and_refuses_its_chunk_only() -> None:
    bad = ['{"data":NaN}', "", item(key="\n"), item(more=1), item(), item()]
    found = chunks(lines(item(), *bad))
    assert spans(found) == [(1, 5), (6, 7)]
    assert refusals(found[0]) == [(2, "invalid_json"), (4, "control_character"), (5, "unknown_field")]
    assert len(found[1].events) == 2


@pytest.mark.parametrize(
    "line", ["1", "[]", '{"data":1}{"data":2}', '{"data":1},{"data":2}', '{"data":1', '"']
)
def test_a_line_is_one_object(line: str) -> None:
    (chunk,) = chunks(lines(item(), line))
    assert [index for index, _ in refusals(chunk)] == [2]


def test_halves_of_an_event_on_two_lines_are_two_broken_lines() -> None:
    (chunk,) = chunks(lines('{"data":1}{"data":', "2}"))
    assert refusals(chunk) == [(1, "invalid_json"), (2, "invalid_json")]
    (chunk,) = chunks(lines('{"data":"a', 'b"}'))
    assert refusals(chunk) == [(1, "invalid_json"), (2, "invalid_json")]


def test_s69_a_deep_line_is_refused() -> None:
    (chunk,) = chunks(lines(item(), '{"data":' + "[" * 129 + "]" * 129 + "}"))
    assert refusals(chunk) == [(2, "too_deep")]
    (chunk,) = chunks(lines('{"data":"' + "[" * 200, '{"data":' + "[" * 200))
    assert refusals(chunk) == [(1, "invalid_json"), (2, "too_deep")]


def test_a_byte_order_mark_is_refused_on_its_line() -> None:
    (chunk,) = chunks(b"\xef\xbb\xbf" + lines(item()).encode())
    assert refusals(chunk) == [(1, "invalid_json")]


def test_an_endless_line_is_dropped_as_it_comes_and_named() -> None:
    stream = NdjsonChunks(LIMITS, SIZE)
    assert list(stream.feed(b'{"data":1}\n{"data":"')) == []
    for _ in range(1000):
        assert list(stream.feed(b"x" * 1000)) == []
        assert len(stream._partial) < 100_000
    found = [*stream.feed(b'"}\n{"data":NaN}\n{"data":1}\n{"data":2}\n'), *stream.finish()]
    assert [refusals(chunk) for chunk in found[:1]] == [[(2, "event_too_large"), (3, "invalid_json")]]
    assert spans(found) == [(1, 4), (5, 5)]


def test_a_transaction_waits_for_its_last_line() -> None:
    ids = [None, None, "a", "a", "a", "b", "b", None, None]
    found = chunks(lines(*map(of, ids)))
    assert spans(found) == [(1, 2), (3, 5), (6, 9)]
    assert [[event.transaction_id for event in chunk.events] for chunk in found] == [
        ids[:2],
        ids[2:5],
        ids[5:],
    ]


def test_a_transaction_may_fill_a_chunk_of_its_own_up_to_a_batch() -> None:
    found = chunks(lines(*map(of, ["a"] * 19 + ["b", None])))
    assert spans(found) == [(1, 19), (20, 21)]


def test_a_transaction_that_fits_no_batch_is_refused_to_its_last_line() -> None:
    found = chunks(lines(*map(of, ["a"] * 23 + ["b", None])))
    assert spans(found) == [(1, 20), (21, 24), (25, 25)]
    assert refusals(found[0]) == [(1, "too_many_items")]
    assert refusals(found[1]) == [
        (21, "transaction_split"),
        (22, "transaction_split"),
        (23, "transaction_split"),
    ]


def test_a_transaction_whose_beginning_was_refused_is_not_taken_later() -> None:
    found = chunks(
        lines(of("a"), "nonsense", of("b"), of("b"), of("b"), of("c"), of(None), of(None), of("b"))
    )
    assert [refusals(chunk) for chunk in found[:2]] == [[(2, "invalid_json")], [(5, "transaction_split")]]
    assert spans(found) == [(1, 4), (5, 8), (9, 9)]


def test_lines_refused_for_their_transaction_keep_the_rest_of_it_out() -> None:
    ids = [None, "broken", None, "a", "b", "b", None, "a", "a", None, None, None, "a"]
    found = chunks(lines(*("nonsense" if name == "broken" else of(name) for name in ids)))
    assert [refusals(chunk) for chunk in found[:3]] == [
        [(2, "invalid_json")],
        [(8, "transaction_split")],
        [(9, "transaction_split")],
    ]
    assert spans(found) == [(1, 4), (5, 8), (9, 12), (13, 13)]


def test_the_requests_transaction_holds_all_lines_together() -> None:
    (chunk,) = chunks(lines(*[item()] * 10), transaction_id="x")
    assert {event.transaction_id for event in chunk.events} == {"x"}
    found = chunks(lines(*[item()] * 30), transaction_id="x")
    assert [refusals(chunk)[0] for chunk in found] == [
        (1, "too_many_items"),
        (21, "transaction_split"),
        (25, "transaction_split"),
        (29, "transaction_split"),
    ]


def test_a_flush_gives_the_whole_lines_so_far_but_tears_no_transaction() -> None:
    stream = NdjsonChunks(LIMITS, SIZE)
    assert list(stream.feed(lines(item(), of("a")).encode() + b'{"da')) == []
    assert spans(list(stream.flush())) == [(1, 1)]
    for _ in range(50):
        assert list(stream.flush()) == []
    found = [*stream.feed(b'ta":1}\n'), *stream.flush()]
    assert spans(found) == [(2, 3)]
    assert spans(list(stream.feed(lines(*[item()] * 4).encode()))) == [(4, 7)]
    assert list(stream.finish()) == []


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines were decoded each time."""
    counts: list[int] = []

    def counted(lines: Sequence[bytes], *rest: Any) -> list[NewEvent]:
        counts.append(len(lines))
        return decode_lines(lines, *rest)

    monkeypatch.setattr("app.api.ndjson.decode_lines", counted)
    return counts


@pytest.mark.parametrize("before", [None, "b"], ids=["alone", "behind others"])
def test_a_transaction_that_goes_on_is_not_decoded_again_for_each_piece(
    decoded: list[int], before: str | None
) -> None:
    stream = NdjsonChunks(Limits(1000, 10_000), ChunkSize(500, 1_000_000, 4_000_000))
    list(stream.feed(lines(*map(of, [before] * 7 + ["a"] * 5_000)).encode()))
    list(stream.flush())
    assert sum(decoded) < 1.2 * 5_000
    decoded.clear()
    for _ in range(100):
        assert [*stream.feed(b" "), *stream.flush()] == []
    assert decoded == []
    for _ in range(100):
        assert [*stream.feed(lines(of("a")).encode()), *stream.flush()] == []
    assert sum(decoded) == 100
    assert spans([*stream.feed(lines(of(None)).encode()), *stream.flush()])[-1][1] == 7 + 5_000 + 100 + 1


def test_what_breaks_a_transaction_off_is_found_wherever_it_comes() -> None:
    stream = NdjsonChunks(LIMITS, SIZE)
    assert [*stream.feed(lines(of("a"), of("a")).encode()), *stream.flush()] == []
    (broken,) = [*stream.feed(b'{"data":NaN}\n'), *stream.flush()]
    assert (broken.first, broken.last, refusals(broken)) == (1, 3, [(3, "invalid_json")])
    (torn,) = [*stream.feed(lines(of("a")).encode()), *stream.flush()]
    assert refusals(torn) == [(4, "transaction_split")]


texts = st.sampled_from(
    [
        "",
        " ",
        item(),
        of("a"),
        of("b"),
        item(key="\n"),
        "nonsense",
        '{"data":"' + "x" * 1500 + '"}',
        "y" * 70_000,
    ]
)


@given(texts=st.lists(texts, max_size=30), cuts=st.lists(st.integers(0, 5_000)), ended=st.booleans())
def test_chunks_do_not_depend_on_how_the_bytes_arrive(texts: list[str], cuts: list[int], ended: bool) -> None:
    content = "\n".join(texts).encode() + (b"\n" if ended else b"")
    bounds = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    pieces = [content[low:high] for low, high in pairwise(bounds)]
    whole = list(cut([content]))
    assert list(cut(pieces)) == whole
    numbers = [number for number, text in enumerate(texts, 1) if text.strip()]
    covered = [n for chunk in whole for n in numbers if chunk.first <= n <= chunk.last]
    assert covered == numbers


@given(ids=st.lists(st.sampled_from([None, "a", "b", "c"]), max_size=40))
def test_no_transaction_is_in_two_chunks_that_are_taken_one_after_the_other(ids: list[str | None]) -> None:
    found = chunks(lines(*map(of, ids)))
    assert [n for chunk in found for n in range(chunk.first, chunk.last + 1)] == list(range(1, len(ids) + 1))
    for before, after in pairwise(chunk for chunk in found):
        last, first = ids[before.last - 1], ids[after.first - 1]
        assert last is None or last != first or after.problems


def test_numbers_of_lines_reach_the_problems_of_the_careful_way() -> None:
    (chunk,) = chunks("\n\n" + lines(item(), '{"data":"\\u0000"}'))
    assert [(found["index"], found["pointer"]) for found in chunk.problems] == [(4, "/data")]
    assert json.dumps(chunk.problems)
