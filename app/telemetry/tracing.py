"""Spans of OpenTelemetry for what goes through the service, where the extra `otel` is there and configured.

A publish is the creation of its events, so its context travels in them as the CloudEvents extensions
`traceparent` and `tracestate`, unless the publisher gave an event one of its own. Who gets events links to
it. The SDK's own environment variables (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS …) hold.
"""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import structlog

from app import __version__
from app.errors import GaplessError
from app.model import NewEvent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

MAX_LINKS = 128
CLOSE_SECONDS = 3.0
SYSTEM = "gapless"

Kind = Literal["send", "receive", "settle"]

log = structlog.get_logger(__name__)


class _Carried(msgspec.Struct):
    """The part of an encoded event that names its trace."""

    headers: dict[str, str] = {}


def create_tracing(endpoint: str | None) -> "Tracing | None":
    """None where nobody wants traces, or the packages are not there."""
    if endpoint is None or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("no_traces", advice="pip install 'gapless[otel]'")
        return None
    named = {"service.name": os.environ.get("OTEL_SERVICE_NAME", SYSTEM), "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(named))
    traces = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or f"{endpoint.rstrip('/')}/v1/traces"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=traces)))
    return Tracing(provider)


class Tracing:
    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._api = trace
        self._provider = provider
        self._tracer = provider.get_tracer(SYSTEM, __version__)
        self._propagator = TraceContextTextMapPropagator()
        self._kinds = {
            "send": trace.SpanKind.PRODUCER,
            "receive": trace.SpanKind.CLIENT,
            "settle": trace.SpanKind.CLIENT,
        }

    @contextmanager
    def span(
        self,
        kind: Kind,
        name: str,
        topic: str,
        headers: Mapping[str, str],
        *,
        group: str | None = None,
        member: str | None = None,
    ) -> Iterator["Span"]:
        """A span named `name topic`, in the trace that the request's `headers` name."""
        attributes: dict[str, Any] = {
            "messaging.system": SYSTEM,
            "messaging.operation.name": name,
            "messaging.operation.type": kind,
            "messaging.destination.name": topic,
        }
        if group is not None:
            attributes["messaging.consumer.group.name"] = group
            attributes["messaging.destination.subscription.name"] = group
        if member is not None:
            attributes["messaging.client.id"] = member
        span = self._tracer.start_span(
            f"{name} {topic}", self._propagator.extract(headers), self._kinds[kind], attributes
        )
        try:
            yield span
        except BaseException as error:
            span.set_attribute(
                "error.type", error.code if isinstance(error, GaplessError) else type(error).__name__
            )
            span.set_status(self._api.Status(self._api.StatusCode.ERROR))
            raise
        finally:
            span.end()

    def carried(self, span: "Span", events: Sequence[NewEvent]) -> list[NewEvent]:
        """The events, each with the context that its consumers link to."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, self._api.set_span_in_context(span))
        alone = msgspec.json.encode(carrier).decode()
        return [_with(event, carrier, alone) for event in events]

    def count(self, span: "Span", events: int) -> None:
        span.set_attribute("messaging.batch.message_count", events)

    def delivered(self, span: "Span", items: Sequence[bytes]) -> None:
        """Link to where these encoded events were created, as far as they say; a few of a large batch."""
        if not span.is_recording():
            return
        linked: set[str] = set()
        for item in items:
            if len(linked) >= MAX_LINKS or b'"traceparent"' not in item:
                continue
            try:
                headers = msgspec.json.decode(item, type=_Carried).headers
            except (msgspec.DecodeError, RecursionError):
                # SQL takes headers that are no strings, and data as deep as PostgreSQL can read.
                continue
            parent = headers.get("traceparent", "")
            if parent in linked:
                continue
            linked.add(parent)
            context = self._api.get_current_span(self._propagator.extract(headers)).get_span_context()
            if context.is_valid:
                span.add_link(context)
        self.count(span, len(items))

    def close(self) -> None:
        """Send what is left, if the collector takes it soon: the exporter would try for half a minute."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS)


def _with(event: NewEvent, carrier: Mapping[str, str], alone: str) -> NewEvent:
    if event.headers is None:
        return msgspec.structs.replace(event, headers=alone)
    if '"traceparent"' in event.headers:
        return event
    headers = {**msgspec.json.decode(event.headers), **carrier}
    return msgspec.structs.replace(event, headers=msgspec.json.encode(headers).decode())
