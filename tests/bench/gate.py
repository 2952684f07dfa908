"""`python -m tests.bench.gate`: processor time per event of the gate and of the whole decoding.

One thread, batches of 100 events of about 1 KB as a publisher sends them; then what an attacker would send.
"""

import hashlib
import json
import random
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from app.api.contents import decode_events
from app.api.drafts import Limits
from app.api.gate import MAX_DEPTH, flaws, storable
from app.api.media_types import Content
from app.errors import GaplessError

LIMITS = Limits(max_event_bytes=1024 * 1024, max_batch_events=10_000)
EVENTS = 100
ROUNDS = 15
SECONDS_PER_ROUND = 0.05


def order(n: int) -> Any:
    """Typical: short texts, a few numbers, two UUIDs."""
    line = {"sku": "SKU-00017", "qty": 2, "price": 19.95, "title": "An ordinary thing with a description"}
    return {
        "order_id": str(uuid.uuid4()),
        "customer": {"id": n, "name": "Ada Lovelace", "email": "ada@example.org", "tags": ["vip", "eu"]},
        "items": [line] * 6,
        "created": "2026-11-27T10:00:00.123Z",
        "trace": uuid.uuid4().hex,
        "paid": True,
        "note": None,
    }


PAYLOADS: dict[str, Callable[[int], Any]] = {
    "typical": order,
    "hex digests": lambda n: [hashlib.sha256(b"%d %d" % (n, k)).hexdigest() for k in range(14)],
    "short hex": lambda n: [f"{random.getrandbits(32):08x}" for _ in range(85)],
    "numbers": lambda n: [random.random() * 1000 for _ in range(50)],
    "escaped Cyrillic": lambda n: {"text": "обычный русский текст в JSON. " * 6},
    "quotes and backslashes": lambda n: {"text": 'He said "hi" in C:\\path\\to\n' * 30},
    "one long text": lambda n: {"text": "lorem ipsum dolor sit amet " * 37},
    "base64": lambda n: {"blob": "QUJDREVGR0hJSktMTU5PUFFS" * 40},
    "brackets in texts": lambda n: {"text": "[{}] {braces} and [brackets] " * 34},
    "e-300 numbers": lambda n: [random.random() * 1e-300 for _ in range(42)],
}

HOSTILE = {
    "100,000 open brackets": b"[" * 100_000 + b"]" * 100_000,
    "16 MB of brackets": b"[" * 8_000_000 + b"]" * 8_000_000,
    "16 MB of open objects": b'{"a":' * 3_200_000,
    "16 MB of small arrays": b"[" + b"[]," * 5_300_000 + b"1]",
    "16 MB of digits": b"[" + b"1," * 8_000_000 + b"1]",
    "16 MB of 1e399": b"[" + b"1e399," * 2_660_000 + b"1]",
    "16 MB of escaped quotes": b'["' + b'\\"' * 8_000_000 + b'"]',
    "16 MB of surrogate pairs": b'["' + rb"\ud83d\ude00" * 1_330_000 + b'"]',
}


def main() -> None:
    print("µs per event of a batch of 100           bytes     gate   decoded")
    for name, payload in PAYLOADS.items():
        plain, cloud = batches(payload)
        gate = best(partial(storable, plain, MAX_DEPTH + 3))
        whole = best(partial(decode, Content.EVENTS, plain))
        print(f"{name:36} {len(plain) // EVENTS:9} {per_event(gate)} {per_event(whole)}")
        if name == "typical":
            whole = best(partial(decode, Content.CLOUDEVENT_BATCH, cloud))
            print(f"{'typical, as CloudEvents':36} {len(cloud) // EVENTS:9} {'':8} {per_event(whole)}")
    print("\nms for a hostile request                          verdict   refused")
    for name, document in HOSTILE.items():
        bomb = b'{"events":[{"data":' + document + b"}]}"
        verdict = timed(partial(storable, document))
        refused = timed(partial(decode, Content.EVENTS, bomb))
        found = ", ".join(flaw.code for flaw in flaws(document)) or "no flaw"
        print(f"{name:36} {verdict * 1e3:18.1f} {refused * 1e3:9.1f}   {found}")


def batches(payload: Callable[[int], Any]) -> tuple[bytes, bytes]:
    events = [{"key": f"k{n}", "type": "order.created", "data": payload(n)} for n in range(EVENTS)]
    cloud = [
        {"specversion": "1.0", "id": str(n), "source": "/shop", **event} for n, event in enumerate(events)
    ]
    for event in cloud:
        event["partitionkey"] = event.pop("key")
    return compact({"events": events}), compact(cloud)


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def decode(content: Content, document: bytes) -> None:
    try:
        decode_events(content, [], document, LIMITS, None)
    except GaplessError:
        return


def best(call: Callable[[], object]) -> float:
    """Of several rounds the least: what others on the machine add is not ours."""
    return min(_rounds(call))


def _rounds(call: Callable[[], object]) -> Iterator[float]:
    times = max(1, round(SECONDS_PER_ROUND / timed(call)))
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(times):
            call()
        yield (time.process_time() - started) / times


def timed(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return max(time.process_time() - started, 1e-6)


def per_event(seconds: float) -> str:
    return f"{seconds / EVENTS * 1e6:8.2f}"


if __name__ == "__main__":
    main()
