"""When the bodies of publishes are decoded: at once, in turn or in a thread, by their size."""

import asyncio

from app.api.contents import decode_events
from app.api.drafts import Limits
from app.api.media_types import Content, RawHeaders
from app.model import NewEvent

SHORT_BYTES = 16 * 1024
LONG_BYTES = 256 * 1024
"""Longer ones are decoded in a thread, so that other requests do not wait for it."""


class Decoding:
    """Bodies that are neither short nor long take turns.

    They come in bursts, as those that share a transaction are answered together. Were a burst decoded in
    one go, the database would stand still meanwhile, and the service while the database stores it.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def decode_events(
        self,
        content: Content,
        headers: RawHeaders,
        body: bytes,
        limits: Limits,
        transaction_id: str | None,
    ) -> list[NewEvent]:
        """Raises what `contents.decode_events` does."""
        if len(body) <= SHORT_BYTES:
            return decode_events(content, headers, body, limits, transaction_id)
        if len(body) > LONG_BYTES:
            return await asyncio.to_thread(decode_events, content, headers, body, limits, transaction_id)
        async with self._turn:
            # What was decoded before is now sent to the database, and answers of it are taken.
            await asyncio.sleep(0)
            return decode_events(content, headers, body, limits, transaction_id)
