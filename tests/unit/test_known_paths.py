"""A path that came before gets what the router would give it."""

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router

from app.api.known_paths import LONGEST_PATH, MOST_PATHS, KnownPaths


async def parameters(request: Request) -> Response:
    found = dict(request.path_params)
    request.path_params["left"] = "behind"
    return JSONResponse([found, request.scope["route"].path])


ROUTES = [
    Route("/topics/{topic}", parameters, methods=["GET"]),
    Route("/topics/{topic}", parameters, methods=["DELETE"]),
    Route("/{kind}/{name}", parameters, methods=["DELETE", "PUT"]),
]


async def answer(app: Any, method: str, path: str, root_path: str = "") -> tuple[int, bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": root_path + path,
        "root_path": root_path,
        "query_string": b"",
        "headers": [],
    }
    await app(scope, None, send)
    return sent[0]["status"], sent[1]["body"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "POST"])
@pytest.mark.parametrize(
    "path", ["/topics/a", "/topics/b", "/keys/a", "/topics", "/topics/" + "a" * LONGEST_PATH]
)
@pytest.mark.parametrize("root_path", ["", "/below"])
async def test_known_paths_answer_as_the_router_does_each_time(
    method: str, path: str, root_path: str
) -> None:
    router = Router(ROUTES)
    known = KnownPaths(router)
    for _ in range(3):
        assert await answer(known, method, path, root_path) == await answer(router, method, path, root_path)


async def test_what_it_remembers_has_a_bound() -> None:
    known = KnownPaths(Router(ROUTES))
    for number in range(MOST_PATHS + 10):
        await answer(known, "GET", f"/topics/{number}")
    await answer(known, "GET", "/topics/" + "a" * LONGEST_PATH)
    assert known._find.cache_info().currsize == MOST_PATHS
