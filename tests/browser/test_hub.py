"""The hub of all tabs, where the answers to what it asks about a refused stream do not fit together."""

import time
from typing import Any

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, Request, Route

from tests.browser.test_refused_stream import STREAM, problem
from tests.support.browser import PATIENCE_MILLISECONDS
from tests.support.service import ThreadService
from tests.support.wait import until

FORBIDDEN = problem(403, "forbidden", "It is not allowed.")

# In the page, as the requests of a shared worker cannot be answered by a test.
HUB = """async topics => {
    const { Hub } = await import("/static/hub.js");
    const hub = new Hub();
    window.heard = {};
    window.ports = topics.map(topic => {
        const { port1, port2 } = new MessageChannel();
        heard[topic] = [];
        port1.onmessage = ({ data }) => heard[topic].push(data);
        hub.connect(port2);
        port1.postMessage({ verb: "watch", topic, from: "latest" });
        return port1;
    });
}"""


async def hub_of(page: Page, service: ThreadService, *topics: str) -> None:
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    await page.goto(service.base_url)
    await page.evaluate(HUB, topics)


async def heard(page: Page, topic: str, *kinds: str) -> dict[str, Any]:
    """The first message of these kinds to the tab of a topic."""
    found = await page.wait_for_function(
        "([topic, kinds]) => heard[topic].find(({ kind }) => kinds.includes(kind))", arg=[topic, kinds]
    )
    message: dict[str, Any] = await found.json_value()
    return message


def together(request: Request) -> bool:
    """Whether it is about both topics."""
    return request.url.count("topic=") == 2


@pytest.fixture
async def page(context: BrowserContext, client: httpx.AsyncClient) -> Page:
    for topic in ("orders", "payments"):
        await client.put(f"/v1/topics/{topic}", json={})
    return await context.new_page()


async def test_a_session_that_ends_between_two_questions_logs_all_tabs_out(
    page: Page, service: ThreadService
) -> None:
    async def refuse(route: Route) -> None:
        over = problem(401, "unauthorized", "The session is over.")
        await route.fulfill(**(FORBIDDEN if together(route.request) else over))

    await page.route(STREAM, refuse)
    await hub_of(page, service, "orders", "payments")
    for topic in ("orders", "payments"):
        assert (await heard(page, topic, "unauthorized", "failed"))["kind"] == "unauthorized"


async def test_no_topic_is_dropped_for_a_refusal_that_is_over_at_the_next_question(
    page: Page, service: ThreadService
) -> None:
    questions: list[str] = []

    async def refuse_first(route: Route) -> None:
        """The stream, and once why it was refused."""
        if together(route.request) and len(questions) < 3:
            questions.append(route.request.method)
            await route.fulfill(**FORBIDDEN)
        else:
            await route.continue_()

    await page.route(STREAM, refuse_first)
    await hub_of(page, service, "orders", "payments")
    for topic in ("orders", "payments"):
        found = await page.wait_for_function(
            "topic => heard[topic].find(({ kind, state }) => kind === 'failed' || state === 'live')",
            arg=topic,
        )
        assert (await found.json_value()) == {"kind": "state", "state": "live"}
    assert questions == ["GET", "HEAD", "GET"]


async def test_a_refusal_of_one_topic_that_passes_is_told_and_waited_out_as_long_as_it_says(
    page: Page, service: ThreadService
) -> None:
    questions: list[float] = []

    async def refuse(route: Route) -> None:
        if route.request.resource_type == "fetch":
            questions.append(time.monotonic())
        if together(route.request):
            await route.fulfill(**FORBIDDEN)
        else:
            await route.fulfill(status=503, headers={"Retry-After": "3"})

    await page.route(STREAM, refuse)
    await hub_of(page, service, "orders", "payments")
    await until(lambda: len(questions) > 3)
    # After two about both topics and one about the first.
    assert questions[3] - questions[2] >= 3
    for topic in ("orders", "payments"):
        told = await heard(page, topic, "wait")
        assert (told["status"], told["milliseconds"]) == (503, 3000)
