import asyncpg

from tests.support.log import value

# Changing one of these values would send the events of a key to another log.
KNOWN = {("", 256): 109, ("a", 4): 1, ("key", 7): 6, ("clé", 256): 51, ("🙂", 256): 118}


async def test_the_partition_of_a_key_stays_the_same_for_ever(connection: asyncpg.Connection) -> None:
    found = {name: await value(connection, "partition_of", key=name[0], partitions=name[1]) for name in KNOWN}
    assert found == KNOWN


async def test_the_partition_of_a_key_does_not_depend_on_the_collation(
    connection: asyncpg.Connection,
) -> None:
    assert await connection.fetchval(
        "select gapless.partition_of('clé' collate \"C\", 256) ="
        " gapless.partition_of('clé' collate \"POSIX\", 256)"
    )


async def test_partition_of_lies_between_0_and_partitions_minus_1(
    connection: asyncpg.Connection,
) -> None:
    wrong = await connection.fetchval(
        """
        select count(*)
        from generate_series(1, 256) n, generate_series(1, 1000) k
        where gapless.partition_of('k' || k, n) not between 0 and n - 1
        """
    )
    assert wrong == 0


async def test_partition_of_spreads_keys_evenly(connection: asyncpg.Connection) -> None:
    counts = await connection.fetch(
        "select count(*) from generate_series(1, 16000) k group by gapless.partition_of('k' || k, 16)"
    )
    assert len(counts) == 16
    assert all(800 < row[0] < 1200 for row in counts)


async def test_without_a_key_there_is_none(connection: asyncpg.Connection) -> None:
    assert await value(connection, "partition_of", key=None, partitions=4) is None
