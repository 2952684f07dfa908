"""Dead letters of a group: list, inspect, redrive, discard."""

from typing import Any, get_args

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of
from app.api.dead_letter_schemas import (
    DeadLetterAnswer,
    DeadLetterFilter,
    DeadLetterList,
    DiscardAnswer,
    LetterChoice,
    RedriveAnswer,
)
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
from app.api.group_wire import encode_dead_letter
from app.api.paging import DEFAULT_PAGE, MAX_PAGE
from app.api.params import MAX_OFFSET, MAX_PARTITION, Query, group_of, no_query, number, refuse
from app.api.routing import MAX_LIST_BYTES, JsonResponse, RawRoute, read_model
from app.errors import DeadLetterNotFound, SubscriptionInactive
from app.model import LetterFilter

MAX_TEXT = 1024
MAX_PAGE_BYTES = 4 * 1024 * 1024
MAX_CHOSEN = 100_000
"""Events that one call of the database redrives or discards."""
STATUSES = get_args(DeadLetterFilter.__value__)

router = APIRouter(route_class=RawRoute)

_LETTER = {
    "id": 17,
    "partition": 0,
    "offset": 1042,
    "first_offset": 1042,
    "last_offset": 1042,
    "status": "dead",
    "attempts": 5,
    "reason": "card refused",
    "errors": [
        {
            "attempt": 5,
            "at": "2026-11-27T23:20:00Z",
            "member": "worker-1",
            "outcome": "failed",
            "reason": "card refused",
        }
    ],
    "dead_at": "2026-11-27T23:20:00Z",
    "updated_at": "2026-11-27T23:20:00Z",
    "type": "order.placed",
    "key": "customer-7",
    "event": {
        "topic": "orders",
        "partition": 0,
        "offset": 1042,
        "id": "0-1042",
        "source": "/v1/topics/orders",
        "type": "order.placed",
        "published_at": "2026-11-27T23:12:00.771000Z",
        "key": "customer-7",
        "data": {"total": 12.5},
    },
}
_PATH = "/v1/topics/{topic}/subscriptions/{group}/dead-letters"
_FILTERS = [
    query("type", "Only of events of this type; may end in `*`.", {"type": "string"}, "order.*"),
    query("key", "Only of events with this key.", {"type": "string"}, "customer-7"),
    query("reason", "Only those given up for this reason.", {"type": "string"}, "card refused"),
]


@router.get(
    _PATH,
    **operation(
        "list_dead_letters",
        "List the dead letters of a group",
        tag="dead letters",
        allows="consume",
        parameters=[
            TOPIC,
            GROUP,
            query(
                "status",
                "Only of this status; `all` for any.",
                {**ref(DeadLetterFilter), "default": "dead"},
                "dead",
            ),
            query("partition", "Only of this partition.", integer(0, MAX_PARTITION), 0),
            query("after", "The `id` after which to start.", integer(0, MAX_OFFSET, default=0), 0),
            query(
                "limit",
                "How many at most.",
                integer(1, MAX_PAGE, default=DEFAULT_PAGE),
                DEFAULT_PAGE,
            ),
            *_FILTERS,
        ],
        success={
            200: answer(
                "A page of dead letters, in the order in which they died first.",
                {JSON: content(ref(DeadLetterList), last={"dead_letters": [_LETTER], "next_after": None})},
            )
        },
        refusals=ON_GROUP,
    ),
)
async def list_dead_letters(request: Request) -> Response:
    """In pages: send `next_after` back as `after` until it is null. A page may end early by its size,
    as letters hold their events; ask for few where only their number counts, which the group tells as `dead`.
    """
    topic, group = group_of(request)
    asked = Query(request, ("status", "partition", "after", "limit", "type", "key", "reason"))
    status = asked.text("status") or "dead"
    if status not in STATUSES:
        refuse("status", f"must be one of {', '.join(STATUSES)}")
    for name in ("type", "key", "reason"):
        text = asked.text(name)
        if text is not None and ("\0" in text or len(text) > MAX_TEXT):
            refuse(name, f"has at most {MAX_TEXT} characters and no U+0000")
    limit = asked.number("limit", 1, MAX_PAGE) or DEFAULT_PAGE
    found = await parts(request).dead_letters.list_dead_letters(
        topic,
        group,
        LetterFilter(type=asked.text("type"), key=asked.text("key"), reason=asked.text("reason")),
        status=None if status == "all" else status,
        partition=asked.number("partition", 0, MAX_PARTITION),
        after=asked.number("after", 0, MAX_OFFSET) or 0,
        limit=limit + 1,
        max_bytes=MAX_PAGE_BYTES,
    )
    shown = found[:limit]
    letters = b",".join([encode_dead_letter(letter) for letter in shown])
    # Encoded they take no less than the database counted.
    may_go_on = len(found) > limit or len(letters) >= MAX_PAGE_BYTES
    next_after = b"%d" % shown[-1].dead_letter_id if may_go_on else b"null"
    body = b'{"dead_letters":[%b],"next_after":%b}' % (letters, next_after)
    return JsonResponse(body)


@router.get(
    f"{_PATH}/{{id}}",
    **operation(
        "get_dead_letter",
        "Read a dead letter",
        tag="dead letters",
        allows="consume",
        parameters=[TOPIC, GROUP, in_path("id", "Its number.", integer(1, MAX_OFFSET), 17)],
        success={200: answer("Whatever its status.", {JSON: content(ref(DeadLetterAnswer), letter=_LETTER)})},
        refusals=(*ON_GROUP, DeadLetterNotFound),
    ),
)
async def get_dead_letter(request: Request) -> Response:
    """It keeps the event and why each delivery failed, also when the log has dropped the event."""
    topic, group = group_of(request)
    no_query(request)
    wanted = number("id", request.path_params["id"], 1, MAX_OFFSET)
    found = await parts(request).dead_letters.get_dead_letter(topic, group, wanted)
    return JsonResponse(encode_dead_letter(found))


def _choosing(operation_id: str, summary: str, success: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return operation(
        operation_id,
        summary,
        tag="dead letters",
        allows="consume",
        parameters=[TOPIC, GROUP],
        body={
            "content": {
                JSON: content(
                    ref(LetterChoice), these={"ids": [17, 18]}, some={"type": "order.*", "limit": 100}, all={}
                )
            }
        },
        success=success,
        refusals=(*ON_GROUP, *JSON_BODY, DeadLetterNotFound, SubscriptionInactive),
    )


@router.post(
    f"{_PATH}/redrive",
    **_choosing(
        "redrive_dead_letters",
        "Give dead letters back to their group",
        {200: answer("They are delivered again.", {JSON: content(ref(RedriveAnswer), some={"redriven": 2})})},
    ),
)
async def redrive_dead_letters(request: Request) -> Response:
    """With as many deliveries as new events have; in an ordered group before what comes after them. Whole
    transactions. Those redriven or discarded before are left alone; without a choice all are meant, up to
    `limit` in one call: call again until the answer is 0.
    """
    topic, group, choice = await _choice(request)
    here = parts(request)
    redriven = await here.dead_letters.redrive(
        topic, group, choice.ids, _filter(choice), _limit(choice), actor=actor_of(request)
    )
    await here.claims.changed(topic, group)
    return JsonResponse({"redriven": redriven})


@router.post(
    f"{_PATH}/discard",
    **_choosing(
        "discard_dead_letters",
        "Give dead letters up for good",
        {200: answer("They stay listed.", {JSON: content(ref(DiscardAnswer), some={"discarded": 2})})},
    ),
)
async def discard_dead_letters(request: Request) -> Response:
    """What they blocked goes on. Chosen as for redriving."""
    topic, group, choice = await _choice(request)
    here = parts(request)
    discarded = await here.dead_letters.discard(
        topic, group, choice.ids, _filter(choice), _limit(choice), actor=actor_of(request)
    )
    await here.claims.changed(topic, group)
    return JsonResponse({"discarded": discarded})


async def _choice(request: Request) -> tuple[str, str, LetterChoice]:
    topic, group = group_of(request)
    no_query(request)
    choice = await read_model(request, LetterChoice, LetterChoice(), MAX_LIST_BYTES)
    if choice.ids is not None and choice.model_fields_set & {"type", "key", "reason", "limit"}:
        refuse("ids", "cannot be combined with filters")
    return topic, group, choice


def _limit(choice: LetterChoice) -> int:
    """All that are named are meant."""
    return choice.limit if choice.ids is None else MAX_CHOSEN


def _filter(choice: LetterChoice) -> LetterFilter:
    return LetterFilter(type=choice.type, key=choice.key, reason=choice.reason)
