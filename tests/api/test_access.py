"""Who may do what on a service with authentication on."""

import asyncio
import math
import re
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import asyncpg
import httpx
import pytest

from app.api.application import Service
from app.api.routing import RawRoute
from app.auth.authenticator import Authenticator
from app.db.keys import KeyStore
from app.db.pool import Pool
from app.errors import Unauthorized
from app.settings import Settings
from tests.conftest import Connect, StartService
from tests.support.access import GUARDED, Keys, bearer
from tests.support.databases import Databases
from tests.support.issuer import Issuer, claims, jwk, jwks, public_pem, unsigned
from tests.support.issuer import token as jwt_token
from tests.support.operations import BY_ID, OPERATIONS, Operation
from tests.support.problems import problem
from tests.support.service import PATIENT, ThreadService
from tests.support.wait import PATIENCE_SECONDS, until

CHALLENGE = 'Bearer realm="gapless"'
INVALID = f'{CHALLENGE}, error="invalid_token"'
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
WITHOUT_TOKEN = {"get_liveness", "get_readiness", "get_problem_type", "create_session"}
OPEN_AND_UNLISTED = {
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/static/{name}"),
    ("HEAD", "/static/{name}"),
    ("GET", "/PROTOCOL.md"),
    ("HEAD", "/PROTOCOL.md"),
}
"""What else is open, beside the operations of the document."""
TIMES = 1000
# The parts of an answer that are its own.
OWN_HEADERS = ("date", "x-request-id")


class World(NamedTuple):
    """A service with `a.orders` of one tenant and `b.orders` of another, and a key for each role."""

    service: ThreadService
    client: httpx.AsyncClient
    tokens: Mapping[str, str]

    def by(self, role: str) -> dict[str, str]:
        return bearer(self.tokens[role])

    async def tip(self, topic: str = "a.orders") -> int:
        answer = await self.client.get(f"/v1/topics/{topic}", headers=self.by("admin"))
        return int(answer.json()["bounds"][0]["tip"])


SCOPES = {
    "admin": ("admin",),
    "a": ("publish:a.*", "subscribe:a.*", "consume:a.*"),
    "b": ("publish:b.*", "subscribe:b.*", "consume:b.*"),
    "a-admin": ("admin:a.*",),
    "reader": ("subscribe:a.*",),
    "writer": ("publish:a.*",),
    "consumer": ("consume:a.*/billing",),
    "metrics": ("metrics",),
}


@pytest.fixture(scope="module")
async def world(databases: Databases) -> AsyncIterator[World]:
    dsn = await databases.create()
    pool = await Pool.open(dsn, Settings(database_url=dsn, **PATIENT))
    keys = Keys(pool)
    tokens = {role: await keys.make(role, *scopes) for role, scopes in SCOPES.items()}
    async with AsyncExitStack() as running:
        settings = Settings(database_url=dsn, **GUARDED, **PATIENT)
        service = await running.enter_async_context(ThreadService(settings))
        client = httpx.AsyncClient(base_url=service.base_url, timeout=30)
        world = World(service, await running.enter_async_context(client), tokens)
        await until(lambda: _is_ready(client))
        for topic in ("a.orders", "b.orders"):
            await prepare(world, topic)
        yield world
    await pool.close()
    await databases.drop(dsn)


async def _is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).is_success


async def prepare(world: World, topic: str, groups: Iterable[str] = ("billing", "secret")) -> None:
    by = world.by("admin")
    assert (await world.client.put(f"/v1/topics/{topic}", headers=by)).status_code == 201
    for group in groups:
        body = {"start": "earliest"}
        answer = await world.client.put(f"/v1/topics/{topic}/subscriptions/{group}", json=body, headers=by)
        assert answer.status_code == 201
    await publish(world, topic)


async def publish(world: World, topic: str, count: int = 3) -> None:
    body = {"events": [{"data": n} for n in range(count)]}
    by = world.by("admin")
    answer = await world.client.post(f"/v1/topics/{topic}/events", json=body, headers=by)
    assert answer.status_code == 201, answer.text


def ids(operations: Iterable[Operation]) -> dict[str, Any]:
    operations = list(operations)
    return {"argvalues": operations, "ids": [str(operation) for operation in operations]}


# Authentication and authorisation

BAD_CREDENTIALS: list[tuple[str, list[tuple[str, str]], str]] = [
    ("no token", [], CHALLENGE),
    ("a scheme alone", [("Authorization", "Bearer")], INVALID),
    ("basic", [("Authorization", "Basic dXNlcjpwYXNz")], INVALID),
    ("an unknown token", [("Authorization", "Bearer gpls_" + "A" * 43)], INVALID),
    ("no token of ours", [("Authorization", "Bearer hello")], INVALID),
    ("a token of 40 kB", [("Authorization", "Bearer " + "x" * 40_000)], INVALID),
    ("not a character of ASCII", [("Authorization", "Bearer gpls_\xe4")], INVALID),
    ("an unknown cookie", [("Cookie", "__Host-gapless=gplw_" + "A" * 43)], INVALID),
    ("a cookie of another name", [("Cookie", "gapless=gplw_" + "A" * 43)], CHALLENGE),
]


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [case[1:] for case in BAD_CREDENTIALS],
    ids=[case[0] for case in BAD_CREDENTIALS],
)
async def test_1_bad_credentials_are_refused_with_a_challenge(
    world: World, headers: list[tuple[str, str]], challenge: str
) -> None:
    before = await world.tip()
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    body = {"events": [{"data": 1}]}
    answer = await world.client.post("/v1/topics/a.orders/events", json=body, headers=raw)
    problem(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == challenge
    assert await world.tip() == before


async def test_1_two_authorization_headers_are_refused_though_one_is_valid(world: World) -> None:
    token = world.tokens["admin"]
    for other in (f"Bearer {token}", "Basic dXNlcjpwYXNz", ""):
        headers = [("Authorization", f"Bearer {token}"), ("Authorization", other)]
        for sent in (headers, headers[::-1]):
            problem(await world.client.get("/v1/topics", headers=sent), 401, "unauthorized")


async def test_1_a_header_of_another_form_is_told_the_form_whatever_token_it_holds(world: World) -> None:
    for token in (world.tokens["admin"], "gpls_" + "A" * 43):
        for value in (token, "Bearer", f"Basic {token}", f"Token {token}"):
            answer = await world.client.get("/v1/topics", headers={"Authorization": value})
            assert "`Authorization: Bearer TOKEN`" in problem(answer, 401, "unauthorized")["detail"]
        headers = [("Authorization", f"Bearer {token}")] * 2
        answer = await world.client.get("/v1/topics", headers=headers)
        assert "one Authorization header" in problem(answer, 401, "unauthorized")["detail"]


async def test_1_the_name_of_the_scheme_is_read_without_case(world: World) -> None:
    """The checklist refuses a lower-case one; by RFC 9110, 11.1, case does not matter."""
    for scheme in ("bearer", "BEARER", "BeArEr"):
        headers = {"Authorization": f"{scheme} {world.tokens['admin']}"}
        assert (await world.client.get("/v1/topics", headers=headers)).status_code == 200


async def test_1_headers_of_64_kilobytes_are_too_large_whoever_sends_them(world: World) -> None:
    for headers in (
        {"Authorization": "Bearer " + "x" * 65_536},
        {**world.by("admin"), "X-Padding": "x" * 65_536},
        {**world.by("admin"), **{f"X-Padding-{n}": "x" * 8_192 for n in range(8)}},
    ):
        problem(await world.client.get("/v1/topics", headers=headers), 431, "too_many_headers")


PAST = -31
BAD_JWTS: dict[str, Callable[[str], str]] = {
    "alg none": lambda url: unsigned({"alg": "none", "kid": "k1"}, claims()),
    "no alg": lambda url: unsigned({"kid": "k1"}, claims()),
    "HS256 with the public key": lambda url: unsigned(
        {"alg": "HS256", "kid": "k1"}, claims(), public_pem("k1")
    ),
    "a wrong iss": lambda url: jwt_token(claims(iss="https://evil.example")),
    "a wrong aud": lambda url: jwt_token(claims(aud="other")),
    "a list of wrong auds": lambda url: jwt_token(claims(aud=["other", "another"])),
    "exp past": lambda url: jwt_token(claims(exp=int(time.time()) + PAST)),
    "no exp": lambda url: jwt_token(claims(exp=None)),
    "exp as text": lambda url: jwt_token(claims(exp="9999999999")),
    "exp 1e300": lambda url: jwt_token(claims(exp=1e300)),
    "nbf to come": lambda url: jwt_token(claims(nbf=int(time.time()) + 90)),
    "crit": lambda url: jwt_token(claims(), crit=["x"], x=1),
    "kid a path": lambda url: jwt_token(claims(), kid="../../../../dev/null", key="k1"),
    "kid some SQL": lambda url: jwt_token(claims(), kid="' or 1=1 --", key="k1"),
    "jku": lambda url: jwt_token(claims(), kid="evil", jku=url),
    "x5u": lambda url: jwt_token(claims(), kid="evil", x5u=url),
    "another key under the name": lambda url: jwt_token(claims(), key="evil"),
}


async def test_2_bad_jwts_are_refused_and_the_good_one_beside_them_is_taken(
    start_guarded: StartService,
) -> None:
    """Each of the table; the rest is in the unit tests."""
    async with Issuer() as issuer, Issuer() as listener:
        listener.document = jwks(jwk("evil"))
        service = await start_guarded(**issuer.settings)
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
            for name, make in BAD_JWTS.items():
                answer = await client.get("/v1/topics/orders.x", headers=bearer(make(listener.url)))
                assert answer.status_code == 401, name
                assert answer.headers["www-authenticate"] == INVALID, name
            good = bearer(jwt_token(claims()))
            problem(await client.get("/v1/topics/orders.x", headers=good), 404, "topic_not_found")
            problem(await client.put("/v1/topics/orders.x", headers=good), 403, "forbidden")
            answer = await client.post("/v1/session", json={"token": jwt_token(claims())})
            assert answer.json()["name"] == "jwt:alice"
            cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
            seen = (await client.get("/v1/session", headers=cookie)).json()
            assert seen["scopes"] == ["publish:orders.*", "subscribe:*"]
        assert listener.connections == 0


async def test_3_the_time_of_a_refusal_tells_nothing_of_a_token(pool: Pool, keys: Keys) -> None:
    token = await keys.make("a", "admin")
    authenticator = Authenticator(KeyStore(pool), Settings(authentication="on"))
    await authenticator.refresh()
    near = token[:-1] + ("A" if token[-1] != "A" else "B")
    far = token[:5] + ("A" if token[5] != "A" else "B") + token[6:]

    async def alike() -> bool:
        took: dict[str, list[float]] = {near: [], far: []}
        for number in range(10_000):
            for wrong in (near, far) if number % 2 else (far, near):
                began = time.perf_counter()
                with pytest.raises(Unauthorized):
                    await authenticator.identify(wrong)
                took[wrong].append(time.perf_counter() - began)
        medians = [statistics.median(found) for found in took.values()]
        errors = [1.2533 * statistics.stdev(found) / len(found) ** 0.5 for found in took.values()]
        return abs(medians[0] - medians[1]) < max(3 * math.hypot(*errors), 1e-6)

    assert await _in_one_of_three(alike)
    stored = await pool_rows(pool)
    assert all(token.encode() not in bytes(row["token_hash"]) for row in stored)
    assert [len(row["token_hash"]) for row in stored] == [32]


async def _in_one_of_three(alike: Callable[[], Awaitable[bool]]) -> bool:
    """A difference that is there shows each time, one of the machine does not."""
    for _ in range(3):
        if await alike():
            return True
    return False


async def pool_rows(pool: Pool) -> list[Any]:
    async with pool.acquire() as connection:
        return list(await connection.fetch("select * from gapless.api_key"))


FORBIDDEN = [
    ("reader", "publish_events"),
    ("reader", "create_topic"),
    ("reader", "delete_topic"),
    ("reader", "trim_topic"),
    ("reader", "redrive_dead_letters"),
    ("reader", "seek_subscription"),
    ("writer", "ack_lease"),
    ("writer", "claim_events"),
    ("writer", "read_events"),
    ("writer", "follow_topic"),
    ("consumer", "publish_events"),
    ("consumer", "cancel_subscription"),
    ("consumer", "delete_subscription"),
]

# Who may call what on a topic that they see, written down once more, by hand.
ON_TOPIC = {"get_topic": frozenset({"reader", "writer", "consumer"})}
ON_TOPIC |= {"publish_events": frozenset({"writer"})}
ON_TOPIC |= dict.fromkeys(("read_events", "follow_topic", "follow_topics"), frozenset({"reader", "consumer"}))
ON_TOPIC |= dict.fromkeys(
    (
        "ack_lease",
        "heartbeat_subscription",
        "alter_subscription",
        "claim_events",
        "create_subscription",
        "discard_dead_letters",
        "extend_lease",
        "follow_subscription",
        "get_event_completion",
        "get_dead_letter",
        "get_subscription",
        "list_dead_letters",
        "list_leases",
        "list_subscriptions",
        "nack_lease",
        "pause_subscription",
        "read_lease",
        "redrive_dead_letters",
        "reject_lease",
        "release_lease",
        "resume_subscription",
        "seek_subscription",
    ),
    frozenset({"consumer"}),
)
ON_TOPIC |= dict.fromkeys(
    (
        "cancel_subscription",
        "alter_topic",
        "create_topic",
        "delete_subscription",
        "delete_topic",
        "force_complete_subscription",
        "trim_topic",
    ),
    frozenset(),
)
FOR_ADMINS = {"create_key", "list_keys", "revoke_key", "revoke_sessions", "list_audit"}
FOR_METRICS = {"get_metrics"}
FOR_ANYBODY = {"list_topics", "get_session", "delete_session", "create_stream_ticket"}


def test_the_table_of_roles_names_every_operation() -> None:
    named = set(ON_TOPIC) | FOR_ADMINS | FOR_METRICS | FOR_ANYBODY | WITHOUT_TOKEN
    assert named == set(BY_ID)


async def state(world: World) -> list[Any]:
    """What a call that is refused must not have changed."""
    by = world.by("admin")
    paths = [
        "/v1/topics",
        "/v1/topics/a.orders",
        "/v1/topics/a.orders/subscriptions",
        "/v1/keys",
        "/v1/audit",
    ]
    paths += [f"/v1/topics/a.orders/subscriptions/{group}" for group in ("billing", "secret")]
    return [
        {name: value for name, value in (await world.client.get(path, headers=by)).json().items()}
        for path in paths
    ]


def steady(found: list[Any]) -> list[Any]:
    for members in found:
        members.pop("oldest_claimable_seconds", None)
    return found


@pytest.mark.parametrize("role", ["reader", "writer", "consumer", "metrics"])
async def test_4_a_role_is_refused_all_that_it_may_not_do_and_nothing_is_done(
    world: World, role: str
) -> None:
    """Every operation by every role."""
    before = steady(await state(world))
    for operation in OPERATIONS:
        if operation.id in ON_TOPIC and role not in ON_TOPIC[operation.id]:
            # Whoever has no scope for the topic is not told that it is there.
            code = (404, "topic_not_found") if role == "metrics" else (403, "forbidden")
        elif operation.id == "list_audit" and role == "metrics":
            # The call names the topic.
            code = (404, "topic_not_found")
        elif operation.id in FOR_ADMINS or (operation.id in FOR_METRICS and role != "metrics"):
            code = (403, "forbidden")
        else:
            continue
        answer = await operation.call(world.client, world.by(role), topic="a.orders", group="billing")
        assert (answer.status_code, answer.json()["code"]) == code, f"{role} {operation}: {answer.text}"
    assert steady(await state(world)) == before


@pytest.mark.parametrize("role", ["reader", "writer", "consumer"])
async def test_4_a_role_is_not_refused_what_it_may_do(world: World, role: str) -> None:
    """The other side: so that the refusals are not of everything."""
    topic = f"a.mine-{role}"
    await prepare(world, topic)
    for operation in OPERATIONS:
        if role in ON_TOPIC.get(operation.id, ()):
            answer = await operation.call(world.client, world.by(role), topic=topic, group="billing")
            assert answer.status_code not in (401, 403), f"{operation}: {answer.text}"
            code = answer.json()["code"] if answer.is_error else ""
            assert code not in ("topic_not_found", "subscription_not_found"), operation


@pytest.mark.parametrize(
    ("role", "operation"),
    [(role, BY_ID[operation]) for role, operation in FORBIDDEN],
    ids=[f"{role} {operation}" for role, operation in FORBIDDEN],
)
async def test_4_refused_calls_leave_no_trace(world: World, role: str, operation: Operation) -> None:
    before = steady(await state(world))
    answer = await operation.call(world.client, world.by(role), topic="a.orders", group="billing")
    problem(answer, 403, "forbidden")
    assert steady(await state(world)) == before


async def test_4_a_group_that_no_pattern_matches_is_not_there(world: World) -> None:
    """A consumer of `billing` on the group `secret`, and on one that does not exist."""
    by = world.by("consumer")
    for operation in OPERATIONS:
        if "{group}" not in operation.path:
            continue
        answers = [
            await operation.call(world.client, by, topic="a.orders", group=group)
            for group in ("secret", "absent")
        ]
        for answer in answers:
            problem(answer, 404, "subscription_not_found")
        assert answers[0].text.replace("secret", "absent") == answers[1].text
        allowed = {**by, "Content-Type": "application/json"}
        missing = await world.client.get("/v1/topics/a.orders/subscriptions/billing-absent", headers=allowed)
        assert missing.status_code == 404


async def test_4_admin_of_some_topics_is_admin_of_nothing_else(world: World) -> None:
    by, client = world.by("a-admin"), world.client
    assert (await client.put("/v1/topics/a.new", headers=by)).status_code == 201
    assert (await client.patch("/v1/topics/a.new", json={"description": "x"}, headers=by)).status_code == 200
    assert (await client.delete("/v1/topics/a.new", headers=by)).status_code == 204
    problem(await client.put("/v1/topics/b.new", headers=by), 404, "topic_not_found")
    problem(await client.get("/v1/keys", headers=by), 403, "forbidden")
    problem(await client.get("/v1/audit", headers=by), 403, "forbidden")
    problem(await client.get("/v1/audit?topic=b.orders", headers=by), 404, "topic_not_found")
    entries = (await client.get("/v1/audit?topic=a.new", headers=by)).json()["entries"]
    assert [entry["actor"] for entry in entries] == ["key:a-admin"] * 3


ON_TOPICS = [operation for operation in OPERATIONS if "{topic}" in operation.path]


def comparable(answer: httpx.Response, name: str) -> tuple[int, list[tuple[str, str]], str]:
    headers = [(key, value) for key, value in answer.headers.multi_items() if key not in OWN_HEADERS]
    return answer.status_code, headers, answer.text.replace(name, "NAME")


@pytest.mark.parametrize("path", sorted({operation.path for operation in ON_TOPICS}), ids=str)
async def test_5_a_topic_of_another_tenant_is_not_there_whatever_the_method(world: World, path: str) -> None:
    operation = next(found for found in ON_TOPICS if found.path == path)
    for method in METHODS:
        for body in (b"", b"{}", b"[" * 10):
            answers = []
            for topic in ("a.orders", "a.absent"):
                url = operation.url(topic=topic, group="billing")
                headers = {**world.by("b"), "Content-Type": "application/json"}
                answer = await world.client.request(method, url, content=body, headers=headers)
                assert answer.status_code == 404, f"{method} {url}: {answer.text}"
                answers.append(comparable(answer, topic))
            assert answers[0] == answers[1], method
    assert await world.tip() == 3


@pytest.mark.parametrize("operation", **ids(ON_TOPICS))
async def test_5_a_topic_of_others_gets_the_404_of_one_that_does_not_exist(
    world: World, operation: Operation
) -> None:
    """But for what needs an admin, which is refused before anybody looks."""
    of_another = await operation.call(world.client, world.by("b"), topic="a.orders", group="billing")
    problem(of_another, 404, "topic_not_found")
    own = await operation.call(world.client, world.by("b"), topic="b.absent", group="billing")
    if ON_TOPIC[operation.id]:
        assert comparable(of_another, "a.orders") == comparable(own, "b.absent")
    else:
        problem(own, 403, "forbidden")


async def test_5_topics_named_in_a_query_or_a_body_are_hidden_too(world: World) -> None:
    by, client = world.by("b"), world.client
    for topic in ("a.orders", "a.absent"):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, f"/v1/stream?topic=b.orders&topic={topic}", headers=by)
            assert answer.status_code == 404
        problem(await client.get(f"/v1/audit?topic={topic}", headers=by), 404, "topic_not_found")
        for body in ({"topics": ["b.orders", topic]}, {"topic": topic, "group": "billing"}):
            answer = await client.post("/v1/stream-tickets", json=body, headers=by)
            assert problem(answer, 404, "topic_not_found")["detail"] == f'Topic "{topic}" does not exist.'


async def test_5_lists_hold_what_the_caller_sees_and_their_pages_are_full(world: World) -> None:
    for topic in ("a.one", "a.two", "b.one", "b.two", "c.one"):
        await prepare(world, topic, groups=("billing-1", "billing-2", "secret-1"))

    async def listed(role: str, path: str, member: str) -> list[str]:
        names: list[str] = []
        token = ""
        while True:
            asked = f"{path}?page_size=2&page_token={token}"
            page = (await world.client.get(asked, headers=world.by(role))).json()
            names += [found["name"] for found in page[member]]
            token = page["next_page_token"]
            if not token:
                return names
            assert len(page[member]) == 2

    topics = await listed("admin", "/v1/topics", "topics")
    assert {"a.one", "b.two", "c.one"} < set(topics)
    for role, first in (("a", "a."), ("b", "b."), ("reader", "a."), ("writer", "a."), ("consumer", "a.")):
        assert await listed(role, "/v1/topics", "topics") == [name for name in topics if name[:2] == first]
    assert await listed("metrics", "/v1/topics", "topics") == []
    groups = "/v1/topics/a.one/subscriptions"
    assert await listed("a", groups, "subscriptions") == ["billing-1", "billing-2", "secret-1"]
    assert await listed("consumer", groups, "subscriptions") == []


async def test_5_completion_names_only_groups_that_the_caller_sees(world: World) -> None:
    url = BY_ID["get_event_completion"].url(topic="b.orders", offset="1")
    whole = (await world.client.get(url, headers=world.by("b"))).json()
    assert whole["pending"] == ["billing", "secret"]
    url = url.replace("b.orders", "a.orders")
    answer = (await world.client.get(url, headers=world.by("consumer"))).json()
    assert answer["pending"] == ["billing"]
    assert answer["required_groups"] == 1


async def test_5_no_time_tells_whether_a_hidden_topic_exists(world: World) -> None:
    """Medians of a thousand tries."""

    async def alike() -> bool:
        took: dict[str, list[float]] = {"a.orders": [], "a.absent": []}
        for _ in range(TIMES):
            for topic, found in took.items():
                began = time.perf_counter()
                answer = await world.client.get(f"/v1/topics/{topic}", headers=world.by("b"))
                found.append(time.perf_counter() - began)
                assert answer.status_code == 404
        there, absent = (statistics.median(found) for found in took.values())
        return abs(there - absent) < 0.005

    assert await _in_one_of_three(alike)


@pytest.mark.parametrize("operation", **ids(OPERATIONS))
async def test_6_every_operation_without_a_token_is_refused(world: World, operation: Operation) -> None:
    answer = await operation.call(world.client)
    if operation.id not in WITHOUT_TOKEN:
        problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == CHALLENGE
    else:
        # The token in the example of a log-in is none that exists.
        assert answer.status_code == (401 if operation.id == "create_session" else 200)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/static/page.js", 200),
        ("/livez", 200),
        ("/readyz", 200),
        ("/openapi.json", 401),
        ("/docs", 404),
        ("/redoc", 404),
        ("/v1", 404),
    ],
)
async def test_6_a_path_without_a_token_is_served_or_refused_as_listed(
    world: World, path: str, status: int
) -> None:
    for method in ("GET", "HEAD"):
        answer = await world.client.request(method, path)
        assert answer.status_code == status


async def test_6_any_valid_token_may_read_the_document_and_few_the_details_of_readiness(world: World) -> None:
    for role in SCOPES:
        answer = await world.client.get("/openapi.json", headers=world.by(role))
        assert answer.json()["info"]["title"] == "Gapless"
        ready = await world.client.get("/readyz", headers=world.by(role))
        assert ("checks" in ready.json()) == (role in ("admin", "metrics"))
    for headers in ({}, bearer("gpls_" + "A" * 43), {"Authorization": "Basic eDp5"}):
        assert (await world.client.get("/readyz", headers=headers)).json() == {"status": "ok"}


def test_6_every_route_says_what_it_allows() -> None:
    routes = Service(Settings.model_construct()).router.routes
    assert routes
    for route in routes:
        assert isinstance(route, RawRoute), route
        assert route.needs.allows in ("none", "any", "publish", "subscribe", "consume", "admin", "metrics")
    open_to_all = [r for r in routes if isinstance(r, RawRoute) and r.needs.allows == "none"]
    assert {r.operation_id for r in open_to_all if r.include_in_schema} == WITHOUT_TOKEN
    hidden = [r for r in open_to_all if not r.include_in_schema]
    unlisted = {(method, r.path) for r in hidden for method in r.methods or ()}
    assert unlisted == OPEN_AND_UNLISTED


async def raw(world: World, head: str, credentials: str) -> int:
    """The status of a request that no client library would send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", world.service.port)
    try:
        lines = [*head.split("\n"), f"Authorization: {credentials}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode())
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    finally:
        writer.close()
        await writer.wait_closed()
    return int(answer.split()[1]) if answer else 0


@pytest.mark.parametrize(
    "credentials",
    ["", "Bearer ", "Bearer  ", "Bearer\t", " ", ":", "Bearer =", "Bearer , Bearer"],
    ids=repr,
)
async def test_1_credentials_without_a_token_are_none(world: World, credentials: str) -> None:
    assert await raw(world, "GET /v1/topics HTTP/1.1\nHost: test", credentials) == 401


TRICKS = [
    "GET //v1/topics/a.orders HTTP/1.1\nHost: test",
    "GET /v1//topics/a.orders HTTP/1.1\nHost: test",
    "GET /v1/../v1/topics/a.orders HTTP/1.1\nHost: test",
    "GET /v1/./topics/a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/b.orders/../a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/b.orders/%2e%2e/a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/b.orders%2f..%2fa.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/a%2eorders HTTP/1.1\nHost: test",
    "GET /v1/topics/%61.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders;x=y HTTP/1.1\nHost: test",
    "GET /v1/topics;x=y/a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders/ HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders. HTTP/1.1\nHost: test",
    "GET /v1/topics/A.ORDERS HTTP/1.1\nHost: test",
    "GET /V1/TOPICS/a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders%00 HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders%0d%0aX:%20y HTTP/1.1\nHost: test",
    "GET http://test/v1/topics/a.orders HTTP/1.1\nHost: test",
    "GET http://evil.example/v1/topics/a.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders HTTP/1.1\nHost: 127.0.0.1, evil.example",
    "GET /v1/topics/a.orders HTTP/1.1\nHost: ",
    "GET /v1/topics/a.orders HTTP/1.0",
    "GET /v1/topics/a.orders? HTTP/1.1\nHost: test",
    "GET /v1/topics/a.orders#/v1/topics/b.orders HTTP/1.1\nHost: test",
    "GET /v1/topics/b.orders HTTP/1.1\nHost: test\nX-Original-URL: /v1/topics/a.orders",
    "GET /v1/topics/a.orders HTTP/1.1\nHost: test\nX-Forwarded-Prefix: /v1/topics/b.orders",
]


@pytest.mark.parametrize("head", TRICKS)
async def test_7_a_path_in_another_spelling_is_decided_as_the_plain_one_or_refused(
    world: World, head: str
) -> None:
    status = await raw(world, head, f"Bearer {world.tokens['b']}")
    if "X-Original-URL" in head:
        # Nothing but the request line says what is asked for: this is the caller's own topic.
        assert status == 200
        assert await raw(world, head, f"Bearer {world.tokens['reader']}") == 404
    else:
        # A name that can be none is 422, as it is for everybody.
        assert status in (400, 404, 422)
    assert await raw(world, head, f"Bearer gpls_{'A' * 43}") in (400, 401, 404, 422)


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
async def test_7_the_method_is_the_one_of_the_request(world: World, name: str) -> None:
    by = {**world.by("admin"), name: "DELETE"}
    assert (await world.client.get("/v1/topics/a.orders", headers=by)).status_code == 200
    assert (await world.client.post("/v1/topics/a.orders?_method=DELETE", headers=by)).status_code == 405
    assert (await world.client.get("/v1/topics/a.orders", headers=by)).status_code == 200


async def test_8_a_lease_is_settled_by_its_token_its_group_and_its_tenant_only(world: World) -> None:
    client, topic = world.client, "/v1/topics/a.leases"
    await prepare(world, "a.leases")
    await prepare(world, "b.leases")
    claim = {"member": "m", "lease_seconds": 600}
    answer = await client.post(f"{topic}/subscriptions/billing/claim", json=claim, headers=world.by("a"))
    token: str = answer.json()["lease"]["token"]
    assert re.fullmatch(r"v1\.\d+\.\d+\.\d+\.[0-9a-f]{32}", token), "128 random bits"

    async def ack(token: str, topic: str = "a.leases", group: str = "billing", role: str = "a") -> int:
        path = f"/v1/topics/{topic}/subscriptions/{group}/leases/{token}/ack"
        return (await client.post(path, headers=world.by(role))).status_code

    guesses = [
        token[:at] + changed + token[at + 1 :]
        for at, character in enumerate(token)
        for changed in ["0" if character == "9" else chr(ord(character) + 1)]
        if changed.isalnum()
    ]
    assert len(guesses) > 32
    assert {await ack(guess) for guess in guesses} <= {404, 409}
    assert await ack(token, group="secret") == 409
    assert await ack(token, role="b") == 404
    assert await ack(token, role="writer") == 403
    assert await ack(token, topic="b.leases", role="b") == 409
    for group, role, topic_ in (("secret", "a", "a.leases"), ("billing", "b", "b.leases")):
        body = {"member": "m", "ack": [token, token]}
        path = f"/v1/topics/{topic_}/subscriptions/{group}/claim"
        answer = await client.post(path, json=body, headers=world.by(role))
        assert [one["status"] for one in answer.json()["acked"]] == ["lease_lost", "lease_lost"]
    held = await client.get(f"{topic}/subscriptions/billing/leases", headers=world.by("a"))
    assert [lease["events"] for lease in held.json()["leases"]] == [3]
    assert token not in held.text
    assert await ack(token) == 200


DENIED = [
    "set role postgres",
    "set session authorization postgres",
    "create table gapless.mine (a int)",
    "create schema mine",
    "create function gapless.clock2() returns int language sql as 'select 1'",
    "create or replace function gapless.clock() returns timestamptz language sql as 'select now()'",
    "drop table gapless.topic",
    "alter table gapless.topic add column mine int",
    "alter role current_user superuser",
    "grant gapless_admin to gapless_publisher",
    "select * from gapless.api_key",
    "select * from gapless.stream_ticket",
    "select * from gapless.event",
    "delete from gapless.audit_log",
    "update gapless.api_key set scopes = '{admin}'",
    "select * from hidden.secrets",
    "select pg_read_file('/etc/passwd')",
    "copy (select 1) to program 'true'",
    "create extension dblink",
]


@pytest.mark.parametrize("role", ["gapless_publisher", "gapless_subscriber", "gapless_admin"])
async def test_9_the_role_of_the_service_can_do_nothing_but_call_functions(
    connection: asyncpg.Connection, connect: Connect, role: str
) -> None:
    name = f"service_{role}"
    await connection.execute(f"create role {name} login password 'x' in role {role}")
    await connection.execute("create schema hidden; create table hidden.secrets (a int)")
    try:
        service = await connect(user=name, password="x")
        assert await service.fetch("select * from gapless.list_topics()") == []
        for statement in DENIED:
            with pytest.raises(asyncpg.PostgresError) as refused:
                await service.execute(statement)
            # 42501 is insufficient_privilege; CREATE EXTENSION says what it lacks first.
            assert refused.value.sqlstate in ("42501", "0LP01", "0A000", "58P01", "22023"), statement
        await service.close()
    finally:
        await connection.execute(f"drop role {name}")


# Keys over HTTP


async def test_a_key_is_made_listed_without_its_token_and_revoked(world: World) -> None:
    client, by = world.client, world.by("admin")
    body = {"name": "robot", "scopes": ["subscribe:a.*", "subscribe:a.*"], "expires_in_seconds": 3600}
    made = await client.post("/v1/keys", json=body, headers=by)
    assert made.status_code == 201
    token = made.json()["token"]
    assert made.json()["scopes"] == ["subscribe:a.*"]
    assert made.json()["created_by"] == "key:admin"
    assert re.fullmatch("gpls_[A-Za-z0-9_-]{43}", token)
    assert (await client.get("/v1/topics/a.orders", headers=bearer(token))).status_code == 200
    problem(await client.post("/v1/keys", json=body, headers=by), 409, "key_conflict")
    listed = await client.get("/v1/keys?page_size=1000", headers=by)
    assert "robot" in [key["name"] for key in listed.json()["keys"]]
    assert token not in listed.text
    assert (await client.delete("/v1/keys/robot", headers=by)).status_code == 204
    problem(await client.get("/v1/topics/a.orders", headers=bearer(token)), 401, "unauthorized")
    problem(await client.delete("/v1/keys/robot", headers=by), 404, "key_not_found")
    assert (await client.post("/v1/keys", json=body, headers=by)).status_code == 201
    audit = (await client.get("/v1/audit?limit=1000", headers=by)).text
    assert token not in audit
    assert "create_key" in audit


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["fly:*"]},
        {"name": "x", "scopes": ["publish:*x"]},
        {"name": "x", "scopes": ["publish:a.*/g"]},
        {"name": "x", "scopes": ["metrics:a"]},
        {"name": "X", "scopes": ["admin"]},
        {"name": "x", "scopes": ["admin"], "expires_in_seconds": 0},
        {"name": "x", "scopes": "admin"},
    ],
    ids=str,
)
async def test_a_key_with_bad_settings_is_refused(world: World, body: dict[str, Any]) -> None:
    answer = await world.client.post("/v1/keys", json=body, headers=world.by("admin"))
    problem(answer, 422, "invalid_argument")


async def test_s87_internal_names_are_no_topics_for_anybody(world: World) -> None:
    for name in ("_dlq.a.orders", "__internal", "$sys", "%5Fdlq", "_DLQ", "%24SYS", "%5f%5fx", "-x", ".x"):
        for role in ("a", "admin", "writer"):
            for method, path in (("PUT", ""), ("POST", "/events")):
                answer = await world.client.request(
                    method, f"/v1/topics/{name}{path}", json={}, headers=world.by(role)
                )
                problem(answer, 422, "invalid_topic_name")


PRIVATE = "private, no-cache"
CACHED = dict.fromkeys(("get_topic", "list_topics", "get_subscription", "list_subscriptions"), PRIVATE)
CACHED |= {"get_problem_type": "public, max-age=300"}


async def test_37_answers_carry_the_headers_that_browsers_need(world: World) -> None:
    for operation in OPERATIONS:
        for by in ({}, world.by("a")):
            answer = await operation.call(world.client, by, topic="a.orders", group="billing")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "strict-transport-security" not in answer.headers
            if answer.status_code != 204:
                caching = CACHED.get(operation.id, "no-store") if answer.is_success else "no-store"
                assert answer.headers["cache-control"] == caching, operation
    full = "/v1/topics/a.orders/events?offset=1&limit=2"
    answer = await world.client.get(full, headers=world.by("a"))
    assert answer.headers["cache-control"] == "private, no-cache"
    again = {**world.by("a"), "If-None-Match": answer.headers["etag"]}
    assert (await world.client.get(full, headers=again)).status_code == 304
    again = {**world.by("b"), "If-None-Match": answer.headers["etag"]}
    assert (await world.client.get(full, headers=again)).status_code == 404
