"""Steers consumer groups: pause, resume, cancel, seek, heartbeat, force-complete; tells what is done."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of, identity_of
from app.api.deps import parts
from app.api.document import (
    GROUP,
    JSON,
    JSON_BODY,
    OFFSET,
    ON_GROUP,
    TOPIC,
    answer,
    content,
    in_path,
    integer,
    operation,
    ref,
)
from app.api.group_schemas import (
    CompletionAnswer,
    ForceCompleteAnswer,
    ForceCompleteRequest,
    HeartbeatAnswer,
    NoArguments,
    ReasonRequest,
    SeekAnswer,
    SeekRequest,
    SubscriptionAnswer,
    place_json,
    subscription_members,
)
from app.api.lease_schemas import HeartbeatRequest
from app.api.params import MAX_OFFSET, MAX_PARTITION, group_of, no_query, number, topic_of
from app.api.routing import JsonResponse, RawRoute, read_model, read_struct
from app.api.subscriptions import EXAMPLE
from app.api.wire import format_time
from app.errors import (
    OffsetTrimmed,
    PartitionNotFound,
    SubscriptionConflict,
    SubscriptionInactive,
)
from app.model import Subscription

router = APIRouter(route_class=RawRoute)

_PAUSED = {**EXAMPLE, "status": "PAUSED", "reason": "the warehouse is closed"}
_CANCELLED = {**EXAMPLE, "status": "CANCELLED", "reason": "replaced by billing-2"}


def _path(verb: str) -> str:
    return f"/v1/topics/{{topic}}/subscriptions/{{group}}/{verb}"


def _changed(request: Request, subscription: Subscription) -> Response:
    parts(request).claims.lines.wake(subscription.subscription_id)
    return JsonResponse(subscription_members(subscription))


@router.post(
    _path("pause"),
    **operation(
        "pause_subscription",
        "Stop the claims of a group for a while",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={"content": {JSON: content(ref(ReasonRequest), reason={"reason": "the warehouse is closed"})}},
        success={200: answer("The paused group.", {JSON: content(ref(SubscriptionAnswer), paused=_PAUSED)})},
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict),
    ),
)
async def pause_subscription(request: Request) -> Response:
    """Claims are answered empty; leases that are open go on. What the group needs is kept for it."""
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, ReasonRequest, ReasonRequest())
    return _changed(
        request, await parts(request).groups.pause(topic, group, wanted.reason, actor=actor_of(request))
    )


@router.post(
    _path("resume"),
    **operation(
        "resume_subscription",
        "Let a paused group claim again",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={"content": {JSON: content(ref(NoArguments), nothing={})}},
        success={200: answer("The group.", {JSON: content(ref(SubscriptionAnswer), resumed=EXAMPLE)})},
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict),
    ),
)
async def resume_subscription(request: Request) -> Response:
    """It goes on where it was. An active group stays as it is."""
    topic, group = group_of(request)
    no_query(request)
    await read_model(request, NoArguments, NoArguments())
    return _changed(request, await parts(request).groups.resume(topic, group, actor=actor_of(request)))


@router.post(
    _path("cancel"),
    **operation(
        "cancel_subscription",
        "End a group for good",
        tag="subscriptions",
        allows="admin",
        parameters=[TOPIC, GROUP],
        body={"content": {JSON: content(ref(ReasonRequest), reason={"reason": "replaced by billing-2"})}},
        success={
            200: answer(
                "The cancelled group.", {JSON: content(ref(SubscriptionAnswer), cancelled=_CANCELLED)}
            )
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict),
    ),
)
async def cancel_subscription(request: Request) -> Response:
    """Its claims are refused, its leases lost, and no event is kept for it. Its dead letters stay until it
    is deleted.
    """
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, ReasonRequest, ReasonRequest())
    return _changed(
        request, await parts(request).groups.cancel(topic, group, wanted.reason, actor=actor_of(request))
    )


@router.post(
    _path("seek"),
    **operation(
        "seek_subscription",
        "Move a group to another place in its topic",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={
            "required": True,
            "content": {
                JSON: content(
                    ref(SeekRequest),
                    from_the_start={"to": "earliest"},
                    try_first={"to": {"time": "2026-11-27T23:20:00Z"}, "dry_run": True},
                    one_partition={"to": {"offset": 1001}, "partition": 0},
                )
            },
        },
        success={
            200: answer(
                "Where the group was and is now; with `dry_run` where it would be.",
                {
                    JSON: content(
                        ref(SeekAnswer),
                        moved={
                            "dry_run": False,
                            "partitions": [
                                {
                                    "partition": 0,
                                    "from_position": 1101,
                                    "to_position": 1,
                                    "fenced_leases": 1,
                                    "removed_dead_letters": 2,
                                }
                            ],
                        },
                    )
                },
            )
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict, PartitionNotFound, OffsetTrimmed),
    ),
)
async def seek_subscription(request: Request) -> Response:
    """Everything from there on is delivered, again where it was before. Open leases are lost, and the dead
    letters from there on are gone.
    """
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, SeekRequest)
    here = parts(request)
    sought = await here.groups.seek(
        topic,
        group,
        place_json(wanted.to),
        wanted.partition,
        dry_run=wanted.dry_run,
        actor=actor_of(request),
    )
    await here.claims.changed(topic, group)
    return JsonResponse({"dry_run": wanted.dry_run, "partitions": [one._asdict() for one in sought]})


@router.post(
    _path("force-complete"),
    **operation(
        "force_complete_subscription",
        "Declare the oldest events of a partition done for a group",
        tag="subscriptions",
        allows="admin",
        parameters=[TOPIC, GROUP],
        body={
            "required": True,
            "content": {JSON: content(ref(ForceCompleteRequest), stuck={"partition": 0, "up_to": 1100})},
        },
        success={
            200: answer(
                "How many were not.", {JSON: content(ref(ForceCompleteAnswer), done={"completed": 100})}
            )
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionConflict, PartitionNotFound),
    ),
)
async def force_complete_subscription(request: Request) -> Response:
    """They count as skipped. A lease that holds any of them is lost; the rest of it is delivered again."""
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_model(request, ForceCompleteRequest)
    here = parts(request)
    completed = await here.groups.force_complete(
        topic, group, wanted.partition, wanted.up_to, actor=actor_of(request)
    )
    await here.claims.changed(topic, group)
    return JsonResponse({"completed": completed})


@router.post(
    _path("heartbeat"),
    **operation(
        "heartbeat_subscription",
        "Say that a member of a group is alive",
        tag="subscriptions",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={
            "required": True,
            "content": {JSON: content(ref(HeartbeatRequest), beat={"member": "worker-1"})},
        },
        success={
            200: answer(
                "The group is alive.",
                {
                    JSON: content(
                        ref(HeartbeatAnswer),
                        alive={"status": "ACTIVE", "lost": 0, "last_heartbeat_at": "2026-11-27T23:20:00Z"},
                    )
                },
            )
        },
        refusals=(*ON_GROUP, *JSON_BODY, SubscriptionInactive),
    ),
)
async def heartbeat_subscription(request: Request) -> Response:
    """Claims and streams of the group count too. A DEAD group is ACTIVE again."""
    topic, group = group_of(request)
    no_query(request)
    wanted = await read_struct(request, HeartbeatRequest)
    beat = await parts(request).groups.heartbeat(topic, group, wanted.member)
    return JsonResponse(
        {"status": beat.status, "lost": beat.lost, "last_heartbeat_at": format_time(beat.beat_at)}
    )


def _event_parameters() -> list[dict[str, Any]]:
    return [
        TOPIC,
        in_path("partition", "Its partition.", integer(0, MAX_PARTITION), 0),
        in_path("offset", "Its offset.", OFFSET, 1200),
    ]


@router.get(
    "/v1/topics/{topic}/partitions/{partition}/events/{offset}/completion",
    **operation(
        "get_event_completion",
        "Which groups are done with an event?",
        tag="subscriptions",
        allows="consume",
        parameters=_event_parameters(),
        success={
            200: answer(
                "Groups that are ACTIVE or PAUSED and that the caller may see count.",
                {
                    JSON: content(
                        ref(CompletionAnswer),
                        half={"required_groups": 2, "completed_groups": 1, "pending": ["billing"]},
                    )
                },
            )
        },
        refusals=(*ON_GROUP, PartitionNotFound, OffsetTrimmed),
    ),
)
async def get_event_completion(request: Request) -> Response:
    """Derived from where the groups are, so it is never stale. Only groups that the caller may see count:
    whether all are done takes `consume` for all groups of the topic.
    """
    topic = topic_of(request)
    no_query(request)
    partition = number("partition", request.path_params["partition"], 0, MAX_PARTITION)
    offset = number("offset", request.path_params["offset"], 1, MAX_OFFSET)
    patterns = identity_of(request).group_patterns(topic)
    found = await parts(request).groups.event_completion(topic, partition, offset, patterns)
    return JsonResponse(found._asdict())
