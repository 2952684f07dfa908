import asyncpg

from tests.support.log import call, create_topic


async def names(connection: asyncpg.Connection, **arguments: object) -> list[str]:
    return [row["name"] for row in await call(connection, "list_topics", **arguments)]


async def test_without_topics_the_list_is_empty(connection: asyncpg.Connection) -> None:
    assert await names(connection) == []


async def test_live_topics_come_in_the_order_of_their_bytes(connection: asyncpg.Connection) -> None:
    for name in ["b", "a-b", "a.b", "a_b", "a", "0", "ab", "gone"]:
        await create_topic(connection, name)
    await call(connection, "delete_topic", topic="gone")
    assert await names(connection) == ["0", "a", "a-b", "a.b", "a_b", "ab", "b"]


async def test_pages_of_every_size_hold_each_topic_once(connection: asyncpg.Connection) -> None:
    everything = [f"t{number:02}" for number in range(7)]
    for name in reversed(everything):
        await create_topic(connection, name)
    for limit in (1, 2, 7, 100):
        found: list[str] = []
        while page := await names(connection, after=found[-1] if found else None, limit=limit):
            assert len(page) <= limit
            found += page
        assert found == everything


async def test_after_is_exclusive_and_need_not_exist(connection: asyncpg.Connection) -> None:
    for name in ["a", "c"]:
        await create_topic(connection, name)
    assert await names(connection, after="a") == ["c"]
    assert await names(connection, after="b") == ["c"]
    assert await names(connection, after="c") == []
    assert await names(connection, after="") == await names(connection, after=None) == ["a", "c"]


async def test_a_limit_of_nothing_lists_nothing(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    for limit in (0, -1, None):
        assert await names(connection, limit=limit) == []


async def test_by_default_a_page_holds_100(connection: asyncpg.Connection) -> None:
    for number in range(101):
        await create_topic(connection, f"t{number:03}")
    assert len(await names(connection)) == 100


async def test_only_topics_that_the_patterns_match_are_listed_and_pages_stay_full(
    connection: asyncpg.Connection,
) -> None:
    everything = ["a", "orders", "orders.eu", "orders.us", "ordersx", "x.orders", "z"]
    for name in everything:
        await create_topic(connection, name)
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
