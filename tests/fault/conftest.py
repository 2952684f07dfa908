"""The service under test, and its API."""

from collections.abc import AsyncIterator

import pytest

from tests.support.api import Api, api_of
from tests.support.service import ThreadService


@pytest.fixture
async def api(service: ThreadService) -> AsyncIterator[Api]:
    async with api_of(service.base_url) as api:
        yield api
