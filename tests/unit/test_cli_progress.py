"""Rates that people can read, also of what is slow."""

import pytest

from app.cli.progress import rate


@pytest.mark.parametrize(
    ("events", "seconds", "said"),
    [
        (0, 1, "0.0/s"),
        (1, 3600, "less than 0.1/s"),
        (2, 4.4, "0.5/s"),
        (99, 10, "9.9/s"),
        (100, 10, "10/s"),
        (40_000, 1.6, "25,000/s"),
    ],
)
def test_a_slow_rate_has_a_decimal(events: int, seconds: float, said: str) -> None:
    assert rate(events, seconds) == said
