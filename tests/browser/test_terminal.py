"""The commands that the page shows for a terminal."""

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.async_api import BrowserContext, expect

from tests.browser.test_login import log_in
from tests.conftest import StartService
from tests.support.access import Keys
from tests.support.browser import Tab
from tests.support.cli import environment
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS

TEXTS = [
    "",
    "customer 7",
    "it's \"quoted\" '",
    "'; touch here; '",
    "$(touch here)`touch here`$HOME${HOME}",
    "-d @/etc/hostname --next",
    "@file",
    "back\\slash \\' \\n !! !$ * ? [a] {b,c} ~ # & | > <",
    "\u202e\U0001f6d2 k\u00e4se \u4f60\u597d",
    "long" * 40,
]


async def command_of(tab: Tab) -> str:
    return await tab.page.locator("#terminal-publish").text_content() or ""


async def run(shell: str, command: str, folder: Path, **more: str) -> None:
    process = await asyncio.create_subprocess_exec(
        shell, "-c", command, cwd=folder, env=environment(**more), stdout=asyncio.subprocess.DEVNULL
    )
    assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("shell", ["sh", "bash"])
async def test_the_command_publishes_what_is_typed_whatever_that_is(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, tmp_path: Path, shell: str
) -> None:
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    for offset, text in enumerate(TEXTS, 1):
        data = f'{{\n\t"n": 12345678901234567890.10,\n\n  {json.dumps(text, ensure_ascii=False)}: -0.0 }}'
        await tab.page.fill("#publish-type", text)
        await tab.page.fill("#publish-key", text)
        await tab.page.fill("#publish-data", data)
        await run(shell, await command_of(tab), tmp_path)
        await tab.received(offset)
        page = await client.get(f"/v1/topics/orders/events?partition=0&offset={offset}")
        assert f'"data":{data}' in page.text
        [event] = page.json()["events"]
        assert (event.get("type", ""), event.get("key", "")) == (text, text)
    assert list(tmp_path.iterdir()) == []
    assert tab.faults == []


async def test_the_command_shows_the_token_where_one_is_asked_for(
    context: BrowserContext, start_guarded: StartService, keys: Keys, tmp_path: Path
) -> None:
    service = await start_guarded()
    token = await keys.make("ada", "admin")
    tab = await Tab.open(context, service.base_url)
    await log_in(tab, token)
    await tab.create("orders")
    await tab.state("live")
    await run("sh", await command_of(tab), tmp_path, GAPLESS_TOKEN=token)
    await tab.received(1)
    assert token not in await tab.page.content()


async def test_what_is_no_json_is_in_no_command(context: BrowserContext, service: ThreadService) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.create("orders")
    await tab.page.fill("#publish-data", "\x1b[201~; touch here\n")
    assert await command_of(tab) == "# The data is not valid JSON yet."
    await tab.page.fill("#publish-data", "1")
    assert (await command_of(tab)).endswith("""-d '{"events":[{"data":1}]}'""")


async def test_the_command_has_nothing_in_it_that_a_terminal_obeys(
    context: BrowserContext, service: ThreadService, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    """DEL takes the character before it, which may be a quote; what is pasted comes as if it were typed."""
    await client.put("/v1/topics/orders", json={})
    tab = await Tab.open(context, service.base_url, "orders")
    text = "'\x7f\x7f; touch here; \x80\x9b201~"
    await tab.page.fill("#publish-data", f'{{"{text}": "{text}\\\\{text}"}}')
    command = await command_of(tab)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", command)
    await run("sh", command, tmp_path)
    await tab.received(1)
    [event] = (await client.get("/v1/topics/orders/events")).json()["events"]
    assert event["data"] == {text: f"{text}\\{text}"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "none-over-plain-http"])
async def test_commands_are_copied_by_a_button_or_selected_where_the_page_has_no_clipboard(
    context: BrowserContext, service: ThreadService, clipboard: bool
) -> None:
    if clipboard:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
    else:
        await context.add_init_script("delete Navigator.prototype.clipboard")
    tab = await Tab.open(context, service.base_url)
    await tab.create("orders")
    await tab.page.fill("#publish-data", '{\n  "it\'s": 1\n}')
    await tab.page.click(".terminal summary")
    words = "Copied." if clipboard else "The command is selected: copy it with Ctrl C."
    said = tab.page.locator(".terminal .result", has_text=words)
    copied = "navigator.clipboard.readText()" if clipboard else "String(getSelection())"
    for verb in ("publish", "tail"):
        command = await tab.page.locator(f"#terminal-{verb}").text_content()
        await tab.page.click(f"button[aria-controls=terminal-{verb}]")
        await expect(said).to_have_text(words)
        await expect(said).to_be_in_viewport()
        assert await tab.page.evaluate(copied) == command
    await tab.page.type("#publish-data", " ")
    await expect(said).to_have_count(0)
    assert tab.faults == []


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
async def test_the_command_is_not_cut_off(
    context: BrowserContext, service: ThreadService, width: int
) -> None:
    tab = await Tab.open(context, service.base_url)
    await tab.page.set_viewport_size({"width": width, "height": 800})
    await tab.create("orders")
    await tab.page.fill("#publish-data", json.dumps(["long" * 40] * 3))
    await tab.page.click(".terminal summary")
    for command in await tab.page.locator(".terminal pre").all():
        assert await command.evaluate("shown => shown.scrollWidth - shown.clientWidth") == 0
        await command.focus()
        await tab.page.keyboard.press("End")
        await tab.page.wait_for_function(
            """() => {
                const { scrollTop, clientHeight, scrollHeight } = document.activeElement;
                return scrollTop + clientHeight >= scrollHeight - 1;
            }"""
        )
