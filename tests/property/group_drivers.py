"""Ways to the real thing for the state machine of consumer groups: by SQL, over HTTP, and into its tables."""

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

import asyncpg
import httpx

from tests.property.groups_model import Asked, Claimed, Given, Settings, Written
from tests.support.clock import Clock
from tests.support.log import call, value

REFUSALS = {
    "GP003": "invalid_argument",
    "GP005": "offset_trimmed",
    "GP010": "subscription_not_found",
    "GP011": "subscription_conflict",
    "GP012": "lease_lost",
    "GP013": "dead_letter_not_found",
    "GP014": "subscription_inactive",
}

# What an ack or a nack said about each offset, and when it is due again.
Results = dict[int, tuple[str, datetime | None]]


class Refused(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Moved(NamedTuple):
    partition: int
    from_position: int
    to_position: int
    fenced: int


class Standing(NamedTuple):
    """What a group is at in a partition, as it says itself."""

    earliest: int
    tip: int
    position: int
    floor: int
    lag: int
    waiting: int
    in_flight: int
    retrying: int
    dead: int
    discarded: int
    acked: int
    skipped: int
    blocked: bool


class Driver(Protocol):
    async def publish(
        self, topic: str, events: Sequence[Written], partition: int | None
    ) -> list[tuple[int, int]]: ...
    async def create(self, topic: str, group: str, start: Any, settings: Settings) -> None: ...
    async def delete(self, topic: str, group: str) -> None: ...
    async def claim(self, topic: str, group: str, asked: Asked) -> Claimed: ...
    async def events(self, topic: str, group: str, token: str) -> dict[int, str]: ...
    async def ack(
        self, topic: str, group: str, token: str, offsets: list[int] | None, up_to: int | None
    ) -> Results: ...
    async def nack(
        self,
        topic: str,
        group: str,
        token: str,
        offsets: list[int] | None,
        delay: float | None,
        reason: str | None,
    ) -> Results: ...
    async def reject(
        self, topic: str, group: str, token: str, offsets: list[int] | None, reason: str | None
    ) -> Results: ...
    async def release(self, topic: str, group: str, token: str) -> int: ...
    async def extend(self, topic: str, group: str, token: str, seconds: float | None) -> datetime: ...
    async def verb(self, topic: str, group: str, verb: str) -> None: ...
    async def seek(
        self, topic: str, group: str, to: Any, partition: int | None, dry_run: bool
    ) -> list[Moved]: ...
    async def force_complete(self, topic: str, group: str, partition: int, up_to: int) -> int: ...
    async def settle_letters(
        self, topic: str, group: str, verb: str, ids: list[int] | None, limit: int
    ) -> int: ...
    async def trim(self, topic: str, partition: int, before: int) -> int: ...
    async def standings(self, topic: str, group: str) -> list[Standing]: ...
    async def completion(self, topic: str, partition: int, offset: int) -> tuple[int, int, set[str]]: ...


def start_of(place: Any) -> dict[str, Any]:
    return {"at": place} if isinstance(place, str) else {"at": "offset", **place}


class SqlDriver:
    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def _call(self, function: str, **arguments: Any) -> list[asyncpg.Record]:
        try:
            return await call(self._connection, function, **arguments)
        except asyncpg.PostgresError as error:
            if error.sqlstate not in REFUSALS:
                raise
            raise Refused(REFUSALS[error.sqlstate]) from error

    async def publish(
        self, topic: str, events: Sequence[Written], partition: int | None
    ) -> list[tuple[int, int]]:
        row = (
            await self._call(
                "publish",
                topic=topic,
                data=[event.data for event in events],
                keys=[event.key for event in events],
                transaction_ids=[event.transaction for event in events],
                partition=partition,
            )
        )[0]
        return list(zip(row["partitions"], row["offsets"], strict=True))

    async def create(self, topic: str, group: str, start: Any, settings: Settings) -> None:
        row = (
            await self._call(
                "create_subscription",
                topic=topic,
                group=group,
                start=json.dumps(start_of(start)),
                settings=json.dumps(settings._asdict()),
            )
        )[0]
        assert row["created"]

    async def delete(self, topic: str, group: str) -> None:
        await self._call("delete_subscription", topic=topic, group=group)

    async def claim(self, topic: str, group: str, asked: Asked) -> Claimed:
        row = (await self._call("claim", topic=topic, group=group, **asked._asdict()))[0]
        given = None
        if row["lease"] is not None:
            offsets = [offset for run in row["items"] for offset in range(run.lower, run.upper)]
            given = Given(row["lease"], row["partition_id"], offsets, row["attempt"], row["expires_at"])
        assert row["lost"] == 0
        return Claimed(
            status=row["status"],
            ack_status=row["ack_status"],
            given=given,
            skipped=row["skipped"],
            due_at=row["due_at"],
            busy=row["busy"],
            replayed=row["replayed"],
        )

    async def events(self, topic: str, group: str, token: str) -> dict[int, str]:
        rows = await self._call("read_lease", lease=token)
        offsets = [row["log_offset"] for row in rows]
        assert offsets == sorted(set(offsets))
        return {row["log_offset"]: row["data"] for row in rows}

    async def ack(
        self, topic: str, group: str, token: str, offsets: list[int] | None, up_to: int | None
    ) -> Results:
        return _results(await self._call("ack", lease=token, offsets=offsets, up_to=up_to))

    async def nack(
        self,
        topic: str,
        group: str,
        token: str,
        offsets: list[int] | None,
        delay: float | None,
        reason: str | None,
    ) -> Results:
        return _results(
            await self._call("nack", lease=token, offsets=offsets, delay_seconds=delay, reason=reason)
        )

    async def reject(
        self, topic: str, group: str, token: str, offsets: list[int] | None, reason: str | None
    ) -> Results:
        return _results(await self._call("reject", lease=token, offsets=offsets, reason=reason))

    async def release(self, topic: str, group: str, token: str) -> int:
        return int((await self._call("release", lease=token))[0][0])

    async def extend(self, topic: str, group: str, token: str, seconds: float | None) -> datetime:
        until: datetime = (await self._call("extend", lease=token, lease_seconds=seconds))[0][0]
        return until

    async def verb(self, topic: str, group: str, verb: str) -> None:
        await self._call(verb, topic=topic, group=group)

    async def seek(
        self, topic: str, group: str, to: Any, partition: int | None, dry_run: bool
    ) -> list[Moved]:
        rows = await self._call(
            "seek",
            topic=topic,
            group=group,
            to=json.dumps(start_of(to)),
            partition=partition,
            dry_run=dry_run,
        )
        return [_moved(row, "partition_id") for row in rows]

    async def force_complete(self, topic: str, group: str, partition: int, up_to: int) -> int:
        rows = await self._call("force_complete", topic=topic, group=group, partition=partition, up_to=up_to)
        return int(rows[0][0])

    async def settle_letters(
        self, topic: str, group: str, verb: str, ids: list[int] | None, limit: int
    ) -> int:
        rows = await self._call(verb, topic=topic, group=group, dead_letter_ids=ids, limit=limit)
        return int(rows[0][0])

    async def trim(self, topic: str, partition: int, before: int) -> int:
        return int((await self._call("trim", topic=topic, partition=partition, before=before))[0][0])

    async def standings(self, topic: str, group: str) -> list[Standing]:
        rows = await self._call("subscription_positions", topic=topic, group=group)
        assert [row["partition_id"] for row in rows] == list(range(len(rows)))
        return [Standing(*(row[name] for name in Standing._fields)) for row in rows]

    async def completion(self, topic: str, partition: int, offset: int) -> tuple[int, int, set[str]]:
        row = (await self._call("event_completion", topic=topic, partition=partition, offset=offset))[0]
        return row["required_groups"], row["completed_groups"], set(row["pending"])


class HttpDriver:
    """Over a service on the same database; `clock` says what its relative times mean."""

    def __init__(self, base_url: str, clock: Clock) -> None:
        self._client = httpx.AsyncClient(base_url=base_url, timeout=30)
        self._clock = clock

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        answer = await self._client.request(method, f"/v1/topics/{path}", json=body, params=query)
        if answer.is_success:
            return answer.json() if answer.content else None
        problem = answer.json()
        if problem["code"] in REFUSALS.values():
            raise Refused(problem["code"])
        raise AssertionError(f"{method} {path} {body}: {answer.status_code} {answer.text}")

    async def publish(
        self, topic: str, events: Sequence[Written], partition: int | None
    ) -> list[tuple[int, int]]:
        body = [
            {"data": int(event.data), "key": event.key, "transaction_id": event.transaction}
            for event in events
        ]
        query = {} if partition is None else {"partition": partition}
        answer = await self._ask("POST", f"{topic}/events", {"events": body}, **query)
        return [(event["partition"], event["offset"]) for event in answer["events"]]

    async def create(self, topic: str, group: str, start: Any, settings: Settings) -> None:
        body = {"start": start, **settings._asdict()}
        if start != "latest":
            body["backfill"] = True
        await self._ask("PUT", _group(topic, group), body)

    async def delete(self, topic: str, group: str) -> None:
        await self._ask("DELETE", _group(topic, group))

    async def claim(self, topic: str, group: str, asked: Asked) -> Claimed:
        body = {name: said for name, said in asked._asdict().items() if said is not None}
        answer = await self._ask("POST", f"{_group(topic, group)}/claim", body)
        lease, given = answer["lease"], None
        if lease is not None:
            run = list(range(lease["first_offset"], lease["last_offset"] + 1))
            offsets = lease.get("offsets", run)
            assert offsets != run or "offsets" not in lease
            assert [event["offset"] for event in answer["events"]] == offsets
            given = Given(
                lease["token"], lease["partition"], offsets, lease["attempt"], _time(lease["expires_at"])
            )
        due_at = None
        if answer["retry_after"] is not None:
            due_at = await self._clock.now() + timedelta(seconds=answer["retry_after"])
        assert [one["lease"] for one in answer["acked"]] == [asked.ack] * (asked.ack is not None)
        return Claimed(
            status=answer["status"],
            ack_status=answer["acked"][0]["status"] if asked.ack is not None else None,
            given=given,
            skipped=answer["skipped"],
            due_at=due_at,
            busy=False,
            replayed=None,
        )

    async def events(self, topic: str, group: str, token: str) -> dict[int, str]:
        answer = await self._ask("GET", f"{_group(topic, group)}/leases/{token}")
        offsets = [event["offset"] for event in answer["events"]]
        assert offsets == sorted(set(offsets))
        return {event["offset"]: str(event["data"]) for event in answer["events"]}

    async def _on_lease(self, topic: str, group: str, token: str, verb: str, **body: Any) -> Any:
        said = {name: value for name, value in body.items() if value is not None}
        return await self._ask("POST", f"{_group(topic, group)}/leases/{token}/{verb}", said)

    async def ack(
        self, topic: str, group: str, token: str, offsets: list[int] | None, up_to: int | None
    ) -> Results:
        return _results(
            (await self._on_lease(topic, group, token, "ack", offsets=offsets, up_to=up_to))["results"]
        )

    async def nack(
        self,
        topic: str,
        group: str,
        token: str,
        offsets: list[int] | None,
        delay: float | None,
        reason: str | None,
    ) -> Results:
        answer = await self._on_lease(
            topic, group, token, "nack", offsets=offsets, delay=delay, reason=reason
        )
        return _results(answer["results"])

    async def reject(
        self, topic: str, group: str, token: str, offsets: list[int] | None, reason: str | None
    ) -> Results:
        answer = await self._on_lease(topic, group, token, "reject", offsets=offsets, reason=reason)
        return _results(answer["results"])

    async def release(self, topic: str, group: str, token: str) -> int:
        return int((await self._on_lease(topic, group, token, "release"))["released"])

    async def extend(self, topic: str, group: str, token: str, seconds: float | None) -> datetime:
        answer = await self._on_lease(topic, group, token, "extend", lease_seconds=seconds)
        return _time(answer["expires_at"])

    async def verb(self, topic: str, group: str, verb: str) -> None:
        await self._ask("POST", f"{_group(topic, group)}/{verb}")

    async def seek(
        self, topic: str, group: str, to: Any, partition: int | None, dry_run: bool
    ) -> list[Moved]:
        body = {"to": to, "dry_run": dry_run} | ({} if partition is None else {"partition": partition})
        answer = await self._ask("POST", f"{_group(topic, group)}/seek", body)
        assert answer["dry_run"] == dry_run
        return [_moved(one, "partition") for one in answer["partitions"]]

    async def force_complete(self, topic: str, group: str, partition: int, up_to: int) -> int:
        body = {"partition": partition, "up_to": up_to}
        return int((await self._ask("POST", f"{_group(topic, group)}/force-complete", body))["completed"])

    async def settle_letters(
        self, topic: str, group: str, verb: str, ids: list[int] | None, limit: int
    ) -> int:
        body = {"limit": limit} if ids is None else {"ids": ids}
        answer = await self._ask("POST", f"{_group(topic, group)}/dead-letters/{verb}", body)
        return int(answer["redriven" if verb == "redrive" else "discarded"])

    async def trim(self, topic: str, partition: int, before: int) -> int:
        body = {"partition": partition, "before": before}
        return int((await self._ask("POST", f"{topic}/trim", body))["earliest"])

    async def standings(self, topic: str, group: str) -> list[Standing]:
        answer = await self._ask("GET", _group(topic, group))
        found = [Standing(*(one[name] for name in Standing._fields)) for one in answer["partitions"]]
        for name in ("lag", "waiting", "in_flight", "retrying", "dead", "discarded", "acked", "skipped"):
            assert answer[name] == sum(getattr(one, name) for one in found)
        return found

    async def completion(self, topic: str, partition: int, offset: int) -> tuple[int, int, set[str]]:
        answer = await self._ask("GET", f"{topic}/partitions/{partition}/events/{offset}/completion")
        return answer["required_groups"], answer["completed_groups"], set(answer["pending"])


def _moved(row: Any, partition: str) -> Moved:
    return Moved(row[partition], row["from_position"], row["to_position"], row["fenced_leases"])


def _group(topic: str, group: str) -> str:
    return f"{topic}/subscriptions/{group}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _results(rows: Sequence[Any]) -> Results:
    """One result per offset of runs that must be in order and apart."""
    found: Results = {}
    last = 0
    for row in rows:
        assert last < row["first_offset"] <= row["last_offset"], rows
        last = row["last_offset"]
        due_at = dict(row).get("due_at")
        due_at = _time(due_at) if isinstance(due_at, str) else due_at
        found |= {o: (row["status"], due_at) for o in range(row["first_offset"], last + 1)}
    return found


# One query, as a look follows every step.
LOOK = """
with mine as (
  select s.subscription_id, s.name
  from gapless.subscription s
  join gapless.topic t using (topic_id)
  where t.name = $1 and t.deleted_at is null
)
select m.name, r.kind, r.row
from mine m
cross join lateral (
  select 'newest' as kind, to_json(o) as row
  from (
    select distinct on (c.partition_id) *
    from gapless.consumer_offset c
    where c.subscription_id = m.subscription_id
    order by c.partition_id, c.seq desc
  ) o
  union all
  select 'lease', to_json(l) from gapless.lease l where l.subscription_id = m.subscription_id
  union all
  select 'retry', to_json(r) from gapless.retry_event r where r.subscription_id = m.subscription_id
  union all
  select 'letter', to_json(d)
  from (
    select
      partition_id, dead_letter_id, log_offset, status, attempts, reason, errors, from_offset, to_offset
    from gapless.dead_letter
    where subscription_id = m.subscription_id
  ) d
) r
"""

Where = tuple[str, int]
Row = dict[str, Any]


class Seen(NamedTuple):
    newest: dict[Where, Row]
    # The open ones, by token.
    leases: dict[str, Row]
    retries: dict[Where, list[Row]]
    letters: dict[Where, list[Row]]


class Tables:
    """What the tables hold of the groups of one topic."""

    def __init__(self, connection: asyncpg.Connection, topic: str) -> None:
        self._connection = connection
        self._topic = topic

    async def look(self) -> Seen:
        seen = Seen({}, {}, {}, {})
        leases: list[tuple[Where, Row]] = []
        for name, kind, text in await self._connection.fetch(LOOK, self._topic):
            row = json.loads(text)
            where = (name, row["partition_id"])
            match kind:
                case "newest":
                    seen.newest[where] = row
                case "lease":
                    leases.append((where, row))
                case "retry":
                    row["due_at"] = _time(row["due_at"])
                    seen.retries.setdefault(where, []).append(row)
                case _:
                    seen.letters.setdefault(where, []).append(row)
        for where, row in leases:
            is_open = row["lease_id"] in seen.newest[where]["leases"]
            assert (row["ended_at"] is None) == is_open, row
            if is_open:
                row["expires_at"] = _time(row["expires_at"])
                for name in ("items", "acked", "failed"):
                    row[name] = _offsets(row[name])
                token = f"v1.{row['subscription_id']}.{where[1]}.{row['lease_id']}.{row['secret']}"
                seen.leases[token] = row
        return seen


def _offsets(multirange: str) -> set[int]:
    return {
        offset
        for first, end in re.findall(r"\[(\d+),(\d+)\)", multirange)
        for offset in range(int(first), int(end))
    }


async def create_topic(connection: asyncpg.Connection, topic: str, partitions: int, segment: int) -> None:
    await value(connection, "create_topic", topic=topic, partitions=partitions, segment_events=segment)
