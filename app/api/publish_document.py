"""What OpenAPI says about publishing."""

from typing import Any

from app import errors
from app.api.document import (
    DATABASE,
    JSON,
    NDJSON,
    TOPIC,
    answer,
    content,
    header,
    header_answer,
    integer,
    operation,
    query,
    ref,
)
from app.api.event_schemas import ChunkReport, CloudEvent, EventBatch, EventToPublish, PublishAnswer
from app.api.media_types import Content
from app.api.params import MAX_OFFSET, MAX_PARTITION

_EVENT = {"key": "customer-7", "type": "order.placed", "data": {"total": 12.5}}
_CLOUDEVENT = {
    "specversion": "1.0",
    "id": "8e03978e",
    "source": "/shop",
    "type": "order.placed",
    "partitionkey": "customer-7",
    "data": {"total": 12.5},
}

_BODY: dict[str, Any] = {
    "required": True,
    "description": "In CloudEvents binary mode, the data of the event in any other content type.",
    "content": {
        JSON: content(
            ref(EventBatch),
            one={"events": [_EVENT]},
            transaction={
                "events": [
                    {**_EVENT, "transaction_id": "t1"},
                    {"key": "customer-7", "transaction_id": "t1", "data": None},
                ]
            },
            bytes={"events": [{"datacontenttype": "image/png", "data_base64": "iVBORw0KGgo="}]},
        ),
        Content.CLOUDEVENT.value: content(ref(CloudEvent), event=_CLOUDEVENT),
        Content.CLOUDEVENT_BATCH.value: content(
            {"type": "array", "items": ref(CloudEvent)}, batch=[_CLOUDEVENT]
        ),
        NDJSON: content(ref(EventToPublish), line=_EVENT),
    },
}

_HEADERS = [
    header(
        "Idempotency-Key",
        "A request repeated under the same key is stored once and answered alike; with other contents it is "
        "refused. Keys belong to the topic, whoever sends them, and are kept for its `idempotency_seconds`; "
        "publishers that share a topic should begin theirs with a name of their own. 1 to 255 characters, "
        "for NDJSON at most 240, without the quotes.",
        {"type": "string", "minLength": 1, "maxLength": 257},
        '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
    ),
]

_QUERY = [
    query(
        "transaction_id",
        "The transaction of all events; not for NDJSON.",
        {"type": "string", "maxLength": 255},
        "t1",
    ),
    query(
        "expected_offset",
        "Refuse the batch unless this is the newest offset of its partition (0: empty); not for NDJSON.",
        integer(0, MAX_OFFSET),
        1200,
    ),
    query(
        "partition", "Put all events into this partition, whatever their keys.", integer(0, MAX_PARTITION), 0
    ),
]

OPERATION = operation(
    "publish_events",
    "Publish events",
    tag="events",
    allows="publish",
    parameters=[TOPIC, *_QUERY, *_HEADERS],
    body=_BODY,
    success={
        201: answer(
            "The events are stored.",
            {
                JSON: content(
                    ref(PublishAnswer),
                    stored={
                        "topic": "orders",
                        "events": [{"partition": 0, "offset": 1201}],
                        "replayed": False,
                    },
                )
            },
            headers={"Idempotency-Replayed": header_answer("On a replay.", "true")},
        ),
        200: answer(
            "For NDJSON: a report for each chunk. Its lines are stored together, or refused together with "
            "`errors`. A last report with `error` says that nothing from its first line on was published, "
            "unless the `outcome` of its own lines is `unknown`.",
            {
                NDJSON: content(
                    ref(ChunkReport),
                    stored={
                        "lines": [1, 500],
                        "events": 500,
                        "replayed": False,
                        "partitions": {"0": [1, 500]},
                    },
                    refused={
                        "lines": [501, 1000],
                        "events": 0,
                        "errors": [
                            {"index": 733, "code": "missing_data", "detail": "…", "pointer": "/data"},
                        ],
                    },
                )
            },
        ),
    },
    refusals=(
        errors.InvalidTopicName,
        errors.InvalidArgument,
        errors.InvalidJson,
        errors.InvalidEvents,
        errors.EmptyBatch,
        errors.TooManyItems,
        errors.RequestTimeout,
        errors.RequestTooLarge,
        errors.EventTooLarge,
        errors.UnsupportedMediaType,
        errors.TopicNotFound,
        errors.PartitionNotFound,
        errors.OffsetMismatch,
        errors.IdempotencyConflict,
        errors.TransactionSplit,
        errors.RateLimited,
        errors.ServerFull,
        errors.Draining,
        *DATABASE,
    ),
)
