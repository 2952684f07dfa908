"""The OpenAPI document, for callers who may call something of it."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.routing import JsonResponse, RawRoute, unlisted

router = APIRouter(route_class=RawRoute)


@router.get("/openapi.json", **unlisted("any"))
async def describe(request: Request) -> Response:
    return JsonResponse(request.app.openapi())
