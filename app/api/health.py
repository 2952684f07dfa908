"""Is the process alive, and can it serve? Readiness names what is missing."""

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.access import access_of
from app.api.deps import parts
from app.api.document import JSON, answer, content, operation, ref
from app.api.params import no_query
from app.api.problems import problem_response
from app.api.routing import JsonResponse, RawRoute
from app.api.schemas import Health
from app.errors import (
    DatabaseUnavailable,
    Draining,
    GaplessError,
    InvalidArgument,
    NotReady,
    SchemaOutdated,
)

router = APIRouter(route_class=RawRoute)

READY_SECONDS = 4.0
"""A check that takes longer has failed."""
ANSWER_SECONDS = 4.5
"""Whoever is not known by then gets no details."""

T = TypeVar("T")

_READY = {
    "status": "ok",
    "checks": {
        "accepting": "ok",
        "background": "ok",
        "event_loop": "ok",
        "database": "ok",
        "settings": "ok",
        "rights": "ok",
        "migrations": "ok",
        "listener": "ok",
        "disk": "ok",
    },
    "warnings": {},
}


@router.get(
    "/livez",
    **operation(
        "get_liveness",
        "Is the process alive?",
        tag="health",
        allows="none",
        success={200: answer("It is.", {JSON: content(ref(Health), alive={"status": "ok"})})},
        refusals=(InvalidArgument,),
    ),
)
async def get_liveness(request: Request) -> Response:
    """Never asks the database: a restart of this process would not bring that back."""
    no_query(request)
    return JsonResponse({"status": "ok"})


@router.get(
    "/readyz",
    **operation(
        "get_readiness",
        "Can the process serve requests?",
        tag="health",
        allows="none",
        success={200: answer("It can.", {JSON: content(ref(Health), ready=_READY)})},
        refusals=(InvalidArgument, DatabaseUnavailable, NotReady, SchemaOutdated, Draining),
    ),
)
async def get_readiness(request: Request) -> Response:
    """A 503 says by its `code` and `detail` what is wrong, and by `checks` what is well: with authentication
    on only to callers with the scope `metrics` or `admin`. `disk` is of the embedded PostgreSQL, and there is
    no `listener` behind a transaction pooler. What the database says is a second old at most.
    """
    no_query(request)
    checks: dict[str, str] = {}
    warnings: dict[str, str] = {}
    name = ""
    failure: GaplessError | None = None
    begun = time.monotonic()
    try:
        for name, check in parts(request).checks.items():
            warning = await _within(check(), begun + READY_SECONDS - time.monotonic())
            checks[name] = "ok"
            if warning:
                warnings[name] = warning
    except GaplessError as error:
        failure = error
    except TimeoutError:
        failure = DatabaseUnavailable("The database does not answer.")
    try:
        detailed = await _within(_may_see_details(request), begun + ANSWER_SECONDS - time.monotonic())
    except TimeoutError:
        detailed = False
    if failure is not None:
        if not detailed:
            return problem_response(_without_details(failure))
        failure.extra["checks"] = {**checks, name: failure.code}
        return problem_response(failure)
    return JsonResponse(
        {"status": "ok", "checks": checks, "warnings": warnings} if detailed else {"status": "ok"}
    )


async def _within(work: Awaitable[T], seconds: float) -> T:
    """Raises TimeoutError. Does not wait for the end of what it gives up: a connection to a server that went
    silent is given back only after some seconds more.
    """
    asking = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait([asking], timeout=max(0.0, seconds))
    finally:
        asking.cancel()
    if not done:
        raise TimeoutError
    return asking.result()


def _without_details(error: GaplessError) -> GaplessError:
    """Its code is enough for whoever sends traffic elsewhere."""
    return type(error)("The service is not ready.")


async def _may_see_details(request: Request) -> bool:
    caller = await access_of(request).known(request)
    return caller is not None and caller.allows("metrics")
