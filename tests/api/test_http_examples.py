"""The request files of `openapi/examples`, run in order as a reader would and held against the document."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from jsonschema_rs import Draft202012Validator

from tests.conftest import StartService
from tests.support.access import Keys
from tests.support.http_files import HttpRequest, Variables, requests_in
from tests.support.sse import Parser

FOLDER = Path(__file__).parents[2] / "openapi"
DOCUMENT: dict[str, Any] = json.loads((FOLDER / "openapi.json").read_text("utf-8"))
FILES = (
    "publish",
    "read",
    "stream",
    "groups",
    "dead-letters",
    "access",
    "admin",
)  # each goes on where others end
STREAM = "text/event-stream"
LINES = "application/x-ndjson"
TEXT = "text/plain"
OPEN = {"get_liveness", "get_problem_type", "create_session"}
# Headers that OpenAPI describes elsewhere than among parameters.
OF_HTTP = {"authorization", "content-type", "accept"}

PATHS = [
    (method, re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)) + r"\Z"), operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def fits(schema: Mapping[str, Any], value: Any) -> None:
    checked = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    assert [error.message for error in checked.iter_errors(value)] == [], value


def operation_at(method: str, path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The operation, and the parameters in the path. A literal part is meant before a parameter."""
    fitting = [(o, m.groupdict()) for name, p, o in PATHS if name == method and (m := p.match(path))]
    assert fitting, f"no operation at {method} {path}"
    return min(fitting, key=lambda found: len(found[1]))


def as_documented(schema: Mapping[str, Any], text: str) -> Any:
    return int(text) if schema.get("type") == "integer" else text


def check_request(request: httpx.Request) -> dict[str, Any]:
    """What OpenAPI says of it."""
    url = urlsplit(str(request.url))
    operation, in_path = operation_at(request.method.lower(), url.path)
    in_query = parse_qsl(url.query, strict_parsing=bool(url.query))
    written = {(p["in"], p["name"].lower()): p for p in operation.get("parameters", ())}
    given = [("path", name, value) for name, value in in_path.items()]
    given += [("query", name, value) for name, value in in_query]
    binary = "ce-specversion" in request.headers
    for name, value in request.headers.items():
        if name not in OF_HTTP and not name.startswith("ce-"):
            given.append(("header", name, value))
    for where, name, value in given:
        assert (where, name) in written, f"{where} parameter {name} is not in the document"
        schema = written[where, name]["schema"]
        if schema.get("type") == "array":
            fits(schema, [v for n, v in in_query if n == name])
        else:
            fits(schema, as_documented(schema, value))
    required = {(p["in"], p["name"].lower()) for p in written.values() if p.get("required")}
    assert required <= {(where, name) for where, name, _ in given}
    body = operation.get("requestBody", {})
    if request.content:
        if not binary:
            check_body(body["content"], request.headers["content-type"], request.content)
    else:
        assert not body.get("required"), "the body is required"
    return operation


def check_body(described: Mapping[str, Any], media_type: str, body: bytes) -> None:
    kind = media_type.partition(";")[0]
    assert kind in described, f"{kind} is not in the document"
    schema = described[kind]["schema"]
    if kind == LINES:
        for line in body.splitlines():
            fits(schema, json.loads(line))
    elif kind == STREAM:
        frames = Parser().feed(body)
        assert frames
        for frame in frames:
            fits(described[kind]["x-sse-frames"][frame.event], json.loads(frame.data))
    elif kind == TEXT:
        fits(schema, body.decode())
    else:
        fits(schema, json.loads(body))


async def sent(client: httpx.AsyncClient, request: httpx.Request) -> tuple[httpx.Response, bytes]:
    """The answer; of a stream what comes until its first frame."""
    answer = await client.send(request, stream=True)
    if STREAM not in answer.headers.get("content-type", ""):
        return answer, await answer.aread()
    parser = Parser()
    received = b""
    async for chunk in answer.aiter_raw():
        received += chunk
        if parser.feed(chunk):
            break
    await answer.aclose()
    return answer, received


async def run(client: httpx.AsyncClient, written: HttpRequest, variables: Variables) -> str:
    """The operation that the request was."""
    variables.define(written.variables)
    request = httpx.Request(
        written.method,
        variables.fill(written.url),
        headers={name: variables.fill(value) for name, value in written.headers.items()},
        content=variables.fill(written.body).strip("\n").encode() or None,
    )
    del request.headers["host"]
    request.headers.pop("content-length", None)
    operation = check_request(request)
    answer, body = await sent(
        client,
        client.build_request(
            request.method, request.url, headers=request.headers, content=request.content or None
        ),
    )
    assert answer.status_code == written.expect, body.decode()
    described = operation["responses"][str(answer.status_code)]
    if body:
        check_body(described["content"], answer.headers["content-type"], body)
    else:
        assert "content" not in described
    for name, header in described.get("headers", {}).items():
        if name in answer.headers:
            fits(header["schema"], as_documented(header["schema"], answer.headers[name]))
    if written.name:
        variables.answered(written.name, answer)
    return str(operation["operationId"])


async def test_every_request_gets_the_answer_that_it_says(start_guarded: StartService, keys: Keys) -> None:
    service, token = await start_guarded(), await keys.make("example", "admin")
    async with httpx.AsyncClient(timeout=30) as client:
        for name in FILES:
            head, written = requests_in(FOLDER / "examples" / f"{name}.http")
            assert set(head) == {"base", "token"}
            variables = Variables({**head, "base": service.base_url, "token": token})
            for request in written:
                try:
                    assert await run(client, request, variables) == request.operation
                except BaseException as error:
                    error.add_note(f"{name}.http: {request.title}")
                    raise


def all_requests() -> list[HttpRequest]:
    return [request for name in FILES for request in requests_in(FOLDER / "examples" / f"{name}.http")[1]]


def test_every_operation_is_shown() -> None:
    operations = {operation["operationId"] for _, _, operation in PATHS}
    assert operations - {request.operation for request in all_requests()} == set()


def test_every_file_is_run() -> None:
    assert sorted(path.stem for path in (FOLDER / "examples").glob("*.http")) == sorted(FILES)


def test_every_request_has_a_title_and_says_who_asks() -> None:
    for request in all_requests():
        assert request.title
        asks = request.headers.get("Authorization") == "Bearer {{token}}"
        assert asks or request.operation in OPEN, request.title


@pytest.mark.parametrize("name", FILES)
def test_no_variable_is_defined_twice(name: str) -> None:
    """Some IDEs take the last definition of a file for all of it."""
    head, written = requests_in(FOLDER / "examples" / f"{name}.http")
    names = [*head, *(variable for request in written for variable in request.variables)]
    assert sorted(set(names)) == sorted(names)
