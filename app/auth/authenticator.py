"""From a token to an identity: the one place where a caller is believed."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from app.auth.identity import BY_TICKET, Identity
from app.auth.keyring import Keyring, Keys
from app.auth.scopes import Scope
from app.auth.tokens import hash_token, is_ticket, is_token
from app.errors import DatabaseUnavailable, GaplessError, Unauthorized, is_told
from app.model import Ticket
from app.outage import Outage
from app.settings import Settings

if TYPE_CHECKING:
    from app.auth.jwt import JwtVerifier

MAX_TOKEN_CHARACTERS = 16 * 1024
SPREAD = 0.1
REDEEMED_AT_ONCE = 2
"""Tickets; others wait their turn, as nothing but a stream opens by one."""
REDEEM_SECONDS = 15.0
"""For that turn, so that thousands of streams can come back together; a ticket lasts longer."""
BAD_TICKET = "The ticket is unknown, expired or used, or for other streams."

log = structlog.get_logger(__name__)


class Credentials(Keys, Protocol):
    async def redeem_ticket(self, ticket_hash: bytes) -> Ticket | None: ...


class Authenticator:
    """Made only where authentication is on."""

    def __init__(
        self,
        credentials: Credentials,
        settings: Settings,
        *,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._credentials = credentials
        self._keyring = Keyring(credentials, now=now, pause=pause)
        self._jwt = _verifier(settings, now)
        self._redeeming = asyncio.Semaphore(REDEEMED_AT_ONCE)
        self._every_seconds = settings.key_refresh_seconds
        self._now = now
        self._pause = pause

    async def identify(self, token: str) -> Identity:
        """Unauthorized for whatever is wrong with a token; DatabaseUnavailable or IssuerUnavailable, both
        temporary, where nobody can tell."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise Unauthorized()
        if is_token(token):
            return await self._keyring.find(hash_token(token))
        if self._jwt is not None:
            return await self._jwt.verify(token)
        raise Unauthorized()

    def recognise(self, token: str) -> Identity | None:
        """Whose key it is, where nobody has to be asked; of all others `identify` says what they are."""
        found = self._keyring.known(hash_token(token))
        return None if found is None or found.ends_at <= self._now() else found

    def is_valid(self, identity: Identity) -> bool:
        """Whether it has neither expired nor been revoked, as far as this process has heard."""
        if identity.ends_at <= self._now():
            return False
        return identity.key_id is None or self._keyring.holds(identity.key_id)

    async def run(self) -> None:
        """Keep up with the database and the issuer, until cancelled."""
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._follow_keys())
            if self._jwt is not None:
                loops.create_task(self._jwt.run())

    async def refresh(self) -> None:
        """Know at once what was just created or revoked."""
        await self._keyring.refresh()

    async def redeem(self, ticket: str, topics: Sequence[str], group: str | None) -> Identity:
        """Use a ticket up, for some of its topics or its group. Unauthorized if it is not good for that."""
        found = await self._redeem(hash_token(ticket)) if is_ticket(ticket) else None
        if found is None or found.subscription != group or not set(topics) <= set(found.topics) or not topics:
            raise Unauthorized(BAD_TICKET)
        identity = _identity(found, self._now())
        if not self.is_valid(identity):
            # Its key may be newer than what is known here.
            await self.refresh()
            if not self.is_valid(identity):
                raise Unauthorized(BAD_TICKET)
        return identity

    async def _redeem(self, ticket_hash: bytes) -> Ticket | None:
        """Only the database knows tickets, so anybody can have it asked; not on all connections at once."""
        try:
            async with asyncio.timeout(REDEEM_SECONDS):
                await self._redeeming.acquire()
        except TimeoutError:
            raise DatabaseUnavailable("Too many tickets are looked up at this moment.") from None
        try:
            return await self._credentials.redeem_ticket(ticket_hash)
        finally:
            self._redeeming.release()

    async def _follow_keys(self) -> None:
        outage = Outage(
            partial(log.warning, "keys_not_read"), partial(log.info, "keys_read_again"), now=self._now
        )
        while True:
            try:
                await self._keyring.refresh()
            except Exception as error:
                if not is_told(error):
                    expected = isinstance(error, GaplessError)
                    outage.failed(repr(error), error=str(error), exc_info=None if expected else error)
            else:
                outage.worked()
            # Not at the same moment as every other replica.
            await self._pause(self._every_seconds * random.uniform(1 - SPREAD, 1))  # nosec B311


def _verifier(settings: Settings, now: Callable[[], float]) -> "JwtVerifier | None":
    """Its libraries take ten megabytes, which only who accepts JWTs shall pay."""
    if not settings.accepts_jwt:
        return None
    from app.auth.jwt import JwtVerifier

    return JwtVerifier(settings, now=now)


def _identity(ticket: Ticket, now: float) -> Identity:
    ends_at = math.inf if ticket.seconds_left is None else now + ticket.seconds_left
    verb = "subscribe" if ticket.subscription is None else "consume"
    scopes = tuple(Scope(verb, topic, ticket.subscription) for topic in ticket.topics)
    return Identity(f"{BY_TICKET}{ticket.name}", scopes, ends_at, ticket.key_id)
