"""When bodies of publishes are decoded: the order of what happens in the loop, by their size."""

import asyncio
import threading

import pytest

from app.api.decoding import LONG_BYTES, SHORT_BYTES, Decoding
from app.api.drafts import Limits
from app.api.media_types import Content
from app.errors import InvalidJson
from app.model import NewEvent
from tests.support.wait import PATIENCE_SECONDS, until

LIMITS = Limits(1024 * 1024, 10_000)


def body(size: int) -> bytes:
    return b'{"events":[{"data":"%b"}]}' % (b"x" * size)


async def decode(decoding: Decoding, text: bytes) -> int:
    return len(await decoding.decode_events(Content.EVENTS, [], text, LIMITS, None))


@pytest.mark.parametrize("size", [1, SHORT_BYTES, LONG_BYTES])
async def test_a_body_of_any_size_is_decoded(size: int) -> None:
    assert await decode(Decoding(), body(size)) == 1


async def test_what_is_decoded_is_sent_before_the_next_of_a_burst_is_decoded() -> None:
    decoding = Decoding()
    happened: list[str] = []
    sending: list[asyncio.Task[None]] = []

    async def send(name: str) -> None:
        happened.append(f"{name} sent")

    async def publish(name: str) -> None:
        await decode(decoding, body(SHORT_BYTES))
        happened.append(f"{name} decoded")
        sending.append(asyncio.create_task(send(name)))

    await asyncio.gather(*map(publish, "abc"))
    await asyncio.gather(*sending)
    assert happened == ["a decoded", "a sent", "b decoded", "b sent", "c decoded", "c sent"]


async def test_a_short_body_does_not_wait_for_a_turn() -> None:
    decoding = Decoding()
    happened: list[str] = []

    async def publish(name: str, size: int) -> None:
        await decode(decoding, body(size))
        happened.append(name)

    await asyncio.gather(publish("a", SHORT_BYTES), publish("b", SHORT_BYTES), publish("short", 1))
    assert happened == ["short", "a", "b"]


async def test_the_loop_goes_on_while_a_long_body_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, went_on = threading.Event(), threading.Event()

    def slow(*_: object) -> list[NewEvent]:
        begun.set()
        return [NewEvent()] if went_on.wait(PATIENCE_SECONDS) else []

    monkeypatch.setattr("app.api.decoding.decode_events", slow)
    decoding = asyncio.create_task(decode(Decoding(), body(LONG_BYTES)))
    await until(begun.is_set)
    went_on.set()
    assert await decoding == 1


async def test_a_refused_or_abandoned_body_leaves_the_turn_to_the_next() -> None:
    decoding = Decoding()
    broken = asyncio.create_task(decode(decoding, body(SHORT_BYTES)[:-1]))
    abandoned = asyncio.create_task(decode(decoding, body(SHORT_BYTES)))
    good = asyncio.create_task(decode(decoding, body(SHORT_BYTES)))
    await asyncio.sleep(0)
    abandoned.cancel()
    with pytest.raises(InvalidJson):
        await broken
    assert await good == 1
