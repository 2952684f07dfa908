from itertools import product

import asyncpg

from tests.support.log import value

LARGEST_TOPIC = 2**31 - 1


async def key(connection: asyncpg.Connection, kind: int, topic_id: int, number: int) -> int:
    return int(await value(connection, "lock_key", kind=kind, topic_id=topic_id, number=number))


async def test_lock_key_is_the_same_for_the_same_and_another_for_every_other(
    connection: asyncpg.Connection,
) -> None:
    named = list(product(range(2, 11), (0, 1, 2, LARGEST_TOPIC), (0, 1, 255)))
    named += [(1, 0, number) for number in (0, 1, 2**16, 2**32, 2**48 - 1)]
    keys = [await key(connection, *name) for name in named]
    assert len(set(keys)) == len(named)
    assert keys == [await key(connection, *name) for name in named]


async def test_lies_in_a_range_of_our_own(connection: asyncpg.Connection) -> None:
    for kind, topic, number in [
        (1, 0, 0),
        (1, 0, 2**48 - 1),
        (2, LARGEST_TOPIC, 255),
        (10, LARGEST_TOPIC, 65535),
    ]:
        found = await key(connection, kind, topic, number)
        assert found >> 56 == 0x47
        assert found >> 48 & 0xFF == kind


async def test_every_caller_in_the_functions_uses_a_listed_kind(connection: asyncpg.Connection) -> None:
    used = await connection.fetchval(
        """
        select array_agg(distinct m[1]::integer order by m[1]::integer)
        from pg_proc p, regexp_matches(p.prosrc, 'lock_key\\(\\s*(\\d+)', 'g') m
        where p.pronamespace = 'gapless'::regnamespace
        """
    )
    assert used == list(range(1, 11))


async def test_the_lock_of_an_idempotency_key_stays_as_it_is_in_versions_that_run_beside_this_one(
    connection: asyncpg.Connection,
) -> None:
    for topic_id, key, as_ever in (
        (1, "k", 5116478638282345522),
        (LARGEST_TOPIC, "ключ", 5116426788294714385),
        (1, "\tloadl", 5116589136509255485),
    ):
        assert await value(connection, "publish_key_lock", topic_id=topic_id, idempotency_key=key) == as_ever
    assert await value(connection, "load_key", topic_id=1, load="l") == 5116589136509255485
