"""The same events for every way of publishing them."""

import json
from typing import NamedTuple

KEYS = 1000
PAD = "abcdefghijklmnopqrstuvwxyz0123456789"


class Batch(NamedTuple):
    """Columns for SQL; `body` is the same as a request of HTTP."""

    data: list[str]
    keys: list[str] | None
    types: list[str]

    @property
    def body(self) -> bytes:
        keys = [f'"key":{json.dumps(key)},' for key in self.keys or ()] or [""] * len(self.data)
        events = [
            f'{{{key}"type":"order.created","data":{data}}}'
            for data, key in zip(self.data, keys, strict=True)
        ]
        return f'{{"events":[{",".join(events)}]}}'.encode()


def make_batch(events: int, size: int, *, keyed: bool) -> Batch:
    """`size` is that of the data of each event, in bytes."""
    data = [_order(number, size) for number in range(events)]
    keys = [f"customer-{number * 7919 % KEYS}" for number in range(events)] if keyed else None
    return Batch(data, keys, ["order.created"] * events)


def _order(number: int, size: int) -> str:
    order = {
        "id": number,
        "customer": {"name": "Ada Lovelace", "city": "London", "vip": number % 2 == 0},
        "total": 1234.5,
        "items": [{"sku": f"A-{item}", "count": item, "price": 9.99} for item in range(4)],
        "note": "",
    }
    missing = size - len(json.dumps(order))
    if missing < 0:
        order = {"id": number, "note": ""}
        missing = size - len(json.dumps(order))
    order["note"] = (PAD * (missing // len(PAD) + 1))[: max(0, missing)]
    return json.dumps(order)
