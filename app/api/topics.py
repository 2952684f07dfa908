"""Topics: create, list, read, change, delete, trim."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of, identity_of
from app.api.conditional import ETAG_HEADERS, IF_ABSENT, IF_NONE_MATCH, NOT_MODIFIED, conditional
from app.api.deps import parts
from app.api.document import DATABASE, JSON, JSON_BODY, TOPIC, answer, content, operation, ref
from app.api.paging import asked_page, next_page_token, page_parameters
from app.api.params import no_query, topic_of
from app.api.routing import JsonResponse, RawRoute, no_content, read_model
from app.api.topic_schemas import (
    TopicAnswer,
    TopicChanges,
    TopicDetails,
    TopicList,
    TopicSettings,
    TrimAnswer,
    TrimRequest,
    bounds_members,
    topic_members,
)
from app.errors import (
    InvalidArgument,
    InvalidTopicName,
    PartitionNotFound,
    PreconditionFailed,
    TopicConflict,
    TopicNotFound,
)

router = APIRouter(route_class=RawRoute)

_EXAMPLE = {
    "name": "orders",
    "partitions": 4,
    "description": "Orders of the shop",
    "segment_events": 1_000_000,
    "idempotency_seconds": 86_400,
    "semantics": "pub_sub",
    "retention_seconds": 604_800,
    "max_retention_seconds": 2_592_000,
    "max_bytes": 10_000_000_000,
    "created_at": "2026-11-27T23:20:00Z",
    "updated_at": "2026-11-27T23:20:00Z",
}
_EPOCH = "1f3870be274f"
_BOUNDS = [{"partition": partition, "earliest": 1, "tip": 1200} for partition in range(4)]


@router.put(
    "/v1/topics/{topic}",
    **operation(
        "create_topic",
        "Create a topic",
        tag="topics",
        allows="admin",
        parameters=[TOPIC, IF_ABSENT],
        body={
            "content": {
                JSON: content(
                    ref(TopicSettings),
                    defaults={},
                    four_partitions={"partitions": 4, "retention_seconds": 604_800},
                    queue={"semantics": "queue", "retention_seconds": 0},
                ),
            }
        },
        success={
            201: answer("The topic was created.", {JSON: content(ref(TopicAnswer), created=_EXAMPLE)}),
            200: answer(
                "The topic exists with these partitions and semantics; its other settings stay as they are.",
                {JSON: content(ref(TopicAnswer), existing=_EXAMPLE)},
            ),
        },
        refusals=(InvalidTopicName, TopicConflict, PreconditionFailed, *JSON_BODY, *DATABASE),
    ),
)
async def create_topic(request: Request) -> Response:
    """Calling it again changes nothing. An empty body takes every default.

    A queue has one group, `default`, which is created with it, holds every event and keeps no order
    (`ordering` is `none`); that never changes.
    """
    name = topic_of(request)
    no_query(request)
    wanted = await read_model(request, TopicSettings, TopicSettings())
    topic, created = await parts(request).store.create_topic(
        name,
        partitions=wanted.partitions,
        description=wanted.description,
        segment_events=wanted.segment_events,
        idempotency_seconds=wanted.idempotency_seconds,
        semantics=wanted.semantics,
        retention_seconds=wanted.retention_seconds,
        max_retention_seconds=wanted.max_retention_seconds,
        max_bytes=wanted.max_bytes,
        actor=actor_of(request),
    )
    return JsonResponse(topic_members(topic), 201 if created else 200)


@router.get(
    "/v1/topics/{topic}",
    **operation(
        "get_topic",
        "Read a topic and how far its partitions reach",
        tag="topics",
        allows="any",
        parameters=[TOPIC, IF_NONE_MATCH],
        success={
            200: answer(
                "The topic.",
                {JSON: content(ref(TopicDetails), topic={**_EXAMPLE, "epoch": _EPOCH, "bounds": _BOUNDS})},
                headers=ETAG_HEADERS,
            ),
            **NOT_MODIFIED,
        },
        refusals=(InvalidTopicName, InvalidArgument, TopicNotFound, *DATABASE),
    ),
)
async def get_topic(request: Request) -> Response:
    """`bounds` cost one look at the end of each partition: polled, they tell the rate of a topic as the
    differences of `tip`.
    """
    name = topic_of(request)
    no_query(request)
    store = parts(request).store
    # Before what it is of: an epoch that is newer than the bounds would hide that the database was restored.
    epoch = await store.epoch()
    topic = await store.get_topic(name)
    bounds = await store.bounds(name, None)
    return conditional(request, {**topic_members(topic), "epoch": epoch, "bounds": bounds_members(bounds)})


@router.get(
    "/v1/topics",
    **operation(
        "list_topics",
        "List topics by name",
        tag="topics",
        allows="any",
        parameters=[*page_parameters("topics", "b3JkZXJz"), IF_NONE_MATCH],
        success={
            200: answer(
                "A page of topics.",
                {JSON: content(ref(TopicList), last={"topics": [_EXAMPLE], "next_page_token": ""})},  # nosec B105
                headers=ETAG_HEADERS,
            ),
            **NOT_MODIFIED,
        },
        refusals=(InvalidArgument, *DATABASE),
    ),
)
async def list_topics(request: Request) -> Response:
    """In pages: send `next_page_token` back as `page_token` until it is empty. A topic that is created or
    deleted meanwhile is in its place or not; none is listed twice.
    """
    after, size = asked_page(request)
    found = await parts(request).store.list_topics(after, size + 1, identity_of(request).topic_patterns())
    return conditional(
        request,
        {
            "topics": [topic_members(topic) for topic in found[:size]],
            "next_page_token": next_page_token(found, size),
        },
    )


@router.patch(
    "/v1/topics/{topic}",
    **operation(
        "alter_topic",
        "Change settings of a topic",
        tag="topics",
        allows="admin",
        parameters=[TOPIC],
        body={
            "required": True,
            "content": {JSON: content(ref(TopicChanges), description={"description": "Orders of the shop"})},
        },
        success={200: answer("The changed topic.", {JSON: content(ref(TopicAnswer), changed=_EXAMPLE)})},
        refusals=(InvalidTopicName, TopicNotFound, PreconditionFailed, *JSON_BODY, *DATABASE),
    ),
)
async def alter_topic(request: Request) -> Response:
    """Settings that are left out stay. The number of partitions and the semantics never change."""
    name = topic_of(request)
    no_query(request)
    wanted = await read_model(request, TopicChanges)
    changes = wanted.model_dump(include=wanted.model_fields_set)
    topic = await parts(request).store.alter_topic(name, changes, actor=actor_of(request))
    return JsonResponse(topic_members(topic))


@router.delete(
    "/v1/topics/{topic}",
    **operation(
        "delete_topic",
        "Delete a topic and all of its events",
        tag="topics",
        allows="admin",
        parameters=[TOPIC],
        success={204: answer("The topic is gone.")},
        refusals=(InvalidTopicName, InvalidArgument, TopicNotFound, PreconditionFailed, *DATABASE),
    ),
)
async def delete_topic(request: Request) -> Response:
    """Its groups and their dead letters go too; streams of it end. Space is given back a little later."""
    name = topic_of(request)
    no_query(request)
    await parts(request).store.delete_topic(name, actor=actor_of(request))
    return no_content()


@router.post(
    "/v1/topics/{topic}/trim",
    **operation(
        "trim_topic",
        "Make the oldest events of a partition unreadable",
        tag="topics",
        allows="admin",
        parameters=[TOPIC],
        body={
            "required": True,
            "content": {JSON: content(ref(TrimRequest), first_half={"partition": 0, "before": 501})},
        },
        success={
            200: answer(
                "The earliest offset from now on.",
                {JSON: content(ref(TrimAnswer), trimmed={"partition": 0, "earliest": 501})},
            )
        },
        refusals=(InvalidTopicName, TopicNotFound, PartitionNotFound, *JSON_BODY, *DATABASE),
    ),
)
async def trim_topic(request: Request) -> Response:
    """The earliest offset only ever moves forward, and never beyond the one after the newest event."""
    name = topic_of(request)
    no_query(request)
    wanted = await read_model(request, TrimRequest)
    earliest = await parts(request).store.trim(name, wanted.partition, wanted.before, actor=actor_of(request))
    return JsonResponse({"partition": wanted.partition, "earliest": earliest})
