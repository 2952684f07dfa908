"""Members of consumer groups over plain sockets: each claims, and acks with its next claim.

`run`: for so many seconds; then every member acks what it has. `catch_up`: until all together have got so
many events, and acked them. `latencies` are from when an event was due, as `tests.bench.load.http_publish`
notes it in its data, to when the answer with it was read.
"""

import json
import math
import re
import select
import time
from collections.abc import Iterable
from typing import Any

from tests.bench.load.connection import Connection, post
from tests.bench.load.serving import serve

WAIT_SECONDS = 1
_TOKEN = re.compile(rb'"token":"([^"]+)"')
_RANGE = re.compile(rb'"first_offset":(\d+),"last_offset":(\d+)')
_DUE = re.compile(rb'"due":(\d+)')


class Member(Connection):
    def __init__(
        self, port: int, topic: str, group: str, name: str, max_events: int, caller: str | None
    ) -> None:
        super().__init__(port)
        self.group = group
        self.token: str | None = None
        self.is_done = False
        """It has sent its last ack."""
        self._caller = caller
        self._path = f"/v1/topics/{topic}/subscriptions/{group}"
        self._asked = {"member": name, "max_events": max_events, "wait": WAIT_SECONDS}

    def claim(self) -> None:
        self._post("claim", self._asked | ({"ack": self.token} if self.token else {}))

    def ack(self) -> None:
        self._post(f"leases/{self.token}/ack", {})
        self.is_done = True

    def _post(self, verb: str, body: dict[str, Any]) -> None:
        self.send(post(f"{self._path}/{verb}", json.dumps(body).encode(), token=self._caller))


class Members:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        seconds, due = message.get("seconds", math.inf), message.get("events", math.inf)
        timed = message.get("timed", False)
        members = list(self._connect())
        by_descriptor = {member.socket.fileno(): member for member in members}
        poll = select.epoll()
        for descriptor in by_descriptor:
            poll.register(descriptor, select.EPOLLIN)
        delivered = dict.fromkeys(self._parameters["groups"], 0)
        total, in_time, answers, empty = 0, 0, 0, 0
        latencies: list[int] = []
        started = acked = time.monotonic()
        end = started + seconds
        for member in members:
            member.claim()
        waiting = set(members)
        while waiting:
            for descriptor, _ in poll.poll():
                member = by_descriptor[descriptor]
                answer = member.receive()
                if answer is None:
                    continue
                now = time.monotonic()
                if member.is_done:
                    acked = now
                    waiting.discard(member)
                    continue
                token, leased = _TOKEN.search(answer, 0, 2000), _RANGE.search(answer, 0, 2000)
                if token and leased:
                    count = int(leased[2]) - int(leased[1]) + 1
                    delivered[member.group] += count
                    total += count
                    in_time += count if now < end else 0
                    answers += 1
                    member.token = token[1].decode()
                    if timed:
                        read = round(now * 1e9)
                        latencies += [(read - int(due)) // 1000 for due in _DUE.findall(answer)]
                else:
                    empty += now < end
                    member.token = None
                if now < end and total < due:
                    member.claim()
                elif member.token:
                    member.ack()
                else:
                    waiting.discard(member)
        for member in members:
            member.socket.close()
        return {
            "delivered": delivered,
            "in_time": in_time,
            "answers": answers,
            "empty": empty,
            "microseconds": latencies,
            "seconds": acked - started,
        }

    def _connect(self) -> Iterable[Member]:
        asked = self._parameters
        for group in asked["groups"]:
            for number in range(asked["members"]):
                yield Member(
                    asked["port"],
                    asked["topic"],
                    group,
                    f"member-{number}",
                    asked["max_events"],
                    asked.get("token"),
                )


if __name__ == "__main__":
    serve(lambda parameters: Members(parameters).handle)
