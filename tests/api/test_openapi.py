"""The committed OpenAPI document: up to date, valid, and complete."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from app.api import openapi
from app.api.problem_types import MEANINGS, problem_types
from app.api.problem_types import table as problem_types_table
from app.api.problems import HTTP_CODES, STATUS
from app.api.refusals import Refusal
from tests.support.sse import Parser

FOLDER = Path(__file__).parents[2] / "openapi"
TEXT = (FOLDER / "openapi.json").read_text("utf-8")
DOCUMENT: dict[str, Any] = json.loads(TEXT)
PROBLEM = "application/problem+json"
OPERATIONS = [
    (f"{method.upper()} {path}", operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
every_operation = pytest.mark.parametrize(
    "operation", [o for _, o in OPERATIONS], ids=[n for n, _ in OPERATIONS]
)


def fits(schema: dict[str, Any], value: Any) -> list[str]:
    """What is wrong with a value, if anything."""
    checked = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [error.message for error in checked.iter_errors(value)]


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where each body is described, its media type and its description."""
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        yield "request", media_type, content
    for status, answer in operation["responses"].items():
        for media_type, content in answer.get("content", {}).items():
            yield status, media_type, content


def test_the_committed_document_is_what_the_service_generates() -> None:
    assert openapi.text() == TEXT, "run `make openapi`"


def test_the_document_is_openapi_3_1_and_valid() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, operation in OPERATIONS]
    assert sorted(set(ids)) == sorted(ids)


@every_operation
def test_an_operation_says_what_it_does(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["tags"][0] in [tag["name"] for tag in DOCUMENT["tags"]]
    for parameter in operation.get("parameters", ()):
        assert parameter["description"]
        assert "example" in parameter


@every_operation
def test_an_operation_documents_success_and_problems(operation: dict[str, Any]) -> None:
    statuses = list(operation["responses"])
    assert any(status.startswith("2") for status in statuses)
    assert {"422", "500"} <= set(statuses)
    for status, answer in operation["responses"].items():
        assert answer["description"]
        if status >= "400":
            assert list(answer["content"]) == [PROBLEM]
        if status in ("429", "503", "507"):
            waits = answer["headers"]["Retry-After"]["schema"]
            # What is known to last longer, such as a rate that was exceeded by far, is told as it is.
            assert waits.get("maximum") == {"503": 5, "507": 90}.get(status)


@every_operation
def test_an_operation_says_who_may_call_it(operation: dict[str, Any]) -> None:
    shown = [name for scheme in operation["security"] for name in scheme]
    assert set(shown) <= set(DOCUMENT["components"]["securitySchemes"])
    assert "400" in operation["responses"], "a token in the URL"
    if operation["x-gapless-scope"] == "none":
        assert shown == []
    else:
        assert {"key", "jwt", "session"} <= set(shown)
        assert {"401", "403"} <= set(operation["responses"])
        assert "WWW-Authenticate" in operation["responses"]["401"]["headers"]
    assert ("ticket" in shown) == operation["operationId"].startswith("follow_")


@every_operation
def test_every_body_has_examples_that_fit_its_schema(operation: dict[str, Any]) -> None:
    for where, media_type, content in contents(operation):
        assert content["examples"], f"{where} {media_type}"
        for name, example in content["examples"].items():
            assert not fits(content["schema"], example["value"]), f"{where} {media_type} {name}"


@every_operation
def test_the_frames_of_a_stream_fit_their_schemas(operation: dict[str, Any]) -> None:
    for _, media_type, content in contents(operation):
        assert (media_type == "text/event-stream") == ("x-sse-frames" in content)
        if media_type == "text/event-stream":
            for frame in Parser().feed(content["examples"]["frames"]["value"].encode()):
                assert not fits(content["x-sse-frames"][frame.event], json.loads(frame.data))


@every_operation
def test_every_example_of_a_parameter_fits_its_schema(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        assert not fits(parameter["schema"], parameter["example"]), parameter["name"]


def test_every_change_says_what_it_answers_to_the_condition_of_an_etag() -> None:
    refusing = {name for name, operation in OPERATIONS if "412" in operation["responses"]}
    assert refusing == {name for name, _ in OPERATIONS if name.startswith(("PUT ", "PATCH ", "DELETE "))}


def test_every_error_code_is_documented() -> None:
    documented = {
        example["value"]["code"]
        for _, operation in OPERATIONS
        for _, media_type, content in contents(operation)
        if media_type == PROBLEM
        for example in content["examples"].values()
    }
    assert documented == {error.code for error in STATUS} | {"internal", "not_found"}


def test_every_code_has_a_meaning_and_every_meaning_a_code() -> None:
    codes = {error.code for error in STATUS} | {code for code, _ in HTTP_CODES.values()}
    assert set(MEANINGS) == codes | {"internal", "service_unavailable"} == set(problem_types())


def test_the_protocol_page_has_the_table_of_codes() -> None:
    page = (FOLDER / "PROTOCOL.md").read_text("utf-8")
    assert openapi.with_codes(page) == page, "run `make openapi`"
    assert page.count(problem_types_table()) == 1


def test_the_protocol_page_lists_what_items_are_refused_for() -> None:
    page = (FOLDER / "PROTOCOL.md").read_text("utf-8")
    table = page.partition("### What is refused\n")[2].partition("\nLimits:")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    listed = [code for row in rows for code in re.findall("`([a-z0-9_]+)`", row)]
    assert sorted(listed) == sorted(Refusal)


def test_the_default_bodies_of_the_framework_appear_nowhere() -> None:
    assert "HTTPValidationError" not in TEXT
    assert "ValidationError" not in DOCUMENT["components"]["schemas"]
