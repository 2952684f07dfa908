"""What the routes work with, put together by `main` when the service starts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from app.api.access import Access
from app.api.decoding import Decoding
from app.api.malformed import Malformed
from app.db.dead_letters import DeadLetterStore
from app.db.groups import GroupStore
from app.db.keys import KeyStore
from app.db.store import Store
from app.live.bodies import Bodies
from app.live.claims import Claims
from app.live.group_commit import GroupCommit
from app.live.rates import Rates
from app.live.streams import Streams
from app.live.tail import Tail
from app.settings import Settings
from app.telemetry.exposition import Exposition
from app.telemetry.tracing import Tracing

Check = Callable[[], Awaitable[str | None]]
Checks = Mapping[str, Check]
"""What has to be well, by name, in the order of asking; a check raises GaplessError when it is not, and may
answer a warning when it is."""


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    store: Store
    groups: GroupStore
    dead_letters: DeadLetterStore
    keys: KeyStore
    commits: GroupCommit
    tail: Tail
    streams: Streams
    claims: Claims
    rates: Rates
    bodies: Bodies
    access: Access
    decoding: Decoding
    malformed: Malformed
    checks: Checks
    lacking: str | None
    """Why nothing could be served when the process started."""
    exposition: Exposition
    tracing: Tracing | None
    """None costs nothing."""
    stopping: asyncio.Event
    """Set when the process has been told to end."""


def parts(request: Request) -> Parts:
    return cast(Parts, request.scope["app"].parts)
