"""A key, a JWT and a session are each taken where they are to be shown, and nowhere else."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.api.credentials import COOKIE, csrf_token
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.problems import problem
from tests.support.service import ThreadService


@pytest.fixture
async def guarded(start_guarded: StartService) -> ThreadService:
    return await start_guarded()


@pytest.fixture
async def anybody(guarded: ThreadService) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=guarded.base_url, timeout=30) as client:
        yield client


def by_cookie(value: str) -> dict[str, str]:
    return {"Cookie": f"{COOKIE}={value}", "X-CSRF-Token": csrf_token(value)}


async def test_a_session_is_no_bearer_token_and_a_key_is_no_cookie(
    anybody: httpx.AsyncClient, keys: Keys
) -> None:
    key = await keys.make("admin", "admin")
    logged_in = await anybody.post("/v1/session", json={"token": key})
    session = logged_in.headers["set-cookie"].partition(";")[0].partition("=")[2]
    for right in (bearer(key), by_cookie(session)):
        assert (await anybody.get("/v1/topics", headers=right)).status_code == 200
        assert (await anybody.put("/v1/topics/t", headers=right)).status_code in (200, 201)
    for wrong in (bearer(session), by_cookie(key)):
        for answer in (
            await anybody.get("/v1/topics", headers=wrong),
            await anybody.put("/v1/topics/u", headers=wrong),
        ):
            problem(answer, 401, "unauthorized")
            assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert (await anybody.get("/v1/topics/u", headers=bearer(key))).status_code == 404
