"""Consumer groups against a model of what they promise, by SQL and over HTTP."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import StartService
from tests.property.group_drivers import HttpDriver, SqlDriver
from tests.property.group_machine import GroupMachine, World
from tests.support.clock import StillClock
from tests.support.effort import effort

BOUNDED = settings(
    max_examples=effort(110, 3000),
    stateful_step_count=effort(50, 80),
    # The steps of a failure are few enough to read; to have fewer takes minutes.
    phases=[Phase.reuse, Phase.generate, *effort([], [Phase.shrink])],
    report_multiple_bugs=False,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
OVER_HTTP = settings(BOUNDED, max_examples=effort(10, 300))


@contextmanager
def world_of(dsn: str, base_url: str | None = None) -> Iterator[World]:
    """By SQL, or over the service at `base_url`."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(dsn))
        clock = StillClock(connection)
        runner.run(clock.install())
        driver = SqlDriver(connection) if base_url is None else HttpDriver(base_url, clock)
        yield World(
            runner=runner,
            connection=connection,
            driver=driver,
            clock=clock,
            numbers=itertools.count(1),
            is_direct=base_url is None,
            precision=timedelta(milliseconds=0 if base_url is None else 1),
        )
        if isinstance(driver, HttpDriver):
            runner.run(driver.close())
        runner.run(connection.close())


def search(bounds: settings, dsn: str, base_url: str | None = None) -> None:
    """In a thread, as the machine runs an event loop of its own."""
    with world_of(dsn, base_url) as world:

        class Machine(GroupMachine):
            def __init__(self) -> None:
                super().__init__(world)

        run_state_machine_as_test(Machine, settings=bounds)


@pytest.mark.timeout(effort(900, 7200))
async def test_groups_agree_with_their_model(dsn: str) -> None:
    await asyncio.to_thread(search, BOUNDED, dsn)


@pytest.mark.timeout(effort(900, 7200))
async def test_groups_agree_with_their_model_over_http(dsn: str, start_service: StartService) -> None:
    # The machine sweeps itself, so that it knows when an expired lease was noticed.
    service = await start_service(cleaning_seconds=86_400)
    await asyncio.to_thread(search, OVER_HTTP, dsn, service.base_url)
