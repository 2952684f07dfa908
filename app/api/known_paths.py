"""The way to a route: at once where the path came lately, as trying one pattern after another is dear."""

from collections.abc import Awaitable
from functools import lru_cache
from typing import Any

from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

MOST_PATHS = 4096
LONGEST_PATH = 500
"""Longer ones are not remembered: together they would take too much."""


class KnownPaths:
    """Answers as the router does, which still decides for whatever no route takes."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._find = lru_cache(MOST_PATHS)(self._search)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and len(scope["path"]) <= LONGEST_PATH and not scope["root_path"]:
            found = self._find(scope["method"], scope["path"])
            if found is not None:
                route, parameters = found
                scope["route"] = route
                scope["path_params"] = {**parameters}
                return route.handle(scope, receive, send)
        return self._router(scope, receive, send)

    def _search(self, method: str, path: str) -> tuple[BaseRoute, dict[str, Any]] | None:
        scope = {"type": "http", "method": method, "path": path}
        for route in self._router.routes:
            match, more = route.matches(scope)
            if match is Match.FULL:
                return route, more["path_params"]
        return None
