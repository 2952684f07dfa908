"""The page whose stream is refused: what passes is waited out, the rest ends and says what to do."""

import asyncio
from typing import Any

import asyncpg
import httpx
import pytest
from playwright.async_api import BrowserContext, Request, Route, expect

from tests.browser.test_login import picture
from tests.browser.test_refused_topic import opened
from tests.conftest import StartProcess, StartService
from tests.support.browser import Tab, refuse_first
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, until

# Without shared workers the page asks for the stream, where the test can get in between.
ALONE = "delete window.SharedWorker"
STREAM = "**/v1/stream?*"


def problem(status: int, code: str, detail: str) -> dict[str, Any]:
    return {"status": status, "json": {"status": status, "code": code, "detail": detail}}


async def test_asking_why_a_stream_was_refused_opens_none(
    context: BrowserContext, start_service: StartService
) -> None:
    service = await start_service(max_streams=1)
    asked: list[tuple[str, str]] = []

    def note(request: Request) -> None:
        if "/v1/stream?" in request.url:
            asked.append((request.method, request.resource_type))

    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        await client.put("/v1/topics/orders", json={})
    await context.add_init_script(ALONE)
    await refuse_first(1, context, STREAM, status=502)
    context.on("request", note)
    tab = await Tab.open(context, service.base_url, "orders")
    assert asked == [("GET", "eventsource"), ("HEAD", "fetch"), ("GET", "eventsource")]
    await tab.publish("1")
    assert tab.faults == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (problem(400, "bad_request", "The request cannot be read."), "cannot be read. Reload the page"),
        (problem(409, "new_here", "It is too late."), "too late. Reload the page to try again."),
        (problem(404, "not_found", "There is nothing."), "There is nothing. Reload"),
        ({"status": 403, "body": "<h1>Blocked</h1>"}, "Something between this page and the service"),
    ],
)
async def test_what_does_not_pass_ends_the_stream_and_says_what_to_do(
    context: BrowserContext,
    service: ThreadService,
    client: httpx.AsyncClient,
    answer: dict[str, Any],
    said: str,
) -> None:
    await client.put("/v1/topics/orders", json={})
    asked: list[str] = []
    over = asyncio.Event()

    async def refuse(route: Route) -> None:
        asked.append(route.request.method)
        await (route.continue_() if over.is_set() else route.fulfill(**answer))

    await context.add_init_script(ALONE)
    await context.route(STREAM, refuse)
    tab = await opened(context, service.base_url, "orders")
    await tab.state("failed")
    await expect(tab.page.locator("#notices")).to_contain_text(said)
    await expect(tab.page.locator("#events-empty")).to_have_text("Nothing will arrive here.")
    before = len(asked)
    # Longer than the first two pauses between attempts would be.
    await tab.page.wait_for_timeout(2000)
    assert len(asked) == before
    await picture(tab, f"refused-{answer['status']}")
    over.set()
    await tab.page.reload()
    await tab.state("live")
    assert tab.faults == []


@pytest.mark.parametrize("status", [429, 503, 404])
async def test_what_passes_is_asked_for_again_and_not_before_retry_after(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, status: int
) -> None:
    await client.put("/v1/topics/orders", json={})
    seen = asyncio.Event()
    await context.add_init_script(ALONE)
    # As a proxy without a replica does.
    told = {"status": status, "headers": {"Retry-After": "3"}, "body": "<h1>Away</h1>"}
    asked = await refuse_first(3, context, STREAM, then=seen, **told)
    tab = await opened(context, service.base_url, "orders")
    await tab.state("reconnecting")
    said = f"(HTTP {status}). The page asks again in 3.0 s."
    await expect(tab.page.locator("#notices")).to_contain_text(said)
    await picture(tab, f"away-{status}")
    seen.set()
    await tab.state("live")
    # Of a 404 HEAD does not tell whether the service said so.
    probes = asked[2:4] if status == 404 else asked[1:3]
    assert probes[1] - probes[0] >= 3
    assert await tab.page.locator("#notices li[data-kind=warn]").count() == 1
    await tab.publish("1")
    assert tab.faults == []


async def test_a_log_that_was_put_back_stops_its_tab_until_that_is_reloaded_and_others_go_on(
    context: BrowserContext, start_process: StartProcess, connection: asyncpg.Connection
) -> None:
    service = await start_process(retry_milliseconds=200)
    url = service.base_url
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as client:
        for topic in ("orders", "payments"):
            await client.put(f"/v1/topics/{topic}", json={})
        orders, payments = [await Tab.open(context, url, topic) for topic in ("orders", "payments")]
        for n in range(3):
            await orders.publish(str(n))
        await orders.received(3)
        service.kill()
        await connection.execute("delete from gapless.event where log_offset > 1")
        await service.start()
        await orders.state("failed")
        await expect(orders.page.locator("#notices")).to_contain_text("was put back")
        await picture(orders, "log-put-back")
        await payments.state("live")
        await payments.publish('"goes on"')
        await orders.page.reload()
        await orders.state("live")
        assert (await orders.publish('"anew"')) == "0:2"
        assert orders.faults == payments.faults == []


@pytest.mark.parametrize("where", ["**/v1/topics/orders", STREAM])
async def test_what_the_service_says_of_its_own_failure_is_shown_once_while_the_page_asks_again(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, where: str
) -> None:
    await client.put("/v1/topics/orders", json={})
    failures = 0
    over = asyncio.Event()

    async def fail(route: Route) -> None:
        nonlocal failures
        if over.is_set():
            await route.continue_()
        else:
            failures += 1
            await route.fulfill(**problem(500, "internal", "Something went wrong in the server."))

    await context.add_init_script(ALONE)
    await context.route(where, fail)
    tab = await opened(context, service.base_url, "orders")
    await tab.state("reconnecting")
    said = tab.page.locator("#notices li[data-kind=warn]")
    await expect(said).to_contain_text(
        "The server answers HTTP 500: Something went wrong in the server. The page asks again in"
    )
    # Of a stream each attempt is three requests.
    await until(lambda: failures > 6)
    assert await said.count() == 1
    await expect(said).to_be_visible()
    over.set()
    await tab.state("live")
    assert tab.faults == []


async def test_a_page_that_cannot_begin_as_the_service_fails_says_so_and_begins_when_it_can(
    context: BrowserContext, service: ThreadService
) -> None:
    answer = problem(500, "internal", "Something went wrong in the server.")
    over = asyncio.Event()
    await context.route(
        "**/v1/session", lambda route: route.continue_() if over.is_set() else route.fulfill(**answer)
    )
    tab = await Tab.open(context, service.base_url)
    connection = tab.page.locator("#connection")
    await expect(connection).to_have_text("Something went wrong in the server.")
    await expect(connection).to_be_visible()
    for width in (360, 800, 1280):
        await tab.page.set_viewport_size({"width": width, "height": 800})
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= width
    await picture(tab, "failing-at-first")
    over.set()
    await expect(connection).to_have_text("Choose or create a topic")
    assert tab.faults == []
