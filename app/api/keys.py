"""API keys: make one, list them, revoke one."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import actor_of, know_at_once
from app.api.access_schemas import KeyList, KeyRequest, NewKeyAnswer, key_members
from app.api.deps import parts
from app.api.document import DATABASE, JSON, JSON_BODY, answer, content, in_path, operation, ref
from app.api.paging import asked_page, next_page_token, page_parameters
from app.api.params import NAME_PATTERN, NAME_RULE, is_name, no_query, refuse
from app.api.routing import JsonResponse, RawRoute, no_content, read_model
from app.auth.scopes import parse_scopes
from app.auth.tokens import hash_token, new_token
from app.errors import InvalidArgument, KeyConflict, KeyNotFound, PreconditionFailed

router = APIRouter(route_class=RawRoute)

_EXAMPLE = {
    "name": "billing-service",
    "scopes": ["publish:orders.*", "consume:orders.*/billing"],
    "created_at": "2026-11-27T23:20:00Z",
    "created_by": "key:admin",
    "expires_at": "2027-11-27T23:20:00Z",
}


@router.post(
    "/v1/keys",
    **operation(
        "create_key",
        "Make an API key",
        tag="access",
        allows="admin",
        body={
            "required": True,
            "content": {
                JSON: content(
                    ref(KeyRequest),
                    service={
                        "name": "billing-service",
                        "scopes": ["publish:orders.*", "consume:orders.*/billing"],
                        "expires_in_seconds": 31_536_000,
                    },
                    reader={"name": "reports", "scopes": ["subscribe:*"]},
                )
            },
        },
        success={
            201: answer(
                "The key, with its token.",
                {
                    JSON: content(
                        ref(NewKeyAnswer),
                        created={**_EXAMPLE, "token": "gpls_bm90IGEga2V5IG9mIGFueWJvZHkgYW55d2hlcmUuLi4"},  # nosec B105
                    )
                },
            )
        },
        refusals=(*JSON_BODY, KeyConflict, *DATABASE),
    ),
)
async def create_key(request: Request) -> Response:
    """The token is told this once, and works at once at every replica. A name is free again when its key
    was revoked.
    """
    no_query(request)
    wanted = await read_model(request, KeyRequest)
    scopes = [str(scope) for scope in parse_scopes(wanted.scopes)]
    token = new_token()
    key = await parts(request).keys.create_key(
        wanted.name, hash_token(token), scopes, wanted.expires_in_seconds, actor=actor_of(request)
    )
    await know_at_once(request)
    return JsonResponse({**key_members(key), "token": token}, 201)


@router.get(
    "/v1/keys",
    **operation(
        "list_keys",
        "List API keys by name",
        tag="access",
        allows="admin",
        parameters=page_parameters("keys", "YmlsbGluZw"),
        success={
            200: answer(
                "A page of keys.",
                {JSON: content(ref(KeyList), last={"keys": [_EXAMPLE], "next_page_token": ""})},  # nosec B105
            )
        },
        refusals=(InvalidArgument, *DATABASE),
    ),
)
async def list_keys(request: Request) -> Response:
    """Without their tokens, which nobody has but their owners. Those that have expired are listed until they
    are revoked.
    """
    after, size = asked_page(request)
    found = await parts(request).keys.list_keys(after, size + 1)
    return JsonResponse(
        {
            "keys": [key_members(key) for key in found[:size]],
            "next_page_token": next_page_token(found, size),
        }
    )


@router.delete(
    "/v1/keys/{key}",
    **operation(
        "revoke_key",
        "Revoke an API key",
        tag="access",
        allows="admin",
        parameters=[
            in_path("key", "The key's name.", {"type": "string", "pattern": NAME_PATTERN}, "billing-service")
        ],
        success={204: answer("The key is revoked, and so are its sessions and tickets.")},
        refusals=(InvalidArgument, KeyNotFound, PreconditionFailed, *DATABASE),
    ),
)
async def revoke_key(request: Request) -> Response:
    """Requests with it are refused and its streams end: at this replica at once, at the others within
    `key_refresh_seconds`, 5 by default.
    """
    no_query(request)
    await parts(request).keys.revoke_key(_name(request), actor=actor_of(request))
    await know_at_once(request)
    return no_content()


def _name(request: Request) -> str:
    name: str = request.path_params["key"]
    if not is_name(name):
        refuse("key", f"is {NAME_RULE}")
    return name
