"""Time as the database sees it, moved by tests."""

from datetime import datetime, timedelta

import asyncpg


class Clock:
    """Replaces `gapless.clock()` in one database; changes are seen by every session at once."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def install(self) -> None:
        await self._connection.execute(
            """
            create table gapless.test_clock (shift interval not null);
            insert into gapless.test_clock values (interval '0');
            create or replace function gapless.clock() returns timestamptz
            language sql volatile security definer
            as $$ select clock_timestamp() + (select shift from gapless.test_clock) $$;
            """
        )

    async def now(self) -> datetime:
        moment: datetime = await self._connection.fetchval("select gapless.clock()")
        return moment

    async def move(self, by: timedelta) -> None:
        """Forwards, or backwards where `by` is negative; moves add up."""
        await self._connection.execute("update gapless.test_clock set shift = shift + $1", by)
