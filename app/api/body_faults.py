"""What decoders say against the fields of a body, in words that stay when the decoders' own change."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic_core import ErrorDetails

from app.api.access_schemas import PRINCIPAL
from app.api.group_schemas import NO_NUL
from app.api.json_text import escaped
from app.api.lease_schemas import ONE_LINE
from app.api.params import NAME_PATTERN, NAME_RULE
from app.api.rfc3339 import TIME_PATTERN
from app.api.schemas import NO_CONTROLS

_FORMS = {
    NAME_PATTERN: f"must be {NAME_RULE}",
    NO_NUL: "must not hold U+0000",
    ONE_LINE: "must not be empty or hold control characters",
    NO_CONTROLS: "must hold no control characters",
    PRINCIPAL: "must be 'jwt:' or 'key:' and a name without control characters",
    TIME_PATTERN: "must be an RFC 3339 time with a zone, such as 2026-11-27T23:20:00Z",
}
_FORMS_BY_REPR = {repr(pattern): rule for pattern, rule in _FORMS.items()}
_OTHER_FORM = "does not have the form that it must have"
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
}
MISSING = "must be given"


class BodyFault(NamedTuple):
    """`pointer` is a JSON pointer into the body."""

    pointer: str
    detail: str

    @property
    def field(self) -> str:
        return self.pointer.removeprefix("/").replace("~1", "/").replace("~0", "~")


def _of(kind: str) -> str:
    return f"must be {_KINDS[kind]}"


def _bound(bound: object, side: str) -> str:
    return f"must be {str(bound).removesuffix('.0')} or {side}"


def _length(least: bool, length: int, unit: str) -> str:
    if least and length == 1:
        return "must not be empty"
    return f"must have {length} {unit} or {'more' if least else 'less'}"


_RULES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: MISSING,
    "int_type": lambda _: _of("int"),
    "int_parsing_size": lambda _: "is too large a number",
    "float_type": lambda _: _of("float"),
    "string_type": lambda _: _of("str"),
    "bool_type": lambda _: _of("bool"),
    "list_type": lambda _: _of("array"),
    "dict_type": lambda _: _of("object"),
    "model_type": lambda _: _of("object"),
    "literal_error": lambda found: f"must be {found['expected']}",
    "greater_than_equal": lambda found: _bound(found["ge"], "more"),
    "less_than_equal": lambda found: _bound(found["le"], "less"),
    "string_too_short": lambda found: _length(True, found["min_length"], "characters"),
    "string_too_long": lambda found: _length(False, found["max_length"], "characters"),
    "too_short": lambda found: _length(True, found["min_length"], "elements"),
    "too_long": lambda found: _length(False, found["max_length"], "elements"),
    "string_pattern_mismatch": lambda found: _FORMS.get(found["pattern"], _OTHER_FORM),
}


def model_fault(found: ErrorDetails) -> BodyFault:
    """What pydantic found; errors of our own validators are rules already."""
    path = [str(part)[:200] for part in found["loc"]]
    if found["type"] == "extra_forbidden":
        return _unknown(path)
    rule = _RULES.get(found["type"])
    return _fault(path, found["msg"] if rule is None else rule(found.get("ctx", {})))


_UNKNOWN = re.compile(r"contains unknown field `(.*)`", re.DOTALL)
_ABSENT = re.compile(r"missing required field `([^`]*)`")
_PLACE = re.compile(r" - at `\$([^`]*)`\Z")
_BOUND = re.compile(r"Expected `(?:int|float)` ([<>])= ([0-9.]+)")
_LENGTH = re.compile(r"Expected `(str|array)` of length ([<>])= ([0-9]+)")
_FORM = re.compile(r"Expected `str` matching regex (.*)", re.DOTALL)
_KIND = re.compile(r"Expected `([a-z |]+)`")


def struct_fault(said: str) -> BodyFault:
    """What msgspec says against a body: the first that is wrong."""
    if (found := _UNKNOWN.search(said)) is not None:
        return _unknown([found[1][:200]])
    if (found := _ABSENT.search(said)) is not None:
        return _fault([found[1]], MISSING)
    place = _PLACE.search(said)
    path = [] if place is None else [part for part in re.split(r"[.\[\]]+", place[1]) if part]
    return _fault(path, _rule_of(said if place is None else said[: place.start()]))


def _rule_of(said: str) -> str:
    if found := _BOUND.fullmatch(said):
        return _bound(found[2], "more" if found[1] == ">" else "less")
    if found := _LENGTH.fullmatch(said):
        return _length(found[2] == ">", int(found[3]), "characters" if found[1] == "str" else "elements")
    if found := _FORM.fullmatch(said):
        return _FORMS_BY_REPR.get(found[1], _OTHER_FORM)
    if found := _KIND.match(said):
        kinds = [_KINDS[kind] for kind in found[1].split(" | ") if kind in _KINDS]
        return f"must be {' or '.join(kinds)}"
    return "is out of range"


def _unknown(path: list[str]) -> BodyFault:
    return BodyFault(_pointer(path), f"There is no field {'/'.join(path)!r}.")


def _fault(path: list[str], rule: str) -> BodyFault:
    return BodyFault(_pointer(path), f"{'/'.join(path) or 'The body'} {rule}.")


def _pointer(path: list[str]) -> str:
    return "".join(f"/{escaped(part)}" for part in path)
