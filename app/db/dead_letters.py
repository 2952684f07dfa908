"""What groups gave up: one method per SQL function; the statements are calls and nothing else."""

from collections.abc import Sequence

from app.db.calls import Calls
from app.db.rows import dead_letter_of
from app.model import DeadLetter, LetterFilter


class DeadLetterStore(Calls):
    """The audit log notes `actor` for what a call changed; None is the session's user."""

    async def list_dead_letters(
        self,
        topic: str,
        group: str,
        wanted: LetterFilter,
        *,
        status: str | None,
        partition: int | None,
        after: int,
        limit: int,
        max_bytes: int,
    ) -> list[DeadLetter]:
        """At least one, where there is any, and no more once those before take `max_bytes`."""
        rows = await self._read(
            lambda c: c.fetch(
                "select * from gapless.list_dead_letters($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                topic,
                group,
                status,
                partition,
                after,
                limit,
                wanted.type,
                wanted.key,
                wanted.reason,
                max_bytes,
            )
        )
        return [dead_letter_of(topic, row) for row in rows]

    async def get_dead_letter(self, topic: str, group: str, dead_letter_id: int) -> DeadLetter:
        row = await self._read(
            lambda c: c.fetchrow(
                "select * from gapless.get_dead_letter($1, $2, $3)", topic, group, dead_letter_id
            )
        )
        return dead_letter_of(topic, row)

    async def redrive(
        self,
        topic: str,
        group: str,
        ids: Sequence[int] | None,
        wanted: LetterFilter,
        limit: int,
        *,
        actor: str | None = None,
    ) -> int:
        """Give dead letters back to their group; answers how many events."""
        redriven = await self._choose(
            "select gapless.redrive($1, $2, $3, $4, $5, $6, $7, $8)", topic, group, ids, wanted, limit, actor
        )
        self._metrics.redriven(redriven)
        return redriven

    async def discard(
        self,
        topic: str,
        group: str,
        ids: Sequence[int] | None,
        wanted: LetterFilter,
        limit: int,
        *,
        actor: str | None = None,
    ) -> int:
        """Give dead letters up for good; answers how many events."""
        return await self._choose(
            "select gapless.discard($1, $2, $3, $4, $5, $6, $7, $8)", topic, group, ids, wanted, limit, actor
        )

    async def _choose(
        self,
        statement: str,
        topic: str,
        group: str,
        ids: Sequence[int] | None,
        wanted: LetterFilter,
        limit: int,
        actor: str | None,
    ) -> int:
        return int(
            await self._write(
                lambda c: c.fetchval(
                    statement, topic, group, ids, wanted.type, wanted.key, wanted.reason, limit, actor
                )
            )
        )
