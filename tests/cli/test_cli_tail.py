"""`gapless tail`: every event in order, over restarts of the server and kills of its own."""

import asyncio
import json
import random
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.client import Client
from app.cli.tail import Tail
from tests.conftest import StartProcess, StartService
from tests.support import listener
from tests.support.cli import start
from tests.support.service import ThreadService
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, until
from tests.support.warm_cli import WarmCli

BATCH = 50
MOST_BETWEEN_KILLS = 600


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


async def create(url: str, topic: str = "orders", partitions: int = 1) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        (await client.put(f"/v1/topics/{topic}", json={"partitions": partitions})).raise_for_status()


async def publish(url: str, topic: str, *values: int) -> None:
    events = [{"key": str(value), "data": {"n": value}} for value in values]
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        for low in range(0, len(events), 100):
            body = {"events": events[low : low + 100]}
            (await client.post(f"/v1/topics/{topic}/events", json=body)).raise_for_status()


async def line(process: asyncio.subprocess.Process) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        text = await process.stdout.readline()
    found: dict[str, Any] = json.loads(text)
    return found


async def said(process: asyncio.subprocess.Process, words: str) -> str:
    """The first line on standard error with these words."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        while text := (await process.stderr.readline()).decode():
            if words in text:
                return text
    raise AssertionError(f"ended without saying {words!r}")


def assert_exactly_once(events: list[dict[str, Any]], partitions: int, count: int) -> None:
    """Every partition from 1 on without a hole, a repeat or a swap, and `count` in all."""
    for partition in range(partitions):
        offsets = [event["offset"] for event in events if event["partition"] == partition]
        assert offsets == list(range(1, len(offsets) + 1))
    assert len(events) == count


async def test_events_are_printed_as_they_happen_and_as_they_are_read(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    await publish(url, "orders", 0)
    process = await start(["tail", "orders", "--from", "earliest"], url=url)
    assert (await line(process))["data"] == {"n": 0}
    for value in (1, 2):
        await publish(url, "orders", value)
        assert (await line(process))["data"] == {"n": value}
    process.kill()
    await process.communicate()
    tailed = await warm_cli("tail", "orders", "--from", "earliest", "--max", "3", url=url)
    assert tailed.out == (await warm_cli("read", "orders", "--json", url=url)).out


async def test_data_that_was_published_over_several_lines_is_printed_on_one(
    url: str, warm_cli: WarmCli
) -> None:
    await create(url)
    await warm_cli("publish", "orders", '{\n  "a":\n 1}', url=url)
    tailed = await warm_cli("tail", "orders", "--from", "earliest", "--max", "1", url=url)
    assert tailed.out.endswith(b'"data":{   "a":  1}}\n')


async def test_several_topics_come_over_one_connection(url: str, warm_cli: WarmCli) -> None:
    for topic in ("orders", "payments"):
        await create(url, topic)
        await publish(url, topic, 1, 2)
    tailed = await warm_cli("tail", "orders", "payments", "--from", "earliest", "--max", "4", url=url)
    assert sorted((event["topic"], event["offset"]) for event in tailed.json_lines) == [
        ("orders", 1),
        ("orders", 2),
        ("payments", 1),
        ("payments", 2),
    ]


async def test_a_deleted_topic_ends_the_tail_and_others_go_on(url: str, warm_cli: WarmCli) -> None:
    for topic in ("orders", "payments"):
        await create(url, topic)
    process = await start(["tail", "orders", "payments", "--from", "earliest"], url=url)
    for topic in ("orders", "payments"):
        await publish(url, topic, 1)
        await line(process)
    await warm_cli("topic", "delete", "orders", "--yes", url=url)
    assert "topic orders was deleted" in await said(process, "end")
    await publish(url, "payments", 2)
    assert (await line(process))["topic"] == "payments"
    await warm_cli("topic", "delete", "payments", "--yes", url=url)
    await process.communicate()
    assert process.returncode == 0


async def test_what_was_trimmed_under_a_position_is_told(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    await publish(url, "orders", *range(10))
    position = tmp_path / "position"
    options = ["tail", "orders", "--from", "earliest", "--resume-file", str(position)]
    assert len((await warm_cli(*options, "--max", "2", url=url)).json_lines) == 2
    await warm_cli("topic", "trim", "orders", "--before", "6", "--yes", url=url)
    resumed = await warm_cli(*options, "--max", "5", url=url)
    assert [event["offset"] for event in resumed.json_lines] == [6, 7, 8, 9, 10]
    assert "gap (trimmed): orders partition 0" in resumed.err


async def test_an_unknown_topic_and_a_bad_id_are_refused_at_once(url: str, warm_cli: WarmCli) -> None:
    unknown = await warm_cli("tail", "orders", url=url)
    assert (unknown.code, "(topic_not_found)" in unknown.err) == (1, True)
    await create(url)
    bad = await warm_cli("tail", "orders", "--last-event-id", "nonsense", url=url)
    assert (bad.code, "(bad_event_id)" in bad.err) == (1, True)


async def test_a_server_that_has_no_place_for_a_first_stream_is_told_with_its_reason(
    start_service: StartService, warm_cli: WarmCli
) -> None:
    url = (await start_service(max_streams=1)).base_url
    await create(url)
    async with open_stream(f"{url}/v1/topics/orders/stream") as first:
        await first.position()
        refused = await warm_cli("tail", "orders", url=url)
    assert (refused.code, "(server_full)" in refused.err) == (3, True)


async def test_a_server_that_stops_or_is_killed_costs_no_event_and_no_repeat(
    start_process: StartProcess,
) -> None:
    service = await start_process(retry_milliseconds=200)
    await create(service.base_url, partitions=2)
    process = await start(["tail", "orders", "--from", "earliest"], url=service.base_url)
    events: list[dict[str, Any]] = []

    async def publish_and_collect(low: int) -> None:
        await publish(service.base_url, "orders", *range(low, low + 50))
        events.extend([await line(process) for _ in range(50)])

    await publish(service.base_url, "orders", *range(50))
    events.extend([await line(process) for _ in range(50)])
    await service.terminate()
    assert "the server is stopping" in await said(process, "drain")
    await service.start()
    await publish_and_collect(50)
    service.kill()
    assert await said(process, "broke") == f"the connection to {service.base_url} broke; reconnecting\n"
    await service.start()
    await publish_and_collect(100)
    assert_exactly_once(events, partitions=2, count=150)
    process.kill()
    await process.communicate()


async def test_a_tail_killed_at_ten_random_points_writes_each_event_exactly_once(
    url: str, tmp_path: Path
) -> None:
    await create(url, partitions=4)
    output = tmp_path / "events.ndjson"
    options = ["tail", "orders", "--from", "earliest", "--output", str(output)]
    dice = random.Random(2026)
    published, killed = 0, asyncio.Event()

    async def keep_publishing() -> None:
        """So that there is something left to write for each."""
        nonlocal published
        while not killed.is_set():
            await publish(url, "orders", *range(published, published + BATCH))
            published += BATCH
            await asyncio.sleep(0.05)

    def written() -> int:
        return output.read_bytes().count(b"\n") if output.exists() else 0

    publishing = asyncio.create_task(keep_publishing())
    for _ in range(10):
        enough = written() + dice.randint(1, MOST_BETWEEN_KILLS)
        process = await start(options, url=url)
        await until(lambda: written() >= enough)  # noqa: B023
        process.kill()
        await process.communicate()
    killed.set()
    await publishing
    process = await start(options, url=url)
    await until(lambda: written() >= published)
    process.terminate()
    await process.communicate()
    assert_exactly_once([json.loads(text) for text in output.read_bytes().splitlines()], 4, published)


async def test_lines_after_the_stored_position_are_written_anew(
    url: str, tmp_path: Path, warm_cli: WarmCli
) -> None:
    await create(url)
    await publish(url, "orders", *range(10))
    output = tmp_path / "events.ndjson"
    options = ["tail", "orders", "--from", "earliest", "--output", str(output)]
    assert (await warm_cli(*options, "--max", "4", url=url)).code == 0
    with output.open("ab") as file:
        file.write(b'{"topic":"orders","partition":0,"offset":5}\n{"topic":"ord')
    assert (await warm_cli(*options, "--max", "6", url=url)).code == 0
    assert_exactly_once([json.loads(text) for text in output.read_bytes().splitlines()], 1, 10)


async def test_a_position_file_lets_a_killed_tail_go_on(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    await publish(url, "orders", *range(6))
    options = ["tail", "orders", "--from", "earliest", "--resume-file", str(tmp_path / "position")]
    first = await warm_cli(*options, "--max", "2", url=url)
    second = await warm_cli(*options, "--max", "4", url=url)
    assert [event["offset"] for event in first.json_lines + second.json_lines] == [1, 2, 3, 4, 5, 6]
    other = await warm_cli("tail", "payments", "--resume-file", tmp_path / "position", url=url)
    assert (other.code, "is the position of a tail of orders" in other.err) == (2, True)


async def test_a_position_of_standard_output_is_where_an_empty_file_goes_on(
    url: str, tmp_path: Path, warm_cli: WarmCli
) -> None:
    await create(url)
    await publish(url, "orders", *range(5))
    options = ["tail", "orders", "--resume-file", str(tmp_path / "position")]
    await warm_cli(*options, "--from", "earliest", "--max", "2", url=url)
    output = tmp_path / "events.ndjson"
    written = await warm_cli(*options, "--output", output, "--max", "2", url=url)
    assert written.code == 0, written.err
    assert [json.loads(text)["offset"] for text in output.read_bytes().splitlines()] == [3, 4]


async def test_a_tail_that_was_killed_before_its_first_position_goes_on_from_the_one_before(
    url: str, tmp_path: Path, warm_cli: WarmCli
) -> None:
    await create(url)
    await publish(url, "orders", *range(3))
    position, output = tmp_path / "position", tmp_path / "events.ndjson"
    options = ["tail", "orders", "--resume-file", str(position)]
    await warm_cli(*options, "--from", "earliest", "--max", "2", url=url)
    await warm_cli(*options, "--output", output)
    output.write_bytes(b'{"topic":"orders","partition":0,"offset":3}\n')
    await warm_cli(*options, "--output", output, "--max", "1", url=url)
    assert [json.loads(text)["offset"] for text in output.read_bytes().splitlines()] == [3]


async def test_two_tails_never_write_one_file(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    await publish(url, "orders", 1)
    output = tmp_path / "events.ndjson"
    process = await start(["tail", "orders", "--from", "earliest", "--output", str(output)], url=url)
    await until(lambda: output.exists() and output.stat().st_size > 0)
    second = await warm_cli("tail", "orders", "--output", output, url=url)
    assert (second.code, "another tail is writing" in second.err) == (1, True)
    process.kill()
    await process.communicate()


async def test_a_file_that_no_tail_wrote_is_not_touched(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    output = tmp_path / "precious.txt"
    output.write_text("mine\n")
    result = await warm_cli("tail", "orders", "--output", output, url=url)
    assert result.code == 2
    assert output.read_text() == "mine\n"


async def test_files_that_cannot_be_written_are_refused_before_the_first_event(
    url: str, warm_cli: WarmCli, tmp_path: Path
) -> None:
    await create(url)
    await publish(url, "orders", 1)
    nowhere = tmp_path / "no" / "file"
    for option, place, words in (
        ("--output", nowhere, f"cannot write {nowhere}: No such file or directory"),
        ("--output", tmp_path, f"cannot write {tmp_path}: Is a directory"),
        ("--resume-file", nowhere, f"cannot keep the position in {nowhere}: {nowhere.parent} is no folder"),
        ("--resume-file", tmp_path, f"cannot read the position in {tmp_path}: Is a directory"),
    ):
        refused = await warm_cli("tail", "orders", "--from", "earliest", "--max", "1", option, place, url=url)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, b"", 1), refused
        assert words in refused.err


async def test_an_id_that_no_stream_can_have_given_is_a_usage_error(warm_cli: WarmCli) -> None:
    for given in ("v1.é", "a\nb", "\udce9"):
        refused = await warm_cli("tail", "orders", "--last-event-id", given)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused
        assert "--last-event-id is the id of an event" in refused.err


async def test_events_come_at_once_through_a_proxy_that_compresses(warm_cli: WarmCli) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        if re.search(rb"accept-encoding:.*gzip", head) or b"topic=squeezed" in head:
            writer.write(b"Content-Encoding: gzip\r\n\r\n")
        else:
            writer.write(b'\r\nid: 1\ndata: {"n": 1}\n\n')
        await reader.read()
        writer.close()

    async with listener.listening(answer) as port:
        url = f"http://127.0.0.1:{port}"
        tailed = await warm_cli("tail", "orders", "--max", "1", url=url)
        assert (tailed.code, tailed.out) == (0, b'{"n": 1}\n')
        refused = await warm_cli("tail", "squeezed", "--max", "1", url=url)
        assert (refused.code, refused.err) == (
            1,
            f"gapless: a proxy of {url} sends the stream as gzip, which nobody asked for: "
            "it must leave text/event-stream as it is\n",
        )


class Taken:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def start(self) -> None:
        return None

    def write(self, lines: list[bytes], last_event_id: str) -> None:
        self.lines += lines


async def test_a_server_that_pings_more_rarely_is_not_taken_for_dead_again_and_again() -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n" if connections < 20 else b"HTTP/1.1 404 Not Found\r\n")
        writer.write(b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\nretry: 10\n\n")
        left = asyncio.create_task(reader.read())
        if connections == 1:
            # Who was answered once comes back, however late the next answer may begin.
            tail._silence_seconds = 0.1
        elif connections < 20:
            for said in (b": ping\n\n", b"id: 1\ndata: {}\n\n"):
                if not (await asyncio.wait([left], timeout=0.3))[0]:
                    writer.write(said)
        writer.write_eof()
        await left
        writer.close()

    taken = Taken()
    async with listener.listening(answer) as port:
        with Client(f"http://127.0.0.1:{port}") as client:
            tail = Tail(client, ["orders"], "latest", taken, 1)
            await asyncio.to_thread(tail.run, None)
    assert taken.lines == [b"{}"]


async def test_an_interrupted_tail_ends_quietly(url: str) -> None:
    await create(url)
    await publish(url, "orders", 1)
    process = await start(["tail", "orders", "--from", "earliest"], url=url)
    await line(process)
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
