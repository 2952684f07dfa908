"""Whatever callers wrote is text on the page, and the page stays usable."""

import json
from urllib.parse import quote

import httpx
from playwright.async_api import BrowserContext, expect

from tests.support.browser import Tab
from tests.support.groups import Group, token
from tests.support.service import ThreadService

TEXTS = [
    '<img src=x onerror="window.__p=1">',
    '"><svg/onload=window.__p=1>',
    "<script>window.__p=1</script>",
    "javascript:window.__p=1",
    "{{constructor.constructor('window.__p=1')()}}",
    "{{7*7}}",
    "${window.__p=1}",
    "__proto__",
    "'-window.__p=1-'",
    "\u202e<b>overridden</b>",
    "a\u200bb\u200d\ufeffc",
    "&lt;img src=x onerror=window.__p=1&gt;",
]


async def test_21_s84_every_text_that_is_shown_is_inert(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    topic = "/v1/topics/orders"
    await client.put(topic, json={"description": TEXTS[0]})
    group = await Group(client, topic).create(max_attempts=1)
    tab = await Tab.open(context, service.base_url, "orders")
    for text in TEXTS:
        event = {
            "key": text,
            "type": text,
            "id": text,
            "subject": text,
            "source": text,
            "headers": {"h": text, "__proto__": text},
            "data": {text: text, "__proto__": {"polluted": text}, "constructor": text},
        }
        answer = await client.post(f"{topic}/events", json={"events": [event]})
        assert answer.status_code == 201, answer.text
        await group.reject(token(await group.claim(member=text)), reason=text)
        await group.post("pause", reason=text)
        await group.post("resume")
    await tab.received(len(TEXTS))
    await expect(tab.page.locator("#events li")).to_have_count(len(TEXTS))
    for summary in await tab.page.locator("#events summary").all():
        await summary.click()
    for text in TEXTS:
        row = tab.page.locator("#events li").filter(has=tab.page.get_by_text(text, exact=True))
        assert await row.count() >= 1, text
    for hostile in TEXTS:
        await tab.page.goto(f"{service.base_url}/#topic={quote(hostile)}")
        await tab.state("idle")
        await expect(tab.page.locator("#welcome")).to_be_visible()
    await tab.go("orders")
    position = await tab.publish(json.dumps({"still": "usable"}), key="k", type_="t")
    await expect(tab.page.locator(f'#events li[data-position="{position}"]')).to_be_visible()
    assert await tab.page.evaluate("window.__p") is None
    assert await tab.page.evaluate("({}).polluted") is None
    assert (
        await tab.page.locator("#main img, #main svg, #main script, #main a[href^=javascript]").count() == 0
    )
    assert tab.faults == []


async def test_21_a_payload_as_large_as_may_be_leaves_the_page_usable(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders")
    tab = await Tab.open(context, service.base_url, "orders")
    large = "<b>" * 340_000
    answer = await client.post("/v1/topics/orders/events", json={"events": [{"data": large}] * 3})
    assert answer.status_code == 201, answer.text
    await tab.received(3)
    assert (await tab.publish('"after"')).startswith("0:")
    assert await tab.page.locator("#events b").count() == 0
    assert tab.faults == []
