/*
 * Sleeps no longer on the logs of these buckets, which fall_asleep granted to this session. What it
 * calls is named as there.
 */
create or replace function gapless.wake_up(p_keys bigint[])
returns void
language sql
as $$
  select pg_catalog.pg_advisory_unlock_shared(k), pg_catalog.pg_advisory_unlock_shared(k + 512)
  from pg_catalog.unnest(p_keys) as k
$$;
