"""JWTs of an issuer whose public keys are read from its JWKS address, or from a file.

A token names nothing that is fetched: `jku` and `x5u` are not looked at, `kid` is only compared with those of
the keys that are known. What a token is verified with is chosen by the key, never by the token alone: an
algorithm must be one of the settings and fit the key's type.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
import msgspec
import structlog

from app.auth.identity import Identity
from app.auth.scopes import MAX_SCOPES, known_scopes
from app.auth.tokens import hash_token
from app.errors import IssuerUnavailable, Unauthorized
from app.outage import Outage
from app.settings import LOOPBACK, Settings

LEEWAY_SECONDS = 30
"""How far the issuer's clock may be from ours."""
REMEMBER_SECONDS = 60.0
MAX_REMEMBERED = 10_000
LOOK_AGAIN_SECONDS = 30.0
"""From one look for an unknown `kid` to the next."""
RETRY_SECONDS = 5.0
FETCH_SECONDS = 5.0
MAX_JWKS_BYTES = 256 * 1024
MAX_KEYS = 100
MIN_RSA_BITS = 2048
MAX_TIME = 253_370_764_800
"""Where the year 9999 begins. What is beyond it is a mistake, such as milliseconds, and cannot be shown."""
MAX_SUBJECT = 200

_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_BROKEN = (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError)
"""What parsing something hostile raises."""

log = structlog.get_logger(__name__)

Fetch = Callable[[], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class VerifyKey:
    """A public key of the issuer, and what its JWK says that it is for."""

    kid: str | None
    kty: str
    curve: str | None
    algorithm: str | None
    key: Any

    def fits(self, algorithm: str) -> bool:
        if self.algorithm not in (None, algorithm):
            return False
        if algorithm == "EdDSA":
            return self.kty == "OKP"
        if algorithm in _CURVES:
            return self.kty == "EC" and self.curve == _CURVES[algorithm]
        return self.kty == "RSA"


@dataclass(frozen=True, slots=True)
class Verified:
    identity: Identity
    until: float


class JwtVerifier:
    def __init__(
        self,
        settings: Settings,
        *,
        fetch: Fetch | None = None,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._issuer = settings.jwt_issuer
        self._audience = settings.jwt_audience
        self._algorithms = frozenset(settings.jwt_algorithms)
        self._scope_claim = settings.jwt_scope_claim
        self._refresh_seconds = settings.jwt_refresh_seconds
        self._fetch = fetch or _source(settings)
        self._now = now
        self._wall = wall
        self._pause = pause
        self._outage = Outage(
            partial(log.warning, "jwks_not_read"), partial(log.info, "jwks_read_again"), now=now
        )
        self._document = b""
        self._keys: Sequence[VerifyKey] | None = None
        self._verified: dict[bytes, Verified] = {}
        self._looked_at: float | None = None
        self._look: asyncio.Task[None] | None = None

    async def verify(self, token: str) -> Identity:
        """Unauthorized for whatever is wrong with it; IssuerUnavailable while no key was ever read.

        `ends_at` is the token's `exp`, which may be over by the leeway: enough for a call, not for a stream.
        """
        digest = hash_token(token)
        known = self._verified.get(digest)
        if known is not None and known.until > self._now():
            return known.identity
        header = self._header_of(token)
        key = self._find(header)
        if key is None:
            await self._look_again()
            key = self._find(header)
        if self._keys is None:
            raise IssuerUnavailable("The keys of the issuer could not be read yet.")
        if key is None:
            raise _refused("no key of the issuer fits")
        return self._remember(digest, self._claims_of(token, header["alg"], key))

    async def run(self) -> None:
        """Read the keys from time to time, until cancelled: what the issuer took back is to be forgotten."""
        while True:
            well = await self.refresh()
            await self._pause(self._refresh_seconds if well else RETRY_SECONDS)

    async def refresh(self) -> bool:
        """Whether the keys could be read; those known before stay otherwise."""
        try:
            document = await self._fetch()
            keys = _keys_of(document)
        except (httpx.HTTPError, OSError, *_BROKEN) as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            self._outage.failed(reason, error=reason)
            return False
        self._outage.worked()
        if document != self._document:
            # A token may have been verified with a key that is none any more.
            self._verified.clear()
        self._document, self._keys = document, keys
        return True

    def _header_of(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
        except _BROKEN:
            raise _refused("not a JWT") from None
        algorithm = header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self._algorithms or "crit" in header:
            raise _refused("an algorithm or an extension that is not allowed")
        return header

    def _find(self, header: dict[str, Any]) -> VerifyKey | None:
        """Without a `kid`, the only key that fits."""
        fitting = [key for key in self._keys or () if key.fits(header["alg"])]
        if (kid := header.get("kid")) is not None:
            return next((key for key in fitting if key.kid == kid), None)
        return fitting[0] if len(fitting) == 1 else None

    async def _look_again(self) -> None:
        if self._look is None:
            if self._looked_at is not None and self._now() < self._looked_at + LOOK_AGAIN_SECONDS:
                return
            self._looked_at = self._now()
            self._look = asyncio.create_task(self._look_once())
        # One caller who leaves must not take the keys from the others.
        await asyncio.shield(self._look)

    async def _look_once(self) -> None:
        try:
            await self.refresh()
        finally:
            self._look = None

    def _claims_of(self, token: str, algorithm: str, key: VerifyKey) -> dict[str, Any]:
        """The times are judged by `_remember`, which is stricter about them than the library."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except _BROKEN as error:
            raise _refused(type(error).__name__) from None
        return claims

    def _remember(self, digest: bytes, claims: dict[str, Any]) -> Identity:
        now, wall = self._now(), self._wall()
        expires, subject = claims["exp"], claims["sub"]
        starts = claims.get("nbf", 0)
        # A bool is an int too, and a number without bounds never expires.
        if type(expires) is not int or not wall - LEEWAY_SECONDS < expires < MAX_TIME:
            raise _refused("expired, or exp is not a time in whole seconds")
        if type(starts) not in (int, float) or not 0 <= starts <= wall + LEEWAY_SECONDS:
            raise _refused("not valid yet, or nbf is not a time")
        if not isinstance(subject, str) or not subject.isprintable() or not 1 <= len(subject) <= MAX_SUBJECT:
            raise _refused("a subject that is no printable text of bounded length")
        scopes = known_scopes(_scope_texts(claims.get(self._scope_claim)))
        if len(scopes) > MAX_SCOPES:
            raise _refused(f"more than {MAX_SCOPES} scopes")
        identity = Identity(
            f"jwt:{subject}",
            scopes,
            now + (expires - wall),
            expires_at=datetime.fromtimestamp(expires, UTC),
        )
        until = now + min(REMEMBER_SECONDS, expires + LEEWAY_SECONDS - wall)
        while len(self._verified) >= MAX_REMEMBERED:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = Verified(identity, until)
        return identity


def _refused(reason: str) -> Unauthorized:
    """Callers are not told why, and by default the log is not either, or anybody could fill it."""
    log.debug("jwt_refused", reason=reason)
    return Unauthorized()


def _scope_texts(claim: object) -> Sequence[object]:
    if isinstance(claim, str):
        return claim.split()
    return claim if isinstance(claim, list) else ()


def _keys_of(document: bytes) -> list[VerifyKey]:
    """Those that can verify a signature; ValueError where that is not a JWKS, or one without such a key."""
    found = msgspec.json.decode(document, type=dict[str, Any])["keys"]
    if not isinstance(found, list) or len(found) > MAX_KEYS:
        raise ValueError(f"keys is not a list of at most {MAX_KEYS}")
    keys = [key for key in map(_key_of, found) if key is not None]
    if not keys:
        raise ValueError("there is no public key for signatures in it")
    return keys


def _key_of(jwk: object) -> VerifyKey | None:
    if not isinstance(jwk, dict) or jwk.get("kty") not in ("RSA", "EC", "OKP"):
        return None
    # A key that everybody may read the private half of proves nothing.
    if jwk.get("use", "sig") != "sig" or "verify" not in jwk.get("key_ops", ["verify"]) or "d" in jwk:
        return None
    try:
        key = jwt.PyJWK(jwk).key
    except _BROKEN as error:
        log.warning("jwk_not_usable", error=f"{type(error).__name__}: {error}"[:300])
        return None
    if jwk["kty"] == "RSA" and key.key_size < MIN_RSA_BITS:
        log.warning("jwk_not_usable", error=f"an RSA key of less than {MIN_RSA_BITS} bits")
        return None
    return VerifyKey(jwk.get("kid"), jwk["kty"], jwk.get("crv"), jwk.get("alg"), key)


def _source(settings: Settings) -> Fetch:
    if (path := settings.jwt_jwks_file) is not None:
        return partial(asyncio.to_thread, path.read_bytes)
    return partial(_download, settings.jwt_jwks_url or "")


async def _download(url: str) -> bytes:
    """No redirect is followed: the settings say whom to trust."""
    parts = urlsplit(url)
    # Reading the certificates would hold up everybody for a while.
    verify = await asyncio.to_thread(httpx.create_ssl_context) if parts.scheme == "https" else False
    client = httpx.AsyncClient(timeout=FETCH_SECONDS, verify=verify, trust_env=parts.hostname not in LOOPBACK)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    document = b""
    async with asyncio.timeout(FETCH_SECONDS), client, client.stream("GET", url, headers=headers) as answer:
        if answer.status_code != 200:
            raise ValueError(f"the answer was {answer.status_code}")
        async for chunk in answer.aiter_raw():
            document += chunk
            if len(document) > MAX_JWKS_BYTES:
                raise ValueError(f"it is larger than {MAX_JWKS_BYTES} bytes")
    return document
