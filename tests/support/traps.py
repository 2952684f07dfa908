"""Objects that fit a call better than PostgreSQL's own, as whoever may create in a schema can make them."""

import asyncpg

FUNCTIONS = {
    "now()": "timestamptz",
    "clock_timestamp()": "timestamptz",
    "cardinality(json[])": "integer",
    "length(text)": "integer",
    "octet_length(text)": "integer",
    "sha256(bytea)": "integer",
    "hashtextextended(text, integer)": "bigint",
    "hashtextextended(text, bigint)": "bigint",
    "unnest(bigint[])": "setof bigint",
    "unnest(text[])": "setof text",
    "array_send(integer[])": "bytea",
    "array_send(bigint[])": "bytea",
    "format(text, text)": "text",
    "format(text, name)": "text",
    "format(text, name, name)": "text",
    "format(text, regprocedure, text)": "text",
    "pg_try_advisory_lock_shared(bigint)": "boolean",
    "pg_advisory_unlock_shared(bigint)": "boolean",
}


async def lay_traps(connection: asyncpg.Connection, schema: str) -> None:
    """Each ends the call that uses it."""
    body = "language plpgsql as $$ begin raise exception 'trapped'; end $$"
    for signature, result in FUNCTIONS.items():
        await connection.execute(f"create function {schema}.{signature} returns {result} {body}")
    await connection.execute(
        f"create function {schema}.remainder(bigint, integer) returns bigint {body};"
        f"create operator {schema}.% (leftarg = bigint, rightarg = integer, function = {schema}.remainder)"
    )
