"""What the gate refuses and what it lets through, value by value, and what it costs to be attacked."""

import time
import tracemalloc

import pytest

from app.api.gate import flaws, storable
from app.api.json_text import pointer_at
from tests.support.contents import batch, item, problems
from tests.support.wait import shared


def found(document: str | bytes) -> list[tuple[str, str]]:
    """Code and pointer of every flaw; the quick verdict must agree that there is one."""
    text = document.encode() if isinstance(document, str) else document
    refused = flaws(text)
    assert storable(text) == (not refused)
    return [(flaw.code, pointer_at(text, flaw.position)) for flaw in refused]


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (r'"\u0000"', ""),
        (r'{"a":"x\u0000"}', "/a"),
        (r'{"a":[1,{"b/c~":"\u0000"}]}', "/a/1/b~1c~0"),
        (r'{"a":{"\u0000":1}}', "/a"),
        (r'"\ud800"', ""),
        (r'["ok","\uDFFF"]', "/1"),
        (r'["\ud83d\ud83d\ude00"]', "/0"),
        (r'["\ud83d\ude00\ude00"]', "/0"),
        (r'["\ud83d\\ude00"]', "/0"),
        (r'["\ud83dx\ude00"]', "/0"),
        (r'"\\\u0000"', ""),
    ],
)
def test_s65_nul_and_half_surrogates_are_refused_as_value_and_as_key(document: str, pointer: str) -> None:
    assert found(document) == [("unstorable_character", pointer)]


@pytest.mark.parametrize(
    "document",
    [
        r'"\\u0000"',
        r'"\\ud800"',
        r'"\\\\u0000"',
        r'"\ud83d\ude00"',
        r'"\uD83D\uDE00"',
        r'"\u0001"',
        r'"u0000"',
    ],
)
def test_s65_what_only_looks_like_them_is_harmless(document: str) -> None:
    assert found(document) == []


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1E+400", "[0,1e400]", '{"a":-1e400}', "1e0400"])
def test_s66_numbers_that_would_become_infinity_are_refused(text: str) -> None:
    assert [code for code, _ in found(text)] == ["number_out_of_range"]


@pytest.mark.parametrize(
    "text",
    ["1e131071", "1e131072", "1e-16384", "1e999999999999999999999", "1e-400", "12e399", "0.1e-399", "0e400"],
)
def test_s67_numbers_longer_than_400_digits_when_written_out_are_refused(text: str) -> None:
    assert found(text) == [("number_out_of_range", "")]
    assert found(f'{{"a":[{text}]}}') == [("number_out_of_range", "/a/0")]


def test_s67_long_digits_are_refused_and_quickly() -> None:
    started = time.process_time()
    assert found("9" * 200_000) == [("number_out_of_range", "")]
    assert found("0." + "9" * 400) == [("number_out_of_range", "")]
    assert found("9" * 200 + "." + "9" * 201) == [("number_out_of_range", "")]
    assert time.process_time() - started < shared(0.2)


@pytest.mark.parametrize(
    "text", ["1e399", "-1e399", "12e398", "1e-399", "1.5e308", "5e-324", "1e+05", "1e-007", "0.1e-397"]
)
def test_s67_numbers_up_to_400_digits_are_taken(text: str) -> None:
    assert found(text) == []


def test_s67_400_digits_as_written_are_the_limit_too() -> None:
    assert found("-" + "9" * 400) == []
    assert found("9" * 200 + "." + "9" * 200) == []
    assert found("1e" + "0" * 399) == []
    assert found("1e" + "0" * 400) == [("number_out_of_range", "")]


@pytest.mark.parametrize(
    "text", ["deadbeef0e999", "1e1000", "1e1000,", " 1e1000 ", "0e99999]", "5" * 500, '\\"1e1000 ']
)
def test_digits_in_strings_and_names_are_no_numbers(text: str) -> None:
    assert found(f'"{text}"') == []
    assert found(f'{{"{text}":[1,"{text}",2]}}') == []


@pytest.mark.parametrize("levels", [1, 100, 128])
def test_s69_nesting_up_to_128_levels_is_taken(levels: int) -> None:
    assert found("[" * levels + "]" * levels) == []
    assert found('{"a":' * levels + "1" + "}" * levels) == []


@pytest.mark.parametrize("levels", [129, 500, 1_000, 10_000, 100_000])
def test_s69_deeper_nesting_is_refused(levels: int) -> None:
    assert [code for code, _ in found("[" * levels + "]" * levels)] == ["too_deep"]
    assert [code for code, _ in found('{"a":' * levels + "1" + "}" * levels)] == ["too_deep"]
    assert [code for code, _ in found('[{"a":' * levels)] == ["too_deep"]


def test_s69_brackets_in_strings_do_not_nest() -> None:
    assert found('["' + "[" * 1000 + '"]') == []
    assert found('["]",' * 100 + '"["' + "]" * 100) == []
    assert [code for code, _ in found('["]",' * 129 + '"["' + "]" * 129)] == ["too_deep"]


HOSTILE = {
    "brackets": b"[" * 1_000_000 + b"]" * 1_000_000,
    "objects": b'{"a":' * 300_000,
    "runs of brackets that only show after others are gone": (b"[" * 30 + b"[" * 90 + b"]" * 90) * 8_000,
    "many small arrays": b"[" + b"[]," * 600_000 + b"1]",
    "one long string of brackets": b'["' + b"[" * 2_000_000 + b'"]',
    "a string that does not end": b'["' + b'\\"' * 1_000_000,
    "quotes that do not pair": b'"' * 1_999_999,
    "numbers that are nearly too long": b"[" + b"1e399," * 300_000 + b"1]",
    "looks of numbers in strings": b"[" + b'"1e1000 ",' * 200_000 + b"1]",
    "backslashes": b'["' + b"\\" * 2_000_000 + b'"]',
    "surrogate pairs": b'["' + rb"\ud83d\ude00" * 160_000 + b'"]',
    "commas": b"[" + b"1," * 1_000_000 + b"1]",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE.keys())
def test_two_megabytes_of_hostile_text_take_less_than_two_seconds(document: bytes) -> None:
    started = time.process_time()
    storable(document)
    flaws(document)
    assert time.process_time() - started < shared(2)


def test_s69_a_hundred_thousand_brackets_are_refused_quickly_and_in_bounded_memory() -> None:
    bomb = batch(item(), '{"data":' + "[" * 100_000 + "]" * 100_000 + "}", item())
    started = time.process_time()
    refused = problems(bomb)
    assert time.process_time() - started < shared(0.2)
    assert [(index, code) for index, code, _ in refused] == [(1, "too_deep")]
    tracemalloc.start()
    problems(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(bomb)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (b'"\xff"', ""),
        (b'{"a":["\xed\xa0\x80"]}', "/a/0"),
        (b'["\xc0\xa0"]', "/0"),
        (b'["ok","\xf0\x9f"]', "/1"),
    ],
)
def test_bytes_that_are_not_utf8_are_refused(document: bytes, pointer: str) -> None:
    assert found(document) == [("invalid_utf8", pointer)]


def test_each_kind_of_flaw_is_reported_once_with_its_first_place() -> None:
    text = r'{"a":["\u0000","\u0000"],"b":1e999,"c":1e999}'
    assert found(text) == [("unstorable_character", "/a/0"), ("number_out_of_range", "/b")]


def test_a_pointer_is_cut_at_a_step_rather_than_grow_without_bound() -> None:
    text = "".join(f'{{"{"k" * 50}":' for _ in range(50)) + "1" + "}" * 50
    pointer = pointer_at(text.encode(), text.index("1"))
    assert pointer == "/" + "/".join(["k" * 50] * 5)


def test_places_far_into_a_text_are_not_walked_to() -> None:
    text = b"[" + b"1," * 500_000 + b"1e999]"
    assert found(text) == [("number_out_of_range", "")]
