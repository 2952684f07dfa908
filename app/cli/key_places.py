"""Where `gapless key` finds the keys: at a server, as every other command does, or straight in its database.

Both return keys as the API writes them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import quote

from app.cli import answers
from app.cli.client import Client
from app.cli.configuration import load_settings
from app.cli.credentials import find_token, token_place
from app.cli.failures import Failure, UsageFailure
from app.cli.options import notice
from app.errors import GaplessError

if TYPE_CHECKING:
    from app.db.keys import KeyStore
    from app.model import ApiKey
    from app.settings import Settings

T = TypeVar("T")

PAGE = 1000


class Keys(Protocol):
    def create_key(self, name: str, scopes: list[str], seconds: int | None) -> tuple[dict[str, Any], str]:
        """The key and its token."""

    def list_keys(self) -> list[dict[str, Any]]: ...

    def revoke_key(self, name: str) -> int | None:
        """How many sessions ended with it, where that is told."""

    def revoke_sessions(self, name: str) -> int:
        """How many of that actor there were."""


class ServerKeys:
    """Over HTTP, which needs the token of an admin while authentication is on."""

    def __init__(self, url: str) -> None:
        self._url = url

    def create_key(self, name: str, scopes: list[str], seconds: int | None) -> tuple[dict[str, Any], str]:
        wanted = {"name": name, "scopes": scopes, "expires_in_seconds": seconds}
        with Client(self._url) as client:
            made = client.json("POST", "/v1/keys", answers.NewKey, json=wanted)
        return made, made.pop("token")

    def list_keys(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        token = ""  # nosec B105
        with Client(self._url) as client:
            while True:
                params = {"page_token": token} if token else {}
                page = client.json("GET", "/v1/keys", answers.Keys, params=params)
                found += page["keys"]
                token = page["next_page_token"]
                if not token:
                    return found

    def revoke_key(self, name: str) -> None:
        if name.strip(".") == "":
            raise UsageFailure(f"{name!r} is not the name of a key")
        with Client(self._url) as client:
            client.call("DELETE", f"/v1/keys/{quote(name, safe='')}")

    def revoke_sessions(self, name: str) -> int:
        with Client(self._url) as client:
            answer = client.json("POST", "/v1/sessions/revoke", answers.RevokedSessions, json={"name": name})
        return int(answer["sessions"])


class DatabaseKeys:
    """Whoever can reach the database can do everything with it anyway, so the first key needs no other."""

    def __init__(self, data: Path | None) -> None:
        self._data = data

    def create_key(self, name: str, scopes: list[str], seconds: int | None) -> tuple[dict[str, Any], str]:
        from app.auth.scopes import parse_scopes
        from app.auth.tokens import hash_token, new_token

        token = new_token()

        async def make(keys: "KeyStore") -> "ApiKey":
            parsed = [str(one) for one in parse_scopes(scopes)]
            return await keys.create_key(name, hash_token(token), parsed, seconds)

        return _members(self._run(make)), token

    def list_keys(self) -> list[dict[str, Any]]:
        async def pages(keys: "KeyStore") -> "list[ApiKey]":
            found: list[ApiKey] = []
            while page := await keys.list_keys(found[-1].name if found else "", PAGE):
                found += page
            return found

        return [_members(one) for one in self._run(pages)]

    def revoke_key(self, name: str) -> int:
        return self._run(lambda keys: keys.revoke_key(name))

    def revoke_sessions(self, name: str) -> int:
        return self._run(lambda keys: keys.revoke_sessions(name))

    def _run(self, work: "Callable[[KeyStore], Awaitable[T]]") -> T:
        settings = load_settings()
        dsn, place = _database(settings, self._data)
        if find_token():
            notice(f"{place} itself is used, without the token of {token_place()}; --url names a server")
        try:
            return asyncio.run(_with_keys(dsn, settings, work))
        except GaplessError as error:
            raise Failure(f"{error} ({error.code})") from error


async def _with_keys(dsn: str, settings: "Settings", work: "Callable[[KeyStore], Awaitable[T]]") -> T:
    from app.db.keys import KeyStore
    from app.db.pool import Pool

    pool = await Pool.open(dsn, settings.model_copy(update={"pool_min": 1}))
    try:
        return await work(KeyStore(pool))
    finally:
        await pool.close()


def _database(settings: "Settings", data: Path | None) -> tuple[str, str]:
    """Its address, and what to call it. A folder that was named goes before DATABASE_URL, which goes before
    the folder of the default."""
    from app.db.embedded import running_dsn

    if data is None and settings.database_url is not None:
        return settings.database_url, "the database of DATABASE_URL"
    folder = data or settings.data_dir
    try:
        dsn = running_dsn(folder)
    except PermissionError as error:
        raise Failure(f"{folder} belongs to somebody else; run this as the user of the service") from error
    if dsn is None:
        raise UsageFailure(
            f"no PostgreSQL runs on the data folder {folder}; start it with `gapless serve --data {folder}`, "
            "name the folder of a service that runs with --data, or set DATABASE_URL"
        )
    return dsn, f"the database of the data folder {folder}"


def _members(found: "ApiKey") -> dict[str, Any]:
    return {
        "name": found.name,
        "scopes": found.scopes,
        "created_at": _shown(found.created_at),
        "created_by": found.created_by,
        "expires_at": None if found.expires_at is None else _shown(found.expires_at),
    }


def _shown(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"
