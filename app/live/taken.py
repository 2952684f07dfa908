"""Which partitions of groups were leased through this process just now: a claim had better try others first.

What a claim passes over stays locked until its end, and whoever acks there waits for that.
"""

import random
from collections.abc import Callable

from app.live.directory import read_token
from app.model import SubscriptionId

TAKEN_SECONDS = 1.0
"""A lease may be over without this process hearing of it; its partition is only put last for so long."""
MAX_KNOWN = 100_000


class Taken:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._until: dict[SubscriptionId, dict[int, tuple[str, float]]] = {}

    def take(self, token: str) -> None:
        if len(self._until) >= MAX_KNOWN:
            self._until.clear()
        subscription_id, partition = read_token(token)
        self._until.setdefault(subscription_id, {})[partition] = (token, self._now() + TAKEN_SECONDS)

    def free(self, token: str) -> None:
        subscription_id, partition = read_token(token)
        partitions = self._until.get(subscription_id, {})
        if partitions.get(partition, ("", 0.0))[0] == token:
            del partitions[partition]
            if not partitions:
                del self._until[subscription_id]

    def order(self, subscription_id: SubscriptionId, partitions: int) -> list[int] | None:
        """All partitions, in the order in which to try them; None if any is as good."""
        now = self._now()
        taken = {
            partition for partition, (_, until) in self._until.get(subscription_id, {}).items() if until > now
        }
        if not taken:
            return None
        found = random.sample(range(partitions), partitions)  # nosec B311
        return sorted(found, key=lambda partition: partition in taken)
