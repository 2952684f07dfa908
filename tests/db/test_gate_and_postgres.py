"""What the gate lets through, PostgreSQL stores as it is, and can also work with."""

import asyncpg
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.api.gate import storable
from tests.support.effort import LUCK
from tests.support.nasty_json import documents


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, *LUCK])
@given(texts=st.lists(documents, min_size=1, max_size=30))
async def test_storable_json_is_json_and_jsonb_to_postgres(
    connection: asyncpg.Connection, texts: list[bytes]
) -> None:
    stored = [text.decode() for text in texts if storable(text)]
    kept, usable = await connection.fetchrow(
        "select array_agg(d::json::text order by n), count(d::jsonb)"
        " from unnest($1::text[]) with ordinality as sent(d, n)",
        stored,
    )
    assert (kept or []) == stored
    assert usable == len(stored)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, *LUCK])
@given(
    text=st.one_of(
        documents, st.text(alphabet='{}[]",:\\u0019eE+-.truefalsn \n\t', max_size=12).map(str.encode)
    )
)
async def test_what_the_parser_takes_after_the_gate_postgres_takes_too(
    connection: asyncpg.Connection, text: bytes
) -> None:
    if not storable(text):
        return
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        return
    assert await connection.fetchval("select $1::text::json::text", text.decode()) == text.decode()
