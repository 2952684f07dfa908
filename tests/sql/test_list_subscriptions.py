from typing import Any

import asyncpg

from tests.support.log import call, create_topic, refused
from tests.support.subscriptions import create_group


async def names(connection: asyncpg.Connection, **arguments: Any) -> list[str]:
    return [row["name"] for row in await call(connection, "list_subscriptions", topic="t", **arguments)]


async def test_without_groups_the_list_is_empty(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    assert await names(connection) == []
    with refused("GP001"):
        await call(connection, "list_subscriptions", topic="u")


async def test_groups_of_a_topic_are_listed_in_the_order_of_their_bytes(
    connection: asyncpg.Connection,
) -> None:
    await create_topic(connection)
    await create_topic(connection, "u")
    for group in ("b", "a-b", "a_b", "a.b", "a", "0"):
        await create_group(connection, group)
    await create_group(connection, "z", "u")
    assert await names(connection) == ["0", "a", "a-b", "a.b", "a_b", "b"]


async def test_pages_follow_each_other_without_a_gap(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for number in range(7):
        await create_group(connection, f"g{number}")
    assert await names(connection, limit=3) == ["g0", "g1", "g2"]
    assert await names(connection, after="g2", limit=3) == ["g3", "g4", "g5"]
    assert await names(connection, after="g5", limit=3) == ["g6"]
    assert await names(connection, after="g6") == []
    assert await names(connection, after="g33") == ["g4", "g5", "g6"]


async def test_a_limit_below_one_lists_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await create_group(connection)
    assert await names(connection, limit=0) == await names(connection, limit=-1) == []


async def test_only_groups_that_the_patterns_match_are_listed_and_pages_stay_full(
    connection: asyncpg.Connection,
) -> None:
    everything = ["a", "orders", "orders.eu", "orders.us", "ordersx", "x.orders", "z"]
    await create_topic(connection)
    for name in everything:
        await create_group(connection, name)
    for patterns, expected in (
        (None, everything),
        (["*"], everything),
        ([], []),
        (["orders"], ["orders"]),
        (["orders.*"], ["orders.eu", "orders.us"]),
        (["orders*", "z", "a*"], ["a", "orders", "orders.eu", "orders.us", "ordersx", "z"]),
        (["order_.eu", "ord%", "o.*", "", "ORDERS", "orders.e?"], []),
    ):
        assert await names(connection, patterns=patterns) == expected
    first = await names(connection, patterns=["orders.*", "z"], limit=2)
    assert first == ["orders.eu", "orders.us"]
    assert await names(connection, patterns=["orders.*", "z"], after=first[-1], limit=2) == ["z"]
