"""The page at `/` of a service that asks who calls: log in, work by cookie, log out."""

import os
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.conftest import StartService
from tests.support.access import Keys
from tests.support.browser import Tab, launched
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService

SCREENSHOTS = os.environ.get("GAPLESS_TEST_SCREENSHOTS")


@pytest.fixture
async def guarded(start_guarded: StartService) -> ThreadService:
    return await start_guarded(ping_seconds=1, key_refresh_seconds=0.5)


async def log_in(tab: Tab, token: str) -> None:
    await tab.page.fill("#login-token", token)
    await tab.page.click("#login-form button")


async def end_session(tab: Tab, keys: Keys, end: str) -> None:
    if end == "logs out":
        await tab.page.click("#logout")
    else:
        await keys.revoke("ada")
    await expect(tab.page.locator("#login")).to_be_visible()


async def picture(tab: Tab, name: str) -> None:
    if SCREENSHOTS:
        await tab.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


async def test_a_person_logs_in_publishes_sees_it_arrive_and_logs_out(
    context: BrowserContext, guarded: ThreadService, keys: Keys
) -> None:
    token = await keys.make("ada", "admin")
    tab = await Tab.open(context, guarded.base_url)
    await expect(tab.page.locator("#login")).to_be_visible()
    await expect(tab.page.locator("#columns")).to_be_hidden()
    await expect(tab.page.locator("#logout")).to_be_hidden()
    connection = tab.page.locator("#connection")
    await expect(connection).to_have_text("Not logged in")
    field = tab.page.locator("#login-token")
    await expect(field).to_be_focused()
    assert await field.get_attribute("type") == "password"
    assert await field.get_attribute("autocomplete") == "off"
    await picture(tab, "login")
    await log_in(tab, "gpls_" + "A" * 43)
    await expect(tab.page.locator("#login-result")).to_contain_text("unknown, expired or revoked")
    await expect(field).to_have_value("")
    await picture(tab, "login-refused")
    await tab.page.set_viewport_size({"width": 390, "height": 800})
    assert await tab.page.locator("#login").evaluate("panel => panel.getBoundingClientRect().left") > 0
    await log_in(tab, token)
    await expect(tab.page.locator("#login")).to_be_hidden()
    await expect(tab.page.locator("#who")).to_have_text("key:ada")
    await expect(connection).to_have_text("Choose or create a topic")
    await tab.create("orders", partitions=2)
    await tab.state("live")
    await tab.publish('{"total": 1.10}', key="customer-7", type_="order.placed")
    await tab.received(1)
    await expect(tab.page.locator("#terminal-publish")).to_contain_text(
        "Authorization: Bearer $GAPLESS_TOKEN"
    )
    await picture(tab, "logged-in")
    for width in (360, 800, 1280):
        await tab.page.set_viewport_size({"width": width, "height": 800})
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= width
    stored = await tab.page.evaluate("[document.cookie, {...localStorage}, {...sessionStorage}]")
    assert stored == ["", {}, {}]
    assert token not in await tab.page.content()
    [cookie] = await context.cookies()
    assert cookie["name"] == "__Host-gapless"
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    await tab.page.click("#logout")
    await expect(tab.page.locator("#login-result")).to_have_text("You are logged out.")
    await expect(connection).to_have_text("Not logged in")
    await expect(tab.page.locator("#columns")).to_be_hidden()
    assert await context.cookies() == []
    await tab.page.reload()
    await expect(tab.page.locator("#login")).to_be_visible()
    assert tab.faults == []


async def test_over_plain_http_from_elsewhere_the_page_says_that_logging_in_needs_https(
    guarded: ThreadService, keys: Keys
) -> None:
    await keys.make("ada", "admin")
    elsewhere = guarded.base_url.replace("127.0.0.1", "gapless.test")
    async with launched("--host-resolver-rules=MAP gapless.test 127.0.0.1") as browser:
        tab = await Tab.open(await browser.new_context(), elsewhere)
        await expect(tab.page.locator("#login-result")).to_contain_text("needs HTTPS")
        await expect(tab.page.locator("#login-form button")).to_be_disabled()
        await picture(tab, "login-needs-https")


async def test_the_session_outlives_a_reload_and_ends_on_the_page_with_its_key(
    context: BrowserContext, guarded: ThreadService, keys: Keys
) -> None:
    tab = await Tab.open(context, guarded.base_url)
    await log_in(tab, await keys.make("ada", "admin"))
    await tab.create("orders")
    await tab.page.reload()
    await tab.state("live")
    await tab.publish('"still here"')
    await keys.revoke("ada")
    await expect(tab.page.locator("#login-result")).to_contain_text("The session is over")
    await expect(tab.page.locator("#columns")).to_be_hidden()
    await log_in(tab, await keys.make("eve", "subscribe:orders"))
    await tab.state("live")
    await expect(tab.page.locator("#who")).to_have_text("key:eve")
    assert tab.faults == []


async def test_who_may_only_read_is_told_so_when_publishing(
    context: BrowserContext, guarded: ThreadService, keys: Keys
) -> None:
    admin = await Tab.open(context, guarded.base_url)
    await log_in(admin, await keys.make("ada", "admin"))
    await admin.create("orders")
    await admin.create("secrets")
    await admin.page.click("#logout")
    await expect(admin.page.locator("#login")).to_be_visible()
    await log_in(admin, await keys.make("reader", "subscribe:orders"))
    await expect(admin.page.locator("#topics a")).to_have_count(1)
    await admin.page.click("#topics a")
    await admin.state("live")
    await admin.page.fill("#publish-data", "1")
    await admin.page.click("#publish-button")
    await expect(admin.page.locator("#publish-result")).to_contain_text("needs the scope `publish`")
    await admin.page.fill("#create-name", "mine")
    await admin.page.click("#create button")
    await expect(admin.page.locator("#create-result")).to_have_text(
        "Not created: this needs the scope `admin` for the topic 'mine'."
    )
    assert admin.faults == []


@pytest.mark.parametrize("end", ["logs out", "is logged out"])
async def test_whoever_logs_in_next_sees_nothing_of_what_was_said_to_the_one_before(
    context: BrowserContext, guarded: ThreadService, keys: Keys, end: str
) -> None:
    tab = await Tab.open(context, guarded.base_url)
    await log_in(tab, await keys.make("ada", "admin"))
    await tab.create("orders")
    await tab.state("live")
    await tab.page.route("**/orders/events", lambda route: route.fulfill(status=503, body="Away"))
    await tab.page.click("#publish-button")
    await expect(tab.page.locator("#publish-result")).to_contain_text("trying again")
    await tab.page.fill("#create-name", "Secret Plans")
    await tab.page.click("#create button")
    said = tab.page.locator("#create-result")
    await expect(said).to_contain_text("begins with a letter or digit")
    await end_session(tab, keys, end)
    await tab.page.route("**/v1/topics?*", lambda route: route.abort())
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.method))
    await log_in(tab, await keys.make("eve", "subscribe:orders", "publish:orders"))
    await expect(tab.page.locator("#topics-result")).to_have_text("The server cannot be reached.")
    await tab.state("live")
    await expect(said).to_be_empty()
    await expect(tab.page.locator("#publish-result")).to_be_empty()
    await expect(tab.page.locator("#topics a")).to_have_count(0)
    # Longer than the pause before the event would have been sent again.
    await tab.page.wait_for_timeout(2000)
    assert sent.count("POST") == 1
    assert tab.faults == []


@pytest.mark.parametrize("end", ["logs out", "is logged out"])
async def test_whoever_logs_in_next_finds_the_forms_as_they_were_at_first(
    context: BrowserContext, guarded: ThreadService, keys: Keys, end: str
) -> None:
    tab = await Tab.open(context, guarded.base_url)
    await log_in(tab, await keys.make("ada", "admin"))
    await tab.create("orders")
    typed = {
        "#create-name": "secret",
        "#create-partitions": "7",
        "#publish-type": "secret",
        "#publish-key": "secret",
        "#publish-data": '"secret',
    }
    at_first = {field: await tab.page.input_value(field) for field in typed}
    for field, text in typed.items():
        await tab.page.fill(field, text)
    await end_session(tab, keys, end)
    assert {field: await tab.page.input_value(field) for field in typed} == at_first
    assert "secret" not in await tab.page.content()
    await log_in(tab, await keys.make("eve", "subscribe:orders", "publish:orders"))
    await tab.state("live")
    await expect(tab.page.locator("#data-check")).to_have_text("Valid JSON")
    assert {field: await tab.page.input_value(field) for field in typed} == at_first
    assert tab.faults == []


async def test_a_token_is_taken_as_headers_show_it_and_nothing_is_no_token(
    context: BrowserContext, guarded: ThreadService, keys: Keys
) -> None:
    tab = await Tab.open(context, guarded.base_url)
    sent: list[str] = []
    tab.page.on("request", lambda request: sent.append(request.method))
    for nothing in ("", "  ", "Bearer "):
        await log_in(tab, nothing)
        await expect(tab.page.locator("#login-result")).to_have_text(
            "Paste an API key, or a token of your identity provider."
        )
        await expect(tab.page.locator("#login-token")).to_be_focused()
    assert "POST" not in sent
    await log_in(tab, f" Bearer {await keys.make('ada', 'admin')}")
    await expect(tab.page.locator("#who")).to_have_text("key:ada")
    assert tab.faults == []


async def test_a_service_that_began_to_ask_for_tokens_speaks_of_no_session(
    context: BrowserContext, start_service: StartService
) -> None:
    before, after = [await start_service(authentication=setting) for setting in ("off", "on")]
    async with FaultProxy(Target(port=before.port)) as proxy:
        tab = await Tab.open(context, f"http://127.0.0.1:{proxy.port}")
        await tab.create("orders")
        await tab.state("live")
        proxy.target = Target(port=after.port)
        proxy.cut()
        await expect(tab.page.locator("#login-result")).to_have_text("This service now asks for a token.")
        assert tab.faults == []


async def test_without_authentication_nobody_is_asked(
    context: BrowserContext, service: ThreadService
) -> None:
    tab = await Tab.open(context, service.base_url)
    await expect(tab.page.locator("#columns")).to_be_visible()
    for hidden in ("#login", "#who", "#logout"):
        await expect(tab.page.locator(hidden)).to_be_hidden()
    assert tab.faults == []
