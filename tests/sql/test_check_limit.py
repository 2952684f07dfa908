from typing import Any

import asyncpg
import pytest

from tests.support.log import call, create_topic, publish_many, refused, value
from tests.support.subscriptions import create_group

NO_LIMITS = [None, 0, -1]
DAY = 86_400
UPKEEP: dict[str, dict[str, Any]] = {
    "create_segments_ahead": {},
    "expire_audit": {"seconds": DAY},
    "expire_keys": {},
    "expire_loads": {},
    "expire_publish_keys": {},
    "sweep_leases": {},
}
# For the parameters without which a function does not come to look at its bounds.
GIVEN: dict[str, Any] = {
    "topic": "t",
    "group": "g",
    "member": "m",
    "seconds": DAY,
    "partition": 0,
    "offset": 1,
    "topic_ids": [1],
    "partitions": [0],
    "offsets": [1],
    "members": ["m"],
    "max_events": [1],
    "max_bytes": [1],
    "max_topics": 1,
    "max_logs": 1,
    "lease_seconds": [None],
    "acks": [None],
    "request_ids": [None],
}


@pytest.mark.parametrize("limit", NO_LIMITS)
@pytest.mark.parametrize("step", UPKEEP)
async def test_a_step_of_the_upkeep_is_not_called_for_nothing_or_for_all_at_once(
    connection: asyncpg.Connection, step: str, limit: int | None
) -> None:
    with refused("GP003", field="limit"):
        await value(connection, step, limit=limit, **UPKEEP[step])
    assert await value(connection, step, limit=1, **UPKEEP[step]) in (0, None)


@pytest.mark.parametrize("limit", NO_LIMITS)
@pytest.mark.parametrize("name", ["max_topics", "max_logs"])
async def test_measure_is_bounded(connection: asyncpg.Connection, name: str, limit: int | None) -> None:
    with refused("GP003", field=name):
        await call(connection, "measure", **{"max_topics": 1, "max_logs": 1, name: limit})


FUNCTIONS = """
select
  p.proname as name, p.proargnames[1:p.pronargs] as names, p.pronargs - p.pronargdefaults as required,
  array(select format_type(t, null) from unnest(p.proargtypes) t) as types
from pg_proc p
where p.pronamespace = 'gapless'::regnamespace and has_function_privilege('gapless_admin', p.oid, 'execute')
order by p.proname
"""


@pytest.mark.parametrize("limit", NO_LIMITS)
async def test_no_bound_that_a_caller_gives_ends_in_words_of_postgresql(
    connection: asyncpg.Connection, limit: int | None
) -> None:
    await create_topic(connection)
    await publish_many(connection, 3)
    await create_group(connection)
    said: dict[tuple[str, str], str] = {}
    for function, names, required, types in await connection.fetch(FUNCTIONS):
        if not names:
            continue
        parameters = {name.removeprefix("p_"): kind for name, kind in zip(names, types, strict=True)}
        given = {name: GIVEN.get(name) for name in list(parameters)[:required]}
        for name in parameters:
            if name == "limit" or name.startswith("max_"):
                bound = [limit] if parameters[name].endswith("[]") else limit
                said[function, name] = await sqlstate_of(connection, function, **{**given, name: bound})
    assert {what: state for what, state in said.items() if not state.startswith(("GP", "00"))} == {}
    functions = {function for function, _ in said}
    assert {"claim", "claim_together", "list_topics", "measure", "read_tail", "redrive"} < functions


async def sqlstate_of(connection: asyncpg.Connection, function: str, **arguments: Any) -> str:
    try:
        await call(connection, function, **arguments)
    except asyncpg.PostgresError as error:
        return str(error.sqlstate)
    return "00000"
