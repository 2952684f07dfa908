"""What the process did and how it and the database stand, for Prometheus."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from app.api.deps import parts
from app.api.document import answer, content, operation
from app.api.params import no_query
from app.api.routing import RawRoute
from app.errors import InvalidArgument

TEXT = "text/plain"
OPENMETRICS = "application/openmetrics-text"

router = APIRouter(route_class=RawRoute)

_LINES = """\
# HELP gapless_group_lag_messages Events that wait, are leased or will be delivered again.
# TYPE gapless_group_lag_messages gauge
gapless_group_lag_messages{topic="orders",group="billing"} 42.0
"""


@router.get(
    "/metrics",
    **operation(
        "get_metrics",
        "Read the metrics for Prometheus",
        tag="health",
        allows="metrics",
        success={
            200: answer(
                "In the text format of Prometheus, or as OpenMetrics to who accepts that.",
                {
                    TEXT: content({"type": "string"}, lines=_LINES),
                    OPENMETRICS: content({"type": "string"}, lines=f"{_LINES}# EOF\n"),
                },
            )
        },
        refusals=(InvalidArgument,),
    ),
)
async def get_metrics(request: Request) -> Response:
    """Numbers of this process, and gauges of the whole database that are a few seconds old at most. Without
    the database it answers the former. docs/OPERATIONS.md lists all names.
    """
    no_query(request)
    body, media_type = await parts(request).exposition.text(request.headers.get("accept", ""))
    return Response(body, headers={"Content-Type": media_type, "Cache-Control": "no-store"})
