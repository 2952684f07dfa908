"""A body that breaks a rule is told which field and what the rule is, in the words of the service."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, ValidationError

from app.api import body_faults
from app.api.access_schemas import KeyRequest, RevokeSessionsRequest, SessionRequest
from app.api.body_faults import BodyFault, model_fault, struct_fault
from app.api.dead_letter_schemas import LetterChoice
from app.api.group_schemas import SeekRequest, SubscriptionSettings
from app.api.lease_schemas import AckRequest, ClaimRequest, ExtendRequest, NackRequest
from app.api.topic_schemas import TopicSettings, TrimRequest

ME = {"member": "me"}


def fault(kind: type[BaseModel] | type[msgspec.Struct], body: object) -> BodyFault:
    text = msgspec.json.encode(body)
    try:
        if issubclass(kind, BaseModel):
            kind.model_validate_json(text, strict=True)
        else:
            msgspec.json.decode(text, type=kind)
    except ValidationError as error:
        return model_fault(error.errors(include_url=False, include_input=False)[0])
    except msgspec.ValidationError as error:
        return struct_fault(str(error))
    raise AssertionError("nothing is wrong with it")


@pytest.mark.parametrize(
    ("kind", "body", "detail"),
    [
        (TopicSettings, {"partitions": "3"}, "partitions must be a whole number."),
        (TopicSettings, {"partitions": 3.5}, "partitions must be a whole number."),
        (TopicSettings, {"partitions": 0}, "partitions must be 1 or more."),
        (TopicSettings, {"partitions": 257}, "partitions must be 256 or less."),
        (TopicSettings, {"partition": 3}, "There is no field 'partition'."),
        (TopicSettings, {"semantics": "qeue"}, "semantics must be 'pub_sub' or 'queue'."),
        (TopicSettings, {"description": 1}, "description must be a string."),
        (TopicSettings, {"description": "a\n"}, "description must hold no control characters."),
        (TopicSettings, [], "The body must be an object."),
        (TrimRequest, {}, "before must be given."),
        (SubscriptionSettings, {"lease_seconds": 0}, "lease_seconds must be 0.1 or more."),
        (SubscriptionSettings, {"lease_seconds": "30"}, "lease_seconds must be a number."),
        (SubscriptionSettings, {"max_in_flight": 10**7}, "max_in_flight must be 1000000 or less."),
        (SubscriptionSettings, {"backfill": 1}, "backfill must be true or false."),
        (
            SeekRequest,
            {"to": "begin"},
            "to must be earliest, latest, or an object with a time, an offset or offsets.",
        ),
        (
            KeyRequest,
            {"name": "A", "scopes": ["admin"]},
            "name must be 1 to 200 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit.",
        ),
        (KeyRequest, {"name": "a", "scopes": []}, "scopes must not be empty."),
        (KeyRequest, {"name": "a", "scopes": [1]}, "scopes/0 must be a string."),
        (SessionRequest, {"token": ""}, "token must not be empty."),
        (
            RevokeSessionsRequest,
            {"name": "ada"},
            "name must be 'jwt:' or 'key:' and a name without control characters.",
        ),
        (LetterChoice, {"ids": "all"}, "ids must be an array."),
        (LetterChoice, {"key": "\x00"}, "key must not hold U+0000."),
        (LetterChoice, {"key": "k" * 1025}, "key must have 1024 characters or less."),
        (ClaimRequest, {}, "member must be given."),
        (ClaimRequest, [], "The body must be an object."),
        (ClaimRequest, {"member": 7}, "member must be a string."),
        (ClaimRequest, {"member": ""}, "member must not be empty."),
        (ClaimRequest, {"member": "m" * 201}, "member must have 200 characters or less."),
        (ClaimRequest, {"member": "a\nb"}, "member must not be empty or hold control characters."),
        (ClaimRequest, {"member": "a\n"}, "member must not be empty or hold control characters."),
        (ClaimRequest, {**ME, "max_events": 0}, "max_events must be 1 or more."),
        (ClaimRequest, {**ME, "max_events": "1"}, "max_events must be a whole number."),
        (ClaimRequest, {**ME, "wait": -1}, "wait must be 0 or more."),
        (ClaimRequest, {**ME, "wait": "20s"}, "wait must be a number."),
        (ClaimRequest, {**ME, "ack": 1}, "ack must be a string or an array."),
        (ClaimRequest, {**ME, "ack": [1]}, "ack/0 must be a string."),
        (ClaimRequest, {**ME, "ack": ["x"] * 101}, "ack must have 100 elements or less."),
        (ClaimRequest, {**ME, "foo`.x": 1}, "There is no field 'foo`.x'."),
        (AckRequest, {"offsets": [1, "2"]}, "offsets/1 must be a whole number."),
        (AckRequest, {"up_to": 2**63}, "up_to must be 9223372036854775807 or less."),
        (NackRequest, {"reason": "\x00"}, "reason must not hold U+0000."),
        (ExtendRequest, {"lease_seconds": 0}, "lease_seconds must be 0.1 or more."),
    ],
)
def test_the_rule_that_a_field_breaks_is_told(
    kind: type[BaseModel] | type[msgspec.Struct], body: Mapping[str, Any], detail: str
) -> None:
    assert fault(kind, body).detail == detail


def test_the_field_is_named_by_a_pointer() -> None:
    assert fault(ClaimRequest, {**ME, "ack": [1]})[:1] == ("/ack/0",)
    assert fault(KeyRequest, {"name": "a", "scopes": [1]}).field == "scopes/0"
    odd = fault(TopicSettings, {"a/b~": 1})
    assert (odd.pointer, odd.field) == ("/a~1b~0", "a/b~")
    assert fault(TopicSettings, []).pointer == ""


def test_every_pattern_of_a_body_is_told_in_words() -> None:
    """A regular expression is no answer to a person."""
    schemas = Path(body_faults.__file__).parent.glob("*schemas.py")
    patterns = {name for file in schemas for name in re.findall(r"pattern=([^,)]+)", file.read_text())}
    assert "NAME_PATTERN" in patterns
    assert patterns <= set(vars(body_faults))
