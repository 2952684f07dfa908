"""The audit log: what admin calls and the upkeep changed."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import identity_of
from app.api.audit_schemas import AuditList, audit_members
from app.api.authorisation import require_topics, require_verb
from app.api.deps import parts
from app.api.document import DATABASE, JSON, answer, content, integer, operation, query, ref
from app.api.paging import DEFAULT_PAGE, MAX_PAGE
from app.api.params import MAX_OFFSET, Query, refuse
from app.api.routing import JsonResponse, RawRoute
from app.auth.identity import Identity
from app.errors import InvalidArgument, InvalidTopicName, TopicNotFound

MAX_NAME = 200

router = APIRouter(route_class=RawRoute)

_ENTRY = {
    "id": 17,
    "at": "2026-11-27T23:20:00Z",
    "actor": "gapless",
    "action": "pause",
    "topic": "orders",
    "subscription": "billing",
    "details": {"reason": "the warehouse is closed"},
}


@router.get(
    "/v1/audit",
    **operation(
        "list_audit",
        "List what was changed, oldest first",
        tag="audit",
        allows="any",
        parameters=[
            query("topic", "Only of this topic.", {"type": "string"}, "orders"),
            query("group", "Only of this group of the topic.", {"type": "string"}, "billing"),
            query("after", "The `id` after which to start.", integer(0, MAX_OFFSET, default=0), 0),
            query(
                "limit",
                "How many entries at most.",
                integer(1, MAX_PAGE, default=DEFAULT_PAGE),
                DEFAULT_PAGE,
            ),
        ],
        success={
            200: answer(
                "A page of entries.",
                {JSON: content(ref(AuditList), last={"entries": [_ENTRY], "next_after": None})},
            )
        },
        refusals=(InvalidArgument, InvalidTopicName, TopicNotFound, *DATABASE),
    ),
)
async def list_audit(request: Request) -> Response:
    """Topics and groups that were deleted are found here too. An admin of some topics has to name one.

    In pages: send `next_after` back as `after` until it is null, and later the last `id` for what has come
    since.
    """
    asked = Query(request, ("topic", "group", "after", "limit"))
    topic, group = asked.text("topic"), asked.text("group")
    for name, text in (("topic", topic), ("group", group)):
        if text is not None and ("\0" in text or len(text) > MAX_NAME):
            refuse(name, f"has at most {MAX_NAME} characters and no U+0000")
    if group is not None and topic is None:
        refuse("group", "needs the topic that it is a group of")
    _require_admin(identity_of(request), topic)
    after = asked.number("after", 0, MAX_OFFSET) or 0
    limit = asked.number("limit", 1, MAX_PAGE) or DEFAULT_PAGE
    found = await parts(request).store.list_audit(topic, group, after, limit + 1)
    shown = found[:limit]
    return JsonResponse(
        {
            "entries": [audit_members(entry) for entry in shown],
            "next_after": shown[-1].audit_id if len(found) > limit else None,
        }
    )


def _require_admin(caller: Identity, topic: str | None) -> None:
    if topic is None:
        require_verb(caller, "admin")
    elif not caller.allows("admin"):
        require_topics(caller, "admin", [topic])
