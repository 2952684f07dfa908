"""Where requests meet traces; without tracing, what it stands around is done and nothing else."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from starlette.requests import Request

from app.api.deps import Parts
from app.api.group_frames import GroupSseFrames
from app.model import ClaimOptions, Lease, NewEvent, Published, PublishOptions
from app.telemetry.tracing import Tracing


async def store_events(
    request: Request, here: Parts, topic: str, events: Sequence[NewEvent], options: PublishOptions, size: int
) -> Published:
    tracing = here.tracing
    if tracing is None:
        return await here.commits.publish(topic, events, options, size)
    with tracing.span("send", "send", topic, request.headers) as span:
        tracing.count(span, len(events))
        return await here.commits.publish(topic, tracing.carried(span, events), options, size)


def receiving(
    request: Request, here: Parts, name: str, topic: str, group: str | None = None, member: str | None = None
) -> AbstractContextManager[Any]:
    """Its value is for `received`."""
    if here.tracing is None:
        return nullcontext()
    return here.tracing.span("receive", name, topic, request.headers, group=group, member=member)


def received(here: Parts, span: Any, items: Sequence[bytes]) -> None:
    if here.tracing is not None:
        here.tracing.delivered(span, items)


def settling(request: Request, here: Parts, name: str, topic: str, group: str) -> AbstractContextManager[Any]:
    if here.tracing is None:
        return nullcontext()
    return here.tracing.span("settle", name, topic, request.headers, group=group)


def group_frames(
    request: Request, here: Parts, topic: str, group: str, options: ClaimOptions
) -> GroupSseFrames:
    if here.tracing is None:
        return GroupSseFrames()
    return _TracedFrames(here.tracing, request, topic, group, options.member)


class _TracedFrames(GroupSseFrames):
    """A span for each lease of a group's stream, linked to its events."""

    def __init__(self, tracing: Tracing, request: Request, topic: str, group: str, member: str) -> None:
        self._tracing = tracing
        self._headers = request.headers
        self._topic = topic
        self._group = group
        self._member = member
        self._items: list[bytes] = []
        self._count = 0

    def lease(self, lease: Lease) -> bytes:
        self._items = []
        self._count = sum(run.last - run.first + 1 for run in lease.runs)
        return super().lease(lease)

    def item(self, item: bytes) -> bytes:
        self._items.append(item)
        if len(self._items) == self._count:
            with self._tracing.span(
                "receive", "claim", self._topic, self._headers, group=self._group, member=self._member
            ) as span:
                self._tracing.delivered(span, self._items)
            self._items = []
        return super().item(item)
