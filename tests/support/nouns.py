"""Topics and claims of which a test says only what matters to it."""

from datetime import UTC, datetime

from app.model import Claimed, Lease, SubscriptionId, Topic, TopicId

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def topic(number: int = 1, name: str = "t", partitions: int = 1) -> Topic:
    return Topic(
        topic_id=TopicId(number),
        name=name,
        partitions=partitions,
        description=None,
        segment_events=1_000_000,
        idempotency_seconds=86_400,
        created_at=NOW,
        updated_at=NOW,
    )


def claimed(lease: Lease | None, group: int = 1) -> Claimed:
    return Claimed(
        subscription_id=SubscriptionId(group),
        status="ACTIVE",
        ack_status=None,
        lease=lease,
        skipped=0,
        lost=0,
        due_seconds=None,
        busy=False,
        replayed=False,
    )
