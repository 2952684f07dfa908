"""`gapless topic`: create, list, show, alter, trim and delete."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from app.cli.answers import Topic, TopicDetails, Topics, Trimmed
from app.cli.client import Client, members, topic_path
from app.cli.credentials import without_scope
from app.cli.failures import Problem, UsageFailure
from app.cli.group import events
from app.cli.options import (
    LONGEST_NUMBER,
    NO_LIMIT,
    Json,
    Url,
    confirm,
    notice,
    print_json,
    print_table,
    say,
    setting,
)
from app.cli.usage import Commands

topic = Commands("Create, list and change topics.")

Name = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.", show_default=False)]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="What the topic is for.")]
SEGMENT = "Events per storage segment."
IDEMPOTENCY = "How long idempotency keys are remembered."
RETENTION = "Older events go once no group needs them."
MAX_RETENTION = "Older events go even if a group needs them."
MAX_BYTES = "Of a partition, only the newest events that fit stay, even if a group needs the others."
SECONDS, BYTES = "SECONDS|none", "BYTES|none"
_FIELDS = (
    "name",
    "description",
    "semantics",
    "segment_events",
    "idempotency_seconds",
    "retention_seconds",
    "max_retention_seconds",
    "max_bytes",
    "created_at",
    "updated_at",
)


@topic.command()
def create(
    context: typer.Context,
    name: Name,
    partitions: Annotated[int, typer.Option(metavar="N", help="1 to 256; fixed from then on.")] = 1,
    queue: Annotated[bool, typer.Option("--queue", help="One group, default, which keeps no order.")] = False,
    description: Description = None,
    segment_events: Annotated[int | None, setting(SEGMENT, "1000000", "N")] = None,
    idempotency_seconds: Annotated[int | None, setting(IDEMPOTENCY, "86400", "SECONDS")] = None,
    retention_seconds: Annotated[str | None, setting(RETENTION, "none", SECONDS)] = None,
    max_retention_seconds: Annotated[str | None, setting(MAX_RETENTION, "none", SECONDS)] = None,
    max_bytes: Annotated[str | None, setting(MAX_BYTES, "none", BYTES)] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Create a topic. Creating it again with the same partitions changes nothing."""
    settings = {
        **_given(description, segment_events, idempotency_seconds),
        **_limits(retention_seconds, max_retention_seconds, max_bytes),
    }
    if queue:
        settings["semantics"] = "queue"
    with Client(url or context.find_root().obj) as client:
        try:
            answer = client.call("PUT", topic_path(name), json={"partitions": partitions, **settings})
        except Problem as problem:
            if problem.code == "topic_not_found":
                problem.hint = without_scope(f"admin:{name}")
            raise
        created = members(client, answer, Topic)
    if as_json:
        print_json(created)
        return
    word = "created" if answer.status_code == 201 else "was there already"
    say(f"topic {name} {word}, {_partitions(created['partitions'])}")


@topic.command("list")
def list_(context: typer.Context, as_json: Json = False, url: Url = None) -> None:
    """List all topics by name."""
    with Client(url or context.find_root().obj) as client:
        found = list(_topics(client))
    if as_json:
        print_json(found)
    elif not found:
        notice("no topics yet; create one with: gapless topic create NAME")
    else:
        rows = [[t["name"], str(t["partitions"]), t["created_at"], t.get("description") or ""] for t in found]
        print_table(["NAME", "PARTITIONS", "CREATED", "DESCRIPTION"], rows)


@topic.command()
def show(context: typer.Context, name: Name, as_json: Json = False, url: Url = None) -> None:
    """Show a topic's settings and what each of its partitions holds."""
    with Client(url or context.find_root().obj) as client:
        found = client.json("GET", topic_path(name), TopicDetails)
    if as_json:
        print_json(found)
        return
    for field in _FIELDS:
        value = found.get(field)
        say(f"{field.replace('_', ' '):<21} {'-' if value is None else value}")
    say()
    rows = [
        [str(b["partition"]), str(b["earliest"]), str(b["tip"]), str(b["tip"] - b["earliest"] + 1)]
        for b in found["bounds"]
    ]
    print_table(["PARTITION", "EARLIEST", "TIP", "EVENTS"], rows)


@topic.command()
def alter(
    context: typer.Context,
    name: Name,
    description: Description = None,
    segment_events: Annotated[int | None, setting(SEGMENT, metavar="N")] = None,
    idempotency_seconds: Annotated[int | None, setting(IDEMPOTENCY, metavar="SECONDS")] = None,
    retention_seconds: Annotated[str | None, setting(RETENTION, metavar=SECONDS)] = None,
    max_retention_seconds: Annotated[str | None, setting(MAX_RETENTION, metavar=SECONDS)] = None,
    max_bytes: Annotated[str | None, setting(MAX_BYTES, metavar=BYTES)] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Change a topic's settings; the number of partitions is fixed. `none` and `off` take a limit away."""
    changes = {
        **_given(description, segment_events, idempotency_seconds),
        **_limits(retention_seconds, max_retention_seconds, max_bytes),
    }
    if not changes:
        raise UsageFailure("give at least one setting to change")
    with Client(url or context.find_root().obj) as client:
        changed = client.json("PATCH", topic_path(name), Topic, json=changes)
    if as_json:
        print_json(changed)
    else:
        say(f"topic {name} changed: {', '.join(changes)}")


@topic.command()
def trim(
    context: typer.Context,
    name: Name,
    before: Annotated[
        int, typer.Option(min=1, metavar="N", help="The first offset to keep.", show_default=False)
    ],
    partition: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Needed when the topic has several.", show_default=False),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Remove the oldest events of a partition, all below an offset."""
    with Client(url or context.find_root().obj) as client:
        if partition is None:
            count = client.json("GET", topic_path(name), TopicDetails)["partitions"]
            if count > 1:
                raise UsageFailure(f"topic {name} has {count} partitions; name one with --partition")
        place = partition or 0
        body = {"partition": place, "before": before}
        if not yes:
            count = events(_below(client, name, place, before))
            what = f"{count} of topic {name} partition {place}, all below offset {before},"
            confirm(f"Remove {what} for good?", f"this removes {what} for good; say so with --yes")
        answer = client.json("POST", topic_path(name, "trim"), Trimmed, json=body)
    if as_json:
        print_json(answer)
    else:
        say(f"topic {name} partition {answer['partition']} now starts at offset {answer['earliest']}")


def _below(client: Client, name: str, partition: int, before: int) -> int:
    """How many events a trim would remove; 0 of a partition that there is not, as the server will say."""
    for bounds in client.json("GET", topic_path(name), TopicDetails)["bounds"]:
        if bounds["partition"] == partition:
            return max(0, min(before, int(bounds["tip"]) + 1) - int(bounds["earliest"]))
    return 0


@topic.command()
def delete(
    context: typer.Context,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = None,
) -> None:
    """Delete a topic and all of its events."""
    if not yes:
        confirm(
            f"Delete topic {name} and all of its events?",
            f"deleting {name} removes all of its events; say so with --yes",
        )
    with Client(url or context.find_root().obj) as client:
        client.call("DELETE", topic_path(name))
    say(f"topic {name} deleted")


def _topics(client: Client) -> Iterator[dict[str, Any]]:
    token = ""  # nosec B105
    while True:
        params = {"page_token": token} if token else {}
        page = client.json("GET", "/v1/topics", Topics, params=params)
        yield from page["topics"]
        token = page["next_page_token"]
        if not token:
            return


def _given(
    description: str | None, segment_events: int | None, idempotency_seconds: int | None
) -> dict[str, object]:
    settings = {
        "description": description,
        "segment_events": segment_events,
        "idempotency_seconds": idempotency_seconds,
    }
    return {name: value for name, value in settings.items() if value is not None}


def _limits(
    retention_seconds: str | None, max_retention_seconds: str | None, max_bytes: str | None
) -> dict[str, object]:
    given = {
        "retention_seconds": retention_seconds,
        "max_retention_seconds": max_retention_seconds,
        "max_bytes": max_bytes,
    }
    return {name: _limit(name, text) for name, text in given.items() if text is not None}


def _limit(name: str, text: str) -> int | None:
    if text in NO_LIMIT:
        return None
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise UsageFailure(f"--{name.replace('_', '-')} is a whole number or none, not {text}")
    return int(text)


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"
