"""Requests made up from the OpenAPI document: whatever comes, the answer is one that the document has."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi import checks

from tests.support.databases import Databases
from tests.support.service import PATIENT, ProcessService
from tests.support.wait import PATIENCE_SECONDS

# Hypothesis takes for its own what the threads of other tests' services do with `random`.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
    pytest.mark.timeout(600),
]

DOCUMENT = schemathesis.openapi.from_path(Path(__file__).parents[2] / "openapi" / "openapi.json")
STREAMS = DOCUMENT.include(path_regex="stream$")
OTHERS = DOCUMENT.exclude(path_regex="stream$")
TOPICS = 3
EXAMPLES = 50
CHECKS: list[CheckFunction] = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
bounded = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@schemathesis.serializer("application/x-ndjson")
def one_line(_: Any, value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


@DOCUMENT.hook
def map_path_parameters(_: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Most names that are made up belong to no topic; let many of them mean one of a few."""
    for name in ("topic", "group"):
        if path_parameters and name in path_parameters and len(str(path_parameters[name])) % 4:
            path_parameters[name] = f"fuzz-{len(str(path_parameters[name])) % TOPICS}"
    return path_parameters


@pytest.fixture(scope="module")
async def fuzzed(databases: Databases) -> AsyncIterator[str]:
    dsn = await databases.create()
    async with ProcessService({"database_url": dsn, "max_wait_seconds": 1, **PATIENT}) as service:
        async with httpx.AsyncClient(base_url=service.base_url, timeout=30) as client:
            for number in range(TOPICS):
                await client.put(f"/v1/topics/fuzz-{number}")
                for group in range(TOPICS):
                    await client.put(f"/v1/topics/fuzz-{number}/subscriptions/fuzz-{group}")
        yield service.base_url
    await databases.drop(dsn)


@OTHERS.parametrize()
@bounded
def test_every_answer_is_a_documented_one(case: schemathesis.Case[Any], fuzzed: str) -> None:
    case.call_and_validate(base_url=fuzzed, checks=CHECKS, timeout=PATIENCE_SECONDS)


@STREAMS.parametrize()
@bounded
def test_a_stream_begins_or_is_refused_with_a_problem(case: schemathesis.Case[Any], fuzzed: str) -> None:
    request = case.as_transport_kwargs(base_url=fuzzed)
    with requests.request(**request, stream=True, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status_code < 500
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind == ("text/event-stream" if answer.status_code == 200 else "application/problem+json")
