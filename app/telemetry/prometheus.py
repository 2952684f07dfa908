"""What a process did and how it stands, for Prometheus; the one module that knows its client.

Each service has a registry of its own. With `metrics_dir`, several worker processes keep their numbers in
files of that folder, and each of them answers for all: see `empty_folder` and `forget_worker`.
"""

import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    multiprocess,
    values,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from app import __version__
from app.errors import MetricsFolderRefused
from app.metrics import Metrics
from app.model import GapReason

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
DEADLINES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
SHORT = (0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5)

_NUMBERS = re.compile(r"(?:counter|histogram|gauge_[a-z]+)_\d+\.db")
"""The client's files, one of each kind for every process."""

# What is read of the process at each scrape: its help, and how the numbers of several workers become one.
GAUGES: Mapping[str, tuple[str, Literal["livesum", "livemin"]]] = {
    "sse_connections": ("Open streams.", "livesum"),
    "waiting_claims": ("Claims that wait for events.", "livesum"),
    "waiting_reads": ("Reads that wait for events.", "livesum"),
    "publish_pending_requests": ("Batches that wait for their transaction or its end.", "livesum"),
    "publish_queue_events": ("Events that no transaction has taken yet.", "livesum"),
    "publish_queue_bytes": ("Bytes that no transaction has taken yet.", "livesum"),
    "publish_body_bytes": ("Bytes of larger bodies that arrive or are being stored.", "livesum"),
    "event_cache_bytes": ("Encoded events kept for groups.", "livesum"),
    "pool_open_connections": ("Connections to the database.", "livesum"),
    "pool_idle_connections": ("Those that nobody uses now.", "livesum"),
    "pool_max_connections": ("How many there may be.", "livesum"),
    "listener_connected": ("1 if notifications are heard, 0 if streams poll.", "livemin"),
    "background_tasks_failed": ("Parts of the service that have stopped.", "livesum"),
}

Samples = Iterable[Metric]


class PrometheusMetrics(Metrics):
    def __init__(self, *, max_topics: int, folder: Path | None = None) -> None:
        """`folder` makes this process one of several workers; it is a choice for the whole process."""
        if folder is not None:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
            if not values.ValueClass._multiprocess:
                values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._folder = folder
        self._max_topics = max_topics
        self._published = self._counter("published_messages", "Events stored.", "topic")
        self._by_topic: dict[str, Counter] = {}
        self._publish = self._histogram(
            "publish_duration_seconds", "From a batch's arrival to its commit.", SHORT
        )
        self._claimed = self._counter("claimed_messages", "Events handed out to groups.")
        self._deliveries = self._counter("deliveries", "Events whose delivery ended, by how.", "outcome")
        self._expired = self._counter("leases_expired", "Leases found expired.")
        self._died = self._counter("dead_letters", "Events that became dead letters, by why.", "reason")
        self._redriven = self._counter("redrives", "Dead letters given back to their group.")
        self._trimmed = self._counter("trimmed_messages", "Events removed by retention.", "forced")
        self._sent = self._counter("sse_events_sent", "Events sent to streams.")
        self._slow = self._counter("sse_slow_closes", "Streams closed as their client took nothing.")
        self._gaps = self._counter("sse_gaps", "Gaps told to streams, by why.", "reason")
        self._reconnects = self._counter("listener_reconnects", "Times the notifications came back.")
        self._coalesced = self._counter("notify_coalesced", "Notifications of what was to be read anyway.")
        self._waits = self._histogram("pool_wait_seconds", "Waits for a connection.", SHORT)
        self._timeouts = self._counter("pool_timeouts", "Calls given up as no connection became free.")
        self._lag = self._histogram("event_loop_lag_seconds", "How late the event loop was.", SHORT)
        self._requests = Histogram(
            "gapless_http_request_duration_seconds",
            "Requests by route, method and class of status, to the end of the answer.",
            ("route", "method", "status"),
            registry=self.registry,
            buckets=DEADLINES,
        )
        self._by_request: dict[tuple[str, str, int], Histogram] = {}
        self._gauges: dict[str, Gauge] = {}
        # What is never counted shows as 0, so that rates and alerts know it from the start.
        for outcome in ("acked", "failed", "rejected", "released", "expired"):
            self._deliveries.labels(outcome)
        for reason in ("failed", "rejected", "expired"):
            self._died.labels(reason)
        for reason in get_args(GapReason):
            self._gaps.labels(reason)
        for forced in ("false", "true"):
            self._trimmed.labels(forced)
        if folder is None:
            ProcessCollector(registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"gapless_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Iterable[float]) -> Histogram:
        return Histogram(f"gapless_{name}", text, registry=self.registry, buckets=tuple(buckets))

    def published(self, topic: str, events: int) -> None:
        counter = self._by_topic.get(topic)
        if counter is None:
            # Topics beyond the cap share the empty name.
            name = topic if len(self._by_topic) < self._max_topics else ""
            counter = self._published.labels(name)
            if name:
                self._by_topic[topic] = counter
        counter.inc(events)

    def publish_took(self, seconds: float) -> None:
        self._publish.observe(seconds)

    def claimed(self, events: int) -> None:
        self._claimed.inc(events)

    def settled(self, outcome: str, events: int) -> None:
        self._deliveries.labels(outcome).inc(events)

    def leases_expired(self, leases: int) -> None:
        self._expired.inc(leases)

    def died(self, reason: str, events: int) -> None:
        self._died.labels(reason).inc(events)

    def redriven(self, events: int) -> None:
        self._redriven.inc(events)

    def trimmed(self, events: int, *, forced: bool) -> None:
        self._trimmed.labels(str(forced).lower()).inc(events)

    def sent(self, events: int) -> None:
        self._sent.inc(events)

    def gap(self, reason: str, streams: int = 1) -> None:
        self._gaps.labels(reason).inc(streams)

    def slow_closed(self) -> None:
        self._slow.inc()

    def coalesced(self, notifications: int) -> None:
        self._coalesced.inc(notifications)

    def reconnected(self) -> None:
        self._reconnects.inc()

    def waited_for_connection(self, seconds: float) -> None:
        self._waits.observe(seconds)

    def no_connection(self) -> None:
        self._timeouts.inc()

    def loop_lagged(self, seconds: float) -> None:
        self._lag.observe(seconds)

    def requested(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, status // 100)
        histogram = self._by_request.get(key)
        if histogram is None:
            shown = method if method in METHODS else "other"
            histogram = self._requests.labels(route, shown, f"{status // 100}xx")
            if shown == method:
                self._by_request[key] = histogram
        histogram.observe(seconds)

    def set_gauges(self, found: Mapping[str, float]) -> None:
        """How the process stands now; names are those of GAUGES. What is never told has no series."""
        for name, value in found.items():
            gauge = self._gauges.get(name)
            if gauge is None:
                text, mode = GAUGES[name]
                gauge = Gauge(f"gapless_{name}", text, registry=self.registry, multiprocess_mode=mode)
                self._gauges[name] = gauge
            gauge.set(value)

    def text(self, accept: str, more: Callable[[], Samples]) -> tuple[bytes, str]:
        """All numbers, and `more` that are not kept here, in the format asked for, and its media type."""
        encode, media_type = choose_encoder(accept)
        return encode(_Joined(self._all, more)), media_type

    def _all(self) -> Samples:
        registry = self.registry
        if self._folder is not None:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, path=str(self._folder))  # type: ignore[no-untyped-call]
        for metric in registry.collect():
            # When a counter was made is known to whoever sees it fall; it would double the number of series.
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
        build = GaugeMetricFamily("gapless_build_info", "1, by version.", labels=("version", "python"))
        build.add_metric((__version__, platform.python_version()), 1)
        yield build


class _Joined(Collector):
    def __init__(self, *sources: Callable[[], Samples]) -> None:
        self._sources = sources

    def collect(self) -> Samples:
        for source in self._sources:
            yield from source()


def empty_folder(folder: Path) -> None:
    """Before the first worker starts: numbers of an earlier run do not count.

    MetricsFolderRefused where anything else lies in it: it is somebody's, and so may be what looks like ours.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = list(folder.iterdir())
        for file in found:
            if _NUMBERS.fullmatch(file.name) is None or file.is_symlink() or not file.is_file():
                raise MetricsFolderRefused(
                    f"GAPLESS_METRICS_DIR is {folder}, which holds {file.name}: name a folder of its own"
                )
        for file in found:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise MetricsFolderRefused(f"GAPLESS_METRICS_DIR is {folder}: {error.strerror}") from error


def forget_worker(folder: Path, pid: int) -> None:
    """When a worker has ended: what it counted stays, how it stood does not."""
    multiprocess.mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call]
