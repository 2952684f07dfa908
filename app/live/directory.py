"""Which group a name means: asked once, as a group keeps its number and its topic until it is deleted.

A name may belong to another group later. Whatever is done under an outdated number the database
refuses, or answers with another number, which is noted here.
"""

import re
from typing import NamedTuple

from app.errors import LeaseLost
from app.live.protocols import Groups
from app.model import SubscriptionId, TopicId

MAX_KNOWN = 100_000

_TOKEN = re.compile(r"v1\.([1-9][0-9]{0,8})\.([0-9]{1,3})\.[0-9]{1,18}\.[0-9a-f]{32}", re.ASCII)


class Known(NamedTuple):
    subscription_id: SubscriptionId
    topic_id: TopicId


class Token(NamedTuple):
    """What a lease's token says in the clear; its secret is for the database to judge."""

    subscription_id: SubscriptionId
    partition: int


def read_token(text: str) -> Token:
    found = _TOKEN.fullmatch(text)
    if found is None:
        raise LeaseLost("No lease of this group has that token.")
    return Token(SubscriptionId(int(found[1])), int(found[2]))


class Directory:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._known: dict[tuple[str, str], Known] = {}

    def known(self, topic: str, group: str) -> Known | None:
        return self._known.get((topic, group))

    async def find(self, topic: str, group: str) -> Known:
        return self._known.get((topic, group)) or await self.ask(topic, group)

    async def confirm(self, topic: str, group: str, subscription_id: SubscriptionId) -> Known | None:
        """The group of that name if it has this number; None if it has another."""
        known = await self.find(topic, group)
        if known.subscription_id != subscription_id:
            known = await self.ask(topic, group)
        return known if known.subscription_id == subscription_id else None

    async def check(self, topic: str, group: str, token: str) -> None:
        """Raises LeaseLost for a token that is not one of the group's leases'."""
        await self.find(topic, group)
        subscription_id = read_token(token).subscription_id
        if await self.confirm(topic, group, subscription_id) is None:
            raise LeaseLost("No lease of this group has that token.")

    def clear(self) -> None:
        """Forget everything: in another database the same numbers may be other groups'."""
        self._known.clear()

    async def ask(self, topic: str, group: str) -> Known:
        """Which group has the name now, whatever is known."""
        self._known.pop((topic, group), None)
        found = await self._groups.get_subscription(topic, group)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        known = self._known[topic, group] = Known(found.subscription_id, found.topic_id)
        return known
