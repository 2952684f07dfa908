"""kill -9 amid publishes, streams and claims, round after round: what was acknowledged is what is read, and
a group settles all of it."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from app.settings import Settings
from tests.soak.chaos import Chaos
from tests.soak.group import LEASE_SECONDS, Consumer, Group
from tests.soak.verdict import Verdict
from tests.soak.work import Publisher, Reader, create_topic
from tests.support.service import ProcessService
from tests.support.wait import PATIENCE_SECONDS, shared, until

ROUNDS = 20
FEW = 3
SERVE_AGAIN_SECONDS = 5.0
SWEEP_SECONDS = Settings.model_fields["cleaning_seconds"].default
COMES_AGAIN_SECONDS = LEASE_SECONDS + SWEEP_SECONDS + 5.0


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "deeds",
    [{"kill_service": ROUNDS}, {"kill_postgres": ROUNDS, "kill_backend": FEW}],
    ids=["service", "postgres"],
)
async def test_every_acknowledged_event_survives_a_kill_and_no_refused_one_appears(
    deeds: dict[str, int], tmp_path: Path, postgres_bin: Path | None
) -> None:
    chosen = {"postgres_bin": postgres_bin} if postgres_bin else {}
    async with ProcessService({"data_dir": tmp_path / "data", **chosen}) as service:
        await create_topic(service.base_url)
        publishers = [Publisher(service.base_url, number, random.Random(number)) for number in range(3)]
        reader = Reader(service.base_url)
        group = Group(service.base_url, 2, random.Random(0))
        await group.create()
        chaos = Chaos(service, tmp_path / "data", random.Random(0))
        publishing = [asyncio.create_task(publisher.run()) for publisher in publishers]
        reading = asyncio.create_task(reader.run())
        consuming = [asyncio.create_task(consumer.run()) for consumer in group.consumers]
        for deed in Counter(deeds).elements():
            await _acknowledgement(publishers)
            await chaos.do(deed)
            assert chaos.outages[deed][-1] < shared(SERVE_AGAIN_SECONDS)
        if "kill_postgres" in deeds:
            await _comes_again(group, Consumer(service.base_url, "gone", group, random.Random(0)), chaos)
        for publisher in publishers:
            publisher.stop()
        await asyncio.gather(*publishing)
        verdict = Verdict(publishers, [reader], group, chaos.outages)
        await verdict.caught_up(service.base_url, PATIENCE_SECONDS)
        group.stop()
        await asyncio.gather(*consuming)
        reading.cancel()
        await asyncio.wait([reading])
        await service.terminate()

    assert verdict.problems() == []
    assert any(publisher.turned_away for publisher in publishers), "no batch without a key met a kill"
    assert all(len(chaos.outages[deed]) >= rounds for deed, rounds in deeds.items())


async def _acknowledgement(publishers: list[Publisher]) -> None:
    """Wait for the next one."""

    def count() -> int:
        return sum(len(publisher.acknowledged) for publisher in publishers)

    before = count()
    await until(lambda: count() > before)


async def _comes_again(group: Group, consumer: Consumer, chaos: Chaos) -> None:
    """What a consumer holds that dies in the same second as PostgreSQL goes to the others."""
    held = await consumer.vanish()
    await chaos.do("kill_postgres")
    ready = time.monotonic()
    await until(lambda: group.has_seen(held))
    assert time.monotonic() - ready < shared(COMES_AGAIN_SECONDS)
