"""The list of topics on the page, and what the page says there."""

import httpx
from playwright.async_api import BrowserContext, expect

from tests.support.browser import Tab
from tests.support.service import ThreadService


async def test_the_chosen_topic_tells_how_many_events_it_holds_before_one_arrives(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 2})
    await client.post(
        "/v1/topics/orders/events", json={"events": [{"key": str(n), "data": n} for n in range(30)]}
    )
    tab = await Tab.open(context, service.base_url, "orders")
    held = tab.page.locator("#topics a[aria-current]:not([data-before]) b")
    await expect(held).to_have_text("30")
    await tab.page.eval_on_selector("#topics a", "link => link.dataset.before = ''")
    await tab.page.click("#topics-refresh")
    await expect(held).to_have_text("30")
    assert tab.faults == []
