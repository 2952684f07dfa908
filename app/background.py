"""Work beside the requests, and which of it is over though it should never end."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger(__name__)


class Background:
    def __init__(self) -> None:
        self._over: dict[str, str] = {}

    @property
    def over(self) -> dict[str, str]:
        """Why each work is over that should not be."""
        return self._over

    @asynccontextmanager
    async def beside(
        self, name: str, work: Coroutine[None, None, None], *, endless: bool = True
    ) -> AsyncIterator[None]:
        """Run beside the body and end with it. Nobody awaits it before the end, so a failure is logged."""
        leaving = False

        def note(task: asyncio.Task[None]) -> None:
            if leaving:
                return
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._over[name] = type(_first(error)).__name__
                log.error("background_task_failed", task=name, exc_info=error)
            elif endless or task.cancelled():
                self._over[name] = "cancelled" if task.cancelled() else "ended"
                log.error("background_task_ended", task=name)

        task = asyncio.create_task(work, name=name)
        task.add_done_callback(note)
        try:
            yield
        finally:
            leaving = True
            task.cancel()
            await asyncio.wait([task])


def _first(error: BaseException) -> BaseException:
    """Of work that is a group of tasks, what ended the group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
