"""`gapless topic`, `read`, the options that all commands share, and exit codes."""

import asyncio
import json
import os
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command

from app import __version__
from app.cli.client import AsyncClient, Client, problem_of
from app.cli.failures import Unreachable
from app.cli.root import app
from tests.cli.test_cli_key import COMMANDS
from tests.conftest import StartService
from tests.support import listener
from tests.support.certificates import make_authority, make_certificate
from tests.support.cli import GAPLESS, environment
from tests.support.http_group import create_group
from tests.support.service import ThreadService
from tests.support.warm_cli import WarmCli

TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x46"
"""What a server that speaks TLS says to anything else."""
NGINX_SAYS = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: 45\r\n\r\n"
    b"The plain HTTP request was sent to HTTPS port"
)
NO_TOPICS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n"
    b'{"topics":[],"next_page_token":""}'
)
PAGE = b"Content-Type: text/html\r\nContent-Length: 14\r\n\r\n<html>x</html>"


@asynccontextmanager
async def answering(said: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server that says the same to everybody, whatever was asked; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        if writer.can_write_eof():
            writer.write_eof()
        await reader.read()
        writer.close()

    async with listener.listening(answer, tls) as port:
        yield port


MORE_COMMANDS = (
    ("topic", "show", "t"),
    ("topic", "alter", "t", "--description", "x"),
    ("topic", "trim", "t", "--partition", "0", "--before", "2", "--yes"),
    ("topic", "delete", "t", "--yes"),
    ("sub", "create", "t", "g"),
    ("sub", "show", "t", "g"),
    ("sub", "leases", "t", "g"),
    ("sub", "alter", "t", "g", "--max-attempts", "2"),
    ("sub", "pause", "t", "g"),
    ("sub", "heartbeat", "t", "g"),
    ("sub", "delete", "t", "g", "--yes"),
    ("dlq", "show", "t", "g", "1"),
    ("dlq", "redrive", "t", "g", "--id", "1"),
    ("dlq", "discard", "t", "g", "--all", "--yes"),
)
NOT_OURS = (b"[]", b'"x"', b"1", b"", b"{", b'{"name":1,"partitions":"x","bounds":[]}', b'{"bounds":[{}]}')


def page(kind: str, content: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + content


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


async def test_a_topic_is_created_shown_changed_trimmed_and_deleted(url: str, warm_cli: WarmCli) -> None:
    created = await warm_cli("topic", "create", "orders", "--partitions", "2", url=url)
    assert created.out == b"topic orders created, 2 partitions\n"
    again = await warm_cli("topic", "create", "orders", "--partitions", "2", url=url)
    assert (again.code, again.out) == (0, b"topic orders was there already, 2 partitions\n")
    await warm_cli("publish", "orders", "-", url=url, stdin=b"1\n2\n3\n4\n")
    assert (await warm_cli("topic", "alter", "orders", "--description", "All orders", url=url)).code == 0
    shown = (await warm_cli("topic", "show", "orders", "--json", url=url)).json_lines[0]
    assert shown["description"] == "All orders"
    assert sum(bounds["tip"] for bounds in shown["bounds"]) == 4
    busy = max(shown["bounds"], key=lambda bounds: int(bounds["tip"]))["partition"]
    unclear = await warm_cli("topic", "trim", "orders", "--before", "2", "--yes", url=url)
    assert (unclear.code, "name one with --partition" in unclear.err) == (2, True)
    trim = ["topic", "trim", "orders", "--before", "2", "--partition", str(busy)]
    unsaid = await warm_cli(*trim, url=url)
    assert (unsaid.code, unsaid.err) == (
        2,
        f"gapless: this removes 1 event of topic orders partition {busy}, all below offset 2, for good; say "
        "so with --yes\n",
    )
    beyond = await warm_cli(*trim[:4], "99", *trim[5:], url=url)
    assert f"removes 4 events of topic orders partition {busy}, all below offset 99," in beyond.err
    for wrong in (["--before", "0"], ["--before", "1", "--partition", "-1"]):
        assert "must be" in (await warm_cli("topic", "trim", "orders", *wrong, url=url)).err
    trimmed = await warm_cli(*trim, "--yes", url=url)
    assert trimmed.out == f"topic orders partition {busy} now starts at offset 2\n".encode()
    assert b"PARTITION  EARLIEST" in (await warm_cli("topic", "show", "orders", url=url)).out
    assert (await warm_cli("topic", "delete", "orders", url=url)).code == 2
    assert (await warm_cli("topic", "delete", "orders", "--yes", url=url)).code == 0
    assert (await warm_cli("topic", "show", "orders", url=url)).code == 1


async def test_retention_is_set_and_turned_off(url: str, warm_cli: WarmCli) -> None:
    limits = ["--retention-seconds", "0", "--max-retention-seconds", "3600", "--max-bytes", "1000000"]
    assert (await warm_cli("topic", "create", "work", "--queue", *limits, url=url)).code == 0
    shown = (await warm_cli("topic", "show", "work", "--json", url=url)).json_lines[0]
    names = ("semantics", "retention_seconds", "max_retention_seconds", "max_bytes")
    assert [shown[name] for name in names] == ["queue", 0, 3600, 1_000_000]
    off = ["--max-bytes", "off", "--max-retention-seconds", "none"]
    changed = await warm_cli("topic", "alter", "work", *off, url=url)
    assert changed.out == b"topic work changed: max_retention_seconds, max_bytes\n"
    people = (await warm_cli("topic", "show", "work", url=url)).out.decode()
    assert "retention seconds     0\n" in people
    assert "max retention seconds -\n" in people
    assert "max bytes             -\n" in people
    wrong = await warm_cli("topic", "alter", "work", "--max-bytes", "1GB", url=url)
    assert (wrong.code, wrong.err) == (2, "gapless: --max-bytes is a whole number or none, not 1GB\n")


async def test_topics_are_listed_by_name_over_pages(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    assert (await warm_cli("topic", "list", url=url)).out == b""
    names = [f"t{number:03}" for number in range(103)]
    for name in names:
        await client.put(f"/v1/topics/{name}", json={})
    listed = await warm_cli("topic", "list", "--json", url=url)
    assert [topic["name"] for topic in listed.json_lines[0]] == names
    assert b"t001" in (await warm_cli("topic", "list", url=url)).out


async def test_a_conflict_is_told_in_one_line_with_its_code(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", url=url)
    result = await warm_cli("topic", "create", "orders", "--partitions", "7", url=url)
    assert result.code == 1
    assert result.err.startswith("gapless: ")
    assert result.err.endswith("(topic_conflict)\n")
    assert result.err.count("\n") == 1


async def test_reading_starts_anywhere_and_stops_at_the_limit(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", "--partitions", "3", url=url)
    lines = b"".join(b'{"k":"%d"}\n' % (number % 7) for number in range(2_100))
    await warm_cli("publish", "orders", "-", "--key", "k", url=url, stdin=lines)
    everything = (await warm_cli("read", "orders", "--json", url=url)).json_lines
    assert len(everything) == 2_100
    one = [event for event in everything if event["partition"] == 1]
    assert [event["offset"] for event in one] == list(range(1, len(one) + 1))
    for start, expected in (("earliest", one), ("3", one[2:]), ("latest", []), (one[0]["published_at"], one)):
        read = await warm_cli("read", "orders", "--partition", "1", "--from", start, "--json", url=url)
        assert read.json_lines == expected
    assert len((await warm_cli("read", "orders", "--limit", "1500", "--json", url=url)).json_lines) == 1_500
    people = await warm_cli("read", "orders", "--partition", "1", "--limit", "1", url=url)
    place, time, kind, key, data = people.out.decode().split("  ")
    assert (place, time, kind, key) == ("1:1", one[0]["published_at"], "-", one[0]["key"])
    assert json.loads(data) == one[0]["data"]
    assert (await warm_cli("read", "orders", "--partition", "3", url=url)).code == 1
    unclear = await warm_cli("read", "orders", "--from", "soon", url=url)
    assert (unclear.code, "an offset" in unclear.err) == (1, True)


async def test_partitions_that_end_before_the_offset_to_start_from_are_left_out(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    await warm_cli("topic", "create", "orders", "--partitions", "4", url=url)
    for key, count in (("a", 5), ("b", 2), ("c", 4)):
        body = {"events": [{"key": key, "data": 1}] * count}
        (await client.post("/v1/topics/orders/events", json=body)).raise_for_status()
    everything = (await warm_cli("read", "orders", "--json", url=url)).json_lines
    tips = {event["partition"]: event["offset"] for event in everything}
    assert sorted(tips.values()) == [2, 4, 5]
    for start in (2, 4, 5):
        read = await warm_cli("read", "orders", "--from", str(start), "--json", url=url)
        assert read.json_lines == [event for event in everything if event["offset"] >= start], read.err
    empty = str(*{0, 1, 2, 3} - set(tips))
    for beyond in (("4", "--partition", empty), ("7",), ("9" * 5_000,)):
        refused = await warm_cli("read", "orders", "--from", *beyond, url=url)
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, b"", 1)


async def test_a_server_that_is_set_to_answer_less_is_asked_for_less(
    start_service: StartService, warm_cli: WarmCli
) -> None:
    url = (await start_service(page_max_events=30, max_wait_seconds=0.5)).base_url
    await warm_cli("topic", "create", "orders", "--partitions", "2", url=url)
    lines = b"".join(b'{"k":"%d"}\n' % number for number in range(100))
    await warm_cli("publish", "orders", "-", "--key", "k", url=url, stdin=lines)
    assert len((await warm_cli("read", "orders", "--json", url=url)).json_lines) == 100
    assert len((await warm_cli("read", "orders", "--limit", "70", "--json", url=url)).json_lines) == 70
    consume = ["consume", "orders", "billing", "--create", "--from", "earliest", "--max-events", "1"]
    consumed = await warm_cli(*consume, "--exec", "cat; kill -TERM $PPID", url=url)
    assert (consumed.code, consumed.out.count(b"\n")) == (0, 1), consumed.err


async def test_a_reader_that_has_seen_enough_is_no_failure(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", url=url)
    await warm_cli("publish", "orders", "-", url=url, stdin=b'"%s"\n' % (b"x" * 90) * 5_000)
    script = 'set -o pipefail; "$0" read orders --json | head -n 1'
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, GAPLESS, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(GAPLESS_URL=url),
    )  # fmt: skip
    out, err = await process.communicate()
    assert (process.returncode, err, out.count(b"\n")) == (0, b"", 1)


async def test_output_that_cannot_be_written_is_told_in_one_line(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", url=url)
    await warm_cli("publish", "orders", "1", url=url)
    full = "standard output: No space left on device"
    for arguments, words in (
        ("read orders", full),
        ("topic list", full),
        ("topic show orders --json", full),
        ("migrate --print", full),
        ("--version", "No space left on device"),
    ):
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", f'"$0" {arguments} >/dev/full', GAPLESS, stderr=asyncio.subprocess.PIPE,
            env=environment(GAPLESS_URL=url),
        )  # fmt: skip
        _, err = await process.communicate()
        assert (process.returncode, err.count(b"\n"), words in err.decode()) == (1, 1, True), err


async def test_a_standard_stream_that_is_closed_is_one_that_nobody_reads(
    url: str, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    group = await create_group(client, max_attempts=1)
    await group.publish(1)
    file = tmp_path / "events.ndjson"
    file.write_text("2\n3\n")

    async def run(script: str) -> tuple[int | None, bytes, bytes]:
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", script, GAPLESS, str(file), env=environment(GAPLESS_URL=url),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        return process.returncode, out, err

    listed, consumed = await asyncio.gather(
        run('"$0" topic list >&-'),
        run('"$0" consume orders billing --once --exec "echo no >&2; exit 1" >&-'),
    )
    assert listed == (0, b"", b"")
    assert consumed == (0, b"", consumed[2])
    assert consumed[2].endswith(b"\n0 events acked, 1 delivery failed, 1 event became a dead letter\n")
    published, tailed, nothing = await asyncio.gather(
        run('"$0" publish orders "$1" 2>&-'),
        run('"$0" tail orders --from earliest --max 3 <&- 2>&-'),
        run('"$0" topic show nothing >&- 2>&-'),
    )
    assert published == (0, b"", b"")
    assert [json.loads(text)["data"] for text in tailed[1].splitlines()] == [1, 2, 3]
    assert (tailed[0], tailed[2], nothing[0]) == (0, b"", 1)


async def test_data_is_shown_to_a_terminal_that_does_not_obey_it(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", url=url)
    evil = '["a\x9b2J\x7f\u202eb",\t1]'
    await warm_cli("publish", "orders", "-", url=url, stdin=evil + "\n")
    piped = (await warm_cli("read", "orders", "--json", url=url)).out.decode()
    assert evil in piped
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        GAPLESS, "read", "orders", "--json", stdout=theirs, env=environment(GAPLESS_URL=url)
    )
    assert await process.wait() == 0
    os.close(theirs)
    shown = b""
    # The kernel passes on what was written when it finds the time, and fails the read after all of it.
    with suppress(OSError):
        while block := os.read(ours, 65_536):
            shown += block
    os.close(ours)
    assert shown.decode() == piped.replace(evil, '["a\ufffd2J\ufffd\ufffdb", 1]').replace("\n", "\r\n")


async def test_an_argument_that_is_not_utf_8_is_a_usage_error(url: str, warm_cli: WarmCli) -> None:
    await warm_cli("topic", "create", "orders", url=url)
    cafe = "caf\udce9"
    for command in (
        ("topic", "create", cafe),
        ("topic", "create", "orders", "--description", cafe),
        ("publish", "orders", cafe, "--text"),
        ("publish", "orders", "1", "--key-value", cafe),
        ("read", "orders", "--from", cafe),
        ("tail", cafe),
        ("consume", "orders", cafe, "--exec", "cat"),
        ("consume", "orders", "billing", "--create", "--exec", "cat", "--member", cafe),
    ):
        refused = await warm_cli(*command, url=url)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused
        assert "is not UTF-8: b'caf\\xe9'" in refused.err


async def test_a_user_in_the_address_does_not_replace_the_token(warm_cli: WarmCli, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret-token")
    address = "http://me:hunter2@127.0.0.1:1"
    for arguments, variables, place in (
        ((), {"GAPLESS_TOKEN": "secret-token"}, "GAPLESS_TOKEN"),
        (("--token-file", file), {}, str(file)),
    ):
        refused = await warm_cli(*arguments, "topic", "list", "--url", address, **variables)
        assert (refused.code, refused.err.count("\n")) == (2, 1), refused
        assert "take the user out of the address of http://127.0.0.1:1" in refused.err
        assert f"the token of {place}" in refused.err
        assert "hunter2" not in refused.err
        assert "secret-token" not in refused.err


async def test_without_a_server_every_command_says_how_to_start_one(warm_cli: WarmCli) -> None:
    for arguments in (
        ["topic", "list"],
        ["publish", "orders", "1"],
        ["read", "orders"],
        ["tail", "orders"],
    ):
        result = await warm_cli(*arguments)
        assert result.code == 3, result
        assert result.err == (
            "gapless: no server answers at http://127.0.0.1:1 (nobody listens there); "
            "start one with `gapless serve` or give its address with --url\n"
        )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nowhere.invalid"])
async def test_who_does_many_things_at_once_is_told_the_same_of_a_server_that_is_away(host: str) -> None:
    url = f"http://{host}:1"
    with Client(url) as client, pytest.raises(Unreachable) as told:
        client.call("GET", "/v1/topics")
    async with AsyncClient(url) as many:
        with pytest.raises(Unreachable) as told_many:
            await many.call("GET", "/v1/topics")
    assert str(told_many.value) == str(told.value)


async def test_the_address_comes_from_the_command_the_options_or_the_environment(
    url: str, warm_cli: WarmCli
) -> None:
    assert (await warm_cli("topic", "list", "--url", url)).code == 0
    assert (await warm_cli("--url", url, "topic", "list")).code == 0
    assert (await warm_cli("topic", "list", url=url)).code == 0
    assert (await warm_cli("topic", "list", "--url", "ftp://x")).code == 2


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("127.0.0.1:18431", "http://127.0.0.1:18431"),
        ("localhost:18431/v1", "http://localhost:18431"),
        ("me:hunter2@gapless.example", "http://gapless.example"),
        ("[::1]:18431", "http://[::1]:18431"),
        ("ftp://x", None),
        ("http:x", None),
        ("127.0.0.1:port", None),
        ("/v1", None),
        ("two words", None),
    ],
)
async def test_an_address_that_lacks_only_its_beginning_is_told_what_it_may_be_meant_as(
    warm_cli: WarmCli, address: str, meant: str | None
) -> None:
    refused = await warm_cli("topic", "list", url=address)
    assert (refused.code, refused.err.count("\n")) == (2, 1), refused
    assert "is not an http:// or https:// address" in refused.err
    assert "hunter2" not in refused.err
    hint = "" if meant is None else f"did you mean {meant}?"
    assert refused.err.endswith(f"address: {hint}\n" if hint else "address\n")


async def test_the_address_may_end_as_paths_begin(url: str, warm_cli: WarmCli) -> None:
    for address in (f"{url}/", f"{url}/v1", f"{url}/v1/"):
        assert (await warm_cli("topic", "list", "--url", address)).code == 0


async def test_tls_and_plain_http_that_are_mixed_up_are_told(url: str, warm_cli: WarmCli) -> None:
    to_plain = await warm_cli("topic", "list", "--url", url.replace("http://", "https://"))
    assert (to_plain.code, to_plain.err.count("\n")) == (3, 1)
    assert "does not speak TLS" in to_plain.err
    assert "begins with http://" in to_plain.err
    for said in (TLS_ALERT, b""):
        async with answering(said) as port:
            to_tls = await warm_cli("topic", "list", "--url", f"http://127.0.0.1:{port}")
        assert (to_tls.code, to_tls.err.count("\n")) == (3, 1)
        assert "if it speaks TLS its address begins with https://" in to_tls.err
        assert ".;" not in to_tls.err
    async with answering(NGINX_SAYS) as port:
        to_nginx = await warm_cli("topic", "list", "--url", f"http://127.0.0.1:{port}")
    assert (to_nginx.code, "its address begins with https://" in to_nginx.err) == (1, True)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
async def test_whom_to_trust_is_told_by_the_environment(tmp_path: Path, warm_cli: WarmCli) -> None:
    authority, stranger = (make_authority(tmp_path, name) for name in ("authority", "stranger"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*make_certificate(tmp_path, authority, "localhost"))

    async with answering(NO_TOPICS, tls) as port:
        call = ("topic", "list", "--url", f"https://localhost:{port}")
        trusted = await warm_cli(*call, SSL_CERT_FILE=str(authority))
        untrusted = await warm_cli(*call, SSL_CERT_FILE=str(stranger))
        missing = await warm_cli(*call, SSL_CERT_FILE=str(tmp_path / "missing"))

    assert (trusted.code, trusted.err) == (0, "no topics yet; create one with: gapless topic create NAME\n")
    assert (untrusted.code, untrusted.err.count("\n")) == (3, 1)
    assert "is not trusted" in untrusted.err
    assert "SSL_CERT_FILE" in untrusted.err
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert "cannot read the certificates" in missing.err


@pytest.mark.parametrize("status", [b"200 OK", b"302 Found", b"404 Not Found", b"405 Method Not Allowed"])
@pytest.mark.parametrize("command", ["list", "publish", "tail", "consume"])
async def test_another_server_at_the_address_is_told(status: bytes, command: str, warm_cli: WarmCli) -> None:
    commands = {
        "list": ("topic", "list"),
        "publish": ("publish", "orders", "1"),
        "tail": ("tail", "orders"),
        "consume": ("consume", "orders", "billing", "--exec", "cat"),
    }
    async with answering(b"HTTP/1.1 " + status + b"\r\n" + PAGE) as port:
        told = await warm_cli(*commands[command], "--url", f"http://127.0.0.1:{port}")
    assert told.code == 1
    assert "Gapless; give the address of the server with --url" in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        *((command, page("text/html", b"<h1>Log in</h1>")) for command in COMMANDS),
        *((command, page("application/json", b"{}")) for command in (*COMMANDS, *MORE_COMMANDS)),
        *((("topic", "show", "t"), page("application/json", said)) for said in NOT_OURS),
        (("tail", "t"), page("text/event-stream", b"event: end\ndata: [1]\n\n")),
        (("tail", "t"), page("text/event-stream", b"event: drain\ndata: soon\n\n")),
    ],
)
async def test_a_good_answer_of_another_service_is_not_taken_for_one_of_ours(
    warm_cli: WarmCli, command: tuple[str, ...], said: bytes
) -> None:
    async with answering(said) as port:
        failed = await warm_cli(*command, url=f"http://me:hunter2@127.0.0.1:{port}/other")
    assert (failed.code, failed.out) == (1, b"")
    assert f"at http://127.0.0.1:{port}/other is not Gapless" in failed.err.splitlines()[-1]
    assert "hunter2" not in failed.err


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@127.0.0.1:1", "ftp://me:hunter2@a", "http://[::1", "http://a\nb"]
)
async def test_an_address_that_leads_nowhere_is_told_in_one_line_without_its_password(
    warm_cli: WarmCli, url: str
) -> None:
    failed = await warm_cli("topic", "list", url=url)
    assert failed.code in (2, 3)
    assert failed.err.count("\n") == 1
    assert "hunter2" not in failed.err


@pytest.mark.parametrize("said", [b"[]", b'{"errors":5,"code":[]}', b'{"code":"x","errors":[{"index":"a"}]}'])
@pytest.mark.parametrize("status", [400, 422, 404])
async def test_a_refusal_of_another_service_is_not_taken_for_one_of_ours(
    warm_cli: WarmCli, said: bytes, status: int
) -> None:
    answer = page("application/json", said).replace(b" 200 OK", b" %d Refused" % status)
    async with answering(answer) as port:
        failed = await warm_cli("publish", "t", "1", url=f"http://127.0.0.1:{port}")
    assert (failed.code, failed.out) == (1, b"")
    assert "that is not an answer of Gapless" in failed.err.splitlines()[-1]


def test_a_page_over_tls_is_no_sign_of_a_wrong_address() -> None:
    request = httpx.Request("GET", "https://gapless.example/v1/topics")
    page = httpx.Response(400, text="Bad Request, see https://proxy.example", request=request)
    assert problem_of(page).detail == "HTTP 400"


async def test_the_version_and_every_help_text_come_without_a_server(warm_cli: WarmCli) -> None:
    assert (await warm_cli("--version")).out == f"gapless {__version__}\n".encode()
    client_commands = ("topic", "publish", "read", "tail", "sub", "consume", "dlq")
    for command in ("serve", "migrate", "uninstall", *client_commands):
        result = await warm_cli(command, "--help")
        assert (result.code, result.err) == (0, "")
        assert b"Usage: gapless " + command.encode() in result.out
    assert (await warm_cli("nonsense")).code == 2


async def test_every_option_and_argument_says_what_it_takes_and_not_of_which_type_it_is(
    warm_cli: WarmCli,
) -> None:
    paths = list(_command_paths(get_command(app)))
    assert len(paths) > 30
    typed = re.compile(r"<(?:str|int|float|list)\b[^>]*>")
    for path in paths:
        shown = (await warm_cli(*path, "--help")).out.decode()
        assert typed.findall(shown) == [], path
        assert "{" not in shown.partition("\n\n")[0], path
    shown = (await warm_cli("publish", "--help")).out.decode()
    assert shown.startswith("Usage: gapless publish [OPTIONS] TOPIC [DATA|FILE|-]\n")
    assert "\n  TOPIC        The topic; it must exist.  [required]\n" in shown


async def test_a_value_that_cannot_be_is_told_with_what_it_must_be(warm_cli: WarmCli) -> None:
    for arguments, said in (
        (["topic", "create", "x", "--partitions", "many"], "'--partitions': must be a whole number"),
        (["publish", "x", "1", "--retry-seconds", "long"], "'--retry-seconds': must be a number"),
        (["read", "x", "--limit", "0"], "'--limit': must be at least 1"),
        (["sub", "leases", "x", "g", "--limit", "1001"], "'--limit': must be at most 1000"),
        (["sub", "create", "x", "g", "--ordering", "time"], "'--ordering': 'time' is not one of"),
    ):
        refused = await warm_cli(*arguments)
        assert (refused.code, f"Error: Invalid value for {said}" in refused.err) == (2, True), refused


def _command_paths(command: Any, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    for name, below in getattr(command, "commands", {}).items():
        yield from _command_paths(below, *names, name)


async def test_a_terminal_of_80_columns_shows_whole_what_each_command_is_for(warm_cli: WarmCli) -> None:
    for group in ([], ["topic"], ["sub"], ["dlq"], ["key"]):
        said = (await warm_cli(*group, "--help", COLUMNS="80")).out.decode()
        listed = said.partition("Commands:\n")[2].splitlines()
        assert len(listed) > 2
        assert [line for line in listed if line.endswith("...") or len(line.split()) < 3] == []
