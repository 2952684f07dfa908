"""An issuer of JWTs: keys of every kind, a JWKS over HTTP, and tokens put together by hand.

By hand, so that they can be anything that a caller might send.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.support import listener

ISSUER = "https://issuer.example"
AUDIENCE = "gapless"


@cache
def private_key(kid: str, algorithm: str = "RS256") -> Any:
    """The same for the whole run: making one of RSA takes a while."""
    if algorithm.startswith("ES"):
        curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
        return ec.generate_private_key(curves[algorithm])
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(kid: str) -> bytes:
    return bytes(
        private_key(kid)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


def jwk(kid: str | None, algorithm: str = "RS256", **more: Any) -> dict[str, Any]:
    """The public key, named where `kid` is."""
    signing = jwt.get_algorithm_by_name(algorithm)
    found = json.loads(signing.to_jwk(private_key(kid or "nameless", algorithm).public_key()))
    named = {} if kid is None else {"kid": kid}
    return {key: value for key, value in found.items() if key != "key_ops"} | named | more


def jwks(*keys: Mapping[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


def claims(**changes: Any) -> dict[str, Any]:
    """Of a token that is good for five minutes; None leaves a claim out."""
    now = int(time.time())
    found = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "alice",
        "iat": now,
        "exp": now + 300,
        "scope": "openid publish:orders.* subscribe:*",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def token(
    payload: Mapping[str, Any] | bytes | None = None,
    kid: str | None = "k1",
    algorithm: str = "RS256",
    key: str = "",
    headers: Mapping[str, Any] | None = None,
    **header: Any,
) -> str:
    """Signed by the key of `kid`, or by `key` where another one is to be used under that name."""
    head = {"alg": algorithm, "typ": "JWT", "kid": kid, **(headers or {}), **header}
    head = {name: value for name, value in head.items() if value is not None}
    body = payload if isinstance(payload, bytes) else json.dumps(payload or claims()).encode()
    signed = f"{_encoded(json.dumps(head).encode())}.{_encoded(body)}"
    signer = jwt.get_algorithm_by_name(algorithm)
    signature = signer.sign(signed.encode(), private_key(key or kid or "nameless", algorithm))
    return f"{signed}.{_encoded(signature)}"


def unsigned(header: Mapping[str, Any], payload: Mapping[str, Any], secret: bytes | None = None) -> str:
    """With no signature, or with a symmetric one."""
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(json.dumps(payload).encode())}"
    signature = b"" if secret is None else hmac.new(secret, signed.encode(), hashlib.sha256).digest()
    return f"{signed}.{_encoded(signature)}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """A web server that answers every request with `document`, and counts connections and requests."""

    def __init__(self) -> None:
        self.document = jwks(jwk("k1"))
        self.status = 200
        self.headers: dict[str, str] = {}
        self.connections = 0
        self.requests = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Issuer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await listener.close(self._server)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/jwks.json"

    @property
    def settings(self) -> dict[str, Any]:
        return {"jwt_issuer": ISSUER, "jwt_audience": AUDIENCE, "jwt_jwks_url": self.url}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.requests += 1
            head = {"Content-Length": str(len(self.document)), "Connection": "close", **self.headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            writer.write(f"HTTP/1.1 {self.status} X\r\n{lines}\r\n".encode() + self.document)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
