"""The service under test, as the tests of its API call it."""

import itertools
from collections.abc import AsyncIterator

import httpx
import pytest

from app.settings import Settings
from tests.support.api import Api, api_of
from tests.support.databases import Databases, as_service
from tests.support.service import PATIENT, ThreadService
from tests.support.wait import PATIENCE_SECONDS


@pytest.fixture
async def api(service: ThreadService) -> AsyncIterator[Api]:
    async with api_of(service.base_url) as api:
        yield api


_numbers = itertools.count(1)


@pytest.fixture(scope="package")
async def shared_service(databases: Databases) -> AsyncIterator[ThreadService]:
    """One service for all tests that need only a topic of their own; other packages run without it."""
    dsn = await databases.create()
    async with ThreadService(Settings(database_url=as_service(dsn), **PATIENT)) as service:
        yield service
    await databases.drop(dsn)


@pytest.fixture
async def http(shared_service: ThreadService) -> AsyncIterator[httpx.AsyncClient]:
    timeout = httpx.Timeout(PATIENCE_SECONDS, pool=None)
    async with httpx.AsyncClient(base_url=shared_service.base_url, timeout=timeout) as client:
        yield client


@pytest.fixture
async def topic(http: httpx.AsyncClient) -> str:
    """The path of a new topic with one partition on the shared service."""
    path = f"/v1/topics/topic-{next(_numbers)}"
    assert (await http.put(path)).status_code == 201
    return path
