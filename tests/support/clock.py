"""Time as the database sees it, moved by tests."""

from datetime import datetime, timedelta
from typing import ClassVar

import asyncpg


class Clock:
    """Replaces `gapless.clock()` in one database; changes are seen by every session at once."""

    reading: ClassVar[str] = "clock_timestamp() + shift"

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def install(self) -> None:
        await self._connection.execute(
            f"""
            create table gapless.test_clock (
              began timestamptz not null default clock_timestamp(),
              shift interval not null
            );
            insert into gapless.test_clock (shift) values (interval '0');
            create or replace function gapless.clock() returns timestamptz
            language sql volatile security definer
            as $$ select {self.reading} from gapless.test_clock $$;
            """
        )

    async def now(self) -> datetime:
        moment: datetime = await self._connection.fetchval("select gapless.clock()")
        return moment

    async def move(self, by: timedelta) -> None:
        """Forwards, or backwards where `by` is negative; moves add up."""
        await self._connection.execute("update gapless.test_clock set shift = shift + $1", by)


class SlowClock(Clock):
    """Goes on so slowly between moves that a machine which stands still for a while makes nothing late."""

    reading = "began + shift + (clock_timestamp() - began) / 100"


class StillClock(Clock):
    """Stands still between moves, so that a model knows every moment exactly."""

    reading = "began + shift"
