"""The circuit breaker: who is slow is told from who is silent by a probe, and by nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import asyncpg
import pytest

from app.db.breaker import LATE, Breaker
from tests.support.wait import until

PATIENCE_SECONDS = 0.05


class Server:
    """Answers probes as a test wants, and counts them and the times that it was taken for silent."""

    def __init__(self, answer: Callable[[], Awaitable[object]]) -> None:
        self.answer = answer
        self.probes = 0
        self.silences = 0
        self.breaker = Breaker(self._probe, self._opened, PATIENCE_SECONDS)

    async def until_probed(self, times: int) -> None:
        due = self.probes + times
        await until(lambda: self.probes >= due)

    async def _probe(self) -> None:
        self.probes += 1
        await self.answer()

    async def _opened(self) -> None:
        self.silences += 1


@asynccontextmanager
async def asked(server: Server) -> AsyncIterator[None]:
    """A call that is under way."""
    server.breaker.began(time.perf_counter())
    yield
    server.breaker.ended(answered=False)
    server.breaker.close()


async def nothing() -> None:
    pass


async def never() -> None:
    await asyncio.Event().wait()


async def refuse_for_the_number_of_connections() -> None:
    raise asyncpg.TooManyConnectionsError


async def refuse_the_password() -> None:
    raise asyncpg.InvalidPasswordError


async def refuse_to_listen() -> None:
    raise ConnectionRefusedError


@pytest.mark.parametrize(
    "answer", [nothing, refuse_for_the_number_of_connections, refuse_the_password, refuse_to_listen]
)
async def test_a_server_that_answers_probes_may_take_its_time(
    answer: Callable[[], Awaitable[object]],
) -> None:
    server = Server(answer)
    async with asked(server):
        await server.until_probed(4)
    assert server.silences == 0


async def test_a_server_that_answers_no_probe_is_silent_until_it_answers_one() -> None:
    server = Server(never)
    async with asked(server):
        await until(lambda: server.breaker.is_open)
        await server.until_probed(2)
        assert server.breaker.is_open
        server.answer = refuse_for_the_number_of_connections
        await until(lambda: not server.breaker.is_open)
        await server.until_probed(2)
    assert server.silences == 1


async def test_a_call_that_failed_leaves_the_doubt_behind() -> None:
    server = Server(never)
    server.breaker.began(time.perf_counter())
    server.breaker.ended(answered=False)
    await until(lambda: server.breaker.is_open)
    server.breaker.close()


async def test_an_answer_to_somebody_else_is_a_sign_of_life() -> None:
    async def answer_another_call() -> None:
        server.breaker.began(time.perf_counter())
        server.breaker.ended(answered=True)
        await never()

    server = Server(answer_another_call)
    async with asked(server):
        await server.until_probed(3)
    assert server.silences == 0


async def test_calls_that_are_answered_cost_no_probe() -> None:
    server = Server(nothing)
    end = time.monotonic() + 4 * PATIENCE_SECONDS
    while time.monotonic() < end:
        server.breaker.began(time.perf_counter())
        server.breaker.ended(answered=True)
        await asyncio.sleep(0)
    server.breaker.close()
    assert server.probes == 0


async def test_a_process_that_stood_still_itself_asks_again() -> None:
    async def stand_still() -> None:
        server.answer = nothing
        asyncio.get_running_loop().call_soon(time.sleep, 2 * LATE * PATIENCE_SECONDS)
        await never()

    server = Server(stand_still)
    async with asked(server):
        await server.until_probed(3)
    assert server.silences == 0
