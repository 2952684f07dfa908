"""Browsers with authentication on: tickets, other origins, sessions."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.db.pool import Pool
from app.settings import Settings
from tests.conftest import StartProcess, StartService
from tests.support.access import GUARDED, Keys, bearer
from tests.support.clock import Clock, SlowClock
from tests.support.databases import Databases
from tests.support.issuer import Issuer, claims
from tests.support.issuer import token as jwt_token
from tests.support.problems import problem
from tests.support.processes import workers_of
from tests.support.service import PATIENT, ThreadService
from tests.support.sse import SseError, open_stream
from tests.support.wait import until

ALLOWED = "https://app.example"
Shared = tuple[httpx.AsyncClient, httpx.AsyncClient]
TOPICS = ("orders", "payments", "others")
TICKET_SECONDS = 300


@pytest.fixture(scope="module")
async def shared(databases: Databases) -> AsyncIterator[Shared]:
    """An admin and nobody, of one service for all tests that change nothing."""
    dsn = await databases.create()
    pool = await Pool.open(dsn, Settings(database_url=dsn, **PATIENT))
    headers = bearer(await Keys(pool).make("admin", "admin"))
    settings = Settings(database_url=dsn, cors_origins=[ALLOWED], **GUARDED, **PATIENT)
    async with AsyncExitStack() as running:
        service = await running.enter_async_context(ThreadService(settings))
        admin = httpx.AsyncClient(base_url=service.base_url, timeout=30, headers=headers)
        anybody = httpx.AsyncClient(base_url=service.base_url, timeout=30)
        await running.enter_async_context(admin)
        await running.enter_async_context(anybody)
        await _prepare(admin)
        yield admin, anybody
    await pool.close()
    await databases.drop(dsn)


@pytest.fixture
async def guarded(start_guarded: StartService) -> ThreadService:
    return await start_guarded(cors_origins=[ALLOWED], key_refresh_seconds=0.2, ticket_seconds=TICKET_SECONDS)


@pytest.fixture
async def admin(guarded: ThreadService, keys: Keys) -> Any:
    headers = bearer(await keys.make("admin", "admin"))
    async with httpx.AsyncClient(base_url=guarded.base_url, timeout=30, headers=headers) as client:
        await _prepare(client)
        yield client


async def _prepare(client: httpx.AsyncClient) -> None:
    for topic in TOPICS:
        await client.put(f"/v1/topics/{topic}")
        await client.put(f"/v1/topics/{topic}/subscriptions/billing")


@pytest.fixture
async def anybody(guarded: ThreadService) -> Any:
    async with httpx.AsyncClient(base_url=guarded.base_url, timeout=30) as client:
        yield client


async def ticket(client: httpx.AsyncClient, **body: Any) -> str:
    answer = await client.post("/v1/stream-tickets", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"])


async def opens(client: httpx.AsyncClient, path: str, headers: dict[str, str] | None = None) -> int:
    """Whether a stream begins."""
    async with client.stream("GET", path, headers=headers) as answer:
        return answer.status_code


# Tokens in URLs


@pytest.mark.parametrize("name", ["token", "access_token", "api_key", "jwt", "TOKEN", "%74oken"])
@pytest.mark.parametrize(
    "path", ["/v1/topics/orders/stream", "/v1/stream", "/v1/topics", "/v1/session", "/readyz", "/"]
)
async def test_10_s85_a_token_in_a_url_is_refused(shared: Shared, path: str, name: str) -> None:
    """With valid credentials beside it and without."""
    admin, _ = shared
    token = admin.headers["authorization"].removeprefix("Bearer ")
    for headers in ({}, {"Authorization": ""}):
        answer = await admin.get(f"{path}?topic=orders&{name}={token}", headers=headers)
        assert token not in answer.text
        problem(answer, 400, "token_in_query")


async def test_10_s85_a_token_in_the_query_is_refused_without_authentication_too(
    client: httpx.AsyncClient,
) -> None:
    await client.put("/v1/topics/orders")
    problem(await client.get("/v1/topics/orders/stream?token=x"), 400, "token_in_query")


async def test_10_s85_a_ticket_opens_one_stream_of_its_topics_once(
    admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    paths = {
        "/v1/topics/orders/stream?": 200,
        "/v1/stream?topic=orders&": 200,
        "/v1/stream?topic=orders&topic=payments&": 200,
        "/v1/topics/others/stream?": 401,
        "/v1/stream?topic=orders&topic=others&": 401,
        "/v1/stream?topic=absent&": 401,
        "/v1/topics/orders/subscriptions/billing/stream?member=m&": 401,
    }
    for path, status in paths.items():
        one = await ticket(admin, topics=["orders", "payments"])
        assert await opens(anybody, f"{path}ticket={one}") == status, path
        # Tried once, it is of no use any more, not even where it would have been good.
        problem(await anybody.get(f"/v1/topics/orders/stream?ticket={one}"), 401, "unauthorized")


async def test_10_s85_a_ticket_for_a_group_is_for_this_group(
    admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    await admin.put("/v1/topics/orders/subscriptions/other")
    paths = {
        "/v1/topics/orders/subscriptions/billing/stream?member=m&": 200,
        "/v1/topics/orders/subscriptions/other/stream?member=m&": 401,
        "/v1/topics/payments/subscriptions/billing/stream?member=m&": 401,
        "/v1/topics/orders/stream?": 401,
    }
    for path, status in paths.items():
        one = await ticket(admin, topic="orders", group="billing")
        assert await opens(anybody, f"{path}ticket={one}") == status, path


async def test_10_s85_a_late_ticket_and_one_of_a_revoked_key_open_nothing(
    clock: Clock, keys: Keys, admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    late = await ticket(admin, topics=["orders"])
    in_time = await ticket(admin, topics=["orders"])
    await clock.move(timedelta(seconds=TICKET_SECONDS - 100))
    assert await opens(anybody, f"/v1/topics/orders/stream?ticket={in_time}") == 200
    await clock.move(timedelta(seconds=100))
    problem(await anybody.get(f"/v1/topics/orders/stream?ticket={late}"), 401, "unauthorized")
    reader = bearer(await keys.make("reader", "subscribe:orders"))
    answer = await anybody.post("/v1/stream-tickets", json={"topics": ["orders"]}, headers=reader)
    await keys.revoke("reader")
    path = f"/v1/topics/orders/stream?ticket={answer.json()['ticket']}"
    problem(await anybody.get(path), 401, "unauthorized")


async def test_10_a_ticket_is_good_for_30_seconds_where_nothing_else_is_set(
    slow_clock: SlowClock, start_guarded: StartService, keys: Keys
) -> None:
    service = await start_guarded()
    headers = bearer(await keys.make("admin", "admin"))
    async with (
        httpx.AsyncClient(base_url=service.base_url, timeout=30, headers=headers) as admin,
        httpx.AsyncClient(base_url=service.base_url, timeout=30) as anybody,
    ):
        await _prepare(admin)
        in_time, late = [await ticket(admin, topics=["orders"]) for _ in range(2)]
        await slow_clock.move(timedelta(seconds=28))
        assert await opens(anybody, f"/v1/topics/orders/stream?ticket={in_time}") == 200
        await slow_clock.move(timedelta(seconds=2))
        assert await opens(anybody, f"/v1/topics/orders/stream?ticket={late}") == 401


async def test_10_a_ticket_is_good_for_streams_only(
    admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    """Nor does it get itself a successor."""
    one = await ticket(admin, topics=["orders"])
    for method, path in (
        ("GET", "/v1/topics/orders"),
        ("GET", "/v1/topics/orders/events"),
        ("POST", "/v1/topics/orders/events"),
        ("POST", "/v1/stream-tickets"),
        ("GET", "/v1/session"),
        ("HEAD", "/v1/topics/orders/stream"),
    ):
        assert (await anybody.request(method, f"{path}?ticket={one}")).status_code == 401
    for sent in (f"Bearer {one}", f"Ticket {one}"):
        headers = {"Authorization": sent}
        assert (await anybody.get("/v1/topics/orders", headers=headers)).status_code == 401
    for twice in (f"ticket={one}&ticket={one}", "ticket=", "ticket=x", "ticket=gplt_" + "A" * 43):
        assert (await anybody.get(f"/v1/topics/orders/stream?{twice}")).status_code == 401
    assert await opens(anybody, f"/v1/topics/orders/stream?ticket={one}") == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"topics": []},
        {"topics": ["orders"], "topic": "orders"},
        {"topics": ["orders"], "group": "billing"},
        {"topic": "orders"},
        {"group": "billing"},
        {"topics": ["Orders"]},
        {"topic": "orders", "group": "x\u0000"},
        {"topics": [f"t{n}" for n in range(101)]},
    ],
    ids=lambda body: str(body)[:60],
)
async def test_a_ticket_for_nothing_or_too_much_is_refused(shared: Shared, body: dict[str, Any]) -> None:
    admin, _ = shared
    answer = await admin.post("/v1/stream-tickets", json=body)
    assert answer.status_code == 422, answer.text


async def test_a_ticket_needs_what_its_stream_needs(
    keys: Keys, anybody: httpx.AsyncClient, admin: Any
) -> None:
    writer = bearer(await keys.make("writer", "publish:orders"))
    consumer = bearer(await keys.make("consumer", "consume:orders/billing"))
    for headers, body, status in (
        (writer, {"topics": ["orders"]}, 403),
        (writer, {"topic": "orders", "group": "billing"}, 403),
        (writer, {"topics": ["payments"]}, 404),
        (consumer, {"topics": ["orders"]}, 201),
        (consumer, {"topic": "orders", "group": "billing"}, 201),
        (consumer, {"topic": "orders", "group": "other"}, 404),
    ):
        answer = await anybody.post("/v1/stream-tickets", json=body, headers=headers)
        assert answer.status_code == status, (body, answer.text)


async def test_35_s85_nothing_that_proves_who_calls_is_ever_told(
    start_process: StartProcess, keys: Keys
) -> None:
    """Everything is used, wrongly too; then the log, answers and processes are searched."""
    async with Issuer() as issuer:
        service = await start_process(**GUARDED, **PATIENT, **issuer.settings, access_log=True, workers=2)
        await until(lambda: len(workers_of(service.pid)) == 2)
        secrets = [await keys.make("admin", "admin"), jwt_token(claims(scope="admin"))]
        said = ""
        async with (
            httpx.AsyncClient(base_url=service.base_url, timeout=30) as client,
            httpx.AsyncClient(base_url=service.base_url, timeout=30) as browser,
        ):
            for number, token in enumerate(secrets[:]):
                client.headers.update(bearer(token))
                assert (await client.put(f"/v1/topics/orders-{number}")).status_code == 201
                stream = f"/v1/topics/orders-{number}/stream"
                one = await ticket(client, topics=[f"orders-{number}"])
                assert await opens(browser, f"{stream}?ticket={one}") == 200
                login = await browser.post("/v1/session", json={"token": token})
                cookie = login.headers["set-cookie"].partition(";")[0]
                csrf = login.json()["csrf_token"]
                session = {"Cookie": cookie, "X-CSRF-Token": csrf}
                assert (await browser.get("/v1/session", headers=session)).status_code == 200
                of_browser = await browser.post(
                    "/v1/stream-tickets", json={"topics": [f"orders-{number}"]}, headers=session
                )
                made = await client.post("/v1/keys", json={"name": f"other-{number}", "scopes": ["admin"]})
                secrets += [one, cookie.partition("=")[2], csrf]
                secrets += [of_browser.json()["ticket"], made.json()["token"]]
                wrong = [
                    await browser.get(f"{stream}?ticket={one}"),
                    await browser.get(f"{stream}?token={token}"),
                    await browser.get("/v1/topics", headers=bearer(f"{token}x")),
                    await browser.get("/v1/topics", headers=bearer(token[:-4] + "AAAA")),
                    await browser.get("/v1/topics", headers={"Authorization": f"Basic {token}"}),
                    await browser.get("/v1/session", headers={"Cookie": f"{cookie}x"}),
                    await browser.delete("/v1/session", headers={**session, "X-CSRF-Token": f"{csrf}x"}),
                    await browser.post("/v1/session", content=f'{{"token": "{token}", "x": 1}}'),
                    await browser.post("/v1/session", json={"token": token, "x": 1}),
                    await browser.post("/v1/session", json={"token": f"{token}x"}),
                ]
                assert all(answer.is_error for answer in wrong)
                said += "".join(answer.text for answer in wrong)
                assert (await browser.delete("/v1/session", headers=session)).status_code == 204
                said += (await browser.get("/v1/session", headers=session)).text
            for path in ("/v1/audit", "/v1/keys", "/metrics", "/readyz", "/v1/nothing"):
                said += (await client.get(path)).text
        assert all(name in said for name in ('"key:admin"', '"jwt:alice"', '"other-1"', "gapless_build_info"))
        processes = [service.pid, *workers_of(service.pid)]
        assert len(processes) == 3
        seen = "".join(
            Path(f"/proc/{pid}/{file}").read_text() for pid in processes for file in ("cmdline", "environ")
        )
        await service.terminate()
    assert "/v1/topics/orders-1/stream" in service.output
    for secret in secrets:
        for part in (secret, secret[10:30], secret[-20:]):
            assert part not in service.output
            assert part not in said
            assert part not in seen


# Other origins


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "https://app.example.evil.example",
        "https://evil.example/https://app.example",
        "http://app.example",
        "https://app.example:8443",
        "https://APP.example",
        "https://app.example/",
        "https://app.example, https://app.example",
        "",
    ],
    ids=repr,
)
async def test_11_an_origin_that_is_not_named_exactly_gets_nothing(shared: Shared, origin: str) -> None:
    admin, _ = shared
    cookie = await _log_in(admin)
    for method in ("GET", "OPTIONS", "PUT"):
        answer = await admin.request(
            method,
            "/v1/topics/orders",
            headers={"Origin": origin, "Access-Control-Request-Method": "PUT", "Cookie": cookie["Cookie"]},
        )
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert "Origin" in answer.headers["vary"]


async def test_11_a_named_origin_reads_answers_with_a_token_and_never_with_a_cookie(shared: Shared) -> None:
    admin, anybody = shared
    answer = await admin.get("/v1/topics/orders", headers={"Origin": ALLOWED})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    assert "access-control-allow-credentials" not in answer.headers
    assert {"Retry-After", "ETag", "X-Request-Id"} <= set(
        answer.headers["access-control-expose-headers"].split(", ")
    )
    refused = await anybody.get("/v1/topics/orders", headers={"Origin": ALLOWED})
    problem(refused, 401, "unauthorized")
    assert refused.headers["access-control-allow-origin"] == ALLOWED
    with_cookie = {**await _log_in(admin), "Origin": ALLOWED}
    answer = await anybody.get("/v1/topics/orders", headers=with_cookie)
    problem(answer, 403, "csrf_refused")
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize("path", ["/v1/topics/orders", "/v1/topics/absent", "/v1/stream", "/nowhere"])
async def test_11_a_preflight_of_a_named_origin_passes_without_credentials(shared: Shared, path: str) -> None:
    _, anybody = shared
    answer = await anybody.options(
        path,
        headers={
            "Origin": ALLOWED,
            "Access-Control-Request-Method": "PUT",
            "Access-Control-Request-Headers": "authorization,content-type,last-event-id,idempotency-key",
        },
    )
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == ALLOWED
    methods = answer.headers["access-control-allow-methods"].split(", ")
    assert {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} == set(methods)
    headers = {name.lower() for name in answer.headers["access-control-allow-headers"].split(", ")}
    assert {"authorization", "content-type", "last-event-id", "idempotency-key", "x-csrf-token"} <= headers
    assert "access-control-allow-credentials" not in answer.headers
    assert "Origin" in answer.headers["vary"]


async def allowed_headers(client: httpx.AsyncClient, *asked: str) -> set[str]:
    """Of those that a browser asks for before it publishes."""
    origin = [("Origin", ALLOWED), ("Access-Control-Request-Method", "POST")]
    asking = [("Access-Control-Request-Headers", names) for names in asked]
    answer = await client.options("/v1/topics/orders/events", headers=[*origin, *asking])
    assert answer.status_code == 204
    allowed = [name.lower() for name in answer.headers["access-control-allow-headers"].split(", ")]
    assert len(set(allowed)) == len(allowed)
    return set(allowed) & {name.strip().lower() for names in asked for name in names.split(",")}


async def test_a_preflight_allows_every_header_that_a_publish_takes(shared: Shared) -> None:
    _, anybody = shared
    published = "authorization,ce-id,ce-partitionkey,ce-source,ce-specversion,ce-subject,ce-time,ce-type"
    published += ",ce-transactionid,content-type,idempotency-key,traceparent,tracestate,x-request-id"
    assert await allowed_headers(anybody, published) == set(published.split(","))
    longest = f"ce-{'x' * 255}"
    asked = f"Ce-Tenant, ce-region2,ce-tenant\t,{longest}"
    assert await allowed_headers(anybody, asked, "ce-0") == {"ce-tenant", "ce-region2", "ce-0", longest}


async def test_a_preflight_allows_nothing_that_is_no_attribute(shared: Shared) -> None:
    _, anybody = shared
    too_long = f"ce-{'x' * 256}"
    for name in ("ce-", "ce", "ce-a_b", "ce-a-b", "xce-a", "cookie", "*", "ce-*", "", too_long):
        assert await allowed_headers(anybody, f"{name},ce-id") == {"ce-id"}, name


async def test_without_named_origins_nothing_says_that_there_could_be_some(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/topics", headers={"Origin": ALLOWED})
    assert not [name for name in answer.headers if name.startswith("access-control-") or name == "vary"]


# Sessions


async def _log_in(client: httpx.AsyncClient, token: str | None = None) -> dict[str, str]:
    """What the page sends with a change from then on."""
    token = token or client.headers["authorization"].removeprefix("Bearer ")
    answer = await client.post("/v1/session", json={"token": token})
    assert answer.status_code == 201, answer.text
    value = answer.headers["set-cookie"].partition(";")[0]
    return {"Cookie": value, "X-CSRF-Token": answer.json()["csrf_token"]}


async def test_12_a_token_is_exchanged_for_a_cookie_that_only_this_service_gets_back(
    admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    token = admin.headers["authorization"].removeprefix("Bearer ")
    answer = await anybody.post("/v1/session", json={"token": token})
    cookie, *rules = answer.headers["set-cookie"].split("; ")
    assert cookie.startswith("__Host-gapless=")
    assert rules == ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"]
    said = answer.json()
    assert {name: said[name] for name in ("name", "scopes")} == {"name": "key:admin", "scopes": ["admin"]}
    assert token not in answer.text + cookie
    assert cookie.partition("=")[2] not in answer.text
    seen = await anybody.get("/v1/session", headers={"Cookie": f"theme=dark; {cookie}; __Host-gaplessx=1"})
    assert {**seen.json(), "expires_at": ""} == {**said, "expires_at": ""}
    assert (await admin.get("/v1/session")).json()["csrf_token"] is None
    for bad in ("", "x", "gpls_" + "A" * 43):
        refused = await anybody.post("/v1/session", json={"token": bad})
        assert refused.status_code == (422 if not bad else 401)
        assert "set-cookie" not in refused.headers


CHANGES = [
    ("POST", "/v1/topics/orders/subscriptions/billing/dead-letters/redrive", b"{}"),
    ("POST", "/v1/topics/orders/subscriptions/billing/seek", b'{"to": "earliest"}'),
    ("POST", "/v1/topics/orders/events", b'{"events": [{"data": 1}]}'),
    ("PUT", "/v1/topics/new", b"{}"),
    ("DELETE", "/v1/topics/others", b""),
    ("POST", "/v1/keys", b'{"name": "new", "scopes": ["admin"]}'),
    ("POST", "/v1/stream-tickets", b'{"topics": ["orders"]}'),
    ("DELETE", "/v1/session", b""),
]
FORGERIES: list[tuple[str, dict[str, str | None]]] = [
    ("no CSRF token", {"X-CSRF-Token": None}),
    ("a wrong one", {"X-CSRF-Token": "x" * 43}),
    ("an empty one", {"X-CSRF-Token": ""}),
    ("a page of another site", {"Sec-Fetch-Site": "cross-site"}),
    ("a page of a sibling host", {"Sec-Fetch-Site": "same-site"}),
    ("another origin", {"Origin": "https://evil.example"}),
    ("an origin that CORS allows", {"Origin": ALLOWED}),
    ("no origin", {"Origin": "null"}),
    ("the host in another port", {"Origin": "http://127.0.0.1:1"}),
    ("JSON as text", {"Content-Type": "text/plain", "X-CSRF-Token": None}),
]


@pytest.mark.parametrize("forged", [case[1] for case in FORGERIES], ids=[case[0] for case in FORGERIES])
async def test_12_a_change_by_cookie_that_may_come_from_elsewhere_is_refused(
    shared: Shared, forged: dict[str, str | None]
) -> None:
    admin, anybody = shared
    session = await _log_in(admin)
    before = (await admin.get("/v1/audit?limit=1000")).json()
    for method, path, body in CHANGES:
        headers = {**session, "Content-Type": "application/json", **forged}
        sent = {name: value for name, value in headers.items() if value is not None}
        answer = await anybody.request(method, path, content=body, headers=sent)
        problem(answer, 403, "csrf_refused")
    assert (await admin.get("/v1/audit?limit=1000")).json() == before
    assert (await admin.get("/v1/topics/orders")).json()["bounds"][0]["tip"] == 0
    assert (await anybody.get("/v1/session", headers=session)).status_code == 200


async def test_12_a_change_by_cookie_from_the_page_itself_passes(
    guarded: ThreadService, admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    """The other side: so that the refusals are not of everything."""
    session = await _log_in(admin)
    for more in (
        {},
        {"Sec-Fetch-Site": "same-origin", "Origin": guarded.base_url},
        {"Sec-Fetch-Site": "none"},
    ):
        for method, path, body in CHANGES[:3]:
            headers = {**session, "Content-Type": "application/json", **more}
            answer = await anybody.request(method, path, content=body, headers=headers)
            assert answer.status_code in (200, 201), answer.text
    assert (await admin.get("/v1/topics/orders")).json()["bounds"][0]["tip"] == 3
    audit = (await admin.get("/v1/audit?topic=orders&limit=1000")).json()["entries"]
    assert audit[-1]["actor"] == "key:admin"


async def test_12_a_stream_by_cookie_is_for_pages_of_this_service(
    guarded: ThreadService, admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    """It needs no CSRF token, which an EventSource could not send."""
    cookie = {"Cookie": (await _log_in(admin))["Cookie"]}
    path = "/v1/topics/orders/stream"
    for more in ({}, {"Origin": guarded.base_url}, {"Sec-Fetch-Site": "same-origin"}):
        assert await opens(anybody, path, {**cookie, **more}) == 200
    for more in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        problem(await anybody.get(path, headers={**cookie, **more}), 403, "csrf_refused")


async def test_12_nobody_is_logged_in_by_another_site(shared: Shared) -> None:
    admin, anybody = shared
    token = admin.headers["authorization"].removeprefix("Bearer ")
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": ALLOWED},
    ):
        answer = await anybody.post("/v1/session", json={"token": token}, headers=headers)
        problem(answer, 403, "csrf_refused")
        assert "set-cookie" not in answer.headers


async def test_a_session_ends_by_logging_out_at_every_replica(
    admin: httpx.AsyncClient, anybody: httpx.AsyncClient, start_guarded: StartService
) -> None:
    other = await start_guarded(key_refresh_seconds=0.2)
    session = await _log_in(admin)
    async with httpx.AsyncClient(base_url=other.base_url, timeout=30) as there:
        assert (await there.get("/v1/session", headers=session)).status_code == 200
        answer = await anybody.delete("/v1/session", headers=session)
        assert answer.status_code == 204
        assert answer.headers["set-cookie"].startswith("__Host-gapless=; Max-Age=0; Path=/; Secure; HttpOnly")
        problem(await anybody.get("/v1/session", headers=session), 401, "unauthorized")

        async def refused() -> bool:
            return (await there.get("/v1/session", headers=session)).status_code == 401

        await until(refused)
    assert (await admin.get("/v1/session")).status_code == 200, "the token goes on"


async def test_a_session_ends_with_its_key(
    keys: Keys, admin: httpx.AsyncClient, anybody: httpx.AsyncClient
) -> None:
    session = await _log_in(anybody, await keys.make("short", "subscribe:*"))
    assert (await anybody.get("/v1/topics", headers=session)).status_code == 200
    assert (await admin.delete("/v1/keys/short")).status_code == 204
    problem(await anybody.get("/v1/topics", headers=session), 401, "unauthorized")


async def test_where_authentication_is_off_everybody_is_anonymous(client: httpx.AsyncClient) -> None:
    said = {"name": "anonymous", "scopes": ["admin"], "expires_at": None, "csrf_token": None}
    assert (await client.get("/v1/session")).json() == said
    answer = await client.post("/v1/session", json={"token": "whatever"})
    assert (answer.status_code, answer.json()) == (201, said)
    assert "set-cookie" not in answer.headers
    assert (await client.delete("/v1/session")).status_code == 204
    await client.put("/v1/topics/orders", headers={"Authorization": "Basic nonsense"})
    one = await ticket(client, topics=["orders"])
    assert await opens(client, f"/v1/topics/orders/stream?ticket={one}") == 200
    entries = (await client.get("/v1/audit")).json()["entries"]
    assert {entry["actor"] for entry in entries} == {"anonymous"}


async def test_a_stream_that_cannot_begin_says_so_to_the_client(guarded: ThreadService) -> None:
    """What a browser's EventSource gets after its ticket was used: it gives up, as it should."""
    with pytest.raises(SseError, match="401"):
        async with open_stream(f"{guarded.base_url}/v1/topics/orders/stream?ticket=x"):
            pass


async def test_browsers_are_told_to_stay_with_https_where_that_is_set(start_service: StartService) -> None:
    service = await start_service(hsts_seconds=31_536_000)
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        answer = await client.get("/livez")
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
