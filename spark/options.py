"""The options of the data source, checked as soon as Spark names them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

COMMON = ("topic", "transport", "url", "token", "dsn")
READ = (
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "maxOffsetsPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "columns",
    "fetchEvents",
    "pushFilters",
)
WRITE = (
    "partition",
    "source",
    "type",
    "chunkEvents",
    "chunkBytes",
    "jobId",
    "atomic",
    "retryTimeout",
)
SPARK = frozenset({"path", "paths", "checkpointlocation", "queryname", "numpartitions"})
"""What Spark itself may add; such names mean nothing here."""

TOPIC = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")

TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")

Transport = Literal["http", "direct"]


class OptionError(ValueError):
    """An option is wrong. Options that may hold a password are never quoted."""

    def __init__(self, name: str, got: str | None, allowed: str) -> None:
        super().__init__(f"option {name} {self._said(got)}; allowed: {allowed}")
        self.name = name
        self.got = got
        self.allowed = allowed

    def __reduce__(self) -> tuple[type["OptionError"], tuple[str, str | None, str]]:
        return type(self), (self.name, self.got, self.allowed)

    def _said(self, got: str | None) -> str:
        return "is missing" if got is None else f"is {got!r}"


class UnknownOption(OptionError):
    """Its value is not quoted: it may be a dsn under a misspelt name."""

    def _said(self, got: str | None) -> str:
        return "is not known"


@dataclass(frozen=True)
class Endpoint:
    """A topic, and the way to it. `token`, `url` and `dsn` may be secrets, and are in no `repr`."""

    topic: str
    transport: Transport
    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    dsn: str = field(default="", repr=False)

    @property
    def authorization(self) -> dict[str, str]:
        """As headers of a request to the service."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def address(self) -> str:
        """Of the service, without what may stand before the host or behind the port."""
        url = urlsplit(self.url)
        return f"{url.scheme}://{url.netloc.rpartition('@')[2]}"


class Given:
    """Options as Spark hands them over; refuses those that `known` does not name."""

    def __init__(
        self, options: Mapping[str, str], known: Collection[str], elsewhere: Collection[str]
    ) -> None:
        self._values = {name.lower(): value for name, value in options.items()}
        names = {name.lower() for name in known}
        for name, value in self._values.items():
            if name in names or name in SPARK:
                continue
            misplaced = [other for other in elsewhere if other.lower() == name]
            if misplaced:
                raise OptionError(misplaced[0], value, f"not here, only {', '.join(known)}")
            raise UnknownOption(name, None, ", ".join(known))

    def text(self, name: str) -> str | None:
        return self._values.get(name.lower())

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in ("true", "false"):
            raise OptionError(name, value, "true, false")
        return value.lower() == "true"

    def integer(self, name: str, low: int, high: int) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not re.fullmatch(r"-?\d{1,18}", value.strip(), re.ASCII) or not low <= int(value) <= high:
            raise OptionError(name, value, f"a whole number from {low} to {high}")
        return int(value)


def endpoint(given: Given) -> Endpoint:
    """Of the common options."""
    topic = given.text("topic")
    if topic is None or not TOPIC.fullmatch(topic):
        raise OptionError("topic", topic, "the name of a topic, [a-z0-9][a-z0-9._-]{0,199}")
    url, dsn = given.text("url"), given.text("dsn")
    match given.text("transport"):
        case None if url is not None and dsn is not None:
            raise OptionError("transport", None, "http or direct, as both url and dsn are given")
        case None if url is None and dsn is None:
            raise OptionError("url", None, "the address of the service, or else a dsn of its database")
        case None:
            transport: Transport = "http" if dsn is None else "direct"
        case "http":
            transport = "http"
        case "direct":
            transport = "direct"
        case other:
            raise OptionError("transport", other, "http, direct")
    token = given.text("token")
    if transport == "http":
        return Endpoint(topic, transport, url=_url(url), token=_token(token))
    if token is not None:
        raise OptionError("token", "something", "nothing, as the transport is direct: the dsn says who it is")
    return Endpoint(topic, transport, dsn=_dsn(dsn))


def _url(url: str | None) -> str:
    if url is None:
        raise OptionError("url", None, "the address of the service, as transport is http")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise OptionError("url", "something else", "http://host:port or https://host:port")
    return url.rstrip("/")


def _token(token: str | None) -> str:
    # Checked here because the HTTP client quotes a header that it cannot send.
    if token is not None and not TOKEN.fullmatch(token):
        raise OptionError("token", "something else", "the token of an API key, or a JWT")
    return token or ""


def _dsn(dsn: str | None) -> str:
    if dsn is None:
        raise OptionError("dsn", None, "how to connect to the database, as transport is direct")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(dsn)
    except ProgrammingError:
        raise OptionError("dsn", "something else", "postgresql://user@host/database") from None
    return dsn
