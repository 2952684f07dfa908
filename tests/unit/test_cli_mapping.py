"""Fields of a line become attributes; the line itself is never touched, and never trusted."""

import json

import pytest

from app.cli.failures import UsageFailure
from app.cli.mapping import Field, Mapping, Refused


@pytest.mark.parametrize(
    "line",
    [
        b'{"n":1.10,"big":12345678901234567890,"twice":1,"twice":2}',
        '"\\u2028 \u2028 \U0001f600"'.encode(),
        b" [1 , 2]\t",
        b"1e400",
        b"-0",
        b"null",
    ],
)
def test_the_bytes_of_the_line_are_the_data(line: bytes) -> None:
    assert Mapping(type="t").event(line) == b'{"data":' + line + b',"type":"t"}'


@pytest.mark.parametrize(
    ("line", "path", "found"),
    [
        (b'{"a":"x"}', "a", "x"),
        (b'{"a":{"b":{"c":"x"}}}', "a.b.c", "x"),
        (b'{"a.b":"flat","a":{"b":"deep"}}', "a.b", "flat"),
        (b'{"a":1.10}', "a", "1.10"),
        (b'{"a":12345678901234567890}', "a", "12345678901234567890"),
        (b'{"a":true}', "a", "true"),
        (b'{"a":1,"a":2}', "a", "2"),
        (b'{"a":"\\u00e9"}', "a", "é"),
        (b'{"a":null}', "a?", None),
        (b"[1]", "a?", None),
        (b'{"a":1}', "a.b?", None),
    ],
)
def test_a_field_is_text_as_it_stands_in_the_line(line: bytes, path: str, found: str | None) -> None:
    assert Field(path).read(line) == found


@pytest.mark.parametrize(
    ("line", "path", "code"),
    [
        (b'{"b":1}', "a", "missing_field"),
        (b'{"a":null}', "a", "missing_field"),
        (b"7", "a", "missing_field"),
        (b'{"a":{}}', "a", "invalid_field"),
        (b'{"a":[]}', "a?", "invalid_field"),
    ],
)
def test_a_line_without_a_usable_field_is_refused(line: bytes, path: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        Mapping(key_field=Field(path)).event(line)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b'{"a":1}}',
        b'1},{"data":2',
        b"NaN",
        b"[Infinity]",
        b'"\xff"',
        b"\xef\xbb\xbf1",
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_not_json_is_refused_and_cannot_leave_its_place(line: bytes) -> None:
    with pytest.raises(Refused) as refused:
        Mapping().event(line)
    assert refused.value.code == "invalid_json"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "The line ends before the JSON text does."),
        (b"hello", "Not JSON at column 1: this character cannot stand there."),
        (b"id,name", "Not JSON at column 1: this character cannot stand there."),
        (b'{"a":1,}', "Not JSON at column 8: a name in double quotes must follow the ','."),
        (b'{"a":1}}', "Not JSON at column 8: the JSON text is over, but more follows."),
        ('{"é":tru}'.encode(), "Not JSON at column 7: this character cannot stand there."),
        (b'{"a":"\\ud800 "}', "Not JSON at column 13: half of a surrogate pair stands for no character."),
        ('{"é":"'.encode() + b'\xff"}', "Not UTF-8 at column 7."),
        (b"\xef\xbb\xbf1", "The text begins with a byte order mark; send UTF-8 without it."),
        (b"[" * 100_000, "The JSON text is nested too deeply."),
    ],
    ids=["end", "word", "csv", "comma", "brace", "é", "surrogate", "bytes", "mark", "depth"],
)
def test_a_line_that_is_not_json_is_told_where_and_why_in_plain_words(line: bytes, said: str) -> None:
    with pytest.raises(Refused) as refused:
        Mapping().event(line)
    assert refused.value.detail == said


def test_a_line_that_lacks_a_field_is_told_how_that_is_allowed() -> None:
    with pytest.raises(Refused) as refused:
        Mapping(key_field=Field("user.id")).event(b"{}")
    assert refused.value.detail == "There is no field 'user.id'; write user.id? if it may be absent."


def test_text_that_is_not_utf_8_is_told_where() -> None:
    with pytest.raises(Refused) as refused:
        Mapping(text=True).event("naïve ".encode() + b"\xe9")
    assert refused.value.detail == "Not UTF-8 at column 7."


def test_plain_text_becomes_a_json_string() -> None:
    event = json.loads(Mapping(text=True, key="k").event('say "hi" \\ é'.encode()))
    assert event == {"data": 'say "hi" \\ é', "key": "k"}


@pytest.mark.parametrize("name", ["", "a..b", ".a", "?"])
def test_a_field_name_that_leads_nowhere_is_refused(name: str) -> None:
    with pytest.raises(UsageFailure):
        Field(name)
