"""The quick verdict, the careful list of flaws and a slow judge say the same of any JSON."""

import itertools
import json
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.api.gate import flaws, nests_at_most, storable
from app.api.json_text import parts, pointer_at
from tests.support.nasty_json import documents, judge, strings, values


@given(document=documents, depth=st.integers(0, 14))
@example(document=b'["\\\\\\"[[[[", 1e1000]', depth=1)
@example(document=b"1e1000", depth=0)
@example(document=b'{"a":"\\ud83d\\\\\\ude00"}', depth=1)
def test_the_verdict_the_flaws_and_the_judge_agree(document: bytes, depth: int) -> None:
    expected = judge(document, depth)
    assert {flaw.code for flaw in flaws(document, depth)} == expected
    assert storable(document, depth) == (not expected)
    assert nests_at_most(document, depth) == ("too_deep" not in expected)


@settings(max_examples=25)
@given(document=st.lists(documents, min_size=20, max_size=30), depth=st.integers(8, 16))
def test_both_gates_agree_on_long_texts_too(document: list[bytes], depth: int) -> None:
    text = b"[" + b",".join(document) + b"]"
    expected = judge(text, depth)
    assert {flaw.code for flaw in flaws(text, depth)} == expected
    assert storable(text, depth) == (not expected)


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("fraction", [0, 1, 2, 30, 31, 133, 199, 399, 400])
@pytest.mark.parametrize("whole", [1, 2, 30, 31, 132, 133, 134, 200, 399, 400, 401])
def test_both_gates_agree_on_every_size_of_number(whole: int, fraction: int, sign: str) -> None:
    mantissa = sign + "7" * whole + ("." + "3" * fraction if fraction else "")
    powers = [0, 9, 10, 99, 100, 101, *range(196, 204), *range(263, 271), *range(355, 405), 999, 1000, 99999]
    exponents = [f"{e}{power}" for e in ("e", "E+", "e-", "e0", "E-000") for power in powers]
    for number in [mantissa, *(mantissa + exponent for exponent in exponents)]:
        for document in (
            number.encode(),
            b'{"n":%b}' % number.encode(),
            b'["a","b","c",%b]' % number.encode(),
        ):
            expected = judge(document, 1)
            assert storable(document, 1) == (not expected), document
            assert {flaw.code for flaw in flaws(document, 1)} == expected, document


def test_both_gates_agree_on_every_short_row_of_escapes() -> None:
    pieces = [
        "\\\\",
        '\\"',
        "\\u0000",
        "\\ud83d",
        "\\uDBFF",
        "\\ude00",
        "\\uDFFF",
        "\\ud7ff",
        "u0000",
        "ude00",
        "[",
    ]
    for count in (1, 2, 3, 4):
        for row in itertools.product(pieces, repeat=count):
            document = f'["{"".join(row)}"]'.encode()
            expected = judge(document, 1)
            assert storable(document, 1) == (not expected), document
            assert {flaw.code for flaw in flaws(document, 1)} == expected, document


def test_both_gates_agree_on_every_small_tree_of_arrays() -> None:
    for tree in _trees(6):
        for text in ("", '"]["', '"[","]]"'):
            document = _written(tree, text).encode()
            for depth in range(8):
                expected = judge(document, depth)
                assert storable(document, depth) == (not expected), document
                assert {flaw.code for flaw in flaws(document, depth)} == expected, document


Tree = tuple["Tree", ...]


def _trees(nodes: int) -> Iterator[Tree]:
    """All trees of up to so many nodes."""
    if nodes > 0:
        yield from _forests(nodes - 1)


def _forests(nodes: int) -> Iterator[Tree]:
    yield ()
    for first in range(1, nodes + 1):
        for tree in _forests(first - 1):
            for rest in _forests(nodes - first):
                yield (tree, *rest)


def _written(tree: Tree, text: str) -> str:
    children = [_written(child, text) for child in tree]
    return "[" + ",".join(filter(None, [text, *children, text])) + "]"


@given(document=documents, junk=st.binary(min_size=1, max_size=3), at=st.integers(0, 200))
def test_broken_utf8_is_a_flaw_wherever_it_is(document: bytes, junk: bytes, at: int) -> None:
    broken = document[:at] + junk + document[at:]
    refused = "invalid_utf8" in {flaw.code for flaw in flaws(broken)}
    assert refused == (broken.decode(errors="ignore").encode() != broken)
    assert not (refused and storable(broken))


@given(
    document=documents, cut=st.integers(0, 300), junk=st.sampled_from([b"", b'"', b"\\", b"]", b"[[[", b'{"'])
)
def test_broken_json_that_passes_never_nests_deeper_than_allowed(
    document: bytes, cut: int, junk: bytes
) -> None:
    """The parser recurses, and is only called after the gate: it must not be led any deeper than stated."""
    broken = b"[" * 9 + document[:cut] + junk + document[cut:]
    if storable(broken, 12):
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(broken + b"}", type=msgspec.Raw)
        assert _depth_that_a_parser_reaches(broken) <= 12


def _depth_that_a_parser_reaches(text: bytes) -> int:
    deepest = level = 0
    in_string = escaped = False
    for character in text.decode():
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == "\\" or level < 0:
            break
        else:
            in_string = character == '"'
            level += (character in "[{") - (character in "]}")
            deepest = max(deepest, level)
    return deepest


@given(elements=st.lists(values, max_size=6), inside=st.sampled_from([b"", b" ", b"\n"]))
def test_an_array_is_split_at_its_own_commas_only(elements: list[bytes], inside: bytes) -> None:
    array = b"[" + (inside + b"," + inside).join(elements) + inside + b"]"
    split = parts(array, 0, 10)
    assert split == (elements, len(array))


@given(document=documents)
def test_what_is_split_off_is_never_more_than_asked_for(document: bytes) -> None:
    text = b"[" + b",".join([document] * 5) + b"]"
    split = parts(text, 0, 2)
    assert split is not None
    assert len(split[0]) == 3


@given(document=values, name=strings.filter(lambda name: not 200 <= len(name) < 400))
def test_a_pointer_leads_to_the_value_at_the_place(document: bytes, name: bytes) -> None:
    text = b"[0,{" + name + b":[null," + document + b"]}]"
    position = len(text) - 3 - len(document)
    step = json.loads(name).replace("~", "~0").replace("/", "~1")
    nameable = len(step) < 200 and not any(0xD800 <= ord(c) <= 0xDFFF for c in step)
    assert pointer_at(text, position) == (f"/1/{step}/1" if nameable else "/1")


@given(text=st.binary(max_size=60), position=st.integers(0, 70))
def test_a_pointer_into_garbage_is_imprecise_but_no_error(text: bytes, position: int) -> None:
    assert isinstance(pointer_at(text, position), str)
