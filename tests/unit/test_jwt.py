"""JWTs: what proves who somebody is, and everything that only looks as if it did."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jwt
import pytest
import structlog
from cryptography.hazmat.primitives.asymmetric import rsa

from app.auth import jwt as module
from app.auth.jwt import LEEWAY_SECONDS, JwtVerifier
from app.auth.scopes import Scope
from app.errors import IssuerUnavailable, Unauthorized
from app.settings import Settings
from tests.support.issuer import Issuer, claims, jwk, jwks, private_key, public_pem, token, unsigned
from tests.support.ticking import Ticking

NOW = int(time.time())


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with Issuer() as issuer:
        yield issuer


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


class Moment:
    """The time of the wall, as the verifier is told it."""

    def __init__(self) -> None:
        self.time = float(NOW)

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def wall() -> Moment:
    return Moment()


@pytest.fixture
def verifier(issuer: Issuer, ticking: Ticking, wall: Moment) -> JwtVerifier:
    return verifier_of(issuer, ticking, wall)


def verifier_of(issuer: Issuer, ticking: Ticking, wall: Moment, **settings: Any) -> JwtVerifier:
    found = Settings(**{**issuer.settings, **settings})
    return JwtVerifier(found, now=ticking.now, wall=wall, pause=ticking.pause)


async def is_good(verifier: JwtVerifier, text: str) -> bool:
    try:
        await verifier.verify(text)
    except Unauthorized:
        return False
    return True


async def test_a_good_token_says_who_and_what_and_until_when(
    verifier: JwtVerifier, ticking: Ticking, issuer: Issuer
) -> None:
    for _ in range(100):
        found = await verifier.verify(token(claims(exp=NOW + 300)))
    assert (found.name, found.key_id) == ("jwt:alice", None)
    assert found.scopes == (Scope("publish", "orders.*"), Scope("subscribe", "*"))
    assert found.ends_at == ticking.now() + 300
    assert issuer.requests == 1


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS384", "RS512", "PS256", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
async def test_every_algorithm_of_the_settings_works_and_no_other(
    issuer: Issuer, ticking: Ticking, wall: Moment, algorithm: str
) -> None:
    issuer.document = jwks(jwk("k1", algorithm))
    signed = token(algorithm=algorithm)
    assert await is_good(verifier_of(issuer, ticking, wall, jwt_algorithms=[algorithm]), signed)
    others = [name for name in ("RS256", "ES256", "EdDSA") if name != algorithm]
    assert not await is_good(verifier_of(issuer, ticking, wall, jwt_algorithms=others), signed)


async def test_a_key_verifies_only_what_it_is_for(issuer: Issuer, ticking: Ticking, wall: Moment) -> None:
    signed = token(algorithm="RS256")
    useless = (
        jwk("k1", alg="RS512"),
        jwk("k1", use="enc"),
        jwk("k1", key_ops=["sign"]),
        jwk("k1", "ES256"),
        jwk("k1", "EdDSA"),
        jwk("k2"),
        {**jwk("k1"), "n": "AQAB"},
        {"kty": "oct", "kid": "k1", "k": "c2VjcmV0"},
        {"kid": "k1"},
        "not even an object",
    )
    for one in useless:
        issuer.document = jwks(one, jwk("other"))  # type: ignore[arg-type]
        assert not await is_good(verifier_of(issuer, ticking, wall), signed), one
    issuer.document = jwks(*useless, jwk("k1", alg="RS256", use="sig", key_ops=["verify"]))  # type: ignore[arg-type]
    assert await is_good(verifier_of(issuer, ticking, wall), signed)
    es384 = token(algorithm="ES384")
    issuer.document = jwks(jwk("k1", "ES256"), jwk("k1", "ES384"))
    assert await is_good(verifier_of(issuer, ticking, wall, jwt_algorithms=["ES256", "ES384"]), es384)


async def test_a_key_without_a_name_is_used_when_there_is_but_one(
    issuer: Issuer, ticking: Ticking, wall: Moment
) -> None:
    signed = token(kid=None)
    issuer.document = jwks(jwk(None), jwk("k2", "ES256"))
    assert await is_good(verifier_of(issuer, ticking, wall), signed)
    assert await is_good(verifier_of(issuer, ticking, wall), token(kid=None, key="k2", algorithm="ES256"))
    issuer.document = jwks(jwk(None), jwk("k2"))
    assert not await is_good(verifier_of(issuer, ticking, wall), signed)
    issuer.document = jwks(jwk("k3", "EdDSA"), jwk("k1"), jwk("k2", "ES256"))
    assert await is_good(verifier_of(issuer, ticking, wall), token(kid=None, key="k3", algorithm="EdDSA"))


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_a_key_that_is_weak_or_no_secret_proves_nothing(
    issuer: Issuer, ticking: Ticking, wall: Moment
) -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    small = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(weak.public_key()))
    private = json.loads(jwt.get_algorithm_by_name("ES256").to_jwk(private_key("k1", "ES256")))
    assert "d" in private
    issuer.document = jwks({**small, "kid": "k1"}, {**private, "kid": "k1"}, jwk("k2"))
    verifier = verifier_of(issuer, ticking, wall)
    for signed in (jwt.encode(claims(), weak, "RS256", {"kid": "k1"}), token(algorithm="ES256")):
        assert not await is_good(verifier, signed)
    assert await is_good(verifier, token(kid="k2"))


HOSTILE_HEADERS: dict[str, dict[str, Any]] = {
    "unknown crit": {"crit": ["exp"]},
    "crit of an extension": {"crit": ["b64"], "b64": False},
    "empty crit": {"crit": []},
    "kid is a path": {"kid": "../../../../dev/null"},
    "kid is an absolute path": {"kid": "/proc/self/environ"},
    "kid is SQL": {"kid": "k1' union select 'secret'--"},
    "kid is a number": {"kid": 1},
    "kid is a list": {"kid": ["k1"]},
    "kid is null-terminated": {"kid": "k1\0"},
    "kid is empty": {"kid": ""},
    "alg in another case": {"alg": "rs256"},
    "alg is a list": {"alg": ["RS256"]},
    "alg is nothing": {"alg": ""},
    "alg missing": {"alg": None},
    "alg none": {"alg": "none"},
    "alg None": {"alg": "None"},
    "alg HS256 over an RSA signature": {"alg": "HS256"},
    "alg of another key type": {"alg": "ES256"},
}


@pytest.mark.parametrize("header", HOSTILE_HEADERS.values(), ids=HOSTILE_HEADERS)
async def test_a_hostile_header_is_refused(verifier: JwtVerifier, header: dict[str, Any]) -> None:
    changed = {"alg": "RS256", "kid": "k1", **header}
    good = token()
    head = json.dumps({name: value for name, value in changed.items() if value is not None}).encode()
    swapped = base64.urlsafe_b64encode(head).rstrip(b"=").decode() + good[good.index(".") :]
    signed = token(**{"kid": "k1", "key": "k1", **header, "algorithm": "RS256"})
    for hostile in (swapped, signed):
        assert not await is_good(verifier, hostile)
    assert await is_good(verifier, good)


@pytest.mark.parametrize("secret", [None, b"", public_pem("k1"), public_pem("k1").strip()])
async def test_no_and_symmetric_signatures_prove_nothing(verifier: JwtVerifier, secret: bytes | None) -> None:
    for algorithm in ("none", "HS256", "HS384", "RS256", "NONE"):
        assert not await is_good(verifier, unsigned({"alg": algorithm, "kid": "k1"}, claims(), secret))
    assert not await is_good(verifier, unsigned({"alg": "none"}, claims(), secret))


async def test_addresses_in_a_token_are_never_called(verifier: JwtVerifier) -> None:
    async with Issuer() as trap:
        trap.document = jwks(jwk("evil"))
        for name in ("jku", "x5u"):
            await is_good(verifier, token(headers={name: trap.url}))
            for kid in ("evil", "k1", trap.url):
                hostile = token(kid=kid, key="evil", headers={name: trap.url})
                assert not await is_good(verifier, hostile)
        embedded = token(kid="evil", jwk=jwk("evil"), x5c=["MIIB"])
        assert not await is_good(verifier, embedded)
        assert not await is_good(verifier, token(claims(iss=trap.url), kid="evil"))
        assert trap.connections == 0


HOSTILE_CLAIMS: dict[str, dict[str, Any]] = {
    "wrong iss": {"iss": "https://evil.example"},
    "iss is a prefix": {"iss": "https://issuer.exampl"},
    "iss is a list": {"iss": ["https://issuer.example"]},
    "no iss": {"iss": None},
    "wrong aud": {"aud": "other"},
    "wrong aud in an array": {"aud": ["other", "another"]},
    "empty aud array": {"aud": []},
    "aud is a number": {"aud": 1},
    "aud array of other things": {"aud": ["gapless", 1]},
    "no aud": {"aud": None},
    "no exp": {"exp": None},
    "exp past": {"exp": NOW - LEEWAY_SECONDS - 1},
    "exp long past": {"exp": 0},
    "exp negative": {"exp": -1},
    "exp float": {"exp": NOW + 300.5},
    "exp whole float": {"exp": float(NOW + 300)},
    "exp string": {"exp": str(NOW + 300)},
    "exp 1e300": {"exp": 1e300},
    "exp huge": {"exp": 10**300},
    "exp in milliseconds": {"exp": 1000 * (NOW + 300)},
    "exp that no calendar has": {"exp": 253_402_300_800},
    "exp true": {"exp": True},
    "exp list": {"exp": [NOW + 300]},
    "nbf future": {"nbf": NOW + LEEWAY_SECONDS + 1},
    "nbf string": {"nbf": "0"},
    "nbf 1e300": {"nbf": 1e300},
    "nbf true": {"nbf": True},
    "no sub": {"sub": None},
    "sub empty": {"sub": ""},
    "sub is a number": {"sub": 7},
    "sub too long": {"sub": "a" * 201},
    "sub with a line": {"sub": "alice\nroot"},
    "sub with an escape": {"sub": "\x1b[2J"},
    "101 scopes": {"scope": [f"publish:t{number}" for number in range(101)]},
}


@pytest.mark.parametrize("changes", HOSTILE_CLAIMS.values(), ids=HOSTILE_CLAIMS)
async def test_a_hostile_claim_is_refused(verifier: JwtVerifier, changes: dict[str, Any]) -> None:
    assert not await is_good(verifier, token(claims(**changes)))


async def test_not_a_number_is_no_time(verifier: JwtVerifier) -> None:
    for wrong in ("NaN", "Infinity", "-Infinity", "1e400"):
        for name in ("exp", "nbf"):
            body = json.dumps(claims(**{name: 12345})).replace("12345", wrong).encode()
            assert not await is_good(verifier, token(body)), (name, wrong)


@pytest.mark.parametrize(
    "text",
    [
        "", ".", "..", "...", "a.b.c", "a.b.c.d.e", "\x00", "é.é.é", "e30.e30.", "W10.W10.", "bnVsbA.bnVsbA.",
        "\udcff.\udcff.\udcff", "a" * 16_000, "." * 16_000,
    ],
)  # fmt: skip
async def test_what_is_no_token_at_all_is_refused(verifier: JwtVerifier, text: str) -> None:
    assert not await is_good(verifier, text)


async def test_deep_json_is_refused(verifier: JwtVerifier) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 9000).decode()
    assert not await is_good(verifier, f"{deep}.{deep}.")
    assert not await is_good(verifier, token(b'{"exp":' + b"[" * 9000))


async def test_a_changed_signature_or_payload_is_refused(verifier: JwtVerifier) -> None:
    head, body, signature = token().split(".")
    other = token(claims(sub="root")).split(".")[1]
    for hostile in (
        f"{head}.{other}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}",
        f"{head}.{body}.{'A' * len(signature)}",
        token(kid="k1", key="k2"),
    ):
        assert not await is_good(verifier, hostile)


async def test_the_clocks_may_be_half_a_minute_apart(verifier: JwtVerifier, ticking: Ticking) -> None:
    late = await verifier.verify(token(claims(exp=NOW - LEEWAY_SECONDS + 1)))
    assert late.ends_at < ticking.now(), "enough for a call, not for a stream"
    assert await is_good(verifier, token(claims(nbf=NOW + LEEWAY_SECONDS)))
    assert await is_good(verifier, token(claims(nbf=NOW - 0.5, iat=NOW + 5)))


async def test_the_audience_may_be_one_of_several(verifier: JwtVerifier) -> None:
    assert await is_good(verifier, token(claims(aud=["other", "gapless"])))


async def test_scopes_come_as_text_or_as_a_list_under_a_name_of_ones_choice(
    issuer: Issuer, ticking: Ticking, wall: Moment
) -> None:
    verifier = verifier_of(issuer, ticking, wall, jwt_scope_claim="permissions")
    for given, expected in (
        (["publish:a", "metrics", "profile", 7], (Scope("publish", "a"), Scope("metrics"))),
        ("  publish:a   metrics ", (Scope("publish", "a"), Scope("metrics"))),
        ([], ()),
        (None, ()),
        (7, ()),
        ({"admin": True}, ()),
    ):
        found = await verifier.verify(token(claims(permissions=given, scope="admin")))
        assert found.scopes == expected


async def test_a_token_is_verified_once_and_remembered_for_a_minute_at_most(
    verifier: JwtVerifier, ticking: Ticking, wall: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified = []
    decode = jwt.decode

    def counted(*arguments: Any, **options: Any) -> Any:
        verified.append(arguments)
        return decode(*arguments, **options)

    monkeypatch.setattr(jwt, "decode", counted)
    lasting, short = token(claims(exp=NOW + 3600)), token(claims(exp=NOW + 10))
    for _ in range(3):
        await verifier.verify(lasting)
        await verifier.verify(short)
    assert len(verified) == 2
    for seconds in (10 + LEEWAY_SECONDS, 20):
        ticking.time += seconds
        wall.time += seconds
        assert not await is_good(verifier, short)
    assert await is_good(verifier, lasting)
    assert len(verified) == 5


async def test_what_is_remembered_has_a_bound(verifier: JwtVerifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 3)
    for number in range(10):
        await verifier.verify(token(claims(sub=f"s{number}")))
    assert len(verifier._verified) == 3


async def test_a_new_key_of_the_issuer_works_at_once(
    verifier: JwtVerifier, issuer: Issuer, ticking: Ticking
) -> None:
    assert await is_good(verifier, token())
    issuer.document = jwks(jwk("k1"), jwk("k2"))
    ticking.time += module.LOOK_AGAIN_SECONDS
    assert await is_good(verifier, token(kid="k2"))
    assert await is_good(verifier, token())
    assert issuer.requests == 2


async def test_a_flood_of_unknown_kids_costs_one_look_in_half_a_minute(
    verifier: JwtVerifier, issuer: Issuer, ticking: Ticking
) -> None:
    for number in range(200):
        assert not await is_good(verifier, token(kid=f"unknown {number}", key="k1"))
    assert issuer.requests == 1
    ticking.time += module.LOOK_AGAIN_SECONDS
    hostile = [token(kid=f"unknown {number}", key="k1") for number in range(50)]
    assert not any(await asyncio.gather(*(is_good(verifier, text) for text in hostile)))
    assert issuer.requests == 2
    assert await is_good(verifier, token())


async def test_a_key_that_was_taken_back_proves_nothing_after_the_next_read(
    verifier: JwtVerifier, issuer: Issuer
) -> None:
    signed = token()
    assert await is_good(verifier, signed)
    issuer.document = jwks(jwk("k2"))
    assert await is_good(verifier, signed)
    assert await verifier.refresh()
    assert not await is_good(verifier, signed)


async def test_keys_are_read_from_time_to_time_and_sooner_after_a_failure(
    issuer: Issuer, ticking: Ticking, wall: Moment
) -> None:
    statuses = [200, 500, 200]
    pauses: list[float] = []
    stopped = asyncio.Event()

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(statuses):
            stopped.set()
            await asyncio.Event().wait()
        issuer.status = statuses[len(pauses)]

    issuer.status = statuses[0]
    settings = Settings(**issuer.settings, jwt_refresh_seconds=60)
    verifier = JwtVerifier(settings, now=ticking.now, wall=wall, pause=pause)
    running = asyncio.create_task(verifier.run())
    await stopped.wait()
    running.cancel()
    assert pauses == [60, module.RETRY_SECONDS, 60]
    assert issuer.requests == 3


BROKEN_DOCUMENTS = [
    b"", b"{}", b"[]", b"null", b"<html>", b'{"keys": {}}', b'{"keys": []}', b"\xff",
    b'{"keys": [{"kty": "oct", "k": "eA"}]}', jwks(jwk("k1")) + b" " * module.MAX_JWKS_BYTES,
    json.dumps({"keys": [{}] * 101}).encode(),
    b"[" * 100_000, b" " * 300_000,
]  # fmt: skip


@pytest.mark.parametrize("document", BROKEN_DOCUMENTS)
async def test_a_broken_document_leaves_the_keys_as_they_were(
    verifier: JwtVerifier, issuer: Issuer, document: bytes
) -> None:
    assert await verifier.refresh()
    issuer.document = document
    with structlog.testing.capture_logs() as logged:
        assert not await verifier.refresh()
    assert [entry["event"] for entry in logged] == ["jwks_not_read"]
    assert await is_good(verifier, token())


async def test_an_issuer_that_is_away_for_long_is_told_of_every_half_minute(
    verifier: JwtVerifier, issuer: Issuer, ticking: Ticking
) -> None:
    issuer.status = 500
    with structlog.testing.capture_logs() as logged:
        for _ in range(70):
            assert not await verifier.refresh()
            ticking.time += 1
        issuer.status = 200
        assert await verifier.refresh()
    assert [entry["event"] for entry in logged] == [*3 * ["jwks_not_read"], "jwks_read_again"]


async def test_the_log_tells_at_level_debug_why_a_token_was_refused(verifier: JwtVerifier) -> None:
    with structlog.testing.capture_logs() as logged:
        assert not await is_good(verifier, token(claims(aud="others")))
    told = [entry for entry in logged if entry["event"] == "jwt_refused"]
    assert [(entry["log_level"], entry["reason"]) for entry in told] == [("debug", "InvalidAudienceError")]


async def test_only_a_plain_answer_is_believed(verifier: JwtVerifier, issuer: Issuer) -> None:
    async with Issuer() as elsewhere:
        for status, headers in ((302, {"Location": elsewhere.url}), (404, {}), (500, {})):
            issuer.status, issuer.headers = status, headers
            assert not await verifier.refresh()
        assert elsewhere.connections == 0


async def test_while_no_key_was_ever_read_nobody_can_tell(
    issuer: Issuer, ticking: Ticking, wall: Moment
) -> None:
    verifier = verifier_of(issuer, ticking, wall)
    issuer.status = 503
    for _ in range(5):
        with pytest.raises(IssuerUnavailable):
            await verifier.verify(token())
    assert issuer.requests == 1
    assert not await is_good(verifier, "nonsense")
    issuer.status = 200
    ticking.time += module.LOOK_AGAIN_SECONDS
    assert await is_good(verifier, token())


async def test_an_issuer_that_is_away_is_no_failure_of_ours(ticking: Ticking, wall: Moment) -> None:
    async with Issuer() as gone:
        settings = Settings(**gone.settings)
    verifier = JwtVerifier(settings, now=ticking.now, wall=wall)
    assert not await verifier.refresh()


async def test_keys_may_lie_in_a_file(tmp_path: Path, ticking: Ticking, wall: Moment) -> None:
    path = tmp_path / "jwks.json"
    settings = Settings(jwt_issuer="https://issuer.example", jwt_audience="gapless", jwt_jwks_file=path)
    verifier = JwtVerifier(settings, now=ticking.now, wall=wall)
    assert not await verifier.refresh()
    path.write_bytes(jwks(jwk("k1")))
    assert await verifier.refresh()
    assert await is_good(verifier, token())
