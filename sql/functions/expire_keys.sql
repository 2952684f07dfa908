/*
 * Removes tickets and sessions past their time, at most p_limit of each in a call, and returns how many.
 * Keys stay: an expired one is shown until somebody revokes it, a revoked one is kept for the audit log. Raises
 * GP003 for a limit below 1.
 */
create or replace function gapless.expire_keys(p_limit integer default 10000)
returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := gapless.clock();
  v_tickets integer;
  v_sessions integer;
begin
  perform gapless.check_limit(p_limit);
  delete from gapless.stream_ticket t
  where t.ctid = any (array(
    select c.ctid
    from gapless.stream_ticket c
    where c.expires_at <= v_now
    order by c.expires_at
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_tickets = row_count;
  delete from gapless.api_key k
  where k.ctid = any (array(
    select c.ctid
    from gapless.api_key c
    where c.kind = 'session' and c.expires_at <= v_now
    order by c.expires_at
    limit p_limit
    for update skip locked
  ));
  get diagnostics v_sessions = row_count;
  return v_tickets + v_sessions;
end
$$;
