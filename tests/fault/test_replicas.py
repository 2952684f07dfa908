"""Two replicas behind a proxy with the configuration that is shipped: nobody notices which one answers."""

import asyncio
import contextlib
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import MIB
from tests.conftest import StartProcess, StartService
from tests.support import caddy, listener, nginx
from tests.support.ambiguous import AMBIGUOUS, POST, SMUGGLED
from tests.support.api import Api, Place, api_of, insist_on_order, offset
from tests.support.databases import as_service
from tests.support.effort import effort
from tests.support.http_group import create_group
from tests.support.ports import free_port
from tests.support.problems import problem
from tests.support.rolling import BATCH, Clients
from tests.support.rude import Rude
from tests.support.service import SERVE, ProcessService, ThreadService
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, shared, until

Proxy = Callable[[Sequence[int], Path], AbstractAsyncContextManager[str]]

ONE: Sequence[str] = ()
TWO: Sequence[str] = ("--workers", "2")
# What is added to `gapless serve`, for each of the two replicas.
WORKERS = effort([(ONE, ONE)], [(ONE, ONE), (TWO, TWO)])
RESTARTED = effort([(ONE, TWO)], [(ONE, ONE), (TWO, TWO)])
ROUNDS = 2
PUBLISHERS = 4
SETTLE_SECONDS = 120.0
PATIENT_SECONDS = 600
LAST = SMUGGLED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
"""After this a server that did not refuse what was before ends the connection."""

patient = partial(httpx.AsyncClient, timeout=PATIENCE_SECONDS)

NGINX: list[Any] = [pytest.param(partial(nginx.shipped_proxy, one), id="nginx") for one in nginx.INSTALLED]
CADDY: list[Any] = [pytest.param(partial(caddy.shipped_proxy, one), id="caddy") for one in caddy.INSTALLED]
each_proxy = pytest.mark.parametrize("proxy", NGINX + CADDY)
only_nginx = pytest.mark.parametrize("proxy", NGINX)


@asynccontextmanager
async def replicas_of(dsn: str, *options: Sequence[str]) -> AsyncIterator[list[ProcessService]]:
    """As many as there are options, each with its own."""
    async with AsyncExitStack() as stack:
        services = [ProcessService({"database_url": as_service(dsn)}, (*SERVE, *one)) for one in options]
        yield await asyncio.gather(*(stack.enter_async_context(service) for service in services))


@each_proxy
@pytest.mark.parametrize("workers", WORKERS)
async def test_streams_come_through_at_once_and_one_event_at_a_time(
    dsn: str, proxy: Proxy, workers: Sequence[Sequence[str]], tmp_path: Path
) -> None:
    async with (
        replicas_of(dsn, *workers) as replicas,
        proxy([one.port for one in replicas], tmp_path) as url,
        api_of(url) as api,
    ):
        await api.create()
        async with api.client.stream("GET", api.url()) as answer:
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert "content-encoding" not in answer.headers
            chunks = answer.aiter_raw()
            await asyncio.wait_for(anext(chunks), PATIENCE_SECONDS)
            for number in range(20):
                published = time.monotonic()
                await api.publish(number)
                chunk = await asyncio.wait_for(anext(chunks), PATIENCE_SECONDS)
                assert chunk.count(b"data: ") == 1
                assert b'"data":%d}' % number in chunk
                assert time.monotonic() - published < shared(1)


@only_nginx
@pytest.mark.parametrize("workers", WORKERS)
async def test_a_stream_goes_on_at_another_replica_where_it_was(
    dsn: str, proxy: Proxy, workers: Sequence[Sequence[str]], tmp_path: Path
) -> None:
    async with (
        replicas_of(dsn, *workers) as replicas,
        proxy([one.port for one in replicas], tmp_path) as url,
        api_of(url) as api,
    ):
        await api.create()
        await replicas[1].terminate()
        last_id, tip = None, 0
        for here, other in ((replicas[0], replicas[1]), (replicas[1], replicas[0])):
            async with api.stream(from_="earliest", last_event_id=last_id) as stream:
                await api.publish(*range(3))
                assert [offset(one) for one in await stream.take(3)] == [tip + 1, tip + 2, tip + 3]
                await other.start()
                assert await here.terminate() == 0
                assert [one.event async for one in stream.messages()] == ["drain"]
                last_id = stream.last_id
            await _answers(api)
            await api.publish("while it was away")
            async with api.stream(last_event_id=last_id) as stream:
                assert offset(await stream.next()) == tip + 4
                last_id = stream.last_id
            tip += 4


async def _answers(api: Api) -> None:
    """A proxy may think for a second that a replica is gone which has just come back."""
    await until(lambda: _succeeds(api))


async def _succeeds(api: Api) -> bool:
    return (await api.client.get("/readyz")).is_success


@pytest.mark.timeout(600)
@only_nginx
@pytest.mark.parametrize("workers", RESTARTED)
async def test_a_rolling_restart_under_load_loses_and_repeats_nothing(
    dsn: str, proxy: Proxy, workers: Sequence[Sequence[str]], tmp_path: Path
) -> None:
    async with (
        replicas_of(dsn, *workers) as replicas,
        proxy([one.port for one in replicas], tmp_path) as url,
        api_of(url) as api,
    ):
        # On a slow machine the replicas start for longer than a lease of the default lasts.
        await create_group(api.client, "orders", "billing", partitions=3, lease_seconds=PATIENT_SECONDS)
        clients = Clients(url, "orders", "billing")

        async with asyncio.TaskGroup() as tasks:
            publishing = [tasks.create_task(clients.publish(f"p{number}")) for number in range(PUBLISHERS)]
            others = [tasks.create_task(clients.follow()) for _ in range(3)]
            others += [tasks.create_task(clients.consume(f"m{number}")) for number in range(3)]
            for _ in range(ROUNDS):
                for replica in replicas:
                    await _more_is_published(clients)
                    assert await replica.terminate() == 0
                    await _more_is_published(clients)
                    await replica.start()
            await _more_is_published(clients)
            clients.stopping.set()
            await asyncio.wait(publishing)
            total = len(clients.published)
            await until(
                lambda: min(map(len, clients.followed)) >= total and clients.acked.total() >= total,
                SETTLE_SECONDS,
            )
            for task in others:
                task.cancel()
        print(dict(clients.statuses), dict(clients.outcomes), f"{clients.reconnects} reconnects")
        await _insist_on_everything(clients, api)
        for replica in replicas:
            assert "Traceback" not in replica.output


async def _more_is_published(clients: Clients) -> None:
    enough = len(clients.published) + PUBLISHERS * BATCH * 10
    await until(lambda: len(clients.published) >= enough)


async def _insist_on_everything(clients: Clients, api: Api) -> None:
    """Each event once, in the order in which it was published, for publishers, streams and the group."""
    assert {status for what, status in clients.statuses if what == "publish"} <= {201, 503}
    # The proxy itself stays, so that every call has an answer.
    assert not [outcome for outcome in clients.outcomes if outcome.endswith("Error")]
    stored = {place: value for value, place in clients.published.items()}
    assert len(stored) == len(clients.published), "two events at one place"
    log = {
        Place("orders", p, event["offset"]): event["data"] for p in range(3) for event in await _all(api, p)
    }
    assert log == stored, "the log is not what publishers were told"
    for seen in clients.followed:
        insist_on_order([place for place, _ in seen])
        assert dict(seen) == stored
        assert len(seen) == len(stored)
        assert all(
            numbers == sorted(numbers) for numbers in _by_publisher([value for _, value in seen]).values()
        )
    assert clients.acked == Counter(stored.keys())
    # Both replicas of each round sent their streams away, in good order.
    assert clients.reconnects >= ROUNDS
    assert clients.outcomes["stream drain"] == clients.reconnects


async def _all(api: Api, partition: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := (await api.read("orders", partition=partition, offset=len(found) + 1, limit=1000))[
        "events"
    ]:
        found += page
    return found


def _by_publisher(values: Sequence[str]) -> dict[str, list[tuple[int, int]]]:
    found = defaultdict(list)
    for value in values:
        name, number, place = value.split(":")
        found[name].append((int(number), int(place)))
    return found


@only_nginx
async def test_a_post_that_was_sent_is_never_sent_again(proxy: Proxy, tmp_path: Path) -> None:
    """The first upstream reads each request and hangs up; the second one answers."""
    async with Upstream(hangs_up=True) as first, Upstream() as second:
        for method, again in (("POST", False), ("PATCH", False), ("GET", True), ("PUT", True)):
            # A proxy of its own each time, as nginx remembers who failed.
            folder = tmp_path / method
            folder.mkdir()
            async with proxy([first.port, second.port], folder) as url, patient() as client:
                answers = [await client.request(method, f"{url}/v1/topics/t", json={}) for _ in range(2)]
            mine = [one.requests.count(f"{method} /v1/topics/t") for one in (first, second)]
            assert mine[0] == 1, f"{method}: the balancer did not come past the first"
            if again:
                assert [one.status_code for one in answers] == [200, 200]
                assert mine[1] == 2
            else:
                assert sorted(one.status_code for one in answers) == [200, 503]
                assert mine[1] == 1
                problem = next(one for one in answers if one.status_code == 503)
                assert problem.json()["code"] == "service_unavailable"
                assert problem.json()["outcome"] == "unknown"


@each_proxy
async def test_a_post_goes_on_to_another_replica_where_none_listens(proxy: Proxy, tmp_path: Path) -> None:
    async with Upstream() as upstream, proxy([free_port(), upstream.port], tmp_path) as url:
        async with patient() as client:
            for _ in range(10):
                assert (await client.post(f"{url}/v1/topics/t/events", json={})).status_code == 200
        assert len(upstream.requests) == 10


@each_proxy
async def test_while_no_replica_answers_event_sources_come_back_and_others_retry(
    proxy: Proxy, tmp_path: Path
) -> None:
    async with proxy([free_port(), free_port()], tmp_path) as url, patient() as client:
        async with open_stream(f"{url}/v1/stream?topic=t") as stream:
            (told,) = [one async for one in stream.messages()]
            assert told.event == "drain"
            assert json.loads(told.data)["code"] == "service_unavailable"
            assert stream.parser.retry in (1000, 2000, 3000)
        asked = [("GET", "/v1/stream?topic=t"), *20 * [("POST", "/v1/topics/t/events")]]
        refusals = await asyncio.gather(*(client.request(method, url + path) for method, path in asked))
        for refusal in refusals:
            assert refusal.status_code == 503
            assert refusal.headers["content-type"] == "application/problem+json"
            assert refusal.json()["code"] == "service_unavailable"
        waits = {int(refusal.headers["retry-after"]) for refusal in refusals}
        assert waits <= {1, 2, 3}
        assert len(waits) > 1, "not all at the same moment"


@each_proxy
async def test_what_a_client_says_of_its_address_is_not_passed_on(proxy: Proxy, tmp_path: Path) -> None:
    said = {"X-Forwarded-For": "10.1.2.3", "X-Real-IP": "10.1.2.3", "Forwarded": "for=10.1.2.3"}
    async with Upstream() as upstream, proxy([upstream.port], tmp_path) as url:
        async with patient() as client:
            for _ in range(5):
                await client.get(f"{url}/v1/topics?x=%2F..//", headers=said | {"X-Forwarded-Proto": "https"})
        assert upstream.requests[0] == "GET /v1/topics?x=%2F..//"
        (headers,) = {json.dumps(one, sort_keys=True) for one in upstream.headers}
        assert "10.1.2.3" not in headers
        passed = json.loads(headers)
        assert passed["x-forwarded-for"] == "127.0.0.1"
        assert passed["x-forwarded-proto"] == "http"
        assert url.endswith(passed["host"])
        assert upstream.connections == 1, "connections to replicas are kept"


INCLUDED: list[Any] = [
    pytest.param(partial(nginx.shipped_proxy, one, included=True), id="included") for one in nginx.INSTALLED
]


@pytest.mark.parametrize("proxy", NGINX + INCLUDED + CADDY)
async def test_the_log_of_the_proxy_has_no_query_and_no_token_of_a_lease(
    proxy: Proxy, tmp_path: Path
) -> None:
    leases = "/v1/topics/t/subscriptions/g/leases"
    secret = "5f0c" * 8

    def logged() -> str:
        logs = [path.read_text() for path in tmp_path.rglob("*.log")]
        return "\n".join(logs)

    async with Upstream() as upstream, proxy([upstream.port], tmp_path) as url:
        async with patient() as client:
            await client.get(f"{url}/v1/stream?topic=t&ticket=s3cret")
            for dot in (".", "%2e", "%2E"):
                token = dot.join(("v1", "3", "0", "17", secret))
                assert (await client.post(f"{url}{leases}/{token}/ack")).status_code == 200
        await until(lambda: "/v1/stream" in logged() and logged().count("/ack") == 3)
    away = tmp_path / "away"
    away.mkdir()
    async with proxy([free_port()], away) as url, patient() as client:
        assert (await client.get(f"{url}/v1/stream?topic=t&ticket=s3cret")).status_code >= 500
        await client.post(f"{url}{leases}/v1.3.0.17.{secret}/ack")
        await until(lambda: logged().count("/ack") >= 4)
    assert f"{leases}/v1.3.0.17." in logged(), "which lease it was is told"
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes(), path
        assert path.is_dir() or secret.encode() not in path.read_bytes(), path


@each_proxy
async def test_the_log_of_the_proxy_names_the_topic_that_lines_were_published_to(
    proxy: Proxy, tmp_path: Path
) -> None:
    async with Upstream() as upstream, proxy([upstream.port], tmp_path) as url:
        async with patient() as client:
            path = "/v1/topics/orders/events"
            headers = {"Content-Type": "application/x-ndjson"}
            answer = await client.post(f"{url}{path}", content=b"{}", headers=headers)
            assert answer.status_code == 200
        assert upstream.requests[0] == f"POST {path}"
        await until(lambda: any(path in log.read_text() for log in tmp_path.rglob("*.log")))
        assert "POST /gapless-lines" not in "".join(log.read_text() for log in tmp_path.rglob("*.log"))


@only_nginx
async def test_32_behind_nginx_no_request_is_split(
    proxy: Proxy, tmp_path: Path, start_process: StartProcess
) -> None:
    """The replica sees the requests that nginx passed on, each once and under the same path."""
    service = await start_process(access_log=True)
    async with patient(base_url=service.base_url) as client:
        created = await client.put("/v1/topics/t")
        assert created.status_code == 201
    direct = created.headers["X-Request-Id"]
    async with proxy([service.port], tmp_path) as url:
        port = int(url.rpartition(":")[2])
        for head, body in AMBIGUOUS.values():
            async with Rude(port) as rude:
                await rude.send(head.encode("latin-1") + b"\r\n" + body + LAST)
                await rude.answers_to_end()
        async with patient(base_url=url) as client:
            last = (await client.get("/v1/topics")).headers["X-Request-Id"]

        def passed_on() -> list[tuple[str, str]]:
            return sorted(one for one in _served(service) if one[0] != direct)

        # Both write down a request after they have answered it.
        with contextlib.suppress(TimeoutError):
            await until(lambda: last in str(passed_on()) and sorted(_passed(tmp_path)) == passed_on())
        assert last in str(passed_on())
        assert sorted(_passed(tmp_path)) == passed_on()


def _passed(folder: Path) -> list[tuple[str, str]]:
    """The id and the path of every request in the logs of nginx that a replica answered."""
    return [
        (line.split()[-1], line.split()[3])
        for path in folder.rglob("*.log")
        for line in path.read_text().splitlines()
        if re.search(r" 127\.0\.0\.1:\d+ \d{3} \S+$", line)
    ]


def _served(service: ProcessService) -> list[tuple[str, str]]:
    """The id and the path of every request in the access log, but for those that ask whether it is ready."""
    records = [json.loads(line) for line in service.lines if line.startswith("{")]
    return [
        (one["request_id"], one["path"])
        for one in records
        if one["event"] == "request" and one["path"] != "/readyz"
    ]


@each_proxy
async def test_metrics_are_not_for_those_outside(proxy: Proxy, tmp_path: Path) -> None:
    async with Upstream() as upstream, proxy([upstream.port], tmp_path) as url:
        async with patient() as client:
            problem(await client.get(f"{url}/metrics"), 404, "not_found")
        assert not upstream.requests


@each_proxy
async def test_large_ids_and_endless_lines_pass(service: ThreadService, proxy: Proxy, tmp_path: Path) -> None:
    async with proxy([service.port], tmp_path) as url, api_of(url) as api:
        await api.create()
        long = {"X-Long": "x" * 33_000}
        assert (await api.client.get("/v1/topics", headers=long)).is_success
        line = json.dumps({"data": "x" * 1_000_000}).encode() + b"\n"
        lines = await api.client.post(
            "/v1/topics/t/events", content=line * 20, headers={"Content-Type": "application/x-ndjson"}
        )
        assert lines.is_success, lines.text
        assert sum(json.loads(report)["events"] for report in lines.text.splitlines()) == 20


@only_nginx
async def test_large_bodies_are_refused_in_words(
    service: ThreadService, proxy: Proxy, tmp_path: Path
) -> None:
    """By the service, and beyond what the proxy takes by the proxy. Caddy may cut whoever still sends."""
    async with proxy([service.port], tmp_path) as url, api_of(url) as api:
        await api.create()
        for size in (16 * MIB + 1, 18 * MIB):
            refusal = await api.client.post(
                "/v1/topics/t/events", content=b" " * size, headers={"Content-Type": "application/json"}
            )
            assert (refusal.status_code, refusal.json()["code"]) == (413, "request_too_large")


@only_nginx
async def test_lines_that_stop_coming_are_reported_as_far_as_they_came(
    start_service: StartService, proxy: Proxy, tmp_path: Path
) -> None:
    """Caddy passes no answer on before the client has sent all."""
    service = await start_service(body_seconds=1)
    async with proxy([service.port], tmp_path) as url, api_of(url) as api:
        await api.create()
        head = POST.replace("application/json", "application/x-ndjson").encode()
        async with Rude(int(url.rpartition(":")[2])) as rude:
            await rude.send(head + b'Transfer-Encoding: chunked\r\n\r\nb\r\n{"data":1}\n\r\n')
            await rude.until_received(b'"code":"request_timeout"')
        assert rude.received.startswith(b"HTTP/1.1 200 ")
        assert b'{"lines":[1,1],"events":1,' in rude.received


@each_proxy
async def test_lines_are_stored_while_they_are_sent(
    service: ThreadService, proxy: Proxy, tmp_path: Path
) -> None:
    async with proxy([service.port], tmp_path) as url, api_of(url) as api:
        await api.create()
        first_is_stored = asyncio.Event()

        async def body() -> AsyncIterator[bytes]:
            yield b'{"data":1}\n' * 500
            await asyncio.wait_for(first_is_stored.wait(), PATIENCE_SECONDS)
            yield b'{"data":2}\n'

        sending = asyncio.create_task(
            api.client.post(
                "/v1/topics/t/events", content=body(), headers={"Content-Type": "application/x-ndjson"}
            )
        )
        await until(lambda: _has(api, 500))
        first_is_stored.set()
        reports = [json.loads(report) for report in (await sending).text.splitlines()]
        # The last line came alone; those before it may have come in pieces.
        assert (reports[-1]["lines"], reports[-1]["events"]) == ([501, 501], 1)
        assert sum(report["events"] for report in reports) == 501


async def _has(api: Api, tip: int) -> bool:
    return int((await api.read("t"))["tip"]) == tip


class Upstream:
    """Stands where a replica would; notes what it gets, and answers all of it with `{}` or by hanging up."""

    def __init__(self, hangs_up: bool = False) -> None:
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self._hangs_up = hangs_up

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> "Upstream":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        await listener.close(self._server)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {
                    name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])
                }
                await reader.readexactly(int(headers.get("content-length", 0)))
                self.requests.append(head[0].rpartition(" ")[0])
                self.headers.append(headers)
                if self._hangs_up:
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()
