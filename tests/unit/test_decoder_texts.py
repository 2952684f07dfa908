"""Whoever sends what is not JSON is told where and why in the words of the service, not of a library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import GaplessError, InvalidEvents
from tests.support import nasty_json
from tests.support.contents import decode

LIBRARY = ("malformed", "truncated", "trailing", "(byte")


def told(body: bytes | str) -> str:
    try:
        decode(body)
    except InvalidEvents as error:
        return str(error.extra["errors"][0]["detail"])
    except GaplessError as error:
        return error.detail
    return ""


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("", "The JSON text is empty."),
        (" \n", "The JSON text is empty."),
        ('{"events":[{"data":1}', "The JSON text ends too early."),
        ("hello", "Not JSON at line 1, column 1: this character cannot stand there."),
        ("{'events':[]}", "Not JSON at line 1, column 2: a name in double quotes must stand there."),
        ("{events:[]}", "Not JSON at line 1, column 2: a name in double quotes must stand there."),
        ('{"events" []}', "Not JSON at line 1, column 11: ':' must stand there."),
        (
            '{"events":[1 2]}',
            "Not JSON at line 1, column 3 of the event: the JSON text is over, but more follows.",
        ),
        (
            '{"events":[{"data":[1 2]}]}',
            "Not JSON at line 1, column 12 of the event: ',' or ']' must stand there.",
        ),
        (
            '{"events":[{"data":1 "key":""}]}',
            "Not JSON at line 1, column 11 of the event: ',' or '}' must stand there.",
        ),
        ('{"events":[{"data":1},]}', "Not JSON at line 1, column 23: a value must follow the ','."),
        (
            '{"events":[{"data":1},,{"data":2}]}',
            "Not JSON at line 1, column 23: this character cannot stand there.",
        ),
        ('{"events":[\n{"data":1}}', "Not JSON at line 2, column 11: ',' or ']' must stand there."),
        ('{"events":no}', "Not JSON at line 1, column 11: this character cannot stand there."),
        (
            '{"events":[{"data":tru}]}',
            "Not JSON at line 1, column 10 of the event: this character cannot stand there.",
        ),
        ('{"events":"no}', "The JSON text ends too early."),
        ('{\n "events":\n "\\q"}', "Not JSON at line 3, column 4: JSON has no such escape."),
        ('{"events":[{"data":1}] "x":1}', "Not JSON at line 1, column 24: ',' or '}' must stand there."),
        ('["\\ud800 "]', "Not JSON at line 1, column 9: half of a surrogate pair stands for no character."),
        ("\ufeff" + "[" * 1_000, "The text begins with a byte order mark; send UTF-8 without it."),
        ('{"events":[]} x', "Not JSON at line 1, column 15: the JSON text is over, but more follows."),
        (
            '{"events":[{"data":NaN}]}',
            "Not JSON at line 1, column 9 of the event: this character cannot stand there.",
        ),
        (
            '{"events":[{"data":1,}]}',
            "Not JSON at line 1, column 11 of the event: a name in double quotes must follow the ','.",
        ),
        (
            '{"events":[{"data":[1,]}]}',
            "Not JSON at line 1, column 12 of the event: a value must follow the ','.",
        ),
        ('{"events":[{"data":01}]}', "Not JSON at line 1, column 10 of the event: JSON writes no number so."),
        (
            '{"events":[{"data":"\\x"}]}',
            "Not JSON at line 1, column 11 of the event: JSON has no such escape.",
        ),
        (
            '{"events":[],"x":"\\ud83d"}',
            "Not JSON at line 1, column 25: half of a surrogate pair stands for no character.",
        ),
        (
            '{"events":[],"x":"\\ud83d\\n"}',
            "Not JSON at line 1, column 25: half of a surrogate pair stands for no character.",
        ),
        (
            '{"events":[],"x":"\\ud83d\\u0041"}',
            "Not JSON at line 1, column 31: half of a surrogate pair stands for no character.",
        ),
        (
            '{"events":[],"\\ude00":1}',
            "Not JSON at line 1, column 21: half of a surrogate pair stands for no character.",
        ),
        (
            '{"events":[],"x":"\\ud83d, and more"}',
            "Not JSON at line 1, column 25: half of a surrogate pair stands for no character.",
        ),
        ('{"events":[],"x":"\\ud83d\\u00"}', "Not JSON at line 1, column 30: JSON has no such escape."),
        ('{"events":[],"x":"\\u1"}', "Not JSON at line 1, column 22: JSON has no such escape."),
        ('{"events":[],"x":"\\ud83d', "The JSON text ends too early."),
        ('{"events":[],"x":"\\ud83d\\ude', "The JSON text ends too early."),
        ('{"events":[],"x":"\\\\ud83d"', "The JSON text ends too early."),
        (
            '{"events":[\n\n  {\n  "key": maybe}]}',
            "Not JSON at line 2, column 10 of the event: this character cannot stand there.",
        ),
        (
            '{"events":[{\n  "key": "é", "data": maybe\n}]}',
            "Not JSON at line 2, column 23 of the event: this character cannot stand there.",
        ),
    ],
)
def test_a_text_that_is_not_json_is_told_where_and_why(body: str, detail: str) -> None:
    assert told(body) == detail


@given(nasty_json.values.map(bytes), st.integers(0, 40), st.sampled_from(b'}],:"x\\0 -'))
def test_no_word_of_the_decoder_comes_through(value: bytes, place: int, byte: int) -> None:
    """Wherever a byte is put into an event, or is cut off there."""
    text = b'{"data":' + value + b"}"
    place = min(place, len(text))
    for broken in (text[:place] + bytes([byte]) + text[place:], text[:place]):
        said = told(b'{"events":[' + broken + b"]}")
        assert not [word for word in LIBRARY if word in said], said
