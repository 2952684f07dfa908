"""Reads topics over HTTP, over plain sockets.

`pages`: every connection asks for its next page as soon as it has one, at random places of a range of each
partition, for so many seconds. `export`: all of a topic, a connection for each partition, as NDJSON.
"""

import random
import re
import select
import time
from collections.abc import Callable
from typing import Any

from tests.bench.load.connection import Connection, get
from tests.bench.load.serving import serve

NDJSON = "application/x-ndjson"
_NEXT = re.compile(rb"gapless-next-offset: (\d+)", re.IGNORECASE)
_TIP = re.compile(rb"gapless-tip: (\d+)", re.IGNORECASE)
_PAGE_END = re.compile(rb'"next_offset":(\d+)')

Next = Callable[[int, bytes | None], bytes | None]
"""The next request of a connection, by its place and the answer to the last one; None when it is done."""


class Reader:
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._port = parameters["port"]

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        return self._pages(message) if message["command"] == "pages" else self._export(message)

    def _pages(self, message: dict[str, Any]) -> dict[str, Any]:
        """`pages` counts those that were there in time and full."""
        path = f"/v1/topics/{message['topic']}/events"
        limit, ranges = message["limit"], message["ranges"]
        asked = [0] * message["connections"]
        pages = 0
        end = time.monotonic() + message["seconds"]

        def following(place: int, answer: bytes | None) -> bytes | None:
            nonlocal pages
            in_time = time.monotonic() < end
            if answer is not None:
                found = _PAGE_END.search(answer, len(answer) - 200)
                if found is None or int(found[1]) != asked[place] + limit:
                    raise AssertionError(f"not a full page: {answer[:300].decode(errors='replace')}")
                pages += in_time
            if not in_time:
                return None
            partition = random.randrange(len(ranges))
            asked[place] = random.randint(*ranges[partition])
            return get(f"{path}?partition={partition}&offset={asked[place]}&limit={limit}")

        self._converse(len(asked), following)
        return {"pages": pages}

    def _export(self, message: dict[str, Any]) -> dict[str, Any]:
        path = f"/v1/topics/{message['topic']}/events"
        limit = message["limit"]
        counts = {"events": 0, "bytes": 0}
        started = time.monotonic()

        def following(place: int, answer: bytes | None) -> bytes | None:
            offset = 1
            if answer is not None:
                head, _, lines = answer.partition(b"\r\n\r\n")
                counts["events"] += lines.count(b"\n")
                counts["bytes"] += len(lines)
                offset, tip = _number(_NEXT, head), _number(_TIP, head)
                if offset > tip:
                    return None
            return get(f"{path}?partition={place}&offset={offset}&limit={limit}", NDJSON)

        self._converse(message["partitions"], following)
        return {**counts, "seconds": time.monotonic() - started}

    def _converse(self, count: int, following: Next) -> None:
        poll = select.epoll()
        places: dict[int, tuple[int, Connection]] = {}
        for place in range(count):
            connection = Connection(self._port)
            poll.register(connection.socket, select.EPOLLIN)
            places[connection.socket.fileno()] = place, connection
            connection.send(following(place, None) or b"")
        while places:
            for descriptor, _ in poll.poll():
                place, connection = places[descriptor]
                if (answer := connection.receive()) is None:
                    continue
                if request := following(place, answer):
                    connection.send(request)
                else:
                    connection.socket.close()
                    del places[descriptor]


def _number(pattern: re.Pattern[bytes], head: bytes) -> int:
    found = pattern.search(head)
    if found is None:
        raise ConnectionError("an answer without a position")
    return int(found[1])


if __name__ == "__main__":
    serve(lambda parameters: Reader(parameters).handle)
