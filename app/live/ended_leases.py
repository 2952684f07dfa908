"""Which leases are over that nobody in this process ended."""

from collections.abc import Collection, Set

from app.live.protocols import Groups
from app.live.sharing import Shared


class EndedLeases:
    """All who ask while a query is under way share the next one, whatever their groups are."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._asked: set[str] = set()
        self._shared = Shared(self._ask)

    async def among(self, tokens: Collection[str]) -> Set[str]:
        """Those whose leases are over, and perhaps others; asked after this call was made."""
        self._asked.update(tokens)
        return await self._shared.answer(None)

    async def _ask(self, _: None) -> Set[str]:
        asked, self._asked = self._asked, set()
        return await self._groups.ended_leases(asked)
