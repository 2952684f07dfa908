"""How the whole database stands, for operators: read in bounded statements, and not at every scrape."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from app.errors import GaplessError, is_told
from app.model import Measurement
from app.outage import Outage

PATIENCE_SECONDS = 5.0
LOGS_PER_TOPIC = 4
"""Each partition costs a few index probes, so topics with many of them use up the limit sooner."""

log = structlog.get_logger(__name__)


class Measured(Protocol):
    async def measure(self, max_topics: int, max_logs: int) -> Measurement: ...


class DatabaseGauges:
    """Scrapes that come together, or soon after another, share what was read."""

    def __init__(
        self, store: Measured, *, max_topics: int, keep_seconds: float, now: Callable[[], float]
    ) -> None:
        self._store = store
        self._max_topics = max_topics
        self._keep_seconds = keep_seconds
        self._now = now
        self._outage = Outage(partial(log.warning, "database_not_measured"))
        self._measuring = asyncio.Lock()
        self._measured_at: float | None = None
        self._found: Measurement | None = None

    async def refresh(self) -> None:
        """Never raises: without the database there is nothing to tell but that."""
        async with self._measuring:
            if self._measured_at is not None and self._now() < self._measured_at + self._keep_seconds:
                return
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    self._found = await self._store.measure(
                        self._max_topics, self._max_topics * LOGS_PER_TOPIC
                    )
            except (GaplessError, TimeoutError) as error:
                self._found = None
                if not is_told(error):
                    self._outage.failed(type(error).__name__)
            self._measured_at = self._now()

    def collect(self) -> Iterable[Metric]:
        found = self._found
        yield _gauge(
            "database_up",
            "1 if the database answered when it was last asked for what follows.",
            found is not None,
        )
        if found is None:
            return
        yield _gauge(
            "notification_queue_usage",
            "How full PostgreSQL's queue of notifications is, from 0 to 1.",
            found.notification_queue_usage,
        )
        yield _gauge(
            "oldest_xmin_age_seconds",
            "Age of the oldest transaction that keeps rows from being vacuumed; 0 without one.",
            found.oldest_xmin_age_seconds,
        )
        yield _gauge("topics", "Topics.", found.all_topics)
        yield _gauge("groups", "Consumer groups that are not cancelled.", found.all_groups)
        yield _gauge(
            "topics_left_out",
            "Topics beyond the limit, without series.",
            found.all_topics - len(found.topics),
        )
        yield _gauge(
            "groups_left_out",
            "Groups beyond the limit, without series.",
            found.all_groups - len(found.groups),
        )
        tip = _by_topic("topic_tip_offset", "Events ever published, over all partitions.")
        earliest = _by_topic("topic_earliest_offset", "First readable offsets, summed over all partitions.")
        for topic in found.topics:
            tip.add_metric((topic.topic,), topic.tip)
            earliest.add_metric((topic.topic,), topic.earliest)
        yield from (tip, earliest)
        yield from _groups(found)


def _groups(found: Measurement) -> Iterable[Metric]:
    lag = _by_group("group_lag_messages", "Events that wait, are leased or will be delivered again.")
    age = _by_group("group_oldest_claimable_age_seconds", "Age of the oldest event to claim; 0 without one.")
    in_flight = _by_group("group_inflight_messages", "Leased events.")
    retrying = _by_group("group_retrying_messages", "Events that will be delivered again.")
    dead = _by_group("group_dead_letter_messages", "Dead letters, without those redriven or discarded.")
    status = _by_group("group_status", "1, by status.", "status")
    for group in found.groups:
        labels = (group.topic, group.group)
        lag.add_metric(labels, group.lag)
        # The clock may have stepped back since it was published.
        age.add_metric(labels, max(0.0, group.oldest_claimable_seconds or 0.0))
        in_flight.add_metric(labels, group.in_flight)
        retrying.add_metric(labels, group.retrying)
        dead.add_metric(labels, group.dead)
        status.add_metric((*labels, group.status), 1)
    return (lag, age, in_flight, retrying, dead, status)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gapless_{name}", text, value)


def _by_topic(name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gapless_{name}", text, labels=("topic",))


def _by_group(name: str, text: str, *more: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"gapless_{name}", text, labels=("topic", "group", *more))
