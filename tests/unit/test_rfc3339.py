"""Which texts are times: RFC 3339 with a zone, in years that everybody can hold in UTC."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.rfc3339 import parse_time


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-01T01:30:00",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-01T24:00:00Z",
        "2026-11-01T00:00:60Z",
        "10000-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "infinity",
        "-infinity",
        "now",
        "",
        "2026-11-01",
        "2026-11-01T00:00Z",
        "2026-11-01 00:00:00Z",
        "2026-11-01T00:00:00+0100",
        "2026-11-01T00:00:00+01",
        "2026-11-01T00:00:00+24:00",
        "2026-11-01T00:00:00.Z",
        "2026-11-01T00:00:00.1234567890Z",
        " 2026-11-01T00:00:00Z",
        "2026-11-01T00:00:00Z\n",
        "20261101T000000Z",
        "2026-W44-7T00:00:00Z",
        "٢٠٢٦-11-01T00:00:00Z",
        "1793491200",
    ],
)
def test_s79_times_without_zone_or_sense_are_refused(text: str) -> None:
    assert parse_time(text) is None


def test_s79_the_repeated_hour_is_two_times_an_hour_apart() -> None:
    first, second = parse_time("2026-11-01T01:30:00-04:00"), parse_time("2026-11-01T01:30:00-05:00")
    assert first is not None
    assert second is not None
    assert (second - first).total_seconds() == 3600


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015-09-12T00:46:58.771Z", datetime(2015, 9, 12, 0, 46, 58, 771000, UTC)),
        ("2015-09-12t00:46:58z", datetime(2015, 9, 12, 0, 46, 58, 0, UTC)),
        ("2015-09-12T00:46:58+14:00", datetime(2015, 9, 11, 10, 46, 58, 0, UTC)),
        ("2015-09-12T00:46:58-00:00", datetime(2015, 9, 12, 0, 46, 58, 0, UTC)),
        ("2015-09-12T00:46:58.123456789Z", datetime(2015, 9, 12, 0, 46, 58, 123456, UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00-23:59", datetime(1, 1, 1, 23, 59, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
    ],
)
def test_s79_times_are_read_exactly_to_the_microsecond(text: str, expected: datetime) -> None:
    assert parse_time(text) == expected


@given(st.datetimes(timezones=st.timezones()))
def test_what_python_writes_is_read_back_or_out_of_range(time: datetime) -> None:
    text = time.isoformat()
    try:
        expected = time.astimezone(UTC)
    except OverflowError:
        expected = None
    if len(text.partition("T")[2].lstrip("0123456789:.")) == len("+00:00"):
        assert parse_time(text) == expected


@given(st.text(alphabet="0123456789-:+TZtz. ", max_size=30))
def test_any_text_is_a_time_in_utc_or_none(text: str) -> None:
    time = parse_time(text)
    assert time is None or time.tzinfo is UTC
