"""`gapless dlq`: what a group gave up, looked at, delivered again or let go."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from app.cli.answers import DeadLetter, DeadLetters, Discarded, Redriven
from app.cli.client import Client, decoded, stranger
from app.cli.failures import TooDeep, UsageFailure
from app.cli.group import GroupArgument, TopicArgument, events, group_path, utc
from app.cli.options import Json, Url, confirm, notice, print_json, print_table, say, write_lines
from app.cli.usage import Commands

if TYPE_CHECKING:
    import httpx

PAGE = 1000
SHORT = 60
UNREADABLE = "nested too deeply to be read"
_FIRST_ID = re.compile(rb'\{"dead_letters":\[\{"id":([0-9]{1,19}),')

dlq = Commands("Look at dead letters, redrive or discard them.")

Type = Annotated[
    str | None,
    typer.Option(
        "--type", metavar="TYPE", help="Only events of this type; may end in *.", show_default=False
    ),
]
Key = Annotated[
    str | None, typer.Option(metavar="KEY", help="Only events with this key.", show_default=False)
]
Reason = Annotated[
    str | None,
    typer.Option(metavar="REASON", help="Only those given up for exactly this reason.", show_default=False),
]
Ids = Annotated[
    list[int] | None,
    typer.Option(
        "--id", metavar="ID", help="A dead letter by its number; several by more --id.", show_default=False
    ),
]
All = Annotated[bool, typer.Option("--all", help="All dead letters of the group.")]


@dlq.command("list")
def list_(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    status: Annotated[str, typer.Option(metavar="STATUS", help="dead, redriven, discarded or all.")] = "dead",
    partition: Annotated[
        int | None, typer.Option(metavar="N", help="Only this partition.", show_default=False)
    ] = None,
    type_: Type = None,
    key: Key = None,
    reason: Reason = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after so many.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each as one line of JSON.")] = False,
    url: Url = None,
) -> None:
    """List dead letters, the oldest first."""
    filters = {"partition": partition, "type": type_, "key": key, "reason": reason}
    rows = []
    with Client(url or context.find_root().obj) as client:
        for page in _pages(client, topic, group, {"status": status, **filters}, limit):
            if not as_json:
                rows += [_row(letter) for letter in page]
                continue
            write_lines([_on_one_line(letter.text) for letter in page if letter.text is not None])
            for letter in page:
                if letter.text is None:
                    notice(f"dead letter {letter.id} is {UNREADABLE}")
    if as_json:
        return
    if rows:
        print_table(["ID", "PARTITION", "OFFSET", "ATTEMPTS", "DEAD AT", "TYPE", "KEY", "REASON"], rows)
    else:
        such = "such " if status != "dead" or any(value is not None for value in filters.values()) else ""
        notice(f"group {group} of {topic} has no {such}dead letters")


@dlq.command()
def show(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    number: Annotated[int, typer.Argument(metavar="ID", help="As `dlq list` shows it.", show_default=False)],
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Show a dead letter whole, and why each delivery of it failed."""
    with Client(url or context.find_root().obj) as client:
        answer = client.call("GET", group_path(topic, group, "dead-letters", str(number)))
        decoded(client, answer, DeadLetter)
    content = answer.content
    if as_json:
        write_lines([_on_one_line(content)])
        return
    found = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    errors = msgspec.json.decode(found.pop("errors"), type=list[dict[str, Any]])
    event = msgspec.json.decode(found.pop("event"), type=dict[str, msgspec.Raw] | None) or {}
    data = event.pop("data", None) or event.pop("data_base64", None)
    if bytes(found["first_offset"]) == bytes(found["last_offset"]):
        del found["first_offset"], found["last_offset"]
    rows = {"dead letter": found.pop("id")} | found
    if "id" in event:
        rows["event id"] = event.pop("id")
    for name, raw in (rows | event).items():
        say(f"{name.replace('_', ' '):<20} {_text(bytes(raw))}")
    for error in errors:
        why = f"attempt {error.get('attempt')} {error.get('outcome')}: {error.get('reason')}"
        say(f"{'error':<20} {utc(error['at'])} {why} (member {error.get('member')})")
    say()
    write_lines([b"the event is gone from the log" if data is None else bytes(data)])


@dlq.command()
def redrive(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    everything: All = False,
    ids: Ids = None,
    type_: Type = None,
    key: Key = None,
    reason: Reason = None,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Deliver dead letters again, to their own group. Their attempts begin anew.

    The events of a transaction go together, whichever of them is named.
    """
    filters = _selection(everything, ids, type_, key, reason)
    with Client(url or context.find_root().obj) as client:
        count = _apply(client, topic, group, "redrive", ids, filters)
    _report(topic, group, "redriven", count, as_json)


@dlq.command()
def discard(
    context: typer.Context,
    topic: TopicArgument,
    group: GroupArgument,
    everything: All = False,
    ids: Ids = None,
    type_: Type = None,
    key: Key = None,
    reason: Reason = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --all.")] = False,
    as_json: Json = False,
    url: Url = None,
) -> None:
    """Let dead letters go. They are not delivered again, and no longer hold anything up."""
    filters = _selection(everything, ids, type_, key, reason)
    if everything and not yes:
        confirm(
            f"Discard all dead letters of group {group} of {topic}?",
            f"this discards all dead letters of {group}; say so with --yes",
        )
    with Client(url or context.find_root().obj) as client:
        count = _apply(client, topic, group, "discard", ids, filters)
    _report(topic, group, "discarded", count, as_json)


def _selection(
    everything: bool, ids: list[int] | None, type_: str | None, key: str | None, reason: str | None
) -> dict[str, Any]:
    """The filters, once it is clear which dead letters are meant."""
    filters = {"type": type_, "key": key, "reason": reason}
    given = {name: value for name, value in filters.items() if value is not None}
    named = ["--all"] * everything + ["--id"] * bool(ids) + [f"--{name}" for name in given]
    if not named:
        raise UsageFailure("say which: --all, or some --id, or --type, --key and --reason")
    if len(named) > 1 and (everything or ids):
        raise UsageFailure(f"{named[0]} cannot be combined with {named[1]}")
    return given


def _apply(
    client: Client, topic: str, group: str, verb: str, ids: list[int] | None, filters: dict[str, Any]
) -> int:
    """By their numbers, page by page: one that dies again meanwhile is not met a second time."""
    path = group_path(topic, group, "dead-letters", verb)
    if ids:
        return _count(client.json("POST", path, _ANSWERS[verb], json={"ids": ids}), verb)
    count = 0
    for page in _pages(client, topic, group, {"status": "dead", **filters}, None):
        if not page:
            continue
        found = [letter.id for letter in page]
        count += _count(client.json("POST", path, _ANSWERS[verb], json={"ids": found}), verb)
    return count


_ANSWERS: dict[str, type] = {"redrive": Redriven, "discard": Discarded}


def _count(answer: dict[str, Any], verb: str) -> int:
    return int(answer["redriven" if verb == "redrive" else "discarded"])


def _report(topic: str, group: str, word: str, count: int, as_json: bool) -> None:
    if as_json:
        print_json({"topic": topic, "group": group, word: count})
    else:
        say(f"{events(count)} {word}")


class _Letter(NamedTuple):
    id: int
    text: bytes | None
    """None where it is nested too deeply to be read."""


class _Page(msgspec.Struct):
    dead_letters: list[msgspec.Raw]
    next_after: int | None


def _pages(
    client: Client, topic: str, group: str, wanted: dict[str, Any], limit: int | None
) -> Iterator[list[_Letter]]:
    given = {name: value for name, value in wanted.items() if value is not None}
    after: int | None = 0
    most = PAGE
    while after is not None and (limit is None or limit > 0):
        asked = most if limit is None else min(limit, most)
        answer = client.call(
            "GET", group_path(topic, group, "dead-letters"), params={**given, "after": after, "limit": asked}
        )
        try:
            numbers = [letter.id for letter in decoded(client, answer, DeadLetters).dead_letters]
        except TooDeep:
            if asked > 1:
                most = asked // 2
                continue
            page = [_Letter(_first_id(client, answer), None)]
            after = page[0].id
        else:
            found = msgspec.json.decode(answer.content, type=_Page)
            page = [_Letter(*one) for one in zip(numbers, map(bytes, found.dead_letters), strict=True)]
            after = found.next_after
        most = PAGE
        yield page
        limit = None if limit is None else limit - len(page)


def _first_id(client: Client, answer: "httpx.Response") -> int:
    """Of a page that cannot be read as JSON."""
    found = _FIRST_ID.match(answer.content)
    if found is None:
        raise stranger(client, answer)
    return int(found[1])


def _on_one_line(text: bytes) -> bytes:
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def _row(one: _Letter) -> list[str]:
    if one.text is None:
        return [str(one.id), *"-" * 6, UNREADABLE]
    letter = msgspec.json.decode(one.text)
    why = letter["reason"].replace("\n", " ")
    return [
        *(str(letter[name]) for name in ("id", "partition", "offset", "attempts")),
        letter["dead_at"],
        letter.get("type") or "-",
        letter.get("key") or "-",
        why if len(why) <= SHORT else why[: SHORT - 1] + "…",
    ]


def _text(raw: bytes) -> str:
    """A string without its quotes, anything else as JSON."""
    value = msgspec.json.decode(raw)
    return value if isinstance(value, str) else raw.decode()
