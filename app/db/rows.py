"""Rows of SQL functions as the nouns of the service."""

from collections.abc import Sequence

import asyncpg

from app.model import (
    AuditEntry,
    Claimed,
    DeadLetter,
    Event,
    GroupMeasure,
    GroupPosition,
    Lease,
    Measurement,
    Offset,
    OpenLease,
    Run,
    Subscription,
    SubscriptionId,
    Topic,
    TopicId,
    TopicMeasure,
)


def topic_of(row: asyncpg.Record) -> Topic:
    return Topic(
        topic_id=TopicId(row["topic_id"]),
        name=row["name"],
        partitions=row["partitions"],
        description=row["description"],
        segment_events=row["segment_events"],
        idempotency_seconds=row["idempotency_seconds"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        semantics=row["semantics"],
        retention_seconds=row["retention_seconds"],
        max_retention_seconds=row["max_retention_seconds"],
        max_bytes=row["max_bytes"],
    )


def event_of(topic: str, row: asyncpg.Record, start: int) -> Event:
    """`start` is where the columns of gapless.event begin in `row`."""
    (
        _topic_id,
        partition,
        offset,
        published_at,
        _size,
        id_,
        source,
        type_,
        subject,
        time,
        key,
        headers,
        datacontenttype,
        transaction_id,
        data,
        data_bytes,
    ) = tuple(row)[start:]
    return Event(
        topic=topic,
        partition=partition,
        offset=offset,
        published_at=published_at,
        id=id_,
        source=source,
        type=type_,
        subject=subject,
        time=time,
        key=key,
        headers=headers,
        datacontenttype=datacontenttype,
        transaction_id=transaction_id,
        data=data,
        data_bytes=data_bytes,
    )


def subscription_of(row: asyncpg.Record) -> Subscription:
    return Subscription(**{name: row[name] for name in Subscription.__struct_fields__})


def position_of(row: asyncpg.Record) -> GroupPosition:
    names = GroupPosition.__struct_fields__[1:]
    return GroupPosition(partition=row["partition_id"], **{name: row[name] for name in names})


def claimed_of(row: asyncpg.Record) -> Claimed:
    lease = None
    if row["lease"] is not None:
        lease = Lease(
            token=row["lease"],
            partition=row["partition_id"],
            runs=[Run(part.lower, part.upper - 1) for part in row["items"]],
            attempt=row["attempt"],
            expires_at=row["expires_at"],
            seconds_left=row["seconds_left"],
        )
    return Claimed(
        subscription_id=SubscriptionId(row["subscription_id"]),
        status=row["status"],
        ack_status=row["ack_status"],
        lease=lease,
        skipped=row["skipped"],
        lost=row["lost"],
        due_seconds=row["due_seconds"],
        busy=row["busy"],
        replayed=row["replayed"],
        epoch=row["epoch"],
    )


def open_lease_of(row: asyncpg.Record) -> OpenLease:
    return OpenLease(
        partition=row["partition_id"],
        number=row["lease_id"],
        member=row["member"],
        runs=[Run(part.lower, part.upper - 1) for part in row["items"]],
        events=row["events"],
        attempt=row["attempt"],
        claimed_at=row["claimed_at"],
        expires_at=row["expires_at"],
    )


def dead_letter_of(topic: str, row: asyncpg.Record) -> DeadLetter:
    event = None
    if row["published_at"] is not None:
        event = Event(
            topic=topic,
            partition=row["partition_id"],
            offset=Offset(row["log_offset"]),
            published_at=row["published_at"],
            id=row["id"],
            source=row["source"],
            type=row["type"],
            subject=row["subject"],
            time=row["event_time"],
            key=row["key"],
            headers=row["headers"],
            datacontenttype=row["datacontenttype"],
            data=row["data"],
            data_bytes=row["data_bytes"],
            transaction_id=row["transaction_id"],
        )
    return DeadLetter(
        dead_letter_id=row["dead_letter_id"],
        partition=row["partition_id"],
        offset=Offset(row["log_offset"]),
        transaction=Run(row["from_offset"], row["to_offset"]),
        status=row["status"],
        attempts=row["attempts"],
        reason=row["reason"],
        errors=row["errors"],
        dead_at=row["dead_at"],
        updated_at=row["updated_at"],
        event=event,
    )


def audit_entry_of(row: asyncpg.Record) -> AuditEntry:
    return AuditEntry(**{name: row[name] for name in AuditEntry.__struct_fields__})


def measurement_of(rows: Sequence[asyncpg.Record], database: asyncpg.Record) -> Measurement:
    total, *found = rows
    return Measurement(
        all_topics=total["tip"],
        all_groups=total["lag"],
        topics=[
            TopicMeasure(row["topic"], row["earliest"], row["tip"])
            for row in found
            if row["subscription"] is None
        ],
        groups=[
            GroupMeasure(
                row["topic"],
                row["subscription"],
                row["status"],
                row["lag"],
                row["in_flight"],
                row["retrying"],
                row["dead"],
                row["oldest_claimable_seconds"],
            )
            for row in found
            if row["subscription"] is not None
        ],
        notification_queue_usage=database["notification_queue_usage"],
        oldest_xmin_age_seconds=database["oldest_xmin_age_seconds"],
    )
