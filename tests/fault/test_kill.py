"""kill -9 amid publishes and streams, round after round: what was acknowledged is what is read."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.soak.chaos import Chaos
from tests.soak.verdict import Verdict
from tests.soak.work import Publisher, Reader, create_topic
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until

ROUNDS = 20
SERVE_AGAIN_SECONDS = 5.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize("deed", ["kill_service", "kill_postgres"])
async def test_every_acknowledged_event_survives_a_kill_and_no_refused_one_appears(
    deed: str, tmp_path: Path, postgres_bin: Path | None
) -> None:
    chosen = {"postgres_bin": postgres_bin} if postgres_bin else {}
    async with ProcessService({"data_dir": tmp_path / "data", **chosen}) as service:
        await create_topic(service.base_url)
        publishers = [Publisher(service.base_url, number, random.Random(number)) for number in range(3)]
        reader = Reader(service.base_url)
        chaos = Chaos(service, tmp_path / "data", random.Random(0))
        publishing = [asyncio.create_task(publisher.run()) for publisher in publishers]
        reading = asyncio.create_task(reader.run())
        for _ in range(ROUNDS):
            await _acknowledgement(publishers)
            await chaos.do(deed)
            assert chaos.outages[deed][-1] < shared(SERVE_AGAIN_SECONDS)
        for publisher in publishers:
            publisher.stop()
        await asyncio.gather(*publishing)
        verdict = Verdict(publishers, [reader], chaos)
        await verdict.caught_up(PATIENCE_SECONDS)
        reading.cancel()
        await asyncio.wait([reading])
        await service.terminate()

    assert verdict.problems() == []
    assert len(chaos.outages[deed]) == ROUNDS


async def _acknowledgement(publishers: list[Publisher]) -> None:
    """Wait for the next one."""

    def count() -> int:
        return sum(len(publisher.acknowledged) for publisher in publishers)

    before = count()
    await until(lambda: count() > before)
