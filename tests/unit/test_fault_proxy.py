"""The tests' proxy does to connections what it says."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from tests.support import listener
from tests.support.ports import free_port
from tests.support.proxy import FaultProxy, Target
from tests.support.wait import PATIENCE_SECONDS

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    """In front of a server that sends back what it gets."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
        writer.close()

    async with listener.listening(echo) as port, FaultProxy(Target(port=port)) as proxy:
        yield proxy


async def dial(proxy: FaultProxy) -> Streams:
    return await asyncio.open_connection("127.0.0.1", proxy.port)


async def say(streams: Streams, text: bytes) -> bytes:
    reader, writer = streams
    writer.write(text)
    return await asyncio.wait_for(reader.read(len(text)), PATIENCE_SECONDS)


async def test_bytes_pass_both_ways_and_the_end_too(proxy: FaultProxy) -> None:
    reader, writer = await dial(proxy)
    assert await say((reader, writer), b"hello") == b"hello"
    writer.write_eof()
    assert await reader.read() == b""
    writer.close()


async def test_a_cut_is_a_clean_end(proxy: FaultProxy) -> None:
    reader, writer = await dial(proxy)
    await say((reader, writer), b"x")
    proxy.cut()
    assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""
    writer.close()


async def test_a_reset_is_an_error(proxy: FaultProxy) -> None:
    reader, writer = await dial(proxy)
    await say((reader, writer), b"x")
    proxy.cut(reset=True)
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    writer.close()


async def test_an_answer_is_cut_after_a_number_of_bytes_once_and_no_other_link_with_it(
    proxy: FaultProxy,
) -> None:
    link, other = await dial(proxy), await dial(proxy)
    proxy.cut_answer_to(b"d", after=3)
    assert await say(link, b"abc") == b"abc"
    assert await say(other, b"abc") == b"abc"
    link[1].write(b"abcdef")
    assert await asyncio.wait_for(link[0].read(), PATIENCE_SECONDS) == b"abc"
    link[1].close()
    assert await say(other, b"abcdef") == b"abcdef"
    other[1].close()


async def test_a_black_hole_is_silent_and_heals_without_loss(proxy: FaultProxy) -> None:
    reader, writer = await dial(proxy)
    proxy.blackhole()
    writer.write(b"hello")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 0.1)
    proxy.heal()
    assert await asyncio.wait_for(reader.readexactly(5), PATIENCE_SECONDS) == b"hello"
    writer.close()


@dataclass(frozen=True)
class Slow(Target):
    """Answers when the test says so."""

    called: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    async def connect(self) -> Streams:
        self.called.set()
        await self.answers.wait()
        return await super().connect()


async def test_a_connection_is_cut_whose_target_has_not_answered_yet(proxy: FaultProxy) -> None:
    proxy.target = slow = Slow(port=proxy.target.port)
    reader, writer = await dial(proxy)
    await asyncio.wait_for(slow.called.wait(), PATIENCE_SECONDS)
    proxy.cut()
    slow.answers.set()
    assert await asyncio.wait_for(reader.read(), PATIENCE_SECONDS) == b""
    writer.close()


@pytest.mark.parametrize("turns", range(8))
async def test_a_connection_that_comes_as_the_proxy_ends_leads_nowhere(proxy: FaultProxy, turns: int) -> None:
    async with FaultProxy(proxy.target) as ending:
        client = socket.create_connection(("127.0.0.1", ending.port))
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
    with client, suppress(ConnectionResetError):
        assert (
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 1), PATIENCE_SECONDS) == b""
        )


async def test_refused_connections_are_reset(proxy: FaultProxy) -> None:
    proxy.refuse()
    reader, writer = await dial(proxy)
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    writer.close()


async def test_a_target_that_is_gone_resets_the_client() -> None:
    async with FaultProxy(Target(port=free_port())) as proxy:
        reader, writer = await dial(proxy)
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        writer.close()


async def test_whoever_comes_in_the_turn_in_which_it_ends_is_refused(proxy: FaultProxy) -> None:
    async with FaultProxy(Target(port=proxy.port)) as ending:
        client = socket.create_connection(("127.0.0.1", ending.port))
        # Of these turns of the loop the second accepts.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    with client:
        client.setblocking(False)
        answer = asyncio.get_running_loop().sock_recv(client, 1)
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(answer, PATIENCE_SECONDS)
