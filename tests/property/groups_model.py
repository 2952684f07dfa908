"""What consumer groups promise, in plain Python: written from the contract, not from the SQL.

Every event that a group holds is in one state: waiting, retrying, in flight, acked, dead or skipped. The
model says what an operation answers and what it changes. Where the contract leaves a choice (which
of the claimable events a lease has, when a jittered retry is due, when an expired lease is noticed)
it takes the answer and insists that it was one of those allowed.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

ACKED, DEAD, SKIPPED = "acked", "dead", "skipped"
FORGOTTEN_AFTER = timedelta(minutes=10)


class Written(NamedTuple):
    """An event as it was published."""

    data: str
    key: str | None
    transaction: str | None


@dataclass
class Log:
    segment: int
    first: int = 1
    earliest: int = 1
    tip: int = 0
    events: dict[int, Written] = field(default_factory=dict)

    def __deepcopy__(self, memo: Any) -> "Log":
        return self

    def units(self, offsets: Iterable[int]) -> list[list[int]]:
        """Transactions, or what `offsets` has of them, in order; an event that stands alone is one."""
        found: list[list[int]] = []
        for offset in sorted(offsets):
            name = self.events[offset].transaction
            if (
                name is not None
                and found
                and found[-1][-1] == offset - 1
                and self.events[offset - 1].transaction == name
            ):
                found[-1].append(offset)
            else:
                found.append([offset])
        return found

    def keys(self, offsets: Iterable[int]) -> set[str]:
        return {key for offset in offsets if (key := self.events[offset].key) is not None}

    def keys_of_whole(self, offsets: Iterable[int]) -> set[str]:
        """Those of their transactions too: what is left of one that was cut may hold all keys that it had."""
        names = {self.events[offset].transaction for offset in offsets} - {None}
        found = {event.key for event in self.events.values() if event.transaction in names}
        return self.keys(offsets) | {key for key in found if key is not None}

    def transaction_end(self, offset: int) -> int:
        name = self.events[offset].transaction
        while name is not None and offset < self.tip and self.events[offset + 1].transaction == name:
            offset += 1
        return offset


class Settings(NamedTuple):
    ordering: str
    on_dead_letter: str
    delivery: str
    lease_seconds: float
    max_attempts: int
    backoff_seconds: float
    max_backoff_seconds: float
    max_in_flight: int | None


class Retry(NamedTuple):
    attempts: int
    due_at: datetime
    history: tuple[str, ...]


class Letter(NamedTuple):
    status: str
    attempts: int
    reason: str
    history: tuple[str, ...]
    first: int
    last: int


class Given(NamedTuple):
    """A lease in a claim's answer."""

    token: str
    partition: int
    offsets: list[int]
    attempt: int
    expires_at: datetime


class Claimed(NamedTuple):
    status: str
    ack_status: str | None
    given: Given | None
    skipped: int
    due_at: datetime | None
    busy: bool
    # Whether the lease was given before; None where the driver is not told.
    replayed: bool | None


class Asked(NamedTuple):
    """The arguments of a claim; partitions None is all of them."""

    member: str
    max_events: int
    max_bytes: int
    lease_seconds: float | None = None
    ack: str | None = None
    request_id: str | None = None
    partitions: tuple[int, ...] | None = None


@dataclass
class Lease:
    token: str
    partition: int
    member: str
    request_id: str | None
    items: set[int]
    attempt: int
    expires_at: datetime
    # What an event went through before this delivery.
    history: dict[int, tuple[str, ...]]
    # As it was given: a lease may hold keys of what was nacked until it ends.
    given: frozenset[int]
    acked: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    outcome: str | None = None
    ended_at: datetime | None = None

    def is_over(self, now: datetime) -> bool:
        return self.outcome is not None or self.expires_at <= now

    def may_be_forgotten(self, now: datetime) -> bool:
        return self.ended_at is not None and self.ended_at <= now - FORGOTTEN_AFTER

    def statuses(self, asked: Iterable[int]) -> dict[int, str]:
        """Of an ack; what is neither leased nor settled is not_leased."""
        return {offset: self._status(offset) for offset in asked}

    def _status(self, offset: int) -> str:
        if offset in self.failed:
            return "failed"
        if offset in self.acked:
            return "already_acked"
        return "acked" if offset in self.items else "not_leased"


@dataclass
class Place:
    """What a group is at in one partition."""

    log: Log
    partition: int
    settings: Settings
    position: int
    counted_from: int
    started_from: int
    leases: list[Lease] = field(default_factory=list)
    retries: dict[int, Retry] = field(default_factory=dict)
    letters: dict[int, Letter] = field(default_factory=dict)
    # Where seeks went: what is left of a transaction before such an offset stands alone.
    cuts: set[int] = field(default_factory=set)
    # acked, dead or skipped, of what is in no lease, waits for no delivery and lies below position.
    done: dict[int, str] = field(default_factory=dict)

    def count(self, state: str) -> int:
        return sum(found == state for found in self.done.values())

    @property
    def in_flight(self) -> set[int]:
        return {offset for lease in self.leases for offset in lease.items}

    @property
    def waiting(self) -> range:
        return range(max(self.position, self.log.earliest), self.log.tip + 1)

    @property
    def floor(self) -> int:
        return min([self.position, *self.in_flight, *self.retries])

    @property
    def blocks(self) -> bool:
        return self.settings.on_dead_letter == "block"

    @property
    def first_dead(self) -> int | None:
        return min((o for o, letter in self.letters.items() if letter.status == "dead"), default=None)

    def moments(self, now: datetime) -> list[datetime]:
        """When time alone changes something here."""
        found = {lease.expires_at for lease in self.leases}
        found |= {retry.due_at for retry in self.retries.values()}
        return sorted(moment for moment in found if moment > now)

    def check(self) -> None:
        """Each event is in one state, and the counts say so."""
        states = [*self.done, *self.retries]
        for lease in self.leases:
            assert lease.items
            states += lease.items
        assert len(states) == len(set(states)), "an event in two states"
        assert all(offset < self.position for offset in states)
        assert len(states) == self.position - self.counted_from, "an event in no state"

    def units(self, offsets: Iterable[int]) -> Iterator[list[int]]:
        """Whole transactions; those that a seek cut are two."""
        for unit in self.log.units(offsets):
            start = 0
            for place, offset in enumerate(unit):
                if place and offset in self.cuts:
                    yield unit[start:place]
                    start = place
            yield unit[start:]

    def unfinished(self) -> list[int]:
        """What may still be given, in order."""
        return sorted({*self.retries, *self.waiting})

    def attempts(self, offset: int) -> int:
        """Deliveries behind an event that is not in flight."""
        return self.retries[offset].attempts if offset in self.retries else 0

    def is_due(self, offset: int, now: datetime) -> bool:
        return offset not in self.retries or self.retries[offset].due_at <= now

    def has_claimable(self, now: datetime) -> bool:
        """Whether a claim that looks here has to give something."""
        order = self.settings.ordering
        unfinished = self.unfinished()
        if order == "none":
            return any(self.is_due(offset, now) for offset in unfinished)
        if order == "partition":
            if self.leases or not unfinished or self._is_behind_dead(unfinished[0]):
                return False
            return self.is_due(unfinished[0], now)
        held = self._keys_of_leases()
        for unit in self.units(unfinished):
            keys = self.log.keys_of_whole(unit)
            if not keys & held and self.is_due(unit[0], now) and not self._has_dead_before(unit, keys):
                return True
            held |= keys
        return False

    def _keys_of_leases(self) -> set[str]:
        return {key for lease in self.leases for key in self.log.keys_of_whole(lease.given | lease.items)}

    def check_given(self, offsets: list[int], attempt: int, asked: Asked, limit: int, now: datetime) -> None:
        """Insist that this lease was allowed."""
        given = set(offsets)
        unfinished = self.unfinished()
        assert offsets == sorted(given), "a lease is a set of offsets in order"
        assert given, "an empty lease"
        assert given <= set(unfinished), f"{sorted(given - set(unfinished))} may not be given"
        assert all(self.is_due(offset, now) for offset in given), "given before it was due"
        assert {self.attempts(offset) + 1 for offset in given} == {attempt}, "not that many deliveries"
        units = list(self.units(unfinished))
        for unit in units:
            assert given.issuperset(unit) or given.isdisjoint(unit), "a transaction was split"
        chosen = [unit for unit in units if unit[0] in given]
        self._check_order(units, chosen, given)
        # A transaction is given whole, however long, and so is the first of all.
        before_last = sum(map(len, chosen[:-1]))
        assert before_last < limit, "more than the claim asked for"
        if asked.max_bytes == 1:
            assert len(chosen) == 1, "more bytes than the claim asked for"
        elif self.settings.ordering != "key" and offsets[0] >= self.position:
            last = min(self.log.tip, self.position + limit - 1)
            # A lease may end where a segment of the log does.
            end = -(-self.position // self.log.segment) * self.log.segment
            last = self.log.transaction_end(min(last, end))
            assert offsets == list(range(self.position, last + 1)), "less than the claim asked for"

    def _check_order(self, units: list[list[int]], chosen: list[list[int]], given: set[int]) -> None:
        order = self.settings.ordering
        if order == "partition":
            assert not self.leases, "two leases of a partition at once"
            assert chosen == units[: len(chosen)], "given before what comes first in the partition"
            assert not self._is_behind_dead(max(given)), "given while a dead letter blocks"
        elif order == "key":
            held = self.log.keys(self.in_flight)
            for unit in units:
                keys = self.log.keys(unit)
                if unit[0] in given:
                    assert not keys & held, f"given while {keys & held} is held"
                    assert not self._has_dead_before(unit, keys), "given while a dead letter blocks its key"
                else:
                    held |= keys

    def _is_behind_dead(self, offset: int) -> bool:
        first = self.first_dead
        return self.blocks and first is not None and first < offset

    def _has_dead_before(self, unit: list[int], keys: set[str]) -> bool:
        return self.blocks and any(
            letter.status == "dead" and offset < unit[0] and self.log.events[offset].key in keys
            for offset, letter in self.letters.items()
        )

    def move_to(self, position: int, given: set[int], now: datetime) -> None:
        """A claim in key ordering passed over events: each of them has to wait for another of its key."""
        assert self.position <= position <= self.log.tip + 1
        held = self.log.keys_of_whole(self.retries) | self._keys_of_leases()
        if self.blocks:
            held |= self.log.keys(o for o, letter in self.letters.items() if letter.status == "dead")
        for unit in self.units(range(self.position, position)):
            if unit[0] in given:
                continue
            keys = self.log.keys_of_whole(unit)
            assert keys & held, f"{unit} was passed over and waits for nothing"
            held |= keys
            for offset in unit:
                self.retries[offset] = Retry(0, now, ())
        self.position = position

    def take(self, lease: Lease, now: datetime) -> None:
        if self.settings.ordering != "key":
            self.position = max(self.position, max(lease.items) + 1)
        for offset in lease.items:
            retry = self.retries.pop(offset, None)
            lease.history[offset] = retry.history if retry else ()
        if self.settings.delivery == "at_most_once":
            self.done |= dict.fromkeys(lease.items, ACKED)
            lease.acked = set(lease.items)
            lease.outcome, lease.ended_at = ACKED, now
        else:
            self.leases.append(lease)

    def settle(self, lease: Lease, outcome: str, now: datetime) -> None:
        """End a lease: acked is done; the rest, by whole transactions, is for `fail`."""
        units = self.log.units(lease.items)
        if outcome != ACKED:
            units = [unit for unit in units if lease.acked.issuperset(unit)]
        done = {offset for unit in units for offset in unit}
        self._finish(lease, done, outcome, now)
        rest = lease.items - done
        if rest and outcome != "fenced":
            self.fail(lease, rest, outcome, now, now, None)
        lease.failed |= rest
        lease.acked = done

    def _finish(self, lease: Lease, done: set[int], outcome: str, now: datetime) -> None:
        self.done |= dict.fromkeys(done, ACKED)
        lease.outcome, lease.ended_at = outcome, now
        self.leases.remove(lease)

    def fail(
        self,
        lease: Lease,
        offsets: set[int],
        outcome: str,
        due_at: datetime,
        now: datetime,
        reason: str | None,
    ) -> None:
        """These events of a lease are to be delivered again or are dead; the lease is the caller's."""
        is_dead = self.kills(lease, outcome)
        attempts = lease.attempt - (outcome == "released")
        for unit in self.units(offsets):
            for offset in unit:
                history = lease.history[offset] + ((outcome,) if outcome != "released" else ())
                if not is_dead:
                    self.retries[offset] = Retry(attempts, due_at, history)
                    continue
                known = self.letters.get(offset)
                first, last = (known.first, known.last) if known else (unit[0], unit[-1])
                said = reason or {"expired": "lease expired", "failed": "failed"}.get(outcome, "rejected")
                self.letters[offset] = Letter("dead", attempts, said, history, first, last)
                self.done[offset] = DEAD

    def kills(self, lease: Lease, outcome: str) -> bool:
        return outcome == "rejected" or (
            outcome in ("failed", "expired") and lease.attempt >= self.settings.max_attempts
        )

    def shrink(
        self,
        lease: Lease,
        failing: set[int],
        outcome: str,
        due_at: datetime,
        now: datetime,
        reason: str | None,
    ) -> None:
        """Part of a lease, or all of it, fails; what is left ends when all of it is acked."""
        self.fail(lease, failing, outcome, due_at, now, reason)
        lease.items -= failing
        lease.acked -= failing
        lease.failed |= failing
        if not lease.items:
            self._finish(lease, set(), "failed", now)
        elif lease.acked >= lease.items:
            self.settle(lease, ACKED, now)

    def skip_trimmed(self) -> int:
        """What retention took: never claimed, or waiting for another delivery and kept nowhere else."""
        before = self.count(SKIPPED)
        self.done |= dict.fromkeys(range(self.position, self.log.earliest), SKIPPED)
        self.position = max(self.position, self.log.earliest)
        for offset in [offset for offset in self.retries if offset < self.log.earliest]:
            if not self.is_redriven(offset):
                del self.retries[offset]
                self.done[offset] = SKIPPED
        return self.count(SKIPPED) - before

    def is_redriven(self, offset: int) -> bool:
        return offset in self.letters and self.letters[offset].status == "redriven"

    def change_letter(self, offset: int, status: str) -> None:
        self.letters[offset] = self.letters[offset]._replace(status=status)

    def dead_units(self) -> Iterator[tuple[int, list[int]]]:
        """Partition and offsets of whole transactions of dead letters."""
        dead = [offset for offset, letter in self.letters.items() if letter.status == "dead"]
        for unit in self.units(dead):
            yield self.partition, unit

    def redrive(self, unit: list[int], now: datetime) -> None:
        for offset in unit:
            self.change_letter(offset, "redriven")
            del self.done[offset]
            self.retries[offset] = Retry(0, now, self.letters[offset].history)

    def seek(self, target: int, now: datetime) -> None:
        self.cuts = {cut for cut in self.cuts if cut < target} | {target}
        opened = {*self.in_flight, *self.retries}
        for lease in list(self.leases):
            self.settle(lease, "fenced", now)
        self.retries.clear()
        self.letters = {offset: letter for offset, letter in self.letters.items() if offset < target}
        for offset in opened & self.letters.keys():
            self.change_letter(offset, "dead")
        self.done = {o: DEAD for o, letter in self.letters.items() if letter.status in ("dead", "discarded")}
        self.position = target
        self.counted_from = target - len(self.done)
        self.started_from = target

    def abandon(self, up_to: int, status: str, now: datetime) -> int:
        """Give up what is leased or retried there; leases that hold some of it are fenced."""
        for lease in list(self.leases):
            if min(lease.items) <= up_to:
                self.settle(lease, "released", now)
                lease.outcome = "fenced"
        given_up = [offset for offset in self.retries if offset <= up_to]
        for offset in given_up:
            del self.retries[offset]
            if self.is_redriven(offset):
                self.change_letter(offset, status)
                self.done[offset] = DEAD
            else:
                self.done[offset] = SKIPPED
        return len(given_up)

    def force_complete(self, up_to: int, now: datetime) -> int:
        completed = self.abandon(up_to, "discarded", now) + max(0, up_to + 1 - self.position)
        self.done |= dict.fromkeys(range(self.position, up_to + 1), SKIPPED)
        self.position = max(self.position, up_to + 1)
        if self.blocks:
            for offset, letter in self.letters.items():
                if letter.status == "dead" and offset <= up_to:
                    self.change_letter(offset, "discarded")
        return completed


@dataclass
class Group:
    name: str
    settings: Settings
    places: list[Place]
    status: str = "ACTIVE"
    # By token, also those that are over.
    leases: dict[str, Lease] = field(default_factory=dict)

    def place_of(self, lease: Lease) -> Place:
        return self.places[lease.partition]

    def limit(self, asked: Asked, now: datetime) -> int:
        if self.settings.max_in_flight is None:
            return asked.max_events
        in_flight = sum(
            len(lease.items) for place in self.places for lease in place.leases if lease.expires_at > now
        )
        return min(asked.max_events, self.settings.max_in_flight - in_flight)

    def must_give(self, asked: Asked, now: datetime, partitions: Iterable[int]) -> bool:
        return self.limit(asked, now) > 0 and any(self.places[p].has_claimable(now) for p in partitions)

    def moments(self, now: datetime, partitions: Iterable[int]) -> list[datetime]:
        return sorted({moment for p in partitions for moment in self.places[p].moments(now)})

    def claimable_from(self, asked: Asked, now: datetime, partitions: list[int]) -> datetime | None:
        """The first moment at which time alone gives something to claim."""
        future = copy.deepcopy(self)
        for moment in self.moments(now, range(len(self.places))):
            future.notice(moment, partitions)
            if future.must_give(asked, moment, partitions):
                return moment
        return None

    def would_give(self, asked: Asked, now: datetime) -> bool:
        """Whether a claim has to give something once it has noticed what time and retention did."""
        future = copy.deepcopy(self)
        future.notice(now, range(len(self.places)))
        return future.must_give(asked, now, range(len(self.places)))

    def notice(self, now: datetime, partitions: Iterable[int]) -> None:
        """What every claim notices where it looks."""
        for place in (self.places[p] for p in partitions):
            for lease in [lease for lease in place.leases if lease.expires_at <= now]:
                place.settle(lease, "expired", now)
            place.skip_trimmed()

    def requested(self, asked: Asked, now: datetime) -> Lease | None:
        for lease in self.leases.values():
            is_same = (lease.member, lease.request_id) == (asked.member, asked.request_id)
            if asked.request_id is not None and is_same and not lease.is_over(now):
                return lease
        return None
