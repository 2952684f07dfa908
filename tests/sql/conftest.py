"""Connections under the roles of the product."""

import asyncpg
import pytest

from tests.conftest import Connect


@pytest.fixture
async def publisher(connect: Connect) -> asyncpg.Connection:
    return await connect("publisher", server_settings={"role": "gapless_publisher"})


@pytest.fixture
async def subscriber(connect: Connect) -> asyncpg.Connection:
    return await connect("subscriber", server_settings={"role": "gapless_subscriber"})


@pytest.fixture
async def admin(connect: Connect) -> asyncpg.Connection:
    return await connect("admin", server_settings={"role": "gapless_admin"})
