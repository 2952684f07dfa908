"""Publishes chunks one after the other, so that the order of the lines is the order of every partition.

A chunk travels under an idempotency key made of the prefix and its line numbers. Sent again (after a lost
answer, a restart of the server, or in another run of the command) it is answered with the offsets it
already has. Lines that the server refuses are taken out and the rest of the chunk goes in under the same
key: nothing was stored under it before, and the same input is refused in the same places the next time.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.cli.client import Client, Retry, topic_path
from app.cli.failures import Failure, Problem
from app.cli.lines import Line
from app.cli.mapping import Mapping, Refused


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


class Publisher:
    def __init__(
        self,
        client: Client,
        topic: str,
        mapping: Mapping,
        prefix: str,
        retry: Retry,
        report: Callable[[Refusal], None],
    ) -> None:
        self._client = client
        self._path = topic_path(topic, "events")
        self._mapping = mapping
        self._prefix = prefix
        self._retry = retry
        self._report = report
        self.tally = Tally()
        self.positions: list[dict[str, int]] = []
        """Where the events of the newest chunk are."""

    def publish(self, chunk: list[Line]) -> None:
        first, last = chunk[0].number, chunk[-1].number
        events = dict(self._events(chunk))
        key = f"{self._prefix}:{first}-{last}"
        while events:
            try:
                answer = self._send(events.values(), key)
            except Problem as problem:
                refused = self._refused(problem, list(events))
                if not refused:
                    raise self._explained(problem, first, last) from problem
                for number in refused:
                    del events[number]
                continue
            if answer["replayed"]:
                self.tally.replayed += len(events)
            else:
                self.tally.published += len(events)
            self.positions = answer["events"]
            break
        self.tally.last_line = last

    def _events(self, chunk: list[Line]) -> Iterable[tuple[int, bytes]]:
        for line in chunk:
            try:
                if line.text is None:
                    raise Refused("event_too_large", "the line is longer than 16 MiB")
                yield line.number, self._mapping.event(line.text)
            except Refused as refused:
                self._refuse(line.number, refused.code, refused.detail)

    def _send(self, events: Iterable[bytes], key: str) -> Any:
        body = b'{"events":[' + b",".join(events) + b"]}"
        headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"'}
        while True:
            try:
                answer = self._client.json("POST", self._path, content=body, headers=headers)
            except Failure as failure:
                self._retry.wait(failure)
            else:
                self._retry.reset()
                return answer

    def _refused(self, problem: Problem, numbers: list[int]) -> set[int]:
        """The lines that a problem names; a chunk of one line is named by any problem with its content."""
        named: set[int] = set()
        for item in problem.members.get("errors", ()):
            if "index" not in item:
                continue
            number = numbers[item["index"]]
            if number not in named:
                named.add(number)
                self._refuse(number, item["code"], item["detail"])
        if not named and len(numbers) == 1 and problem.status in (400, 413):
            named.add(numbers[0])
            self._refuse(numbers[0], problem.code, problem.detail)
        return named

    def _refuse(self, number: int, code: str, detail: str) -> None:
        self.tally.refused += 1
        self._report(Refusal(number, code, detail))

    @staticmethod
    def _explained(problem: Problem, first: int, last: int) -> Failure:
        if problem.code == "idempotency_conflict":
            return Failure(
                f"lines {first}-{last} were published before under this prefix, with other contents or "
                "options; give another --idempotency-prefix to publish them again"
            )
        return Failure(f"lines {first}-{last}: {problem}")
