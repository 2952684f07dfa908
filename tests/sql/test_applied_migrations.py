import asyncpg

from app.db.migrate import pending
from tests.conftest import Connect
from tests.support.log import call


async def test_applied_migrations_says_what_the_table_has_to_a_role_that_may_not_read_it(
    connection: asyncpg.Connection, connect: Connect
) -> None:
    admin = await connect(server_settings={"role": "gapless_admin"})
    found = {tuple(row) for row in await call(admin, "applied_migrations")}
    assert found == {
        tuple(row)
        for row in await connection.fetch("select version, name, sha256 from gapless.schema_migration")
    }
    assert await pending(admin) == []
