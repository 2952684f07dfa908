"""Calls of the code under test that end when and how the test says."""

import asyncio


class Outcome:
    def __init__(self) -> None:
        self.outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def land(self) -> None:
        self.outcome.set_result(None)

    def fail(self, error: BaseException) -> None:
        self.outcome.set_exception(error)
