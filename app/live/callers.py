"""Whom the limits count, and how many streams each has open."""

import ipaddress
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from app.errors import TooManyStreams
from app.settings import Settings

IPV6_NETWORK_BITS = 64
"""What one customer of a provider has for himself."""


class Caller(NamedTuple):
    """`name` is None for anybody: whoever has no name is limited by his address only."""

    name: str | None
    itself: bool
    """With its own key or token, not by a ticket that it made for somebody."""
    address: str | None


ANYBODY = Caller(None, False, None)


class Places:
    """Open streams by token, by caller and by address, in this process."""

    def __init__(self, settings: Settings) -> None:
        self._per_token = settings.max_streams_per_token
        self._per_caller = settings.max_streams_per_caller
        self._per_address = settings.max_streams_per_address
        self._taken: Counter[tuple[str, str]] = Counter()

    def check(self, caller: Caller) -> None:
        """Raises TooManyStreams when there is no place for one more."""
        for counted, limit in self._limits(caller):
            if self._taken[counted] >= limit:
                what, _ = counted
                raise TooManyStreams(f"This {what} already has {limit} open streams.", limit=limit)

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """Check, and keep the place until the end of the body."""
        self.check(caller)
        counted = [one for one, _ in self._limits(caller)]
        self._taken.update(counted)
        try:
            yield
        finally:
            for one in counted:
                self._taken[one] -= 1
                if not self._taken[one]:
                    del self._taken[one]

    def _limits(self, caller: Caller) -> Iterator[tuple[tuple[str, str], int]]:
        if caller.name is not None:
            if caller.itself and self._per_token:
                yield ("token", caller.name), self._per_token
            if self._per_caller:
                yield ("caller", caller.name), self._per_caller
        if caller.address is not None and self._per_address:
            yield ("address", _network(caller.address)), self._per_address


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, IPV6_NETWORK_BITS), strict=False))
