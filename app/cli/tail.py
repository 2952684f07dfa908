"""`gapless tail`: events as they happen, over any number of reconnects."""

import random
import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from app.cli.client import Client, may_pass, stranger
from app.cli.failures import Failure, Problem, Unreachable, UsageFailure
from app.cli.options import Url, notice
from app.cli.position import OutputFile, PositionFile, Sink, StandardOutput
from app.cli.sse import Frame, FrameParser

SILENCE_SECONDS = 45.0
"""Three missed pings: the connection is dead, whatever TCP thinks. Doubled each time, as a server may be set
to ping more rarely."""
LONGEST_SILENCE_SECONDS = 300.0
RETRY_SECONDS = 2.0
LONGEST_RETRY_SECONDS = 10.0


def tail(
    context: typer.Context,
    topics: Annotated[
        list[str], typer.Argument(metavar="TOPIC", help="One topic or several.", show_default=False)
    ],
    start: Annotated[
        str, typer.Option("--from", metavar="WHERE", help="earliest, latest, or an RFC 3339 time.")
    ] = "latest",
    last_event_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Go on after this position.", show_default=False)
    ] = None,
    resume_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep the position here and go on from it after a kill.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append to this file, each event exactly once over any number of kills; "
            "the position is kept in FILE.position.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--max", min=1, metavar="N", help="Stop after so many events.", show_default=False),
    ] = None,
    url: Url = None,
) -> None:
    """Print events as they happen.

    One line of JSON per event, as the server sent it; what else happens to the stream goes to standard error.
    Reconnects and goes on where it was. With --resume-file a killed tail goes on too; its last lines may
    then be printed twice, unless they go to --output.
    """
    if last_event_id and (resume_file or output):
        raise UsageFailure("--last-event-id and a stored position exclude each other")
    if last_event_id and not (last_event_id.isascii() and last_event_id.isprintable()):
        raise UsageFailure(f"--last-event-id is the id of an event of a stream, not {last_event_id!r}")
    with Client(url or context.find_root().obj) as client:
        Tail(client, topics, start, _sink(topics, resume_file, output), limit).run(last_event_id)


def _sink(topics: list[str], resume_file: Path | None, output: Path | None) -> Sink:
    if output is None:
        return StandardOutput(PositionFile(resume_file, topics) if resume_file else None)
    beside = output.with_name(output.name + ".position")
    return OutputFile(output, PositionFile(resume_file or beside, topics))


class Tail:
    def __init__(self, client: Client, topics: list[str], start: str, sink: Sink, limit: int | None) -> None:
        self._client = client
        self._topics = list(dict.fromkeys(topics))
        self._start = start
        self._sink = sink
        self._left = limit
        self._id = ""
        self._retry = RETRY_SECONDS
        self._silence_seconds = SILENCE_SECONDS
        self._connected = False
        self._attempt = 0

    def run(self, last_event_id: str | None) -> None:
        """Returns when every topic ended or the limit is reached."""
        self._id = self._sink.start() or last_event_id or ""
        while self._topics and self._left != 0:
            try:
                self._follow()
            except (Unreachable, Problem) as failure:
                if not self._connected or not may_pass(failure):
                    raise
                if self._attempt == 0:
                    self._bear(failure)
                    notice(f"{failure}; reconnecting")
                self._attempt += 1
                self._pause(self._attempt, failure)
            else:
                if self._topics and self._left != 0:
                    self._pause(0)

    def _bear(self, failure: Failure) -> None:
        import httpx

        if isinstance(failure.__cause__, httpx.ReadTimeout):
            self._silence_seconds = min(2 * self._silence_seconds, LONGEST_SILENCE_SECONDS)

    def _follow(self) -> None:
        import httpx

        parser = FrameParser(self._id)
        last_id = _id_for(self._id, self._topics)
        # A proxy that compresses may hold events back until it has enough of them.
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        query = {"topic": self._topics, "from": self._start}
        patience = httpx.Timeout(self._silence_seconds, connect=5.0)
        with self._client.stream("/v1/stream", params=query, headers=headers, timeout=patience) as response:
            begun = False
            for chunk in response.iter_raw():
                try:
                    frames = list(parser.feed(chunk))
                    troubles = list(map(_trouble, frames))
                    self._take([f for f, trouble in zip(frames, troubles, strict=True) if trouble is None])
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    raise stranger(self._client, response) from error
                self._retry = parser.retry_seconds or self._retry
                for problem in filter(None, troubles):
                    raise problem
                if not begun:
                    begun = True
                    self._begin()
                if self._left == 0:
                    return

    def _begin(self) -> None:
        if self._connected and self._id:
            notice("connected again")
        self._connected = True
        self._attempt = 0

    def _take(self, frames: list[Frame]) -> None:
        lines: list[bytes] = []
        last_id = self._id
        for frame in frames:
            if frame.event:
                self._control(frame)
            elif frame.data is not None:
                # A line end inside JSON is white space; on one line it must be another.
                lines.append(frame.data.replace(b"\n", b" "))
            last_id = frame.last_event_id
            if self._left is not None and len(lines) == self._left:
                break
        if self._left is not None:
            self._left -= len(lines)
        if lines or last_id != self._id:
            self._id = last_id
            self._sink.write(lines, last_id)

    def _control(self, frame: Frame) -> None:
        said = _said(frame)
        if frame.event == "gap":
            where = f"{said.get('topic')} partition {said.get('partition')}"
            notice(
                f"gap ({said.get('reason')}): {where} was asked from {said.get('requested')}, "
                f"the earliest event is {said.get('earliest')}"
            )
        elif frame.event == "end":
            ended = said.get("topic")
            notice(f"end: topic {ended} was deleted")
            self._topics = [topic for topic in self._topics if topic != ended]
        elif frame.event == "drain":
            notice("drain: the server is stopping; reconnecting")
        elif frame.event != "start":
            notice(f"{frame.event}: {said.get('detail', '')} ({said.get('code', '')})")

    def _pause(self, attempt: int, failure: Failure | None = None) -> None:
        asked = failure.retry_after if isinstance(failure, Problem) else None
        pause = min(self._retry * 2 ** max(0, attempt - 1) / 4, LONGEST_RETRY_SECONDS)
        time.sleep(max(pause, asked or 0.0) * random.uniform(0.8, 1.2))  # nosec B311


def _id_for(last_id: str, topics: list[str]) -> str:
    """An id without the topics that ended: a stream takes back only ids of its own topics."""
    version, dot, rest = last_id.partition(".")
    if version != "v1" or not dot:
        return last_id
    epoch, _, positions = rest.partition(".")
    kept = [entry for entry in positions.split(",") if entry.split(":")[0] in topics]
    return f"v1.{epoch}.{','.join(kept)}" if kept else ""


def _said(frame: Frame) -> dict[str, Any]:
    return msgspec.json.decode(frame.data or b"{}", type=dict[str, Any])


def _trouble(frame: Frame) -> Problem | None:
    """What a stream says that cannot begin or go on for now; a server that stops gives no code."""
    if frame.event != "drain":
        return None
    said = _said(frame)
    code = said.get("code")
    return Problem(503, code, said.get("detail", ""), said, None) if code else None
