/*
 * What operators watch of PostgreSQL itself: how full its queue of notifications is, from 0 to 1,
 * which a session that listens in a transaction fills; and how old the oldest other transaction is
 * that keeps rows of this database from being vacuumed and its dropped segments from being given
 * back, 0 without one.
 *
 * Of sessions of other roles the age is known only where the owner of the schema is a member of
 * pg_read_all_stats, as docker/roles.sql makes it. Replication slots and standbys tell no age.
 */
create or replace function gapless.measure_database()
returns table (notification_queue_usage double precision, oldest_xmin_age_seconds double precision)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select
    pg_notification_queue_usage(),
    greatest(0, coalesce(extract(epoch from gapless.clock() - min(h.began_at)), 0))::float8
  from (
    select a.xact_start as began_at
    from pg_stat_activity a
    where a.datname = current_database() and a.pid <> pg_backend_pid()
      and coalesce(a.backend_xmin, a.backend_xid) is not null
      and a.backend_type is distinct from 'autovacuum worker'
    union all
    select p.prepared
    from pg_prepared_xacts p
    where p.database = current_database()
  ) h
$$;
