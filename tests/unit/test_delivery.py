"""How a lease is cut into units and lanes."""

import json

import msgspec
import pytest

from app.cli.delivery import Claim, Unit, lanes, units


def cut(*events: tuple[int, str | None, str | None]) -> list[Unit]:
    """Units of events given as offset, key and transaction."""
    texts = [
        {
            "partition": 0, "offset": offset, "id": f"0-{offset}", "source": "/t", "published_at": "now",
            "data": offset,
            **({"key": key} if key else {}),
            **({"transaction_id": transaction} if transaction else {}),
        }
        for offset, key, transaction in events
    ]  # fmt: skip
    claim = msgspec.json.decode(json.dumps({"status": "ACTIVE", "events": texts}), type=Claim)
    return units(claim.delivered())


def offsets(found: list[Unit]) -> list[list[int]]:
    return [[one.event.offset for one in unit] for unit in found]


def test_a_transaction_is_one_unit_and_another_one_of_its_name_elsewhere_is_not() -> None:
    found = cut(
        (1, None, "a"), (2, None, "a"), (3, None, "b"), (4, None, None), (5, None, None), (7, None, "b")
    )
    assert offsets(found) == [[1, 2], [3], [4], [5], [7]]
    assert offsets(cut((1, None, "a"), (3, None, "a"))) == [[1], [3]]


@pytest.mark.parametrize(
    ("ordering", "expected"),
    [
        ("partition", [[[1], [2], [3], [4, 5], [6]]]),
        ("none", [[[1]], [[2]], [[3]], [[4, 5]], [[6]]]),
        ("key", [[[1], [2], [4, 5]], [[3]], [[6]]]),
    ],
)
def test_lanes_hold_what_must_stay_in_order(ordering: str, expected: list[list[list[int]]]) -> None:
    found = cut((1, "a", None), (2, "b", None), (3, "c", None), (4, "a", "t"), (5, "b", "t"), (6, None, None))
    assert [offsets(lane) for lane in lanes(found, ordering)] == expected


def test_a_whole_event_is_kept_as_it_was_sent() -> None:
    text = b'{"partition":0,"offset":1,"id":"x","source":"/t","published_at":"now","data": {"a":1.10, "a":2}}'
    claim = msgspec.json.decode(b'{"status":"ACTIVE","events":[' + text + b"]}", type=Claim)
    (one,) = claim.delivered()
    assert one.text == text
    assert bytes(one.event.data) == b'{"a":1.10, "a":2}'
