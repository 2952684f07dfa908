"""`gapless publish`: one event, a file, or a pipe."""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from app.cli.answers import Topic
from app.cli.client import Client, Retry, topic_path
from app.cli.failures import Exit, Failure, Problem, UsageFailure
from app.cli.group import events
from app.cli.lines import Chunk, Line, Source, chunks, content_digest, lines, open_file, open_stdin
from app.cli.mapping import Field, Mapping, json_fault
from app.cli.options import Json, Url, finite, print_json, say
from app.cli.progress import Progress, rate
from app.cli.publisher import OtherContents, Publisher, Refusal

PREFIX_LENGTH = 150
NAMED_LINES = 20
"""Of those that are refused, so that a wrong option does not print as much as it reads."""


def publish(
    context: typer.Context,
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="The topic; it must exist.", show_default=False)
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA|FILE|-",
            help="JSON for one event, a file of one JSON value per line (gzip too), or - for standard input.",
            show_default=False,
        ),
    ] = None,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TEXT", help="The type of every event.")
    ] = None,
    type_field: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Take the type from this field.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Take the key from this field of the data: user.id, or user.id? if it may be absent.",
        ),
    ] = None,
    key_value: Annotated[str | None, typer.Option(metavar="TEXT", help="The key of every event.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Take the event's time from this field.")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="FIELD", help="Take the event's id from this field.")
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", help="Each line, or DATA, is plain text; it becomes a JSON string.")
    ] = False,
    idempotency_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Names this input: lines already published under it are not published again. "
            "A FILE has one made from its contents; standard input can be resumed only with one. "
            "A pipe is then published by every 1,000 lines or 1 MiB and at its end, not when it pauses.",
        ),
    ] = None,
    retry_seconds: Annotated[
        float,
        typer.Option(
            min=0,
            callback=finite,
            metavar="SECONDS",
            help="How long to try again while the server is away or busy.",
        ),
    ] = 60,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="Show progress; by default on a terminal.")
    ] = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Publish one event, or every line of a file or pipe, in order.

    The bytes of each line are published as they are. Lines that the server refuses are named on standard
    error, the first 20 of them, and the rest goes in; the exit code is then 1. An input without lines
    publishes nothing, with exit code 0.

    Retries: a server that goes away or is busy is tried again for --retry-seconds, under the same
    idempotency key, so nothing goes in twice. Still away or busy then, or away at the very start, it ends
    the command with exit code 3.

    Repeated runs: a FILE goes in once, by its contents, whatever it is called; started again after an
    interruption the command goes on where it stopped. Standard input does so only with the same
    --idempotency-prefix, also where it ended too early the time before. This holds as long as the topic keeps
    idempotency keys (24 hours by default). DATA on the command line is a new event in each run.
    """
    mapping = _mapping(type_, type_field, key, key_value, time, id_, text)
    with Client(url or context.find_root().obj) as client:
        shown = Progress(progress)
        retry = Retry(retry_seconds, shown.note)
        _check_topic(client, topic, retry)
        source, prefix = _source(data, text, idempotency_prefix)
        if source is None:
            _publish_one(client, topic, mapping, (data or "").encode(), retry, as_json)
            return
        publisher = Publisher(
            client, topic, mapping, prefix or secrets.token_hex(16), retry, _reporter(shown),
            may_grow=idempotency_prefix is not None,
        )  # fmt: skip
        try:
            _publish_all(publisher, source, shown, resumable=prefix is not None)
        finally:
            source.close()
        _summary(publisher, topic, source, shown, as_json)
    if publisher.tally.refused:
        raise typer.Exit(Exit.REFUSED)


def _check_topic(client: Client, topic: str, retry: Retry) -> None:
    """Nothing is read before the topic is known to be there; only a server that answers is waited for."""
    while True:
        try:
            client.json("GET", topic_path(topic), Topic)
        except Problem as problem:
            retry.wait(problem)
        else:
            retry.reset()
            return


def _mapping(
    type_: str | None,
    type_field: str | None,
    key: str | None,
    key_value: str | None,
    time: str | None,
    id_: str | None,
    text: bool,
) -> Mapping:
    if type_ and type_field:
        raise UsageFailure("give --type or --type-field, not both")
    if key and key_value:
        raise UsageFailure("give --key or --key-value, not both")
    fields = [Field(name) if name else None for name in (type_field, key, time, id_)]
    if text and any(fields):
        raise UsageFailure("plain text has no fields: --text goes with --type and --key-value only")
    return Mapping(
        type=type_, key=key_value, type_field=fields[0], key_field=fields[1], time_field=fields[2],
        id_field=fields[3], text=text,
    )  # fmt: skip


def _source(data: str | None, text: bool, prefix: str | None) -> tuple[Source | None, str | None]:
    """The input and its idempotency prefix; no source when `data` is the event itself."""
    if prefix is not None and not (
        prefix.isascii() and prefix.isprintable() and len(prefix) <= PREFIX_LENGTH
    ):
        raise UsageFailure(f"--idempotency-prefix takes up to {PREFIX_LENGTH} printable ASCII characters")
    if prefix is not None and ('"' in prefix or "\\" in prefix):
        raise UsageFailure("--idempotency-prefix takes no quotes and no backslashes")
    if data is None and sys.stdin.isatty():
        raise UsageFailure("give the data, a file, or - for standard input")
    if data is None or data == "-":
        return open_stdin(), prefix
    place = _existing(data)
    if place is not None and (place.is_file() or place.is_fifo()):
        source = open_file(place)
        # A named pipe can be read once, so it has no content to be recognised by.
        return source, prefix or (content_digest(place) if source.size is not None else None)
    if not text and (fault := _fault(data)) is not None:
        meant_as_json = place is None and data.lstrip().startswith(("{", "[", '"'))
        raise UsageFailure(fault if meant_as_json else _neither(data, place))
    return None, None


def _neither(data: str, place: Path | None) -> str:
    expected = (
        """give JSON, such as '{"order": 1}' or '"some text"', a file of one JSON value per line, """
        "or - for standard input; --text publishes plain text"
    )
    if not data.strip():
        return f"there is no data; {expected}"
    if place is not None:
        what = "a folder" if place.is_dir() else "neither a file nor a pipe"
        return f"{data!r} is {what}; {expected}"
    return f"there is no file {data!r}, and it is not JSON; {expected}"


def _existing(data: str) -> Path | None:
    place = Path(data)
    try:
        return place if place.exists() else None
    except (OSError, ValueError):
        # It is too long for a name, or holds U+0000.
        return None


def _fault(data: str) -> str | None:
    try:
        return json_fault(data.encode())
    except UnicodeEncodeError:
        return "The data is not UTF-8."


def _reporter(shown: Progress) -> Callable[[Refusal], None]:
    left = NAMED_LINES

    def report(refusal: Refusal) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            shown.note(f"line {refusal.line} refused: {refusal.detail} ({refusal.code})")
        elif left == -1:
            shown.note("more lines are refused, and only counted from here on")

    return report


def _publish_one(
    client: Client, topic: str, mapping: Mapping, data: bytes, retry: Retry, as_json: bool
) -> None:
    refusals: list[Refusal] = []
    publisher = Publisher(client, topic, mapping, secrets.token_hex(16), retry, refusals.append)
    try:
        publisher.publish(Chunk([Line(1, data)]))
    except Failure as failure:
        # What was typed has no lines to be named.
        if isinstance(failure.__cause__, Problem):
            raise failure.__cause__ from None
        raise
    if refusals:
        raise Failure(f"{refusals[0].detail} ({refusals[0].code})")
    position = publisher.positions[0]
    if as_json:
        print_json({"topic": topic, **position})
    else:
        say(f"{topic} partition {position['partition']} offset {position['offset']}")


def _publish_all(publisher: Publisher, source: Source, shown: Progress, *, resumable: bool) -> None:
    numbered = lines(source.blocks(), source.name, lambda: source.bytes_read)
    tally = publisher.tally
    try:
        for chunk in chunks(numbered, cut_at_pauses=not resumable):
            publisher.publish(chunk)
            part = chunk.lines[-1].end / source.size if source.size else None
            shown.show(tally.published + tally.replayed, part)
    except OtherContents:
        # It says where, and that the same command would not go on.
        raise
    except (Failure, KeyboardInterrupt):
        advice = (
            "run the same command again to go on"
            if resumable
            else "standard input without --idempotency-prefix cannot be resumed"
        )
        if tally.last_line:
            shown.note(f"stopped: everything up to line {tally.last_line} is in; {advice}")
        else:
            shown.note("stopped: nothing was published")
        raise
    finally:
        shown.clear()
        if (unnamed := tally.refused - NAMED_LINES) > 0:
            shown.note(f"{unnamed:,} more {'line was' if unnamed == 1 else 'lines were'} refused")


def _summary(publisher: Publisher, topic: str, source: Source, shown: Progress, as_json: bool) -> None:
    tally = publisher.tally
    if as_json:
        counts = {"published": tally.published, "replayed": tally.replayed, "refused": tally.refused}
        print_json({"topic": topic, **counts, "seconds": round(shown.seconds, 3)})
        return
    if not any((tally.published, tally.replayed, tally.refused)):
        shown.note(f"nothing was published to {topic}: {source.name} has no lines")
        return
    seconds = shown.seconds
    text = f"{events(tally.published)} published to {topic} in {seconds:.1f} s"
    if tally.published:
        text += f" ({rate(tally.published, seconds)})"
    if tally.replayed:
        text += f"; {tally.replayed:,} were there already from an earlier run"
    if tally.refused:
        text += f"; {tally.refused:,} line{'s' if tally.refused > 1 else ''} refused"
    shown.note(text)
