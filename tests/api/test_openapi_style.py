"""What keeps the OpenAPI document pleasant to generate clients from and to read in a browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from app.cli.root import app as cli

ROOT = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text("utf-8"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS: dict[str, dict[str, Any]] = {
    operation["operationId"]: operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
every_schema = pytest.mark.parametrize("name", SCHEMAS)

# What an operation is called in SQL and in the CLI, which leave out a noun that the arguments tell.
NAMES = {
    "create_topic": ("create_topic", "topic create"),
    "get_topic": ("get_topic", "topic show"),
    "list_topics": ("list_topics", "topic list"),
    "alter_topic": ("alter_topic", "topic alter"),
    "delete_topic": ("delete_topic", "topic delete"),
    "trim_topic": ("trim", "topic trim"),
    "publish_events": ("publish", "publish"),
    "read_events": ("read_events", "read"),
    "follow_topic": (None, "tail"),
    "create_subscription": ("create_subscription", "sub create"),
    "get_subscription": ("get_subscription", "sub show"),
    "list_subscriptions": ("list_subscriptions", "sub list"),
    "alter_subscription": ("alter_subscription", "sub alter"),
    "delete_subscription": ("delete_subscription", "sub delete"),
    "pause_subscription": ("pause", "sub pause"),
    "resume_subscription": ("resume", "sub resume"),
    "cancel_subscription": ("cancel", "sub cancel"),
    "seek_subscription": ("seek", "sub seek"),
    "heartbeat_subscription": ("heartbeat", "sub heartbeat"),
    "force_complete_subscription": ("force_complete", None),
    "get_event_completion": ("event_completion", None),
    "claim_events": ("claim", "consume"),
    "list_leases": ("list_leases", "sub leases"),
    "read_lease": ("read_lease", None),
    "ack_lease": ("ack", None),
    "nack_lease": ("nack", None),
    "reject_lease": ("reject", None),
    "extend_lease": ("extend", None),
    "release_lease": ("release", None),
    "list_dead_letters": ("list_dead_letters", "dlq list"),
    "get_dead_letter": ("get_dead_letter", "dlq show"),
    "redrive_dead_letters": ("redrive", "dlq redrive"),
    "discard_dead_letters": ("discard", "dlq discard"),
    "list_audit": ("list_audit", None),
    "create_key": ("create_key", "key create"),
    "list_keys": ("list_keys", "key list"),
    "revoke_key": ("revoke_key", "key revoke"),
    "create_session": ("create_session", None),
    "revoke_sessions": ("revoke_sessions", "session revoke"),
    "create_stream_ticket": (None, None),
}
HTTP_ONLY = {"follow_topics", "follow_subscription", "get_liveness", "get_readiness", "get_problem_type"}
HTTP_ONLY |= {"get_metrics", "get_session", "delete_session"}


def nodes(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema, with where it stands; what examples hold is none."""
    if isinstance(node, list):
        for number, inner in enumerate(node):
            yield from nodes(inner, f"{path}/{number}")
    elif isinstance(node, dict):
        yield path, node
        for name, inner in node.items():
            if name not in ("example", "examples", "default"):
                yield from nodes(inner, f"{path}/{name}")


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from schema.get("properties", {}).items()


def commands() -> set[str]:
    found = set()
    root: Any = get_command(cli)
    for name, command in root.commands.items():
        found |= {f"{name} {inner}" for inner in command.commands} if hasattr(command, "commands") else {name}
    return found


def test_the_document_says_where_it_comes_from() -> None:
    info = DOCUMENT["info"]
    assert info["title"]
    assert info["description"]
    assert info["contact"]["name"]
    assert info["license"]["identifier"] == "Apache-2.0"
    assert DOCUMENT["servers"][0]["url"] == "/"
    assert (ROOT / "openapi" / DOCUMENT["externalDocs"]["url"]).is_file()


def test_every_tag_is_described_and_used() -> None:
    assert all(tag["description"] for tag in DOCUMENT["tags"])
    used = {tag for operation in OPERATIONS.values() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}


@every_operation
def test_an_operation_has_a_name_a_summary_and_a_description(operation: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"])
    assert len(operation["tags"]) == 1
    summary = operation["summary"]
    assert summary[0].isupper()
    assert not summary.endswith(".")
    assert operation["description"].rstrip()[-1] in ".:"


@every_operation
def test_every_answer_has_a_schema(operation: dict[str, Any]) -> None:
    for status, answer in operation["responses"].items():
        if status in ("204", "304"):
            assert "content" not in answer
            continue
        assert answer["content"]
        for content in answer["content"].values():
            assert content["schema"]


@every_operation
def test_an_operation_documents_its_refusals(operation: dict[str, Any]) -> None:
    refused = [status for status in operation["responses"] if status.startswith("4")]
    assert refused
    assert "500" in operation["responses"]


def test_objects_and_enums_of_operations_are_named() -> None:
    """An unnamed one becomes a type that a client cannot refer to."""
    for path, node in nodes(DOCUMENT["paths"]):
        assert "properties" not in node, path
        assert "enum" not in node, path
        assert "const" not in node, path


@every_schema
def test_objects_and_enums_inside_a_schema_are_named(name: str) -> None:
    for member, schema in properties(SCHEMAS[name]):
        for path, node in nodes(schema, member):
            assert "properties" not in node, path
            assert "enum" not in node, path


@every_schema
def test_a_schema_is_named_and_described_as_types_are(name: str) -> None:
    schema = SCHEMAS[name]
    assert re.fullmatch(r"([A-Z][a-z]+)+", name)
    assert "title" not in schema
    for path, node in nodes(schema, name):
        assert "title" not in node or path.endswith("/properties"), path
        assert "nullable" not in node, path
        if node.get("type") in ("integer", "number"):
            assert node["format"] in ("int32", "int64", "double"), path
            if node["format"] == "int32":
                assert node["maximum"] < 2**31, path


@every_operation
def test_numbers_of_parameters_have_formats(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["schema"].get("type") == "integer":
            assert parameter["schema"]["format"] in ("int32", "int64")


def test_every_schema_is_referred_to_and_every_reference_leads_to_one() -> None:
    referred = {str(node["$ref"]) for _, node in nodes(DOCUMENT) if "$ref" in node}
    assert referred == {f"#/components/schemas/{name}" for name in SCHEMAS}


def answered() -> set[str]:
    """The schemas of answers, and those inside them."""
    found: set[str] = set()
    waiting = [operation["responses"] for operation in OPERATIONS.values()]
    while waiting:
        for _, node in nodes(waiting.pop()):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(SCHEMAS[name])
    return found


def test_members_of_answers_are_there_or_are_never_null() -> None:
    """A type with both would leave clients two ways to ask for the same absence."""
    for name in answered():
        schema = SCHEMAS[name]
        for member, said in properties(schema):
            assert "default" not in said or name == "Health", f"{name}.{member}"
            may_be_null = "null" in said.get("type", ()) or {"type": "null"} in said.get("anyOf", ())
            assert not may_be_null or member in schema["required"], f"{name}.{member}"


@pytest.mark.parametrize("name", ["TopicChanges", "SubscriptionChanges"])
def test_what_a_patch_leaves_out_has_no_default(name: str) -> None:
    assert not [member for member, schema in properties(SCHEMAS[name]) if "default" in schema]


def test_an_operation_is_called_the_same_in_sql_and_in_the_cli() -> None:
    functions = {path.stem for path in (ROOT / "sql" / "functions").glob("*.sql")}
    for operation, (function, command) in NAMES.items():
        assert operation in OPERATIONS
        if function is not None:
            assert function in functions
            assert operation.removeprefix("get_").startswith(function.removeprefix("get_"))
        if command is not None:
            assert command in commands()


def test_every_operation_is_known_by_its_other_names_or_to_have_none() -> None:
    assert sorted(OPERATIONS) == sorted([*NAMES, *HTTP_ONLY])
