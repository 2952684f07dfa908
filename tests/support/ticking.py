"""Time that passes only when a test says so, or when somebody waits for it."""


class Ticking:
    def __init__(self) -> None:
        self.time = 1000.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.time

    async def pause(self, seconds: float) -> None:
        """What stands in for `asyncio.sleep`: the time has passed at once."""
        self.pauses.append(seconds)
        self.time += seconds
