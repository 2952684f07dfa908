/*
 * Says that these events of a lease, by default all that is not acked, could not be handled: they are
 * delivered again after p_delay_seconds (0 to 86,400; by default the group's backoff), or are
 * dead-lettered if this was the last delivery allowed. A transaction fails as a whole, acked events of it included.
 *
 * Returns runs of offsets, in order: retrying with due_at, dead_lettered, already_acked, failed, not_leased.
 * Raises GP003, GP012.
 */
create or replace function gapless.nack(
  p_lease text,
  p_offsets bigint[] default null,
  p_delay_seconds double precision default null,
  p_reason text default null
)
returns table (first_offset bigint, last_offset bigint, status text, due_at timestamptz)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select * from gapless.fail_lease(p_lease, p_offsets, 'failed', p_delay_seconds, p_reason) $$;
