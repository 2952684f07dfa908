"""`gapless read`: what is in a topic now."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer

from app.cli.answers import TopicDetails
from app.cli.client import Client, stranger, topic_path
from app.cli.failures import Failure, Problem
from app.cli.options import LONGEST_NUMBER, Url, write_lines
from app.cli.printable import printable

PAGE_EVENTS = 1_000


class Shown(msgspec.Struct):
    """The members of an event that a line for people shows."""

    partition: int
    offset: int
    published_at: str
    type: str = "-"
    key: str = "-"
    data: msgspec.Raw = msgspec.Raw(b"")
    data_base64: str | None = None


def read(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.", show_default=False)],
    partition: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Only this partition; by default all, one after the other.", show_default=False
        ),
    ] = None,
    start: Annotated[
        str, typer.Option("--from", metavar="WHERE", help="earliest, latest, an offset, or an RFC 3339 time.")
    ] = "earliest",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after so many events.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each event as one line of JSON.")] = False,
    url: Url = None,
) -> None:
    """Print the events that a topic holds now.

    They come in order per partition, one partition after the other. `gapless tail` waits for more.
    """
    left = limit
    with Client(url or context.find_root().obj) as client:
        found = client.json("GET", topic_path(topic), TopicDetails)["bounds"]
        chosen = [bounds for bounds in found if partition in (None, bounds["partition"])]
        if not chosen:
            raise Failure(f"topic {topic} has {len(found)} partitions, numbered from 0")
        if start.isdecimal() and len(start) <= LONGEST_NUMBER:
            # Partitions differ in length. Where none is as long, the server says so.
            chosen = [bounds for bounds in chosen if int(start) <= bounds["tip"] + 1] or chosen
        for bounds in chosen:
            for page in _pages(client, topic, bounds["partition"], start, bounds["tip"], left):
                write_lines(page if as_json else [_line(event) for event in page])
                if left is not None:
                    left -= len(page)
            if left == 0:
                return


def _pages(
    client: Client, topic: str, partition: int, start: str, end: int, limit: int | None
) -> Iterator[list[bytes]]:
    """Pages up to the tip as it was at the start, so that it ends also while others publish."""
    where: dict[str, Any] = {"offset": start} if start.lstrip("-").isdigit() else {"from": start}
    most = PAGE_EVENTS
    while limit is None or limit > 0:
        count = most if limit is None else min(limit, most)
        try:
            answer = client.call(
                "GET",
                topic_path(topic, "events"),
                params={"partition": partition, "limit": count, **where},
                headers={"Accept": "application/x-ndjson"},
            )
        except Problem as problem:
            field = problem.members.get("field")
            if field == "limit" and count > 1:
                # Whoever runs the server lowered GAPLESS_PAGE_MAX_EVENTS.
                most = count // 2
                continue
            if field != "from":
                raise
            raise Failure(
                f"--from is earliest, latest, an offset, or an RFC 3339 time with a zone, not {start!r}"
            ) from problem
        page = answer.content.splitlines()
        try:
            following = int(answer.headers["gapless-next-offset"])
        except (KeyError, ValueError) as error:
            raise stranger(client, answer) from error
        if page and following > end + 1:
            page = page[: len(page) - (following - end - 1)]
        if page:
            yield page
        if following > end or not page:
            return
        limit = None if limit is None else limit - len(page)
        where = {"offset": following}


def _line(event: bytes) -> bytes:
    try:
        shown = msgspec.json.decode(event, type=Shown)
    except RecursionError:
        # The service refuses data as deep as this, but a SQL client may have published it.
        return event
    data = bytes(shown.data) if shown.data_base64 is None else b"base64:" + shown.data_base64.encode()
    head = f"{shown.partition}:{shown.offset}  {shown.published_at}  {shown.type}  {shown.key}  "
    return printable(head).encode() + data
