"""Publishing while the database rolls back what it was asked, or has no space for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.support.api import Api
from tests.support.http_group import create_group
from tests.support.problems import problem

ALWAYS = 1_000
URL = "/v1/topics/orders/events"
BODY = {"events": [{"data": 1}]}


@asynccontextmanager
async def refusing(connection: asyncpg.Connection, sqlstate: str, times: int) -> AsyncIterator[None]:
    """So many inserts of events fail; those that worked count too, and a roll-back takes nothing off."""
    await connection.execute(
        f"""
        create sequence public.attempt;
        create function public.refuse() returns trigger language plpgsql security definer as $$
          begin
            if nextval('public.attempt') <= {times} then
              raise exception using errcode = '{sqlstate}';
            end if;
            return new;
          end
        $$;
        create trigger refuse before insert on gapless.event for each row execute function public.refuse()"""
    )
    yield
    await connection.execute("drop function public.refuse() cascade; drop sequence public.attempt")


async def tip(api: Api) -> int:
    (bounds,) = (await api.client.get("/v1/topics/orders")).json()["bounds"]
    return int(bounds["tip"])


@pytest.mark.parametrize("sqlstate", ["40P01", "40001"], ids=["deadlock", "old_snapshot"])
async def test_what_was_rolled_back_is_tried_three_times(
    api: Api, connection: asyncpg.Connection, sqlstate: str
) -> None:
    await api.create("orders")
    async with refusing(connection, sqlstate, times=2):
        assert await api.publish(1, topic="orders") == [1]
    async with refusing(connection, sqlstate, times=3):
        problem(await api.client.post(URL, json=BODY), 503, "topic_busy")
        assert await tip(api) == 1
        assert await api.publish(2, topic="orders") == [2]


async def test_without_space_nothing_is_stored_and_all_that_needs_none_goes_on(
    api: Api, connection: asyncpg.Connection
) -> None:
    group = await create_group(api.client, "orders")
    await api.publish(1, 2, 3, topic="orders")
    async with refusing(connection, "53100", times=ALWAYS):
        problem(await api.client.post(URL, json=BODY), 507, "storage_full")
        assert await tip(api) == 3
        assert len((await api.read("orders"))["events"]) == 3
        lease = (await group.post("claim", {"member": "m"}))["lease"]
        await group.post(f"leases/{lease['token']}/ack")
        await api.trim(3, topic="orders")
        assert [event["offset"] for event in (await api.read("orders", offset=3))["events"]] == [3]
    assert await api.publish(4, topic="orders") == [4]
