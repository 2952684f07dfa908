"""Group commit against a log that answers when the test says so."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from app.errors import (
    DatabaseUnavailable,
    Draining,
    GaplessError,
    InvalidArgument,
    TopicBusy,
    TopicNotFound,
    TransactionSplit,
)
from app.live.group_commit import GroupCommit
from app.live.publish_queue import LONE_FLUSHES, MANY_EVENTS, MERGED_FLUSHES
from app.model import NewEvent, Published, PublishOptions, TopicId
from app.settings import Settings
from tests.support.calls import Outcome
from tests.support.wait import until

PUBLISHED_AT = datetime(2015, 9, 12, tzinfo=UTC)


class Call(Outcome):
    """A transaction in flight; the test decides how it ends."""

    def __init__(self, events: Sequence[NewEvent], options: PublishOptions) -> None:
        super().__init__()
        self.data = [event.data for event in events]
        self.options = options


class ScriptedLog:
    """One partition; `immediate` calls land by themselves, those with data in `refused` never do."""

    def __init__(self, *, immediate: bool = False, refused: Sequence[str] = ()) -> None:
        self.calls: list[Call] = []
        self.stored: list[str | None] = []
        self.immediate = immediate
        self._refused = set(refused)

    async def publish(self, topic: str, events: Sequence[NewEvent], options: PublishOptions) -> Published:
        call = Call(events, options)
        self.calls.append(call)
        if not self.immediate:
            await call.outcome
        await asyncio.sleep(0)
        if self._refused.intersection(call.data):
            raise InvalidArgument("refused")
        self.stored += call.data
        last = len(self.stored)
        offsets = list(range(last - len(events) + 1, last + 1))
        return Published(
            partitions=[0] * len(events), offsets=offsets, topic_id=TopicId(1), published_at=PUBLISHED_AT
        )

    async def land_all(self) -> None:
        """Let the first call go, and every later one at once."""
        self.immediate = True
        (await self.call(1)).land()

    async def call(self, number: int) -> Call:
        """The call of that number, counted from 1, once it was made."""
        await until(lambda: len(self.calls) >= number)
        return self.calls[number - 1]


def commit(log: ScriptedLog, **limits: Any) -> GroupCommit:
    return GroupCommit(log, Settings(**limits))


def batch(*data: str, transaction: str | None = None) -> list[NewEvent]:
    return [NewEvent(data=text, transaction_id=transaction) for text in data]


async def send(group: GroupCommit, *data: str, topic: str = "t", **options: Any) -> asyncio.Task[Published]:
    """A request that has reached its queue."""
    task = asyncio.create_task(group.publish(topic, batch(*data), PublishOptions(**options)))
    await asyncio.sleep(0)
    return task


async def test_a_lone_request_goes_at_once() -> None:
    log = ScriptedLog(immediate=True)
    published = await commit(log).publish("t", batch("1", "2"))
    assert published.offsets == [1, 2]
    assert len(log.calls) == 1


async def test_requests_that_gathered_share_one_transaction_and_each_gets_its_own_offsets() -> None:
    log = ScriptedLog()
    group = commit(log)
    first = await send(group, "a")
    others = [await send(group, f"{n}x", f"{n}y") for n in range(3)]
    (await log.call(1)).land()
    second = await log.call(2)
    assert second.data == ["0x", "0y", "1x", "1y", "2x", "2y"]
    second.land()
    assert (await first).offsets == [1]
    assert [(await other).offsets for other in others] == [[2, 3], [4, 5], [6, 7]]
    assert len(log.calls) == 2


async def test_what_comes_beside_an_answer_shares_the_next_transaction() -> None:
    log = ScriptedLog()
    group = commit(log)

    async def one_after_the_other() -> None:
        await group.publish("t", batch("a"))
        await group.publish("t", batch("c"))

    publisher = asyncio.create_task(one_after_the_other())
    first = await log.call(1)
    waiting = await send(group, "b")
    await log.land_all()
    await asyncio.gather(publisher, waiting)
    assert first.data == ["a"]
    assert [call.data for call in log.calls] == [["a"], ["b", "c"]]


async def test_no_more_transactions_of_a_topic_run_than_allowed() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, f"p{n}") for n in range(3)]
    tasks += [await send(group, f"k{n}", idempotency_key=f"k{n}") for n in range(4)]
    await log.call(MERGED_FLUSHES + LONE_FLUSHES)
    await asyncio.sleep(0)
    assert [call.data for call in log.calls] == [["p0"], ["k0"], ["k1"]]
    log.immediate = True
    for call in log.calls:
        call.land()
    await asyncio.gather(*tasks)
    assert sorted(call.data for call in log.calls[3:]) == [["k2"], ["k3"], ["p1", "p2"]]


async def test_a_second_merged_transaction_runs_only_where_many_events_wait() -> None:
    log = ScriptedLog()
    group = commit(log)
    many = [str(number) for number in range(MANY_EVENTS - 1)]
    tasks = [await send(group, "first"), await send(group, *many)]
    await asyncio.sleep(0)
    assert len(log.calls) == 1, "few wait"
    tasks.append(await send(group, "one more"))
    second = await log.call(2)
    assert second.data == [*many, "one more"]
    tasks += [await send(group, *many, "x") for _ in range(2)]
    await asyncio.sleep(0)
    assert len(log.calls) == 2, "there is no third"
    second.land()
    third = await log.call(3)
    assert len(third.data) == 2 * MANY_EVENTS, "many waited when the second was done"
    tasks.append(await send(group, "last"))
    third.land()
    await tasks[-2]
    assert len(log.calls) == 3, "few wait again, and the first still runs"
    await log.land_all()
    await asyncio.gather(*tasks)
    assert log.stored[-1] == "last"


@pytest.mark.parametrize(("requests", "taken"), [(5, 2), (12, 2), (17, 4), (42, 10)])
async def test_a_transaction_takes_a_quarter_of_many_events_so_that_others_overlap_with_it(
    requests: int, taken: int
) -> None:
    log = ScriptedLog()
    group = commit(log)
    hundred = [str(number) for number in range(MANY_EVENTS)]
    tasks = [await send(group, *hundred) for _ in range(requests)]
    (await log.call(1)).land()
    third = await log.call(3)
    assert [len(call.data) for call in log.calls] == [MANY_EVENTS, MANY_EVENTS, taken * MANY_EVENTS]
    log.immediate = True
    log.calls[1].land()
    third.land()
    await asyncio.gather(*tasks)
    assert len(log.stored) == requests * MANY_EVENTS


async def test_another_topic_does_not_wait() -> None:
    log = ScriptedLog()
    group = commit(log)
    blocked = await send(group, "a", topic="hot")
    free = await send(group, "b", topic="cold")
    (await log.call(2)).land()
    assert (await free).offsets == [1]
    log.calls[0].land()
    await blocked


async def test_a_transaction_takes_no_more_events_than_the_limit() -> None:
    log = ScriptedLog()
    group = commit(log, commit_max_events=4)
    tasks = [await send(group, "a")]
    tasks += [await send(group, "b", "c") for _ in range(3)]
    for number in (1, 2, 3):
        (await log.call(number)).land()
    await asyncio.gather(*tasks)
    assert [len(call.data) for call in log.calls] == [1, 4, 2]


async def test_a_transaction_takes_no_more_bytes_than_the_limit() -> None:
    log = ScriptedLog()
    group = commit(log, commit_max_bytes=10)
    tasks = [await send(group, "a")]
    tasks += [await send(group, "12345678") for _ in range(2)]
    for number in (1, 2, 3):
        (await log.call(number)).land()
    await asyncio.gather(*tasks)
    assert [len(call.data) for call in log.calls] == [1, 1, 1]


async def test_requests_with_options_go_alone() -> None:
    log = ScriptedLog(immediate=True)
    group = commit(log)
    tasks = [await send(group, f"k{n}", idempotency_key=f"k{n}") for n in range(5)]
    await asyncio.gather(*tasks)
    assert [call.data for call in log.calls] == [["k0"], ["k1"], ["k2"], ["k3"], ["k4"]]
    assert [call.options.idempotency_key for call in log.calls] == ["k0", "k1", "k2", "k3", "k4"]


async def test_a_request_with_options_that_hangs_holds_up_none_without() -> None:
    log = ScriptedLog()
    group = commit(log)
    hanging = [await send(group, f"k{n}", idempotency_key=f"k{n}") for n in range(LONE_FLUSHES + 1)]
    plain = await send(group, "plain")
    (await log.call(LONE_FLUSHES + 1)).land()
    assert (await plain).offsets == [1]
    log.immediate = True
    for call in log.calls[:LONE_FLUSHES]:
        call.land()
    await asyncio.gather(*hanging)


async def test_two_requests_with_one_transaction_id_are_not_merged() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, "first")]
    for data, transaction in (("a", "t1"), ("b", "t2"), ("c", "t1")):
        tasks.append(asyncio.create_task(group.publish("t", batch(data, transaction=transaction))))
        await asyncio.sleep(0)
    await log.land_all()
    await asyncio.gather(*tasks)
    assert [call.data for call in log.calls] == [["first"], ["a", "b"], ["c"]]


async def test_one_bad_request_of_a_merged_call_does_not_take_the_others_with_it() -> None:
    log = ScriptedLog(refused=["bad"])
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a", "bad", "b")]
    await log.land_all()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[2], InvalidArgument)
    assert log.stored == ["first", "a", "b"]
    assert [call.data for call in log.calls][1:] == [["a", "bad", "b"], ["a"], ["bad"], ["b"]]
    assert [result.offsets for result in results if isinstance(result, Published)] == [[1], [2], [3]]


@pytest.mark.parametrize("error", [TopicNotFound("no such topic"), DatabaseUnavailable("not reachable")])
async def test_what_all_requests_would_meet_again_is_not_repeated(error: GaplessError) -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a", "b")]
    (await log.call(1)).land()
    (await log.call(2)).fail(error)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [Published, type(error), type(error)]
    assert len(log.calls) == 2


async def test_an_unknown_outcome_is_told_and_never_repeated() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a", "b")]
    keyed = await send(group, "k", idempotency_key="k")
    log.calls[0].land()
    for number in (2, 3):
        (await log.call(number)).fail(DatabaseUnavailable("The connection broke.", outcome="unknown"))
    _, a, b, k = await asyncio.gather(*tasks, keyed, return_exceptions=True)
    for error in (a, b, k):
        assert isinstance(error, DatabaseUnavailable)
        assert error.extra == {"outcome": "unknown"}
    assert "Read the topic before" in str(a)
    assert "same Idempotency-Key" in str(k)
    assert len(log.calls) == 3


async def test_an_unexpected_failure_reaches_every_request_and_is_not_repeated() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a", "b")]
    (await log.call(1)).land()
    (await log.call(2)).fail(ZeroDivisionError())
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [Published, ZeroDivisionError, ZeroDivisionError]
    assert len(log.calls) == 2
    again = await send(group, "c")
    (await log.call(3)).land()
    assert (await again).offsets == [2]


async def test_a_lost_connection_during_isolation_tells_the_unsent_that_nothing_was_stored() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a", "b", "c")]
    (await log.call(1)).land()
    (await log.call(2)).fail(TransactionSplit("split"))
    (await log.call(3)).land()
    (await log.call(4)).fail(DatabaseUnavailable("The connection broke.", outcome="unknown"))
    _, a, b, c = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(a, Published)
    assert isinstance(b, DatabaseUnavailable)
    assert b.outcome_is_unknown
    assert isinstance(c, DatabaseUnavailable)
    assert not c.outcome_is_unknown


async def test_a_request_that_was_cancelled_while_waiting_is_dropped() -> None:
    log = ScriptedLog()
    group = commit(log)
    first = await send(group, "first")
    dropped = await send(group, "dropped")
    kept = await send(group, "kept")
    dropped.cancel()
    (await log.call(1)).land()
    (await log.call(2)).land()
    await asyncio.gather(first, kept)
    assert log.stored == ["first", "kept"]


async def test_a_request_that_is_cancelled_when_taken_is_stored_and_so_are_its_companions() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "left", "stayed")]
    (await log.call(1)).land()
    call = await log.call(2)
    tasks[1].cancel()
    call.land()
    assert (await tasks[2]).offsets == [3]
    assert log.stored == ["first", "left", "stayed"]


async def test_s36_requests_that_waited_behind_a_locked_log_are_refused_with_it() -> None:
    log = ScriptedLog()
    group = commit(log, lock_seconds=0.02)
    tasks = [await send(group, str(n), idempotency_key=str(n)) for n in range(50)]
    await log.call(LONE_FLUSHES)
    give_up = asyncio.get_running_loop().time() + 0.02
    await until(lambda: asyncio.get_running_loop().time() > give_up)
    for call in list(log.calls):
        call.fail(TopicBusy("locked"))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, TopicBusy) for result in results)
    assert len(log.calls) == LONE_FLUSHES


async def test_a_full_queue_refuses_and_recovers() -> None:
    log = ScriptedLog()
    group = commit(log, queue_max_events=3)
    tasks = [await send(group, text) for text in ("first", "a", "b", "c")]
    with pytest.raises(TopicBusy):
        await group.publish("t", batch("d"))
    (await log.call(1)).land()
    (await log.call(2)).land()
    await asyncio.gather(*tasks)
    again = await send(group, "e")
    (await log.call(3)).land()
    assert (await again).offsets == [5]


async def test_a_queue_is_bounded_by_bytes_too() -> None:
    log = ScriptedLog()
    group = commit(log, queue_max_bytes=10)
    tasks = [await send(group, text) for text in ("first", "12345678")]
    with pytest.raises(TopicBusy):
        await group.publish("t", batch("123"))
    for number in (1, 2):
        (await log.call(number)).land()
    await asyncio.gather(*tasks)


async def test_a_batch_larger_than_the_queue_is_taken_when_nothing_waits() -> None:
    log = ScriptedLog(immediate=True)
    published = await commit(log, queue_max_events=2).publish("t", batch("a", "b", "c"))
    assert published.offsets == [1, 2, 3]


async def test_closing_finishes_what_is_queued_and_refuses_what_comes() -> None:
    log = ScriptedLog()
    group = commit(log)
    tasks = [await send(group, text) for text in ("first", "a")]
    closing = asyncio.create_task(group.close())
    await asyncio.sleep(0)
    with pytest.raises(Draining):
        await group.publish("t", batch("late"))
    for number in (1, 2):
        (await log.call(number)).land()
    await closing
    assert [(await task).offsets for task in tasks] == [[1], [2]]


async def test_idle_topics_leave_nothing_behind() -> None:
    log = ScriptedLog(immediate=True)
    group = commit(log)
    # Some may be of other tests, and end meanwhile.
    before = asyncio.all_tasks()
    for number in range(1000):
        await group.publish(f"t{number}", batch("1"))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before
    assert not group._queues
