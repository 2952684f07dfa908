"""How the replies of RabbitMQ are read."""

import struct

import pytest

from tests.bench.load.amqp_publish import ACK, METHOD, OPEN_OK, Method, Replies, _frame

HEARTBEAT = 8
ACKED = struct.pack(">QB", 206, 1)
REPLIES = b"".join(
    [
        _frame(METHOD, 0, struct.pack(">HH", *OPEN_OK)),
        _frame(HEARTBEAT, 0, b""),
        _frame(METHOD, 1, struct.pack(">HH", *ACK) + ACKED),
    ]
)


@pytest.mark.parametrize("size", range(1, len(REPLIES) + 1))
def test_replies_of_rabbitmq_are_found_however_they_are_cut(size: int) -> None:
    replies = Replies()
    found = []
    for place in range(0, len(REPLIES), size):
        found += replies.feed(REPLIES[place : place + size])
    assert found == [Method(OPEN_OK, b""), Method(ACK, ACKED)]
