import asyncpg

from tests.support.log import contents, create_topic, publish, value


async def test_renew_epoch_returns_the_new_epoch_of_the_logs(connection: asyncpg.Connection) -> None:
    before = await value(connection, "epoch")
    renewed = await value(connection, "renew_epoch")
    assert renewed != before
    assert await value(connection, "epoch") == renewed


async def test_each_renewal_gives_another_epoch(connection: asyncpg.Connection) -> None:
    assert len({await value(connection, "renew_epoch") for _ in range(5)}) == 5


async def test_renew_epoch_leaves_the_logs_as_they_are(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "1", idempotency_key="k")
    await value(connection, "renew_epoch")
    assert await contents(connection) == ["1"]
    assert (await publish(connection, "1", idempotency_key="k"))["replayed"]


async def test_an_admin_may_renew_it(admin: asyncpg.Connection) -> None:
    renewed = await value(admin, "renew_epoch")
    assert renewed == await value(admin, "epoch")
