"""What has no body is nothing to keep either."""

import httpx
import pytest

from tests.conftest import StartService
from tests.support.access import Keys, bearer

SITE = "https://app.example"


@pytest.fixture
async def admin(start_guarded: StartService, keys: Keys) -> httpx.AsyncClient:
    service = await start_guarded(cors_origins=[SITE])
    token = await keys.make("admin", "admin")
    return httpx.AsyncClient(base_url=service.base_url, headers=bearer(token), timeout=30)


async def test_answers_without_content_are_not_to_be_stored(admin: httpx.AsyncClient) -> None:
    group = "/v1/topics/t/subscriptions/g"
    async with admin:
        assert (await admin.put("/v1/topics/t")).status_code == 201
        assert (await admin.put(group)).status_code == 201
        created = await admin.post("/v1/keys", json={"name": "k", "scopes": ["publish"]})
        assert created.status_code == 201
        for path in (group, "/v1/topics/t", "/v1/keys/k", "/v1/session"):
            answer = await admin.delete(path)
            assert (answer.status_code, answer.headers["cache-control"]) == (204, "no-store"), path
        asked = {"Origin": SITE, "Access-Control-Request-Method": "PUT"}
        answer = await admin.options("/v1/topics/t", headers=asked)
        assert (answer.status_code, answer.headers["cache-control"]) == (204, "no-store")
