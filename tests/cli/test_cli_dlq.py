"""`gapless dlq`: dead letters are listed, looked at, redriven and discarded."""

import re

import asyncpg
import httpx
import pytest

from tests.support.http_group import Group, create_group
from tests.support.service import ThreadService
from tests.support.warm_cli import WarmCli


@pytest.fixture
async def url(service: ThreadService) -> str:
    return service.base_url


async def reject_all(group: Group, reason: str) -> None:
    while lease := (await group.post("claim", {"member": "m"}))["lease"]:
        await group.post(f"leases/{lease['token']}/reject", {"reason": reason})


async def test_dead_letters_are_listed_shown_redriven_and_discarded(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    group = await create_group(client)
    none = await warm_cli("dlq", "list", "orders", "billing", url=url)
    assert none.err == "group billing of orders has no dead letters\n"
    none = await warm_cli("dlq", "list", "orders", "billing", "--partition", "0", url=url)
    assert none.err == "group billing of orders has no such dead letters\n"
    await group.publish({"n": 1.5}, key="k1", type="order.placed")
    await group.publish(2, 3, transaction_id="t", type="order.paid")
    await group.publish(4, key="k4")
    await reject_all(group, "the till\nis on fire " + "x" * 80)

    listed = (await warm_cli("dlq", "list", "orders", "billing", url=url)).out.decode().splitlines()
    assert listed[0].split() == [
        "ID",
        "PARTITION",
        "OFFSET",
        "ATTEMPTS",
        "DEAD",
        "AT",
        "TYPE",
        "KEY",
        "REASON",
    ]
    assert [line.split()[1:4] + line.split()[5:7] for line in listed[1:]] == [
        ["0", "1", "1", "order.placed", "k1"],
        ["0", "2", "1", "order.paid", "-"],
        ["0", "3", "1", "order.paid", "-"],
        ["0", "4", "1", "-", "k4"],
    ]
    assert "the till is on fire xxx" in listed[1]
    assert listed[1].endswith("x…")
    some = await warm_cli("dlq", "list", "orders", "billing", "--key", "k1", "--json", url=url)
    (letter,) = some.json_lines
    assert (letter["offset"], letter["event"]["data"]) == (1, {"n": 1.5})
    first = str(letter["id"])
    assert (
        len(
            (await warm_cli("dlq", "list", "orders", "billing", "--limit", "3", "--json", url=url)).json_lines
        )
        == 3
    )

    shown = (await warm_cli("dlq", "show", "orders", "billing", first, url=url)).out.decode()
    assert shown.splitlines()[0] == f"dead letter          {first}"
    assert "event id             0-1\n" in shown
    assert "first offset" not in shown
    assert shown.endswith('\n{"n":1.5}\n')
    (failed,) = [line.split() for line in shown.splitlines() if line.startswith("error ")]
    assert failed[1].endswith("Z")
    in_pair = (await warm_cli("dlq", "show", "orders", "billing", str(int(first) + 1), url=url)).out.decode()
    assert "first offset         2\nlast offset          3\n" in in_pair
    missing = await warm_cli("dlq", "show", "orders", "billing", "999999", url=url)
    assert (missing.code, "(dead_letter_not_found)" in missing.err) == (1, True)

    unclear = await warm_cli("dlq", "redrive", "orders", "billing", url=url)
    assert (unclear.code, unclear.err.count("\n")) == (2, 1)
    for mixed in (["--all", "--type"], ["--id", "--key"], ["--all", "--id"]):
        options = [value for name in mixed for value in ([name] if name == "--all" else [name, "1"])]
        refused = await warm_cli("dlq", "redrive", "orders", "billing", *options, url=url)
        assert refused == (2, b"", f"gapless: {mixed[0]} cannot be combined with {mixed[1]}\n")
    one = await warm_cli("dlq", "redrive", "orders", "billing", "--id", first, url=url)
    assert one.out == b"1 event redriven\n"
    some = await warm_cli("dlq", "redrive", "orders", "billing", "--type", "order.paid", "--json", url=url)
    assert some.json_lines == [{"topic": "orders", "group": "billing", "redriven": 2}]
    again = await warm_cli("consume", "orders", "billing", "--exec", "cat", "--once", url=url)
    assert (again.code, again.out) == (0, b'{"n":1.5}\n2\n3\n')
    redriven = await warm_cli("dlq", "list", "orders", "billing", "--status", "redriven", "--json", url=url)
    assert [letter["offset"] for letter in redriven.json_lines] == [1, 2, 3]

    unsure = await warm_cli("dlq", "discard", "orders", "billing", "--all", url=url)
    assert (unsure.code, "say so with --yes" in unsure.err) == (2, True)
    discarded = await warm_cli("dlq", "discard", "orders", "billing", "--all", "--yes", url=url)
    assert discarded.out == b"1 event discarded\n"
    assert (await warm_cli("dlq", "list", "orders", "billing", "--json", url=url)).out == b""


async def test_what_others_wrote_is_shown_to_a_terminal_that_does_not_obey_it(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli
) -> None:
    group = await create_group(client)
    await group.publish(1, 2)
    evil = "a\x1b]0;b\x07c\td\re\x9b2Jf\u202eg"
    mild = "a\ufffd]0;b\ufffdc d e\ufffd2Jf\ufffdg"
    lease = (await group.post("claim", {"member": "w\x9b2J", "max_events": 1}))["lease"]
    await group.post(f"leases/{lease['token']}/reject", {"reason": evil})
    await group.post("claim", {"member": "w\x9b2J", "max_events": 1})
    await group.post("pause", {"reason": evil})
    (await client.patch("/v1/topics/orders", json={"description": "f\u202eg"})).raise_for_status()
    (letter,) = (await warm_cli("dlq", "list", "orders", "billing", "--json", url=url)).json_lines
    assert letter["reason"] == evil
    for command, shown in (
        (["dlq", "list", "orders", "billing"], mild),
        (["dlq", "show", "orders", "billing", str(letter["id"])], mild),
        (["sub", "show", "orders", "billing"], mild),
        (["sub", "list", "orders"], mild),
        (["sub", "leases", "orders", "billing"], "w\ufffd2J"),
        (["topic", "list"], "f\ufffdg"),
        (["topic", "show", "orders"], "f\ufffdg"),
    ):
        result = await warm_cli(*command, url=url)
        assert result.code == 0, result.err
        lines = result.out.decode().removesuffix("\n").split("\n")
        assert any(shown in line for line in lines), command
        assert all(line.isprintable() for line in lines), command


async def test_all_means_all_over_pages(url: str, client: httpx.AsyncClient, warm_cli: WarmCli) -> None:
    group = await create_group(client)
    await group.publish(*range(230))
    await reject_all(group, "no")
    everything = await warm_cli("dlq", "list", "orders", "billing", "--json", url=url)
    assert [letter["offset"] for letter in everything.json_lines] == list(range(1, 231))
    result = await warm_cli("dlq", "redrive", "orders", "billing", "--all", url=url)
    assert result.out == b"230 events redriven\n"
    await reject_all(group, "still no")
    assert await group.counts("dead", "lag") == (230, 0)


async def test_a_dead_letter_that_is_nested_too_deeply_is_named_and_the_others_are_shown(
    url: str, client: httpx.AsyncClient, warm_cli: WarmCli, connection: asyncpg.Connection
) -> None:
    group = await create_group(client)
    deep = "[" * 1_500 + "]" * 1_500
    for data in ('{"n":1}', deep, '{"n":3}'):
        await connection.execute("select from gapless.publish('orders', array[$1::json])", data)
    for _ in range(3):
        claimed = await client.post(f"{group.path}/claim", json={"member": "m", "max_events": 1})
        (token,) = re.findall('"token":"([^"]+)"', claimed.text)
        await group.post(f"leases/{token}/reject", {"reason": "no"})

    listed = (await warm_cli("dlq", "list", "orders", "billing", url=url)).out.decode().splitlines()[1:]
    numbers = [line.split()[0] for line in listed]
    assert [line.split()[1] for line in listed] == ["0", "-", "0"]
    assert listed[1].endswith(" nested too deeply to be read")
    as_json = await warm_cli("dlq", "list", "orders", "billing", "--json", url=url)
    assert [str(letter["id"]) for letter in as_json.json_lines] == [numbers[0], numbers[2]]
    assert as_json.err == f"dead letter {numbers[1]} is nested too deeply to be read\n"
    shown = await warm_cli("dlq", "show", "orders", "billing", numbers[1], url=url)
    assert shown.err == "gapless: the answer of the server is nested too deeply to be read\n"
    redriven = await warm_cli("dlq", "redrive", "orders", "billing", "--all", url=url)
    assert redriven.out == b"3 events redriven\n"
    consumed = await warm_cli("consume", "orders", "billing", "--exec", "cat", "--once", url=url)
    assert (consumed.code, consumed.err.splitlines()[-1]) == (
        1,
        "gapless: the data of a claimed event is nested too deeply to be read",
    )
