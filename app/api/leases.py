"""What becomes of a lease: ack, nack, reject, extend, release; its events once more."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.claims import TOKEN_EXAMPLE
from app.api.deps import parts
from app.api.document import (
    GROUP,
    JSON,
    JSON_BODY,
    ON_GROUP,
    TOPIC,
    answer,
    content,
    in_path,
    integer,
    operation,
    query,
    ref,
)
from app.api.lease_schemas import (
    AckAnswer,
    AckRequest,
    ExtendAnswer,
    ExtendRequest,
    LeaseEvents,
    LeaseList,
    NackAnswer,
    NackRequest,
    RejectRequest,
    ReleaseAnswer,
    ReleaseRequest,
    settled_members,
)
from app.api.paging import DEFAULT_PAGE, MAX_PAGE
from app.api.params import MAX_PARTITION, Query, group_of, no_query, refuse
from app.api.routing import MAX_LIST_BYTES, JsonResponse, RawRoute, read_struct
from app.api.traced import settling
from app.api.wire import encode_event, format_time
from app.errors import LeaseLost
from app.model import OpenLease, Settled

SETTLED = ("acked", "retrying", "dead_lettered")
"""What becomes of events in their lease by a call; the other statuses are about what they were before."""

router = APIRouter(route_class=RawRoute)

_LIST = "/v1/topics/{topic}/subscriptions/{group}/leases"
_PATH = f"{_LIST}/{{token}}"
_TOKEN = in_path("token", "The lease's token, from the claim.", {"type": "string"}, TOKEN_EXAMPLE)
_EVENT = {
    "topic": "orders",
    "partition": 0,
    "offset": 1200,
    "id": "0-1200",
    "source": "/v1/topics/orders",
    "published_at": "2026-11-27T23:20:00.771000Z",
    "data": {"total": 12.5},
}


_OPEN = {
    "partition": 0,
    "number": 17,
    "member": "worker-1",
    "first_offset": 1101,
    "last_offset": 1200,
    "events": 100,
    "attempt": 1,
    "claimed_at": "2026-11-27T23:20:00Z",
    "expires_at": "2026-11-27T23:20:30Z",
}


@router.get(
    _LIST,
    **operation(
        "list_leases",
        "List the open leases of a group",
        tag="claims",
        allows="consume",
        parameters=[
            TOPIC,
            GROUP,
            query("partition", "Only of this partition.", integer(0, MAX_PARTITION), 0),
            query("limit", "How many at most.", integer(1, MAX_PAGE, default=DEFAULT_PAGE), DEFAULT_PAGE),
        ],
        success={
            200: answer(
                "Who holds what, the oldest first.",
                {JSON: content(ref(LeaseList), held={"leases": [_OPEN]}, none={"leases": []})},
            )
        },
        refusals=ON_GROUP,
    ),
)
async def list_leases(request: Request) -> Response:
    """Without tokens, as whoever lists leases does not hold them. One that expired is listed until a claim
    or the upkeep ends it."""
    topic, group = group_of(request)
    asked = Query(request, ("partition", "limit"))
    found = await parts(request).groups.list_leases(
        topic,
        group,
        partition=asked.number("partition", 0, MAX_PARTITION),
        limit=asked.number("limit", 1, MAX_PAGE) or DEFAULT_PAGE,
    )
    return JsonResponse({"leases": [_members(lease) for lease in found]})


def _members(lease: OpenLease) -> dict[str, Any]:
    return {
        "partition": lease.partition,
        "number": lease.number,
        "member": lease.member,
        "first_offset": lease.runs[0].first,
        "last_offset": lease.runs[-1].last,
        "events": lease.events,
        "attempt": lease.attempt,
        "claimed_at": format_time(lease.claimed_at),
        "expires_at": format_time(lease.expires_at),
    }


def _on_lease(
    operation_id: str,
    summary: str,
    success: dict[str, Any],
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return operation(
        operation_id,
        summary,
        tag="claims",
        allows="consume",
        parameters=[TOPIC, GROUP, _TOKEN],
        body={"content": {JSON: body}} if body else None,
        success={200: success},
        refusals=(*ON_GROUP, LeaseLost, *(JSON_BODY if body else ())),
    )


@router.get(
    _PATH,
    **_on_lease(
        "read_lease",
        "Read the events of an open lease again",
        answer("What it still covers.", {JSON: content(ref(LeaseEvents), lease={"events": [_EVENT]})}),
    ),
)
async def read_lease(request: Request) -> Response:
    """For a member that lost them: those acked, nacked or given back are left out."""
    token = await _lease(request)
    async with parts(request).claims.lease_turn(token):
        events = await parts(request).groups.read_lease(request.path_params["topic"], token)
    body = b'{"events":[%b]}' % b",".join([encode_event(event) for event in events])
    return JsonResponse(body)


@router.post(
    f"{_PATH}/ack",
    **_on_lease(
        "ack_lease",
        "Say that events of a lease are handled",
        answer(
            "What became of each run of offsets.",
            {
                JSON: content(
                    ref(AckAnswer),
                    acked={"results": [{"first_offset": 1101, "last_offset": 1200, "status": "acked"}]},
                )
            },
        ),
        content(ref(AckRequest), whole={}, single={"offsets": [1101, 1103]}, up_to={"up_to": 1150}),
    ),
)
async def ack_lease(request: Request) -> Response:
    """All of them, or some; the lease ends when all are acked. A stale token acks nothing."""
    token = await _lease(request)
    wanted = await read_struct(request, AckRequest, AckRequest(), MAX_LIST_BYTES)
    if wanted.offsets is not None and wanted.up_to is not None:
        refuse("up_to", "cannot be combined with offsets")
    async with _settling(request, "ack", token):
        results = await parts(request).groups.ack(token, wanted.offsets, wanted.up_to)
    return _results(request, token, results, whole=wanted.offsets is None and wanted.up_to is None)


@router.post(
    f"{_PATH}/nack",
    **_on_lease(
        "nack_lease",
        "Say that events of a lease could not be handled",
        answer(
            "What becomes of each run of offsets.",
            {
                JSON: content(
                    ref(NackAnswer),
                    again={
                        "results": [
                            {
                                "first_offset": 1101,
                                "last_offset": 1101,
                                "status": "retrying",
                                "due_at": "2026-11-27T23:20:02Z",
                            }
                        ]
                    },
                )
            },
        ),
        content(
            ref(NackRequest),
            whole={},
            one={"offsets": [1101], "delay": 2, "reason": "the payment service is down"},
        ),
    ),
)
async def nack_lease(request: Request) -> Response:
    """They are delivered again after a pause, or become dead letters when this was the last delivery. A
    transaction fails as a whole, what is acked of it included.
    """
    token = await _lease(request)
    wanted = await read_struct(request, NackRequest, NackRequest(), MAX_LIST_BYTES)
    async with _settling(request, "nack", token):
        results = await parts(request).groups.nack(token, wanted.offsets, wanted.delay, wanted.reason)
    return _results(request, token, results, whole=wanted.offsets is None)


@router.post(
    f"{_PATH}/reject",
    **_on_lease(
        "reject_lease",
        "Send events of a lease to the dead letters at once",
        answer(
            "What became of each run of offsets.",
            {
                JSON: content(
                    ref(NackAnswer),
                    dead={
                        "results": [{"first_offset": 1101, "last_offset": 1101, "status": "dead_lettered"}]
                    },
                )
            },
        ),
        content(ref(RejectRequest), one={"offsets": [1101], "reason": "not an order"}),
    ),
)
async def reject_lease(request: Request) -> Response:
    """Whatever deliveries are left."""
    token = await _lease(request)
    wanted = await read_struct(request, RejectRequest, RejectRequest(), MAX_LIST_BYTES)
    async with _settling(request, "reject", token):
        results = await parts(request).groups.reject(token, wanted.offsets, wanted.reason)
    return _results(request, token, results, whole=wanted.offsets is None)


@router.post(
    f"{_PATH}/extend",
    **_on_lease(
        "extend_lease",
        "Keep a lease for longer",
        answer(
            "Its new end.",
            {JSON: content(ref(ExtendAnswer), extended={"expires_at": "2026-11-27T23:21:00Z"})},
        ),
        content(ref(ExtendRequest), default={}, minutes={"lease_seconds": 120}),
    ),
)
async def extend_lease(request: Request) -> Response:
    """Counts as a heartbeat of the group."""
    token = await _lease(request)
    wanted = await read_struct(request, ExtendRequest, ExtendRequest())
    here = parts(request)
    async with here.claims.lease_turn(token):
        expires_at = await here.groups.extend(token, wanted.lease_seconds)
    return JsonResponse({"expires_at": format_time(expires_at)})


@router.post(
    f"{_PATH}/release",
    **_on_lease(
        "release_lease",
        "Give back what is not acked of a lease",
        answer("How much that was.", {JSON: content(ref(ReleaseAnswer), released={"released": 90})}),
        content(ref(ReleaseRequest), whole={}, single={"offsets": [1101]}),
    ),
)
async def release_lease(request: Request) -> Response:
    """At once, and without counting the delivery. A lease that is over gives back nothing."""
    token = await _lease(request)
    wanted = await read_struct(request, ReleaseRequest, ReleaseRequest(), MAX_LIST_BYTES)
    here = parts(request)
    async with _settling(request, "release", token):
        released = await here.groups.release(token, wanted.offsets)
    here.claims.settled(token, None if wanted.offsets is None else released)
    return JsonResponse({"released": released})


@asynccontextmanager
async def _settling(request: Request, name: str, token: str) -> AsyncIterator[None]:
    here, named = parts(request), request.path_params
    with settling(request, here, name, named["topic"], named["group"]):
        async with here.claims.lease_turn(token):
            yield


async def _lease(request: Request) -> str:
    """The token of the path, which is one of the group of the path."""
    topic, group = group_of(request)
    no_query(request)
    token: str = request.path_params["token"]
    await parts(request).claims.directory.check(topic, group, token)
    return token


def _results(request: Request, token: str, results: list[Settled], *, whole: bool) -> Response:
    done = sum(run.last_offset - run.first_offset + 1 for run in results if run.status in SETTLED)
    parts(request).claims.settled(token, None if whole else done)
    return JsonResponse({"results": [settled_members(result) for result in results]})
