"""`gapless publish`: every line once, in order, with its bytes, whatever is killed in between."""

import asyncio
import fcntl
import gzip
import json
import os
import re
import signal
import termios
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import StartProcess, StartService
from tests.support.cli import gapless, start
from tests.support.databases import Databases, database_name
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ProcessService, ThreadService
from tests.support.wait import PATIENCE_SECONDS, until
from tests.support.warm_cli import WarmCli


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


async def create(url: str, topic: str = "orders", partitions: int = 1) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        (await client.put(f"/v1/topics/{topic}", json={"partitions": partitions})).raise_for_status()


async def stored(url: str, topic: str = "orders") -> list[dict[str, Any]]:
    read = await gapless("read", topic, "--json", url=url)
    assert read.code == 0, read.err
    return read.json_lines


async def held(url: str, topic: str = "orders") -> int:
    """How many events the topic has."""
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        found = (await client.get(f"/v1/topics/{topic}")).json()
    return sum(bounds["tip"] - bounds["earliest"] + 1 for bounds in found["bounds"])


async def first_chunk_in(process: asyncio.subprocess.Process) -> None:
    """Wait until the command knows; the topic has the events before the answer is back."""
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await process.stderr.readline()).startswith(b"1,000 events ")


def numbered(count: int) -> bytes:
    return b"".join(b'{"n":%d}\n' % n for n in range(count))


def ns(events: list[dict[str, Any]]) -> list[int]:
    return [event["data"]["n"] for event in events]


async def test_one_event_is_published_and_its_place_is_printed(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    first = await warm_cli(
        "publish", "orders", '{"total": 1.10}', "--type", "order.placed", "--key-value", "customer-7", url=url
    )
    assert (first.code, first.out) == (0, b"orders partition 0 offset 1\n")
    second = await warm_cli("publish", "orders", "[1]", "--json", url=url)
    assert second.json_lines == [{"topic": "orders", "partition": 0, "offset": 2}]
    read = await warm_cli("read", "orders", "--json", url=url)
    event, other = read.json_lines
    assert (event["type"], event["key"]) == ("order.placed", "customer-7")
    assert read.out.splitlines()[0].endswith(b'"data":{"total": 1.10}}')
    assert "key" not in other


async def test_text_is_published_as_a_json_string(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    assert (await warm_cli("publish", "orders", "hello, world", "--text", url=url)).code == 0
    assert (await warm_cli("publish", "orders", "-", "--text", url=url, stdin=b'a "b"\n\nc\r\n')).code == 0
    assert [event["data"] for event in await stored(url)] == ["hello, world", 'a "b"', "c"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "there is no file 'missing', and it is not JSON; give JSON, such as '{\"order\": 1}'"),
        (["missing.ndjson"], "there is no file 'missing.ndjson'"),
        (["."], "'.' is a folder; give JSON, such as"),
        (["/dev/null"], "'/dev/null' is neither a file nor a pipe; give JSON, such as"),
        ([""], "there is no data; give JSON, such as"),
        (["1", "--type", "a", "--type-field", "b"], "not both"),
        (["1", "--key", "a", "--key-value", "b"], "not both"),
        (["1", "--text", "--key", "a"], "no fields"),
        (["-", "--idempotency-prefix", 'a"b'], "no quotes"),
        (["-", "--idempotency-prefix", "x" * 200], "printable"),
    ],
)
async def test_what_makes_no_sense_is_a_usage_error(
    url: str, arguments: list[str], said: str, warm_cli: WarmCli
) -> None:
    await create(url)
    result = await warm_cli("publish", "orders", *arguments, url=url)
    assert result.code == 2
    assert said in result.err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"a":1,}', "Not JSON at line 1, column 8: a name in double quotes must follow the ','."),
        ("[1,\n 2 3]", "Not JSON at line 2, column 4: ',' or ']' must stand there."),
        (' "a" b', "Not JSON at line 1, column 6: the JSON text is over, but more follows."),
        ("{", "The JSON text ends too early."),
        ("[" * 100_000, "The JSON text is nested too deeply."),
        ('{"a":"\udcff"}', "The data is not UTF-8."),
    ],
    ids=["comma", "second line", "text", "end", "depth", "bytes"],
)
async def test_what_begins_as_json_is_told_where_it_is_none_and_not_looked_for_as_a_file(
    url: str, data: str, said: str, warm_cli: WarmCli
) -> None:
    await create(url)
    result = await warm_cli("publish", "orders", data, url=url)
    assert (result.code, result.err) == (2, f"gapless: {said}\n")


async def test_an_input_without_lines_is_told_and_no_failure(
    url: str, tmp_path: Path, warm_cli: WarmCli
) -> None:
    await create(url)
    file = tmp_path / "empty.ndjson"
    file.write_bytes(b"\n\n")
    for arguments, name in ((["-"], "standard input"), ([str(file)], str(file))):
        done = await warm_cli("publish", "orders", *arguments, url=url, stdin=b"")
        assert (done.code, done.out) == (0, b"")
        assert done.err == f"nothing was published to orders: {name} has no lines\n"
    counted = await warm_cli("publish", "orders", "-", "--json", url=url, stdin=b"")
    assert counted.json_lines[0]["published"] == 0


async def test_an_unknown_topic_is_told_before_anything_is_read(url: str, warm_cli: WarmCli) -> None:
    result = await warm_cli("publish", "orders", "-", url=url, stdin=b"1\n")
    assert result.code == 1
    assert "(topic_not_found)" in result.err
    assert "`gapless topic create` makes one" in result.err.splitlines()[1]
    assert result.err.count("\n") == 2


async def test_the_bytes_of_every_line_come_back(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    lines = [
        b'{"a":1.10,"b":12345678901234567890,"a":2}',
        '"\\u2028 \u2028 \U0001f600"'.encode(),
        b"[ 1 ,\t2 ]",
        b"-0",
        b"null",
        b'""',
    ]
    file = tmp_path / "lines.ndjson"
    file.write_bytes(b"\r\n".join(lines))
    assert (await warm_cli("publish", "orders", file, url=url)).code == 0
    read = await warm_cli("read", "orders", "--json", url=url)
    assert [line.split(b',"data":', 1)[1][:-1] for line in read.out.splitlines()] == lines


async def test_fields_of_a_line_become_its_attributes(url: str, warm_cli: WarmCli) -> None:
    await create(url, partitions=4)
    lines = [
        {"user": {"id": 7}, "at": "2015-09-12T00:46:58.771Z", "kind": "edit", "ref": "r-1"},
        {"user": {}, "at": "2015-09-12T02:46:59+02:00", "kind": "view", "ref": "r-2"},
    ]
    options = ["--key", "user.id?", "--time", "at", "--type-field", "kind", "--id", "ref"]
    text = "\n".join(map(json.dumps, lines)).encode()
    result = await warm_cli("publish", "orders", "-", *options, url=url, stdin=text)
    assert result.code == 0, result.err
    edit, view = sorted(await stored(url), key=lambda event: str(event["type"]))
    assert (edit["key"], edit["time"], edit["id"]) == ("7", "2015-09-12T00:46:58.771Z", "r-1")
    assert (view["time"], view["type"], "key" in view) == ("2015-09-12T00:46:59Z", "view", False)


@pytest.mark.parametrize("ending", [".ndjson", ".ndjson.gz"])
async def test_a_file_published_again_adds_nothing_even_under_another_name(
    url: str, tmp_path: Path, ending: str, warm_cli: WarmCli
) -> None:
    await create(url, partitions=4)
    content = numbered(2_500)
    file = tmp_path / f"events{ending}"
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    first = await warm_cli("publish", "orders", file, "--json", url=url)
    assert first.json_lines[0] | {"seconds": 0} == {
        "topic": "orders", "published": 2_500, "replayed": 0, "refused": 0, "seconds": 0
    }  # fmt: skip
    copy = file.rename(tmp_path / f"copy{ending}")
    again = await warm_cli("publish", "orders", copy, url=url)
    assert again.code == 0
    assert "0 events published" in again.err
    assert "/s" not in again.err
    assert "2,500 were there already" in again.err
    assert await held(url) == 2_500


@pytest.mark.parametrize("limit", [{"max_batch_events": 500}, {"max_request_bytes": 20_000}])
async def test_a_server_that_takes_less_at_once_gets_less_at_once(
    start_service: StartService, tmp_path: Path, warm_cli: WarmCli, limit: dict[str, int]
) -> None:
    small, large = [
        (await start_service(max_event_bytes=20_000, **settings)).base_url for settings in (limit, {})
    ]
    await create(small)
    file = tmp_path / "events.ndjson"
    file.write_bytes(numbered(2_300))
    options = ["publish", "orders", str(file), "--json"]
    first = await warm_cli(*options, url=small)
    assert (first.code, first.err) == (0, "")
    for url in (small, large):
        again = await warm_cli(*options, url=url)
        assert (again.code, again.err) == (0, "")
        assert again.json_lines[0]["replayed"] == 2_300
    assert ns(await stored(large)) == list(range(2_300))
    too_large = b'"%s"\n' % (b"x" * 30_000)
    lines = numbered(10) + too_large + numbered(990)
    mixed = await warm_cli("publish", "orders", "-", url=small, stdin=lines)
    refusal, summary = mixed.err.splitlines()
    assert refusal.startswith("line 11 refused: ")
    assert summary.startswith("1,000 events published")
    assert summary.endswith("; 1 line refused")


async def test_one_event_is_told_as_one(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    result = await warm_cli("publish", "orders", "-", url=url, stdin=b"1\n{\n")
    assert result.err.splitlines()[-1].startswith("1 event published to orders in ")
    assert result.err.endswith("; 1 line refused\n")


async def test_a_named_pipe_is_published_like_standard_input(url: str, tmp_path: Path) -> None:
    await create(url)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    publishing = asyncio.create_task(gapless("publish", "orders", pipe, url=url))
    await asyncio.to_thread(pipe.write_bytes, numbered(3))
    result = await publishing
    assert result.code == 0, result.err
    assert ns(await stored(url)) == [0, 1, 2]


async def test_standard_input_is_published_once_per_prefix(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    content = numbered(1_500)
    for prefix, expected in (("one", 1_500), ("one", 1_500), ("two", 3_000)):
        result = await warm_cli(
            "publish", "orders", "-", "--idempotency-prefix", prefix, url=url, stdin=content
        )
        assert result.code == 0, result.err
        assert await held(url) == expected
    assert (await warm_cli("publish", "orders", "-", url=url, stdin=content)).code == 0
    assert await held(url) == 4_500


async def test_a_prefix_that_was_used_for_other_lines_is_refused(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    options = ["publish", "orders", "-", "--idempotency-prefix", "p"]
    assert (await warm_cli(*options, url=url, stdin=numbered(1_003))).code == 0
    for other, line, arguments in (
        (b"7\n" + numbered(1_003)[8:], 1, []),
        (numbered(1_002) + b"7\n", 1_003, []),
        (numbered(900), 1, []),
        (numbered(1_003), 1, ["--key", "n"]),
    ):
        result = await warm_cli(*options, *arguments, url=url, stdin=other)
        assert (result.code, result.err.count("\n")) == (1, 1), result
        assert f"under this prefix from line {line} on is not what this input has there" in result.err
        assert "another --idempotency-prefix" in result.err
        assert await held(url) == 1_003


async def test_an_input_that_ended_too_early_goes_on_when_it_comes_whole(
    url: str, warm_cli: WarmCli, tmp_path: Path
) -> None:
    await create(url)
    content = numbered(2_500)
    options = ["--idempotency-prefix", "p", "--json"]
    known = 0
    # Ends in the middle of a line, of chunks, of what was added to a chunk before, and then not at all.
    for end in (9, 8 * 1_000 + 3, 10_700, 12_000, 24_000, len(content), len(content)):
        part = content[:end]
        result = await warm_cli("publish", "orders", "-", *options, url=url, stdin=part)
        whole = part.count(b"\n")
        assert result.code == (0 if part.endswith(b"\n") else 1), result.err
        counts = result.json_lines[0]
        assert (counts["replayed"], counts["published"]) == (known, whole - known)
        known = whole
    file = tmp_path / "events.ndjson"
    file.write_bytes(content)
    again = await warm_cli("publish", "orders", file, *options, url=url)
    assert (again.code, again.json_lines[0]["replayed"]) == (0, 2_500), again.err
    assert ns(await stored(url)) == list(range(2_500))


async def test_refused_lines_where_an_input_ended_let_nothing_in_twice(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    lines = [b'{"n":%d}' % number for number in range(1, 601)]
    # What the server refuses is known only when it was sent; around each place where an earlier run ends.
    bad = {*range(1, 5), 7, *range(64, 129), 255, 300, 301, 449, 450, 451}
    for number in bad:
        lines[number - 1] = b'{"n":%d,"x":"\\u0000"}' % number
    for end in (4, 6, 8, 70, 131, 300, 450, 600):
        options = ["publish", "orders", "-", "--idempotency-prefix", "p"]
        result = await warm_cli(*options, url=url, stdin=b"\n".join(lines[:end]) + b"\n")
        assert f"; {sum(number <= end for number in bad)} lines refused" in result.err.splitlines()[-1]
        assert ns(await stored(url)) == [number for number in range(1, end + 1) if number not in bad]


async def test_a_pipe_that_pauses_is_published_before_it_ends(url: str) -> None:
    await create(url)
    process = await start(["publish", "orders", "-"], url=url, stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    for count in (1, 2):
        process.stdin.write(b"%d\n" % count)
        await process.stdin.drain()

        async def arrived(expected: int = count) -> bool:
            return await held(url) == expected

        await until(arrived)
    process.stdin.close()
    await process.communicate()
    assert process.returncode == 0


BAD_LINES = {
    3: (b"{", "invalid_json"),
    5: (b"NaN", "invalid_json"),
    7: (b'{"n":7,"x":"\xff"}', "invalid_json"),
    8: (b'{"n":8,"x":"\\u0000"}', "unstorable_character"),
    9: (b'{"n":9,"x":"\\ud800 "}', "invalid_json"),
    1_200: (b'{"n":1,"x":' + b"[" * 200 + b"]" * 200 + b"}", "too_deep"),
    1_201: (b'{"n":1,"x":' + b"9" * 500 + b"}", "number_out_of_range"),
    1_202: (b'{"n":1,"x":"' + b"y" * 1_100_000 + b'"}', "event_too_large"),
    1_203: (b'{"k":1}', "missing_field"),
    1_204: (b'{"n":"a\\u0007b"}', "control_character"),
    1_205: (b"[" * 100_000, "invalid_json"),
}


async def test_refused_lines_are_named_and_the_rest_goes_in_once(
    url: str, tmp_path: Path, warm_cli: WarmCli
) -> None:
    await create(url, partitions=2)
    lines = [b'{"n":%d}' % number for number in range(1, 2_101)]
    for number, (line, _) in BAD_LINES.items():
        lines[number - 1] = line
    file = tmp_path / "mixed.ndjson"
    file.write_bytes(b"\n".join(lines) + b"\n")
    for attempt in ("first", "again"):
        result = await warm_cli("publish", "orders", file, "--key", "n", "--no-progress", url=url)
        assert result.code == 1, attempt
        said = [line for line in result.err.splitlines() if " refused: " in line]
        told = {int(line.split()[1]): line.rsplit("(", 1)[1].rstrip(")") for line in said}
        assert told == {number: code for number, (_, code) in BAD_LINES.items()}
        assert len(said) == len(BAD_LINES)
        assert await held(url) == 2_100 - len(BAD_LINES)
    good = set(range(1, 2_101)) - set(BAD_LINES)
    assert sorted(ns(await stored(url))) == sorted(good)


async def test_a_refused_line_is_told_by_its_number_and_the_place_in_it(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    lines = [b'{"a":1,}', b'{"a":[1,"\\u0000"]}', b'"\\u0000"', b'{"a":"x\\u0007y"}', b'{"b":1}', b'{"a":1}']
    text = b"\n\n" + b"\n".join(lines)
    refused = await warm_cli("publish", "orders", "-", "--key", "a?", url=url, stdin=text)
    assert refused.code == 1
    assert refused.err.splitlines()[:-1] == [
        "line 3 refused: Not JSON at column 8: a name in double quotes must follow the ','. (invalid_json)",
        "line 4 refused: The field 'a' is neither text, number nor boolean. (invalid_field)",
        "line 5 refused: The text holds U+0000, which cannot be stored. (unstorable_character)",
        "line 6 refused: key holds U+0007, a control character or noncharacter. (control_character)",
    ]
    inside = await warm_cli("publish", "orders", "-", url=url, stdin=lines[1])
    assert inside.err.splitlines()[0] == (
        "line 1 refused: at /a/1: The text holds U+0000, which cannot be stored. (unstorable_character)"
    )


async def test_of_many_refused_lines_the_first_are_named_and_the_rest_is_counted(
    url: str, warm_cli: WarmCli
) -> None:
    await create(url)
    for bad, rest in (
        (20, []),
        (21, ["1 more line was refused"]),
        (5_000, ["4,980 more lines were refused"]),
    ):
        result = await warm_cli("publish", "orders", "-", url=url, stdin=b"{\n" * bad + b"1\n")
        assert result.code == 1
        *said, summary = result.err.splitlines()
        assert [int(line.split()[1]) for line in said[:20]] == list(range(1, 21))
        told = ["more lines are refused, and only counted from here on"] if rest else []
        assert said[20:] == [*told, *rest]
        assert summary.endswith(f"; {bad:,} lines refused")


async def test_one_event_that_is_refused_is_an_error(url: str, warm_cli: WarmCli) -> None:
    await create(url)
    result = await warm_cli("publish", "orders", '"\\u0000"', url=url)
    assert result.code == 1
    assert "(unstorable_character)" in result.err


async def test_a_client_killed_in_the_middle_goes_on_without_a_duplicate(url: str, warm_cli: WarmCli) -> None:
    await create(url, partitions=3)
    content = numbered(6_000)
    options = ["publish", "orders", "-", "--idempotency-prefix", "load", "--key", "n"]
    for part in (1_500, 3_700):
        killed = await start(options, url=url, stdin=asyncio.subprocess.PIPE)
        assert killed.stdin is not None
        killed.stdin.write(b"".join(content.splitlines(keepends=True)[:part]))
        await killed.stdin.drain()

        async def some(expected: int = part // 1_000 * 1_000) -> bool:
            return await held(url) >= expected

        await until(some)
        killed.kill()
        await killed.communicate()
    result = await warm_cli(*options, "--json", url=url, stdin=content)
    assert result.code == 0, result.err
    counts = result.json_lines[0]
    assert counts["replayed"] >= 3_000
    assert counts["published"] + counts["replayed"] == 6_000
    assert sorted(ns(await stored(url))) == list(range(6_000))


async def test_a_server_killed_in_the_middle_and_started_again_gets_every_line_once(
    start_process: StartProcess,
) -> None:
    service = await start_process()
    await create(service.base_url)
    process = await start(["publish", "orders", "-"], url=service.base_url, stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    lines = numbered(30_000).splitlines(keepends=True)
    process.stdin.write(b"".join(lines[:9_000]))
    await process.stdin.drain()

    async def some() -> bool:
        return await held(service.base_url) >= 1_000

    await until(some)
    service.kill()
    process.stdin.write(b"".join(lines[9_000:]))
    process.stdin.close()
    await service.start()
    _, err = await process.communicate()
    assert process.returncode == 0, err
    assert ns(await stored(service.base_url)) == list(range(30_000))


async def test_a_server_that_stays_away_ends_the_command_with_what_is_in(start_process: StartProcess) -> None:
    service = await start_process()
    await create(service.base_url)
    options = ["publish", "orders", "-", "--idempotency-prefix", "p", "--retry-seconds", "0.5", "--progress"]
    process = await start(options, url=service.base_url, stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(numbered(1_500))
    await process.stdin.drain()
    await first_chunk_in(process)
    service.kill()
    process.stdin.close()
    _, err = await process.communicate()
    assert process.returncode == 3
    assert b"everything up to line 1000 is in; run the same command again to go on" in err


async def test_a_server_without_its_database_for_too_long_is_no_refusal(
    databases: Databases, dsn: str
) -> None:
    async with FaultProxy(Target(path=databases.server.socket)) as proxy:
        through = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database_name(dsn)}"
        async with ProcessService({"database_url": through}) as service:
            await create(service.base_url)
            options = ["--retry-seconds", "0.5", "--progress"]
            # Without a prefix the rest would go in as soon as the input pauses.
            process = await start(
                ["publish", "orders", "-", "--idempotency-prefix", "p", *options],
                url=service.base_url, stdin=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert process.stdin is not None
            process.stdin.write(numbered(1_500))
            await process.stdin.drain()
            await first_chunk_in(process)
            proxy.refuse()
            proxy.cut()
            process.stdin.close()
            _, err = await process.communicate()
            assert b"(database_unavailable)" in err
            assert process.returncode == 3, err
            for arguments in (["publish", "orders", "1", *options], ["read", "orders"]):
                result = await gapless(*arguments, url=service.base_url)
                assert "(database_unavailable)" in result.err
                assert result.code == 3, result


async def test_a_truncated_gzip_file_is_a_failure(url: str, tmp_path: Path, warm_cli: WarmCli) -> None:
    await create(url)
    file = tmp_path / "cut.ndjson.gz"
    file.write_bytes(gzip.compress(numbered(5_000))[:-20])
    result = await warm_cli("publish", "orders", file, url=url)
    assert result.code == 1
    assert "ends in the middle of its gzip data" in result.err


@pytest.mark.parametrize("packed", [False, True])
async def test_progress_tells_events_rate_and_what_is_left(
    url: str, tmp_path: Path, packed: bool, warm_cli: WarmCli
) -> None:
    await create(url)
    file = tmp_path / "events.ndjson"
    content = numbered(3_000)
    file.write_bytes(gzip.compress(content) if packed else content)
    result = await warm_cli("publish", "orders", file, "--progress", url=url)
    # The first lines are the shorter ones.
    assert re.match(r"1,000 events · [\d,.]+/s · 31% · \d+ s left\n", result.err), result.err
    quiet = await warm_cli("publish", "orders", file, "--no-progress", url=url)
    assert len(quiet.err.splitlines()) == 1


async def test_an_interrupted_publish_says_how_to_go_on(url: str) -> None:
    await create(url)
    options = ["publish", "orders", "-", "--idempotency-prefix", "p", "--progress"]
    process = await start(options, url=url, stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(numbered(1_500))
    await process.stdin.drain()
    await first_chunk_in(process)
    process.send_signal(signal.SIGINT)
    _, err = await process.communicate()
    assert process.returncode == 130
    assert err == b"stopped: everything up to line 1000 is in; run the same command again to go on\n"


async def test_a_publish_that_is_interrupted_before_anything_went_in_says_so(url: str) -> None:
    await create(url)
    theirs, ours = os.pipe()
    try:
        process = await start(["publish", "orders", "-"], url=url, stdin=theirs)
        os.write(ours, b"no whole line")
        await until(lambda: fcntl.ioctl(theirs, termios.FIONREAD, b"\0" * 4) == b"\0" * 4)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    finally:
        os.close(ours)
        os.close(theirs)
    assert (process.returncode, err) == (130, b"stopped: nothing was published\n")
