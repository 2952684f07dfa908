"""A replica that stands still for a while: others take over what it held, and it does no harm afterwards."""

import asyncio
from datetime import timedelta

from tests.conftest import Connect, StartProcess
from tests.support.api import api_of, offset
from tests.support.clock import Clock
from tests.support.groups import Group, counts, offsets, token
from tests.support.problems import problem
from tests.support.processes import stopped
from tests.support.wait import until, until_blocked

TOPIC = "/v1/topics/t"
LEASE_SECONDS = 30
PATIENT_SECONDS = 60


async def test_what_a_stopped_replica_held_goes_to_others_and_it_comes_back_without_harm(
    start_process: StartProcess, connect: Connect, clock: Clock
) -> None:
    """It is stopped in the middle of its upkeep, of which only one replica does any at a time."""
    still = await start_process(cleaning_seconds=0.1, lock_seconds=PATIENT_SECONDS)
    locker, observer = await connect("locker"), await connect("observer")
    async with api_of(still.base_url) as there:
        await there.create()
        await there.publish("a", "b")
        groups = [
            await Group(there.client, TOPIC, name).create(lease_seconds=LEASE_SECONDS, backoff_seconds=0)
            for name in ("claimed", "swept")
        ]
        claimed, swept = groups
        leases = [token(await group.claim()) for group in groups]
        locked = locker.transaction()
        await locked.start()
        await locker.execute("lock table gapless.swept in access exclusive mode")
        await until_blocked(observer, "gapless")
        awake = await start_process(cleaning_seconds=0.1)
        async with api_of(awake.base_url) as here, there.stream() as stream:
            await stream.position()
            async with stopped(still.pid):
                await locked.rollback()
                await clock.move(timedelta(seconds=3 * LEASE_SECONDS))
                # The upkeep of the other replica may be at these leases too.
                again = await Group(here.client, TOPIC, "claimed").claim(wait=25)
                assert (offsets(again), again["lease"]["attempt"]) == ([1, 2], 2)

                async def expired() -> bool:
                    return counts(await Group(here.client, TOPIC, "swept").show()) == {"retrying": 2}

                await until(expired)
                await here.publish("c", "d")
            refusals = await asyncio.gather(
                *(
                    g.raw("POST", f"/leases/{lease}/ack", json={})
                    for g, lease in zip(groups, leases, strict=True)
                )
            )
            for refusal in refusals:
                problem(refusal, 409, "lease_lost")
            await there.publish("e")
            assert [offset(message) for message in await stream.take(3)] == [3, 4, 5]
        assert await claimed.ack(token(again)) == [(1, 2, "acked")]
        assert counts(await claimed.show()) == {"waiting": 3, "acked": 2}
        assert counts(await swept.show()) == {"waiting": 3, "retrying": 2}
