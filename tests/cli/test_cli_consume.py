"""`gapless consume`: each event reaches the command, in order, and is acked exactly when that went well."""

import asyncio
import signal
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.conftest import StartProcess, StartService
from tests.support.access import Keys, bearer
from tests.support.cli import GAPLESS, environment, start
from tests.support.clock import SlowClock
from tests.support.http_group import Group, create_group
from tests.support.lines import waiting
from tests.support.processes import is_alive
from tests.support.proxy import FaultProxy, Target
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS, shared, until
from tests.support.warm_cli import WarmCli


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


async def _acked(group: Group, count: int) -> bool:
    return await group.counts("acked") == (count,)


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, err = await process.communicate()
    return process.returncode, err.decode()


async def ended_soon(
    process: asyncio.subprocess.Process, within_seconds: float = 5
) -> tuple[int | None, str]:
    """The same, where soon is promised."""
    began = time.monotonic()
    found = await ended(process)
    assert time.monotonic() - began < shared(within_seconds), found
    return found


async def test_the_command_gets_data_and_attributes_of_each_event(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    out, names = tmp_path / "data", tmp_path / "names"
    group = await create_group(client)
    await group.publish({"n": 1}, key="k 1", type="order.placed", id="one", transaction_id="t")
    events = [{"data_base64": "AAEK", "datacontenttype": "image/png"}, {"data": None}]
    (await client.post("/v1/topics/orders/events", json={"events": events})).raise_for_status()
    show = "echo $GAPLESS_TOPIC,$GAPLESS_GROUP,$GAPLESS_PARTITION,$GAPLESS_OFFSET,$GAPLESS_ATTEMPT,"
    show += "$GAPLESS_KEY,$GAPLESS_TYPE,$GAPLESS_ID,$GAPLESS_TRANSACTION_ID,$GAPLESS_DATACONTENTTYPE"
    command = f"cat >> {out}; {show} >> {names}"
    process = await start(
        ["consume", "orders", "billing", "--exec", command, "--once"], url=url, GAPLESS_KEY="of another"
    )
    assert await ended(process) == (0, "3 events acked\n")
    assert out.read_bytes() == b'{"n":1}\n\0\1\nnull\n'
    assert lines(names) == [
        "orders,billing,0,1,1,k 1,order.placed,one,t,",
        "orders,billing,0,2,1,,,0-2,,image/png",
        "orders,billing,0,3,1,,,0-3,,",
    ]
    assert await group.counts("lag", "acked", "in_flight") == (0, 3, 0)
    # A missing group is made on demand, and sees what is there from where it is told to.
    created = await warm_cli(
        "consume", "orders", "new", "--create", "--from", "2", "--until-empty", "--exec", "cat",
        "--whole-event", url=url,
    )  # fmt: skip
    assert created.code == 0
    # Whole events are lines, whatever their data is.
    assert [event["offset"] for event in created.json_lines] == [2, 3]


async def test_a_failure_keeps_what_comes_after_it_waiting_and_ends_as_a_dead_letter(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client, max_attempts=2, backoff_seconds=0.05)
    await group.publish(1, 2)
    await group.publish(3, 4, transaction_id="t")
    await group.publish(5)
    out = tmp_path / "seen"
    command = (
        f'n=$(cat); echo $n >> {out}; if [ $n = 4 ]; then echo noise >&2; echo "no 4s today" >&2; exit 3; fi'
    )
    result = await warm_cli("consume", "orders", "billing", "--exec", command, "--until-empty", url=url)
    assert result.code == 0, result
    assert lines(out) == ["1", "2", "3", "4", "3", "4", "5"]
    assert "partition 0 offset 4 failed, attempt 1: no 4s today; again at 20" in result.err
    assert "partition 0 offset 4 failed, attempt 2: no 4s today; it is a dead letter now" in result.err
    assert result.err.endswith(
        "3 events acked, 4 deliveries failed, 2 events became dead letters, 1 delivery given back\n"
    )
    assert await group.counts("lag", "acked", "dead") == (0, 3, 2)
    letters = (await client.get(f"{group.path}/dead-letters")).json()["dead_letters"]
    assert [(letter["offset"], letter["attempts"]) for letter in letters] == [(3, 2), (4, 2)]
    assert "no 4s today" in letters[0]["reason"]


async def test_what_commands_do_to_themselves_is_told_as_the_reason(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client, max_attempts=1, ordering="none")
    await group.publish("kill", "hang", "quiet", "child", "deaf")
    command = """
    case $(if [ $GAPLESS_OFFSET != 5 ]; then cat; fi) in
      '"kill"') kill -9 $$ ;;
      '"hang"') sleep 30 & wait ;;
      '"quiet"') exit 7 ;;
      '"child"') sleep 30 & echo left a child >&2; exit 1 ;;
    esac"""
    began = time.monotonic()
    result = await warm_cli(
        "consume", "orders", "billing", "--exec", command, "--once", "--jobs", "3", "--timeout", "5", url=url
    )
    assert time.monotonic() - began < shared(15)
    assert result.code == 0, result
    for reason in ("killed by SIGKILL", "did not end within 5 s", "exit code 7", "left a child"):
        assert f"attempt 1: {reason}; it is a dead letter now" in result.err
    assert result.err.endswith("1 event acked, 4 deliveries failed, 4 events became dead letters\n")


async def test_a_command_that_cannot_be_run_stops_the_consumer_and_fails_no_event(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client, max_attempts=1)
    await group.publish(*range(20))
    locked, out = tmp_path / "locked", tmp_path / "seen"
    locked.touch(mode=0o600)
    for command, code, reason in (("nonesuch", 127, "not found"), (str(locked), 126, "ermission denied")):
        result = await warm_cli("consume", "orders", "billing", "--exec", command, url=url)
        assert result.code == 1
        summary, why = result.err.splitlines()[-2:]
        assert summary == "0 events acked, 20 deliveries given back"
        assert why.startswith(
            "gapless: the command of --exec cannot be run, which is counted against no event: "
            f"exit code {code}: "
        )
        assert reason in why
    # What failed before was to blame.
    failing = await create_group(client, name="failing", ordering="none")
    command = "if [ $GAPLESS_OFFSET = 1 ]; then exit 1; fi; nonesuch"
    result = await warm_cli("consume", "orders", "failing", "--exec", command, url=url)
    assert (result.code, "1 delivery failed" in result.err, "no event failed" in result.err) == (
        1,
        True,
        False,
    )
    assert await failing.counts("acked", "lag") == (0, 20)
    # Jobs that run while another one finds out may finish, and a claim that waits for more ends.
    other = await create_group(client, name="other", ordering="none", max_attempts=1)
    command = f"if [ $GAPLESS_OFFSET = 2 ]; then nonesuch; exit; fi; sleep 0.5; echo $GAPLESS_OFFSET >> {out}"
    began = time.monotonic()
    result = await warm_cli("consume", "orders", "other", "--exec", command, "--jobs", "30", url=url)
    assert (result.code, time.monotonic() - began < shared(10)) == (1, True)
    handled = len(lines(out))
    assert await other.counts("acked", "lag", "dead") == (handled, 20 - handled, 0)
    assert (await group.post("claim", {"member": "m"}))["lease"]["attempt"] == 1


async def test_jobs_run_side_by_side_and_keep_the_order_of_each_key(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client, ordering="key", partitions=2, backoff_seconds=0.05)
    for round_ in range(5):
        for key in "abcd":
            await group.publish(f"{key}{round_}", key=key)
    begun, seen = tmp_path / "begun", tmp_path / "seen"
    # Every key fails once in the middle; what follows it must wait. No command ends before a second begins.
    command = f"""
    n=$(cat); echo + >> {begun}; until [ $(grep -c + {begun}) -ge 2 ]; do sleep 0.05; done; sleep 0.1
    echo - >> {begun}
    if [ $GAPLESS_ATTEMPT = 1 ]; then case $n in *2\\") exit 1 ;; esac; fi
    echo $n >> {seen}"""
    result = await warm_cli(
        "consume", "orders", "billing", "--exec", command, "--once", "--jobs", "4", url=url
    )
    assert result.code == 0, result
    for key in "abcd":
        mine = [line.strip('"') for line in lines(seen) if key in line]
        assert mine == [f"{key}{round_}" for round_ in range(5)]
    running = most = 0
    for line in lines(begun):
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert 2 <= most <= 4
    assert await group.counts("lag", "acked") == (0, 20)


async def test_s48_a_handler_of_four_leases_gets_its_event_once(
    url: str,
    client: httpx.AsyncClient,
    connection: asyncpg.Connection,
    slow_clock: SlowClock,
    tmp_path: Path,
) -> None:
    group = await create_group(client, ordering="none", max_attempts=3)
    await group.publish(*range(8))
    out, gate = tmp_path / "seen", tmp_path / "gate"
    # A noisy handler, whose messages nobody reads, does not hold up the extensions either.
    command = (
        f"head -c 40000 /dev/zero | tr '\\0' x >&2; echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {out}; "
        f"until [ -e {gate} ]; do sleep 0.05; done"
    )
    options = ["--exec", command, "--lease-seconds", "1.5", "--jobs", "8", "--max-events", "8"]
    first = await start(["consume", "orders", "billing", "--until-empty", *options], url=url)
    await until(lambda: len(lines(out)) == 8)
    # Another member that is always there to take what comes free.
    second = await start(["consume", "orders", "billing", "--until-empty", *options], url=url)

    async def extended() -> bool:
        return bool(
            await connection.fetchval(
                "select bool_and(expires_at > gapless.clock() + interval '1.1 seconds')"
                " from gapless.lease where ended_at is null"
            )
        )

    for _ in range(7):
        await until(extended)
        await slow_clock.move(timedelta(seconds=1))
    await until(extended)
    gate.touch()
    (code, err), (other, rest) = await asyncio.gather(ended(first), ended(second))
    assert (code, other) == (0, 0), err[-300:] + rest[-300:]
    assert sorted(lines(out)) == [f"{offset} 1" for offset in range(1, 9)]
    assert await group.counts("lag", "acked", "dead") == (0, 8, 0)


async def test_s55_a_consumer_that_is_stopped_finishes_what_runs_and_gives_back_the_rest_at_once(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client)
    await group.publish(*range(100))
    out = tmp_path / "seen"
    command = f"sleep 0.1; echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {out}"
    process = await start(["consume", "orders", "billing", "--exec", command], url=url)
    await until(lambda: len(lines(out)) >= 10)
    assert await group.counts("in_flight") == (100,)
    process.send_signal(signal.SIGTERM)
    code, err = await ended_soon(process)
    handled = len(lines(out))
    assert code == 0, err
    assert 10 <= handled < 100
    assert err.endswith(f"{handled} events acked, {100 - handled} deliveries given back\n")
    assert await group.counts("acked", "in_flight", "lag") == (handled, 0, 100 - handled)
    command = f"echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {out}"
    rest = await warm_cli("consume", "orders", "billing", "--exec", command, "--once", url=url)
    assert rest.err == f"{100 - handled} events acked\n"
    assert lines(out) == [f"{offset} 1" for offset in range(1, 101)]


async def test_grace_and_a_second_signal_end_commands_and_their_events_come_again(
    url: str, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    group = await create_group(client)
    await group.publish(1)
    begun = tmp_path / "begun"
    options = ["consume", "orders", "billing", "--exec", f"echo $GAPLESS_ATTEMPT >> {begun}; sleep 30"]
    impatient = await start([*options, "--grace", "0.3"], url=url)
    await until(lambda: len(lines(begun)) == 1)
    impatient.send_signal(signal.SIGTERM)
    code, err = await ended_soon(impatient)
    assert code == 0, err
    assert "stopping; commands that run have 0.3 s to finish" in err
    assert err.endswith("0 events acked, 1 delivery given back\n")
    patient = await start(options, url=url)
    await until(lambda: len(lines(begun)) == 2)
    patient.send_signal(signal.SIGINT)
    assert patient.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await patient.stderr.readline()).startswith(b"stopping; ")
    assert patient.returncode is None
    patient.send_signal(signal.SIGINT)
    code, err = await ended_soon(patient)
    assert code == 130, err
    assert err.endswith("0 events acked, 1 delivery given back\n")
    # To be stopped is not the event's fault: neither attempt counted.
    assert lines(begun) == ["1", "1"]
    assert await group.counts("in_flight", "lag") == (0, 1)


async def test_an_idle_consumer_ends_at_once_and_leaves_no_lease_behind(
    service: ThreadService, url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client)
    out = tmp_path / "seen"
    process = await start(["consume", "orders", "billing", "--exec", f"cat >> {out}"], url=url)
    await group.publish(1)
    await until(lambda: lines(out) == ["1"])
    await until(lambda: _acked(group, 1))
    await waiting(service)
    process.send_signal(signal.SIGINT)
    assert await ended_soon(process) == (130, "1 event acked\n")
    await group.publish(2)
    again = await warm_cli("consume", "orders", "billing", "--exec", f"cat >> {out}", "--once", url=url)
    assert (again.code, lines(out)) == (0, ["1", "2"])
    assert await group.counts("in_flight", "acked", "lag") == (0, 2, 0)


async def test_s58_a_consumer_that_is_killed_loses_nothing(
    url: str,
    client: httpx.AsyncClient,
    connection: asyncpg.Connection,
    slow_clock: SlowClock,
    warm_cli: WarmCli,
    tmp_path: Path,
) -> None:
    group = await create_group(client)
    await group.publish(*range(24))
    out, gate = tmp_path / "seen", tmp_path / "gate"
    command = f"echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {out}; "
    command += f"if [ $GAPLESS_OFFSET = 14 ]; then until [ -e {gate} ]; do sleep 0.05; done; fi"
    options = ["consume", "orders", "billing", "--exec", command, "--lease-seconds", "30"]
    process = await start(options, url=url)
    await until(lambda: len(lines(out)) >= 14)
    # Half of what it claimed is done, and some of that is acked.
    await until(lambda: connection.fetchval("select bool_or(not isempty(acked)) from gapless.lease"))
    process.kill()
    await until(lambda: not is_alive(process.pid))
    gate.touch()
    await process.communicate()
    await slow_clock.move(timedelta(seconds=30))
    killed_at = len(lines(out))
    rest = await warm_cli(*options, "--until-empty", url=url)
    assert rest.code == 0, rest
    counts = Counter(line.split()[0] for line in lines(out))
    assert set(counts) == {str(offset) for offset in range(1, 25)}
    again = [line for line in lines(out) if line.endswith(" 2")]
    # What was acked on the way is not delivered again; what was not is, as a second attempt.
    assert 0 < len(again) < 24
    assert killed_at + len(again) in range(24, 48)
    assert await group.counts("lag", "acked", "dead") == (0, 24, 0)


async def test_a_lease_that_was_taken_away_is_told_and_the_consumer_goes_on(
    url: str, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    group = await create_group(client, heartbeat_seconds=0.5)
    await group.publish(1, 2)
    out, gate = tmp_path / "seen", tmp_path / "gate"
    command = f"echo $GAPLESS_OFFSET >> {out}; until [ -e {gate} ]; do sleep 0.05; done"
    process = await start(["consume", "orders", "billing", "--exec", command], url=url)
    await until(lambda: lines(out) == ["1"])
    await group.post("pause", {"reason": "to look"})
    await group.post("seek", {"to": "earliest"})
    assert process.stderr is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await process.stderr.readline() == b"the group is PAUSED\n"
        gate.touch()
        told = await process.stderr.readline()
        assert told.startswith(b"the lease of 2 events of partition 0 is lost, they may be delivered again: ")
        assert told.endswith(b"(lease_lost)\n")
    await group.post("resume")
    # The command says "2" a while before it ends, and what is not acked by then would be lost as well.
    await until(lambda: _acked(group, 2))
    await group.post("cancel")
    code, err = await ended_soon(process, 10)
    assert (code, "(subscription_inactive)" in err) == (1, True), err
    assert "2 events acked, 2 deliveries lost to others" in err


async def test_a_server_that_is_away_is_waited_for_and_its_acks_are_repeated(
    start_process: StartProcess, tmp_path: Path
) -> None:
    service = await start_process()
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        # Longer than the service may take to start again.
        group = await create_group(client, ordering="none", lease_seconds=300)
        await group.publish(1, 2)
        out, gate = tmp_path / "seen", tmp_path / "gate"
        command = f"echo $GAPLESS_OFFSET $GAPLESS_ATTEMPT >> {out}; until [ -e {gate} ]; do sleep 0.05; done"
        options = ["consume", "orders", "billing", "--exec", command, "--jobs", "2"]
        process = await start(options, url=service.base_url)
        await until(lambda: len(lines(out)) == 2)
        service.kill()
        gate.touch()
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b"trying again" in await process.stderr.readline()
        await service.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert b"the server answers again" in await process.stderr.readline()
        await group.publish(3)
        await until(lambda: _acked(group, 3))
        process.send_signal(signal.SIGTERM)
        code, err = await ended(process)
        # The signal may come before the answer to the last ack.
        err = err.removeprefix("stopping; commands that run have 30 s to finish\n")
        assert (code, err) == (0, "3 events acked\n")
        assert sorted(lines(out)) == ["1 1", "2 1", "3 1"]


async def test_no_command_starts_while_nobody_knows_whether_the_lease_is_still_held(
    service: ThreadService, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    group = await create_group(client, backoff_seconds=0)
    await group.publish(*range(20))
    out, gate, healed = (tmp_path / name for name in ("seen", "gate", "healed"))
    command = f"echo $GAPLESS_OFFSET >> {out}; until [ -e {gate} ]; do sleep 0.05; done; "
    command += f"[ -e {healed} ] || sleep 0.5"
    async with FaultProxy(Target(port=service.port)) as proxy:
        options = ["consume", "orders", "billing", "--until-empty", "--lease-seconds", "3", "--exec", command]
        process = await start(options, url=f"http://127.0.0.1:{proxy.port}")
        await until(lambda: len(lines(out)) == 1)
        proxy.refuse()
        proxy.cut()
        gate.touch()
        # Another member gets what the consumer has lost, and gives it back.
        taken = (await group.post("claim", {"member": "other", "wait": 25}))["lease"]
        await group.post(f"leases/{taken['token']}/release")
        await _more_attempts(proxy)
        doubted = len(lines(out))
        await _more_attempts(proxy)
        assert len(lines(out)) == doubted < 12
        healed.touch()
        proxy.heal()
        code, err = await ended(process)
    assert code == 0, err
    assert "(lease_lost)" in err
    offsets = [int(line) for line in lines(out)]
    assert sorted(set(offsets)) == list(range(1, 21))
    # What was delivered twice came twice in order, too.
    assert offsets[doubted:] == list(range(offsets[doubted], 21))


async def _more_attempts(proxy: FaultProxy) -> None:
    """Wait until the client has tried its server again and again, each attempt later than the one before."""
    enough = proxy.accepted + 3
    await until(lambda: proxy.accepted >= enough)


async def test_what_cannot_begin_is_refused_and_what_to_do_is_told(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    async def refused(*arguments: str, at: str = url) -> tuple[int, str]:
        result = await warm_cli("consume", *arguments, "--exec", "true", url=at)
        assert result.err.count("\n") == (2 if at == url else 1), result
        return result.code, result.err

    empty = await warm_cli("consume", "orders", "billing", "--exec", " ", url=url)
    assert (empty.code, "would ack every event" in empty.err) == (2, True)
    await create_group(client, topic="payments")
    found = await asyncio.gather(
        refused("orders", "billing"),
        refused("payments", "shipping"),
        refused("orders", "billing", at="http://127.0.0.1:1"),
    )
    assert [code for code, _ in found] == [1, 1, 3]
    assert "(topic_not_found)\ngapless: `gapless topic create` makes one" in found[0][1]
    assert "(subscription_not_found)\ngapless: `gapless sub create` makes one" in found[1][1]
    assert "start one with `gapless serve`" in found[2][1]


async def test_a_group_is_told_to_be_new_once_it_was_made(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    await client.put("/v1/topics/orders")
    consume = ["consume", "orders", "billing", "--exec", "true", "--once", "--create"]
    wrong = await warm_cli(*consume, "--from", "banana", url=url)
    assert (wrong.code, wrong.err.count("\n"), "not 'banana'" in wrong.err) == (2, 1, True), wrong
    beyond = await warm_cli(*consume, "--from", "99", url=url)
    assert (beyond.code, "is new" in beyond.err) == (1, False), beyond
    made = await warm_cli(*consume, "--from", "earliest", url=url)
    assert (made.code, made.err) == (
        0,
        "group billing of orders is new and starts at earliest\n0 events acked\n",
    )
    wrong = await warm_cli(*consume, "--from", "2026-01-01", url=url)
    assert (wrong.code, "a time needs a zone" in wrong.err) == (2, True), wrong
    there = await warm_cli(*consume, "--from", "latest", url=url)
    assert (there.code, there.err) == (
        0,
        "group billing of orders was there already, so --from does not apply\n0 events acked\n",
    )
    assert (await warm_cli(*consume, url=url)).err == "0 events acked\n"


async def test_who_may_not_make_the_group_is_not_told_to_make_it(
    start_guarded: StartService, keys: Keys, warm_cli: WarmCli
) -> None:
    service = await start_guarded()
    async with httpx.AsyncClient(
        base_url=service.base_url, headers=bearer(await keys.make("ops", "admin"))
    ) as admin:
        await admin.put("/v1/topics/orders")
    token = await keys.make("k", "consume:orders/other")
    consume = ["consume", "orders", "billing", "--exec", "true", "--create"]
    refused = await warm_cli(*consume, url=service.base_url, GAPLESS_TOKEN=token)
    assert (refused.code, refused.err.count("\n")) == (1, 2), refused
    assert "(subscription_not_found)" in refused.err
    assert "gapless: the token of GAPLESS_TOKEN has no scope for it: " in refused.err


async def test_a_paused_group_is_not_empty(url: str, client: httpx.AsyncClient, warm_cli: WarmCli) -> None:
    group = await create_group(client)
    await group.publish(1)
    await group.post("pause", {"reason": "moving house"})
    result = await warm_cli("consume", "orders", "billing", "--exec", "true", "--once", url=url)
    assert result.code == 1
    assert result.err == (
        "the group is PAUSED: moving house\n0 events acked\n"
        "gapless: billing has 1 event left: the group is PAUSED\n"
    )


async def test_a_group_of_at_most_once_gets_each_event_once_whatever_becomes_of_it(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, tmp_path: Path
) -> None:
    group = await create_group(client, delivery="at_most_once")
    await group.publish(*range(5))
    out = tmp_path / "seen"
    command = f"echo $GAPLESS_OFFSET >> {out}; test $GAPLESS_OFFSET != 3"
    result = await warm_cli("consume", "orders", "billing", "--exec", command, "--once", url=url)
    assert result.err == (
        "partition 0 offset 3 failed and is not delivered again: exit code 1\n"
        "4 events acked, 1 delivery failed\n"
    )
    assert lines(out) == ["1", "2", "3", "4", "5"]
    assert await group.counts("lag", "dead") == (0, 0)


async def test_a_reader_that_has_seen_enough_fails_no_event(url: str, client: httpx.AsyncClient) -> None:
    group = await create_group(client, ordering="none")
    await group.publish(*range(100))
    script = 'set -o pipefail; "$0" consume orders billing --once --exec "sleep 0.1; cat" | head -n 1'
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", script, GAPLESS, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(GAPLESS_URL=url),
    )  # fmt: skip
    out, err = await process.communicate()
    assert (process.returncode, out) == (0, b"0\n"), err
    acked, lag = await group.counts("acked", "lag")
    assert (acked + lag, acked > 0, lag > 10) == (100, True, True)
    assert (await group.post("claim", {"member": "m"}))["lease"]["attempt"] == 1
