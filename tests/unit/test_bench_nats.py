"""How the replies of NATS are read."""

import pytest

from tests.bench.load.nats_publish import Replies

REPLIES = b'INFO {}\r\nPONG\r\nMSG _INBOX.a 1  9\r\n{"seq":1}\r\nPING\r\nMSG _INBOX.a 1 x.y 4\r\n\r\n\r\n\r\n'


@pytest.mark.parametrize("size", range(1, len(REPLIES) + 1))
def test_replies_of_nats_are_found_however_they_are_cut(size: int) -> None:
    replies = Replies()
    found = []
    for place in range(0, len(REPLIES), size):
        found += replies.feed(REPLIES[place : place + size])
    assert found == [b'{"seq":1}', b"\r\n\r\n"]


@pytest.mark.parametrize("sent", [b"-ERR 'Unknown Protocol Operation'\r\n", b"HMSG _INBOX.a 1 16 16\r\n"])
def test_errors_of_nats_end_a_run(sent: bytes) -> None:
    with pytest.raises(ConnectionError):
        Replies().feed(sent)
