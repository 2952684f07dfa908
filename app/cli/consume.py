"""`gapless consume`: a member of a group that hands each event to a command."""

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from app.cli.answers import Subscription
from app.cli.client import Client
from app.cli.credentials import without_scope
from app.cli.failures import Exit, Problem, UsageFailure
from app.cli.group import (
    START_HELP,
    GroupArgument,
    Member,
    TopicArgument,
    deliveries,
    events,
    group_path,
    member_name,
    start_of,
)
from app.cli.options import Url, finite, notice
from app.cli.terms import Options, Tally, Terms

if TYPE_CHECKING:
    from app.cli.consumer import Consumer

EVENTS_PER_CLAIM = 100
EVENTS_PER_JOB = 10


def consume(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    command: Annotated[
        str,
        typer.Option(
            "--exec", metavar="COMMAND", help="Run by /bin/sh once for each event.", show_default=False
        ),
    ],
    jobs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Commands that may run at the same time.")
    ] = 1,
    max_events: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            metavar="N",
            help="Events of one claim at most; a transaction is never split. "
            "[default: 100; in orderings key and none 10 for each job]",
            show_default=False,
        ),
    ] = None,
    lease_seconds: Annotated[
        float | None,
        typer.Option(
            callback=finite,
            metavar="SECONDS",
            help="How soon others get the events when this consumer is gone; while it works, it keeps them. "
            "[default: the group's]",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            callback=finite,
            metavar="SECONDS",
            help="A command that takes longer is ended and has failed.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            min=0,
            callback=finite,
            metavar="SECONDS",
            help="How long commands may still run after SIGTERM or Ctrl-C.",
        ),
    ] = 30,
    until_empty: Annotated[
        bool,
        typer.Option(
            "--until-empty",
            "--once",
            help="End when the group has nothing left. Events that became dead letters are "
            "handled, too: the exit code is 0, and `gapless dlq list` has them.",
        ),
    ] = False,
    create: Annotated[
        bool, typer.Option("--create", help="Create the group, with default settings, if it is missing.")
    ] = False,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WHERE",
            help=f"Where --create starts: {START_HELP} [default: latest]",
            show_default=False,
        ),
    ] = None,
    whole_event: Annotated[
        bool, typer.Option("--whole-event", help="Give the command the event as JSON, not only its data.")
    ] = False,
    member: Member = None,
    url: Url = None,
) -> None:
    """Run a command for each event of a group. Ctrl-C or SIGTERM ends it.

    The command gets the data on standard input: JSON, also the one of --whole-event, ends with a newline,
    bytes (data_base64) come exactly as they are. The rest is in GAPLESS_URL, GAPLESS_TOPIC, GAPLESS_GROUP,
    GAPLESS_MEMBER, GAPLESS_PARTITION, GAPLESS_OFFSET, GAPLESS_ATTEMPT and, where the event has them,
    GAPLESS_KEY, GAPLESS_TYPE, GAPLESS_ID, GAPLESS_SOURCE, GAPLESS_SUBJECT, GAPLESS_TIME,
    GAPLESS_PUBLISHED_AT, GAPLESS_DATACONTENTTYPE and GAPLESS_TRANSACTION_ID. When it exits with 0 the event
    is acked. Otherwise it has failed, with the last line on standard error as the reason, and comes again
    later, until its attempts are used up and it becomes a dead letter. The events of a transaction are
    handled in order and fail together.

    Exit codes 126 and 127 say that there is no such command or that it may not be run. No event is to blame
    for that: the consumer gives back all that it has, without counting the delivery, and exits with 1.

    Order is kept as the group wants it, whatever --jobs says: in ordering partition jobs work on different
    partitions, in ordering key on different keys. An event may come twice when a consumer is killed.
    """
    # Other commands do not wait for what only this one needs.
    from app.cli.command import Commands
    from app.cli.consumer import Consumer

    if not command.strip():
        raise UsageFailure("--exec needs a command; an empty one would ack every event")
    if start is not None and not create:
        raise UsageFailure(
            "--from says where --create starts; `gapless sub seek` moves a group that is there"
        )
    address = url or context.find_root().obj
    with Client(address) as client:
        found = _group(client, topic, group, create, start)
    terms = msgspec.convert(found, Terms)
    if lease_seconds is not None:
        terms = msgspec.structs.replace(terms, lease_seconds=lease_seconds)
    options = Options(
        topic=topic,
        group=group,
        member=member or member_name(),
        jobs=jobs,
        max_events=max_events or _events_per_claim(terms, jobs),
        grace_seconds=grace,
        until_empty=until_empty,
    )
    constant = {
        "GAPLESS_URL": address,
        "GAPLESS_TOPIC": topic,
        "GAPLESS_GROUP": group,
        "GAPLESS_MEMBER": options.member,
    }
    if found["status"] != "ACTIVE":
        notice(f"the group is {found['status']}" + (f": {found['reason']}" if found.get("reason") else ""))
    commands = Commands(command, constant, timeout=timeout, whole_event=whole_event)
    raise typer.Exit(_run(Consumer(address, options, terms, commands, found["status"])))


def _run(consumer: "Consumer") -> int:
    import asyncio

    try:
        return asyncio.run(consumer.run())
    except asyncio.CancelledError:
        return Exit.INTERRUPTED
    finally:
        notice(_summary(consumer.tally))


def _group(client: Client, topic: str, group: str, create: bool, start: str | None) -> Any:
    path = group_path(topic, group)
    settings = {} if start is None else {"start": start_of(start)}
    try:
        found = client.json("GET", path, Subscription)
    except Problem as problem:
        if problem.code != "subscription_not_found" or not create:
            raise
    else:
        if start is not None:
            notice(f"group {group} of {topic} was there already, so --from does not apply")
        return found
    try:
        made = client.json("PUT", path, Subscription, json=settings)
    except Problem as problem:
        if problem.code == "subscription_not_found":
            problem.hint = without_scope(f"consume:{topic}/{group}")
        raise
    notice(f"group {group} of {topic} is new and starts at {start or 'latest'}")
    return made


def _events_per_claim(terms: Terms, jobs: int) -> int:
    """Few where others could take the rest meanwhile, or where a claim cannot be given back."""
    if not terms.settles:
        return jobs
    return EVENTS_PER_CLAIM if terms.ordering == "partition" else min(EVENTS_PER_JOB * jobs, 10_000)


def _summary(tally: Tally) -> str:
    """An event may fail, or be given back, several times: those are deliveries."""
    dead = "became a dead letter" if tally.dead == 1 else "became dead letters"
    said = [f"{events(tally.acked)} acked"]
    if tally.failed:
        said.append(f"{deliveries(tally.failed)} failed")
    if tally.dead:
        said.append(f"{events(tally.dead)} {dead}")
    if tally.given_back:
        said.append(f"{deliveries(tally.given_back)} given back")
    if tally.lost:
        said.append(f"{deliveries(tally.lost)} lost to others")
    if tally.not_acked:
        said.append(f"{deliveries(tally.not_acked)} not acked")
    return ", ".join(said)
