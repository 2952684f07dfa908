"""What the type of a problem leads to, and the protocol page that the OpenAPI document refers to."""

from functools import cache
from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api.document import JSON, answer, content, in_path, operation, ref
from app.api.params import no_query
from app.api.problem_types import NOT_FOUND, problem_types
from app.api.problems import MEDIA_TYPE
from app.api.routing import JsonResponse, RawRoute, unlisted
from app.api.schemas import Problem, ProblemTypeAnswer
from app.errors import InvalidArgument

CACHING = {"Cache-Control": "public, max-age=300"}

router = APIRouter(route_class=RawRoute)


@router.get(
    "/problems/{code}",
    **operation(
        "get_problem_type",
        "Look up what the code of a problem means",
        tag="problems",
        allows="none",
        parameters=[in_path("code", "The code.", {"type": "string"}, "lease_lost")],
        success={
            200: answer(
                "What it means, and what to do.",
                {JSON: content(ref(ProblemTypeAnswer), lease_lost=problem_types()["lease_lost"]._asdict())},
            ),
            404: answer("There is no such code.", {MEDIA_TYPE: content(ref(Problem), not_found=NOT_FOUND)}),
        },
        refusals=(InvalidArgument,),
    ),
)
async def get_problem_type(request: Request) -> Response:
    """The `type` of every problem is the path of this call."""
    no_query(request)
    found = problem_types().get(request.path_params["code"])
    if found is None:
        raise HTTPException(404)
    return JsonResponse(found._asdict(), headers=CACHING)


@router.get("/PROTOCOL.md", **unlisted("none"))
async def get_protocol(request: Request) -> Response:
    no_query(request)
    return Response(_protocol(), headers=CACHING, media_type="text/markdown; charset=utf-8")


@cache
def _protocol() -> bytes:
    package = Path(__file__).resolve().parents[1]
    packaged = package / "_openapi"
    folder = packaged if packaged.is_dir() else package.parent / "openapi"
    return (folder / "PROTOCOL.md").read_bytes()
