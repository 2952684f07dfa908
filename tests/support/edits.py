"""A day of Wikipedia edits where that file lies beside the repository, otherwise one of its shape."""

import gzip
import json
import random
from pathlib import Path

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "wikipedia-edits-2015-09-12.ndjson.gz"
GENERATED_EVENTS = 6_000


def edits(most: int | None = None) -> bytes:
    """NDJSON, a line per edit; of the real ones at most so many."""
    if not REAL.is_file():
        return _generated()
    lines = gzip.decompress(REAL.read_bytes()).splitlines(keepends=True)
    return b"".join(lines[:most])


def _generated() -> bytes:
    source = random.Random(20150912)
    lines = [
        {
            "time": f"2015-09-12T00:{n // 60 % 60:02}:{n % 60:02}.{source.randrange(1000):03}Z",
            "channel": f"#{source.choice(('en', 'de', 'fr', 'vi', 'zh', 'ru', 'it'))}.wikipedia",
            "comment": source.choice(("", "typo", "\u2028 \U0001f600", 'a "quote"')),
            "delta": source.randrange(-500, 500),
        }
        for n in range(GENERATED_EVENTS)
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
