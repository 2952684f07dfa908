"""Consumer groups: create, list, read, change, delete."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of, identity_of
from app.api.conditional import ETAG_HEADERS, IF_ABSENT, IF_NONE_MATCH, NOT_MODIFIED, conditional
from app.api.deps import parts
from app.api.document import GROUP, JSON, JSON_BODY, ON_GROUP, TOPIC, answer, content, operation, ref
from app.api.group_schemas import (
    SubscriptionAnswer,
    SubscriptionChanges,
    SubscriptionDetails,
    SubscriptionList,
    SubscriptionSettings,
    place_json,
    position_members,
    subscription_members,
)
from app.api.paging import asked_page, next_page_token, page_parameters
from app.api.params import group_of, no_query, topic_of
from app.api.routing import JsonResponse, RawRoute, no_content, read_model
from app.api.wire import format_time
from app.errors import OffsetTrimmed, PreconditionFailed, SubscriptionConflict
from app.model import GroupPosition

TOTALS = ("lag", "waiting", "in_flight", "retrying", "dead", "discarded", "acked", "skipped")

router = APIRouter(route_class=RawRoute)

EXAMPLE = {
    "name": "billing",
    "status": "ACTIVE",
    "reason": None,
    "start": "earliest",
    "ordering": "partition",
    "on_dead_letter": "continue",
    "delivery": "at_least_once",
    "lease_seconds": 30,
    "max_attempts": 5,
    "backoff_seconds": 1,
    "max_backoff_seconds": 300,
    "max_in_flight": None,
    "heartbeat_seconds": 10,
    "heartbeat_timeout_seconds": 3600,
    "created_at": "2026-11-27T23:20:00Z",
    "updated_at": "2026-11-27T23:20:00Z",
    "status_at": "2026-11-27T23:20:00Z",
}
_POSITION = {
    "partition": 0,
    "earliest": 1,
    "tip": 1200,
    "position": 1101,
    "floor": 1001,
    "lag": 200,
    "waiting": 100,
    "in_flight": 100,
    "retrying": 0,
    "dead": 1,
    "discarded": 0,
    "acked": 999,
    "skipped": 0,
    "blocked": False,
    "oldest_claimable_at": "2026-11-27T23:19:58Z",
    "next_due_at": "2026-11-27T23:20:30Z",
}
_DETAILS = {
    **EXAMPLE,
    **{name: _POSITION[name] for name in TOTALS},
    "oldest_claimable_seconds": 2.5,
    "last_heartbeat_at": "2026-11-27T23:20:00Z",
    "partitions": [_POSITION],
}


@router.put(
    "/v1/topics/{topic}/subscriptions/{group}",
    **operation(
        "create_subscription",
        "Create a consumer group",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP, IF_ABSENT],
        body={
            "content": {
                JSON: content(
                    ref(SubscriptionSettings),
                    defaults={},
                    everything={"start": "earliest", "ordering": "key", "max_attempts": 10},
                    since={"start": {"time": "2026-11-27T23:20:00Z"}},
                    from_offset={"start": {"offset": 1001}},
                    from_offsets={"start": {"offsets": {"0": 1001, "1": 978}}},
                ),
            }
        },
        success={
            201: answer("The group was created.", {JSON: content(ref(SubscriptionAnswer), created=EXAMPLE)}),
            200: answer(
                "The group exists with this start and these settings.",
                {JSON: content(ref(SubscriptionAnswer), existing=EXAMPLE)},
            ),
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict, OffsetTrimmed, PreconditionFailed),
    ),
)
async def create_subscription(request: Request) -> Response:
    """Calling it again changes nothing. An empty body takes every default: the group gets what is
    published from now on, in order per partition.
    """
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, SubscriptionSettings, SubscriptionSettings())
    start = place_json(wanted.start) if "start" in wanted.model_fields_set else None
    settings = wanted.model_dump(include=wanted.model_fields_set - {"start"})
    here = parts(request)
    subscription, created = await here.groups.create_subscription(
        topic, group, start, settings, actor=actor_of(request)
    )
    return JsonResponse(subscription_members(subscription), 201 if created else 200)


@router.get(
    "/v1/topics/{topic}/subscriptions/{group}",
    **operation(
        "get_subscription",
        "Read a consumer group, how far it is and how it is doing",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP, IF_NONE_MATCH],
        success={
            200: answer(
                "The group.",
                {JSON: content(ref(SubscriptionDetails), group=_DETAILS)},
                headers=ETAG_HEADERS,
            ),
            **NOT_MODIFIED,
        },
        refusals=ON_GROUP,
    ),
)
async def get_subscription(request: Request) -> Response:
    """Counts are in events, over all partitions and for each. `oldest_claimable_seconds` is the age of the
    oldest event that somebody could claim now, null if there is none; it grows while there is one, and the
    ETag changes with it.
    """
    topic, group = group_of(request)
    no_query(request)
    groups = parts(request).groups
    subscription = await groups.get_subscription(topic, group)
    positions, age = await groups.positions(topic, group)
    beat_at = await groups.last_heartbeat(topic, group)
    return conditional(
        request,
        {
            **subscription_members(subscription),
            **_totals(positions),
            "oldest_claimable_seconds": None if age is None else max(0.0, age),
            "last_heartbeat_at": None if beat_at is None else format_time(beat_at),
            "partitions": [position_members(position) for position in positions],
        },
    )


@router.get(
    "/v1/topics/{topic}/subscriptions",
    **operation(
        "list_subscriptions",
        "List the consumer groups of a topic by name",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, *page_parameters("groups", "YmlsbGluZw"), IF_NONE_MATCH],
        success={
            200: answer(
                "A page of groups.",
                {
                    JSON: content(
                        ref(SubscriptionList),
                        last={"subscriptions": [EXAMPLE], "next_page_token": ""},  # nosec B105
                    )
                },
                headers=ETAG_HEADERS,
            ),
            **NOT_MODIFIED,
        },
        refusals=ON_GROUP,
    ),
)
async def list_subscriptions(request: Request) -> Response:
    """Settings and status only, in pages: send `next_page_token` back as `page_token` until it is empty. How
    far a group is costs more to find out, so it is told one by one.
    """
    topic = topic_of(request)
    after, size = asked_page(request)
    found = await parts(request).groups.list_subscriptions(
        topic, after, size + 1, identity_of(request).group_patterns(topic)
    )
    return conditional(
        request,
        {
            "subscriptions": [subscription_members(subscription) for subscription in found[:size]],
            "next_page_token": next_page_token(found, size),
        },
    )


@router.patch(
    "/v1/topics/{topic}/subscriptions/{group}",
    **operation(
        "alter_subscription",
        "Change settings of a consumer group",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={
            "required": True,
            "content": {JSON: content(ref(SubscriptionChanges), patience={"max_attempts": 20})},
        },
        success={
            200: answer("The changed group.", {JSON: content(ref(SubscriptionAnswer), changed=EXAMPLE)})
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict, PreconditionFailed),
    ),
)
async def alter_subscription(request: Request) -> Response:
    """Settings that are left out stay; start, ordering and delivery never change. Leases keep their time."""
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, SubscriptionChanges)
    here = parts(request)
    changes = wanted.model_dump(include=wanted.model_fields_set)
    subscription = await here.groups.alter_subscription(topic, group, changes, actor=actor_of(request))
    here.claims.lines.wake(subscription.subscription_id)
    return JsonResponse(subscription_members(subscription))


@router.delete(
    "/v1/topics/{topic}/subscriptions/{group}",
    **operation(
        "delete_subscription",
        "Delete a consumer group and its dead letters",
        tag="subscriptions",
        allows="admin",
        parameters=[TOPIC, GROUP],
        success={204: answer("The group is gone.")},
        refusals=(*ON_GROUP, SubscriptionConflict, PreconditionFailed),
    ),
)
async def delete_subscription(request: Request) -> Response:
    """Whoever waits for its events gets 404. The one group of a queue lives as long as its topic."""
    topic, group = group_of(request)
    no_query(request)
    here = parts(request)
    known = await here.claims.directory.find(topic, group)
    await here.groups.delete_subscription(topic, group, actor=actor_of(request))
    here.claims.lines.wake(known.subscription_id)
    return no_content()


def _totals(positions: list[GroupPosition]) -> dict[str, Any]:
    return {name: sum(getattr(position, name) for position in positions) for name in TOTALS}
