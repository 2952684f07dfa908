"""docs/OPERATIONS.md names every metric, with its type and labels, and no other."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

from prometheus_client.metrics_core import Metric

from app.api.readiness import readiness_checks
from app.model import GroupMeasure, Measurement, TopicMeasure
from app.telemetry.database import DatabaseGauges
from app.telemetry.prometheus import GAUGES, PrometheusMetrics

PAGE = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text("utf-8")
ROW = re.compile(r"^\| `((?:gapless|process)_\w+)` \| (\w+) \|([^|]*)\|", re.M)


class Full:
    """A database that has something of everything."""

    async def measure(self, max_topics: int, max_logs: int) -> Measurement:
        topic, group = TopicMeasure("t", 1, 1), GroupMeasure("t", "g", "ACTIVE", 1, 1, 1, 1, 1.0)
        return Measurement(1, 1, [topic], [group], 0.0, 1.0)


async def exported() -> list[Metric]:
    metrics = PrometheusMetrics(max_topics=10)
    metrics.set_gauges(dict.fromkeys(GAUGES, 0))
    metrics.published("t", 1)
    metrics.requested("/livez", "GET", 200, 0.1)
    database = DatabaseGauges(Full(), max_topics=10, keep_seconds=1, now=lambda: 0.0)
    await database.refresh()
    return [*metrics._all(), *database.collect()]


def name_of(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.type == "counter" else metric.name


def labels_of(metric: Metric) -> set[str]:
    return {label for sample in metric.samples for label in sample.labels if label != "le"}


async def test_every_metric_is_on_the_page_and_no_other() -> None:
    found = {name_of(metric): (metric.type, labels_of(metric)) for metric in await exported()}
    documented = {
        name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in ROW.findall(PAGE)
    }
    assert documented == found


async def test_names_follow_the_rules_of_prometheus() -> None:
    for metric in await exported():
        name = name_of(metric)
        assert re.fullmatch(r"(gapless|process)_[a-z_]+", name)
        assert metric.documentation.endswith(".") or name.startswith("process_")
        assert (metric.type == "histogram") <= name.endswith("_seconds")
        assert not re.search(r"_(ms|milliseconds|kb|mb)$", name)


def test_every_check_is_on_the_page() -> None:
    named = re.findall(
        r'^ +"(\w+)": (?:accepting|working|in_time|Remembered)', _source(readiness_checks), re.M
    )
    named += re.findall(r'checks\["(\w+)"\]', _source(readiness_checks))
    assert re.findall(r"^\| `(\w+)` \| (?!\w+ \|)", PAGE.partition("## Metrics")[0], re.M) == named


def _source(function: Callable[..., object]) -> str:
    return inspect.getsource(function)
