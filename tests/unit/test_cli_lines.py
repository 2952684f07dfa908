"""The same bytes give the same chunks, however they arrive: their first lines name idempotency keys."""

import gzip
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.failures import Failure
from app.cli.lines import LONGEST_WAIT_SECONDS, PAUSE_SECONDS, Line, Source, chunks, lines, open_file

texts = st.lists(st.sampled_from([b"", b" ", b"1", b'{"a":1}', b"x" * 40, b"y\r"]), max_size=30)


def split(content: bytes, cuts: list[int]) -> Iterator[bytes]:
    bounds = sorted({0, len(content), *(cut % (len(content) + 1) for cut in cuts)})
    return iter([content[low:high] for low, high in itertools.pairwise(bounds)])


def read(blocks: Iterator[bytes]) -> list[Line | None]:
    return list(lines(blocks, "the test"))


@given(texts=texts, cuts=st.lists(st.integers(0, 2000)), packed=st.booleans(), ended=st.booleans())
def test_lines_and_their_numbers_do_not_depend_on_how_the_bytes_arrive(
    texts: list[bytes], cuts: list[int], packed: bool, ended: bool
) -> None:
    content = b"\n".join(texts) + (b"\n" if ended else b"")
    expected = [
        Line(number, text.removesuffix(b"\r"))
        for number, text in enumerate(content.split(b"\n"), 1)
        if text.strip()
    ]
    sent = gzip.compress(content) if packed else content
    assert read(split(sent, cuts)) == expected


@pytest.mark.parametrize("packed", [False, True])
def test_a_chunk_knows_how_much_of_its_input_it_is_the_end_of(tmp_path: Path, packed: bool) -> None:
    content = b"".join(b'{"n":%05d}\n\r\n' % n for n in range(40_000))
    file = tmp_path / "events"
    file.write_bytes(gzip.compress(content) if packed else content)
    source = open_file(file)
    numbered = lines(source.blocks(), source.name, lambda: source.bytes_read)
    ends = [chunk.lines[-1].end for chunk in chunks(numbered, cut_at_pauses=False)]
    source.close()
    size = file.stat().st_size
    # Blank lines come before the next one, or at the very end.
    expected = [size * (part + 1) // 40 - (0 if packed else 2) for part in range(40)]
    assert ends == pytest.approx(expected, abs=size / 1_000 if packed else 0)


@given(texts=texts, cuts=st.lists(st.integers(0, 2000)), pauses=st.lists(st.integers(0, 40)))
def test_pauses_do_not_move_the_chunks_of_an_input_that_may_be_resumed(
    texts: list[bytes], cuts: list[int], pauses: list[int]
) -> None:
    content = b"\n".join(texts)
    blocks = list(split(content, cuts))
    for pause in pauses:
        blocks.insert(pause % (len(blocks) + 1), b"")
    paused = chunks(iter(read(iter(blocks))), cut_at_pauses=False, events=3, size=60)
    whole = chunks(iter(read(iter([content]))), cut_at_pauses=False, events=3, size=60)
    assert list(paused) == list(whole)


def test_chunks_are_bounded_by_events_and_by_bytes() -> None:
    numbered = [Line(number, b"x" * 10) for number in range(1, 8)]
    numbers = [
        [line.number for line in chunk.lines]
        for chunk in chunks(iter(numbered), cut_at_pauses=False, events=3)
    ]
    assert numbers == [[1, 2, 3], [4, 5, 6], [7]]
    sized = chunks(iter(numbered), cut_at_pauses=False, size=25)
    assert [len(chunk.lines) for chunk in sized] == [2, 2, 2, 1]


def test_only_the_chunk_that_the_input_ends_in_is_the_last_one() -> None:
    numbered = [Line(number, b"1") for number in range(1, 8)]
    assert [chunk.last for chunk in chunks(iter(numbered), cut_at_pauses=False, events=3)] == [
        False,
        False,
        True,
    ]


def test_a_pause_ends_a_chunk_of_an_input_that_nobody_resumes() -> None:
    arriving: list[Line | None] = [Line(1, b"1"), None, None, Line(2, b"2"), Line(3, b"3")]
    assert [len(chunk.lines) for chunk in chunks(iter(arriving), cut_at_pauses=True)] == [1, 2]


@pytest.mark.parametrize("more", [b"2\n", b"x"])
def test_a_writer_that_never_pauses_keeps_no_line_back(more: bytes) -> None:
    reading, writing = os.pipe()
    seen = threading.Event()

    def write() -> None:
        interval = PAUSE_SECONDS / 4
        os.write(writing, b"1\n")
        for _ in range(int(20 * LONGEST_WAIT_SECONDS / interval)):
            if seen.wait(interval):
                break
            os.write(writing, more)
        os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    source = Source(reading, "the test")
    first = next(chunks(lines(source.blocks(), source.name), cut_at_pauses=True))
    seen.set()
    writer.join()
    source.close()
    assert first.lines[0] == Line(1, b"1")
    assert not first.last


def test_a_line_of_more_than_16_mib_is_dropped_and_named_and_the_next_one_is_read() -> None:
    blocks = [b"1\n", *([b"x" * 2**20] * 20), b"y\n2\n"]
    assert read(iter(blocks)) == [Line(1, b"1"), Line(2, None), Line(3, b"2")]


def test_several_gzip_members_and_their_padding_are_one_file() -> None:
    assert read(iter([gzip.compress(b"1\n") + gzip.compress(b"2\n") + b"\0" * 100])) == [
        Line(1, b"1"),
        Line(2, b"2"),
    ]


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-9], lambda packed: packed[:12] + b"\xff" + packed[13:]]
)
def test_damaged_gzip_is_a_failure_that_says_so(damage: Callable[[bytes], bytes]) -> None:
    packed = gzip.compress(b"".join(b"%d\n" % n for n in range(1000)))
    with pytest.raises(Failure, match=r"damaged|ends in the middle"):
        read(iter([damage(packed)]))
