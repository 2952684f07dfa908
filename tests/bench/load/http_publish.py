"""Publishes over plain sockets, as cheaply as Python can, so that the service is what is measured.

`closed`: every connection sends its next request as soon as the last was answered. `paced`: a request every
so many seconds on whichever connection is free, each event with its number and when it was due in its data.
`path` is for another server than the service, which gets the data of an event as the whole body.
"""

import select
import time
from typing import Any

from tests.bench.load.batches import KEYS, make_batch
from tests.bench.load.connection import Connection, closed, post
from tests.bench.load.serving import serve

PATH = "/v1/topics/{topic}/events"
CREATED = 201


class Publishing(Connection):
    def __init__(self, port: int, path: str, body: bytes, token: str | None) -> None:
        super().__init__(port, CREATED)
        self.path = path
        self.request = post(path, body, token=token)


class Publisher:
    def __init__(self, parameters: dict[str, Any]) -> None:
        batch = make_batch(parameters["events"], parameters["size"], keyed=parameters["keyed"])
        self._port = parameters["port"]
        self._token = parameters.get("token")
        self._path, self._body = PATH, batch.body
        self._is_bare = "path" in parameters
        if self._is_bare:
            self._path, self._body = parameters["path"], batch.data[0].encode()
        self._count = parameters["connections"]
        self._events = parameters["events"]
        self._size = parameters["size"]
        self._keyed = parameters["keyed"]
        self._sent = 0
        self._topics = parameters["topics"]
        self._connect()

    def _connect(self) -> None:
        paths = [self._path.format(topic=topic) for topic in self._topics]
        self._connections = [
            Publishing(self._port, paths[i % len(paths)], self._body, self._token) for i in range(self._count)
        ]
        self._poll = select.epoll()
        self._by_descriptor = {connection.socket.fileno(): connection for connection in self._connections}
        for descriptor in self._by_descriptor:
            self._poll.register(descriptor, select.EPOLLIN)

    def handle(self, message: dict[str, Any]) -> dict[str, Any]:
        # The service closes connections that were idle for a few seconds.
        for connection in self._connections:
            connection.socket.close()
        self._topics = message.get("topics", self._topics)
        self._connect()
        if message["command"] == "closed":
            return closed(self._connections, message["seconds"])
        return self._paced(message["seconds"], message["every"])

    def _paced(self, seconds: float, every: float) -> dict[str, Any]:
        free = list(self._connections)
        sent_at: dict[Publishing, float] = {}
        answer_seconds = []
        due = time.monotonic() + every
        count = round(seconds / every)
        sent = 0
        while sent < count or len(free) < len(self._connections):
            wait = max(0.0, due - time.monotonic()) if sent < count and free else None
            # To the microsecond, where `poll` itself would wait for whole milliseconds.
            select.select([self._poll], [], [], wait)
            for descriptor, _ in self._poll.poll(0):
                connection = self._by_descriptor[descriptor]
                if connection.receive():
                    answer_seconds.append(time.monotonic() - sent_at.pop(connection))
                    free.append(connection)
            if sent < count and free and time.monotonic() >= due:
                connection = free.pop(0)
                sent_at[connection] = time.monotonic()
                connection.send(post(connection.path, self._numbered(due), token=self._token))
                sent += 1
                due += every
        return {"published": sent * self._events, "answer_seconds": answer_seconds}

    def _numbered(self, due: float) -> bytes:
        if self._is_bare:
            return self._data(due).encode()
        return f'{{"events":[{",".join(self._event(due) for _ in range(self._events))}]}}'.encode()

    def _event(self, due: float) -> str:
        data = self._data(due)
        key = f'"key":"k{self._sent * 7919 % KEYS}",' if self._keyed else ""
        return f'{{{key}"data":{data}}}'

    def _data(self, due: float) -> str:
        self._sent += 1
        start = f'{{"number":{self._sent},"due":{round(due * 1e9)},"note":"'
        return f'{start.ljust(self._size - 2, "x")}"}}'


if __name__ == "__main__":
    serve(lambda parameters: Publisher(parameters).handle)
