"""Who may do what: siblings cannot do each other's part, a stranger can do nothing (S83)."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.conftest import Connect
from tests.support.log import Ear, call, create_topic, publish, refused, stage, value
from tests.support.traps import lay_traps

FUNCTIONS = """
select p.oid, p.proname, p.oid::regprocedure::text as signature, p.prosecdef, p.proconfig,
  array(select format('null::%s', format_type(t, null)) from unnest(p.proargtypes) t) as arguments
from pg_proc p
where p.pronamespace = 'gapless'::regnamespace and p.prorettype <> 'trigger'::regtype
order by 2
"""
BOTH = {"get_topic", "list_topics", "log_bounds", "epoch", "partition_of", "clock"}
PUBLISHER = BOTH | {"publish", "publish_at_commit", "stage_chunk", "publish_load"}
PUBLISHER |= {"discard_load", "discard_attempts"}
SUBSCRIBER = BOTH | {"read_events", "read_tail", "deleted_topics", "offset_at", "sleep_key", "lock_key"}
SUBSCRIBER |= {"fall_asleep", "wake_up"}
SUBSCRIBER |= {
    "claim",
    "claim_together",
    "read_lease",
    "ack",
    "nack",
    "reject",
    "release",
    "extend",
    "ended_leases",
    "heartbeat",
}
SUBSCRIBER |= {"create_subscription", "alter_subscription", "get_subscription", "list_subscriptions"}
SUBSCRIBER |= {"subscription_positions", "last_heartbeat", "event_completion"}
SUBSCRIBER |= {"pause", "resume", "seek"}
SUBSCRIBER |= {"list_leases", "list_dead_letters", "get_dead_letter", "redrive", "discard"}
ADMIN = {"create_topic", "alter_topic", "delete_topic", "trim", "renew_epoch"}
ADMIN |= {"expire_audit"}
ADMIN |= {"create_segments_ahead", "expire_publish_keys", "expire_loads", "drop_deleted_topics", "list_audit"}
ADMIN |= {"sweep_subscriptions", "sweep_leases", "apply_retention", "drop_segments"}
ADMIN |= {"cancel", "delete_subscription", "force_complete", "applied_migrations"}
ADMIN |= {"measure", "measure_database"}
ADMIN |= {"create_key", "list_keys", "revoke_key", "active_keys", "create_session", "end_session"}
ADMIN |= {"revoke_sessions", "create_ticket", "redeem_ticket", "expire_keys"}
ALLOWED = {
    "gapless_publisher": PUBLISHER,
    "gapless_subscriber": SUBSCRIBER,
    "gapless_admin": PUBLISHER | SUBSCRIBER | ADMIN,
}
VIEWS: dict[str, set[str]] = {
    "gapless_publisher": set(),
    "gapless_subscriber": {"log_counter", "event_feed", "log_feed", "consumer_lag"},
}
VIEWS["gapless_admin"] = VIEWS["gapless_subscriber"]


@pytest.fixture
async def stranger(connection: asyncpg.Connection, connect: Connect) -> AsyncIterator[asyncpg.Connection]:
    """A role that owns nothing and was granted nothing."""
    name = f"stranger_{await connection.fetchval('select pg_backend_pid()')}"
    await connection.execute(f"create role {name} login")
    yield await connect("stranger", server_settings={"role": name})
    await connection.execute(
        f"reassign owned by {name} to current_user; drop owned by {name} cascade; drop role {name}"
    )


async def test_each_role_may_execute_its_functions_and_no_others(connection: asyncpg.Connection) -> None:
    for role, allowed in ALLOWED.items():
        rows = await connection.fetch(
            "select proname from pg_proc where pronamespace = 'gapless'::regnamespace"
            " and has_function_privilege($1, oid, 'execute')",
            role,
        )
        assert {row[0] for row in rows} == allowed, role


async def test_each_role_may_read_its_views_and_touch_no_table(connection: asyncpg.Connection) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    for role, allowed in VIEWS.items():
        rows = await connection.fetch(
            """
            select c.relname, has_table_privilege($1, c.oid, 'select') as reads,
              has_table_privilege($1, c.oid, 'insert, update, delete, truncate, references') as writes
            from pg_class c
            where c.relnamespace = 'gapless'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
            """,
            role,
        )
        assert {row["relname"] for row in rows if row["reads"]} == allowed, role
        assert not any(row["writes"] for row in rows), role


async def test_siblings_are_not_members_of_each_other(connection: asyncpg.Connection) -> None:
    for one, other, expected in (
        ("gapless_publisher", "gapless_subscriber", False),
        ("gapless_subscriber", "gapless_publisher", False),
        ("gapless_publisher", "gapless_admin", False),
        ("gapless_subscriber", "gapless_admin", False),
        ("gapless_admin", "gapless_publisher", True),
        ("gapless_admin", "gapless_subscriber", True),
    ):
        assert expected is await connection.fetchval("select pg_has_role($1, $2, 'usage')", one, other)


async def test_a_publisher_cannot_read_and_a_subscriber_cannot_publish(
    connection: asyncpg.Connection, publisher: asyncpg.Connection, subscriber: asyncpg.Connection
) -> None:
    topic_id = await create_topic(connection)
    await publish(publisher, "1")
    await stage(publisher, "2")
    with refused("42501"):
        await call(publisher, "read_events", topic="t", partition=0, offset=1)
    with refused("42501"):
        await publish(subscriber, "3")
    with refused("42501"):
        await stage(subscriber, "3")
    assert len(await call(subscriber, "read_events", topic="t", partition=0, offset=1)) == 2
    ear = await Ear(subscriber).listen()
    assert await ear.sleep_on(topic_id)
    await publish(publisher, "3")
    assert await ear.heard() == [f"{topic_id}:0"]


async def test_s83_a_stranger_can_call_no_function(
    connection: asyncpg.Connection, stranger: asyncpg.Connection
) -> None:
    await create_topic(connection)
    functions = await connection.fetch(FUNCTIONS)
    assert len(functions) > 30
    for function in functions:
        arguments = ", ".join(function["arguments"])
        with refused("42501"):
            await stranger.fetch(f"select * from gapless.{function['proname']}({arguments})")


async def test_s83_a_stranger_can_read_and_write_no_table(
    connection: asyncpg.Connection, stranger: asyncpg.Connection
) -> None:
    await create_topic(connection)
    await publish(connection, "1")
    tables = await connection.fetch(
        "select relname from pg_class"
        " where relnamespace = 'gapless'::regnamespace and relkind in ('r', 'p', 'v', 'S')"
    )
    assert len(tables) > 10
    for (table,) in tables:
        for statement in ("select * from", "delete from", "truncate"):
            with refused("42501"):
                await stranger.execute(f"{statement} gapless.{table}")


async def test_s83_nothing_is_executable_by_public(connection: asyncpg.Connection) -> None:
    public = await connection.fetch(
        """
        select p.proname
        from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace = 'gapless'::regnamespace and a.grantee = 0
        """
    )
    assert public == []


async def test_s83_every_definer_function_pins_its_search_path(connection: asyncpg.Connection) -> None:
    definers = [row for row in await connection.fetch(FUNCTIONS) if row["prosecdef"]]
    assert len(definers) > 15
    for row in definers:
        assert "search_path=pg_catalog, pg_temp" in (row["proconfig"] or []), row["signature"]


async def test_s83_functions_that_callers_use_directly_run_as_the_owner_or_touch_no_table(
    connection: asyncpg.Connection,
) -> None:
    granted = set().union(*ALLOWED.values())
    rows = await connection.fetch(FUNCTIONS)
    invokers = {row["proname"] for row in rows if row["proname"] in granted and not row["prosecdef"]}
    assert invokers == {"clock", "partition_of", "sleep_key", "lock_key", "fall_asleep", "wake_up"}


async def test_s83_objects_earlier_in_the_search_path_of_a_caller_are_not_used(
    connection: asyncpg.Connection, stranger: asyncpg.Connection, connect: Connect
) -> None:
    role = await stranger.fetchval("select current_user")
    await connection.execute(
        f"create schema trap authorization {role}; grant gapless_publisher, gapless_subscriber to {role}"
    )
    topic_id = await create_topic(connection)
    await lay_traps(stranger, "trap")
    await stranger.execute("create table trap.topic (name text); create table trap.event (name text)")
    path = "trap, pg_temp, pg_catalog"
    trapped = await connect("trapped", server_settings={"role": role, "search_path": path})
    await trapped.execute("create temporary table topic (name text)")
    assert (await publish(trapped, "1", idempotency_key="k"))["offsets"] == [1]
    await stage(trapped, "2")
    assert len(await call(trapped, "read_events", topic="t", partition=0, offset=1)) == 2
    assert await value(trapped, "partition_of", key="k", partitions=1) == 0
    assert await value(trapped, "clock")
    ear = Ear(trapped)
    assert await ear.sleep_on(topic_id)
    await ear.wake_up()
    assert await connection.fetchval("select count(*) from pg_locks where locktype = 'advisory'") == 0


async def test_an_owner_without_superuser_can_run_everything(
    connection: asyncpg.Connection, stranger: asyncpg.Connection, connect: Connect
) -> None:
    owner = await stranger.fetchval("select current_user")
    database = await connection.fetchval("select current_database()")
    await connection.execute(
        f"""
        do $$
        declare v_object record;
        begin
          alter database "{database}" owner to {owner};
          for v_object in
            select format('function %s', oid::regprocedure) as name from pg_proc
            where pronamespace = 'gapless'::regnamespace
            union all
            select format('table %s', oid::regclass) from pg_class
            where relnamespace = 'gapless'::regnamespace and relkind in ('r', 'p', 'v')
          loop
            execute format('alter %s owner to {owner}', v_object.name);
          end loop;
          alter schema gapless owner to {owner};
        end $$
        """
    )
    await create_topic(stranger, segment_events=1000, partitions=2)
    await call(stranger, "publish", topic="t", data=["1"] * 1500, partition=0, idempotency_key="k")
    await stage(stranger, "2", partition=1)
    assert len(await call(stranger, "read_events", topic="t", partition=0, offset=1, limit=2000)) == 1500
    assert await value(stranger, "trim", topic="t", partition=0, before=3) == 3
    assert len(await value(stranger, "epoch")) == 12
    await call(stranger, "create_segments_ahead")
    await call(stranger, "delete_topic", topic="t")
    for _ in range(3):
        await call(stranger, "drop_deleted_topics")
    assert await connection.fetchval("select count(*) from gapless.topic") == 0
