"""The dashboard of `openapi/examples`, compiled and run in a real Chromium against the real service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, Route

from tests.conftest import StartService
from tests.support.access import Keys, bearer
from tests.support.browser import PATIENCE_MILLISECONDS, launched, refuse_first
from tests.support.node import MODULES, require_packages, run
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, until

PAGE = """<!doctype html><script type="importmap">
{"imports": {"openapi-fetch": "/example/openapi-fetch.js"}}
</script><script type="module">
import { Dashboard, Refused } from "/example/dashboard.js";
window.dashboard = new Dashboard({ base: location.origin });
window.Refused = Refused;
window.all = async (found) => {
  const list = [];
  for await (const one of found) list.push(one);
  return list;
};
</script>"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_packages()
    folder = tmp_path_factory.mktemp("compiled")
    done = run(MODULES / ".bin" / "tsc", "--project", ".", "--rootDir", "examples", "--outDir", folder)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
async def page(service: ThreadService, compiled: Path) -> AsyncIterator[Page]:
    async with page_at(service.base_url, compiled) as page:
        yield page


@asynccontextmanager
async def page_at(base_url: str, compiled: Path) -> AsyncIterator[Page]:
    """A page at the service's own origin, as the service would serve it."""
    files = {
        "/example/": (PAGE, "text/html"),
        "/example/dashboard.js": ((compiled / "dashboard.js").read_text(), "text/javascript"),
        "/example/openapi-fetch.js": (
            (MODULES / "openapi-fetch" / "dist" / "index.mjs").read_text(),
            "text/javascript",
        ),
    }

    async def serve(route: Route) -> None:
        body, kind = files[route.request.url.removeprefix(base_url)]
        await route.fulfill(body=body, content_type=kind)

    async with launched() as browser:
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        await page.route(f"{base_url}/example/**", serve)
        await page.goto(f"{base_url}/example/")
        await page.wait_for_function("window.dashboard")
        yield page


async def test_topics_groups_lag_and_dead_letters(page: Page, client: httpx.AsyncClient) -> None:
    group = "/v1/topics/orders/subscriptions/billing"
    for path in ("/v1/topics/orders", "/v1/topics/payments", group):
        assert (await client.put(path)).status_code == 201
    await client.post("/v1/topics/orders/events", json={"events": [{"data": 1}, {"data": 2}]})

    names = "dashboard.topics().next().then(() => all(dashboard.topics())).then(l => l.map(t => t.name))"
    assert await page.evaluate(names) == ["orders", "payments"]
    assert await page.evaluate("all(dashboard.groups('orders')).then(l => l.map(g => g.name))") == ["billing"]
    assert (await page.evaluate("dashboard.lag('orders', 'billing')"))["events"] == 2
    assert (await page.evaluate("dashboard.topic('orders')"))["bounds"] == [
        {"partition": 0, "earliest": 1, "tip": 2}
    ]

    claimed = (await client.post(f"{group}/claim", json={"member": "m", "max_events": 1})).json()
    await client.post(f"{group}/leases/{claimed['lease']['token']}/reject", json={"reason": "bad"})
    letters = await page.evaluate("all(dashboard.deadLetters('orders', 'billing'))")
    assert [(letter["offset"], letter["reason"]) for letter in letters] == [(1, "bad")]
    assert (await page.evaluate("dashboard.group('orders', 'billing')"))["dead"] == 1
    assert await page.evaluate("id => dashboard.redrive('orders', 'billing', [id])", letters[0]["id"]) == 1
    assert (await page.evaluate("dashboard.group('orders', 'billing')"))["dead"] == 0


async def test_a_group_is_paused_and_resumed(page: Page, client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders")
    await client.put("/v1/topics/orders/subscriptions/billing")
    paused = await page.evaluate("dashboard.pause('orders', 'billing', 'a look')")
    assert (paused["status"], paused["reason"]) == ("PAUSED", "a look")
    assert (await page.evaluate("dashboard.resume('orders', 'billing')"))["status"] == "ACTIVE"


async def test_a_refusal_has_its_code(page: Page) -> None:
    caught = "dashboard.lag('nowhere', 'nobody').catch(e => [e instanceof Refused, e.problem.code])"
    assert await page.evaluate(caught) == [True, "topic_not_found"]


async def test_a_browser_polls_without_a_body_as_long_as_there_is_no_news(
    service: ThreadService, client: httpx.AsyncClient
) -> None:
    group = "/v1/topics/orders/subscriptions/billing"
    for path in ("/v1/topics/orders", group):
        await client.put(path)
    async with launched() as browser:
        page = await browser.new_page()  # without routes, as they switch its cache off
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        await page.goto(f"{service.base_url}/livez")
        poll = f"fetch('{group}').then(a => a.json()).then(g => g.lag)"
        lags = [await page.evaluate(poll) for _ in range(2)]
        await client.post("/v1/topics/orders/events", json={"events": [{"data": 1}]})
        lags.append(await page.evaluate(poll))
        polls = "performance.getEntriesByType('resource').filter(e => e.name.endsWith('/billing'))"
        assert lags == [0, 0, 1]
        await page.wait_for_function(f"{polls}.length == 3")
        assert await page.evaluate(f"{polls}.map(e => e.transferSize > e.encodedBodySize)") == [
            True,
            False,
            True,
        ]


async def test_following_goes_on_from_an_id_after_a_reload(page: Page, client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders")
    await client.post("/v1/topics/orders/events", json={"events": [{"data": n} for n in range(3)]})
    follow = """start => {
        window.seen = [];
        window.stop = dashboard.follow("orders", { onEvent: (e, id) => seen.push([e.data, id]) }, start);
    }"""
    await page.evaluate(follow, "earliest")
    await page.wait_for_function("seen.length == 3")
    last = await page.evaluate("stop(), seen.at(-1)[1]")
    await client.post("/v1/topics/orders/events", json={"events": [{"data": 3}]})
    await page.reload()
    await page.wait_for_function("window.dashboard")
    await page.evaluate(follow, last)
    await page.wait_for_function("seen.length == 1")
    assert (await page.evaluate("seen"))[0][0] == 3


async def test_a_ticket_is_fetched_for_every_connection(page: Page, service: ThreadService) -> None:
    """The service is stood in for: what counts is that a refused stream is opened again, where it ended."""
    asked: list[str] = []
    tickets = 0

    async def ticket(route: Route) -> None:
        nonlocal tickets
        tickets += 1
        assert route.request.headers["authorization"] == "Bearer key"
        await route.fulfill(status=201, json={"ticket": f"t{tickets}"})

    async def stream(route: Route) -> None:
        asked.append(route.request.url.partition("?")[2])
        if "t1" in route.request.url and len(asked) > 1:
            await route.fulfill(status=401)
            return
        await route.fulfill(
            content_type="text/event-stream",
            body="retry: 1\n\nid: p1\ndata: {}\n\n",
        )

    await page.route("**/v1/stream-tickets", ticket)
    await page.route("**/v1/topics/orders/stream**", stream)
    await page.evaluate("""() => {
        window.seen = [];
        const held = new dashboard.constructor({ base: location.origin, token: "key" });
        held.follow("orders", { onEvent: (_, id) => seen.push(id) });
    }""")
    await page.wait_for_function("seen.length >= 2")
    assert asked[:3] == ["ticket=t1", "ticket=t1", "last_event_id=p1&ticket=t2"]


async def test_what_came_while_a_ticket_was_replaced_is_not_missed_though_no_event_had_come(
    start_guarded: StartService, keys: Keys, compiled: Path
) -> None:
    service = await start_guarded(retry_milliseconds=200)
    token = await keys.make("admin", "admin")
    async with (
        httpx.AsyncClient(
            base_url=service.base_url, headers=bearer(token), timeout=PATIENCE_SECONDS
        ) as client,
        FaultProxy(Target(port=service.port)) as proxy,
        page_at(f"http://127.0.0.1:{proxy.port}", compiled) as page,
    ):
        await client.put("/v1/topics/orders")
        await page.evaluate(
            """token => {
                window.seen = [];
                window.begun = 0;
                window.EventSource = class extends EventSource {
                    constructor(url) {
                        super(url);
                        this.addEventListener("start", () => begun += 1);
                    }
                };
                const held = new dashboard.constructor({ base: location.origin, token });
                held.follow("orders", { onEvent: (event) => seen.push(event.data) });
            }""",
            token,
        )
        await page.wait_for_function("begun == 1")
        proxy.refuse()
        proxy.cut()
        await client.post("/v1/topics/orders/events", json={"events": [{"data": "meanwhile"}]})
        proxy.heal()
        await page.wait_for_function("begun == 2")
        await client.post("/v1/topics/orders/events", json={"events": [{"data": "later"}]})
        await page.wait_for_function("seen.includes('later')")
        assert await page.evaluate("seen") == ["meanwhile", "later"]


REFUSED = """token => {
    window.refused = [];
    const held = new dashboard.constructor({ base: location.origin, token });
    held.follow("orders", { onEvent: () => {}, onRefused: (error) => refused.push(error.problem.code) });
}"""


async def test_following_ends_and_says_why_where_asking_again_does_not_help(
    start_guarded: StartService, keys: Keys, page: Page, compiled: Path
) -> None:
    """Of the stream itself, and of the ticket for it."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    await page.evaluate(REFUSED, None)
    await page.wait_for_function("refused.length")
    assert await page.evaluate("refused") == ["topic_not_found"]
    assert asked == ["GET", "HEAD", "GET"]
    guarded = await start_guarded()
    async with page_at(guarded.base_url, compiled) as stranger:
        await stranger.evaluate(REFUSED, await keys.make("eve", "subscribe:payments"))
        await stranger.wait_for_function("refused.length")
        assert await stranger.evaluate("refused") == ["topic_not_found"]


async def test_following_waits_as_long_as_it_is_told_to(page: Page, client: httpx.AsyncClient) -> None:
    await client.put("/v1/topics/orders")
    told: dict[str, Any] = {
        "status": 503,
        "headers": {"Retry-After": "4"},
        "json": {"status": 503, "code": "x"},
    }
    asked = await refuse_first(3, page, "**/v1/topics/orders/stream**", **told)
    await page.evaluate("dashboard.follow('orders', { onEvent: (e) => { window.got = e.data; } }), null")
    await until(lambda: len(asked) > 3)
    assert asked[3] - asked[2] >= 4


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 503, "json": {"message": "no replica"}},
        {"status": 425, "json": {"status": 425, "code": "too_early", "title": "Too early"}},
        {"status": 404, "body": "<h1>Nothing here</h1>"},
    ],
    ids=["json-of-a-proxy", "too-early", "no-replica"],
)
async def test_following_goes_on_after_what_passes_whoever_answered(
    page: Page, client: httpx.AsyncClient, answer: dict[str, Any]
) -> None:
    await client.put("/v1/topics/orders")
    # As often as `follow` asks before it decides: the stream, and twice why it was refused.
    await refuse_first(3, page, "**/v1/topics/orders/stream**", **answer)
    await page.evaluate("""() => {
        window.heard = [];
        dashboard.follow("orders", {
            onEvent: (event) => heard.push(event.data),
            onRefused: (error) => heard.push(error.message),
        }, "earliest");
    }""")
    await client.post("/v1/topics/orders/events", json={"events": [{"data": "goes on"}]})
    await page.wait_for_function("heard.length")
    assert await page.evaluate("heard") == ["goes on"]


async def test_following_ends_at_a_refusal_of_a_proxy_that_does_not_pass(page: Page) -> None:
    await page.route(
        "**/v1/topics/orders/stream**", lambda route: route.fulfill(status=403, body="<h1>Blocked</h1>")
    )
    await page.evaluate(REFUSED, None)
    await page.wait_for_function("refused.length")
    assert await page.evaluate("refused") == [""]


@pytest.mark.parametrize("body", ['{"message": "no replica"}', "<h1>Away</h1>", ""])
async def test_a_call_that_a_proxy_refuses_has_its_status_and_no_code(page: Page, body: str) -> None:
    await page.route(
        "**/v1/topics/orders",
        lambda route: route.fulfill(status=503, headers={"Retry-After": "4"}, body=body),
    )
    caught = """dashboard.topic('orders').catch(e => [
        e instanceof Refused, e.message, e.problem?.status, e.problem?.code, e.temporary, e.retrySeconds,
    ])"""
    assert await page.evaluate(caught) == [True, "HTTP 503", 503, "", True, 4]
