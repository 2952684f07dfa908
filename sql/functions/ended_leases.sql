/*
 * Those of these leases that are over, whatever ended them; a token that names none is over too.
 *
 * Waits for nobody: of a lease that somebody ends at this moment it may not tell so yet.
 */
create or replace function gapless.ended_leases(p_leases text[])
returns setof text
language sql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select t.token
  from unnest(p_leases) as t(token)
  cross join lateral gapless.find_lease(t.token, false) l
  where l.lease_id is null or l.ended_at is not null or l.expires_at <= gapless.clock()
$$;
