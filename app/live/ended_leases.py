"""Which leases are over that nobody here ended: all who ask while a query is under way share the next one."""

import asyncio
from collections.abc import Collection, Set

from app.live.protocols import Groups


class EndedLeases:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._turn = asyncio.Lock()
        self._asked: set[str] = set()
        self._next: asyncio.Task[Set[str]] | None = None

    async def among(self, tokens: Collection[str]) -> Set[str]:
        """Those whose leases are over, and perhaps others; asked after this call was made."""
        self._asked.update(tokens)
        if self._next is None:
            self._next = asyncio.create_task(self._ask())
            self._next.add_done_callback(_retrieve)
        # One caller that goes away must not cancel it for the others.
        return await asyncio.shield(self._next)

    async def _ask(self) -> Set[str]:
        async with self._turn:
            asked, self._asked, self._next = self._asked, set(), None
            return await self._groups.ended_leases(asked)


def _retrieve(task: asyncio.Task[Set[str]]) -> None:
    if not task.cancelled():
        task.exception()
