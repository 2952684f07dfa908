"""`gapless sub`: create, list, show, alter and delete consumer groups, and steer them."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from app.cli import answers
from app.cli import group_settings as texts
from app.cli.client import Client, members, topic_path
from app.cli.credentials import without_scope
from app.cli.failures import Problem, UsageFailure
from app.cli.group import START_HELP, GroupArgument, TopicArgument, group_path, start_of
from app.cli.group_settings import Delivery, OnDeadLetter, Ordering, mutable
from app.cli.health import print_health
from app.cli.options import Json, Url, confirm, notice, print_json, print_table, say, setting
from app.cli.steer import cancel, heartbeat, pause, resume, seek
from app.cli.usage import Commands

sub = Commands("Create, watch and steer the subscriptions of consumer groups.")


@sub.command()
def create(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="WHERE", help=f"{START_HELP} [default: latest]", show_default=False),
    ] = None,
    ordering: Annotated[Ordering | None, setting(texts.ORDERING, "partition")] = None,
    delivery: Annotated[Delivery | None, setting(texts.DELIVERY, "at_least_once")] = None,
    on_dead_letter: Annotated[OnDeadLetter | None, setting(texts.ON_DEAD_LETTER, "continue")] = None,
    lease_seconds: Annotated[float | None, setting(texts.LEASE, "30", metavar="SECONDS")] = None,
    max_attempts: Annotated[int | None, setting(texts.ATTEMPTS, "5", metavar="N")] = None,
    backoff: Annotated[float | None, setting(texts.BACKOFF, "1", metavar="SECONDS")] = None,
    max_backoff: Annotated[float | None, setting(texts.MAX_BACKOFF, "300", metavar="SECONDS")] = None,
    max_in_flight: Annotated[str | None, setting(texts.IN_FLIGHT, "none", metavar="EVENTS|none")] = None,
    heartbeat: Annotated[float | None, setting(texts.HEARTBEAT, "10", metavar="SECONDS")] = None,
    heartbeat_timeout: Annotated[str | None, setting(texts.TIMEOUT, "none", metavar="SECONDS|none")] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Create a group. Its subscription to the topic says where it starts and how it is delivered to.

    Creating it again changes nothing, and fails where a setting that is given is another one there.
    """
    changeable = mutable(
        on_dead_letter, lease_seconds, max_attempts, backoff, max_backoff, max_in_flight, heartbeat,
        heartbeat_timeout,
    )  # fmt: skip
    fixed = {
        "start": None if start is None else start_of(start),
        "ordering": ordering,
        "delivery": delivery,
    }
    body = {name: value for name, value in fixed.items() if value is not None} | changeable
    with Client(url or context.find_root().obj) as client:
        try:
            answer = client.call("PUT", group_path(topic, group), json=body)
        except Problem as problem:
            if problem.code == "subscription_conflict" and problem.members.get("field") in changeable:
                problem.hint = f"`gapless sub alter {topic} {group}` changes it"
            elif problem.code == "subscription_not_found":
                problem.hint = without_scope(f"consume:{topic}/{group}")
            raise
        created = members(client, answer, answers.Subscription)
    if as_json:
        print_json(created)
        return
    word = f"created, from {start or 'latest'}" if answer.status_code == 201 else "was there already"
    say(f"group {group} of {topic} {word}")


@sub.command("list")
def list_(context: typer.Context, topic: TopicArgument, as_json: Json = False, url: Url = None) -> None:
    """List the groups of a topic by name. With each goes what it has not handled, and its dead letters."""
    with Client(url or context.find_root().obj) as client:
        found = list(_groups(client, topic))
        rows = [] if as_json else [_row(group, _health(client, topic, group["name"])) for group in found]
    if as_json:
        print_json(found)
    elif not found:
        notice(f"{topic} has no groups yet; create one with: gapless sub create {topic} GROUP")
    else:
        heads = ["NAME", "STATUS", "LAG", "DEAD", "ORDERING", "DELIVERY", "CREATED", "REASON"]
        print_table(heads, rows)


@sub.command()
def show(
    context: typer.Context, topic: TopicArgument, group: GroupArgument, as_json: Json = False, url: Url = None
) -> None:
    """Show a group's status, settings and partitions."""
    with Client(url or context.find_root().obj) as client:
        found = client.json("GET", group_path(topic, group), answers.SubscriptionDetails)
    if as_json:
        print_json(found)
    else:
        print_health(topic, found)


@sub.command()
def leases(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    partition: Annotated[
        int | None, typer.Option(metavar="N", help="Only this partition.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Stop after so many.")] = 100,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """List the open leases of a group, the oldest first. They say who holds what, and until when."""
    params = {"limit": limit} | ({} if partition is None else {"partition": partition})
    with Client(url or context.find_root().obj) as client:
        found = client.json("GET", group_path(topic, group, "leases"), answers.OpenLeases, params=params)[
            "leases"
        ]
    if as_json:
        print_json(found)
    elif not found:
        notice(f"nobody holds events of group {group} of {topic}")
    else:
        heads = ["PARTITION", "OFFSETS", "EVENTS", "ATTEMPT", "MEMBER", "CLAIMED AT", "EXPIRES AT"]
        print_table(heads, [_lease_row(lease) for lease in found])


@sub.command()
def alter(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    on_dead_letter: Annotated[OnDeadLetter | None, setting(texts.ON_DEAD_LETTER)] = None,
    lease_seconds: Annotated[float | None, setting(texts.LEASE, metavar="SECONDS")] = None,
    max_attempts: Annotated[int | None, setting(texts.ATTEMPTS, metavar="N")] = None,
    backoff: Annotated[float | None, setting(texts.BACKOFF, metavar="SECONDS")] = None,
    max_backoff: Annotated[float | None, setting(texts.MAX_BACKOFF, metavar="SECONDS")] = None,
    max_in_flight: Annotated[str | None, setting(texts.IN_FLIGHT, metavar="EVENTS|none")] = None,
    heartbeat: Annotated[float | None, setting(texts.HEARTBEAT, metavar="SECONDS")] = None,
    heartbeat_timeout: Annotated[str | None, setting(texts.TIMEOUT, metavar="SECONDS|none")] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Change a group's settings. Start, ordering and delivery stay; `none` and `off` take a limit away."""
    changes = mutable(
        on_dead_letter, lease_seconds, max_attempts, backoff, max_backoff, max_in_flight, heartbeat,
        heartbeat_timeout,
    )  # fmt: skip
    if not changes:
        raise UsageFailure("give at least one setting to change")
    with Client(url or context.find_root().obj) as client:
        changed = client.json("PATCH", group_path(topic, group), answers.Subscription, json=changes)
    if as_json:
        print_json(changed)
    else:
        say(f"group {group} of {topic} changed: {', '.join(changes)}")


@sub.command()
def delete(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = None,
) -> None:
    """Delete a group, with its position and its dead letters. The topic's events stay."""
    if not yes:
        confirm(
            f"Delete group {group} of {topic}, its position and its dead letters?",
            f"deleting {group} removes its position and dead letters; say so with --yes",
        )
    with Client(url or context.find_root().obj) as client:
        client.call("DELETE", group_path(topic, group))
    say(f"group {group} of {topic} deleted")


for _command in (seek, pause, resume, cancel, heartbeat):
    sub.command()(_command)


def _lease_row(lease: dict[str, Any]) -> list[str]:
    return [
        str(lease["partition"]),
        f"{lease['first_offset']}-{lease['last_offset']}",
        str(lease["events"]),
        str(lease["attempt"]),
        lease["member"],
        lease["claimed_at"],
        lease["expires_at"],
    ]


def _groups(client: Client, topic: str) -> Iterator[dict[str, Any]]:
    token = ""  # nosec B105
    while True:
        params = {"page_token": token} if token else {}
        page = client.json(
            "GET",
            topic_path(topic, "subscriptions"),
            answers.Subscriptions,
            params=params,
        )
        yield from page["subscriptions"]
        token = page["next_page_token"]
        if not token:
            return


def _health(client: Client, topic: str, group: str) -> dict[str, Any]:
    """Empty for a group that was deleted meanwhile."""
    try:
        found: dict[str, Any] = client.json("GET", group_path(topic, group), answers.SubscriptionDetails)
    except Problem as problem:
        if problem.status != 404:
            raise
        return {}
    return found


def _row(group: dict[str, Any], health: dict[str, Any]) -> list[str]:
    counts = [str(health.get(name, "-")) for name in ("lag", "dead")]
    settings = [group["ordering"], group["delivery"], group["created_at"]]
    return [group["name"], group["status"], *counts, *settings, group.get("reason") or ""]
