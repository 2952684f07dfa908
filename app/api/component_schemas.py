"""The named schemas of the OpenAPI document, in the form that code generators make readable types of."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypeAliasType

INT32_MAX = 2**31 - 1

Schema = dict[str, Any]


def integer_format(maximum: float | None) -> str:
    """Offsets, ids and counts need 64 bits; whatever has a small maximum does not."""
    return "int32" if maximum is not None and maximum <= INT32_MAX else "int64"


def component_schemas(
    models: Sequence[type[BaseModel]],
    aliases: Sequence[TypeAliasType],
    structs: Sequence[type[msgspec.Struct]],
) -> dict[str, Schema]:
    """By name, in the order of names. Models and aliases that others refer to are found by themselves."""
    template = "#/components/schemas/{%s}"
    kinds: list[Any] = [*models, *aliases]
    _, described = TypeAdapter.json_schemas(
        [(kind.__name__, "validation", TypeAdapter(kind)) for kind in kinds],
        ref_template=template % "model",
    )
    _, of_structs = msgspec.json.schema_components(structs, ref_template=template % "name")
    found: dict[str, Schema] = dict(sorted((described["$defs"] | of_structs).items()))
    for schema in found.values():
        _tidy(schema)
    return found


def without_defaults(schema: Schema) -> None:
    """For bodies whose members change nothing when they are left out."""
    for member in schema["properties"].values():
        member.pop("default", None)


def _tidy(schema: Schema) -> None:
    """Adds number formats; drops what says nothing: titles made of names, and that the default is null."""
    schema.pop("title", None)
    if schema.get("type") == "integer":
        schema.setdefault("format", integer_format(schema.get("maximum")))
    if schema.get("type") == "number":
        schema.setdefault("format", "double")
    if "default" in schema and schema["default"] is None:
        del schema["default"]
    for inner in _inner(schema):
        _tidy(inner)
    _merge_null(schema)


def _merge_null(schema: Schema) -> None:
    """`anyOf` a type and null becomes a list of types, so that its description stands on the member."""
    match schema.get("anyOf"):
        case [{"type": str(kind)} as one, {"type": "null"}]:
            del schema["anyOf"]
            schema.update({**one, **schema, "type": [kind, "null"]})


def _inner(schema: Schema) -> Iterable[Schema]:
    yield from schema.get("properties", {}).values()
    yield from schema.get("anyOf", ())
    yield from schema.get("prefixItems", ())
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield schema[name]
