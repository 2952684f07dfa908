"""Connections under the roles of the product, and a time that only tests move."""

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.clock import Clock, SlowClock


@pytest.fixture
def clock(slow_clock: SlowClock) -> Clock:
    return slow_clock


@pytest.fixture
async def publisher(connect: Connect) -> asyncpg.Connection:
    return await connect("publisher", server_settings={"role": "gapless_publisher"})


@pytest.fixture
async def subscriber(connect: Connect) -> asyncpg.Connection:
    return await connect("subscriber", server_settings={"role": "gapless_subscriber"})


@pytest.fixture
async def admin(connect: Connect) -> asyncpg.Connection:
    return await connect("admin", server_settings={"role": "gapless_admin"})
