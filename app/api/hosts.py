"""By which names the service may be asked.

A page whose name was given this machine's address after it was loaded (DNS rebinding) is of the service's own
origin to its browser, so no check of origins stops it. What it cannot help is to send its name as the Host.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from starlette.types import Scope

from app.errors import HostNotAllowed
from app.settings import Settings

NO_NAME_OF_OURS = (
    "The request's Host is not a name of this service; an operator adds names with GAPLESS_ALLOWED_HOSTS."
)
MAX_REMEMBERED = 1_000
MAX_HOST_BYTES = 261
"""A name of 253, a final dot, a colon and a port: nothing longer is looked at, or remembered."""


class Hosts:
    """Takes the names of the loopback, which no site has, and those of `allowed_hosts`, at any port."""

    def __init__(self, allowed: Iterable[str]) -> None:
        names = [name for name in allowed if not name.startswith("*.")]
        self._names = frozenset(("localhost", *names))
        self._endings = (".localhost", *(name[1:] for name in allowed if name.startswith("*.")))
        # Looked at for every request, and nearly always one of the same few.
        self._takes = lru_cache(MAX_REMEMBERED)(self._judge)

    @classmethod
    def of(cls, settings: Settings) -> "Hosts | None":
        """None where any name will do: callers prove who they are, or all may call on purpose."""
        exposed = settings.authentication == "off" and settings.listens_on_loopback
        if "*" in settings.allowed_hosts or not (settings.allowed_hosts or exposed):
            return None
        return cls(settings.allowed_hosts)

    def refusal(self, scope: Scope) -> HostNotAllowed | None:
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) == 1 and len(given[0]) <= MAX_HOST_BYTES and self._takes(given[0]):
            return None
        return HostNotAllowed(NO_NAME_OF_OURS)

    def _judge(self, host: bytes) -> bool:
        name = _without_port(host.decode("latin-1").lower())
        return name in self._names or name.endswith(self._endings) or _is_loopback(name)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _is_loopback(name: str) -> bool:
    bracketed = name.startswith("[") and name.endswith("]")
    try:
        address = ipaddress.ip_address(name[1:-1] if bracketed else name)
    except ValueError:
        return False
    return address.is_loopback and bracketed == (address.version == 6)
