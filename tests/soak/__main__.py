"""Kill and restart for a while, then count: `python -m tests.soak --seconds 600 --seed 7`."""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.soak.chaos import Chaos
from tests.soak.group import Group
from tests.soak.verdict import Verdict
from tests.soak.work import Publisher, Reader, create_topic
from tests.support.service import ProcessService

PUBLISHERS = 4
READERS = 2
MEMBERS = 2
CATCH_UP_SECONDS = 60.0


async def soak(seconds: float, seed: int) -> Verdict:
    """Publishers, readers and a group go on while the chaos works; the verdict compares what each saw."""
    with tempfile.TemporaryDirectory(prefix="gapless-soak-") as folder:
        data_dir = Path(folder, "data")
        async with ProcessService({"data_dir": data_dir}) as service:
            await create_topic(service.base_url)
            publishers = [
                Publisher(service.base_url, number, random.Random(seed + number))
                for number in range(PUBLISHERS)
            ]
            readers = [Reader(service.base_url) for _ in range(READERS)]
            group = Group(service.base_url, MEMBERS, random.Random(seed))
            await group.create()
            chaos = Chaos(service, data_dir, random.Random(seed))
            reading = [asyncio.create_task(reader.run()) for reader in readers]
            consuming = [asyncio.create_task(consumer.run()) for consumer in group.consumers]
            publishing = [asyncio.create_task(publisher.run()) for publisher in publishers]
            await chaos.run(time.monotonic() + seconds)
            for publisher in publishers:
                publisher.stop()
            await asyncio.gather(*publishing)
            verdict = Verdict(publishers, readers, group, chaos.outages)
            await verdict.caught_up(service.base_url, CATCH_UP_SECONDS)
            group.stop()
            await asyncio.gather(*consuming)
            for task in reading:
                task.cancel()
            await asyncio.wait(reading)
            await service.terminate()
            if verdict.problems():
                print(service.output)
            return verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.seconds:.0f} seconds", flush=True)
    verdict = asyncio.run(soak(arguments.seconds, arguments.seed))
    print(verdict.summary())
    problems = verdict.problems()
    for problem in problems[:20]:
        print(f"WRONG: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
