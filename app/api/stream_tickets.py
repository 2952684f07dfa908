"""Tickets for streams: what a browser puts into the URL of an EventSource, which takes no headers.

A ticket is of no use to whoever finds it in a log: it works once, within seconds, for one stream.
"""

import math

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import identity_of, seconds_left
from app.api.access_schemas import TicketAnswer, TicketRequest
from app.api.authorisation import authorise, require_topics
from app.api.deps import parts
from app.api.document import DATABASE, JSON, JSON_BODY, answer, content, operation, ref
from app.api.params import no_query, refuse
from app.api.routing import JsonResponse, RawRoute, read_model
from app.api.wire import format_time
from app.auth.tokens import hash_token, new_ticket
from app.errors import KeyNotFound, SubscriptionNotFound, TooManyItems, TopicNotFound, Unauthorized

router = APIRouter(route_class=RawRoute)


@router.post(
    "/v1/stream-tickets",
    **operation(
        "create_stream_ticket",
        "Get a ticket for a stream",
        tag="access",
        allows="any",
        body={
            "required": True,
            "content": {
                JSON: content(
                    ref(TicketRequest),
                    topics={"topics": ["orders", "payments"]},
                    group={"topic": "orders", "group": "billing"},
                )
            },
        },
        success={
            201: answer(
                "The ticket, and until when to use it.",
                {
                    JSON: content(
                        ref(TicketAnswer),
                        ticket={
                            "ticket": "gplt_Zm9yIG9uZSBzdHJlYW0gb2YgYSBwYWdlIG9ubHkgLi4u",
                            "expires_at": "2026-11-27T23:20:30Z",
                        },
                    )
                },
            )
        },
        refusals=(*JSON_BODY, TooManyItems, TopicNotFound, SubscriptionNotFound, *DATABASE),
    ),
)
async def create_stream_ticket(request: Request) -> Response:
    """Goes into the URL as `ticket`: of a stream of some or all of these topics, or of this group's stream.
    The stream ends when the token or session ends that asked for the ticket. Each stream needs a new one.
    """
    no_query(request)
    wanted = await read_model(request, TicketRequest)
    here = parts(request)
    identity = identity_of(request)
    topics = _topics(wanted, here.settings.stream_max_topics)
    if wanted.group is None:
        require_topics(identity, "subscribe", topics)
    else:
        authorise(identity, "consume", {"topic": topics[0], "group": wanted.group})
    ticket = new_ticket()
    left = seconds_left(identity)
    try:
        expires_at = await here.keys.create_ticket(
            hash_token(ticket),
            identity.key_id,
            identity.name,
            topics,
            wanted.group,
            here.settings.ticket_seconds,
            None if math.isinf(left) else left,
        )
    except KeyNotFound:
        raise Unauthorized() from None
    return JsonResponse({"ticket": ticket, "expires_at": format_time(expires_at)}, 201)


def _topics(wanted: TicketRequest, most: int) -> list[str]:
    if wanted.topics is None:
        if wanted.topic is None or wanted.group is None:
            refuse("topics", "must be given, or else topic and group")
        return [wanted.topic]
    if wanted.topic is not None or wanted.group is not None:
        refuse("topics", "cannot be combined with topic or group")
    if len(wanted.topics) > most:
        raise TooManyItems(f"A stream may follow at most {most} topics.", limit=most)
    return list(dict.fromkeys(wanted.topics))
