"""Times as the API takes them: RFC 3339 with a zone, or nothing."""

import re
from datetime import UTC, datetime

# Narrower than what `fromisoformat` takes: that reads dates without times and times without zones too.
TIME_PATTERN = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
_TIME = re.compile(TIME_PATTERN)


def parse_time(text: str) -> datetime | None:
    """The time in UTC, or None for what is no such time. Digits beyond microseconds are cut off."""
    if _TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
