"""A position that cannot be resumed from is refused or announced: never a silent stream or a silent jump."""

import json
from typing import Any

import pytest

from tests.conftest import Connect
from tests.support.api import Api, Place, offset, place
from tests.support.sse import Message
from tests.support.wait import until


@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "abc",
        "1e3",
        "0x10",
        "5, 6",
        "v1.0123456789ab.",
        "v1.0123456789ab.t:0:1",
        "v1.{epoch}.t:{topic_id}:0:1:0:2",
        "v1.{epoch}.t:{topic_id}:1:1",
        "v1.{epoch}.other:{topic_id}:0:1",
    ],
)
async def test_s17_a_malformed_id_is_refused(api: Api, text: str) -> None:
    await api.create()
    await api.publish(1)
    status, problem = await api.refused(last_event_id=await _filled_in(api, text))
    assert (status, problem["code"]) == (400, "bad_event_id")


async def test_s17_zero_and_earliest_mean_from_the_start_and_an_empty_id_means_none(api: Api) -> None:
    await api.create()
    await api.publish(1)
    for text in ("0", "earliest"):
        async with api.stream(last_event_id=text) as stream:
            assert offset(await stream.next()) == 1
    async with api.stream(last_event_id="") as stream:
        await api.publish(2)
        assert offset(await stream.next()) == 2


async def test_s17_a_bare_offset_is_a_position_where_there_is_one_partition(api: Api) -> None:
    await api.create("one")
    await api.create("two", partitions=2)
    await api.publish(1, 2, topic="one")
    async with api.stream("one", last_event_id="1") as stream:
        assert offset(await stream.next()) == 2
    for topics in ("two", ("one", "two")):
        status, problem = await api.refused(topics, last_event_id="1")
        assert (status, problem["code"]) == (400, "bad_event_id")


@pytest.mark.parametrize("beyond", ["1001", "99999999999999999999", "v1.{epoch}.t:{topic_id}:0:1001"])
async def test_s17_an_id_beyond_the_tip_is_refused_with_the_tip(api: Api, beyond: str) -> None:
    await api.create()
    await api.publish(1)
    status, problem = await api.refused(last_event_id=await _filled_in(api, beyond))
    assert (status, problem["code"]) == (409, "offset_ahead")
    assert (problem["topic"], problem["partition"], problem["tip"]) == ("t", 0, 1)


async def test_s18_trimmed_events_are_announced_before_anything_else(api: Api) -> None:
    await api.create()
    await api.publish(*range(1000))
    await api.trim(501)
    async with api.stream(last_event_id=await _filled_in(api, "v1.{epoch}.t:{topic_id}:0:100")) as stream:
        gap, first = await stream.take(2)
    assert _gap(gap) == _trimmed(requested=101, earliest=501)
    assert offset(first) == 501
    start = first.last_id.removesuffix("501") + "500"
    async with api.stream(last_event_id=start) as again:
        assert await again.position() == start
        assert offset(await again.next()) == 501, "a gap is announced once"


@pytest.mark.parametrize("reason", ["trimmed", "epoch", "topic"])
async def test_a_client_that_is_cut_off_among_gaps_is_told_all_of_them_again(api: Api, reason: str) -> None:
    await api.create(partitions=2)
    position = await _filled_in(api, "v1.{epoch}.t:{topic_id}:0:1:1:1")
    if reason == "epoch":
        position = position.replace(position.split(".")[1], "0123456789ab")
    elif reason == "topic":
        await api.delete()
        await api.create(partitions=2)
    for partition in (0, 1):
        await api.publish(*range(10), partition=partition)
        if reason == "trimmed":
            await api.trim(11, partition=partition)

    async def told() -> list[Message]:
        async with api.stream(last_event_id=position) as stream:
            gaps = await stream.take(2)
            assert [(_gap(gap)["reason"], _gap(gap)["partition"]) for gap in gaps] == [
                (reason, 0),
                (reason, 1),
            ]
            return gaps

    for gap in await told():
        position = gap.id or position
        await told()
    async with api.stream(last_event_id=position) as stream:
        start = await stream.position()
    async with api.stream(last_event_id=start) as again:
        await api.publish("new", partition=1)
        assert (await again.next()).event == "message", "what was told to the end is not told again"


async def test_s18_a_ring_that_still_holds_trimmed_events_does_not_hide_the_gap(api: Api) -> None:
    await api.create()
    async with api.stream() as follower:
        await follower.position()
        await api.publish(*range(10))
        await follower.take(10)
        await api.trim(6)
        async with api.stream(last_event_id="2") as stream:
            gap, first = await stream.take(2)
    assert _gap(gap) == _trimmed(requested=3, earliest=6)
    assert offset(first) == 6


async def test_s18_a_log_trimmed_to_its_end_is_announced_too(api: Api) -> None:
    await api.create()
    await api.publish(*range(10))
    await api.trim(11)
    async with api.stream(last_event_id="2") as stream:
        assert _gap(await stream.next()) == _trimmed(requested=3, earliest=11)
        await api.publish("new")
        assert offset(await stream.next()) == 11


async def test_a_stream_from_the_earliest_asks_for_nothing_that_was_trimmed(api: Api) -> None:
    await api.create()
    await api.publish(*range(10))
    await api.trim(6)
    async with api.stream(from_="earliest") as stream:
        assert offset(await stream.next()) == 6


async def test_what_is_trimmed_under_a_stream_that_catches_up_is_announced(api: Api) -> None:
    """Everything is on its way in pages; the client has read only a little when the rest is trimmed."""
    await api.create()
    padding = "x" * 50_000
    for _ in range(8):
        await api.publish(*[padding] * 100)
    async with api.stream(from_="earliest") as stream:
        seen = [offset(m) for m in await stream.take(5)]
        await api.trim(801)
        while (message := await stream.next()).event == "message":
            seen.append(offset(message))
        assert seen == list(range(1, len(seen) + 1))
        assert _gap(message) == _trimmed(requested=len(seen) + 1, earliest=801)
        await api.publish("new")
        assert offset(await stream.next()) == 801


async def test_an_id_of_another_epoch_is_announced_and_goes_on_where_the_log_allows(api: Api) -> None:
    await api.create(partitions=3)
    await api.publish(1, 2, 3, partition=0)
    await api.publish(1, partition=1)
    elsewhere = await _filled_in(api, "v1.0123456789ab.t:{topic_id}:0:2:1:77")
    async with api.stream(last_event_id=elsewhere) as stream:
        gaps = await stream.take(2)
        assert {json.dumps(_gap(m)) for m in gaps} == {
            json.dumps({"reason": "epoch", "topic": "t", "partition": p, "requested": r, "earliest": 1})
            for p, r in ((0, 3), (1, 78))
        }
        assert await stream.position() == await _filled_in(api, "v1.{epoch}.t:{topic_id}:0:2:1:1")
        await api.publish(2, partition=1)
        assert {(json.loads(m.data)["partition"], offset(m)) for m in await stream.take(2)} == {
            (0, 3),
            (1, 2),
        }


async def test_a_position_beyond_a_database_that_was_just_put_back_is_announced_not_refused(
    api: Api, connect: Connect
) -> None:
    """The service knows the epoch from before, as it does not ask for it at every stream."""
    await api.create()
    await api.publish(1, 2, 3)
    position = await _filled_in(api, "v1.{epoch}.t:{topic_id}:0:3")
    connection = await connect()
    await connection.execute("delete from gapless.event where log_offset > 1")
    await connection.execute("select gapless.renew_epoch()")
    async with api.stream(last_event_id=position) as stream:
        start, gap = await stream.position(), await stream.next()
        assert (_gap(gap)["reason"], _gap(gap)["requested"]) == ("epoch", 4)
        await api.publish("new")
        assert offset(await stream.next()) == 2
    async with api.stream(last_event_id=start) as again:
        assert offset(await again.next()) == 2, "the new epoch is told once"


@pytest.mark.parametrize("events", [1, 3, 5])
async def test_a_topic_made_anew_is_announced_and_read_from_its_start(api: Api, events: int) -> None:
    """Shorter than the position, as long, or longer: nothing of it was seen, whatever its offsets are."""
    await api.create()
    await api.publish(1, 2, 3)
    async with api.stream(from_="earliest") as stream:
        position = (await stream.take(3))[-1].last_id
    await api.delete()
    await api.create()
    await api.publish(*range(events))
    async with api.stream(last_event_id=position) as stream:
        start, gap = await stream.position(), await stream.next()
        assert _gap(gap) == {
            "reason": "topic",
            "topic": "t",
            "partition": 0,
            "requested": 4,
            "earliest": 1,
        }
        assert [offset(m) for m in await stream.take(events)] == list(range(1, events + 1))
    async with api.stream(last_event_id=start) as again:
        assert offset(await again.next()) == 1, "the new topic is told once"


async def test_a_topic_made_anew_with_other_partitions_is_read_from_the_start_of_each(api: Api) -> None:
    await api.create(partitions=3)
    await api.create("other")
    for partition in range(3):
        await api.publish(1, 2, partition=partition)
    async with api.stream(("t", "other"), from_="earliest") as stream:
        position = (await stream.take(6))[-1].last_id
    await api.delete()
    await api.create(partitions=2)
    for partition in range(2):
        await api.publish(*range(4), partition=partition)
    await api.trim(3, partition=1)
    await api.publish("other", topic="other")
    async with api.stream(("t", "other"), last_event_id=position) as stream:
        gaps = await stream.take(2)
        assert [(_gap(m)["reason"], _gap(m)["partition"], _gap(m)["earliest"]) for m in gaps] == [
            ("topic", 0, 1),
            ("topic", 1, 3),
        ]
        found = sorted(place(m) for m in await stream.take(7))
    assert found == sorted(
        [Place("other", 0, 1)]
        + [Place("t", 0, number) for number in (1, 2, 3, 4)]
        + [Place("t", 1, number) for number in (3, 4)]
    )


async def test_a_topic_made_anew_is_announced_to_clients_that_had_no_event_of_the_old_one(api: Api) -> None:
    await api.create()
    async with api.stream() as stream:
        position = await stream.position()
    await api.delete()
    await api.create()
    await api.publish(1)
    async with api.stream(last_event_id=position) as stream:
        assert _gap(await stream.next())["reason"] == "topic"
        assert offset(await stream.next()) == 1


async def test_a_new_epoch_sends_open_streams_back_to_be_told(api: Api, connect: Connect) -> None:
    """A failover or a restore cuts the listener's connection; when it is back, the epoch is looked at."""
    await api.create()
    await api.publish(1)
    async with api.stream(from_="earliest") as stream:
        last = await stream.next()
        connection = await connect()
        await connection.execute("select gapless.renew_epoch()")
        await _cut_the_listener(connection)
        assert [m.event async for m in stream.messages()] == ["drain"]
    async with api.stream(last_event_id=last.last_id) as again:
        assert _gap(await again.next())["reason"] == "epoch"


async def test_a_log_that_went_back_ends_its_streams_rather_than_leave_them_silent(
    api: Api, connect: Connect
) -> None:
    await api.create()
    await api.publish(1, 2, 3)
    async with api.stream(last_event_id="3") as stream:
        position = await stream.position()
        connection = await connect()
        await connection.execute("delete from gapless.event where log_offset > 1")
        await _cut_the_listener(connection)
        assert [m.event async for m in stream.messages()] == ["drain"]
    status, problem = await api.refused(last_event_id=position)
    assert (status, problem["code"], problem["tip"]) == (409, "offset_ahead", 1)


async def _cut_the_listener(connection: Any) -> None:
    """As soon as there is one: a service listens a moment after it has begun to serve."""
    cut = await until(
        lambda: connection.fetchval(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where datname = current_database() and application_name = 'gapless-listener'"
        )
    )
    assert cut == 1


async def _filled_in(api: Api, text: str) -> str:
    """An id with the epoch and the number that topic `t` has now."""
    async with api.stream() as stream:
        epoch, topic = (await stream.position()).split(".")[1:]
    return text.format(epoch=epoch, topic_id=topic.split(":")[1])


def _gap(message: Message) -> dict[str, Any]:
    assert message.event == "gap", message
    found: dict[str, Any] = json.loads(message.data)
    return found


def _trimmed(*, requested: int, earliest: int) -> dict[str, Any]:
    return {
        "reason": "trimmed",
        "topic": "t",
        "partition": 0,
        "requested": requested,
        "earliest": earliest,
    }
