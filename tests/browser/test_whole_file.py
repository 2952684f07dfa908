"""A whole file of real events, through every way in and out: published, published again, tailed, shown.

The file is a day of Wikipedia edits where it lies beside the repository, otherwise one of the same shape
that is made here.
"""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from playwright.async_api import expect

from tests.conftest import StartProcess
from tests.support.browser import Tab, launched
from tests.support.cli import gapless, start
from tests.support.edits import edits as read_edits
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until

PARTITIONS = 4
KILLS = 10
TOPIC = "wikipedia.edits"
PUBLISH = ["publish", TOPIC, "-", "--key", "channel", "--type", "edit", "--time", "time"]

pytestmark = pytest.mark.timeout(600)


class Edits(NamedTuple):
    content: bytes
    total: int
    channels: Counter[str]


@pytest.fixture(scope="module")
def edits() -> Edits:
    content = read_edits()
    channels = Counter(json.loads(line)["channel"] for line in content.splitlines())
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


async def test_the_browser_goes_on_through_ten_kills_of_the_server(
    edits: Edits, start_process: StartProcess
) -> None:
    service = await start_process(retry_milliseconds=100)
    url = service.base_url
    assert (await gapless("topic", "create", TOPIC, "--partitions", str(PARTITIONS), url=url)).code == 0
    lines = edits.content.splitlines(keepends=True)[:10_000]
    async with launched() as browser:
        tab = await Tab.open(await browser.new_context(), url, TOPIC)
        for kill in range(10):
            part = b"".join(lines[kill * len(lines) // 10 : (kill + 1) * len(lines) // 10])
            publishing = await start([*PUBLISH, "--idempotency-prefix", f"part-{kill}"], url=url, stdin=-1)
            assert publishing.stdin is not None
            publishing.stdin.write(part)
            publishing.stdin.close()
            already = kill * len(lines) // 10

            async def some(already: int = already) -> bool:
                return sum(partition["tip"] for partition in await bounds(service)) > already

            await until(some)
            service.kill()
            await service.start()
            _, err = await publishing.communicate()
            assert publishing.returncode == 0, err
        await tab.received(len(lines), within_seconds=2 * PATIENCE_SECONDS)
        found = await bounds(service)
        seen = await tab.partitions()
        assert [tile["last"] for tile in seen] == [partition["tip"] for partition in found]
        assert [tile["received"] for tile in seen] == [partition["tip"] for partition in found]
        assert sum(tile["repeats"] for tile in seen) == 0
        assert tab.faults == []
