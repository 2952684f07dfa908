"""Every setting of the service, with its unit in its name. Read once, passed down, never global."""

import difflib
import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIB = 1024 * 1024
LOOPBACK = ("127.0.0.1", "::1", "localhost")
ALGORITHMS = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Of these the verifier needs a public key only; whoever verifies by a shared secret can sign as well."""

PREFIX = "GAPLESS_"
_OF_OTHERS = {
    "URL",
    "TOKEN",
    "TOKEN_FILE",
    "OWNER_PASSWORD",
    "SERVICE_PASSWORD",
    "NETWORK",
    "SITE",
    "REPLICAS",
    "SOAK",
}
"""Read by the other commands, the tests, and what `docker/` sets up."""
# Kubernetes and Docker's links announce a service called gapless to all containers like that, its own too.
_ANNOUNCED = re.compile(
    r"(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)|TEST_\w+"
)
# Its address they announce under the name of our port.
_ADDRESS = re.compile(r"(?:tcp|udp|sctp)://")

_HOST = re.compile(r"\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")

Words = Annotated[list[str], NoDecode]
"""In the environment a list is written with commas, or as JSON."""


class Settings(BaseSettings):
    """Environment variables start with `GAPLESS_`; `DATABASE_URL` is understood too."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    access_log: bool = False
    workers: int = Field(default=1, ge=1, le=64)
    """Processes that serve; each keeps limits of its own and has a pool of its own."""
    forwarded_allow_ips: str = ""
    """Addresses and networks of proxies, by commas, whose X-Forwarded-For is believed; `*` for any."""
    log_format: Literal["json", "text"] | None = None
    """By default text on a terminal and JSON elsewhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    metrics_max_topics: int = Field(default=1_000, ge=1)
    metrics_cache_seconds: float = Field(default=10.0, ge=0)
    metrics_dir: Path | None = None
    """Where several workers, and nobody else, keep their metrics, so that each of them can answer for all;
    the process that starts them makes one."""
    otlp_endpoint: str | None = Field(
        default=None,
        validation_alias=AliasChoices("GAPLESS_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    )

    accept_data_loss: bool = False
    """Be ready with a database whose synchronous_commit, fsync or full_page_writes is off."""
    min_free_bytes: int = Field(default=256 * MIB, ge=0)
    """Not ready with less room than that for the embedded PostgreSQL's data."""
    max_loop_lag_seconds: float = Field(default=5.0, gt=0)

    database_url: str | None = Field(
        default=None, validation_alias=AliasChoices("GAPLESS_DATABASE_URL", "DATABASE_URL")
    )
    listen_database_url: str | None = None
    """A direct connection for LISTEN where `database_url` leads to a transaction pooler."""
    pooled: bool = False
    """`database_url` leads to a transaction pooler: no prepared statements, no session state."""
    data_dir: Path = Path("gapless-data")
    postgres_bin: Path | None = None

    authentication: Literal["off", "on"] = "off"
    """`on` as soon as anything about JWTs is set."""
    key_refresh_seconds: float = Field(default=5.0, gt=0, le=60)
    """How long a key that was revoked elsewhere may still be taken. Not bound to `ping_seconds`, which is set
    for proxies."""
    session_seconds: float = Field(default=43_200.0, gt=0, le=31_622_400)
    """At most a leap year, as the database has it."""
    ticket_seconds: float = Field(default=30.0, gt=0, le=300)
    allowed_hosts: Words = []
    """Names beside those of the loopback that callers may know the service by; `*.` before one means all
    below it, and `*` any. Without any, all will do but on loopback addresses without authentication."""
    cors_origins: Words = []
    """Other sites whose pages may read answers, each as its browser names it: `https://app.example`."""

    hsts_seconds: int = Field(default=0, ge=0)
    """Tell browsers for so long to come over HTTPS only; 0 where the service is reached without it."""

    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    jwt_jwks_url: str | None = None
    jwt_jwks_file: Path | None = None
    jwt_algorithms: Words = ["RS256", "ES256", "EdDSA"]
    jwt_scope_claim: str = Field(default="scope", min_length=1)
    jwt_refresh_seconds: float = Field(default=300.0, gt=0)
    """How long a key that the issuer took back may still be believed."""

    pool_min: int = Field(default=2, ge=0)
    pool_max: int = Field(default=10, ge=2)
    acquire_seconds: float = Field(default=2.0, gt=0)
    statement_seconds: float = Field(default=30.0, gt=0)
    lock_seconds: float = Field(default=2.0, gt=0)

    poll_seconds: float = Field(default=1.0, gt=0)
    maintenance_seconds: float = Field(default=5.0, gt=0)
    """Between two looks at which logs need their next segment."""
    cleaning_seconds: float = Field(default=5.0, gt=0)
    """Between two rounds of retention, sweeping and dropping."""
    audit_retention_seconds: int | None = Field(default=None, ge=86_400, le=315_360_000)
    """How long the audit log is kept; for ever without it, as nobody should lose entries by an upgrade."""

    max_event_bytes: int = Field(default=MIB, gt=0)
    max_request_bytes: int = Field(default=16 * MIB, gt=0)
    bodies_max_bytes: int = Field(default=256 * MIB, gt=0)
    """Of bodies that arrive or are being stored; a caller has a quarter of it, or the largest request.
    Those up to 64 KiB are not counted."""
    max_batch_events: int = Field(default=10_000, gt=0)

    commit_max_events: int = Field(default=1_000, gt=0)
    commit_max_bytes: int = Field(default=4 * MIB, gt=0)
    queue_max_events: int = Field(default=20_000, gt=0)
    queue_max_bytes: int = Field(default=64 * MIB, gt=0)

    page_max_events: int = Field(default=1_000, gt=0)
    page_max_bytes: int = Field(default=4 * MIB, gt=0)
    max_wait_seconds: float = Field(default=30.0, gt=0)

    ring_max_events: int = Field(default=20_000, gt=0)
    ring_max_bytes: int = Field(default=16 * MIB, gt=0)
    stream_max_topics: int = Field(default=100, gt=0, le=1_000)
    """At most as many as a ticket may be for."""
    max_streams: int = Field(default=10_000, gt=0)
    max_streams_per_token: int = Field(default=100, ge=0)
    """Opened with one API key or JWT; 0 is no limit, as for all limits of callers."""
    max_streams_per_caller: int = Field(default=1_000, ge=0)
    """The same with the tickets that the key or JWT made for others."""
    max_streams_per_address: int = Field(default=0, ge=0)
    """Behind a proxy it needs `forwarded_allow_ips`: all clients would have the proxy's address."""
    publish_bytes_per_second: float = Field(default=0, ge=0)
    """Of one caller, and so are the next two; `burst_seconds` of it may come at once."""
    publish_events_per_second: float = Field(default=0, ge=0)
    claims_per_second: float = Field(default=0, ge=0)
    burst_seconds: float = Field(default=10.0, gt=0)
    ping_seconds: float = Field(default=15.0, gt=0)
    send_timeout_seconds: float = Field(default=30.0, gt=0)
    header_seconds: float = Field(default=10.0, gt=0)
    """For a client to send a whole request head, from its first byte or the beginning of the connection."""
    body_seconds: float = Field(default=30.0, gt=0)
    """For a client to send a body; each 10 kB that came add a second."""
    max_header_bytes: int = Field(default=65_536, gt=0)
    retry_milliseconds: int = Field(default=2_000, gt=0)
    drain_seconds: float = Field(default=5.0, gt=0)

    @property
    def listens_on_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def accepts_jwt(self) -> bool:
        return self.jwt_issuer is not None

    @field_validator("port", mode="before")
    @classmethod
    def _number(cls, given: Any) -> Any:
        announced = isinstance(given, str) and _ADDRESS.match(given)
        return cls.model_fields["port"].default if announced else given

    @field_validator("database_url", "listen_database_url")
    @classmethod
    def _of_postgresql(cls, given: str | None) -> str | None:
        """What can never lead to a database is told at the start, not taken for one that is away."""
        if given is not None and not given.startswith(("postgresql://", "postgres://")):
            raise ValueError("must begin with postgresql://")
        return given

    @field_validator("allowed_hosts", "cors_origins", "jwt_algorithms", mode="before")
    @classmethod
    def _words(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        if given.lstrip().startswith("["):
            return _json_list(given)
        return [word.strip() for word in given.split(",") if word.strip()]

    @field_validator("allowed_hosts")
    @classmethod
    def _hosts(cls, given: list[str]) -> list[str]:
        for host in given:
            if _HOST.fullmatch(host) is None:
                raise ValueError(
                    f"{host} is not a host such as gapless.example, *.example or [fd00::1]; "
                    "they are in lower case and without a port"
                )
        return given

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, given: list[str]) -> list[str]:
        for origin in given:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc}".lower():
                raise ValueError(f"{origin} is not an origin such as https://app.example, in lower case")
            if not parts.netloc or "*" in origin or "@" in origin:
                raise ValueError(f"{origin} is not the origin of one site")
        return given

    @field_validator("jwt_algorithms")
    @classmethod
    def _asymmetric(cls, given: list[str]) -> list[str]:
        refused = [name for name in given if name not in ALGORITHMS]
        if refused or not given:
            raise ValueError(f"{', '.join(refused) or 'nothing'}: must be some of {', '.join(ALGORITHMS)}")
        return given

    @field_validator("jwt_jwks_url")
    @classmethod
    def _safe_url(cls, given: str | None) -> str | None:
        if given is not None:
            parts = urlsplit(given)
            plain = parts.scheme == "http" and parts.hostname in LOOPBACK
            if not parts.hostname or not (parts.scheme == "https" or plain):
                raise ValueError("must be https, or http on this machine")
            if parts.username is not None or parts.password is not None:
                raise ValueError("must hold no user name and no password")
        return given

    @model_validator(mode="before")
    @classmethod
    def _on_with_jwt(cls, given: dict[str, Any]) -> dict[str, Any]:
        """JWTs that nobody has to show would be a surprise; so would be half of what they need."""
        named = [name for name in given if name.startswith("jwt_") and given[name] is not None]
        if not named:
            return given
        lacking = [_variable(name) for name in ("jwt_issuer", "jwt_audience") if not given.get(name)]
        if not given.get("jwt_jwks_url") and not given.get("jwt_jwks_file"):
            lacking.append("one of GAPLESS_JWT_JWKS_URL and GAPLESS_JWT_JWKS_FILE")
        if lacking:
            raise ValueError(f"{', '.join(map(_variable, named))} without {' and '.join(lacking)}")
        if given.get("jwt_jwks_url") and given.get("jwt_jwks_file"):
            raise ValueError("give GAPLESS_JWT_JWKS_URL or GAPLESS_JWT_JWKS_FILE, not both")
        return {**given, "authentication": "on"}

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        if self.pool_min > self.pool_max:
            raise ValueError("GAPLESS_POOL_MIN is larger than GAPLESS_POOL_MAX")
        if self.max_event_bytes > self.max_request_bytes:
            raise ValueError("GAPLESS_MAX_EVENT_BYTES is larger than GAPLESS_MAX_REQUEST_BYTES")
        if self.max_request_bytes > self.bodies_max_bytes:
            raise ValueError("GAPLESS_MAX_REQUEST_BYTES is larger than GAPLESS_BODIES_MAX_BYTES")
        return self


def unknown_variables(environment: Iterable[str]) -> Mapping[str, str | None]:
    """Names that look like settings and are none, each with the setting that was meant, if one is like it."""
    known = [name.upper() for name in Settings.model_fields]
    found: dict[str, str | None] = {}
    for variable in sorted(environment):
        name = variable.upper().removeprefix(PREFIX)
        if name == variable.upper() or name in known or name in _OF_OTHERS or _ANNOUNCED.fullmatch(name):
            continue
        like = difflib.get_close_matches(name, known, 1)
        found[variable] = PREFIX + like[0] if like else None
    return found


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _json_list(given: str) -> Any:
    try:
        return json.loads(given)
    except ValueError:
        raise ValueError("must be words with commas between them, or a JSON list") from None
