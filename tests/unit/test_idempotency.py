"""Which headers are idempotency keys, and which requests are the same one."""

import pytest

from app.api.idempotency import MAX_KEY, MAX_STREAM_KEY, chunk_key, fingerprint, parse_key
from app.errors import InvalidArgument
from tests.support.contents import headers


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ('"8e03978e-40d5-43dd-bc93-6894a57f9324"', "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ('  "a b, c;d"\t', "a b, c;d"),
        (r'"say \"hi\" \\"', r'say "hi" \\'[:-1]),
        ("a:1/b+c=", "a:1/b+c="),
        ('"' + "k" * 255 + '"', "k" * 255),
        ("k" * 255, "k" * 255),
    ],
)
def test_a_key_is_a_quoted_string_or_a_bare_word(header: str, key: str) -> None:
    assert parse_key(header) == key


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", '""', '"', '"a', 'a"', '"a"b', '"a";p=1', "a b", "a,b", '"a", "b"', "a;b", "a\\b"),
        *(r'"a\b"', r'"a\"', '"é"', "é", '"a\tb"', "a\x00", '"a\x7f"', '"a\nb"', "k" * 256, f'"{"k" * 256}"'),
    ],
)
def test_what_is_no_idempotency_key_is_refused(header: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_key(header)
    assert refused.value.extra["field"] == "Idempotency-Key"


def test_a_streams_key_leaves_room_for_the_number_of_a_line() -> None:
    longest = parse_key("k" * MAX_STREAM_KEY, MAX_STREAM_KEY)
    assert len(chunk_key(longest, 10**13)) <= MAX_KEY
    assert chunk_key("k", 12) == "k:12"
    with pytest.raises(InvalidArgument):
        parse_key("k" * (MAX_STREAM_KEY + 1), MAX_STREAM_KEY)


def test_requests_are_the_same_if_they_say_the_same() -> None:
    options = {"partition": "1", "transaction_id": None}
    first = fingerprint(headers("application/json", user_agent="a"), b"body", options)
    assert len(first) == 32
    assert fingerprint(headers("application/json", user_agent="b"), b"body", {"partition": "1"}) == first
    ordered = [(b"ce-id", b"1"), (b"Content-Type", b"text/plain"), (b"ce-type", b"t")]
    assert fingerprint(ordered, b"", {}) == fingerprint(ordered[::-1], b"", {})


def test_requests_differ_if_anything_they_say_differs() -> None:
    base = headers("text/plain", ce_id="1", ce_type="t")
    variants = [
        fingerprint(base, b"body", {}),
        fingerprint(base, b"body ", {}),
        fingerprint(base, b"", {}),
        fingerprint(headers("text/html", ce_id="1", ce_type="t"), b"body", {}),
        fingerprint(headers("text/plain", ce_id="2", ce_type="t"), b"body", {}),
        fingerprint(headers("text/plain", ce_id="1t", ce_type=""), b"body", {}),
        fingerprint(headers(None, ce_id="1", ce_type="t"), b"body", {}),
        fingerprint(base, b"body", {"partition": "0"}),
        fingerprint(base, b"body", {"partition": "00"}),
        fingerprint(base, b"body", {"expected_offset": "0"}),
        fingerprint(base, b"body", {"partition": "0", "expected_offset": "0"}),
    ]
    assert len(set(variants)) == len(variants)
