"""Claims events for a group, waiting for some if asked; acks earlier leases in the same call."""

import asyncio

from fastapi import APIRouter
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app.api.calling import caller_of
from app.api.deps import Parts, parts
from app.api.document import GROUP, JSON, JSON_BODY, ON_GROUP, TOPIC, answer, content, operation, ref
from app.api.group_wire import encode_claim
from app.api.lease_schemas import ClaimAnswer, ClaimRequest
from app.api.leaving import unless_left
from app.api.params import group_of, no_query, refuse
from app.api.routing import JsonResponse, RawRoute, read_struct
from app.api.traced import received, receiving
from app.errors import LeaseLost, RateLimited, SubscriptionInactive
from app.model import ClaimOptions

router = APIRouter(route_class=RawRoute)

TOKEN_EXAMPLE = "v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d"  # nosec B105
_CLAIM = {
    "status": "ACTIVE",
    "acked": [{"lease": "v1.3.0.16.0e1d2c3b4a5968770e1d2c3b4a596877", "status": "acked"}],
    "lease": {
        "token": TOKEN_EXAMPLE,
        "partition": 0,
        "first_offset": 1200,
        "last_offset": 1200,
        "attempt": 1,
        "expires_at": "2026-11-27T23:20:30Z",
    },
    "events": [
        {
            "topic": "orders",
            "partition": 0,
            "offset": 1200,
            "id": "0-1200",
            "source": "/v1/topics/orders",
            "type": "order.placed",
            "published_at": "2026-11-27T23:20:00.771000Z",
            "key": "customer-7",
            "data": {"total": 12.5},
        }
    ],
    "skipped": 0,
    "lost": 0,
    "retry_after": None,
}
_NOTHING = {**_CLAIM, "acked": [], "lease": None, "events": [], "retry_after": 2.5}


@router.post(
    "/v1/topics/{topic}/subscriptions/{group}/claim",
    **operation(
        "claim_events",
        "Claim events for a member of a group",
        tag="claims",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={
            "required": True,
            "content": {
                JSON: content(
                    ref(ClaimRequest),
                    first={"member": "worker-1", "wait": 20},
                    next={
                        "member": "worker-1",
                        "max_events": 500,
                        "wait": 20,
                        "ack": "v1.3.0.16.0e1d2c3b4a5968770e1d2c3b4a596877",
                        "request_id": "worker-1-8361",
                    },
                )
            },
        },
        success={
            200: answer(
                "A lease on events of one partition, or none.",
                {JSON: content(ref(ClaimAnswer), lease=_CLAIM, nothing=_NOTHING)},
            )
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionInactive, RateLimited),
    ),
)
async def claim_events(request: Request) -> Response:
    """The events are the member's alone until the lease is acked, nacked, released or expires. A lease never
    splits a transaction: it is extended to its end, beyond `max_events` if need be.

    `ack` settles earlier leases in the same call; one that is lost is told and stops nothing. Repeated with
    the same `request_id` while its lease is open, the call answers that lease. A paused group gets nothing.
    """
    topic, group = group_of(request)
    no_query(request)
    here = parts(request)
    here.rates.claim(caller_of(request.scope))
    wanted = await read_struct(request, ClaimRequest)
    if wanted.wait > here.settings.max_wait_seconds:
        refuse("wait", f"must be at most {here.settings.max_wait_seconds:g} seconds")
    tokens = [wanted.ack] if isinstance(wanted.ack, str) else wanted.ack or []
    acked = [(token, await _ack(here, topic, group, token)) for token in tokens[:-1]]
    options = ClaimOptions(
        member=wanted.member,
        max_events=wanted.max_events,
        max_bytes=wanted.max_bytes,
        lease_seconds=wanted.lease_seconds,
        ack=tokens[-1] if tokens else None,
        request_id=wanted.request_id,
    )
    with receiving(request, here, "claim", topic, group, options.member) as span:
        delivery = await here.claims.claim(topic, group, options)
        if tokens:
            acked.append((tokens[-1], str(delivery.claimed.ack_status)))
        if wanted.wait and delivery.claimed.lease is None:
            deadline = asyncio.get_running_loop().time() + wanted.wait
            delivery = await unless_left(request, here.claims.wait(topic, group, options, delivery, deadline))
        received(here, span, delivery.items)
    lease = delivery.claimed.lease
    if lease is not None and await request.is_disconnected():
        here.claims.abandon(lease.token, options)
        raise ClientDisconnect
    return JsonResponse(encode_claim(delivery, acked))


async def _ack(here: Parts, topic: str, group: str, token: str) -> str:
    """What became of one lease's ack."""
    try:
        await here.claims.directory.check(topic, group, token)
        async with here.claims.lease_turn(token):
            results = await here.groups.ack(token, None, None)
    except LeaseLost:
        return "lease_lost"
    here.claims.settled(token)
    return "acked" if any(run.status == "acked" for run in results) else "already_acked"
