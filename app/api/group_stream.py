"""A member of a group over server-sent events: the server claims, the client acks by POST."""

from functools import partial

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.calling import caller_of
from app.api.credentials import TICKET
from app.api.deps import parts
from app.api.document import (
    GROUP,
    ON_GROUP,
    TICKET_PARAMETER,
    TOPIC,
    answer,
    event_stream,
    integer,
    operation,
    query,
)
from app.api.event_schemas import DrainFrame, StoredEvent
from app.api.group_schemas import MAX_LEASE_SECONDS, GroupEndFrame
from app.api.lease_schemas import MAX_CLAIM_EVENTS, MAX_MEMBER, LeaseAnswer, SkippedFrame, is_member_name
from app.api.params import Query, group_of, refuse
from app.api.stream_response import StreamResponse, StreamRoute
from app.api.traced import group_frames, receiving
from app.errors import ServerFull, SubscriptionInactive, TooManyStreams
from app.live.group_follow import GroupFollow
from app.model import ClaimOptions

DEFAULT_EVENTS = 100
MAX_BYTES = 4 * 1024 * 1024

router = APIRouter(route_class=StreamRoute)

_FRAMES = """\
retry: 2134

event: lease
data: {"token":"v1.3.0.17.5f0c1f1e2a3b4c5d5f0c1f1e2a3b4c5d","partition":0,"first_offset":1200,\
"last_offset":1200,"attempt":1,"expires_at":"2026-11-27T23:20:30Z"}

data: {"topic":"orders","partition":0,"offset":1200,"id":"0-1200","source":"/v1/topics/orders",\
"published_at":"2026-11-27T23:20:00.771000Z","data":{"total":12.5}}

"""


@router.get(
    "/v1/topics/{topic}/subscriptions/{group}/stream",
    **operation(
        "follow_subscription",
        "Be a member of a group over a stream",
        tag="streams",
        allows="consume",
        takes_tickets=True,
        parameters=[
            TOPIC,
            GROUP,
            {
                **query(
                    "member",
                    "What the member is called.",
                    {"type": "string", "minLength": 1, "maxLength": MAX_MEMBER},
                    "worker-1",
                ),
                "required": True,
            },
            query(
                "max_events",
                "How many events of a partition at a time, as in a claim.",
                integer(1, MAX_CLAIM_EVENTS, default=DEFAULT_EVENTS),
                DEFAULT_EVENTS,
            ),
            query(
                "lease_seconds",
                "How long a lease lasts beyond the connection, by default as the group has it.",
                integer(1, MAX_LEASE_SECONDS),
                30,
            ),
            TICKET_PARAMETER,
        ],
        success={
            200: answer(
                "The stream.",
                event_stream(
                    _FRAMES,
                    {
                        "message": StoredEvent,
                        "lease": LeaseAnswer,
                        "skipped": SkippedFrame,
                        "end": GroupEndFrame,
                        "drain": DrainFrame,
                    },
                ),
            )
        },
        refusals=(*ON_GROUP, SubscriptionInactive, ServerFull, TooManyStreams),
    ),
)
async def follow_subscription(request: Request) -> Response:
    """Each lease is told by a `lease` frame with its token; the events after it are the lease's. Ack, nack or
    reject it by POST; then the next one of its partition comes. The connection keeps its leases open and
    counts as the heartbeat of the group; what is not settled when it ends is free at once.

    `skipped` tells of events that retention took, `end` that the group is gone, `drain` to come back.
    """
    topic, group = group_of(request)
    asked = Query(request, ("member", "max_events", "lease_seconds", TICKET))
    member = asked.text("member")
    if member is None or not is_member_name(member):
        refuse("member", f"must be 1 to {MAX_MEMBER} characters, none of them a control character")
    options = ClaimOptions(
        member=member,
        max_events=asked.number("max_events", 1, MAX_CLAIM_EVENTS) or DEFAULT_EVENTS,
        max_bytes=MAX_BYTES,
        lease_seconds=asked.number("lease_seconds", 1, MAX_LEASE_SECONDS),
    )
    here = parts(request)
    caller = caller_of(request.scope)
    here.streams.check_room(caller)
    subscription = await here.groups.get_subscription(topic, group)
    if subscription.status == "CANCELLED":
        raise SubscriptionInactive(
            f'Group "{group}" was cancelled.',
            status=subscription.status,
            reason=subscription.reason,
        )
    found = await here.store.get_topic(topic)
    follow = partial(
        GroupFollow,
        here.claims,
        here.groups,
        group_frames(request, here, topic, group, options),
        found,
        subscription,
        options,
        here.rates.claims_of(caller),
        ping_seconds=here.settings.ping_seconds,
    )
    around = receiving(request, here, "subscribe", topic, group, member)
    return StreamResponse(request, partial(here.streams.supplied, follow, caller), around)
