"""`gapless sub seek`, `pause`, `resume`, `cancel` and `heartbeat`: what is done to a group that is there."""

from typing import Annotated, Any

import typer

from app.cli.answers import Beat, Sought, Subscription
from app.cli.client import Client
from app.cli.group import (
    PLACES,
    GroupArgument,
    Member,
    TopicArgument,
    events,
    group_path,
    member_name,
    start_of,
)
from app.cli.options import Json, Url, confirm, notice, print_json, print_table, say

SOUGHT = ("partition", "from_position", "to_position", "fenced_leases", "removed_dead_letters")

Reason = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Shown to whoever looks at the group.", show_default=False)
]


def seek(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    to: Annotated[
        str,
        typer.Option(metavar="WHERE", help=f"{PLACES} (those left out stay).", show_default=False),
    ],
    partition: Annotated[
        int | None, typer.Option(metavar="N", help="Only this partition; by default all.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Move a group to another place in its topic. What lies after it is delivered (again), what lies before
    is not.

    Consumers lose what they have claimed; their acks of it are refused. Dead letters from there on are
    removed, as their events are delivered again; those redriven or discarded before are not counted.
    """
    body = {"to": start_of(to), "partition": partition}
    given = {name: value for name, value in body.items() if value is not None}
    with Client(url or context.find_root().obj) as client:
        path = group_path(topic, group, "seek")
        if not (dry_run or yes):
            plan = client.json("POST", path, Sought, json={**given, "dry_run": True})
            what = f"group {group} of {topic}" + ("" if partition is None else f" in partition {partition}")
            outcome = _outcome(plan["partitions"])
            confirm(
                f"Move {what} to {to} ({outcome})?",
                f"this moves {what} to {to} ({outcome}); say so with --yes",
            )
        answer = client.json("POST", path, Sought, json={**given, "dry_run": dry_run})
    if as_json:
        print_json(answer)
        return
    rows = [[str(p.get(name, 0)) for name in SOUGHT] for p in answer["partitions"]]
    would = "WOULD BE " if dry_run else ""
    print_table(["PARTITION", "FROM", "TO", f"LEASES {would}LOST", f"DEAD LETTERS {would}REMOVED"], rows)
    count, left_out = _again(answer["partitions"]), _passed_over(answer["partitions"])
    if dry_run:
        passed = f", {events(left_out)} would be passed over" if left_out else ""
        notice(f"a dry run: nothing was changed; {events(count)} would come again{passed}")
    else:
        passed = f", {events(left_out)} {'is' if left_out == 1 else 'are'} passed over" if left_out else ""
        come = "comes" if count == 1 else "come"
        notice(f"the group goes on from there; {events(count)} {come} again{passed}")


def _again(partitions: list[dict[str, Any]]) -> int:
    return sum(max(0, p["from_position"] - p["to_position"]) for p in partitions)


def _passed_over(partitions: list[dict[str, Any]]) -> int:
    return sum(max(0, p["to_position"] - p["from_position"]) for p in partitions)


def _outcome(partitions: list[dict[str, Any]]) -> str:
    leases, letters = (sum(p.get(name, 0) for p in partitions) for name in SOUGHT[3:])
    said = [f"{events(_again(partitions))} again"]
    if left_out := _passed_over(partitions):
        said.append(f"{events(left_out)} passed over")
    if leases:
        said.append(f"{leases:,} lease{'' if leases == 1 else 's'} lost")
    if letters:
        said.append(f"{letters:,} dead letter{'' if letters == 1 else 's'} removed")
    return ", ".join(said)


def pause(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Stop delivering to a group. What is claimed can still be acked, and nothing is lost.

    One that is paused gets the --reason, if there is a new one.
    """
    _set(context, topic, group, "pause", {} if reason is None else {"reason": reason}, as_json, url)


def resume(
    context: typer.Context, topic: TopicArgument, group: GroupArgument, as_json: Json = False, url: Url = None
) -> None:
    """Deliver to a paused group again, from where it was."""
    _set(context, topic, group, "resume", {}, as_json, url)


def cancel(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    reason: Reason = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """End a group for good. It gets and keeps back no more events, and can only be deleted."""
    if not yes:
        confirm(
            f"Cancel group {group} of {topic} for good?",
            f"a cancelled group cannot be resumed; cancel {group} with --yes",
        )
    _set(context, topic, group, "cancel", {} if reason is None else {"reason": reason}, as_json, url)


def heartbeat(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    member: Member = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Say that a group lives; a DEAD one is brought back."""
    with Client(url or context.find_root().obj) as client:
        answer = client.json(
            "POST", group_path(topic, group, "heartbeat"), Beat, json={"member": member or member_name()}
        )
    if as_json:
        print_json(answer)
        return
    say(f"group {group} of {topic} is {answer['status']}")
    if answer["lost"]:
        say(f"while it was DEAD, {events(answer['lost'])} were removed before it got them")


def _set(
    context: typer.Context,
    topic: str,
    group: str,
    verb: str,
    body: dict[str, Any],
    as_json: bool,
    url: str | None,
) -> None:
    with Client(url or context.find_root().obj) as client:
        answer = client.json("POST", group_path(topic, group, verb), Subscription, json=body)
    if as_json:
        print_json(answer)
    else:
        say(f"group {group} of {topic} is {answer['status']}")
