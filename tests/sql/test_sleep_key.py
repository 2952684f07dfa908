import asyncpg

from tests.support.log import value

BUCKETS = 512


async def test_sleep_key_names_512_buckets_however_many_logs_there_are(
    connection: asyncpg.Connection,
) -> None:
    found = await connection.fetchval(
        """
        select count(distinct gapless.sleep_key(topic_id, partition_id))
        from generate_series(1, 5000) topic_id, generate_series(0, 255, 51) partition_id
        """
    )
    assert found == BUCKETS


async def test_the_partitions_of_a_topic_do_not_share_a_bucket(connection: asyncpg.Connection) -> None:
    for topic_id in (1, 7, 2**31 - 1):
        buckets = await connection.fetchval(
            "select count(distinct gapless.sleep_key($1, p)) from generate_series(0, 255) p", topic_id
        )
        assert buckets == 256


async def test_sleep_key_is_the_same_whenever_it_is_asked(
    connection: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    ours = await value(connection, "sleep_key", topic_id=12, partition=3)
    assert ours == await value(subscriber, "sleep_key", topic_id=12, partition=3)


async def test_a_sleep_key_is_a_lock_of_its_own_kind(connection: asyncpg.Connection) -> None:
    found = await value(connection, "sleep_key", topic_id=2**31 - 1, partition=255)
    assert found >> 48 == 0x4704
    assert found & (2**48 - 1) < BUCKETS
