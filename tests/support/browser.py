"""A real Chromium for the page."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Request, Route, async_playwright, expect

from tests.support.wait import PATIENCE_SECONDS, until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_MILLISECONDS = 1000 * PATIENCE_SECONDS

expect.set_options(timeout=PATIENCE_MILLISECONDS)


def chromium_path() -> str | None:
    named = os.environ.get("GAPLESS_TEST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def require_chromium() -> str:
    """Skips where no browser is found, except in CI, where that is a failure."""
    path = chromium_path()
    if path is not None:
        return path
    message = f"no Chromium found (looked for {', '.join(NAMES)}; GAPLESS_TEST_CHROMIUM names another)"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


@asynccontextmanager
async def launched(*arguments: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=require_chromium(), args=list(arguments), timeout=PATIENCE_MILLISECONDS
        )
        yield browser
        await browser.close()


async def refuse_first(
    count: int, asked: BrowserContext | Page, where: str, *, then: asyncio.Event | None = None, **answer: Any
) -> list[float]:
    """Answers the first requests so and lets the others through, once `then` is set if there is one.

    Returns when each came, as they come. The route stays: taking the last one away, as `times` does too, may
    leave what the browser asks for in that moment without an answer for ever.
    """
    times: list[float] = []

    async def refuse(route: Route) -> None:
        times.append(time.monotonic())
        if len(times) > count:
            if then is not None:
                await then.wait()
            await route.continue_()
        else:
            await route.fulfill(**answer)

    await asked.route(where, refuse)
    return times


class Tab:
    """One tab with the page, and everything that went wrong in it."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.faults: list[str] = []
        self._calls: set[Request] = set()
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self._console(message.type, message.text))
        page.on("request", lambda request: self._calls.add(request))
        page.on("requestfinished", lambda request: self._calls.discard(request))
        page.on("requestfailed", lambda request: self._calls.discard(request))

    @classmethod
    async def open(
        cls, context: BrowserContext, base_url: str, topic: str = "", start: str = "latest"
    ) -> "Tab":
        tab = cls(await context.new_page(), base_url)
        await tab.go(topic, start)
        return tab

    async def go(self, topic: str = "", start: str = "latest") -> None:
        where = f"#topic={topic}" + ("&from=earliest" if start == "earliest" else "")
        await self.page.goto(f"{self.base_url}/{where if topic else ''}")
        if topic:
            await self.state("live")

    async def state(self, name: str) -> None:
        await expect(self.page.locator("#connection")).to_have_attribute("data-state", name)

    async def create(self, topic: str, partitions: int = 1) -> None:
        await self.page.fill("#create-name", topic)
        await self.page.fill("#create-partitions", str(partitions))
        await self.page.click("#create button")
        await expect(self.page.locator("#topic-title")).to_have_text(topic)

    async def publish(self, data: str, *, key: str = "", type_: str = "") -> str:
        """Publish by the form; returns the position, such as `0:12`, once the event arrived."""
        await self.page.fill("#publish-data", data)
        await self.page.fill("#publish-key", key)
        await self.page.fill("#publish-type", type_)
        result = self.page.locator("#publish-result")
        # What it says of the event before would be taken for the answer.
        await result.evaluate("said => said.replaceChildren()")
        await self.page.click("#publish-button")
        await expect(result).to_contain_text("arrived here after")
        return (await result.inner_text()).split()[2].rstrip(";")

    async def quiet(self) -> None:
        """Wait until every call that the page itself made is answered."""
        await until(lambda: not any(call.resource_type == "fetch" for call in self._calls))

    async def received(self, count: int, within_seconds: float = PATIENCE_SECONDS) -> None:
        await expect(self.page.locator("#received")).to_have_text(f"{count:,}", timeout=within_seconds * 1000)

    async def partitions(self) -> list[dict[str, Any]]:
        """What the page knows of each partition: received, first, last, repeats, fetched, lost."""
        tiles = "tiles => tiles.map(tile => ({...tile.dataset}))"
        rows: list[dict[str, str]] = await self.page.eval_on_selector_all("#partitions li", tiles)
        return [{name: int(value or 0) for name, value in row.items()} for row in rows]

    def _console(self, kind: str, text: str) -> None:
        # The browser itself reports every request that failed, which a killed server makes unavoidable.
        if kind == "error" and "net::ERR_" not in text and "Failed to load resource" not in text:
            self.faults.append(text)
