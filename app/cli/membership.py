"""The calls that a consumer makes to its group: each is repeated until the server has answered it."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from app.backoff import Backoff
from app.cli.client import AsyncClient, decoded, may_pass
from app.cli.failures import Failure, Problem
from app.cli.group import group_path

T = TypeVar("T")

CALL_SECONDS = 10.0


class Membership:
    def __init__(self, client: AsyncClient, topic: str, group: str, notice: Callable[[str], None]) -> None:
        self._client = client
        self._topic = topic
        self._group = group
        self._notice = notice
        self._away = False
        self._give_up_at: float | None = None

    def path(self, *rest: str) -> str:
        return group_path(self._topic, self._group, *rest)

    def give_up_in(self, seconds: float) -> None:
        """From then on an attempt that fails is the last one."""
        self._give_up_at = time.monotonic() + seconds

    async def call(
        self, path: str, body: dict[str, Any], answer: type[T], *, wait: float = 0, once: bool = False
    ) -> tuple[T, int]:
        """The answer, and how many attempts it took."""
        backoff = Backoff()
        attempts = 1
        while True:
            try:
                response = await self._client.call("POST", path, json=body, timeout=wait + CALL_SECONDS)
            except Failure as failure:
                if once or not may_pass(failure) or self._is_time_up():
                    raise
                if not self._away:
                    self._away = True
                    self._notice(f"{failure}; trying again")
                asked = failure.retry_after if isinstance(failure, Problem) else None
                await asyncio.sleep(max(backoff.next(), (asked or 0.0) * random.uniform(1.0, 1.5)))  # nosec B311
                attempts += 1
            else:
                if self._away:
                    self._away = False
                    self._notice("the server answers again")
                return decoded(self._client, response, answer), attempts

    def _is_time_up(self) -> bool:
        return self._give_up_at is not None and time.monotonic() > self._give_up_at
