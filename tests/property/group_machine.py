"""Consumer groups against their model: whatever members, admins, retention and time do, both agree.

After every step all that the tables hold of the groups is compared with the model, event by event. No
rule has a precondition: what there is depends on choices that the database makes, so a rule that finds
nothing to work on does something else.
"""

import asyncio
import itertools
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import asyncpg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.property.group_drivers import (
    Driver,
    Moved,
    Refused,
    Results,
    Row,
    Seen,
    Tables,
    create_topic,
)
from tests.property.groups_model import (
    ACKED,
    SKIPPED,
    Asked,
    Claimed,
    Given,
    Group,
    Lease,
    Log,
    Place,
    Settings,
    Written,
)
from tests.support.clock import StillClock
from tests.support.log import publish_many, value

SEGMENT = 1000
# The first partition begins so many events before the end of its first segment.
ROOM = 6
MANY = 1 << 20
NAMES = ("a", "b", "c")
LOOKS = 60

Result = TypeVar("Result")

# Taken modulo what there is.
picks = st.integers(0, 1000)
masks = st.integers(0, 255)
keys = st.sampled_from([None, "k", "k", "l"])
batches = st.lists(keys, min_size=1, max_size=6)
partitions = st.sampled_from([0, 0, 0, 1])
reasons = st.sampled_from([None, "broken"])
# Events to claim right after another step, as what is wrong shows there; 0 claims none.
again = st.sampled_from([0, 2, 100])


@st.composite
def group_settings(draw: st.DrawFn) -> Settings:
    ordering = draw(st.sampled_from(["partition", "partition", "key", "key", "none"]))
    backoff = draw(st.sampled_from([0.0, 4.0]))
    return Settings(
        ordering=ordering,
        on_dead_letter="continue"
        if ordering == "none"
        else draw(st.sampled_from(["continue", "block", "block"])),
        delivery=draw(st.sampled_from(["at_least_once"] * 7 + ["at_most_once"])),
        lease_seconds=30.0,
        max_attempts=draw(st.sampled_from([1, 2, 3, 3])),
        backoff_seconds=backoff,
        max_backoff_seconds=draw(st.sampled_from([6.0, 300.0])),
        max_in_flight=draw(st.sampled_from([None, None, None, 1, 4])),
    )


class World(NamedTuple):
    """What the examples of one test share."""

    runner: asyncio.Runner
    connection: asyncpg.Connection
    driver: Driver
    clock: StillClock
    numbers: "itertools.count[int]"
    # Whether claims can name partitions and tell that one was busy, and how exact their due times are.
    is_direct: bool
    precision: timedelta


class GroupMachine(RuleBasedStateMachine):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.driver = world.driver
        self.topic = f"t{next(world.numbers)}"
        self.now: datetime = self._run(world.clock.now())
        self.groups: dict[str, Group] = {}
        # Tokens of groups that were deleted, with the name of their group.
        self.strays: list[tuple[str, str]] = []
        self.requests = 0
        self.steps = 0
        # What the tables hold, while nothing was called since it was read.
        self.seen: Seen | None = None
        self.written = itertools.count(1)
        # The same choices of partitions in each run of an example.
        self._run(world.connection.execute("select setseed(0.5)"))
        self._run(create_topic(world.connection, self.topic, 2, SEGMENT))
        self.tables = Tables(world.connection, self.topic)
        self.logs = [Log(SEGMENT), Log(SEGMENT)]
        filled = SEGMENT - ROOM
        self._run(publish_many(world.connection, filled, self.topic, partition=0))
        self._run(value(world.connection, "trim", topic=self.topic, partition=0, before=filled + 1))
        self.logs[0].tip, self.logs[0].first, self.logs[0].earliest = filled, filled + 1, filled + 1

    @initialize(chosen=group_settings(), batch=batches, partition=partitions)
    def begin(self, chosen: Settings, batch: list[str | None], partition: int) -> None:
        self.publish(batch, partition, None)
        self.new_group("earliest", 0, chosen)

    # What publishers and retention do.

    @rule(
        batch=batches,
        partition=partitions | st.none(),
        transaction=st.sampled_from([None, "all", "inner", "inner"]),
    )
    def publish(self, batch: list[str | None], partition: int | None, transaction: str | None) -> None:
        """Alone, as one transaction, or as one between two events that stand alone."""
        # A transaction has one partition, so where keys choose it they have to agree.
        if partition is None and len(set(batch) - {None}) > 1:
            transaction = None
        name = f"tx{next(self.written)}" if transaction else None
        events = [Written(str(next(self.written)), key, name) for key in batch]
        if transaction == "inner":
            alone = [Written(str(next(self.written)), batch[0], None) for _ in "ab"]
            events = [alone[0], *events, alone[1]]
        self._publish(events, partition)

    @rule(batch=batches, partition=partitions)
    def publish_a_transaction(self, batch: list[str | None], partition: int) -> None:
        self.publish(batch, partition, "all")

    @rule(by=st.sampled_from(["step", "step", "almost", "second", "minute", "long"]), pick=picks)
    def move_the_clock(self, by: str, pick: int) -> None:
        """Mostly to exactly when something happens, such as the end of a lease."""
        lengths = {"second": 1, "minute": 60, "long": 700}
        if by in lengths:
            self._move(timedelta(seconds=lengths[by]))
            return
        moments = {moment for group in self.groups.values() for moment in group.moments(self.now, (0, 1))}
        if moments:
            chosen = sorted(moments)[pick % min(3, len(moments))] - self.now
            self._move(max(timedelta(0), chosen - timedelta(microseconds=by == "almost")))

    # What members do.

    @rule(
        pick=picks,
        member=st.sampled_from("xyz"),
        max_events=st.sampled_from([1, 2, 3, 100]),
        max_bytes=st.sampled_from([1, MANY, MANY]),
        lease_seconds=st.sampled_from([None, None, 5.0, 60.0]),
        only=st.sampled_from([None, None, (0,), (1,), (1, 0), (0, 7)]),
    )
    def claim(
        self,
        pick: int,
        member: str,
        max_events: int,
        max_bytes: int,
        lease_seconds: float | None,
        only: tuple[int, ...] | None,
    ) -> None:
        self._claim(self._group(pick), Asked(member, max_events, max_bytes, lease_seconds, partitions=only))

    @rule(pick=picks, max_events=st.sampled_from([1, 3, 100]), lease=picks, stale=st.booleans())
    def ack_and_claim(self, pick: int, max_events: int, lease: int, stale: bool) -> None:
        group = self._group(pick)
        found = [x for x in group.leases.values() if stale or not x.is_over(self.now)]
        token = found[lease % len(found)].token if found else "v1.1.0.1." + "0" * 32
        self._claim(group, Asked("x", max_events, MANY, ack=token))

    @rule(pick=picks, max_events=st.integers(1, 2), member=st.sampled_from("xy"), repeated=st.booleans())
    def claim_with_a_request_id(self, pick: int, max_events: int, member: str, repeated: bool) -> None:
        """Sometimes that of the call before, by the same member or by another one."""
        self.requests += not repeated
        asked = Asked("x", max_events, MANY, request_id=f"r{self.requests}")
        self._claim(self._group(pick), asked)
        self._claim(self._group(pick), asked._replace(member=member))

    @rule(pick=picks, max_events=st.sampled_from([2, 100]))
    def claim_plainly(self, pick: int, max_events: int) -> None:
        self._claim(self._group(pick), Asked("x", max_events, MANY))

    @rule(
        pick=picks,
        verb=st.sampled_from(["all", "some", "part", "up_to", "release", "extend"]),
        mask=st.sampled_from([1, 2, 5, 6, 255]),
        beyond=st.booleans(),
        seconds=st.sampled_from([None, 1.0, 90.0]),
        then=st.sampled_from([None, "release", "expire"]),
        again=again,
    )
    def use_a_lease(
        self,
        pick: int,
        verb: str,
        mask: int,
        beyond: bool,
        seconds: float | None,
        then: str | None,
        again: int,
    ) -> None:
        leases = self._leases_or_claim(pick)
        if not leases:
            return
        group, lease = leases[pick % len(leases)]
        match verb:
            case "all":
                self._ack(group, lease, None, None)
            case "some":
                self._ack(group, lease, _some(lease, mask, beyond), None)
            case "part":
                self._ack(group, lease, self._transaction_of(group, lease)[:1], None)
            case "up_to":
                there = sorted(lease.items | lease.failed)
                self._ack(group, lease, None, max(1, there[mask % len(there)] - beyond))
            case "release":
                self._release(group, lease)
            case _:
                self._extend(group, lease, seconds)
        if then == "release":
            self._release(group, lease)
        elif then == "expire" and not lease.is_over(self.now):
            self._move(lease.expires_at - self.now)
        self._claim_on(group, again)

    @rule(
        pick=picks,
        outcome=st.sampled_from(["failed", "rejected"]),
        acked=st.sampled_from([0, 0, 1, 5]),
        part=st.booleans(),
        mask=st.sampled_from([None, 1, 1, 2, 3, 5, 0]),
        delay=st.sampled_from([None, 0.0, 60.0]),
        reason=reasons,
        rest=st.sampled_from([None, None, "failed", "failed", "rejected"]),
        again=again,
    )
    def fail(
        self,
        pick: int,
        outcome: str,
        acked: int,
        part: bool,
        mask: int | None,
        delay: float | None,
        reason: str | None,
        rest: str | None,
        again: int,
    ) -> None:
        """All of a lease, or some and then the rest, after some of it was acked."""
        leases = self._leases_or_claim(pick)
        if not leases:
            return
        group, lease = leases[pick % len(leases)]
        transaction = self._transaction_of(group, lease)
        if acked:
            self._ack(group, lease, transaction[:1] if part else _some(lease, acked, False), None)
        offsets = None if mask is None else _some(lease, mask, False)
        if part:
            offsets = transaction[1:]
        self._give_back(group, lease, offsets, outcome, delay, reason)
        if rest is not None:
            self._give_back(group, lease, None, rest, 0.0, None)
        self._claim_on(group, again)

    @rule(pick=picks, verb=st.sampled_from(["ack", "some", "nack", "reject", "release", "extend", "read"]))
    def use_a_token_that_is_over(self, pick: int, verb: str) -> None:
        """As a member does that was away for too long, or that guesses."""
        if self.strays and pick % 5 == 0:
            self._use_a_stray_token(pick)
            return
        if pick % 5 == 1 and (leases := self._leases()):
            group, lease = leases[pick % len(leases)]
            forged = lease.token[:-32] + "0" * 32
            self._is_refused(self.driver.ack(self.topic, group.name, forged, None, None), "lease_lost")
            return
        over = [
            (group, lease)
            for group in self.groups.values()
            for lease in group.leases.values()
            if lease.is_over(self.now)
        ]
        if not over:
            return
        group, lease = over[pick % len(over)]
        match verb:
            case "ack":
                self._ack(group, lease, None, None)
            case "some":
                self._ack(group, lease, [min(lease.items | lease.failed)], None)
            case "nack" | "reject":
                self._give_back(group, lease, None, "failed" if verb == "nack" else "rejected", None, None)
            case "release":
                self._release(group, lease)
            case "extend":
                self._extend(group, lease, None)
            # One that was acked as it was given is read until it would have expired.
            case _ if group.settings.delivery == "at_least_once" or lease.outcome != ACKED:
                self._is_refused(self.driver.events(self.topic, group.name, lease.token), "lease_lost")

    def _use_a_stray_token(self, pick: int) -> None:
        """Of a group that is gone, even where there is one of its name again."""
        name, token = self.strays[pick % len(self.strays)]
        codes = ("lease_lost", "subscription_not_found")
        self._is_refused(self.driver.ack(self.topic, name, token, None, None), *codes)
        self._is_refused(self.driver.extend(self.topic, name, token, None), *codes)

    # What admins do.

    @rule(
        verb=st.sampled_from(
            [
                "pause",
                "resume",
                "resume",
                "cancel",
                "delete",
                "trim",
                "trim",
                "sweep",
                "completion",
                "complete",
                "complete",
            ]
        ),
        pick=picks,
        partition=partitions,
        at=picks,
    )
    def administer(self, verb: str, pick: int, partition: int, at: int) -> None:
        group = self._group(pick)
        match verb:
            case "pause" | "resume":
                self._pause_or_resume(group, verb)
            case "cancel" | "delete":
                if len(self.groups) > 1:
                    (self._cancel if verb == "cancel" else self._delete)(group)
            case "trim":
                self._trim(partition, self.logs[partition].earliest + at % 4)
            case "sweep":
                self._run(value(self.world.connection, "sweep_leases"))
            case "completion":
                self._ask_who_is_done(partition, at)
            case _:
                self._force_complete(group, partition, at)

    @rule(
        start=st.sampled_from(["earliest", "earliest", "latest", "offset"]),
        pick=picks,
        chosen=group_settings(),
    )
    def new_group(self, start: str, pick: int, chosen: Settings) -> None:
        if len(self.groups) == len(NAMES):
            return
        name = next(name for name in NAMES if name not in self.groups)
        targets = [self._target(log, start, pick) for log in self.logs]
        place = {"offsets": {str(p): target for p, target in enumerate(targets)}}
        asked = start if start != "offset" else place
        self._run(self.driver.create(self.topic, name, asked, chosen))
        places = [
            Place(self.logs[p], p, chosen, position=target, counted_from=target, started_from=target)
            for p, target in enumerate(targets)
        ]
        self.groups[name] = Group(name, chosen, places)

    def _trim(self, partition: int, before: int) -> None:
        log = self.logs[partition]
        log.earliest = max(log.earliest, min(before, log.tip + 1))
        assert self._run(self.driver.trim(self.topic, partition, before)) == log.earliest

    def _delete(self, group: Group) -> None:
        self._run(self.driver.delete(self.topic, group.name))
        del self.groups[group.name]
        self.strays += [(group.name, token) for token in group.leases]

    def _pause_or_resume(self, group: Group, verb: str) -> None:
        done = self.driver.verb(self.topic, group.name, verb)
        if group.status == "CANCELLED":
            self._is_refused(done, "subscription_conflict")
            return
        self._run(done)
        group.status = "PAUSED" if verb == "pause" else "ACTIVE"

    def _cancel(self, group: Group) -> None:
        self._run(self.driver.verb(self.topic, group.name, "cancel"))
        if group.status != "CANCELLED":
            group.status = "CANCELLED"
            for place in group.places:
                place.abandon(MANY, "dead", self.now)

    @rule(
        pick=picks,
        to=st.sampled_from(["earliest", "latest", "offset", "offset", "offset", "before", "beyond"]),
        at=picks,
        partition=partitions | st.none(),
        dry_run=st.sampled_from([False, False, True]),
        again=again,
    )
    def seek(self, pick: int, to: str, at: int, partition: int | None, dry_run: bool, again: int) -> None:
        group = self._group(pick)
        if to in ("before", "beyond"):
            self._seek_too_far(group, at % 2, to)
            return
        if to == "offset" and partition is None:
            partition = at % 2
        moved = range(2) if partition is None else [partition]
        targets = {p: self._target(self.logs[p], to, at) for p in moved}
        if to == "offset" and at % 3:
            # Where it cuts through what is dead.
            for p in moved:
                there = [o for o in group.places[p].letters if o >= self.logs[p].earliest]
                targets[p] = there[at % len(there)] if there else targets[p]
        place: Any = to
        if to == "offset":
            place = {"offsets": {str(p): offset for p, offset in targets.items()}}
        call = self.driver.seek(self.topic, group.name, place, partition, dry_run)
        if group.status == "CANCELLED":
            self._is_refused(call, "subscription_conflict")
            return
        expected = [
            Moved(p, group.places[p].position, targets[p], len(group.places[p].leases)) for p in moved
        ]
        assert self._run(call) == expected
        if not dry_run:
            for p in moved:
                group.places[p].seek(targets[p], self.now)
        self._claim_on(group, again)

    def _seek_too_far(self, group: Group, partition: int, to: str) -> None:
        log = self.logs[partition]
        offset = log.earliest - 1 if to == "before" else log.tip + 2
        if offset and group.status != "CANCELLED":
            place = {"offsets": {str(partition): offset}}
            call = self.driver.seek(self.topic, group.name, place, partition, False)
            self._is_refused(call, "offset_trimmed" if to == "before" else "invalid_argument")

    def _force_complete(self, group: Group, partition: int, pick: int) -> None:
        log, place = self.logs[partition], group.places[partition]
        if group.status != "CANCELLED" and not place.leases:
            self._claim(group, Asked("x", 5, MANY))
        up_to = max(1, log.tip + 1 - pick % 10)
        if (opened := sorted({*place.in_flight, *place.retries, *place.letters})) and pick % 3:
            up_to = opened[pick % len(opened)]
        call = self.driver.force_complete(self.topic, group.name, partition, up_to)
        if up_to > log.tip:
            self._is_refused(call, "invalid_argument")
        elif group.status == "CANCELLED":
            self._is_refused(call, "subscription_conflict")
        else:
            expected = place.force_complete(up_to, self.now)
            assert self._run(call) == expected

    @rule(
        pick=picks,
        verb=st.sampled_from(["redrive", "redrive", "discard"]),
        mask=masks | st.none(),
        limit=st.sampled_from([1, 2, 1000]),
        trim=st.booleans(),
        again=again,
    )
    def settle_dead_letters(
        self, pick: int, verb: str, mask: int | None, limit: int, trim: bool, again: int
    ) -> None:
        having = [group for group in self.groups.values() if any(place.letters for place in group.places)]
        if not having:
            self._settle_letters_of_others(self._group(pick))
            return
        group = having[pick % len(having)]
        ids = self._letter_ids(group)
        chosen = None if mask is None else [number for i, number in enumerate(sorted(ids)) if mask >> i & 1]
        if chosen is not None and not self.world.is_direct:
            limit = 1000  # HTTP takes a limit or ids
        call = self.driver.settle_letters(self.topic, group.name, verb, chosen, limit)
        if verb == "redrive" and group.status == "CANCELLED":
            self._is_refused(call, "subscription_inactive")
            return
        settled = 0
        last: tuple[int, int] | None = None
        for p, unit in [found for place in group.places for found in place.dead_units()]:
            if chosen is not None and not any(ids[number] in [(p, o) for o in unit] for number in chosen):
                continue
            if settled and settled + len(unit) > limit:
                break
            settled += len(unit)
            last = p, unit[-1] + 1
            if verb == "redrive":
                group.places[p].redrive(unit, self.now)
            else:
                for offset in unit:
                    group.places[p].change_letter(offset, "discarded")
        assert self._run(call) == settled
        if trim and last is not None:
            self._trim(*last)
        self._claim_on(group, again)

    def _settle_letters_of_others(self, group: Group) -> None:
        if group.status != "CANCELLED":
            call = self.driver.settle_letters(self.topic, group.name, "redrive", [1 << 40], 10)
            self._is_refused(call, "dead_letter_not_found")

    def _ask_who_is_done(self, partition: int, pick: int) -> None:
        log = self.logs[partition]
        if log.earliest > log.tip:
            return
        offset = log.earliest + pick % (log.tip - log.earliest + 1)
        places = {
            group.name: group.places[partition]
            for group in self.groups.values()
            if group.status in ("ACTIVE", "PAUSED") and group.places[partition].started_from <= offset
        }
        pending = {
            name
            for name, place in places.items()
            if offset >= place.position or offset in place.in_flight or offset in place.retries
        }
        answer = self._run(self.driver.completion(self.topic, partition, offset))
        assert answer == (len(places), len(places) - len(pending), pending)

    # What holds after every step.

    @invariant()
    def the_tables_hold_what_the_model_holds(self) -> None:
        seen = self.seen or self._look()
        self.steps += 1
        assert set(seen.newest) == {(name, p) for name in self.groups for p in (0, 1)}
        for group in self.groups.values():
            for place in group.places:
                place.check()
                _compare(group, place, seen)
        self._compare_standings(self._group(self.steps))

    def _compare_standings(self, group: Group) -> None:
        for place, said in zip(
            group.places, self._read(self.driver.standings(self.topic, group.name)), strict=True
        ):
            assert said.earliest == place.log.earliest
            assert said.tip == place.log.tip
            assert said.position == place.position
            assert said.floor == place.floor
            assert said.waiting == len(place.waiting)
            assert said.in_flight == len(place.in_flight)
            assert said.retrying == len(place.retries)
            assert said.lag == said.waiting + said.in_flight + said.retrying
            assert said.blocked == (place.blocks and place.first_dead is not None)
            # What retention took is told before a claim notices it.
            unnoticed = max(0, place.log.earliest - place.position)
            assert (said.acked, said.skipped) == (place.count(ACKED), place.count(SKIPPED) + unnoticed)
            assert said.dead + said.discarded == place.count("dead")
            assert said.discarded == sum(one.status == "discarded" for one in place.letters.values())

    # The steps themselves.

    def _publish(self, events: list[Written], partition: int | None) -> None:
        for event, (p, offset) in zip(
            events, self._run(self.driver.publish(self.topic, events, partition)), strict=True
        ):
            log = self.logs[p]
            log.tip += 1
            assert offset == log.tip
            log.events[offset] = event

    def _move(self, by: timedelta) -> None:
        self._run(self.world.clock.move(by))
        self.now += by

    def _claim(self, group: Group, asked: Asked) -> None:
        if not self.world.is_direct:
            asked = asked._replace(partitions=None)
        if group.status == "CANCELLED":
            self._is_refused(self.driver.claim(self.topic, group.name, asked), "subscription_inactive")
            return
        answer = self._run(self.driver.claim(self.topic, group.name, asked))
        self._check_ack_of_claim(group, asked, answer)
        assert answer.status == group.status
        if group.status == "PAUSED":
            assert (answer.given, answer.skipped, answer.due_at) == (None, 0, None)
            return
        requested = group.requested(asked, self.now)
        if requested is not None:
            assert answer.given == Given(
                requested.token,
                requested.partition,
                sorted(requested.items),
                requested.attempt,
                requested.expires_at,
            )
            assert answer.replayed is not False
            return
        assert not answer.replayed
        answer = self._until_sure(group, asked, answer)
        self._learn(group, asked, answer)

    def _check_ack_of_claim(self, group: Group, asked: Asked, answer: Claimed) -> None:
        if asked.ack is None:
            assert answer.ack_status is None
            return
        lease = group.leases.get(asked.ack)
        if lease is None or (lease.outcome != ACKED and lease.is_over(self.now)):
            assert answer.ack_status == "lease_lost"
        elif lease.outcome == ACKED:
            forgotten = ["lease_lost"] if lease.may_be_forgotten(self.now) else []
            assert answer.ack_status in ["already_acked", *forgotten]
        else:
            assert answer.ack_status == "acked"
            group.place_of(lease).settle(lease, ACKED, self.now)

    def _until_sure(self, group: Group, asked: Asked, answer: Claimed) -> Claimed:
        """Ask again while the answer is that asking again is worth it."""
        skipped = answer.skipped
        for _ in range(LOOKS):
            is_busy = answer.busy or (not self.world.is_direct and group.would_give(asked, self.now))
            if answer.given is not None or not is_busy:
                return answer._replace(skipped=skipped)
            answer = self._run(self.driver.claim(self.topic, group.name, asked._replace(ack=None)))
            skipped += answer.skipped
        raise AssertionError("busy for ever")

    def _learn(self, group: Group, asked: Asked, answer: Claimed) -> None:
        limit = group.limit(asked, self.now)
        seen = self._look()
        looked = [p for p in (asked.partitions or (0, 1)) if p < 2]
        if answer.given is not None:
            assert answer.given.partition in looked
            end = looked.index(answer.given.partition) if asked.partitions else 0
            looked = [*looked[:end], answer.given.partition]
        skipped = 0
        for place in group.places:
            row = seen.newest[group.name, place.partition]
            if place.partition in looked:
                assert all(lease.expires_at > self.now for lease in place.leases), "expired unnoticed"
            if place.partition in looked or row["skipped"] != place.count(SKIPPED):
                skipped += place.skip_trimmed()
        assert answer.skipped == skipped
        if answer.given is None:
            assert limit <= 0 or not group.must_give(asked, self.now, looked), "there was something to give"
            self._check_due_at(group, asked, answer, looked)
        else:
            assert limit > 0, "more in flight than the group allows"
            assert not group.must_give(asked, self.now, looked[:-1]), "an earlier partition had something"
            place = group.places[answer.given.partition]
            place.check_given(answer.given.offsets, answer.given.attempt, asked, limit, self.now)
        given = set(answer.given.offsets) if answer.given is not None else set()
        for place in group.places:
            row = seen.newest[group.name, place.partition]
            if group.settings.ordering == "key":
                here = answer.given is not None and place.partition == answer.given.partition
                place.move_to(row["position"], given if here else set(), self.now)
        if answer.given is not None:
            self._take(group, asked, answer.given)

    def _take(self, group: Group, asked: Asked, given: Given) -> None:
        seconds = group.settings.lease_seconds if asked.lease_seconds is None else asked.lease_seconds
        assert given.expires_at == self.now + timedelta(seconds=seconds)
        assert given.token not in group.leases
        place = group.places[given.partition]
        lease = Lease(
            token=given.token,
            partition=given.partition,
            member=asked.member,
            request_id=asked.request_id,
            items=set(given.offsets),
            attempt=given.attempt,
            expires_at=given.expires_at,
            history={},
            given=frozenset(given.offsets),
        )
        group.leases[given.token] = lease
        place.take(lease, self.now)
        if lease.outcome is None:
            found = self._read(self.driver.events(self.topic, group.name, given.token))
            assert found == {offset: place.log.events[offset].data for offset in given.offsets}

    def _check_due_at(self, group: Group, asked: Asked, answer: Claimed, looked: list[int]) -> None:
        first = group.claimable_from(asked, self.now, looked)
        if group.settings.max_in_flight is not None and len(looked) < 2:
            first = None  # what is in flight in other partitions is not looked at
        if answer.due_at is None:
            assert first is None, "time alone gives something, and due_at does not say so"
            return
        near = self.world.precision
        moments = group.moments(self.now, looked)
        assert any(abs(answer.due_at - moment) <= near for moment in moments), "nothing happens at due_at"
        assert first is None or answer.due_at <= first + near, "due_at is late"

    def _ack(self, group: Group, lease: Lease, offsets: list[int] | None, up_to: int | None) -> None:
        there = lease.items | lease.failed
        asked = there if offsets is None else set(offsets)
        if up_to is not None:
            asked = {offset for offset in there if offset <= up_to}
        call = self.driver.ack(self.topic, group.name, lease.token, offsets, up_to)
        if lease.is_over(self.now):
            self._ack_of_one_that_is_over(lease, asked, call)
            return
        expected = {offset: (status, None) for offset, status in lease.statuses(asked).items()}
        assert self._run(call) == expected
        lease.acked |= asked & lease.items
        if lease.acked >= lease.items:
            group.place_of(lease).settle(lease, ACKED, self.now)

    def _ack_of_one_that_is_over(
        self, lease: Lease, asked: set[int], call: Coroutine[Any, Any, Results]
    ) -> None:
        results = self._run(_or_lost(call))
        if results is None:
            assert lease.outcome != ACKED or lease.may_be_forgotten(self.now), "its acks had ended it"
            return
        answer = {offset: status for offset, (status, _) in results.items()}
        if lease.outcome == ACKED:
            assert answer == lease.statuses(asked)
        else:
            assert asked, "a lease that is lost was acked"
            assert answer == dict.fromkeys(asked & lease.acked, "already_acked")

    def _give_back(
        self,
        group: Group,
        lease: Lease,
        offsets: list[int] | None,
        outcome: str,
        delay: float | None,
        reason: str | None,
    ) -> None:
        if outcome == "failed":
            call = self.driver.nack(self.topic, group.name, lease.token, offsets, delay, reason)
        else:
            call = self.driver.reject(self.topic, group.name, lease.token, offsets, reason)
        if lease.is_over(self.now):
            self._is_refused(call, "lease_lost")
            return
        place = group.place_of(lease)
        asked = lease.items | lease.failed if offsets is None else set(offsets)
        failing = {
            offset
            for unit in place.log.units(lease.items)
            if not (asked - lease.acked).isdisjoint(unit)
            for offset in unit
        }
        status = "dead_lettered" if place.kills(lease, outcome) else "retrying"
        expected = lease.statuses(asked) | dict.fromkeys(failing, status)
        answer = self._run(call)
        assert {offset: said for offset, (said, _) in answer.items()} == expected
        dues = {due_at for said, due_at in answer.values() if said == "retrying"}
        assert all(due_at is None for said, due_at in answer.values() if said != "retrying")
        due_at = self.now
        if dues:
            (found,) = dues
            assert found is not None
            due_at = found
            self._check_backoff(group, lease, delay, due_at - self.now)
        if failing:
            place.shrink(lease, failing, outcome, due_at, self.now, reason)

    def _check_backoff(self, group: Group, lease: Lease, delay: float | None, wait: timedelta) -> None:
        chosen = group.settings
        if delay is not None:
            assert wait == timedelta(seconds=delay)
        else:
            longest = min(chosen.max_backoff_seconds, chosen.backoff_seconds * 2 ** (lease.attempt - 1))
            assert timedelta(seconds=longest / 2) <= wait <= timedelta(seconds=longest)

    def _release(self, group: Group, lease: Lease) -> None:
        call = self.driver.release(self.topic, group.name, lease.token)
        if lease.is_over(self.now):
            given_back = self._run(_or_lost(call))
            assert given_back == 0 or (given_back is None and lease.may_be_forgotten(self.now))
            return
        place = group.place_of(lease)
        units = [unit for unit in place.log.units(lease.items) if not lease.acked.issuperset(unit)]
        released = {offset for unit in units for offset in unit}
        place.shrink(lease, released, "released", self.now, self.now, None)
        assert self._run(call) == len(released)

    def _extend(self, group: Group, lease: Lease, seconds: float | None) -> None:
        call = self.driver.extend(self.topic, group.name, lease.token, seconds)
        if lease.is_over(self.now):
            self._is_refused(call, "lease_lost")
            return
        lease.expires_at = self.now + timedelta(
            seconds=group.settings.lease_seconds if seconds is None else seconds
        )
        assert self._run(call) == lease.expires_at

    def _look(self) -> Seen:
        """What the tables hold; expired leases that somebody noticed are settled in the model too."""
        seen = self._run(self.tables.look())
        self.seen = seen
        for group in self.groups.values():
            for place in group.places:
                for lease in list(place.leases):
                    if lease.expires_at <= self.now and lease.token not in seen.leases:
                        place.settle(lease, "expired", self.now)
                        _adopt_due_times(group, place, lease, seen)
        return seen

    def _target(self, log: Log, to: str, pick: int) -> int:
        if to == "earliest":
            return log.earliest
        if to == "latest":
            return log.tip + 1
        return log.earliest + pick % (log.tip - log.earliest + 2)

    def _group(self, pick: int) -> Group:
        return list(self.groups.values())[pick % len(self.groups)]

    def _leases_or_claim(self, pick: int) -> list[tuple[Group, Lease]]:
        """A search that leaves publishing or claiming out, as most do, would otherwise have nothing."""
        if not self._leases():
            group = self._group(pick)
            if not any(place.unfinished() for place in group.places):
                several = [["k", "l"], ["k", None], [None, "l"], ["k", "k", "l"]][pick % 4]
                self.publish(several, 0, "inner")
                self.publish(several, 0, None)
            self._claim(group, Asked("x", 1 + pick % 7, MANY))
        return self._leases()

    def _transaction_of(self, group: Group, lease: Lease) -> list[int]:
        """The first one in a lease; empty where all of its events stand alone."""
        units = group.place_of(lease).log.units(lease.items)
        return next((unit for unit in units if len(unit) > 1), [])

    def _claim_on(self, group: Group, max_events: int) -> None:
        if max_events:
            self._claim(group, Asked("z", max_events, MANY))

    def _leases(self) -> list[tuple[Group, Lease]]:
        return [
            (group, lease)
            for group in self.groups.values()
            for place in group.places
            for lease in place.leases
            if not lease.is_over(self.now)
        ]

    def _letter_ids(self, group: Group) -> dict[int, tuple[int, int]]:
        seen = self._read(self.tables.look())
        return {
            row["dead_letter_id"]: (p, row["log_offset"])
            for p in (0, 1)
            for row in seen.letters.get((group.name, p), [])
        }

    def _is_refused(self, call: Coroutine[Any, Any, Any], *codes: str) -> None:
        with pytest.raises(Refused) as refused:
            self._run(call)
        assert refused.value.code in codes, refused.value.code

    def _run(self, call: Coroutine[Any, Any, Result]) -> Result:
        self.seen = None
        return self._read(call)

    def _read(self, call: Coroutine[Any, Any, Result]) -> Result:
        """Run what changes nothing."""
        return self.world.runner.run(call)


async def _or_lost(call: Coroutine[Any, Any, Result]) -> Result | None:
    """None where the lease is lost."""
    try:
        return await call
    except Refused as refused:
        if refused.code != "lease_lost":
            raise
        return None


def _some(lease: Lease, mask: int, beyond: bool) -> list[int]:
    there = sorted(lease.items | lease.failed)
    return [o for i, o in enumerate(there) if mask >> i % 8 & 1] + [there[-1] + 1] * beyond


def _adopt_due_times(group: Group, place: Place, lease: Lease, seen: Seen) -> None:
    """What expired is due since that was noticed, which may be a while ago."""
    for row in seen.retries.get((group.name, place.partition), []):
        for offset in range(row["from_offset"], row["to_offset"] + 1):
            if offset in lease.items and offset in place.retries:
                assert row["due_at"] >= lease.expires_at or row["lease_id"] is not None
                place.retries[offset] = place.retries[offset]._replace(due_at=row["due_at"])


def _compare(group: Group, place: Place, seen: Seen) -> None:
    row = seen.newest[group.name, place.partition]
    counted = row["acked"] + row["dead"] + row["skipped"] + row["in_flight"] + row["retrying"]
    assert row["position"] - row["counted_from"] == counted, "the counts do not add up"
    assert (row["position"], row["counted_from"]) == (place.position, place.counted_from)
    assert row["in_flight"] == len(place.in_flight)
    assert row["retrying"] == len(place.retries)
    assert (row["acked"], row["skipped"]) == (place.count(ACKED), place.count(SKIPPED))
    assert row["dead"] == place.count("dead")
    _compare_leases(place, {t: lease for t, lease in seen.leases.items() if t in group.leases}, row)
    _compare_retries(place, seen.retries.get((group.name, place.partition), []))
    letters = seen.letters.get((group.name, place.partition), [])
    assert {found["log_offset"]: _letter(found) for found in letters} == {
        offset: (*letter[:3], list(letter.history), *letter[4:]) for offset, letter in place.letters.items()
    }


def _letter(row: Row) -> tuple[Any, ...]:
    names = ("status", "attempts", "reason", "errors", "from_offset", "to_offset")
    return tuple(_outcomes(row["errors"]) if name == "errors" else row[name] for name in names)


def _outcomes(errors: list[dict[str, Any]]) -> list[str]:
    return [error["outcome"] for error in errors]


def _compare_leases(place: Place, rows: dict[str, Row], newest: Row) -> None:
    assert len(newest["leases"]) == len(place.leases)
    for lease in place.leases:
        row = rows[lease.token]
        for name in ("items", "acked", "failed"):
            assert row[name] == getattr(lease, name), name
        assert row["events"] == len(lease.items)
        found = (row["member"], row["attempt"], row["expires_at"])
        assert found == (lease.member, lease.attempt, lease.expires_at)


def _compare_retries(place: Place, rows: list[Row]) -> None:
    waiting: dict[int, tuple[int, datetime, list[str], bool]] = {}
    leased: dict[int, list[str]] = {}
    for row in rows:
        outcomes = _outcomes(row["errors"])
        for offset in range(row["from_offset"], row["to_offset"] + 1):
            assert offset not in {*waiting, *leased}, f"{offset} waits twice"
            if row["lease_id"] is None:
                waiting[offset] = (row["attempts"], row["due_at"], outcomes, row["redriven"])
            else:
                leased[offset] = outcomes
    assert waiting == {
        offset: (retry.attempts, retry.due_at, list(retry.history), place.is_redriven(offset))
        for offset, retry in place.retries.items()
    }
    history = {offset: found for lease in place.leases for offset, found in lease.history.items()}
    in_flight = place.in_flight
    assert leased == {o: list(history[o]) for o in leased.keys() & in_flight}, "kept for no lease"
    assert all(o in leased for o in in_flight if history[o]), "a history was forgotten"
