/*
 * Sends these events of a lease, by default all that is not acked, to the dead letters, whatever
 * attempts are left; otherwise like gapless.nack. Raises GP003, GP012.
 */
create or replace function gapless.reject(
  p_lease text,
  p_offsets bigint[] default null,
  p_reason text default null
)
returns table (first_offset bigint, last_offset bigint, status text, due_at timestamptz)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select * from gapless.fail_lease(p_lease, p_offsets, 'rejected', null, p_reason) $$;
