"""Traces through a real service, as the SDK of OpenTelemetry exports them."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from http.client import parse_headers
from typing import Any

import asyncpg
import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_trace_id

from app.telemetry.tracing import Tracing, create_tracing
from tests.conftest import StartProcess, StartService
from tests.support.groups import Group, token
from tests.support.log import call
from tests.support.sse import open_stream
from tests.support.wait import PATIENCE_SECONDS, shared, until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
OTHER = "00-11111111111111111111111111111111-2222222222222222-01"
TOPIC = "/v1/topics/t"
GIVEN_UP_SECONDS = 12.0
"""Less than the SDK would wait by itself."""


class Traces:
    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Traces:
    """Of every service that starts in this test."""
    traces = Traces()
    monkeypatch.setattr("app.main.create_tracing", lambda endpoint: traces.tracing)
    return traces


@pytest.fixture
async def http(traces: Traces, start_service: StartService) -> AsyncIterator[httpx.AsyncClient]:
    service = await start_service()
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        assert (await client.put(TOPIC)).status_code == 201
        yield client


async def publish(http: httpx.AsyncClient, *events: dict[str, Any], **headers: str) -> None:
    answer = await http.post(f"{TOPIC}/events", json={"events": events}, headers=headers)
    assert answer.status_code == 201, answer.text


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return {name.removeprefix("messaging."): value for name, value in (span.attributes or {}).items()}


def linked(span: ReadableSpan) -> list[str]:
    return [format_trace_id(link.context.trace_id) for link in span.links]


async def stored(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    page = (await http.get(f"{TOPIC}/events", params={"from": "earliest"})).json()
    return [event.get("headers", {}) for event in page["events"]]


async def test_a_publish_is_a_producer_span_of_the_requests_trace_and_travels_in_its_events(
    http: httpx.AsyncClient, traces: Traces
) -> None:
    await publish(http, {"data": 1}, {"data": 2, "headers": {"tenant": "a"}}, traceparent=PARENT)
    span = traces.only("send t")
    assert span.kind is SpanKind.PRODUCER
    assert span.parent is not None
    assert format_trace_id(span.parent.trace_id) == TRACE
    assert attributes(span) == {
        "system": "gapless",
        "operation.name": "send",
        "operation.type": "send",
        "destination.name": "t",
        "batch.message_count": 2,
    }
    assert span.context is not None
    carried = f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert await stored(http) == [{"traceparent": carried}, {"tenant": "a", "traceparent": carried}]


async def test_a_trace_that_the_publisher_gave_an_event_stays(http: httpx.AsyncClient) -> None:
    await publish(http, {"data": 1, "headers": {"traceparent": OTHER}}, traceparent=PARENT)
    binary = {
        "ce-specversion": "1.0",
        "ce-id": "1",
        "ce-source": "/s",
        "ce-type": "x",
        "ce-traceparent": OTHER,
        "content-type": "application/json",
    }
    assert (await http.post(f"{TOPIC}/events", content=b"1", headers=binary)).status_code == 201
    assert [event["traceparent"] for event in await stored(http)] == [OTHER, OTHER]


async def test_lines_are_traced_by_the_chunk(http: httpx.AsyncClient, traces: Traces) -> None:
    lines = b"".join(b'{"data":%d}\n' % number for number in range(3))
    headers = {"content-type": "application/x-ndjson", "traceparent": PARENT}
    assert (await http.post(f"{TOPIC}/events", content=lines, headers=headers)).status_code == 200
    assert sum(attributes(span)["batch.message_count"] for span in traces.named("send t")) == 3
    assert all(TRACE in event["traceparent"] for event in await stored(http))


async def test_a_refused_publish_is_a_failed_span(http: httpx.AsyncClient, traces: Traces) -> None:
    await http.post("/v1/topics/nobody/events", json={"events": [{"data": 1}]})
    span = traces.only("send nobody")
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "topic_not_found"


async def test_headers_that_only_sql_takes_are_no_link_and_are_delivered(
    http: httpx.AsyncClient, traces: Traces, connection: asyncpg.Connection
) -> None:
    group = await Group(http, TOPIC).create(ordering="none")
    deep = "[" * 5000 + "]" * 5000
    headers = [f'{{"traceparent":"{OTHER}","n":5}}', f'{{"traceparent":"{OTHER}","n":{deep}}}', None]
    await call(connection, "publish", topic="t", data=["1", "2", "3"], headers=headers)
    await publish(http, {"data": 4}, traceparent=PARENT)
    # Too deep for the JSON parser of a test too.
    answer = await group.raw("POST", "/claim", json={"member": "m", "max_events": 10})
    assert answer.status_code == 200
    span = traces.only("claim t")
    assert attributes(span)["batch.message_count"] == 4
    assert linked(span) == [TRACE]


async def test_a_claim_links_to_where_its_events_were_created_and_settling_is_traced(
    http: httpx.AsyncClient, traces: Traces
) -> None:
    group = await Group(http, TOPIC).create(ordering="none", max_attempts=1)
    await publish(http, {"data": 1}, traceparent=PARENT)
    await publish(http, {"data": 2, "headers": {"traceparent": OTHER}})
    # What only looks like a context, in a payload or broken, is no link.
    await publish(http, {"data": {"headers": {"traceparent": OTHER}}, "headers": {"traceparent": "00-x"}})
    claimed = await group.claim(member="worker-1", max_events=10)
    span = traces.only("claim t")
    assert span.kind is SpanKind.CLIENT
    assert linked(span) == [TRACE, "1" * 32]
    assert attributes(span) == {
        "system": "gapless",
        "operation.name": "claim",
        "operation.type": "receive",
        "destination.name": "t",
        "consumer.group.name": "g",
        "destination.subscription.name": "g",
        "client.id": "worker-1",
        "batch.message_count": 3,
    }
    await group.ack(token(claimed), offsets=[1])
    await group.nack(token(claimed), offsets=[2])
    await group.reject(token(claimed))
    for name in ("ack", "nack", "reject"):
        settled = traces.only(f"{name} t")
        assert settled.kind is SpanKind.CLIENT
        assert attributes(settled)["operation.type"] == "settle"
        assert attributes(settled)["consumer.group.name"] == "g"
        assert token(claimed).rpartition(".")[2] not in settled.to_json(), "which would let others settle it"


async def test_streams_are_traced_and_a_groups_stream_links_its_leases(
    http: httpx.AsyncClient, traces: Traces
) -> None:
    await Group(http, TOPIC).create()
    await publish(http, {"data": 1}, {"data": 2}, traceparent=PARENT)
    base = str(http.base_url).rstrip("/")
    async with open_stream(f"{base}{TOPIC}/subscriptions/g/stream?member=m") as stream:
        assert (await stream.next()).event == "lease"
        assert json.loads((await stream.next()).data)["data"] == 1
        assert json.loads((await stream.next()).data)["data"] == 2
    async with open_stream(f"{base}{TOPIC}/stream?from=earliest") as stream:
        await stream.next()
    await until(lambda: len(traces.named("subscribe t")) == 2)
    span = traces.only("claim t")
    assert linked(span) == [TRACE]
    assert attributes(span)["client.id"] == "m"
    assert {span.kind for span in traces.named("subscribe t")} == {SpanKind.CLIENT}


async def test_without_configuration_nothing_is_traced_and_nothing_loaded(
    start_service: StartService,
) -> None:
    assert create_tracing(None) is None
    service = await start_service()
    assert service.app.parts.tracing is None
    async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
        await client.put(TOPIC)
        await publish(client, {"data": 1}, traceparent=PARENT)
        assert await stored(client) == [{}]
    loaded = "import sys, app.main; print(any(name.startswith('opentelemetry.sdk') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


async def test_without_the_packages_the_service_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert create_tracing("http://127.0.0.1:4318") is None


async def test_spans_leave_the_process_over_http_when_it_ends(start_process: StartProcess) -> None:
    """To whatever listens at the endpoint of the environment."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        collector.settimeout(PATIENCE_SECONDS)
        endpoint = f"http://127.0.0.1:{collector.getsockname()[1]}"
        service = await start_process(otlp_endpoint=endpoint)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
            assert (await client.put(TOPIC)).status_code == 201
            await publish(client, {"data": 1})
        ended = asyncio.create_task(service.terminate())
        sent = await asyncio.to_thread(_take_request, collector)
        assert sent.startswith(b"POST /v1/traces HTTP/1.1\r\n")
        assert await ended == 0


@pytest.mark.parametrize("accepts", [True, False])
async def test_a_collector_that_is_silent_or_gone_keeps_no_process_from_ending(
    accepts: bool, start_process: StartProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
    with socket.create_server(("127.0.0.1", 0)) as collector:
        service = await start_process(otlp_endpoint=f"http://127.0.0.1:{collector.getsockname()[1]}")
        async with httpx.AsyncClient(base_url=service.base_url, timeout=PATIENCE_SECONDS) as client:
            assert (await client.put(TOPIC)).status_code == 201
            await publish(client, {"data": 1})
        if not accepts:
            collector.close()
        begun = time.monotonic()
        assert await service.terminate() == 0
        assert time.monotonic() - begun < shared(GIVEN_UP_SECONDS)


def _take_request(collector: socket.socket) -> bytes:
    """Its first line; read to its end, as it would be broken off by an answer before that."""
    connection, _ = collector.accept()
    with connection:
        with connection.makefile("rb") as reader:
            first, head = reader.readline(), parse_headers(reader)
            reader.read(int(head["Content-Length"]))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    return first
