"""The list of topics on the page, and what the page says there."""

import httpx
from playwright.async_api import BrowserContext, expect

from tests.support.browser import Tab
from tests.support.proxy import FaultProxy, Target
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


async def test_a_list_that_cannot_be_had_says_so_until_the_page_is_connected_again_and_has_it(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    async with FaultProxy(Target(port=service.port)) as proxy:
        tab = await Tab.open(context, f"http://127.0.0.1:{proxy.port}", "orders")
        await expect(tab.page.locator("#topics a[aria-current]")).to_be_visible()
        proxy.refuse()
        proxy.cut()
        await tab.state("reconnecting")
        await tab.page.click("#topics-refresh")
        panel = tab.page.locator("nav")
        await expect(panel).to_contain_text("The server cannot be reached.")
        await client.put("/v1/topics/payments", json={})
        proxy.heal()
        await tab.state("live")
        await expect(panel).not_to_contain_text("The server cannot be reached.")
        await expect(panel.locator("a")).to_contain_text(["orders", "payments"])
        assert tab.faults == []


async def test_what_the_form_said_is_gone_with_the_next_topic_but_not_with_the_one_it_made(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url)
    said = tab.page.locator("#create-result")
    await tab.create("payments")
    await expect(said).to_have_text("payments is ready.")
    for topic in ("orders", "payments"):
        await tab.page.fill("#create-name", "Not A Name")
        await tab.page.click("#create button")
        await expect(said).to_contain_text("begins with a letter or digit")
        await tab.page.click(f"#topics a[data-topic={topic}]")
        await tab.state("live")
        await expect(said).to_be_empty()
    assert tab.faults == []


async def test_a_topic_made_elsewhere_is_in_the_list_once_it_is_shown(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    await expect(tab.page.locator("#topics a")).to_have_count(1)
    await client.put("/v1/topics/payments", json={})
    await tab.go("payments")
    await expect(tab.page.locator("#topics a[aria-current]")).to_contain_text("payments")
    assert tab.faults == []


async def test_a_topic_that_the_list_does_not_reach_yet_is_looked_for_once(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    for number in range(50):
        await client.put(f"/v1/topics/a-{number}", json={})
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator("#topics a")).to_have_count(50)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    await tab.go("orders")
    assert [await tab.publish(str(number)) for number in range(3)] == ["0:1", "0:2", "0:3"]
    assert len([url for url in asked if "/v1/topics?" in url]) == 1
    assert tab.faults == []


async def test_a_list_that_was_shown_further_is_as_long_when_it_is_asked_for_again(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    for number in range(120):
        await client.put(f"/v1/topics/a-{number:03}", json={})
    await client.post("/v1/topics/a-119/events", json={"events": [{"data": 1}, {"data": 2}]})
    tab = await Tab.open(context, service.base_url)
    links = tab.page.locator("#topics a")
    more = tab.page.locator("#topics-more")
    for shown in (50, 100):
        await expect(links).to_have_count(shown)
        await tab.page.eval_on_selector_all("#topics a", "all => all.forEach(a => a.dataset.before = '')")
        await tab.page.click("#topics-refresh")
        await expect(tab.page.locator("#topics a:not([data-before])")).to_have_count(shown)
        await more.click()
    await expect(links).to_have_count(120)
    await expect(more).to_be_hidden()
    # Whoever came to the end by keyboard is where the list goes on.
    await expect(links.nth(100)).to_be_focused()
    await expect(links.last.locator("b")).to_have_text("2")
    await client.put("/v1/topics/b", json={})
    await tab.create("c")
    await expect(links).to_have_count(122)
    await expect(links.last).to_have_attribute("aria-current", "page")
    assert tab.faults == []


async def test_more_of_the_list_that_is_asked_for_twice_at_once_is_shown_once(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    for number in range(70):
        await client.put(f"/v1/topics/a-{number:03}", json={})
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator("#topics a")).to_have_count(50)
    await tab.page.eval_on_selector("#topics-more", "more => { more.click(); more.click(); }")
    await expect(tab.page.locator("#topics-more")).to_be_hidden()
    await expect(tab.page.locator("#topics a b:not(:empty)")).to_have_count(70)
    assert await tab.page.locator("#topics a").count() == 70
    assert tab.faults == []


async def test_a_new_topic_is_shown_before_the_events_of_all_others_are_counted(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/a", json={})
    await context.route("**/v1/topics/a", lambda _: None)
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator("#topics a")).to_have_count(1)
    await tab.create("orders")
    await tab.state("live")
    await expect(tab.page.locator("#topics a[aria-current]")).to_contain_text("orders")
    assert tab.faults == []
