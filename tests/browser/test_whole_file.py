"""A whole file of real events, through every way in and out: published, published again, tailed, shown.

The file is a day of Wikipedia edits where it lies beside the repository, otherwise one of the same shape
that is made here.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.async_api import BrowserContext, Page, expect
from playwright.async_api import Error as PlaywrightError

from tests.conftest import StartProcess
from tests.support.browser import Tab, launched
from tests.support.cli import gapless, start
from tests.support.edits import REAL
from tests.support.edits import edits as read_edits
from tests.support.effort import effort
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until

PARTITIONS = 4
KILLS = 10
REAL_EDITS = 39_244
SHOWN = effort(10_000, REAL_EDITS)
TOPIC = "wikipedia.edits"
PUBLISH = ["publish", TOPIC, "-", "--key", "channel", "--type", "edit", "--time", "time"]
# A page that is killed comes back with both, the id and what was seen, or with neither.
FOLLOW = """url => {
    const kept = JSON.parse(localStorage.getItem("kept") ?? '{"id": "", "newest": {}, "wrong": 0}');
    const query = new URLSearchParams(kept.id ? { last_event_id: kept.id } : { from: "earliest" });
    new EventSource(`${url}?${query}`).onmessage = ({ data, lastEventId }) => {
        const { partition, offset } = JSON.parse(data);
        if (offset !== (kept.newest[partition] ?? 0) + 1) kept.wrong += 1;
        kept.newest[partition] = offset;
        kept.id = lastEventId;
        localStorage.setItem("kept", JSON.stringify(kept));
    };
}"""

pytestmark = pytest.mark.timeout(600)


class Edits(NamedTuple):
    content: bytes
    total: int
    channels: Counter[str]


@pytest.fixture(scope="module")
def edits() -> Edits:
    content = read_edits()
    channels = Counter(json.loads(line)["channel"] for line in content.splitlines())
    assert channels.total() == REAL_EDITS or not REAL.is_file()
    return Edits(content, channels.total(), channels)


async def bounds(service: ProcessService) -> list[dict[str, int]]:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        found: list[dict[str, int]] = (await client.get(f"/v1/topics/{TOPIC}")).json()["bounds"]
    return found


def assert_each_once_and_in_order(events: list[dict[str, Any]], edits: Edits) -> None:
    assert len(events) == edits.total
    for partition in range(PARTITIONS):
        mine = [event for event in events if event["partition"] == partition]
        assert [event["offset"] for event in mine] == list(range(1, len(mine) + 1))
    assert Counter(event["key"] for event in events) == edits.channels
    assert {event["type"] for event in events} == {"edit"}


async def test_every_line_is_published_once_and_reaches_tail_and_browser_once_over_kills(
    edits: Edits, start_process: StartProcess, tmp_path: Path
) -> None:
    service = await start_process(retry_milliseconds=200)
    url = service.base_url
    assert (await gapless("topic", "create", TOPIC, "--partitions", str(PARTITIONS), url=url)).code == 0

    async with launched() as browser:
        context = await browser.new_context()
        live = await Tab.open(context, url, TOPIC)
        options = [*PUBLISH, "--idempotency-prefix", "wikipedia-2015-09-12", "--json"]
        first = await gapless(*options, url=url, stdin=edits.content, within_seconds=300)
        assert first.code == 0, first.err
        assert first.json_lines[0]["published"] == edits.total
        assert first.json_lines[0]["seconds"] < shared(60)

        again = await gapless(*options, url=url, stdin=edits.content, within_seconds=300)
        assert (again.json_lines[0]["published"], again.json_lines[0]["replayed"]) == (0, edits.total)
        found = await bounds(service)
        assert [(partition["partition"], partition["earliest"]) for partition in found] == [
            (number, 1) for number in range(PARTITIONS)
        ]
        assert sum(partition["tip"] for partition in found) == edits.total

        # The tab that watched while they were published, and one that reads them from the beginning.
        fresh = await browser.new_context()
        late = await Tab.open(fresh, url, TOPIC, "earliest")
        for tab in (live, late):
            await tab.received(edits.total, within_seconds=2 * PATIENCE_SECONDS)
            seen = await tab.partitions()
            assert [tile["received"] for tile in seen] == [partition["tip"] for partition in found]
            for tile in seen:
                assert tile["last"] == tile["received"]
                assert tile["repeats"] == tile["fetched"] == tile["lost"] == 0
            await expect(tab.page.locator("#events li")).to_have_count(100)
            assert tab.faults == []

    await tailed_over_ten_kills(service, edits, tmp_path / "edits.ndjson")


async def tailed_over_ten_kills(service: ProcessService, edits: Edits, output: Path) -> None:
    options = ["tail", TOPIC, "--from", "earliest", "--output", str(output)]
    source = random.Random(10)

    def written() -> int:
        return output.read_bytes().count(b"\n") if output.exists() else 0

    for number in range(KILLS):
        already = written()
        # Each leaves some for the next, unless it was stopped late.
        enough = already + source.randint(1, max(1, (edits.total - already) // (KILLS - number)))
        process = await start(options, url=service.base_url)
        await until(lambda: written() >= min(enough, edits.total))  # noqa: B023
        if number == 5:
            service.kill()
        process.kill()
        await process.wait()
        if number == 5:
            await service.start()
    process = await start(options, url=service.base_url)
    await until(lambda: written() >= edits.total)
    process.terminate()
    await process.wait()
    lines = output.read_bytes().splitlines()
    assert_each_once_and_in_order([json.loads(line) for line in lines], edits)
    # Byte for byte what was in the file.
    data = Counter(line.split(b',"data":', 1)[1][:-1] for line in lines)
    assert data == Counter(edits.content.splitlines())


async def test_pages_go_on_through_ten_kills_of_the_server_and_one_of_their_own(
    edits: Edits, start_process: StartProcess
) -> None:
    """One page lives through all of it. Another is killed and opened anew: it shows the log from its start
    again, and one that keeps the last id goes on where it was."""
    service = await start_process(retry_milliseconds=100)
    url = service.base_url
    assert (await gapless("topic", "create", TOPIC, "--partitions", str(PARTITIONS), url=url)).code == 0
    lines = edits.content.splitlines(keepends=True)[:SHOWN]
    dice = random.Random(11)
    kills = sorted(dice.sample(range(1, len(lines)), KILLS))
    async with launched() as browser:
        live = await Tab.open(await browser.new_context(), url, TOPIC)
        shown, keeping = await browser.new_context(), await browser.new_context()
        pages = [(await Tab.open(shown, url, TOPIC, "earliest")).page, await following(keeping, url)]
        publishing = await start(PUBLISH, url=url, stdin=asyncio.subprocess.PIPE)
        assert publishing.stdin is not None
        async with asyncio.TaskGroup() as group:
            group.create_task(feed(publishing.stdin, lines, dice))
            for number, kill in enumerate(kills):

                async def reached(kill: int = kill) -> bool:
                    return sum(partition["tip"] for partition in await bounds(service)) >= kill

                await until(reached)
                if number == KILLS // 2:
                    for page in pages:
                        await crash(page)
                service.kill()
                await service.start()
                if number == KILLS // 2:
                    anew = await Tab.open(shown, url, TOPIC, "earliest")
                    keeper = await following(keeping, url)
        _, err = await publishing.communicate()
        assert publishing.returncode == 0, err
        found = await bounds(service)
        tips = [partition["tip"] for partition in found]
        assert sum(tips) == len(lines)
        for tab in (live, anew):
            await tab.received(len(lines), within_seconds=2 * PATIENCE_SECONDS)
            seen = await tab.partitions()
            assert [tile["first"] for tile in seen] == [min(1, tip) for tip in tips]
            assert [tile["last"] for tile in seen] == [tile["received"] for tile in seen] == tips
            assert sum(tile["repeats"] + tile["lost"] for tile in seen) == 0
            assert tab.faults == []
        await until(lambda: has_all(keeper, tips))
        assert (await kept(keeper))["wrong"] == 0


async def feed(stdin: asyncio.StreamWriter, lines: Sequence[bytes], dice: random.Random) -> None:
    """In portions, so that at each kill the publisher has something left to do."""
    at = 0
    while at < len(lines):
        end = at + dice.randint(50, 300)
        stdin.write(b"".join(lines[at:end]))
        await stdin.drain()
        await asyncio.sleep(dice.uniform(0, 0.02))
        at = end
    stdin.close()


async def following(context: BrowserContext, url: str) -> Page:
    """A page with nothing but the browser's EventSource, and what it has kept of an earlier one."""
    page = await context.new_page()
    await page.goto(f"{url}/livez")
    await page.evaluate(FOLLOW, f"{url}/v1/topics/{TOPIC}/stream")
    return page


async def crash(page: Page) -> None:
    with pytest.raises(PlaywrightError, match="crash"):
        await page.goto("chrome://crash")
    await page.close()


async def kept(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = await page.evaluate("JSON.parse(localStorage.getItem('kept') ?? '{}')")
    return found


async def has_all(page: Page, tips: Sequence[int]) -> bool:
    newest = (await kept(page)).get("newest", {})
    return all(newest.get(str(partition), 0) >= tip for partition, tip in enumerate(tips))
