"""A consumer group whose members repeat each call until they know its outcome, and what they were told."""

import asyncio
import itertools
import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import httpx

from tests.soak.work import PARTITIONS, RETRY_SECONDS, TOPIC, Position
from tests.support.wait import PATIENCE_SECONDS, until

PATH = f"/v1/topics/{TOPIC}/subscriptions/soak"
LEASE_SECONDS = 1.0
MAX_EVENTS = 200
MOST_WORK_SECONDS = 0.1
REJECTED_SHARE = 0.01
NACKED_SHARE = 0.02
ACKED_BY_CLAIM_SHARE = 0.5
SETTINGS = {
    "start": "earliest",
    "backfill": True,
    "ordering": "partition",
    "lease_seconds": LEASE_SECONDS,
    "backoff_seconds": 0,
    # So that events die because they were rejected, and for nothing else.
    "max_attempts": 1_000,
}
_AT_REST = ("lag", "in_flight", "retrying")


class Standing(NamedTuple):
    """What the service says of a group that has nothing left to do."""

    acked: int
    dead: frozenset[Position]


class Lease(NamedTuple):
    token: str
    names: Mapping[Position, str]


class Group:
    """All members note here what they did, in the order in which they did it."""

    def __init__(self, base_url: str, members: int, dice: random.Random) -> None:
        self.consumers = [Consumer(base_url, f"member-{n}", self, dice) for n in range(members)]
        self.seen: dict[Position, str] = {}
        """What was delivered, in the order of first deliveries."""
        self.acked: dict[Position, str] = {}
        """By which lease."""
        self.rejected: set[Position] = set()
        """Those that a member tried to reject; its lease may have been lost."""
        self.dead_lettered: set[Position] = set()
        """Those of which a member was told that they are dead."""
        self.standing: Standing | None = None
        self.leases = 0
        self.lost = 0
        self.problems: list[str] = []
        self._base_url = base_url

    async def create(self) -> None:
        async with httpx.AsyncClient(base_url=self._base_url, timeout=PATIENCE_SECONDS) as client:
            (await client.put(PATH, json=SETTINGS)).raise_for_status()

    def stop(self) -> None:
        """Its members end when what they hold is settled."""
        for consumer in self.consumers:
            consumer.stop()

    async def caught_up(self, within_seconds: float) -> None:
        async with httpx.AsyncClient(base_url=self._base_url, timeout=PATIENCE_SECONDS) as client:

            async def at_rest() -> Standing | None:
                answer = await client.get(PATH)
                if not answer.is_success or any(answer.json()[name] for name in _AT_REST):
                    return None
                return Standing(answer.json()["acked"], frozenset(await _dead_letters(client)))

            self.standing = await until(at_rest, within_seconds)

    def has_seen(self, positions: Iterable[Position]) -> bool:
        return all(position in self.seen for position in positions)

    def note_delivery(self, lease: Lease) -> None:
        self.leases += 1
        for position, name in lease.names.items():
            if self.seen.setdefault(position, name) != name:
                self.problems.append(f"{position} was {self.seen[position]}, and later {name}")

    def note_acked(self, positions: Iterable[Position], token: str) -> None:
        for position in positions:
            if self.acked.setdefault(position, token) != token:
                self.problems.append(f"{position} was acked in two leases")

    def wrong(self, expected: Mapping[Position, str]) -> list[str]:
        """How it differs from a group that was given these events and settled each of them."""
        found = list(self.problems)
        if self.standing is None:
            return [*found, "the group never came to rest"]
        dead = self.standing.dead
        if self.standing.acked != len(self.acked):
            found.append(f"{self.standing.acked} are acked, and members were told of {len(self.acked)}")
        settled = self.acked.keys() | dead
        for what, positions in {
            "both acked and dead": self.acked.keys() & dead,
            "neither acked nor dead": expected.keys() - settled,
            "settled, but never acknowledged": settled - expected.keys(),
            "dead, but never rejected": dead - self.rejected,
            "said to be dead, but is not": self.dead_lettered - dead,
        }.items():
            found += [f"{position} is {what}" for position in sorted(positions)]
        found += [
            f"the group at {place}: was given {self.seen.get(place)}, acknowledged {expected.get(place)}"
            for place in sorted(self.seen.keys() | expected.keys())
            if self.seen.get(place) != expected.get(place)
        ]
        for partition in range(PARTITIONS):
            offsets = [position[1] for position in self.seen if position[0] == partition]
            found += [
                f"partition {partition}: the group was given {earlier} before {later}"
                for earlier, later in itertools.pairwise(offsets)
                if earlier > later
            ]
        return found


class Consumer:
    """Claims and settles until it is stopped; rejects some events and nacks some."""

    def __init__(self, base_url: str, name: str, group: Group, dice: random.Random) -> None:
        self._base_url = base_url
        self._name = name
        self._group = group
        self._dice = dice
        self._requests = itertools.count()
        self._unsettled: Lease | None = None
        """The next claim acks it."""
        self._going = True

    def stop(self) -> None:
        self._going = False

    async def run(self) -> None:
        async with httpx.AsyncClient(base_url=self._base_url, timeout=10) as client:
            while self._going or self._unsettled is not None:
                lease = await self._claim(client)
                if lease is not None:
                    self._group.note_delivery(lease)
                    await asyncio.sleep(self._dice.uniform(0, MOST_WORK_SECONDS))
                    await self._settle(client, lease)

    async def vanish(self) -> set[Position]:
        """Claim until something new comes, and be gone with it, as a process that is killed is."""
        async with httpx.AsyncClient(base_url=self._base_url, timeout=10) as client:
            while True:
                lease = await self._claim(client)
                if lease is not None and (new := lease.names.keys() - self._group.seen.keys()):
                    return new

    async def _claim(self, client: httpx.AsyncClient) -> Lease | None:
        body: dict[str, Any] = {
            "member": self._name,
            "max_events": MAX_EVENTS,
            "wait": 0.5,
            "request_id": f"{self._name}-{next(self._requests)}",
        }
        if self._unsettled is not None:
            body["ack"] = self._unsettled.token
        claimed = await self._insist(client, "claim", body)
        assert claimed is not None
        if self._unsettled is not None:
            if claimed["acked"][0]["status"] == "lease_lost":
                self._group.lost += 1
            else:
                self._group.note_acked(self._unsettled.names, self._unsettled.token)
            self._unsettled = None
        if claimed["lease"] is None:
            return None
        partition = claimed["lease"]["partition"]
        names = {(partition, event["offset"]): event["data"]["name"] for event in claimed["events"]}
        return Lease(claimed["lease"]["token"], names)

    async def _settle(self, client: httpx.AsyncClient, lease: Lease) -> None:
        partition = next(iter(lease.names))[0]
        rejected = {position for position in lease.names if self._dice.random() < REJECTED_SHARE}
        nacked = {position for position in lease.names if self._dice.random() < NACKED_SHARE} - rejected
        path = f"leases/{lease.token}"
        if rejected:
            self._group.rejected |= rejected
            body = {"offsets": [offset for _, offset in rejected], "reason": "of no use"}
            told = await self._insist(client, f"{path}/reject", body)
            self._group.dead_lettered |= _told(told, "dead_lettered", partition)
        if nacked:
            await self._insist(
                client, f"{path}/nack", {"offsets": [offset for _, offset in nacked], "delay": 0}
            )
        if self._going and self._dice.random() < ACKED_BY_CLAIM_SHARE:
            rest = {at: name for at, name in lease.names.items() if at not in rejected | nacked}
            self._unsettled = Lease(lease.token, rest)
            return
        told = await self._insist(client, f"{path}/ack", {})
        if told is None:
            self._group.lost += 1
        acked = _told(told, "acked", partition) | _told(told, "already_acked", partition)
        self._group.note_acked(acked, lease.token)

    async def _insist(
        self, client: httpx.AsyncClient, path: str, body: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """None where the lease was lost."""
        while True:
            try:
                answer = await client.post(f"{PATH}/{path}", json=body)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.is_success:
                told: dict[str, Any] = answer.json()
                return told
            if answer is not None and answer.status_code != 503:
                if answer.status_code == 409 and answer.json()["code"] == "lease_lost":
                    return None
                self._group.problems.append(f"{answer.status_code} for {path}: {answer.text[:200]}")
            await asyncio.sleep(RETRY_SECONDS)


def _told(answer: Mapping[str, Any] | None, status: str, partition: int) -> set[Position]:
    """The events that became that."""
    return {
        (partition, offset)
        for run in (answer or {"results": ()})["results"]
        if run["status"] == status
        for offset in range(run["first_offset"], run["last_offset"] + 1)
    }


async def _dead_letters(client: httpx.AsyncClient) -> set[Position]:
    found: set[Position] = set()
    after: int | None = 0
    while after is not None:
        answer = await client.get(f"{PATH}/dead-letters", params={"limit": 1000, "after": after})
        page = answer.raise_for_status().json()
        found |= {(letter["partition"], letter["offset"]) for letter in page["dead_letters"]}
        after = page["next_after"]
    return found
