"""The page at `/` in a real Chromium: the newcomer's first proof."""

import asyncio
import json
import re
import time
from collections.abc import Iterable
from typing import Any, Literal

import httpx
import pytest
from playwright.async_api import Browser, BrowserContext, Route, expect

from tests.conftest import StartProcess, StartService
from tests.support.browser import Tab
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared, until

HOSTILE = '<img src=x onerror="window.__p=1"><script>window.__p=1</script>\u202e\u2028'

# Seconds on a machine that is busy with other things.
TOOK = re.compile(r"\d ms$|\d s$")

HOLDING = """
    // Without shared workers the page holds the stream, and the test holds what the stream brings.
    delete window.SharedWorker;
    window.holding = false;
    window.held = [];
    window.EventSource = class extends EventSource {
      set onmessage(take) {
        this.addEventListener("message", (message) => {
          if (holding) held.push(() => take(message));
          else take(message);
        });
      }
    };
    window.release = () => {
      holding = false;
      for (const take of held.splice(0)) take();
    };
"""


def keyed(numbers: Iterable[int]) -> dict[str, Any]:
    return {"events": [{"key": str(n), "data": n} for n in numbers]}


async def test_a_newcomer_creates_a_topic_publishes_and_sees_offset_and_latency(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator("#welcome")).to_be_visible()
    await expect(tab.page.locator("#topics-empty")).to_be_visible()
    await expect(tab.page.locator("#connection")).to_have_text("Choose or create a topic")
    await tab.create("orders", partitions=4)
    await tab.state("live")
    await expect(tab.page.locator("#partitions li")).to_have_count(4)
    position = await tab.publish('{"total": 1.10}', key="customer-7", type_="order.placed")
    row = tab.page.locator(f'#events li[data-position="{position}"]')
    await expect(row.locator(".data")).to_have_text('{"total": 1.10}')
    await expect(row.locator(".key")).to_have_text("customer-7")
    await expect(row.locator(".type")).to_have_text("order.placed")
    await expect(row.locator(".lag")).to_have_text(TOOK)
    await expect(tab.page.locator("#latency-last")).to_have_text(TOOK)
    await expect(tab.page.get_by_title("From stored to shown", exact=True)).to_have_count(2)
    await expect(tab.page.get_by_title("From your click to shown")).to_contain_text("arrived here after")
    await tab.received(1)
    await expect(tab.page.locator("#topics a[aria-current] b")).to_have_text("1")
    assert tab.faults == []


async def test_events_of_others_arrive_by_themselves_and_open_to_their_exact_text(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    data = '{"a":1.10,"big":12345678901234567890,"a":2}'
    body = f'{{"events":[{{"data":{data}}}]}}'
    await client.post("/v1/topics/orders/events", content=body, headers={"Content-Type": "application/json"})
    await tab.received(1)
    row = tab.page.locator("#events li")
    await expect(row.locator(".data")).to_have_text(data)
    await row.locator("summary").focus()
    await tab.page.keyboard.press("Enter")
    assert f'"data":{data}' in await row.locator("pre").inner_text()


async def test_the_log_is_shown_from_the_beginning_when_asked_for(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 2})
    events = [{"key": str(n), "data": n} for n in range(250)]
    await client.post("/v1/topics/orders/events", json={"events": events})
    tab = await Tab.open(context, service.base_url, "orders")
    await expect(tab.page.locator("#partitions li")).to_have_count(2)
    await tab.received(0)
    await tab.page.click("text=from the beginning")
    await tab.received(250)
    await expect(tab.page.locator("#events li")).to_have_count(100)
    for partition in await tab.partitions():
        assert (partition["first"], partition["last"]) == (1, partition["received"])
        assert partition["repeats"] == partition["fetched"] == partition["lost"] == 0


async def test_per_second_is_never_more_than_was_received(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    await client.post("/v1/topics/orders/events", json=keyed(range(200)))
    tab = await Tab.open(context, service.base_url)
    await tab.page.evaluate("""() => {
        const rate = document.getElementById("rate");
        window.rates = [];
        const note = () => rates.push(Number(rate.textContent.replaceAll(",", "")));
        new MutationObserver(note).observe(rate, { childList: true });
    }""")
    await tab.go("orders", "earliest")
    await tab.received(200)
    await tab.page.wait_for_function("rates.length > 0")
    assert 0 < max(await tab.page.evaluate("rates")) <= 200


async def test_a_server_killed_and_started_again_costs_no_event(
    context: BrowserContext, start_process: StartProcess
) -> None:
    service = await start_process(retry_milliseconds=200)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        await client.put("/v1/topics/orders", json={})
        tab = await Tab.open(context, service.base_url, "orders")
        for number in range(1, 3):
            await tab.publish(json.dumps(number))
            service.kill()
            await tab.state("reconnecting")
            await service.start()
            # Published before the page is back: these are the events that could get lost.
            events = [{"data": [number, n]} for n in range(3)]
            await client.post("/v1/topics/orders/events", json={"events": events})
            await tab.state("live")
            await tab.received(number * 4)
    await expect(tab.page.locator("#notices li").first).to_contain_text("nothing is lost")
    [partition] = await tab.partitions()
    assert (partition["first"], partition["last"], partition["received"]) == (1, 8, 8)
    assert partition["repeats"] == 0
    assert tab.faults == []


@pytest.mark.parametrize("first", ["log", "stream"])
async def test_what_log_and_stream_both_bring_after_a_break_counts_once_and_is_no_repeat(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, first: str
) -> None:
    await client.put("/v1/topics/orders", json={})
    await context.add_init_script(HOLDING)
    pages: list[Route] = []
    async with FaultProxy(Target(port=service.port)) as proxy:
        # Before the first event only the browser notes where the stream began, and comes back to that.
        tab = await Tab.open(context, f"http://127.0.0.1:{proxy.port}", "orders")
        await tab.page.route("**/orders/events?*", lambda route: pages.append(route))
        await tab.page.evaluate("holding = true")
        proxy.refuse()
        proxy.cut()
        await tab.state("reconnecting")
        await client.post("/v1/topics/orders/events", json=keyed(range(300)))
        proxy.heal()

        async def both_are_held() -> bool:
            return len(pages) == 1 and await tab.page.evaluate("held.length") == 300

        async def read_log() -> None:
            async with tab.page.expect_event("requestfinished"):
                await pages[0].continue_()

        async def go_on_streaming() -> None:
            await tab.page.evaluate("release()")

        await until(both_are_held)
        steps = [read_log, go_on_streaming]
        for step in steps if first == "log" else reversed(steps):
            await step()
            await tab.received(300)
        await client.post("/v1/topics/orders/events", json=keyed([300]))
        await tab.received(301)
        [partition] = await tab.partitions()
        assert (partition["first"], partition["last"], partition["received"]) == (1, 301, 301)
        assert partition["repeats"] == partition["lost"] == 0
        assert tab.faults == []


async def test_a_server_with_smaller_pages_is_read_in_smaller_pages(
    context: BrowserContext, start_service: StartService
) -> None:
    service = await start_service(page_max_events=100)
    await context.add_init_script(HOLDING)
    async with (
        FaultProxy(Target(port=service.port)) as proxy,
        httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client,
    ):
        await client.put("/v1/topics/orders", json={})
        tab = await Tab.open(context, f"http://127.0.0.1:{proxy.port}", "orders")
        await tab.page.evaluate("holding = true")
        proxy.refuse()
        proxy.cut()
        await tab.state("reconnecting")
        await client.post("/v1/topics/orders/events", json=keyed(range(300)))
        proxy.heal()
        await tab.received(300)
        assert tab.faults == []


async def test_an_event_published_while_the_page_asks_where_the_topic_stands_is_shown(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})

    published = False

    async def publish_meanwhile(route: Route) -> None:
        nonlocal published
        if published:
            await route.continue_()
        else:
            published = True
            asked = await route.fetch()
            (await client.post("/v1/topics/orders/events", json=keyed([1]))).raise_for_status()
            await route.fulfill(response=asked)

    await context.route("**/v1/topics/orders", publish_meanwhile)
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.received(1)
    assert tab.faults == []


async def test_an_event_published_while_the_server_is_away_is_stored_once_when_it_is_back(
    context: BrowserContext, start_process: StartProcess
) -> None:
    service = await start_process(retry_milliseconds=200)
    tab = await Tab.open(context, service.base_url)
    await tab.create("orders")
    await tab.state("live")
    service.kill()
    await tab.page.click("#publish-button")
    await expect(tab.page.locator("#publish-result")).to_contain_text("trying again")
    await service.start()
    await expect(tab.page.locator("#publish-result")).to_contain_text("Published as 0:1")
    await tab.received(1)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        page = (await client.get("/v1/topics/orders/events?partition=0&offset=1")).json()
    assert len(page["events"]) == 1


async def test_invalid_json_is_told_where_it_breaks_and_never_sent(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.create("orders")
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.method))
    for text, said in (
        ('{\n  "a": 1,,\n}', "line 2, column 10"),
        ("", "end of JSON input"),
        ("NaN", "not valid JSON"),
        ('1}]},{"events":[{"data":1', "column 2"),
    ):
        await tab.page.fill("#publish-data", text)
        await expect(tab.page.locator("#data-check")).to_contain_text(said)
        await tab.page.press("#publish-data", "Control+Enter")
        await expect(tab.page.locator("#publish-data")).to_be_focused()
    assert "POST" not in sent
    await tab.page.fill("#publish-data", '"\\u0000"')
    await tab.page.press("#publish-data", "Control+Enter")
    await expect(tab.page.locator("#publish-result")).to_contain_text("Not published")


async def test_a_refused_topic_name_is_explained(context: BrowserContext, service: ThreadService) -> None:
    tab = await Tab.open(context, service.base_url)
    for name in ("Not A Name", "..", "a/b", HOSTILE):
        await tab.page.fill("#create-name", name)
        await tab.page.click("#create button")
        await expect(tab.page.locator("#create-result")).to_have_attribute("data-failed", "true")
        await expect(tab.page.locator("#create-result")).to_contain_text("begins with a letter or digit")
        await tab.page.fill("#create-name", "x")
        await expect(tab.page.locator("#create-result")).to_be_empty()


async def test_an_unknown_topic_is_told_and_not_asked_for_again(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = Tab(await context.new_page(), service.base_url)
    # Without shared workers the page itself would hold the stream, by timers and requests of its own.
    await tab.page.add_init_script("delete window.SharedWorker")
    await tab.page.clock.install()
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    await tab.page.goto(f"{service.base_url}/#topic=missing")
    await tab.state("failed")
    await expect(tab.page.locator("#notices")).to_contain_text("missing")
    await tab.page.clock.run_for(60_000)
    assert [url for url in asked if "missing" in url.partition("#")[0]] == [
        f"{service.base_url}/v1/topics/missing"
    ]


async def test_s84_hostile_text_stays_text(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={"description": HOSTILE[:60]})
    tab = await Tab.open(context, service.base_url, "orders")
    readable = HOSTILE.replace("\u2028", "")
    event = {
        "key": readable,
        "type": readable,
        "id": readable,
        "subject": readable,
        "headers": {"x": readable},
        "data": {HOSTILE: HOSTILE},
    }
    answer = await client.post("/v1/topics/orders/events", json={"events": [event]})
    assert answer.status_code == 201, answer.text
    await tab.received(1)
    await tab.page.locator("#events summary").first.click()
    await expect(tab.page.locator("#events pre")).to_contain_text("<script>")
    await expect(tab.page.locator("#events .key")).to_have_text(readable)
    await tab.page.goto(f"{service.base_url}/#topic={HOSTILE}")
    await tab.state("idle")
    await expect(tab.page.locator("#welcome")).to_be_visible()
    assert await tab.page.evaluate("window.__p") is None
    assert await tab.page.locator("#events img, #events script, main img").count() == 0
    assert tab.faults == []


async def test_s84_the_policy_forbids_everything_that_the_page_does_not_need(
    client: httpx.AsyncClient,
) -> None:
    names = ("/", "/static/page.js", "/static/hub-worker.js", "/static/page.css", "/static/favicon.svg")
    for name in names:
        answer = await client.get(name)
        assert answer.status_code == 200
        policies = answer.headers.get_list("content-security-policy")
        assert len(policies) == 1
        rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
        assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
        assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == "'self'"
        assert "unsafe" not in policies[0]
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_parts_of_the_page_are_fetched_again_only_when_they_changed(client: httpx.AsyncClient) -> None:
    answer = await client.get("/static/page.js")
    assert answer.headers["cache-control"] == "no-cache"
    again = await client.get("/static/page.js", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = await client.head("/")
    assert (head.status_code, head.content) == (200, b"")
    for missing in (
        "/static/nothing.js",
        "/static/index.html",
        "/static/__init__.py",
        "/static/..%2fmain.py",
    ):
        refused = await client.get(missing)
        assert refused.status_code == 404
        assert refused.headers["content-type"] == "application/problem+json"


async def test_s12_the_eighth_tab_is_as_live_as_the_first(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    for topic in ("orders", "payments"):
        await client.put(f"/v1/topics/{topic}", json={"partitions": 2})
    await client.post(
        "/v1/topics/orders/events", json={"events": [{"key": str(n), "data": n} for n in range(30)]}
    )
    tabs, seconds = [], []
    for start in ("latest", "earliest"):
        for topic in ("orders", "payments") * 2:
            began = time.monotonic()
            tabs.append(await Tab.open(context, service.base_url, topic, start))
            seconds.append(time.monotonic() - began)
    # A machine that is busy with other things is slow for the first tab too.
    assert seconds[7] < max(shared(2.0), 2 * seconds[0])
    await until(lambda: service.app.parts.streams.open == 1)
    assert (await tabs[7].publish('"from the eighth"', key="k")).endswith(":1")
    await client.post(
        "/v1/topics/orders/events", json={"events": [{"key": str(n), "data": n} for n in range(10)]}
    )
    for tab, expected in zip(tabs, (10, 1, 10, 1, 40, 1, 40, 1), strict=True):
        await tab.received(expected)
        for partition in await tab.partitions():
            seen = partition["last"] - partition["first"] + 1 if partition["last"] else 0
            assert partition["received"] == seen
        assert tab.faults == []


async def test_a_tab_that_joins_the_stream_of_another_reads_what_came_before_from_the_log(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 2})
    events = [{"key": str(n), "data": n} for n in range(300)]
    await client.post("/v1/topics/orders/events", json={"events": events})
    first = await Tab.open(context, service.base_url, "orders")
    second = await Tab.open(context, service.base_url, "orders", "earliest")
    await second.received(300)
    await client.post("/v1/topics/orders/events", json={"events": events})
    await first.received(300)
    await second.received(600)
    for partition in await second.partitions():
        assert (partition["first"], partition["last"]) == (1, partition["received"])
    await first.page.close()
    await client.post("/v1/topics/orders/events", json={"events": events})
    await second.received(900)


async def test_a_page_is_live_again_once_a_read_of_the_log_that_failed_has_worked(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    await client.post("/v1/topics/orders/events", json={"events": [{"data": 1}, {"data": 2}]})
    await Tab.open(context, service.base_url, "orders")
    tab = Tab(await context.new_page(), service.base_url)
    works = asyncio.Event()
    await tab.page.route(
        "**/orders/events?*", lambda route: route.continue_() if works.is_set() else route.fulfill(status=503)
    )
    # It joins the stream of the other, so what came before is read.
    await tab.page.goto(f"{service.base_url}/#topic=orders&from=earliest")
    await tab.state("reconnecting")
    works.set()
    await tab.received(2)
    await tab.state("live")
    assert tab.faults == []


async def test_s14_a_deleted_topic_ends_the_stream_and_the_browser_stops_asking(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.publish("1")
    await tab.quiet()
    await client.delete("/v1/topics/orders")
    await tab.state("ended")
    await expect(tab.page.locator("#notices")).to_contain_text("deleted")
    await until(lambda: service.app.parts.streams.open == 0)
    before = service.server.server_state.total_requests
    # Longer than the browser's own reconnection delay would be.
    await tab.page.wait_for_timeout(service.settings.retry_milliseconds * 2)
    assert service.server.server_state.total_requests - before <= 2
    assert service.app.parts.streams.open == 0


async def test_the_list_can_be_paused_while_the_counters_go_on(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.publish('"first"')
    await tab.page.click("#pause")
    await client.post("/v1/topics/orders/events", json={"events": [{"data": n} for n in range(5)]})
    await tab.received(6)
    await expect(tab.page.locator("#events-note")).to_have_text("5 newer events")
    await expect(tab.page.locator("#events li")).to_have_count(1)
    await tab.page.click("#pause")
    await expect(tab.page.locator("#events li")).to_have_count(6)


@pytest.mark.parametrize("width", [360, 768, 1440])
async def test_nothing_sticks_out_at_any_width(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, width: int
) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 256})
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.publish(json.dumps("word " * 500), key="k" * 200, type_="t" * 200)
    await tab.page.locator("#events summary").first.click()
    await tab.page.click(".terminal summary")
    await tab.page.set_viewport_size({"width": width, "height": 800})
    assert await tab.page.evaluate("document.documentElement.scrollWidth") <= width
    wider = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.id || e.className)"
    assert await tab.page.eval_on_selector_all(".panel, form, main", wider) == []


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
async def test_data_has_most_of_the_room_of_an_event_and_its_place_is_never_cut_off(
    context: BrowserContext, service: ThreadService, width: int
) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.page.set_viewport_size({"width": width, "height": 800})
    await tab.create("orders")
    await tab.publish(json.dumps("word " * 50), key="k" * 200, type_="t" * 200)
    row = tab.page.locator("#events summary")
    wide = "row => row.querySelector('.data').clientWidth / row.clientWidth"
    assert await row.evaluate(wide) > 0.4
    place = row.locator(".where")
    await place.evaluate("place => { place.textContent = '255:1234567890123'; }")
    assert await place.evaluate("place => place.scrollWidth <= place.clientWidth")


@pytest.mark.parametrize("width", [390, 768])
async def test_where_parts_stand_below_each_other_events_follow_the_form_that_publishes_them(
    context: BrowserContext, service: ThreadService, width: int
) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.page.set_viewport_size({"width": width, "height": 400})
    await tab.create("orders")
    await expect(tab.page.locator("#topic-title")).to_be_in_viewport()
    await tab.publish("1")
    tops = [
        await tab.page.locator(part).evaluate("part => part.getBoundingClientRect().top")
        for part in ("#topic-title", "#publish", "#events")
    ]
    assert tops == sorted(tops)


@pytest.mark.parametrize("width", [390, 1280])
async def test_by_keyboard_the_form_comes_before_the_events_and_all_have_a_ring(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, width: int
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.page.set_viewport_size({"width": width, "height": 800})
    await tab.publish("1")
    await tab.page.click(".terminal summary")
    await tab.page.focus("#topics-refresh")
    reached: list[str] = []
    while "SUMMARY where" not in reached and len(reached) < 30:
        await tab.page.keyboard.press("Tab")
        reached.append(
            await tab.page.evaluate("""() => {
                const { activeElement: at } = document;
                const shown = at.type === "radio" ? at.nextElementSibling : at;
                if (getComputedStyle(shown).outlineStyle === "none") return `no ring: ${at.outerHTML}`;
                return at.id || `${at.tagName} ${at.name ?? at.firstElementChild?.className ?? ""}`.trim();
            }""")
        )
    assert [at for at in reached if at.startswith("no ring")] == []
    places = [reached.index(at) for at in ("create-name", "publish-data", "publish-button", "pause")]
    assert places == sorted(places)
    assert reached[-1] == "SUMMARY where"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_fields_and_what_is_said_in_them_stand_out(
    browser: Browser, service: ThreadService, scheme: Literal["light", "dark"]
) -> None:
    context = await browser.new_context(color_scheme=scheme)
    tab = await Tab.open(context, service.base_url)
    placeholder, edge = await tab.page.evaluate("""() => {
        const parts = (color) => color.match(/[0-9.]+/g).map(Number);
        const light = (color) => {
            const [r, g, b] = color.map((part) => part / 255).map(
                (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4),
            );
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const field = document.getElementById("create-name");
        const { borderTopColor, backgroundColor } = getComputedStyle(field);
        const { color, opacity } = getComputedStyle(field, "::placeholder");
        const ground = parts(backgroundColor);
        const mixed = parts(color).map((part, n) => part * opacity + ground[n] * (1 - opacity));
        const contrast = (one) => {
            const [low, high] = [light(one), light(ground)].sort((a, b) => a - b);
            return high / low;
        };
        return [contrast(mixed), contrast(parts(borderTopColor))];
    }""")
    assert placeholder >= 4.5
    assert edge >= 3
    await context.close()


async def test_the_link_past_the_form_leads_to_the_events_of_the_same_topic(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator(".skip")).to_be_hidden()
    await tab.create("orders")
    await tab.page.locator(".skip").focus()
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.locator("#events")).to_be_focused()
    await tab.publish("1")
    await tab.page.evaluate("location.hash = ''")
    await tab.state("idle")
    await expect(tab.page).to_have_title("Gapless")


async def test_readers_of_the_screen_hear_of_results_and_not_of_each_key_or_event(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    await tab.publish("1")
    await tab.page.evaluate("""() => {
        window.heard = [];
        const hear = (records) => heard.push(...records.map(({ target }) => target.textContent));
        for (const place of document.querySelectorAll("[role=status], [role=alert], [aria-live]")) {
            new MutationObserver(hear).observe(place, { childList: true, subtree: true });
        }
    }""")
    await tab.page.fill("#publish-data", "")
    await tab.page.type("#publish-data", '{"a": [1, 2, "three"')
    await client.post("/v1/topics/orders/events", json=keyed(range(300)))
    await tab.received(301)
    assert await tab.page.evaluate("heard") == []
    await tab.page.press("#publish-data", "Control+Enter")
    await tab.page.wait_for_function("heard.length")
    assert await tab.page.evaluate("heard") == ["Not published: the data is not valid JSON."]
    await tab.page.type("#publish-data", "]}")
    await expect(tab.page.locator("#publish-result")).to_be_empty()
    # Of several notices only the new one is read.
    notices = tab.page.locator("#notices")
    await expect(notices).to_have_role("list")
    assert await notices.get_attribute("aria-live") == "polite"


async def test_every_control_has_a_name_and_can_be_reached_by_keyboard(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.create("orders")
    unnamed = await tab.page.eval_on_selector_all(
        "input, textarea, button",
        "all => all.filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).map(e => e.id)",
    )
    assert unnamed == []
    reached = set()
    await tab.page.focus("body")
    for _ in range(40):
        await tab.page.keyboard.press("Tab")
        reached.add(await tab.page.evaluate("document.activeElement.id || document.activeElement.name"))
    assert {"topics-refresh", "create-name", "publish-data", "publish-button", "pause", "from"} <= reached
