"""Callers of a service with authentication on: keys made in its database, and what they send."""

from typing import Any

from app.auth.tokens import hash_token, new_token
from app.db.keys import KeyStore
from app.db.pool import Pool

GUARDED: dict[str, Any] = {"authentication": "on"}
"""Settings of a service that asks who calls."""


class Keys:
    """Makes keys as `gapless key create` does, behind the back of the service."""

    def __init__(self, pool: Pool) -> None:
        self._keys = KeyStore(pool)

    async def make(self, name: str, *scopes: str, seconds: float | None = None) -> str:
        """The token of a new key."""
        token = new_token()
        await self._keys.create_key(name, hash_token(token), scopes, seconds, actor="test")
        return token

    async def revoke(self, name: str) -> None:
        await self._keys.revoke_key(name, actor="test")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
