"""`gapless sub`: groups from their creation to their end, and how they are told to be."""

import asyncio
import json
import os
import pty

import httpx
import pytest

from tests.support.cli import start
from tests.support.http_group import Group, create_group
from tests.support.service import ThreadService
from tests.support.wait import PATIENCE_SECONDS
from tests.support.warm_cli import WarmCli


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


async def test_a_group_is_created_changed_shown_and_deleted(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    await client.put("/v1/topics/orders", json={"partitions": 2})
    assert (await warm_cli("sub", "list", "orders", url=url)).out == b""
    settings = [
        "--ordering", "key", "--on-dead-letter", "block", "--lease-seconds", "20", "--max-attempts", "3",
        "--backoff", "0.5", "--max-backoff", "60", "--max-in-flight", "1000", "--heartbeat", "5",
        "--heartbeat-timeout", "600",
    ]  # fmt: skip
    create = ["sub", "create", "orders", "billing", "--from", "earliest", *settings]
    created = await warm_cli(*create, url=url)
    assert (created.out, created.err) == (b"group billing of orders created, from earliest\n", "")
    assert (await warm_cli(*create, url=url)).out == b"group billing of orders was there already\n"
    other = await warm_cli("sub", "create", "orders", "billing", "--ordering", "none", url=url)
    assert (other.code, "(subscription_conflict)" in other.err) == (1, True)
    changes = ["--heartbeat-timeout", "none", "--max-in-flight", "off", "--on-dead-letter", "continue"]
    changed = await warm_cli("sub", "alter", "orders", "billing", *changes, url=url)
    assert changed.code == 0, changed
    assert changed.out.startswith(b"group billing of orders changed: on_dead_letter, ")
    shown = (await warm_cli("sub", "show", "orders", "billing", "--json", url=url)).json_lines[0]
    expected = {
        "name": "billing", "status": "ACTIVE", "ordering": "key", "on_dead_letter": "continue",
        "lease_seconds": 20, "max_attempts": 3, "backoff_seconds": 0.5, "max_backoff_seconds": 60,
        "max_in_flight": None, "heartbeat_seconds": 5, "heartbeat_timeout_seconds": None, "lag": 0,
    }  # fmt: skip
    assert {name: shown.get(name) for name in expected} == expected
    await create_group(client, name="audit", partitions=2)
    await Group(client, "orders", "audit").publish(1, 2, 3, key="a")
    audit = await Group(client, "orders", "audit").post("claim", {"member": "m", "max_events": 1})
    await Group(client, "orders", "audit").post(f"leases/{audit['lease']['token']}/reject")
    listed = (await warm_cli("sub", "list", "orders", url=url)).out.decode().splitlines()
    assert [line.split()[:5] for line in listed] == [
        ["NAME", "STATUS", "LAG", "DEAD", "ORDERING"],
        ["audit", "ACTIVE", "2", "1", "partition"],
        ["billing", "ACTIVE", "3", "0", "key"],
    ]
    assert (await warm_cli("sub", "delete", "orders", "billing", url=url)).code == 2
    assert (await warm_cli("sub", "delete", "orders", "billing", "--yes", url=url)).code == 0
    gone = await warm_cli("sub", "show", "orders", "billing", url=url)
    assert (gone.code, "(subscription_not_found)" in gone.err) == (1, True)


async def test_creating_a_group_again_needs_only_what_it_was_created_with(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    await client.put("/v1/topics/orders")
    plain = await warm_cli("sub", "create", "orders", "audit", url=url)
    assert plain.out == b"group audit of orders created, from latest\n"
    create = ["sub", "create", "orders", "billing"]
    assert (await warm_cli(*create, "--from", "earliest", url=url)).code == 0
    again = await warm_cli(*create, url=url)
    assert (again.code, again.out) == (0, b"group billing of orders was there already\n"), again
    other = await warm_cli(*create, "--max-attempts", "9", url=url)
    assert other.code == 1
    assert other.err.endswith("\ngapless: `gapless sub alter orders billing` changes it\n"), other
    fixed = await warm_cli(*create, "--from", "latest", url=url)
    assert (fixed.code, "has another start" in fixed.err, "sub alter" in fixed.err) == (1, True, False)


async def test_the_health_of_a_group_is_shown_for_people(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    group = await create_group(client, heartbeat_timeout_seconds=3600)
    await group.publish(*range(12))
    claim = await group.post("claim", {"member": "m", "max_events": 10})
    lease = claim["lease"]["token"]
    await group.post(f"leases/{lease}/ack", {"up_to": 4})
    await group.post(f"leases/{lease}/reject", {"offsets": [5], "reason": "no good"})
    beat = await warm_cli("sub", "heartbeat", "orders", "billing", "--member", "m", url=url)
    assert beat.out == b"group billing of orders is ACTIVE\n"
    await warm_cli("sub", "pause", "orders", "billing", "--reason", "moving house", url=url)
    await warm_cli("sub", "pause", "orders", "billing", url=url)
    out = (await warm_cli("sub", "show", "orders", "billing", url=url)).out.decode()
    found = {line[:20].strip(): line[21:] for line in out.split("\n\n")[0].splitlines()}
    assert found["group"] == "billing of orders"
    assert (found["status"], found["reason"]) == ("PAUSED", "moving house")
    assert found["since"].endswith(" s ago)")
    assert " s ago)" in found["last heartbeat"]
    assert found["lag"].startswith("11 events")
    assert [found[name] for name in ("waiting", "retrying", "dead", "discarded")] == ["2", "0", "1", "0"]
    assert (found["lease"], found["max attempts"], found["on dead letter"]) == ("30 s", "5", "continue")
    assert found["heartbeat"] == "every 10 s, DEAD after 1 h 0 min without"
    heads, row = out.split("\n\n")[1].splitlines()
    assert heads.split()[:4] == ["PARTITION", "EARLIEST", "TIP", "POSITION"]
    assert heads.split()[-3:] == ["DEAD", "DISCARDED", "SKIPPED"]
    assert row.split()[:5] == ["0", "1", "12", "11", "11"]
    assert "RETRYING counts" not in out
    await group.post(f"leases/{lease}/release")
    out = (await warm_cli("sub", "show", "orders", "billing", url=url)).out.decode()
    assert out.endswith(
        "\n\nRETRYING counts events that wait for another delivery, also those that were given back.\n"
    )


async def test_who_holds_what_is_listed_for_people_and_programs(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    await client.put("/v1/topics/orders")
    await warm_cli("sub", "create", "orders", "billing", "--from", "earliest", url=url)
    nobody = await warm_cli("sub", "leases", "orders", "billing", url=url)
    assert (nobody.code, nobody.out) == (0, b"")
    assert nobody.err == "nobody holds events of group billing of orders\n"
    await client.post("/v1/topics/orders/events", json={"events": [{"data": n} for n in range(3)]})
    await client.post(
        "/v1/topics/orders/subscriptions/billing/claim", json={"member": "worker-1", "max_events": 2}
    )
    heads, row = (await warm_cli("sub", "leases", "orders", "billing", url=url)).out.decode().splitlines()
    assert heads.split()[:5] == ["PARTITION", "OFFSETS", "EVENTS", "ATTEMPT", "MEMBER"]
    assert row.split()[:5] == ["0", "1-2", "2", "1", "worker-1"]
    (lease,) = (
        await warm_cli("sub", "leases", "orders", "billing", "--partition", "0", "--json", url=url)
    ).json_lines[0]
    assert (lease["member"], lease["last_offset"]) == ("worker-1", 2)


async def test_a_group_is_paused_resumed_sought_and_cancelled(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    group = await create_group(client, partitions=2)
    for key in ("a", "b", "c"):
        await group.publish(1, 2, 3, 4, key=key)
    tips = {p["partition"]: p["tip"] for p in (await group.health())["partitions"]}
    await group.post("claim", {"member": "m"})

    paused = await warm_cli("sub", "pause", "orders", "billing", url=url)
    assert paused.out == b"group billing of orders is PAUSED\n"
    resumed = await warm_cli("sub", "resume", "orders", "billing", "--json", url=url)
    assert resumed.json_lines[0]["status"] == "ACTIVE"

    dry = await warm_cli("sub", "seek", "orders", "billing", "--to", "latest", "--dry-run", url=url)
    assert dry.err.startswith("a dry run: nothing was changed; 0 events would come again")
    rows = [line.split() for line in dry.out.decode().splitlines()]
    heads = "PARTITION FROM TO LEASES WOULD BE LOST DEAD LETTERS WOULD BE REMOVED"
    assert rows[0] == heads.split()
    assert [(int(row[0]), int(row[2])) for row in rows[1:]] == [(p, tip + 1) for p, tip in tips.items()]
    assert sum(int(row[3]) for row in rows[1:]) == 1
    assert (await positions(group)) != [tip + 1 for tip in tips.values()]
    places = ",".join(f"{partition}:{tip}" for partition, tip in tips.items() if tip)
    assert (await warm_cli("sub", "seek", "orders", "billing", "--to", places, "--yes", url=url)).code == 0
    assert (await positions(group)) == [max(tip, 1) for tip in tips.values()]
    again = (await positions(group))[0] - 1
    one = ["sub", "seek", "orders", "billing", "--to", "earliest", "--partition", "0"]
    unsaid = await warm_cli(*one, url=url)
    assert (unsaid.code, unsaid.out, unsaid.err) == (
        2,
        b"",
        "gapless: this moves group billing of orders in partition 0 to earliest "
        f"({again} events again); say so with --yes\n",
    )
    moved = await warm_cli(*one, "--yes", url=url)
    assert "LEASES LOST  DEAD LETTERS REMOVED" in moved.out.decode()
    assert moved.err == f"the group goes on from there; {again} events come again\n"
    assert (await positions(group))[0] == 1
    assert (await warm_cli(*one, "--yes", "--json", url=url)).json_lines[0]["dry_run"] is False

    assert (await warm_cli("sub", "cancel", "orders", "billing", url=url)).code == 2
    cancelled = await warm_cli(
        "sub", "cancel", "orders", "billing", "--yes", "--reason", "sold", "--json", url=url
    )
    assert json.loads(cancelled.out)["reason"] == "sold"
    refused = await warm_cli("sub", "resume", "orders", "billing", url=url)
    assert (refused.code, "(subscription_conflict)" in refused.err) == (1, True)


async def test_a_seek_says_how_many_events_come_again_and_how_many_are_passed_over(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    group = await create_group(client)
    await group.publish(1, 2, 3, 4)
    for arguments, said in (
        (("latest", "--dry-run"), "0 events would come again, 4 events would be passed over"),
        (("4", "--yes"), "0 events come again, 3 events are passed over"),
        (("latest", "--yes"), "0 events come again, 1 event is passed over"),
        (("4", "--yes"), "1 event comes again"),
        (("earliest", "--dry-run"), "3 events would come again"),
    ):
        sought = await warm_cli("sub", "seek", "orders", "billing", "--to", *arguments, url=url)
        assert sought.err.removesuffix("\n").endswith(f"; {said}"), sought


async def positions(group: Group) -> list[int]:
    return [partition["position"] for partition in (await group.health())["partitions"]]


async def test_what_is_wrong_is_told_in_one_line_and_what_is_missing_with_how_to_make_it(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    unknown = await warm_cli("sub", "list", "orders", url=url)
    assert (unknown.code, "(topic_not_found)" in unknown.err) == (1, True)
    await client.put("/v1/topics/orders", json={})
    for arguments, code, text in (
        (["create", "orders", "Bad Name"], 1, "(invalid_subscription_name)"),
        (["create", "orders", "a/b"], 2, "is not the name of a group"),
        (["create", "orders", "g", "--max-attempts", "0"], 1, "(invalid_argument)"),
        (["create", "orders", "g", "--max-in-flight", "many"], 2, "--max-in-flight is a number or none"),
        (
            ["alter", "orders", "g", "--max-in-flight", "nan"],
            2,
            "is a number or none, not 'nan'",
        ),
        (
            ["alter", "orders", "g", "--heartbeat-timeout", "1e999"],
            2,
            "--heartbeat-timeout is a number or none",
        ),
        (["create", "orders", "g", "--lease-seconds", "nan"], 2, "--lease-seconds is a number, not nan"),
        (["create", "orders", "g", "--lease-seconds", "inf"], 2, "--lease-seconds is a number, not inf"),
        (["alter", "orders", "g", "--backoff", "-inf"], 2, "--backoff is a number, not -inf"),
        (["seek", "orders", "g", "--to", "9" * 5_000], 2, "a place is earliest, latest, a time"),
        (["pause", "orders", "g", "--reason", "caf\udce9"], 2, "an argument is not UTF-8: b'caf\\xe9'"),
        (["heartbeat", "orders", "g", "--member", "caf\udce9"], 2, "--member is not UTF-8: b'caf\\xe9'"),
        (["create", "orders", "g", "--from", "99"], 1, "Offset 99 of partition 0 lies beyond its end"),
        (["create", "orders", "g", "--from", "2026-11-28T09:30:00"], 2, "needs a zone, as in 2026-11-28T09:"),
        (["create", "orders", "g", "--from", "2026-11-28"], 2, "a time needs a zone"),
        (["seek", "orders", "g", "--to", "soon"], 2, "such as 0:17,1:40, not 'soon'"),
        (["seek", "orders", "g", "--to", "2026-11-31T09:30:00Z"], 2, "a place is earliest, latest, a time"),
        (["seek", "orders", "g", "--to", "20261128T093000Z"], 2, "a place is earliest, latest, a time"),
        (["seek", "orders", "g", "--to", "2026-11-28T09:30:00.5+01:00"], 1, "(subscription_not_found)"),
        (["alter", "orders", "g"], 2, "give at least one setting"),
    ):
        result = await warm_cli("sub", *arguments, url=url)
        told = 2 if "not_found" in text else 1
        assert (result.code, text in result.err, result.err.count("\n")) == (code, True, told), result


async def answered(
    answer: bytes, *arguments: str, url: str, **variables: str
) -> tuple[int | None, bytes, str]:
    """What becomes of a command whose question is answered at a terminal."""
    ours, theirs = pty.openpty()
    try:
        process = await start(arguments, url=url, stdin=theirs, **variables)
        os.write(ours, answer + b"\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await process.communicate()
    finally:
        os.close(ours)
        os.close(theirs)
    return process.returncode, out, err.decode()


async def test_who_answers_no_has_changed_nothing(url: str, client: httpx.AsyncClient) -> None:
    group = await create_group(client)
    code, _, err = await answered(b"n", "sub", "delete", "orders", "billing", url=url)
    assert (code, err.endswith("nothing was changed\n")) == (1, True), err
    assert (await group.health())["status"] == "ACTIVE"


async def test_an_answer_that_is_no_text_is_no_yes(url: str, client: httpx.AsyncClient) -> None:
    group = await create_group(client)
    # As Python reads in all locales but C and POSIX.
    strict = {"PYTHONIOENCODING": "utf-8:strict"}
    code, _, err = await answered(b"\xff", "sub", "delete", "orders", "billing", url=url, **strict)
    assert (code, err.endswith("[y/N]: nothing was changed\n")) == (1, True), err
    assert (await group.health())["status"] == "ACTIVE"


async def test_who_moves_a_group_is_asked_with_what_comes_of_it_beside_the_answer(
    url: str, client: httpx.AsyncClient
) -> None:
    group = await create_group(client)
    await group.publish(1, 2, 3, 4)
    lease = (await group.post("claim", {"member": "m", "max_events": 3}))["lease"]["token"]
    await group.post(f"leases/{lease}/ack", {"up_to": 1})
    await group.post(f"leases/{lease}/reject", {"offsets": [2]})
    seek = ["sub", "seek", "orders", "billing", "--json", "--to"]
    code, out, err = await answered(b"n", *seek, "latest", url=url)
    assert (code, out) == (1, b"")
    outcome = "0 events again, 1 event passed over, 1 lease lost"
    assert err == f"Move group billing of orders to latest ({outcome})? [y/N]: nothing was changed\n"
    assert (await positions(group)) == [4]
    code, out, err = await answered(b"y", *seek, "earliest", url=url)
    assert (code, json.loads(out)["dry_run"]) == (0, False)
    outcome = "3 events again, 1 lease lost, 1 dead letter removed"
    assert err == f"Move group billing of orders to earliest ({outcome})? [y/N]: "
    assert (await positions(group)) == [1]


async def test_the_defaults_of_settings_are_those_of_new_groups(warm_cli: WarmCli) -> None:
    created, altered = [
        " ".join((await warm_cli("sub", verb, "--help", url="http://127.0.0.1:1")).out.decode().split())
        for verb in ("create", "alter")
    ]
    for default in ("latest", "partition", "at_least_once", "continue", 30, 5, 1, 300, "none", 10):
        assert f"[default: {default}]" in created
    assert "[default:" not in altered
