"""The command line without waiting for it to start."""

from collections.abc import AsyncIterator

import pytest

from tests.support.warm_cli import WarmCli


@pytest.fixture(scope="session")
async def warm_cli() -> AsyncIterator[WarmCli]:
    async with WarmCli() as cli:
        yield cli
