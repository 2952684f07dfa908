"""Whether the database lets the service keep its promises: the schema, the rights, what it is set to."""

import asyncio
import math
from collections.abc import Awaitable, Callable

import asyncpg

from app.db.migrate import pending
from app.db.pool import Pool
from app.db.translate import translated
from app.errors import GaplessError, MigrationFailed, NotReady, SchemaOutdated

KEPT_SECONDS = 1.0

# What the service calls; a test compares it with the statements in this package.
CALLED = (
    "ack", "active_keys", "alter_subscription", "alter_topic", "applied_migrations",
    "apply_retention", "cancel", "claim_together", "clock", "create_key", "create_segments_ahead",
    "create_session", "create_subscription", "create_ticket", "create_topic", "delete_subscription",
    "delete_topic", "deleted_topics", "discard", "drop_deleted_topics", "drop_segments", "end_session",
    "ended_leases", "epoch", "event_completion", "expire_audit", "expire_keys", "expire_loads",
    "expire_publish_keys", "extend", "fall_asleep", "force_complete", "get_dead_letter",
    "get_subscription", "get_topic", "heartbeat", "last_heartbeat", "list_audit",
    "list_dead_letters", "list_keys", "list_leases", "list_subscriptions", "list_topics",
    "log_bounds", "measure", "measure_database", "nack", "offset_at", "pause", "publish",
    "read_events", "read_lease", "read_tail", "redeem_ticket", "redrive", "reject", "release",
    "resume", "revoke_key", "revoke_sessions", "seek", "sleep_key", "subscription_positions",
    "sweep_leases", "sweep_subscriptions", "trim", "wake_up",
)  # fmt: skip

_SETTINGS = """\
select pg_is_in_recovery() as standby,
  current_setting('transaction_read_only')::boolean as read_only,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes"""
_RIGHTS = """\
select r.rolsuper as superuser, current_user as role,
  n.oid is null or has_schema_privilege(n.oid, 'usage') as may_use,
  array(
    select p.proname::text
    from pg_proc p
    where p.pronamespace = n.oid and p.proname = any ($1::text[])
      and not has_function_privilege(p.oid, 'execute')
    order by 1
  ) as forbidden,
  array(
    select o.rolname::text
    from pg_roles a, pg_roles o
    where a.rolname = 'gapless_admin' and pg_has_role(a.oid, 'usage')
      and o.rolname in ('gapless_publisher', 'gapless_subscriber') and not pg_has_role(a.oid, o.oid, 'usage')
    order by 1
  ) as lacking
from pg_roles r
left join pg_namespace n on n.nspname = 'gapless'
where r.rolname = current_user"""


class Remembered:
    """A check whose outcome holds for a second, so that any number of probes costs the database little."""

    def __init__(self, check: Callable[[], Awaitable[str | None]]) -> None:
        self._check = check
        self._asking = asyncio.Lock()
        self._asked_at = -math.inf
        self._warning: str | None = None
        self._error: GaplessError | None = None

    async def __call__(self) -> str | None:
        async with self._asking:
            now = asyncio.get_running_loop().time()
            if now >= self._asked_at + KEPT_SECONDS:
                self._warning = self._error = None
                try:
                    self._warning = await self._check()
                except GaplessError as error:
                    self._error = error
                self._asked_at = now
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._warning


async def check_schema(pool: Pool) -> None:
    """Raises SchemaOutdated, or DatabaseUnavailable where nobody can tell."""
    async with pool.acquire() as connection:
        with translated():
            try:
                missing = await pending(connection)
            except MigrationFailed as error:
                raise SchemaOutdated(str(error)) from error
            except asyncpg.InsufficientPrivilegeError as error:
                raise SchemaOutdated(
                    "The role of the service may not see the schema: make it a member of gapless_admin "
                    "and run `gapless migrate` as the owner."
                ) from error
    if missing:
        raise SchemaOutdated(f"The database lacks {', '.join(missing)}; run `gapless migrate`.")


async def check_settings(pool: Pool, *, accept_data_loss: bool) -> None:
    """Raises NotReady for a database that takes no writes, or that may lose what it acknowledged."""
    async with pool.acquire() as connection:
        with translated():
            found = await connection.fetchrow(_SETTINGS)
    if found["standby"]:
        raise NotReady("The database is a standby, which takes no writes.")
    if found["read_only"]:
        raise NotReady("The database is read-only: default_transaction_read_only is on.")
    off = [name for name in ("synchronous_commit", "fsync", "full_page_writes") if found[name] == "off"]
    if off and not accept_data_loss:
        raise NotReady(
            f"The database may lose events that were acknowledged: {', '.join(off)} is off."
            " GAPLESS_ACCEPT_DATA_LOSS accepts that."
        )


async def check_rights(pool: Pool, *, own: bool) -> str | None:
    """Raises NotReady for a role that lacks rights; answers a warning for one that has far too many.

    The service is the superuser of its `own` PostgreSQL, which it makes and migrates; nobody can change that.
    """
    async with pool.acquire() as connection:
        with translated():
            found = await connection.fetchrow(_RIGHTS, list(CALLED))
    if not found["may_use"]:
        raise NotReady(f"The role {found['role']} may not use the schema gapless; grant it gapless_admin.")
    if found["forbidden"]:
        named = ", ".join(found["forbidden"][:5])
        # The role has it already where the memberships of that one are missing.
        lacking = ", ".join(found["lacking"])
        remedy = f"grant {lacking} to gapless_admin" if lacking else "grant it gapless_admin"
        raise NotReady(f"The role {found['role']} may not execute {named}; {remedy}.")
    if found["superuser"] and not own:
        return f"The role {found['role']} is a superuser; gapless_admin is enough for the service."
    return None
