"""A group's health for people."""

from datetime import UTC, datetime
from typing import Any

from app.cli.group import events
from app.cli.options import print_table, say
from app.cli.progress import duration

COLUMNS = (
    "partition", "earliest", "tip", "position", "lag", "in_flight", "retrying", "dead", "discarded",
    "skipped",
)  # fmt: skip
COUNTS = ("waiting", "in_flight", "retrying", "dead", "discarded", "acked", "skipped")
RETRYING = "RETRYING counts events that wait for another delivery, also those that were given back."


def print_health(topic: str, found: dict[str, Any]) -> None:
    for label, text in _lines(topic, found):
        say(f"{label:<20} {text}")
    say()
    heads = [name.replace("_", " ").upper() for name in COLUMNS] + [""]
    rows = [
        [str(partition.get(name, 0)) for name in COLUMNS] + ["blocked" if partition.get("blocked") else ""]
        for partition in found["partitions"]
    ]
    print_table(heads, rows)
    if found["retrying"]:
        say()
        say(RETRYING)


def _lines(topic: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    age = found.get("oldest_claimable_seconds")
    waits = "" if age is None else f", the oldest has waited for {duration(age)}"
    timeout = found.get("heartbeat_timeout_seconds")
    death = "never dies" if timeout is None else f"DEAD after {duration(timeout)} without"
    standing = [("since", _ago(found["status_at"]))] if found["status"] != "ACTIVE" else []
    if found.get("reason"):
        standing.append(("reason", found["reason"]))
    return [
        ("group", f"{found['name']} of {topic}"),
        ("status", found["status"]),
        *standing,
        ("last heartbeat", _ago(found.get("last_heartbeat_at"))),
        ("lag", events(found["lag"]) + waits),
        *((name.replace("_", " "), f"{found.get(name, 0):,}") for name in COUNTS),
        ("ordering", found["ordering"]),
        ("on dead letter", found["on_dead_letter"]),
        ("delivery", found["delivery"]),
        ("lease", f"{found['lease_seconds']:g} s"),
        ("max attempts", str(found["max_attempts"])),
        ("backoff", f"{found['backoff_seconds']:g} s to {found['max_backoff_seconds']:g} s"),
        ("max in flight", str(found.get("max_in_flight") or "-")),
        ("heartbeat", f"every {found['heartbeat_seconds']:g} s, {death}"),
        ("created", found["created_at"]),
    ]


def _ago(time: str | None) -> str:
    if time is None:
        return "never"
    seconds = (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
    return f"{time} ({duration(seconds)} ago)"
