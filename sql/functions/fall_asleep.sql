/*
 * Sleeps on the logs of these buckets (sleep_key); answers those for which that was granted.
 *
 * Read once more after it, and only then wait for notifications: what a publisher commits later is
 * notified, what it was about to commit has refused the bucket, of which nothing is held then. To be
 * called once for each bucket and session, until wake_up; the end of the session wakes up too.
 *
 * It runs under the search_path of its caller, so everything is named with its schema.
 */
create or replace function gapless.fall_asleep(p_keys bigint[])
returns setof bigint
language sql
as $$
  select k
  from pg_catalog.unnest(p_keys) as k
  where case
    when not pg_catalog.pg_try_advisory_lock_shared(k) then false
    when pg_catalog.pg_try_advisory_lock_shared(k + 512) then true
    else not pg_catalog.pg_advisory_unlock_shared(k)
  end
$$;
