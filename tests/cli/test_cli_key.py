"""`gapless key`, and the token that every other command carries."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import asyncpg
import pytest

from app.api.paging import DEFAULT_PAGE
from app.auth.tokens import hash_token
from app.db.keys import KeyStore
from app.db.pool import Pool
from tests.cli.test_cli_serve import Served
from tests.conftest import StartService
from tests.support import listener
from tests.support.access import GUARDED, Keys
from tests.support.cli import GAPLESS, environment
from tests.support.service import ThreadService
from tests.support.warm_cli import WarmCli

TOKEN = re.compile(rb"gpls_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def database(dsn: str) -> dict[str, str]:
    """The environment of a command that no server is named to."""
    return {"url": "", "DATABASE_URL": dsn}


async def test_a_key_is_created_listed_and_revoked(
    warm_cli: WarmCli, database: dict[str, str], connection: asyncpg.Connection
) -> None:
    made = await warm_cli(
        "key", "create", "billing", "--scope", "consume:orders.*/billing", "--scope", "metrics",
        "--expires-in", "30d", **database,
    )  # fmt: skip
    assert made.code == 0
    assert TOKEN.fullmatch(made.out), "the token and nothing else, for a script to take"
    token = made.out.decode().strip()
    assert token not in made.err
    assert "consume:orders.*/billing" in made.err
    assert "shown this once" in made.err
    row = await connection.fetchrow("select * from gapless.api_key")
    assert (row["token_hash"], row["name"]) == (hash_token(token), "billing")
    assert (row["expires_at"] - row["created_at"]).days in (29, 30)
    await warm_cli("key", "create", "a", "--scope", "admin", **database)

    listed = (await warm_cli("key", "list", "--json", **database)).json_lines[0]
    assert [key["name"] for key in listed] == ["a", "billing"]
    assert set(listed[1]) == {"name", "scopes", "created_at", "created_by", "expires_at"}
    assert listed[1]["scopes"] == ["consume:orders.*/billing", "metrics"]
    assert listed[0]["expires_at"] is None
    table = (await warm_cli("key", "list", **database)).out.decode().splitlines()
    assert table[0].split() == ["NAME", "CREATED", "BY", "EXPIRES", "SCOPES"]
    assert table[2].endswith("consume:orders.*/billing metrics")

    revoked = await warm_cli("key", "revoke", "billing", **database)
    assert (revoked.code, revoked.out) == (0, b"key billing revoked\n")
    again = await warm_cli("key", "revoke", "billing", **database)
    assert (again.code, again.err.count("\n"), "key_not_found" in again.err) == (1, 1, True)


async def test_a_name_that_is_taken_and_what_cannot_be_a_key_are_told_in_one_line(
    warm_cli: WarmCli, database: dict[str, str]
) -> None:
    await warm_cli("key", "create", "k", "--scope", "admin", **database)
    for arguments, code, words in (
        (["k", "--scope", "admin"], 1, "key_conflict"),
        (["K", "--scope", "admin"], 1, "name of a key"),
        (["n", "--scope", "write:orders"], 1, "'write:orders' is not a scope"),
        (["n", "--scope", "admin", "--expires-in", "soon"], 2, "30d"),
        (["n", "--scope", "admin", "--expires-in", "0d"], 2, "30d"),
        (["n", "--scope", "admin", "--expires-in", "3651d"], 2, "30d"),
    ):
        refused = await warm_cli("key", "create", *arguments, **database)
        assert (refused.code, refused.out) == (code, b""), refused.err
        assert words in refused.err
        assert refused.err.count("\n") == 1
    assert (await warm_cli("key", "create", "n", **database)).code == 2


async def test_a_token_that_the_database_does_not_need_is_said_to_be_unused(
    warm_cli: WarmCli, database: dict[str, str], tmp_path: Path
) -> None:
    unused = "of DATABASE_URL itself is used, without the token of {}; --url names a server\n"
    listed = await warm_cli("key", "list", "--json", **database, GAPLESS_TOKEN="gpls_x")
    assert (listed.code, listed.err) == (0, "the database " + unused.format("GAPLESS_TOKEN")), listed
    file = tmp_path / "token"
    file.write_text("gpls_x")
    listed = await warm_cli("--token-file", file, "key", "list", "--json", **database)
    assert (listed.code, listed.err) == (0, "the database " + unused.format(file)), listed
    assert (await warm_cli("key", "list", "--json", **database)).err == ""


async def test_without_a_database_it_says_what_to_do(warm_cli: WarmCli, tmp_path: Path) -> None:
    for variables in ({}, {"DATABASE_URL": "postgresql://127.0.0.1:1/x"}):
        refused = await warm_cli("key", "list", "--data", tmp_path / "none", **variables)
        assert refused.code == 2
        for words in (f"gapless serve --data {tmp_path / 'none'}", "DATABASE_URL"):
            assert words in refused.err
    away = await warm_cli("key", "list", url="", DATABASE_URL="postgresql://me:hunter2@127.0.0.1:1/x")
    assert (away.code, away.err.count("\n"), "hunter2" in away.err) == (1, 1, False)


async def test_a_server_that_is_named_is_asked_and_no_database(
    warm_cli: WarmCli,
    database: dict[str, str],
    start_service: StartService,
    connection: asyncpg.Connection,
    tmp_path: Path,
) -> None:
    """The database is the service's own here: who is recorded tells the ways apart."""
    service = await start_service(**GUARDED)
    made = await warm_cli("key", "create", "ops", "--scope", "admin", **database)
    token = made.out.decode().strip()
    here = {"url": service.base_url, "GAPLESS_TOKEN": token, "DATABASE_URL": "postgresql://127.0.0.1:1/x"}

    made = await warm_cli("key", "create", "b", "--scope", "metrics", "--expires-in", "30d", **here)
    assert (made.code, bool(TOKEN.fullmatch(made.out))) == (0, True), made.err
    assert "key b created for metrics; it expires at " in made.err
    by = "select created_by from gapless.api_key where name = $1"
    assert await connection.fetchval(by, "b") == "key:ops"
    seen = (await warm_cli("key", "list", "--json", **here)).json_lines[0]
    assert [(key["name"], key["scopes"]) for key in seen] == [("b", ["metrics"]), ("ops", ["admin"])]
    assert set(seen[0]) == {"name", "scopes", "created_at", "created_by", "expires_at"}
    assert (await warm_cli("key", "list", **here)).out.count(b"\n") == 3
    assert (await warm_cli("key", "revoke", "b", **here)).out == b"key b revoked\n"
    again = await warm_cli("key", "revoke", "b", **here)
    assert (again.code, again.err.count("\n"), "key_not_found" in again.err) == (1, 1, True)

    elsewhere = {**here, "url": "http://127.0.0.1:1"}
    for command in (["--url", service.base_url, "key", "list"], ["key", "list", "--url", service.base_url]):
        assert b"\nops " in (await warm_cli(*command, **elsewhere)).out
        both = await warm_cli(*command, "--data", tmp_path, **elsewhere)
        assert (both.code, "give one of them" in both.err) == (2, True)
    away = await warm_cli("key", "list", **elsewhere)
    assert (away.code, "no server answers at http://127.0.0.1:1" in away.err) == (3, True)


async def test_a_long_list_of_keys_comes_whole_from_a_server(
    warm_cli: WarmCli, pool: Pool, service: ThreadService
) -> None:
    keys = Keys(pool)
    names = [f"k{number:03}" for number in range(DEFAULT_PAGE + 2)]
    for name in names:
        await keys.make(name, "metrics")
    listed = (await warm_cli("key", "list", "--json", url=service.base_url)).json_lines[0]
    assert [key["name"] for key in listed] == names


@pytest.fixture
async def guarded(tmp_path: Path, postgres_bin: Path | None) -> AsyncIterator[Served]:
    variables = {"GAPLESS_POSTGRES_BIN": str(postgres_bin)} if postgres_bin else {}
    served = Served(tmp_path / "my data", GAPLESS_AUTHENTICATION="on", **variables)
    yield await served.start()
    await served.end(signal.SIGKILL)


async def test_the_first_key_is_made_as_the_service_says(warm_cli: WarmCli, guarded: Served) -> None:
    """On the embedded PostgreSQL, while the service runs on it."""
    assert "Authentication is on" in guarded.printed
    command = re.search(r"export GAPLESS_TOKEN=\$\((.*)\)", guarded.printed)
    assert command
    shell = await asyncio.create_subprocess_shell(
        f"exec {GAPLESS} {command[1].partition(' ')[2]}",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment(),
    )  # fmt: skip
    out, err = await shell.communicate()
    assert TOKEN.fullmatch(out), err
    listed = await warm_cli("key", "list", "--data", guarded.folder, GAPLESS_TOKEN="gpls_x")
    assert listed.out.count(b"\n") == 2
    assert listed.err.startswith(f"the database of the data folder {guarded.folder} itself is used, ")
    await guarded.end()
    assert (await warm_cli("key", "list", "--data", guarded.folder)).code == 2


async def test_with_authentication_any_address_will_do(tmp_path: Path, dsn: str) -> None:
    served = Served(tmp_path, "--host", "0.0.0.0", DATABASE_URL=dsn, GAPLESS_AUTHENTICATION="on")
    await served.start()
    assert "Authentication is on" in served.printed
    assert "WARNING" not in served.printed
    assert await served.end() == 0


async def test_half_of_what_jwts_need_keeps_it_from_starting(warm_cli: WarmCli, tmp_path: Path) -> None:
    refused = await warm_cli("serve", "--data", tmp_path, GAPLESS_JWT_ISSUER="https://issuer.example")
    assert refused.code == 2
    assert "GAPLESS_JWT_AUDIENCE" in refused.err
    assert refused.err.count("\n") == 1


class Guard:
    """A server that answers everything with one problem, and remembers who came."""

    def __init__(self) -> None:
        self.status, self.code = 401, "unauthorized"
        self.heads: list[str] = []

    async def __aenter__(self) -> "Guard":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await listener.close(self._server)

    @property
    def tokens(self) -> list[str | None]:
        found = [re.search(r"^authorization: (.*)\r$", head, re.M | re.I) for head in self.heads]
        self.heads = []
        return [match[1] if match else None for match in found]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A command that was refused elsewhere may leave without a word.
        with closing(writer), suppress(asyncio.IncompleteReadError):
            await self._answer(reader, writer)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = json.dumps({"code": self.code, "detail": "Because.", "status": self.status}).encode()
        writer.write(
            f"HTTP/1.1 {self.status} X\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await writer.drain()


COMMANDS = (
    ("topic", "list"),
    ("topic", "create", "t"),
    ("publish", "t", "1"),
    ("read", "t"),
    ("tail", "t"),
    ("sub", "list", "t"),
    ("sub", "seek", "t", "g", "--to", "latest"),
    ("consume", "t", "g", "--exec", "true"),
    ("dlq", "list", "t", "g"),
    ("key", "list"),
    ("key", "create", "k", "--scope", "admin"),
    ("key", "revoke", "k"),
    ("session", "revoke", "jwt:alice"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_every_command_sends_the_token_and_a_refusal_names_where_it_comes_from(
    warm_cli: WarmCli, command: tuple[str, ...]
) -> None:
    async with Guard() as guard:
        refused = await warm_cli(*command, url=guard.url, GAPLESS_TOKEN="secret-token")
        assert set(guard.tokens) == {"Bearer secret-token"}
        assert refused.code == 1
        first, hint = refused.err.splitlines()[-2:]
        assert first == "gapless: Because. (unauthorized)"
        assert "GAPLESS_TOKEN" in hint
        assert "secret-token" not in refused.err


async def test_a_token_that_may_not_is_told_apart_from_one_that_is_not_known(warm_cli: WarmCli) -> None:
    async with Guard() as guard:
        unknown = (await warm_cli("topic", "list", url=guard.url)).err
        assert guard.tokens == [None]
        guard.status, guard.code = 403, "forbidden"
        forbidden = (await warm_cli("topic", "list", url=guard.url, GAPLESS_TOKEN="x")).err
        guard.status, guard.code = 404, "topic_not_found"
        other = (await warm_cli("topic", "list", url=guard.url)).err
    assert "`gapless key create` with its --data" in unknown
    assert "lacks a scope" in forbidden
    assert "GAPLESS_TOKEN" in forbidden
    assert "an admin sees by `gapless key list` what it has" in forbidden
    assert "GAPLESS_TOKEN" not in other


@pytest.mark.parametrize(("status", "code"), [(401, "unauthorized"), (403, "forbidden")])
async def test_a_refusal_names_the_file_of_a_token_that_came_from_one(
    warm_cli: WarmCli, tmp_path: Path, status: int, code: str
) -> None:
    file = tmp_path / "token"
    file.write_text("x")
    async with Guard() as guard:
        guard.status, guard.code = status, code
        for arguments, variables in (
            (("--token-file", str(file)), {}),
            ((), {"GAPLESS_TOKEN_FILE": str(file)}),
        ):
            refused = await warm_cli(
                *arguments, "topic", "list", url=guard.url, GAPLESS_TOKEN="unused", **variables
            )
            hint = refused.err.splitlines()[1]
            assert str(file) in hint
            assert "GAPLESS_TOKEN" not in hint


async def test_who_may_not_make_a_topic_or_group_is_told_which_scope_to_ask_for(
    warm_cli: WarmCli, start_service: StartService, keys: Keys
) -> None:
    asked = {
        "url": (await start_service(**GUARDED)).base_url,
        "GAPLESS_TOKEN": await keys.make("k", "admin:orders", "consume:other/audit"),
    }
    assert (await warm_cli("topic", "create", "orders", **asked)).code == 0
    await warm_cli("topic", "create", "other", **{**asked, "GAPLESS_TOKEN": await keys.make("o", "admin")})
    for command, scope in (
        (("topic", "create", "newone"), "admin:newone"),
        (("sub", "create", "other", "billing"), "consume:other/billing"),
        (("consume", "other", "billing", "--create", "--exec", "true"), "consume:other/billing"),
    ):
        refused = await warm_cli(*command, **asked)
        assert (refused.code, refused.err.count("\n")) == (1, 2), refused
        assert refused.err.splitlines()[1] == (
            "gapless: the token of GAPLESS_TOKEN has no scope for it: "
            f"`gapless key create NAME --scope {scope}` makes one that has"
        )
        enough = {**asked, "GAPLESS_TOKEN": await keys.make(command[0], scope)}
        if command[0] != "consume":
            assert (await warm_cli(*command, **enough)).code == 0


async def test_who_may_not_publish_is_told_so_of_the_event_and_not_of_lines(
    warm_cli: WarmCli, start_service: StartService, keys: Keys
) -> None:
    url = (await start_service(**GUARDED)).base_url
    await warm_cli("topic", "create", "orders", url=url, GAPLESS_TOKEN=await keys.make("o", "admin"))
    reader = {"url": url, "GAPLESS_TOKEN": await keys.make("r", "subscribe:orders")}
    refused = await warm_cli("publish", "orders", "1", **reader)
    said, hint = refused.err.splitlines()
    assert said == "gapless: This needs the scope `publish` for the topic 'orders'. (forbidden)"
    assert hint.startswith("gapless: the key of GAPLESS_TOKEN lacks a scope for that")
    line = await warm_cli("publish", "orders", "-", stdin=b"1\n", **reader)
    assert line.err.splitlines()[-1].startswith("gapless: line 1: This needs the scope")


async def test_what_only_a_scope_may_hide_is_told_where_a_token_was_sent(warm_cli: WarmCli) -> None:
    async with Guard() as guard:
        guard.status = 404
        for guard.code in ("topic_not_found", "subscription_not_found"):
            with_token = await warm_cli("sub", "show", "t", "g", url=guard.url, GAPLESS_TOKEN="x")
            without = await warm_cli("sub", "show", "t", "g", url=guard.url)
            assert with_token.err.endswith("; a key without a scope for it is told the same\n")
            assert "makes one" in without.err
            assert "scope" not in without.err


async def test_a_token_may_lie_in_a_file_which_goes_before_the_environment(
    warm_cli: WarmCli, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\n")
    async with Guard() as guard:
        await warm_cli("--token-file", file, "topic", "list", url=guard.url, GAPLESS_TOKEN="from-variable")
        await warm_cli("topic", "list", url=guard.url, GAPLESS_TOKEN_FILE=str(file))
        await warm_cli("topic", "list", url=guard.url, GAPLESS_TOKEN=" from-variable\n")
        await warm_cli("topic", "list", url=guard.url, GAPLESS_TOKEN="")
        assert guard.tokens == ["Bearer from-file", "Bearer from-file", "Bearer from-variable", None]


async def test_what_is_no_token_is_refused_without_showing_it(warm_cli: WarmCli, tmp_path: Path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")
    async with Guard() as guard:
        for file, words in ((tmp_path / "none", "No such file"), (empty, "no token"), (binary, "no text")):
            refused = await warm_cli("--token-file", file, "topic", "list", url=guard.url)
            assert (refused.code, words in refused.err, refused.err.count("\n")) == (2, True, 1)
        for wrong in ("two words", "a\nX-Evil: yes", "é", "a\x01b"):
            refused = await warm_cli("topic", "list", url=guard.url, GAPLESS_TOKEN=wrong)
            assert (refused.code, "GAPLESS_TOKEN" in refused.err) == (2, True)
            assert wrong not in refused.err
        assert guard.heads == []


async def test_there_is_no_option_for_the_token_itself(warm_cli: WarmCli) -> None:
    """Whoever may list processes would see it."""
    refused = await warm_cli("--token", "secret", "topic", "list")
    assert refused.code == 2


async def test_sessions_of_somebody_are_ended_by_the_server_and_in_the_database(
    warm_cli: WarmCli, database: dict[str, str], start_service: StartService, keys: Keys, pool: Pool
) -> None:
    service = await start_service(**GUARDED)
    asked = {"url": service.base_url, "GAPLESS_TOKEN": await keys.make("ops", "admin")}
    for place in (asked, database):
        for session in (b"1", b"2"):
            await KeyStore(pool).create_session(None, session * 32, "jwt:alice", ["admin"], 60)
        for told in (b"2 sessions of jwt:alice ended\n", b"0 sessions of jwt:alice ended\n"):
            ended = await warm_cli("session", "revoke", "jwt:alice", **place)
            assert (ended.code, ended.out) == (0, told), ended.err
    await KeyStore(pool).create_session(None, b"1" * 32, "jwt:alice", ["admin"], 60)
    assert (await warm_cli("session", "revoke", "jwt:alice", **database)).out.startswith(b"1 session of ")
    wrong = await warm_cli("session", "revoke", "alice", **database)
    assert (wrong.code, "jwt:SUBJECT" in wrong.err) == (2, True)
