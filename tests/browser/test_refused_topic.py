"""A topic that the one stream of all tabs is refused for fails in its own tab, and the others go on."""

import httpx
from playwright.async_api import BrowserContext, Route, expect

from tests.browser.test_login import log_in
from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.browser import Tab
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, until


async def opened(context: BrowserContext, base_url: str, topic: str) -> Tab:
    """A tab that has asked for the topic, whatever becomes of it."""
    tab = await Tab.open(context, base_url)
    await expect(tab.page.locator("#columns")).to_be_visible()
    await tab.page.goto(f"{base_url}/#topic={topic}")
    return tab


async def failed(tab: Tab, words: str) -> None:
    await tab.state("failed")
    await expect(tab.page.locator("#notices")).to_contain_text(words)


async def streams(tab: Tab, service: ThreadService, client: httpx.AsyncClient, topic: str) -> None:
    """Whether what is published comes by the stream, and nothing has to be read from the log."""
    await tab.state("live")
    await until(lambda: service.app.parts.streams.open == 1)
    # It looks once more into the log as its stream begins, and could find the event there.
    await tab.quiet()
    (await client.post(f"/v1/topics/{topic}/events", json={"events": [{"data": 1}]})).raise_for_status()
    await tab.received(1)
    assert (await tab.partitions())[0]["fetched"] == 0
    assert tab.faults == []


async def test_a_topic_that_may_not_be_read_fails_in_its_tab_and_others_stream_on(
    context: BrowserContext, start_guarded: StartService, keys: Keys
) -> None:
    service = await start_guarded(ping_seconds=1)
    url = service.base_url
    admin = bearer(await keys.make("ada", "admin"))
    async with httpx.AsyncClient(base_url=url, headers=admin, timeout=PATIENCE_SECONDS) as client:
        for topic in ("orders", "inbox"):
            await client.put(f"/v1/topics/{topic}", json={})
        reader = await Tab.open(context, url)
        await log_in(reader, await keys.make("eve", "subscribe:orders", "publish:inbox"))
        await expect(reader.page.locator("#topics a")).to_have_count(2)
        await reader.go("orders")
        other = await opened(context, url, "inbox")
        await failed(other, "`subscribe`")
        await streams(reader, service, client, "orders")
        # Alone as well.
        await reader.page.close()
        await until(lambda: service.app.parts.streams.open == 0)
        await other.page.reload()
        await failed(other, "`subscribe`")


async def test_a_topic_that_is_too_much_for_the_stream_fails_in_its_tab_until_another_one_is_closed(
    context: BrowserContext, start_service: StartService
) -> None:
    service = await start_service(ping_seconds=1, stream_max_topics=2)
    url = service.base_url
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS) as client:
        for topic in ("orders", "payments", "refunds"):
            await client.put(f"/v1/topics/{topic}", json={})
        orders, payments = [await Tab.open(context, url, topic) for topic in ("orders", "payments")]
        refunds = await opened(context, url, "refunds")
        await failed(refunds, "at most 2 topics")
        await streams(orders, service, client, "orders")
        await streams(payments, service, client, "payments")
        await payments.page.close()
        await refunds.page.reload()
        await streams(refunds, service, client, "refunds")


async def test_a_topic_that_is_deleted_before_its_stream_begins_ends(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = Tab(await context.new_page(), service.base_url)
    # Without shared workers the page asks for the stream, where the test can get in between.
    await tab.page.add_init_script("delete window.SharedWorker")

    async def delete_first(route: Route) -> None:
        await client.delete("/v1/topics/orders")
        await route.continue_()

    await tab.page.route("**/v1/stream?*", delete_first)
    await tab.page.goto(f"{service.base_url}/#topic=orders")
    await tab.state("ended")
    # The page may read that its stream is over before the service has taken leave of it.
    await until(lambda: service.app.parts.streams.open == 0)
