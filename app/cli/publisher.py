"""Publishes chunks one after the other, so that the order of the lines is the order of every partition.

A chunk travels under an idempotency key made of the prefix and its first line. Sent again (after a lost
answer, a restart of the server, or in another run of the command) it is answered with the offsets it
already has. Lines that the server refuses are taken out and the rest of the chunk goes in under the same
key: nothing was stored under it before, and the same input is refused in the same places the next time.

An input may have ended in the middle of a chunk that is whole the next time. Its last events therefore go in
by powers of two, the largest first. Where the server has other contents under a key, ever smaller powers of
two are offered, until one is what it has; the rest goes on under the key of the line after it. Whatever is
stored begins where what was stored before it ends, so no line goes in twice.

What is too much at once for the server, or for a proxy of it, goes in by powers of two as well.
"""

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import msgspec

from app.cli.answers import Published
from app.cli.client import Client, Retry, topic_path
from app.cli.failures import Failure, Problem, Unreachable
from app.cli.lines import Chunk, Line
from app.cli.mapping import Mapping, Refused

REQUEST_TOO_LARGE = 413


class Tally(msgspec.Struct):
    published: int = 0
    replayed: int = 0
    refused: int = 0
    last_line: int = 0
    """Everything up to this line is in the topic or refused."""


class Refusal(msgspec.Struct, frozen=True):
    line: int
    code: str
    detail: str


class OtherContents(Failure):
    """Something else is in the topic under the prefix."""


class Publisher:
    def __init__(
        self,
        client: Client,
        topic: str,
        mapping: Mapping,
        prefix: str,
        retry: Retry,
        report: Callable[[Refusal], None],
        *,
        may_grow: bool = False,
    ) -> None:
        """`may_grow`: another run under the prefix may have more lines."""
        self._client = client
        self._path = topic_path(topic, "events")
        self._mapping = mapping
        self._prefix = prefix
        self._retry = retry
        self._report = report
        self._may_grow = may_grow
        self._most_events = sys.maxsize
        self._most_bytes = sys.maxsize
        """Of one request, as far as refusals told."""
        self.tally = Tally()
        self.positions: list[dict[str, int]] = []
        """Where the events of the newest chunk are."""

    def publish(self, chunk: Chunk) -> None:
        events = dict(self._events(chunk.lines))
        first = chunk.lines[0].number
        while events:
            sent = self._publish_first(events, first, whole=not (chunk.last and self._may_grow))
            if not sent:
                break
            for number in sent:
                del events[number]
            self.tally.last_line = sent[-1]
            first = sent[-1] + 1
        self.tally.last_line = chunk.lines[-1].number

    def _publish_first(self, events: dict[int, bytes], first: int, *, whole: bool) -> list[int]:
        """Take out refused ones, and publish as many as go under the key of line `first`: these lines."""
        most = len(events)
        while events:
            most = min(most, len(events))
            numbers = self._fitting(events, most)
            if not whole or len(numbers) < most:
                numbers = numbers[: 1 << (len(numbers).bit_length() - 1)]
            sent = [events[number] for number in numbers]
            try:
                answer = self._send(sent, f"{self._prefix}:{first}")
            except Problem as problem:
                if problem.code == "idempotency_conflict" and len(numbers) > 1:
                    whole, most = False, len(numbers) - 1
                    continue
                refused = self._refused(problem, numbers)
                if not refused and self._lessen(problem, sent):
                    continue
                if not refused:
                    raise self._explained(problem, first, numbers[-1]) from problem
                for number in refused:
                    del events[number]
                continue
            if answer["replayed"]:
                self.tally.replayed += len(numbers)
            else:
                self.tally.published += len(numbers)
            self.positions = answer["events"]
            return numbers
        return []

    def _fitting(self, events: dict[int, bytes], most: int) -> list[int]:
        """The first lines, as many as go into one request, but one at least."""
        numbers: list[int] = []
        size = 0
        for number in islice(events, min(most, self._most_events)):
            size += len(events[number])
            if numbers and size > self._most_bytes:
                break
            numbers.append(number)
        return numbers

    def _lessen(self, problem: Problem, sent: list[bytes]) -> bool:
        """Send less from now on, if that was the problem."""
        if len(sent) == 1:
            return False
        if problem.code == "too_many_items":
            self._most_events = len(sent) // 2
        elif problem.status == REQUEST_TOO_LARGE:
            self._most_bytes = sum(map(len, sent)) // 2
        else:
            return False
        return True

    def _events(self, chunk: list[Line]) -> Iterable[tuple[int, bytes]]:
        for line in chunk:
            try:
                if line.text is None:
                    raise Refused("event_too_large", "The line is longer than 16 MiB.")
                yield line.number, self._mapping.event(line.text)
            except Refused as refused:
                self._refuse(line.number, refused.code, refused.detail)

    def _send(self, events: Iterable[bytes], key: str) -> Any:
        body = b'{"events":[' + b",".join(events) + b"]}"
        headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"'}
        while True:
            try:
                answer = self._client.json("POST", self._path, Published, content=body, headers=headers)
            except Failure as failure:
                self._retry.wait(failure)
            else:
                self._retry.reset()
                return answer

    def _refused(self, problem: Problem, numbers: list[int]) -> set[int]:
        """The lines that a problem names; a chunk of one line is named by any problem with its content."""
        named: set[int] = set()
        for item in problem.members.get("errors", ()):
            if item.get("index") not in range(len(numbers)):
                continue
            number = numbers[item["index"]]
            if number not in named:
                named.add(number)
                self._refuse(number, item.get("code", problem.code), _detail(item, problem))
        if not named and len(numbers) == 1 and problem.status in (400, REQUEST_TOO_LARGE):
            named.add(numbers[0])
            self._refuse(numbers[0], problem.code, problem.detail)
        return named

    def _refuse(self, number: int, code: str, detail: str) -> None:
        self.tally.refused += 1
        self._report(Refusal(number, code, detail))

    @staticmethod
    def _explained(problem: Problem, first: int, last: int) -> Failure:
        if problem.code == "idempotency_conflict":
            return OtherContents(
                f"what is in the topic under this prefix from line {first} on is not what this input has "
                "there: an earlier run had other contents, other options or more lines. Nothing from that "
                "line on was published now; give the input and the options of that run to go on with it, or "
                "another --idempotency-prefix to publish all lines once more"
            )
        kind = Unreachable if problem.temporary else Failure
        place = f"line {first}" if first == last else f"lines {first}-{last}"
        return kind(f"{place}: {problem}")


def _detail(item: dict[str, Any], problem: Problem) -> str:
    """What is wrong, and where in the line, which is the event's data. Attributes are named by the text."""
    detail: str = item.get("detail", problem.detail)
    pointer: str = item.get("pointer", "")
    return f"at {pointer.removeprefix('/data')}: {detail}" if pointer.startswith("/data/") else detail
