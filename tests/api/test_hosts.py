"""A page whose name was rebound to this machine is of the origin of the service, and yet gets nothing."""

import httpx
import pytest

from tests.conftest import StartService
from tests.support.access import GUARDED
from tests.support.problems import problem
from tests.support.rude import answers
from tests.support.service import ThreadService

REBOUND = "rebound.example"


async def ask(
    service: ThreadService, host: str, method: str = "GET", path: str = "/v1/topics"
) -> httpx.Response:
    async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
        return await client.request(method, path, headers={"Host": host})


@pytest.mark.parametrize(
    "path",
    ["/", "/livez", "/readyz", "/metrics", "/v1/topics", "/v1/stream?topic=t", "/openapi.json", "/nothing"],
)
async def test_a_rebound_name_reads_nothing(shared_service: ThreadService, path: str) -> None:
    for host in (REBOUND, f"{REBOUND}:{shared_service.port}"):
        problem(await ask(shared_service, host, path=path), 421, "host_not_allowed")


async def test_a_page_of_a_rebound_name_changes_nothing(shared_service: ThreadService) -> None:
    """Its browser takes it for one of the service, and says so in every header that a page cannot set."""
    host = f"{REBOUND}:{shared_service.port}"
    same = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(base_url=shared_service.base_url, timeout=30) as client:
        problem(await client.put("/v1/topics/rebound", headers=same), 421, "host_not_allowed")
        problem(await client.get("/v1/topics/rebound"), 404, "topic_not_found")


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1",
        "127.0.0.1:9",
        "127.8.9.10",
        "[::1]",
        "[::1]:8080",
        "app.localhost:1",
    ],
)
async def test_the_names_of_the_loopback_are_taken_at_any_port(
    shared_service: ThreadService, host: str
) -> None:
    assert (await ask(shared_service, host)).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "", ":8080", "localhost.example", "notlocalhost", "127.0.0.1.example", "127.0.0.1, x", "::1",
        "[127.0.0.1]", "192.0.2.1", "[2001:db8::1]", "localhost:8080:80", "localhost@x", "x@localhost",
        "localhost/", "x\xe4", "a" * 300 + ".localhost",
    ],
)  # fmt: skip
async def test_what_only_looks_like_one_is_not(shared_service: ThreadService, host: str) -> None:
    request = f"GET /v1/topics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert await answers(shared_service.port, request.encode("latin-1")) == [421]


@pytest.mark.parametrize(
    "hosts", ["", "Host: localhost\r\nHost: localhost\r\n", f"Host: localhost\r\nHost: {REBOUND}\r\n"]
)
async def test_there_is_one_host_exactly(shared_service: ThreadService, hosts: str) -> None:
    request = f"GET /v1/topics HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n"
    assert await answers(shared_service.port, request.encode()) == [421]


async def test_one_host_is_named_where_any_will_do_but_by_the_oldest_clients(
    start_service: StartService,
) -> None:
    service = await start_service(**GUARDED, allowed_hosts=["*"])
    for version, hosts, status in (
        ("1.1", "Host: a\r\n", 401),
        ("1.1", "Host: a\r\nHost: a\r\n", 400),
        ("1.1", "", 400),
        ("1.0", "", 401),
        ("1.0", "Host: a\r\nHost: a\r\n", 400),
    ):
        request = f"GET /v1/topics HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n"
        assert await answers(service.port, request.encode()) == [status]


async def test_a_setting_names_others_and_those_below_a_name(start_service: StartService) -> None:
    service = await start_service(allowed_hosts=["gapless.example", "*.inside.example"])
    for host in (
        "gapless.example",
        "Gapless.Example:8443",
        "a.inside.example",
        "a.b.inside.example:1",
        "localhost",
    ):
        assert (await ask(service, host)).status_code == 200, host
    for host in ("www.gapless.example", "inside.example", "notinside.example", REBOUND):
        problem(await ask(service, host), 421, "host_not_allowed")


async def test_any_name_will_do_where_callers_show_who_they_are(start_service: StartService) -> None:
    service = await start_service(**GUARDED)
    problem(await ask(service, "gapless.example"), 401, "unauthorized")
    assert (await ask(service, "gapless.example", path="/livez")).status_code == 200


async def test_an_unknown_name_is_refused_also_to_known_callers_where_the_names_are_told(
    start_service: StartService,
) -> None:
    service = await start_service(**GUARDED, allowed_hosts=["gapless.example"])
    problem(await ask(service, "gapless.example"), 401, "unauthorized")
    problem(await ask(service, REBOUND), 421, "host_not_allowed")
    problem(await ask(service, "127.0.0.1"), 401, "unauthorized")


async def test_any_name_will_do_for_who_says_so(start_service: StartService) -> None:
    service = await start_service(allowed_hosts=["*"])
    assert (await ask(service, REBOUND)).status_code == 200


async def test_any_name_will_do_on_an_address_that_was_opened_on_purpose(start_service: StartService) -> None:
    service = await start_service(host="0.0.0.0")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{service.port}", timeout=30) as client:
        assert (await client.get("/v1/topics", headers={"Host": REBOUND})).status_code == 200
